"""What stalls and what does not: one member crashes, and the others are told or not.

The paper says that coord and s_coord are not fault tolerant, and fulldist and cubefulldist are.  Here each
protocol meets each crash: before the round or during it, of which member, with and without a failure
detector.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from stablecast.pipeline.experiments.hypercube.grid import (
    FIRST,
    GRAPHS,
    PROTOCOLS,
    mean,
    of,
    results_of,
)
from stablecast.pipeline.experiments.table import Table
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import Runs

MEMBERS = 100
DURING_MS, DETECT_MS = 2.0, 3.0
"""A crash in the middle of the round, and how long the detector takes then."""
NEVER_MS = -1.0
LIMIT_MS = 2_000.0
"""A round takes some tens of milliseconds."""
NEIGHBOUR, ANYONE, FIRST_MEMBER = "member 1", "any but member 0", "member 0"
WHO = (NEIGHBOUR, ANYONE, FIRST_MEMBER)
NUMBERS = {NEIGHBOUR: 1, FIRST_MEMBER: 0}
"""Member 1 is member 0's neighbour in the hypercube, and a child of the root in the tree."""


class Crash(NamedTuple):
    """Who crashes, when, and whether the others are told."""

    who: str
    during: bool
    told: bool

    @property
    def options(self) -> dict[str, Any]:
        """The options of a run with it."""
        at = DURING_MS if self.during else 0.0
        detect = (DETECT_MS if self.during else 0.0) if self.told else NEVER_MS
        options: dict[str, Any] = {"detect_ms": detect, "until_ms": LIMIT_MS}
        if self.who == ANYONE:
            return options | {"fail_random": 1, "fail_at_ms": at}
        return options | {"faults": f"crash {NUMBERS[self.who]} at {at:g}"}


def crashes() -> Iterator[Crash]:
    """Go through all of them."""
    for who in WHO:
        for during in (False, True):
            for told in (True, False):
                yield Crash(who, during, told)


def points(full: bool) -> list[Point]:
    """Return each protocol with each crash."""
    return [
        of(protocol, MEMBERS, graph, **crash.options)
        for crash in crashes()
        for protocol in PROTOCOLS
        for graph in range(GRAPHS)
    ]


def outcome(runs: Runs, protocol: str, crash: Crash) -> str:
    """Tell in how many runs all others finished."""
    results = results_of(runs, [of(protocol, MEMBERS, graph, **crash.options) for graph in range(GRAPHS)])
    finished = sum(result.completed for result in results)
    if finished in (0, len(results)):
        return "finishes" if finished else "stalls"
    return f"finishes {finished} of {len(results)}"


def stalls(runs: Runs) -> Table:
    """Each crash, and what each protocol does."""
    rows = [
        (
            crash.who,
            "during the round" if crash.during else "before it",
            "told" if crash.told else "not told",
            *(outcome(runs, protocol, crash) for protocol in PROTOCOLS),
        )
        for crash in crashes()
    ]
    undisturbed = ", ".join(f"{p} {mean(runs, p, MEMBERS, FIRST):.1f}" for p in PROTOCOLS)
    return Table(
        key="stalls",
        title=f"What stalls and what does not: one of {MEMBERS} members crashes",
        columns=("who crashes", "when", "the others are", *PROTOCOLS),
        rows=tuple(rows),
        note=f"Finishes: all others know the result of a round; stalls: not within {LIMIT_MS:g} ms. During:"
        f" after {DURING_MS:g} ms (first RTT without a crash [ms]: {undisturbed}), told {DETECT_MS:g} ms"
        " later. Member 0 is the coordinator, the root, and fulldist's first; member 1 is a child of the root"
        " and member 0's neighbour in the hypercube. Who is not told finishes only where the crashed"
        " member's word was out already.",
    )


TABLES = (stalls,)
