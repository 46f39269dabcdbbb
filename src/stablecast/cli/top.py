"""``stablecast top``: a live group on a terminal, from any member's point of view."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from stablecast.cli.observing import GroupOption, PlaceArgument, TokenFileOption, first_look, opened
from stablecast.cli.output import DONE
from stablecast.errors import InvalidInput

if TYPE_CHECKING:
    from stablecast.observe.place import Place


def top_command(
    place: PlaceArgument,
    sort: Annotated[
        str, typer.Option(help="Order of the members: state, lag, heard, sent, name or view.")
    ] = "state",
    every: Annotated[float, typer.Option(help="Seconds between two looks.")] = 0.5,
    group: GroupOption = None,
    token_file: TokenFileOption = None,
    once: Annotated[bool, typer.Option("--once", help="Print how the group is now, and end.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The same as one JSON object.")] = False,
) -> int:
    """Show a live group: members, who holds what back since when, rates, times to stable, and events.

    ADDRESS is what a member serves metrics on (stablecast node --metrics). On a terminal it is a screen that
    goes on: s sorts, Enter looks into a member, q ends. Elsewhere it prints lines.

    Example: stablecast top 127.0.0.1:9100
    """
    import asyncio

    from stablecast.observe.shown import SORTS

    if sort not in SORTS:
        raise InvalidInput(f"--sort '{sort}' is not accepted (accepted: {', '.join(SORTS)})")
    if not 0.05 <= every <= 3600:
        raise InvalidInput(f"--every {every:g} is not accepted (accepted: seconds from 0.05 to 3600)")
    found = opened(place, token_file, group)
    if once or as_json:
        return asyncio.run(_once(found, sort, as_json=as_json))
    if all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        return asyncio.run(_screen(found, sort, every))
    return asyncio.run(_lines(found, every))


async def _once(place: Place, sort: str, *, as_json: bool) -> int:
    import msgspec

    from stablecast.observe.follow import Follower
    from stablecast.observe.shown import snapshot

    try:
        looked = await first_look(Follower(place))
        notes = (await place.notes(0, 0)).notes
    finally:
        await place.close()
    if as_json:
        plain = msgspec.to_builtins(looked.seen) | {"notes": msgspec.to_builtins(notes)}
        print(msgspec.json.format(msgspec.json.encode(plain), indent=1).decode())
    else:
        print(snapshot(looked.seen, list(notes), sort=sort))
    return DONE


async def _screen(place: Place, sort: str, every: float) -> int:
    from stablecast.observe.follow import Follower
    from stablecast.observe.top import Top

    follower = Follower(place, every_s=every)
    try:
        await first_look(follower)
        await Top(follower, sort=sort).run_async()
    finally:
        await place.close()
    return DONE


async def _lines(place: Place, every: float) -> int:
    from stablecast.observe.follow import Follower
    from stablecast.observe.plain import follow_in_lines

    follower = Follower(place, every_s=every)
    try:
        await first_look(follower)
        await follow_in_lines(follower, lambda line: print(line, flush=True))
    finally:
        await place.close()
    return DONE
