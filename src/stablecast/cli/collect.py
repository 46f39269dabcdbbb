"""``stablecast collect``: the positions of readers in running systems, kept as files."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Annotated

import typer

from stablecast.cli.output import DONE
from stablecast.words import printable


def collect_command(
    urls: Annotated[
        list[str],
        typer.Argument(metavar="URL...", help="redis://, postgres://, nats://, kafka:// or stablecast://"),
    ],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the files; goes on with what is there.")
    ],
    every_s: Annotated[float, typer.Option(help="Seconds between two snapshots.")] = 10.0,
    rotate_s: Annotated[float, typer.Option(help="Seconds after which a file is done.")] = 300.0,
    once: Annotated[
        bool, typer.Option("--once", help="Take one snapshot, and leave: for a job that runs now and then.")
    ] = False,
    timeout_s: Annotated[float, typer.Option(help="How long a system is waited for, in seconds.")] = 5.0,
) -> int:
    """Keep what readers have and what logs hold as files of positions, for `analyze`, `watch` and `audit`.

    Example: stablecast collect redis://localhost:6379 --out history --every-s 10
    """
    from stablecast.holdback.units import check_seconds

    for name, value in (("--every-s", every_s), ("--rotate-s", rotate_s), ("--timeout-s", timeout_s)):
        check_seconds(value, name)
    from stablecast.holdback.collecting.run import Collecting, collect

    how = Collecting(every_s, rotate_s, once, timeout_s)
    with _stop_on_signals() as stopped:
        taken = collect(urls, out, how, stopped=stopped, say=_say)
    print(f"{taken:,} snapshots; {out}")
    return DONE


def _say(line: str) -> None:
    print(f"# {printable(line)}", file=sys.stderr, flush=True)


@contextmanager
def _stop_on_signals() -> Iterator[Event]:
    """Give what signals set, so that what was collected becomes files before the end."""
    stopped = Event()
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: stopped.set()) for number in signals]
    try:
        yield stopped
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)
