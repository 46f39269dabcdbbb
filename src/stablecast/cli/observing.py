"""What ``stablecast top`` and ``stablecast dashboard`` share: the place that they look at."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stablecast.errors import InvalidInput
from stablecast.words import printable

if TYPE_CHECKING:
    from stablecast.observe.follow import Follower, Looked
    from stablecast.observe.place import Place

SAY_EVERY_S = 2.0
"""Seconds after which it is said how far the first look is."""
PlaceArgument = Annotated[
    str,
    typer.Argument(
        metavar="ADDRESS|DIR",
        help="HOST:PORT of a member's --metrics, or a folder with the members' traces.",
        show_default=False,
    ),
]
TokenFileOption = Annotated[
    Path | None,
    typer.Option(
        help="The member's token, where it asks for one; otherwise the variable STABLECAST_TOKEN.",
        show_default=False,
    ),
]
GroupOption = Annotated[
    str | None,
    typer.Option(help="Of a folder, the group to look at; the one with most events by default."),
]


def opened(text: str, token_file: Path | None, group: str | None) -> Place:
    """Return the place that a command was given."""
    from stablecast.live.access import read_token
    from stablecast.observe.place import open_place

    return open_place(text, token=read_token(token_file), group=group)


async def first_look(follower: Follower) -> Looked:
    """Look once; a place that does not answer is wrong usage at the start."""
    from stablecast.observe.place import NoAnswer

    looking = asyncio.create_task(follower.first())
    try:
        while not (await asyncio.wait({looking}, timeout=SAY_EVERY_S))[0]:
            if progress := follower.place.progress():
                print(f"# {printable(progress)}", file=sys.stderr, flush=True)
        return looking.result()
    except NoAnswer as error:
        raise InvalidInput(str(error)) from None
    finally:
        looking.cancel()
