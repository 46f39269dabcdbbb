"""``stablecast holdback``: what may be deleted in systems that run, and who stands in the way."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from stablecast.cli.output import DONE, FOUND_FAILURE, complain
from stablecast.errors import InvalidInput

if TYPE_CHECKING:
    from stablecast.holdback.answer import Answer, Limits
    from stablecast.holdback.asking import Asking
    from stablecast.holdback.model import Snapshot

CLEAR = "\033[H\033[2J"


def holdback_command(
    urls: Annotated[
        list[str],
        typer.Argument(metavar="URL...", help="redis://, postgres://, nats://, kafka:// or stablecast://"),
    ],
    watch: Annotated[
        float | None,
        typer.Option(metavar="S", help="Ask every S seconds, and draw the answer anew.", show_default=False),
    ] = None,
    max_held: Annotated[
        str | None,
        typer.Option(help="Exit with 1 if a log holds back more: 10GB, or 5000 entries.", show_default=False),
    ] = None,
    max_age: Annotated[
        str | None,
        typer.Option(
            help="Exit with 1 if a log is held back for longer: 90s, 5m, 1h, 7d.", show_default=False
        ),
    ] = None,
    gone_after: Annotated[
        str, typer.Option(help="A reader that was not heard of for so long is called gone.")
    ] = "5m",
    top: Annotated[int, typer.Option(help="So many logs, and readers of each, are shown.", min=1)] = 10,
    timeout_s: Annotated[float, typer.Option(help="How long a system is waited for, in seconds.")] = 5.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print all of it as one line of JSON.")] = False,
) -> int:
    """Say what may be deleted up to where, who stands in the way since when, and what if they went.

    It only reads. The exit code is 1 if a limit is passed, or if part of the answer is missing.

    Example: stablecast holdback redis://localhost:6379 postgres://looker@localhost/orders --max-age 1h
    """
    from stablecast.holdback.answer import Limits
    from stablecast.holdback.asking import Asking
    from stablecast.holdback.units import parse_amount, parse_duration

    for name, value in (("--watch", watch), ("--timeout-s", timeout_s)):
        if value is not None and not 0 < value < float("inf"):
            raise InvalidInput(f"{name} {value} (accepted: seconds above 0)")
    limits = Limits(
        parse_amount(max_held, "--max-held") if max_held else None,
        parse_duration(max_age, "--max-age") if max_age else None,
    )
    gone_after_s = parse_duration(gone_after, "--gone-after")
    with Asking(urls, timeout_s=timeout_s) as asking:
        code, last = _once(asking, limits, gone_after_s, top, as_json=as_json, before={}, clear=False)
        while watch is not None:
            time.sleep(watch)
            clear = not as_json and sys.stdout.isatty()
            code, last = _once(asking, limits, gone_after_s, top, as_json=as_json, before=last, clear=clear)
    return code


def _once(
    asking: Asking,
    limits: Limits,
    gone_after_s: float,
    top: int,
    *,
    as_json: bool,
    before: dict[str, Snapshot],
    clear: bool,
) -> tuple[int, dict[str, Snapshot]]:
    """Ask, tell, judge; nothing at all to tell is wrong usage the first time."""
    from stablecast.holdback.answer import answer_of, exceeded

    snapshots, problems = asking.ask()
    if not snapshots and not before:
        for line in problems[:-1]:
            complain(line)
        raise InvalidInput(problems[-1])
    answer = answer_of(snapshots, before=before, problems=problems, gone_after_s=gone_after_s)
    _tell(answer, top, as_json=as_json, clear=clear)
    passed = exceeded(answer, limits)
    for line in [*answer.problems, *passed]:
        complain(line)
    code = FOUND_FAILURE if passed or answer.problems else DONE
    return code, before | {one.server: one for one in snapshots}


def _tell(answer: Answer, top: int, *, as_json: bool, clear: bool) -> None:
    from stablecast.holdback import as_json as to_json
    from stablecast.holdback import as_text as to_text

    if as_json:
        print(json.dumps(to_json.as_json(answer)), flush=True)
        return
    print((CLEAR if clear else "") + to_text.as_text(answer, top=top), flush=True)
