"""Section 3.4: what a crash in mid-round costs, with successors and rebuilt trees (C12a, C12b).

The paper calls coord and s_coord not fault tolerant, says that a broken tree has to be built anew and that
its round is lost, and measures failures of cubefulldist alone.  Here all three go on: a member that is left
takes the coordinator's or the root's place, and the children of an inner member that is gone report to an
ancestor.  One to five members crash while a round runs, and a failure detector tells all others after a time.
What is measured is the time and the messages beyond those of the same round, on the same graph, without a
crash.

When a crash hurts: a member that is gone before its word is out is waited for until the detector tells.  In
coord and s_coord a member's word goes out when START has reached it.  In cubefulldist all members begin a
round by themselves, at the same time in these runs, so that the word of each is on its way at once.  The
moments of the crashes are set for the main reading, and the claims are judged under that one alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stablecast.papers.curves import INTERVALS, columns_with_interval, curve, panel, with_interval
from stablecast.papers.hypercube.grid import ABOUT, GRAPHS, LAST, MESSAGES, Index, of
from stablecast.papers.hypercube.trials import MOST_GRAPHS, by_graph, estimate, made_of
from stablecast.papers.paper import Claim, Judgement, Seeds, judged
from stablecast.papers.statistics import Comparison, Estimate, exactly, mean_of
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.figure import Figure, Panel
from stablecast.report.table import Table

CUBE = "cubefulldist"
OTHERS = ("coord", "s_coord")
PROTOCOLS = (*OTHERS, CUBE)
ANYONE, WITH_FIRST = "anyone but member 0", "member 0 among them"
EARLY, MIDDLE = "early", "in the middle"
EARLY_MS = 0.5
MIDDLE_MS = {
    100: {"coord": 3.4, "s_coord": 7.2, CUBE: 4.7},
    400: {"coord": 4.4, "s_coord": 9.9, CUBE: 7.6},
}
"""Half of the time to the first member that knows the result, without a crash, on six graphs."""
DETECTORS_MS = (0.0, 3.0, 10.0, 50.0)
QUICK_DETECTORS_MS = (0.0, 10.0, 50.0)
USUAL_MS = 10.0
SMALL, LARGE = 100, 400
LIMIT_MS = 2_000.0
MOST_DRAWS = 24
LITTLE = 0.25
"""Part of a round that may be lost and still be called little: the limit of C7."""


class Crash(NamedTuple):
    """A line of the table."""

    members: int
    who: str
    moment: str
    failures: int
    detect_ms: float


def _crashes(members: int, told: list[tuple[int, float]]) -> list[Crash]:
    return [
        Crash(members, who, moment, failures, detect)
        for who in (ANYONE, WITH_FIRST)
        for moment in (EARLY, MIDDLE)
        for failures, detect in told
    ]


def crashes(full: bool) -> list[Crash]:
    """Return one to five failures with one detector, and one and five with the others; or fewer."""
    if not full:
        return _crashes(SMALL, [(failures, detect) for failures in (1, 5) for detect in QUICK_DETECTORS_MS])
    few = [(failures, detect) for failures in (1, 5) for detect in DETECTORS_MS]
    return _crashes(SMALL, few + [(failures, USUAL_MS) for failures in (2, 3, 4)]) + _crashes(LARGE, few)


def crashed(protocol: str, crash: Crash, graph: int) -> Point:
    """Return a round in which members crash; the same ones for all protocols."""
    rng = np.random.default_rng([graph, crash.failures, 0x63726173])
    gone = rng.choice(np.arange(1, crash.members), crash.failures, replace=False).tolist()
    if crash.who == WITH_FIRST:
        gone[0] = 0
    at = EARLY_MS if crash.moment == EARLY else MIDDLE_MS[crash.members][protocol]
    return of(
        protocol,
        crash.members,
        graph,
        faults=f"crash {','.join(map(str, sorted(gone)))} at {at:g}",
        detect_ms=crash.detect_ms,
        until_ms=LIMIT_MS,
    )


def _all(chosen: list[Crash], count: int) -> list[Point]:
    sizes = sorted({crash.members for crash in chosen})
    plain = [of(protocol, n, graph) for protocol in PROTOCOLS for n in sizes for graph in range(count)]
    return plain + [
        crashed(protocol, c, graph) for c in chosen for protocol in PROTOCOLS for graph in range(count)
    ]


def points(full: bool) -> list[Point]:
    """Return every crash, and the same rounds without one."""
    return _all(crashes(full), GRAPHS)


def _made(runs: Runs) -> list[Crash]:
    made = [crash for crash in crashes(True) if all(crashed(p, crash, 0) in runs for p in PROTOCOLS)]
    if not made:
        raise MissingRun(f"this run was not made: {crashed(CUBE, crashes(True)[0], 0).replay}")
    return made


def _asked(protocol: str, crash: Crash) -> list[Point]:
    return [crashed(protocol, crash, graph) for graph in range(MOST_GRAPHS)]


def _plain(protocol: str, members: int) -> list[Point]:
    return [of(protocol, members, graph) for graph in range(MOST_GRAPHS)]


def extra(runs: Runs, protocol: str, crash: Crash, index: Index) -> dict[int, float]:
    """Return, by graph, what a crash adds to an index of the same round."""
    disturbed = by_graph(runs, _asked(protocol, crash), index)
    plain = by_graph(runs, _plain(protocol, crash.members), index)
    return {graph: disturbed[graph] - plain[graph] for graph in disturbed.keys() & plain.keys()}


def lost(runs: Runs, protocol: str, crash: Crash, index: Index) -> Estimate:
    """Return the mean of that over the graphs."""
    return mean_of(list(extra(runs, protocol, crash, index).values()))


def saved(runs: Runs, other: str, crash: Crash) -> Estimate:
    """Return how much more time another protocol loses than cubefulldist, in ms."""
    theirs, ours = (extra(runs, protocol, crash, LAST) for protocol in (other, CUBE))
    return mean_of([theirs[graph] - ours[graph] for graph in theirs.keys() & ours.keys()])


def share_lost(runs: Runs, crash: Crash) -> Estimate:
    """Return what cubefulldist loses as a part of the undisturbed round."""
    plain = by_graph(runs, _plain(CUBE, crash.members), LAST)
    return mean_of([more / plain[graph] for graph, more in extra(runs, CUBE, crash, LAST).items()])


def recovery(runs: Runs) -> Table:
    """Every crash: time and messages beyond those of an undisturbed round."""
    rows: list[tuple[Any, ...]] = []
    for crash in _made(runs):
        found = [lost(runs, protocol, crash, index) for index in (LAST, MESSAGES) for protocol in PROTOCOLS]
        rows.append((*crash, *(cell for each in found for cell in with_interval(each))))
    heads = [f"{protocol}, {what}" for what in ("time [ms]", "messages") for protocol in PROTOCOLS]
    undisturbed = "; ".join(
        f"{n} members: " + ", ".join(f"{p} {estimate(runs, _plain(p, n), LAST).value:.1f}" for p in PROTOCOLS)
        for n in sorted({crash.members for crash in _made(runs)})
    )
    return Table(
        key="recovery",
        title="Crashes in mid-round: the last member's time, and messages, beyond an undisturbed round",
        columns=("n", "who crashes", "when", "failures", "detector [ms]", *columns_with_interval(heads)),
        rows=tuple(rows),
        note=f"Early: {EARLY_MS:g} ms after the start. In the middle: at half of the time that the protocol"
        f" takes to the first member that knows. Undisturbed, last member [ms]: {undisturbed}. The same"
        " members crash in all protocols; who has crashed sends nothing, so that messages may be fewer.",
    )


TABLES = (recovery,)


def _unfinished(runs: Runs, chosen: list[Crash]) -> tuple[int, int]:
    """Return how many rounds did not end, and how many there are."""
    found = [each for c in chosen for p in PROTOCOLS for each in made_of(runs, _asked(p, c))]
    return sum(not each.completed for each in found), len(found)


def _where(crash: Crash) -> str:
    return f"n = {crash.members}, {crash.failures} crash, detector {crash.detect_ms:g} ms"


def judge_succession(runs: Runs) -> Judgement:
    """C12a."""
    chosen = [crash for crash in _made(runs) if crash.who == WITH_FIRST and crash.moment == MIDDLE]
    unfinished, rounds = _unfinished(runs, chosen)
    comparisons = {
        other: [
            Comparison(
                what=f"ms that {other} loses more, {_where(c)}", found=saved(runs, other, c), least=0.0
            )
            for c in chosen
        ]
        for other in OTHERS
    }
    least = {other: min(each, key=lambda one: one.found.value).found for other, each in comparisons.items()}
    ended = Comparison(what="rounds that did not end", found=exactly(unfinished), most=0)
    return judged(
        [ended, *(one for each in comparisons.values() for one in each)],
        paper="the tree has to be rebuilt, and its round is lost (3.4); not measured",
        measured="; ".join(f"{other} loses at least {each} ms more" for other, each in least.items()),
        why=f"member 0, which is coordinator and root, crashes in the middle, with up to four others;"
        f" {len(chosen)} cases, the same graphs and members (accepted: more than cubefulldist in all); a"
        f" successor sends {_more_messages(runs, chosen)}; {unfinished} of {rounds} rounds did not end",
    )


def _more_messages(runs: Runs, chosen: list[Crash]) -> str:
    """Say what part of a round's messages is sent again."""
    told = []
    for other in OTHERS:
        shares = [
            lost(runs, other, c, MESSAGES).value / estimate(runs, _plain(other, c.members), MESSAGES).value
            for c in chosen
        ]
        told.append(f"{max(shares):.0%} of {other}'s messages again")
    return ", ".join(told)


def judge_little(runs: Runs) -> Judgement:
    """C12b."""
    shares = {crash: share_lost(runs, crash) for crash in _made(runs)}
    middle = {crash: each for crash, each in shares.items() if crash.moment == MIDDLE}
    worst = max(middle, key=lambda crash: middle[crash].value)
    early = max((c for c in shares if c.moment == EARLY), key=lambda crash: shares[crash].value)
    others = {p: max(lost(runs, p, c, LAST).value for c in middle if c.who == ANYONE) for p in PROTOCOLS}
    return judged(
        [
            Comparison(what=f"part of a round lost, {c.who}, {_where(c)}", found=each, most=LITTLE)
            for c, each in middle.items()
        ],
        paper="-",
        measured=f"at most {middle[worst].value:.0%} of a round",
        why=f"{len(middle)} cases, detectors up to {max(c.detect_ms for c in middle):g} ms (accepted:"
        f" {LITTLE:.0%}); most: {worst.who}, {_where(worst)}; {EARLY_MS:g} ms after the start it is up to"
        f" {shares[early].value:.0%} ({_where(early)}), since neighbours of those that are gone wait for them"
        " in every iteration; without member 0 in the middle the others lose up to"
        f" {', '.join(f'{p} {others[p]:.1f} ms' for p in OTHERS)}, cubefulldist {others[CUBE]:.1f} ms",
    )


def _in_the_middle(count: int) -> list[Point]:
    return _all([crash for crash in crashes(False) if crash.moment == MIDDLE], count)


_SEEDS = Seeds(points=_in_the_middle, first=GRAPHS, most=MOST_DRAWS)
CLAIMS = (
    Claim(
        id="C12a",
        kind="trend",
        text="If the coordinator or root is among one to five members that crash in the middle of a round,"
        " cubefulldist loses less time than coord and s_coord with a successor, whatever the failure detector"
        " takes.",
        judge=judge_succession,
        ours=True,
        main_reading_only=True,
        seeds=_SEEDS,
    ),
    Claim(
        id="C12b",
        kind="trend",
        text="Whichever one to five members crash in the middle of a round, cubefulldist loses little of it,"
        " also with a slow failure detector.",
        judge=judge_little,
        ours=True,
        main_reading_only=True,
        seeds=_SEEDS,
    ),
)


def _over_detectors(runs: Runs, letter: str, who: str, moment: str, failures: int) -> Panel:
    """Show the time that is lost over the time of the detector."""
    made = _made(runs)
    cases = [c for c in made if c[:-1] == (SMALL, who, moment, failures)]
    lines = [curve(p, [(c.detect_ms, lost(runs, p, c, LAST)) for c in cases]) for p in PROTOCOLS]
    gone = "member 0 crashes" if who == WITH_FIRST else f"{failures} others crash"
    return panel(f"({letter}) {gone} {moment}", "time lost [ms]", lines, x="detector takes [ms]")


def figure_recovery(runs: Runs) -> Figure:
    """Time lost over the time of the detector."""
    wanted = ((WITH_FIRST, MIDDLE, 1), (ANYONE, MIDDLE, 5), (WITH_FIRST, EARLY, 1), (ANYONE, EARLY, 5))
    return Figure(
        key="recovery",
        title="Crashes in mid-round",
        caption=f"Time to the last member that knows the result beyond that of an undisturbed round, {SMALL}"
        f" members. Early: after {EARLY_MS:g} ms. coord and s_coord have successors and rebuild their tree."
        f" {ABOUT} {INTERVALS}",
        panels=tuple(
            _over_detectors(runs, letter, *each) for letter, each in zip("ABCD", wanted, strict=True)
        ),
    )


FIGURES = (figure_recovery,)
