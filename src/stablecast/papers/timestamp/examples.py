"""T3 and T5, the exact part: Figure 2's latencies, Figure 3's clocks step by step, and both as drawings."""

from __future__ import annotations

from stablecast.papers.paper import Claim, Judgement
from stablecast.papers.timestamp.example_runs import (
    NAMES,
    R1,
    S1,
    S2,
    START,
    Step,
    figure_2,
    figure_3,
)
from stablecast.pipeline.point import Point, task_point
from stablecast.pipeline.runs import Runs
from stablecast.pipeline.tasks import Outcome
from stablecast.report.diagram import Arrow, Diagram, Mark, Span
from stablecast.report.table import Table
from stablecast.testing.reference.channels import ChannelRun, Passage
from stablecast.theory.timestamp import FIGURE_2, timestamp_latency, vector_latency

PLAY_2 = f"{__name__}:play_figure_2"
PLAY_3 = f"{__name__}:play_figure_3"
FINENESS = (1, 2, 10, 1000)
"""Ticks of a unit: the wait for the other sender is a supremum, and a tick short of it."""
LOGICAL, PHYSICAL = "logical", "physical"
STEPS = ("a", "b", "c", "d")
FIGURE_3 = {
    "a": {"clocks": (5, 1, 5, 5), "have": (5, 1), "acknowledged": 0, "held": (5, 1)},
    "b": {"clocks": (6, 6, 6, 6), "have": (5, 1), "acknowledged": 1, "held": (4, 0)},
    "c": {"clocks": (7, 7, 7, 7), "have": (7, 7), "acknowledged": 1, "held": (5, 1)},
    "d": {"clocks": (8, 8, 8, 8), "have": (7, 7), "acknowledged": 7, "held": (0, 0)},
}
"""The paper's numbers: clocks of s1, s2, r1, r2; timestamps at a receiver; messages that s1 and s2 hold."""


def play_figure_2(protocol: str, sender: int, fineness: int) -> Outcome:
    """Measure how long the message of Figure 2 takes to be known stable, in units."""
    (known,) = figure_2(protocol, sender, fineness).known
    return Outcome(extra={"ticks": known.at - known.sent, "units": (known.at - known.sent) / fineness})


def play_figure_3(clock: str) -> Outcome:
    """Read everyone's state after each part of Figure 3."""
    _, steps = figure_3(clock)
    extra: dict[str, float] = {}
    for letter, step in zip(STEPS, steps, strict=True):
        extra |= {f"{letter} clock {name}": step.clocks[k] for k, name in enumerate(NAMES)}
        extra |= {f"{letter} have {name}": step.have[k] for k, name in enumerate(NAMES[:2])}
        extra |= {f"{letter} held {name}": len(step.buffers[k]) for k, name in enumerate(NAMES[:2])}
        extra[f"{letter} acknowledged"] = step.acknowledged
    return Outcome(extra=extra)


def _point_2(protocol: str, sender: int, fineness: int) -> Point:
    return task_point(PLAY_2, protocol=protocol, sender=sender, fineness=fineness)


def _point_3(clock: str) -> Point:
    return task_point(PLAY_3, clock=clock)


def points(full: bool) -> list[Point]:
    """Return the runs of both figures; there is nothing to be smaller or larger about them."""
    runs = [
        _point_2(protocol, s, f) for protocol in ("vector", "timestamp") for s in (S1, S2) for f in FINENESS
    ]
    return [*runs, _point_3(LOGICAL), _point_3(PHYSICAL)]


def _vectors(runs: Runs) -> Judgement:
    found = [[runs[_point_2("vector", s, f)].extra["units"] for s in (S1, S2)] for f in FINENESS]
    return Judgement(
        paper="7 and 14",
        measured=" and ".join(f"{value:g}" for value in found[-1]),
        holds=all(pair == [7, 14] for pair in found) and vector_latency(FIGURE_2) == (7, 14),
        why=f"the worst run of each sender, with {', '.join(map(str, FINENESS))} ticks to a unit, and t_1",
    )


def _timestamps(runs: Runs) -> Judgement:
    ticks = [int(runs[_point_2("timestamp", S1, f)].extra["ticks"]) for f in FINENESS]
    return Judgement(
        paper="11 at s1",
        measured=", ".join(f"{count / f:g}" for count, f in zip(ticks, FINENESS, strict=True)),
        holds=all(count == 11 * f - 1 for count, f in zip(ticks, FINENESS, strict=True))
        and timestamp_latency(FIGURE_2)[0] == 11,
        why="t_2 is 11, and the worst run is one tick short of it whatever the tick: the other sender's next"
        " message comes less than t_send after ours",
    )


def _second_sender(runs: Runs) -> Judgement:
    ticks = [runs[_point_2("timestamp", S2, f)].extra["units"] for f in FINENESS]
    return Judgement(
        paper="15 by its formula",
        measured=", ".join(f"{value:g}" for value in ticks),
        holds=all(value <= 15 for value in ticks),
        why="t_2 of s2 is an upper bound that is never reached: nobody waits for a sender's own next message",
    )


def _clocks(runs: Runs) -> Judgement:
    extra = runs[_point_3(LOGICAL)].extra
    wrong = []
    for letter, expected in FIGURE_3.items():
        seen = {
            "clocks": tuple(int(extra[f"{letter} clock {name}"]) for name in NAMES),
            "have": tuple(int(extra[f"{letter} have {name}"]) for name in NAMES[:2]),
            "held": tuple(int(extra[f"{letter} held {name}"]) for name in NAMES[:2]),
            "acknowledged": int(extra[f"{letter} acknowledged"]),
        }
        wrong += [f"({letter}) {what} {seen[what]}" for what in expected if seen[what] != expected[what]]
    return Judgement(
        paper="acknowledges 1; clocks 6; sends 7",
        measured="acknowledges 1; clocks 6; sends 7" if not wrong else "; ".join(wrong),
        holds=not wrong,
        why="every clock, acknowledgement and buffer after each of the four parts, run by the kernels; the"
        " acknowledgement carries its sender's clock, without which s2 would not come to 6",
    )


def _physical(runs: Runs) -> Judgement:
    extra = runs[_point_3(PHYSICAL)].extra
    held = int(extra["b held s1"]), int(extra["b held s2"])
    return Judgement(
        paper="all six messages acknowledged at once",
        measured=f"{5 - held[0] + 1 - held[1]} of 6",
        holds=held == (0, 0),
        why="the acknowledgement is the smaller of 5 and 6, so the last message waits for the next of s1: an"
        " error of the paper (docs/errata.md)",
    )


CLAIMS = (
    Claim(
        id="T3a",
        kind="exact",
        text="Figure 2: with vectors s1 knows after at most 7 units and s2 after at most 14",
        judge=_vectors,
    ),
    Claim(
        id="T3b",
        kind="exact",
        text="Figure 2: with timestamps s1 knows after at most 11 units",
        judge=_timestamps,
    ),
    Claim(
        id="T3c",
        main_reading_only=True,
        kind="trend",
        text="Figure 2: with timestamps s2 knows after at most 15 units",
        judge=_second_sender,
    ),
    Claim(
        id="T5a",
        kind="exact",
        text="Figure 3: logical clocks need a second exchange, with these clocks and acknowledgements",
        judge=_clocks,
    ),
    Claim(
        id="T5b",
        main_reading_only=True,
        kind="trend",
        text="Figure 3 with physical clocks: the first acknowledgement covers all six messages",
        judge=_physical,
    ),
)


def latencies_of_figure_2(runs: Runs) -> Table:
    """Compare bounds and worst runs of Figure 2."""
    rows = []
    for s, name in ((S1, "s1"), (S2, "s2")):
        worst = [
            runs[_point_2(protocol, s, FINENESS[-1])].extra["units"] for protocol in ("vector", "timestamp")
        ]
        rows.append(
            (name, vector_latency(FIGURE_2)[s], worst[0], timestamp_latency(FIGURE_2)[s], round(worst[1], 3))
        )
    return Table(
        key="figure2",
        title="Figure 2: longest time until a sender knows its message to be stable, in units",
        columns=("sender", "vectors, t_1", "vectors, worst run", "timestamps, t_2", "timestamps, worst run"),
        rows=tuple(rows),
        note=f"Runs of the kernels with {FINENESS[-1]} ticks to a unit; all phases chosen to be the worst.",
    )


def steps_of_figure_3(runs: Runs) -> Table:
    """Show everyone's state after each part of Figure 3."""
    rows = []
    for clock in (LOGICAL, PHYSICAL):
        extra = runs[_point_3(clock)].extra
        for letter in STEPS:
            clocks = (int(extra[f"{letter} clock {each}"]) for each in NAMES)
            have = " ".join(str(int(extra[f"{letter} have {each}"])) for each in NAMES[:2])
            held = (int(extra[f"{letter} held {each}"]) for each in NAMES[:2])
            rows.append((clock, f"({letter})", *clocks, have, int(extra[f"{letter} acknowledged"]), *held))
    return Table(
        key="figure3",
        title="Figure 3, step by step",
        columns=("clocks", "after", *NAMES, "have at r", "acknowledged", "held by s1", "held by s2"),
        rows=tuple(rows),
        note="(a) six messages have come, (b) they are acknowledged, (c) each sender has sent one more, (d)"
        " that is acknowledged too. Physical clocks show the time; they go on by themselves.",
    )


TABLES = (latencies_of_figure_2, steps_of_figure_3)
KINDS = {"DATA": "data", "NULL": "NULL", "ACK": "acknowledgement"}


def _arrows(run: ChannelRun, unit: int, since: int, until: int, carries: str) -> tuple[Arrow, ...]:
    """Turn the messages of a run between two times, in units, into arrows."""
    return tuple(
        Arrow(
            source=each.source,
            dest=each.dest,
            sent=each.sent / unit,
            received=None if each.received is None else each.received / unit,
            kind=KINDS[each.kind],
            label=_label(each, carries),
        )
        for each in run.passages
        if since * unit <= each.sent
        and each.received is not None
        and each.received <= until * unit
        and (each.kind != "ACK" or each.dest < R1)
    )


def _label(each: Passage, carries: str) -> str:
    if carries == "clocks" and each.kind == "ACK":
        _, told, clock = each.numbers
        return f"{told}, clock {clock}"
    return str(each.numbers[1]) if carries == "clocks" and each.kind == "DATA" else ""


def drawing_of_figure_2(runs: Runs) -> Diagram:
    """Draw the worst run of Figure 2 at the first sender, with timestamps."""
    unit = 10
    run = figure_2("timestamp", S1, unit)
    (known,) = run.known
    end = known.at / unit
    arrows = _arrows(run, unit, START - 1, round(end + 0.5), "")
    chain = _chain(run, known.at)
    shown = tuple(
        Arrow(
            source=each.source,
            dest=each.dest,
            sent=each.sent - START,
            received=None if each.received is None else each.received - START,
            kind=each.kind,
            label="m" if each.kind == "data" else "",
            pale=(each.source, each.dest, round(each.sent * unit)) not in chain,
        )
        for each in arrows
    )
    return Diagram(
        key="figure2-run",
        title="Figure 2: why the near sender waits for the far one",
        caption="The worst run for a message m of s1 with timestamps, by the protocol's kernels, ten ticks to"
        " a unit. s2 has sent just before m, so its next message leaves almost t_send = 1 later and takes 5;"
        " the receivers have just acknowledged when it comes, so the next acknowledgement leaves t_ack = 1"
        " later and takes 4: 10.9 units, a tick short of t_2 = 11. With vectors s1 would know after 7.",
        time_label="time since m was sent [units]",
        processes=NAMES,
        messages=shown,
        spans=(Span(process=S1, start=0, end=end - START, text=f"{end - START:g} until m is known stable"),),
    )


def _chain(run: ChannelRun, known_at: int) -> set[tuple[int, int, int]]:
    """Return who sent what to whom, when, of the messages that the last one to know waited for."""
    chain = set()
    for ack in run.passages:
        if ack.kind == "ACK" and ack.received == known_at and ack.dest == S1:
            chain.add((ack.source, ack.dest, ack.sent))
            awaited = [
                each
                for each in run.passages
                if each.dest == ack.source and each.received is not None and each.received < ack.sent
            ]
            last = max((each for each in awaited if each.source == S2), key=lambda each: each.sent)
            chain.add((last.source, last.dest, last.sent))
    return chain | {(each.source, each.dest, each.sent) for each in run.passages if each.kind == "DATA"}


def drawing_of_figure_3(runs: Runs) -> Diagram:
    """Draw Figure 3's run with logical clocks."""
    run, steps = figure_3(LOGICAL)
    ends = (9, 13, 17, 24)
    return Diagram(
        key="figure3-run",
        title="Figure 3: logical clocks need a second exchange",
        caption="s1 has sent five messages, s2 one, stamped by logical clocks. The receivers can acknowledge"
        " only 1; their clocks, 6, bring s2's forward, so that both send 7 next, and the second"
        " acknowledgement covers everything. By the protocol's kernels; the numbers are timestamps, after the"
        " comma the clock that an acknowledgement carries; in italics, each clock after a part of the run.",
        time_label="time [ticks]",
        processes=NAMES,
        messages=_arrows(run, 1, 0, ends[-1], "clocks"),
        events=tuple(
            Mark(process=member, time=end, text=f"{step.clocks[member]}")
            for step, end in zip(steps, ends, strict=True)
            for member in range(4)
            if _moved(steps, step, member)
        ),
    )


def _moved(steps: tuple[Step, ...], step: Step, member: int) -> bool:
    k = steps.index(step)
    return k == 0 or steps[k - 1].clocks[member] != step.clocks[member]


FIGURES = (drawing_of_figure_2, drawing_of_figure_3)
