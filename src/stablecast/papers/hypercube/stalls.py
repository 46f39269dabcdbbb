"""What stalls and what does not: one member crashes, and the others are told or not.

The paper says that coord and s_coord are not fault tolerant, and fulldist and cubefulldist are.  Here each
protocol meets each crash: before the round or during it, of which member, with and without a failure
detector.  What the paper says of coord and s_coord is what they do where nobody is told.  Where members are,
a layer that is not the paper's lets them go on: a successor of the coordinator, and a rebuilt tree
(:mod:`stablecast.protocols.layers.succession`, :mod:`stablecast.protocols.layers.rebuilt`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from stablecast.papers.hypercube.grid import (
    FIRST,
    GRAPHS,
    PROTOCOLS,
    of,
    results_of,
    sample,
)
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import Runs
from stablecast.report.table import Table

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


def _with(chosen: Iterable[Crash]) -> list[Point]:
    return [
        of(protocol, MEMBERS, graph, **crash.options)
        for crash in chosen
        for protocol in PROTOCOLS
        for graph in range(GRAPHS)
    ]


def points(full: bool) -> list[Point]:
    """Return each protocol with each crash."""
    return _with(crashes())


UNDER_WAY = tuple(Crash(who, during=True, told=True) for who in WHO)
"""A crash during the round of which all others are told."""


def judged_points(full: bool) -> list[Point]:
    """Return what Figure 7 needs under every other reading."""
    return _with(UNDER_WAY)


def survives(runs: Runs, protocol: str) -> bool:
    """Tell whether a round under way comes to its end by itself whoever crashes, if the others are told.

    By itself: without more messages than an undisturbed round has.  A successor that begins a round anew, and
    a tree that is rebuilt, take more; they are layers of ours around protocols that the paper calls not
    fault tolerant.
    """
    return all(
        _ends_by_itself(runs, protocol, crash, graph) for crash in UNDER_WAY for graph in range(GRAPHS)
    )


def _ends_by_itself(runs: Runs, protocol: str, crash: Crash, graph: int) -> bool:
    disturbed, alone = (
        runs[of(protocol, MEMBERS, graph, **options)].result for options in (crash.options, {})
    )
    return disturbed.completed and disturbed.messages_sent <= alone.messages_sent


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
    undisturbed = ", ".join(f"{p} {sample(runs, p, MEMBERS).mean(FIRST):.1f}" for p in PROTOCOLS)
    return Table(
        key="stalls",
        title=f"What stalls and what does not: one of {MEMBERS} members crashes",
        columns=("who crashes", "when", "the others are", *PROTOCOLS),
        rows=tuple(rows),
        note=f"Finishes: all others know the result of a round; stalls: not within {LIMIT_MS:g} ms. During:"
        f" after {DURING_MS:g} ms (first RTT without a crash [ms]: {undisturbed}), told {DETECT_MS:g} ms"
        " later. Member 0 is the coordinator, the root, and fulldist's first; member 1 is a child of the root"
        " and member 0's neighbour in the hypercube. That coord and s_coord go on without member 0, and"
        " s_coord without member 1, is not the paper's: a layer lets the lowest member that is left"
        " coordinate, and children report to the nearest ancestor that is left. Who is not told finishes only"
        " where the crashed member's word was out already.",
    )


TABLES = (stalls,)
