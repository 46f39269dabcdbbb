"""Section 6: a wrong view of the senders, and the rules for connections that prevent it (T6, Figure 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from stablecast.errors import unknown_name
from stablecast.papers.paper import Claim, Judgement
from stablecast.papers.timestamp.connections.cases import CASES
from stablecast.papers.timestamp.connections.interleavings import explore
from stablecast.papers.timestamp.figure_4 import (
    B_FROM,
    COURSES,
    DEPRIVED,
    MESSAGES,
    NAMES,
    NODES,
    B,
    Letter,
    Log,
    play,
)
from stablecast.pipeline.point import Point, task_point
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.pipeline.tasks import Outcome
from stablecast.report.diagram import Arrow, Diagram, Mark
from stablecast.report.table import Table

PLAY = f"{__name__}:play_figure_4"
EXPLORE = f"{__name__}:explore_case"
HAZARD, REPAIRED, CLOSED, APART = COURSES
PAPER_SAYS = (27, 27, 33)
"""What nodes 1, 2 and 3 acknowledge in Figure 4."""
WITH_THE_RULES = (27, 27, 0)
QUICK_CASES = ("one pair, three connections", "figure 4, node 3 connects to node 1 at any time")
ROWS = (2, 1, 3)
"""The nodes in a drawing, from the top down: the message that is lost crosses no other node's line."""
COUNTS = ("states", "steps", "quiet", "joined", "stable", "refused")


def play_figure_4(course: str) -> Outcome:
    """Play Figure 4 and tell what each node had and said, and when node 1 called B stable."""
    log = play(course)
    extra: dict[str, float] = {"violations": log.violations, "asked in vain": len(log.gone)}
    for n in NODES:
        said = log.first_round(n)
        extra[f"{n} acknowledges"] = said.value
        extra |= {f"{n} counts {s}": float(s in said.senders) for s in NODES}
        extra |= {f"{n} has {name}": float(stamp in said.has) for name, (_, stamp) in MESSAGES.items()}
    if (DEPRIVED, B) in log.delivered:
        extra["B comes"] = log.delivered[DEPRIVED, B]
    called = log.called_stable()
    if called is not None:
        extra |= {f"heard from {n}": value for n, value in called.heard.items()}
        extra["B is stable"] = called.time
    return Outcome(extra=extra)


def explore_case(case: str, rules: bool) -> Outcome:
    """Visit every state of a case; without the rules only the promise is checked, which they are for."""
    if case not in CASES:
        raise unknown_name("case", case, CASES)
    explored = explore(replace(CASES[case], rules=rules), promise_only=not rules, go_on=True)
    return Outcome(extra={name: float(getattr(explored, name)) for name in COUNTS})


def figure_4(course: str) -> Point:
    """Return a run of Figure 4."""
    return task_point(PLAY, course=course)


def exploration(case: str, *, rules: bool) -> Point:
    """Return the exploration of a case."""
    return task_point(EXPLORE, case=case, rules=rules)


def points(full: bool) -> list[Point]:
    """Return the runs of Figure 4, and explorations with and without the rules."""
    cases = CASES if full else QUICK_CASES
    return [figure_4(course) for course in COURSES] + [
        exploration(case, rules=rules) for case in cases for rules in (True, False)
    ]


def _acknowledged(extra: dict[str, float]) -> tuple[int, ...]:
    return tuple(int(extra[f"{n} acknowledges"]) for n in NODES)


def _explored(runs: Runs) -> dict[str, tuple[dict[str, float], dict[str, float]]]:
    """Return for each case what was found with the rules and without."""
    found = {
        case: (runs[exploration(case, rules=True)].extra, runs[exploration(case, rules=False)].extra)
        for case in CASES
        if exploration(case, rules=True) in runs
    }
    if not found:
        raise MissingRun(f"this run was not made: {exploration(QUICK_CASES[0], rules=True).replay}")
    return found


def nodes_of_figure_4(runs: Runs) -> Table:
    """What each node has, whom it counts and what it acknowledges."""
    rows: list[tuple[Any, ...]] = []
    for course in COURSES:
        extra = runs[figure_4(course)].extra
        for n in NODES:
            has = "".join(name for name in MESSAGES if extra[f"{n} has {name}"])
            counts = ", ".join(str(s) for s in NODES if extra[f"{n} counts {s}"])
            rows.append((course, n, has, counts, int(extra[f"{n} acknowledges"])))
    sent = ", ".join(f"{name} from node {node} at {stamp}" for name, (node, stamp) in MESSAGES.items())
    return Table(
        key="figure4_nodes",
        title="Figure 4: what each node has, whom it counts as senders, and what it acknowledges",
        columns=("run", "node", "has", "counts", "acknowledges"),
        rows=tuple(rows),
        note=f"{sent}; timestamps are times. At the acknowledgements that follow, while node 3 lacks B. D is"
        " not in the paper, whose numbers need it: who counts node 3 cannot acknowledge 27 without it.",
    )


def endings_of_figure_4(runs: Runs) -> Table:
    """When B is called stable, and who lacks it then."""
    rows: list[tuple[Any, ...]] = []
    for course in COURSES:
        extra = runs[figure_4(course)].extra
        counted = ", ".join(str(n) for n in NODES if f"heard from {n}" in extra)
        times = (int(extra[name]) if name in extra else "never" for name in ("B comes", "B is stable"))
        rows.append((course, *times, counted, int(extra["violations"]), int(extra["asked in vain"])))
    return Table(
        key="figure4_endings",
        title="Figure 4: when node 1 calls B stable",
        columns=("run", "node 3 gets B", "B called stable", "node 1 counts", "violations", "asked in vain"),
        rows=tuple(rows),
        note="A violation is a message called stable that a node lacks which its sender has counted since the"
        " sending. Asked in vain: node 3 asks for B, and node 1 no longer has it.",
    )


def explorations(runs: Runs) -> Table:
    """What was found in every order of events."""
    rows: list[tuple[Any, ...]] = [
        (case, *(int(one["states"]) for one in each), *(int(one["refused"]) for one in each))
        for case, each in _explored(runs).items()
    ]
    total = tuple(sum(row[column] for row in rows) for column in range(1, 5))
    return Table(
        key="explorations",
        title="All states that small cases can reach, with the rules of section 6 and without",
        columns=("case", "states", "states without", "violations", "violations without"),
        rows=(*rows, ("all", *total)),
        note="Data comes in order; acknowledgements and notices are lost, late, doubled, in any order. With"
        " the rules everything is checked: the promise, the rules, that numbers do not go back, and that all"
        " becomes stable once channels stay open. Without them the promise alone; it holds where only one"
        " node sends, since the danger is one number that stands for several senders.",
    )


TABLES = (nodes_of_figure_4, endings_of_figure_4, explorations)


def judge_hazard(runs: Runs) -> Judgement:
    """T6a."""
    extra = runs[figure_4(HAZARD)].extra
    acknowledged = _acknowledged(extra)
    heard = tuple(int(extra.get(f"heard from {n}", -1)) for n in NODES)
    view = tuple(s for s in NODES if extra[f"{DEPRIVED} counts {s}"])
    has_b = [n for n in NODES if extra[f"{n} has B"]]
    at = f"at {extra['B is stable']:g}" if "B is stable" in extra else "never"
    gone = int(extra["asked in vain"])
    return Judgement(
        paper="acknowledged: 27 (node 2), 33 (node 3); B (27) called stable, and node 3 lacks it",
        measured=f"acknowledged: {_list(acknowledged)}; B called stable {at}; {int(extra['violations'])}"
        " violation",
        holds=acknowledged == heard == PAPER_SAYS
        and view == (2, 3)
        and has_b == [1, 2]
        and "B comes" not in extra
        and (extra["violations"], gone) == (1, 1),
        why=f"node 3 counts nodes {_list(view)} as senders; node 1 has heard {_list(heard)} when it calls B"
        f" stable; B is at nodes {_list(has_b)}; node 3 asks for it in vain {gone} time(s). Node 1's 27 is"
        " its own, and a message of node 3 is added, without which the numbers do not come about",
    )


def judge_prevented(runs: Runs) -> Judgement:
    """T6b."""
    too_early = runs[figure_4(HAZARD)].extra.get("B is stable", float("inf"))
    told, wrong = [], []
    for course in (REPAIRED, CLOSED, APART):
        extra = runs[figure_4(course)].extra
        stable = extra.get("B is stable", float("inf"))
        counted, comes = f"heard from {DEPRIVED}" in extra, extra.get("B comes", float("inf"))
        held = course == APART or (_acknowledged(extra) == WITH_THE_RULES and stable > too_early)
        safe = stable < float("inf") and (comes <= stable or not counted) and not extra["violations"]
        how = f"node 3 has it since {comes:g}" if counted else "node 3 is not counted"
        told.append(f"{course}: {_list(_acknowledged(extra))}, B stable at {stable:g}, {how}")
        wrong += [] if held and safe and not extra["asked in vain"] else [course]
    return Judgement(
        paper="the rules keep B from being called stable",
        measured=f"{3 - len(wrong)} of 3 runs: stable only when node 3 has B or is not counted",
        holds=not wrong,
        why=f"acknowledged while node 3 lacks B, and what came of it: {'; '.join(told)}. Without the rules B"
        f" is called stable at {too_early:g} (wrong: {', '.join(wrong) or 'none'})",
    )


def judge_explorations(runs: Runs) -> Judgement:
    """T6c."""
    found = _explored(runs)
    ruled, unruled = ({case: each[k] for case, each in found.items()} for k in (0, 1))
    states, refused = (int(sum(one[name] for one in ruled.values())) for name in ("states", "refused"))
    quiet = int(sum(one["quiet"] for one in ruled.values()))
    others, broken = (int(sum(one[name] for one in unruled.values())) for name in ("states", "refused"))
    several = [case for case in found if CASES[case].senders > 1]
    blind = [case for case in several if not unruled[case]["refused"]]
    idle = [case for case, one in ruled.items() if not (one["quiet"] and one["joined"] and one["stable"])]
    return Judgement(
        paper="the rules suffice",
        measured=f"{refused} violations in {states:,} states; without the rules {broken:,} in {others:,}",
        holds=not refused and bool(several) and not blind and not idle,
        why=f"every state of {len(found)} small cases, in any order of events, with loss, delay and doubling;"
        f" from each of {quiet:,} quiet ones all becomes stable (nothing to see in: {_list(idle) or 'none'});"
        f" without the rules the promise is broken in {len(several) - len(blind)} of {len(several)} cases"
        " with several senders",
    )


def _list(values: Sequence[object]) -> str:
    return ", ".join(map(str, values))


CLAIMS = (
    Claim(
        id="T6a",
        kind="exact",
        text="Figure 4: node 3, in whose view only nodes 2 and 3 belong to the group, acknowledges 33, and"
        " node 1 calls B (27) stable, which node 3 lacks and can no longer get.",
        judge=judge_hazard,
    ),
    Claim(
        id="T6b",
        kind="exact",
        text="With the rules for connections B is called stable only when node 3 has it or is not counted.",
        judge=judge_prevented,
    ),
    Claim(
        id="T6c",
        kind="exact",
        text="In every order of events of small cases, with disconnections and reconnections, the rules keep"
        " the promise and all becomes stable; the same search finds the promise broken without them.",
        judge=judge_explorations,
    ),
)


def _arrow(letter: Letter) -> Arrow:
    """Draw a message; what does not concern node 1's view of B is pale."""
    name = NAMES.get(letter.number, "")
    label = {"acknowledgement": str(letter.number), "request": f"{name}?", "closing": "closes"}.get(
        letter.kind, f"{name} ({letter.number})"
    )
    return Arrow(
        source=ROWS.index(letter.source),
        dest=ROWS.index(letter.dest),
        sent=letter.sent,
        received=letter.received,
        kind=letter.kind,
        label=label,
        pale=letter.kind == "acknowledgement" and letter.dest != B_FROM,
    )


def _marks(log: Log) -> list[Mark]:
    """Return what is to be seen of node 3's view and of B's fate."""
    said = log.first_round(DEPRIVED)
    view = Mark(process=ROWS.index(DEPRIVED), time=said.time, text=f"counts {_list(said.senders)}")
    marks = [view]
    called = log.called_stable()
    if called is not None:
        marks.append(Mark(process=ROWS.index(B_FROM), time=called.time, text="calls B stable"))
    marks += [Mark(process=ROWS.index(n), time=time, text="has B no more") for n, time, _ in log.gone]
    if (DEPRIVED, B) in log.delivered:
        marks.append(Mark(process=ROWS.index(DEPRIVED), time=log.delivered[DEPRIVED, B], text="has B"))
    return sorted(marks, key=lambda mark: mark.time)


def _diagram(runs: Runs, course: str, key: str, title: str, caption: str) -> Diagram:
    runs[figure_4(course)].extra  # noqa: B018 - a run that was not made is not drawn
    log = play(course)
    marks = _marks(log)
    begin, end = min(stamp for _, stamp in MESSAGES.values()), marks[-1].time
    return Diagram(
        key=key,
        title=title,
        caption=caption,
        time_label="time [units]",
        processes=tuple(f"node {n}" for n in ROWS),
        messages=tuple(_arrow(letter) for letter in log.letters if begin <= letter.sent <= end),
        events=tuple(marks),
    )


def hazard(runs: Runs) -> Diagram:
    """Figure 4: the paper's run."""
    return _diagram(
        runs,
        HAZARD,
        "figure4",
        "Figure 4: without the rules B is called stable, and node 3 lacks it",
        "Node 3 has heard nothing from node 1 and does not count it, so it acknowledges 33. Node 1 has 27, 27"
        " (its own) and 33, calls B stable and lets it go. With E node 3 sees that B is missing, and asks in"
        " vain. Timestamps are times of sending; acknowledgements to others than node 1 are pale.",
    )


def prevented(runs: Runs) -> Diagram:
    """Figure 4 once more, with the rules."""
    return _diagram(
        runs,
        REPAIRED,
        "figure4_rules",
        "Figure 4 with the rules: B is kept until node 3 has it",
        "The same run. Node 3 counts node 1 since its first acknowledgement to it, which was 0, and so"
        " acknowledges 0 until it has B. Node 1 still has B when node 3 asks for it, and calls it stable"
        " after node 3's next acknowledgement. The connections were opened before the first message.",
    )


FIGURES = (hazard, prevented)
