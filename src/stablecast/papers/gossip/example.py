"""Figure 1, exact: who has heard from whom, and who knows the result, after each of its two steps (G1b)."""

from __future__ import annotations

from stablecast.papers.gossip.example_run import (
    ARRAYS,
    NAMES,
    STEP,
    A,
    B,
    C,
    D,
    figure_1,
)
from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point, task_point
from stablecast.pipeline.runs import Runs
from stablecast.pipeline.tasks import Outcome
from stablecast.report.diagram import Arrow, Diagram, Mark
from stablecast.report.table import Table
from stablecast.testing.reference.channels import ChannelRun

PLAY = f"{__name__}:play"
PIGGYBACK, MULTICAST = "piggyback", "multicast"
STEPS = 2
RESULT = tuple(map(min, zip(*ARRAYS, strict=True)))
"""S: what everyone has."""
KNOWING = {PIGGYBACK: ("BC", "ABCD"), MULTICAST: ("ABCD", "ABCD")}
"""Who has the stability array at the end of each step, in the paper."""
PARTIAL = {"A": "ABC", "D": "D"}
"""Whom those that have it not have heard from at the end of the first step."""


def play(share: str) -> Outcome:
    """Read everyone's state after each step, and who sent what to whom in the second."""
    run, steps = figure_1(share, STEPS)
    extra: dict[str, float] = {"wrong": 0.0}
    for k, step in enumerate(steps, 1):
        for member, name in enumerate(NAMES):
            knows = step.stable[member] == RESULT
            extra[f"{k} knows {name}"] = knows
            extra["wrong"] += not knows and any(step.stable[member])
            extra[f"{k} round {name}"] = step.rounds[member]
            extra |= {f"{k} heard {name} {other}": other in step.heard[member] for other in NAMES}
            extra |= {f"{k} minimum {name} {c}": each for c, each in enumerate(step.minimum[member])}
    for each in run.passages:
        if STEP <= each.sent < STEPS * STEP and each.kind == "GOSSIP":
            extra[f"{NAMES[each.source]} to {NAMES[each.dest]}"] = each.numbers[0]
    return Outcome(extra=extra)


def _point(share: str) -> Point:
    return task_point(PLAY, share=share)


def points(full: bool) -> list[Point]:
    """Return the figure's run, with the result on the gossip and multicast."""
    return [_point(share) for share in KNOWING]


def _those(runs: Runs, share: str, what: str) -> str:
    extra = runs[_point(share)].extra
    return "".join(name for name in NAMES if extra[f"{what} {name}"])


def _heard(runs: Runs, share: str, step: int, name: str) -> str:
    return _those(runs, share, f"{step} heard {name}")


def judge_example(runs: Runs) -> Judgement:
    """G1b."""
    found = {share: [_those(runs, share, f"{k} knows") for k in (1, 2)] for share in KNOWING}
    wrong = [f"{share}: {told}" for share, told in found.items() if tuple(told) != KNOWING[share]]
    heard = {name: _heard(runs, PIGGYBACK, 1, name) for name in PARTIAL}
    wrong += [f"{name} has heard from {heard[name]}" for name in PARTIAL if heard[name] != PARTIAL[name]]
    second = runs[_point(PIGGYBACK)].extra
    # D's array comes to A in the first round still; B and C are in the next one, with the result on it.
    wrong += [] if second.get("D to A") == 1 else ["A does not get D's array from D"]
    wrong += [] if {second.get("B to D"), second.get("C to D")} == {2} else ["D does not get S from B and C"]
    wrong += [f"{share}: S is not the minimum" for share in KNOWING if runs[_point(share)].extra["wrong"]]
    first, last = found[PIGGYBACK]
    return Judgement(
        paper="B, C after one step; all after two",
        measured=f"{', '.join(first)} after one step; {'all' if last == 'ABCD' else last} after two",
        holds=not wrong,
        why="; ".join(wrong)
        or "after the first step A lacks D's array alone and D has its own alone; A then completes the"
        " minimum with it, and D gets the result from B and C; with a multicast all have it within the first"
        " step",
    )


CLAIMS = (
    Claim(
        id="G1b",
        kind="exact",
        text="Figure 1: of four members with sub-groups of two, B and C construct the stability array in the"
        " first step and A and D in the second; with a multicast one step is enough.",
        judge=judge_example,
    ),
)


def steps_of_figure_1(runs: Runs) -> Table:
    """Show everyone's M, W and S after each step."""
    rows = []
    for share in KNOWING:
        extra = runs[_point(share)].extra
        for k in (1, 2):
            for name in NAMES:
                minimum = " ".join(str(int(extra[f"{k} minimum {name} {c}"])) for c in range(len(RESULT)))
                knows = " ".join(map(str, RESULT)) if extra[f"{k} knows {name}"] else "-"
                heard = _heard(runs, share, k, name)
                rows.append((share, k, name, int(extra[f"{k} round {name}"]), minimum, heard, knows))
    return Table(
        key="figure1",
        title="Figure 1, step by step",
        columns=("share", "after step", "member", "round", "M", "W", "S"),
        rows=tuple(rows),
        note="Who knows S has begun the next round, with its own array and itself. The figure leaves the"
        " arrays open; these are ours.",
    )


TABLES = (steps_of_figure_1,)


def _label(run: ChannelRun, numbers: tuple[int, ...]) -> str:
    """Return the names in W, or in the next round S, which is what counts then."""
    width = len(RESULT)
    if numbers[0] > 1:
        return f"S = {' '.join(map(str, numbers[2 + width : 2 + 2 * width]))}"
    return "".join(name for j, name in enumerate(NAMES) if numbers[1 + width] >> j & 1)


def drawing_of_figure_1(runs: Runs) -> Diagram:
    """Draw the figure's run, by the protocol's kernels."""
    run, steps = figure_1(PIGGYBACK, STEPS)
    drawn = [each for each in run.passages if each.received is not None]
    ends = [(k + 1) * STEP - 1 for k in range(STEPS)]
    return Diagram(
        key="figure1-run",
        title="Figure 1: four members, sub-groups of two",
        caption="By the protocol's kernels. A message of the first round is labelled with those whose arrays"
        " its minimum has; in italics, whom each member has heard from at the end of a step, or S. In the"
        " first step B and C hear from everyone and have S. In the second A gets D's array and completes the"
        " minimum itself; D gets S from B and C, which are in the next round. Pale: messages that this"
        " round does not need.",
        time_label=f"time [a step has {STEP}]",
        processes=NAMES,
        messages=tuple(
            Arrow(
                source=each.source,
                dest=each.dest,
                sent=each.sent,
                received=each.received,
                kind="GOSSIP",
                label=_label(run, each.numbers),
                pale=each.sent >= STEP and (each.source, each.dest) not in ((D, A), (B, D), (C, D)),
            )
            for each in drawn
        ),
        events=tuple(
            Mark(
                process=member,
                time=end - 2,
                text=f"S = {' '.join(map(str, RESULT))}"
                if step.stable[member] == RESULT
                else step.heard[member],
            )
            for step, end in zip(steps, ends, strict=True)
            for member in (A, B, C, D)
        ),
    )


FIGURES = (drawing_of_figure_1,)
