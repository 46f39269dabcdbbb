"""Snapshots every so often, into a journal and files."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from stablecast.analysis.output import locked
from stablecast.errors import InvalidInput
from stablecast.holdback.asking import Asking
from stablecast.holdback.collecting.history import add
from stablecast.holdback.collecting.journal import LOCK, Journal, check_folder


@dataclass(frozen=True)
class Collecting:
    """How to collect."""

    every_s: float = 10.0
    rotate_s: float = 300.0
    """After so long what was collected becomes files."""
    once: bool = False
    timeout_s: float | None = None


def collect(
    addresses: Sequence[str],
    out: Path,
    how: Collecting,
    *,
    stopped: Event,
    say: Callable[[str], None],
) -> int:
    """Collect until stopped; return how many snapshots were taken.

    A system that does not answer is asked again at the next time; ``say`` is told when that begins and ends.
    """
    asking = Asking(addresses, timeout_s=how.timeout_s)
    check_folder(out)
    with asking, locked(out / LOCK, out):
        journal = Journal(out)
        try:
            return _collect(asking, journal, how, stopped, say)
        finally:
            journal.close()


def _collect(
    asking: Asking, journal: Journal, how: Collecting, stopped: Event, say: Callable[[str], None]
) -> int:
    taken, said = 0, set[str]()
    due = turned = time.monotonic()
    while True:
        snapshots, lines = asking.ask(stopped.is_set)
        if stopped.is_set():
            lines = []  # whoever has not answered was not waited for
        if not snapshots and how.once:
            raise InvalidInput(lines[-1])
        for snapshot in snapshots:
            added = add(journal.known, snapshot, asking.scopes)
            journal.add(added)
            lines += [*snapshot.problems, *added.problems]
            taken += 1
        for line in lines:
            if line not in said:
                say(line)
        for line in sorted(said - set(lines)):
            say(f"no longer: {line}")
        said = set(lines)
        if time.monotonic() - turned >= how.rotate_s:
            journal.rotate()
            turned = time.monotonic()
        due = max(due + how.every_s, time.monotonic())
        if how.once or stopped.wait(due - time.monotonic()):
            journal.rotate()
            return taken
