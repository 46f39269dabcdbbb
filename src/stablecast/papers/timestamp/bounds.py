"""T3, the random part: no run over random channels takes longer than the bounds, and how close they come."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point, task_point
from stablecast.pipeline.runs import Runs
from stablecast.pipeline.tasks import Outcome
from stablecast.protocols.contract.clocks import TICK_PS
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.table import Table
from stablecast.testing.reference.channels import ChannelRun
from stablecast.theory.timestamp import (
    Channels,
    channels,
    logical_latency,
    sharp_timestamp_latency,
    timestamp_latency,
    upper_bound,
    vector_latency,
)

TASK = f"{__name__}:measure_batch"
KINDS = ("vector", "physical", "skewed", "logical", "hybrid")
"""Vectors; timestamps of clocks that agree, that differ, that count, and of both."""
BY_HEARING = ("logical", "hybrid")
"""Clocks that rise to what they hear; the paper has no bound for them."""
CLOCKS = {"physical": 0, "skewed": 0, "logical": 1, "hybrid": 2}
LABELS = {
    "vector": "vectors",
    "physical": "timestamps, equal clocks",
    "skewed": "timestamps, skewed clocks",
    "logical": "timestamps, logical clocks",
    "hybrid": "timestamps, hybrid clocks",
}
BATCH = 40
BINS = 25
QUICK_BATCHES, FULL_BATCHES = 2, 40
SENDERS_MAX = RECEIVERS_MAX = 4
DELAY_MAX, PAUSE_MAX, LOST_MAX, SKEW_MAX = 50, 40, 2, 80
MESSAGES = 12
TICK = TICK_PS
"""All times are multiples of this, the unit in which hybrid clocks tell the time."""


@dataclass(frozen=True)
class Case:
    """Random channels: how long messages take at most, how many acknowledgements in a row get lost."""

    of: Channels
    """With losses in the latencies of acknowledgements."""
    ack_delay: tuple[tuple[int, ...], ...]
    lost_max: int
    offsets: tuple[int, ...]


def draw_case(chance: random.Random, kind: str) -> Case:
    """Draw channels, pauses, groups and clocks."""
    senders, receivers = chance.randint(1, SENDERS_MAX), chance.randint(1, RECEIVERS_MAX)
    t_send, t_ack = chance.randint(3, PAUSE_MAX), chance.randint(3, PAUSE_MAX)
    lost_max = chance.randint(0, LOST_MAX)
    message = [[chance.randint(0, DELAY_MAX) for _ in range(receivers)] for _ in range(senders)]
    ack = [[chance.randint(0, DELAY_MAX) for _ in range(senders)] for _ in range(receivers)]
    differ = kind in ("vector", "physical", "skewed")
    connected = [[not differ or chance.random() < 0.7 for _ in range(receivers)] for _ in range(senders)]
    for s in range(senders):
        connected[s][s % receivers] = True
    for r in range(receivers):
        connected[r % senders][r] = True
    skew = chance.randint(0, SKEW_MAX) if kind in ("skewed", "hybrid") else 0
    with_losses = [[delay + lost_max * t_ack for delay in row] for row in ack]
    return Case(
        of=channels(message, with_losses, t_send, t_ack, connected),
        ack_delay=tuple(map(tuple, ack)),
        lost_max=lost_max,
        offsets=tuple(chance.randint(0, skew) for _ in range(senders)),
    )


def bound_of(case: Case, kind: str) -> tuple[Fraction, ...]:
    """Return the least upper bound that is known for each sender."""
    if kind == "vector":
        bounds = vector_latency(case.of)
    elif kind in ("physical", "skewed"):
        bounds = sharp_timestamp_latency(case.of, case.offsets)
    else:
        skew = max(case.offsets) - min(case.offsets) if kind == "hybrid" else None
        bounds = logical_latency(case.of, skew=skew)
    return tuple(Fraction(bound) for bound in bounds)


def play(case: Case, kind: str, chance: random.Random) -> ChannelRun:
    """Run senders that send at random times, over channels that take random times and lose at random."""
    senders, receivers = len(case.of.message), len(case.of.ack)
    lost: Counter[tuple[int, int]] = Counter()

    def ack_delay(source: int, dest: int, k: int) -> int | None:
        if source < senders or dest >= senders:
            return None
        if lost[source, dest] < case.lost_max and chance.random() < 0.4:
            lost[source, dest] += 1
            return None
        lost[source, dest] = 0
        most = case.ack_delay[source - senders][dest]
        return TICK * (most if chance.random() < 0.5 else chance.randint(0, most))

    def data_delay(column: int, member: int, k: int) -> int:
        most = int(case.of.message[column][member - senders])
        return TICK * (most if chance.random() < 0.5 else chance.randint(0, most))

    t_send, t_ack = int(case.of.t_send), int(case.of.t_ack)
    params = {"ack_every": t_ack * TICK}
    params |= {"know": 1} if kind == "vector" else {"send_every": t_send * TICK, "clock": CLOCKS[kind]}
    run = ChannelRun(
        "vector" if kind == "vector" else "timestamp",
        members=senders + receivers,
        leaders=tuple(range(senders)),
        audiences=tuple(tuple(senders + r for r in group) for group in case.of.receivers),
        data_delay=data_delay,
        ack_delay=ack_delay,
        params=params,
        seed=chance.randrange(1 << 30),
    )
    begin = SKEW_MAX + 2 * PAUSE_MAX + DELAY_MAX
    latest = 0
    for s in range(senders):
        if kind != "vector":
            run.set_clock(s, case.offsets[s] * TICK)
        at = begin
        for _ in range(MESSAGES):
            at += chance.choice((0, 1, t_send - 1, t_send, chance.randint(1, 2 * t_send)))
            run.send(s, at * TICK)
        latest = max(latest, at)
    patience = 40 * (DELAY_MAX + PAUSE_MAX)
    for until in range(latest, latest + patience, PAUSE_MAX):
        run.run(until * TICK)
        if len(run.known) == senders * MESSAGES:
            break
    return run


def measure_batch(kind: str, seed: int, cases: int = BATCH) -> Outcome:
    """Run random cases; count messages above their bounds, and how close the slowest of each case came."""
    chance = random.Random(f"{kind} {seed}")
    counts = {"messages": 0, "unknown": 0, "above": 0, "above_paper": 0, "unequal": 0}
    closest, close = 0.0, 0.0
    shares: Counter[int] = Counter()
    for _ in range(cases):
        case = draw_case(chance, kind)
        bounds, run = bound_of(case, kind), play(case, kind, chance)
        skew = max(case.offsets) - min(case.offsets)
        paper = vector_latency(case.of) if kind == "vector" else timestamp_latency(case.of)
        slowest = [Fraction(0)] * len(bounds)
        for known in run.known:
            took = Fraction(known.at - known.sent, TICK)
            slowest[known.column] = max(slowest[known.column], took)
            counts["above"] += took > bounds[known.column]
            shares[min(int(took / bounds[known.column] * BINS), BINS - 1)] += 1
            counts["above_paper"] += kind not in BY_HEARING and took > paper[known.column] + skew
        counts["messages"] += len(bounds) * MESSAGES
        counts["unknown"] += len(bounds) * MESSAGES - len(run.known)
        counts["unequal"] += not _inequalities_hold(case.of)
        reached = [float(most / bound) for most, bound in zip(slowest, bounds, strict=True)]
        closest = max([closest, *reached])
        close += sum(reached) / len(reached) / cases
    bins = {f"bin {k}": shares[k] for k in range(BINS)}
    return Outcome(extra=counts | bins | {"closest": closest, "close": close, "cases": cases})


def _inequalities_hold(of: Channels) -> bool:
    """Tell whether t_1 <= t_2 and t_2 <= max t_1 + t_1 + t_send - t_ack, at every sender."""
    t_1, t_2, most = vector_latency(of), timestamp_latency(of), upper_bound(of)
    return all(low <= middle <= high for low, middle, high in zip(t_1, t_2, most, strict=True))


def _points_of(kind: str, full: bool) -> list[Point]:
    return [task_point(TASK, kind=kind, seed=seed) for seed in range(FULL_BATCHES if full else QUICK_BATCHES)]


def points(full: bool) -> list[Point]:
    """Return batches of random cases of each kind."""
    return [point for kind in KINDS for point in _points_of(kind, full)]


def _found(runs: Runs, kind: str) -> list[dict[str, float]]:
    """Return what the batches of a kind measured, as many as were run."""
    batches = [point for point in _points_of(kind, full=True) if point in runs]
    return [runs[point].extra for point in batches or _points_of(kind, full=False)]


def _sum(runs: Runs, name: str, kinds: tuple[str, ...] = KINDS) -> int:
    return round(sum(batch[name] for kind in kinds for batch in _found(runs, kind)))


def _never_above(runs: Runs) -> Judgement:
    by_paper = ("vector", "physical", "skewed")
    above, unknown = _sum(runs, "above_paper", by_paper), _sum(runs, "unknown", by_paper)
    messages, cases = _sum(runs, "messages", by_paper), _sum(runs, "cases", by_paper)
    return Judgement(
        paper="none above t_1 and t_2",
        measured=f"{above} of {messages:,} messages above",
        holds=above == 0 and unknown == 0,
        why=f"{cases:,} random groups, channels and pauses, acknowledgements lost and overtaken; t_2 with the"
        f" skew added where clocks differ; {unknown} messages never became stable",
    )


def _sharp(runs: Runs) -> Judgement:
    above = _sum(runs, "above")
    closest = min(max(batch["closest"] for batch in _found(runs, kind)) for kind in KINDS)
    return Judgement(
        paper="-",
        measured=f"{above} of {_sum(runs, 'messages'):,} above; slowest at {closest:.1%} of the bound",
        holds=above == 0,
        why="our least upper bounds, which take clocks and one's own channel into account (docs/papers/"
        "timestamp.md); of each kind of clock, how close the slowest message came",
    )


def _inequalities(runs: Runs) -> Judgement:
    unequal, cases = _sum(runs, "unequal"), _sum(runs, "cases")
    return Judgement(
        paper="t_1 <= t_2 <= max t_1 + t_1 + t_send - t_ack",
        measured=f"{cases - unequal:,} of {cases:,} cases",
        holds=unequal == 0,
        why="at every sender of every random case",
    )


CLAIMS = (
    Claim(
        id="T3d",
        kind="exact",
        text="Over random channels no message takes longer than t_1 with vectors, and t_2 with timestamps",
        judge=_never_above,
    ),
    Claim(
        id="T3e",
        kind="exact",
        text="Inequalities (1) and (2) hold on random channels",
        judge=_inequalities,
    ),
    Claim(
        id="T3f",
        ours=True,
        kind="exact",
        text="Beyond the paper: nor longer than the sharper bounds, also with logical and hybrid clocks",
        judge=_sharp,
    ),
)


def bounds_table(runs: Runs) -> Table:
    """Count messages and how close they came to their bounds."""
    rows = []
    for kind in KINDS:
        batches = _found(runs, kind)
        mean = sum(batch["close"] for batch in batches) / len(batches)
        most = max(batch["closest"] for batch in batches)
        counts = (_sum(runs, name, (kind,)) for name in ("cases", "messages", "above", "unknown"))
        rows.append((LABELS[kind], *counts, f"{mean:.0%}", f"{most:.1%}"))
    return Table(
        key="bounds",
        title="Random channels: latencies against their bounds",
        columns=(
            "acknowledgements",
            "cases",
            "messages",
            "above",
            "never stable",
            "slowest: mean",
            "slowest: most",
        ),
        rows=tuple(rows),
        note="Up to four senders and receivers on channels of 0 to 50 units, pauses of 3 to 40, up to two"
        " acknowledgements in a row lost, groups that differ. The last columns compare the slowest message"
        " of a sender with its bound, on average and at most.",
    )


def closeness_figure(runs: Runs) -> Figure:
    """Draw how close messages come to their bounds."""
    series = []
    for kind in KINDS:
        counts = [_sum(runs, f"bin {k}", (kind,)) for k in range(BINS)]
        share = tuple(100 * count / sum(counts) for count in counts)
        at = tuple((k + 0.5) / BINS for k in range(BINS))
        series.append(Series(name=LABELS[kind], x=at, y=share))
    return Figure(
        key="bounds",
        title="How close random runs come to the bounds",
        caption="Messages by their latency over the least upper bound that we know for it: random groups,"
        " channels, pauses and losses. None is above 1. With logical clocks the bound is far off: it takes"
        " the longest way around for a clock to be heard of.",
        panels=(
            Panel(
                title="",
                x=Axis("latency over its bound"),
                y=Axis(f"messages [% in each {1 / BINS:g}]"),
                series=tuple(series),
            ),
        ),
    )


TABLES = (bounds_table,)
FIGURES = (closeness_figure,)
