"""Section 6 with alpha below 1: data is lost, so that a round finds only a share of the messages stable.

The section lets a share alpha of the X messages that a round starts with be stable at its end; 1 - alpha are
those that somebody has lost.  On the network, receivers lose data messages and ask their senders for them,
and a message that is still being repaired when a member reads its array is not stable by that round, nor are
those behind it.  So alpha is not given but measured: for each round of the first member, the messages in its
output buffer at the start that are released at the end, over those that were there.

What is checked: with the longest f and the least alpha of a run with room to spare, the largest X that the
two constraints allow (:func:`stablecast.theory.trigger_optimum_messages`) never fills the buffer.  Where they
allow none, there is nothing to check: rounds follow each other, and how full the buffer gets is a matter of
luck.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.papers.curves import INTERVALS, columns_with_interval, curve, panel, with_interval
from stablecast.papers.hierarchical.theory import printed_trigger_optimum
from stablecast.papers.hierarchical.triggers import BUFFER, MESSAGES, PROTOCOLS, RATE_PER_S, pressed
from stablecast.papers.paper import Claim, Judgement
from stablecast.papers.statistics import Estimate, mean_of
from stablecast.pipeline.point import Point, task_point
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.pipeline.tasks import Outcome
from stablecast.protocols import protocol as find_protocol
from stablecast.report.figure import Figure
from stablecast.report.table import Table
from stablecast.simulate import Result, simulate
from stablecast.simulate.options import Options
from stablecast.simulate.trace_rows import HANDLE_EVENT, SEND_EVENT, STABLE_EVENT
from stablecast.theory import trigger_optimum_messages

LOSSES = (0.0005, 0.002, 0.005)
SEEDS, QUICK_SEEDS = 10, 3
ROOM = 8
"""Times the buffer, for measuring f and alpha without senders that wait."""
TASK = f"{__name__}:run_with_losses"
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Round:
    """One round of the protocol as the first member's output buffer sees it."""

    held: int
    """Messages at its start."""
    released: int
    """Those of them that were stable at its end."""

    @property
    def share(self) -> Fraction:
        """Alpha of this round."""
        return Fraction(self.released, self.held)


@dataclass(frozen=True)
class Buffer:
    """What happened to the first member's output buffer: times in ps, in order."""

    sends: Ints
    stable_at: Ints
    """When messages became stable, and up to which number."""
    stable_to: Ints
    ends: Ints
    """Ends of rounds: the first member handles INFO."""

    def sent(self, time: int) -> int:
        """Return how many messages were sent by then."""
        return int(np.searchsorted(self.sends, time, "right"))

    def stable(self, time: int) -> int:
        """Return how many of them were stable by then."""
        place = int(np.searchsorted(self.stable_at, time, "right"))
        return int(self.stable_to[place - 1]) if place else 0

    def held(self, time: int) -> int:
        """Return how many messages were in the buffer then."""
        return self.sent(time) - self.stable(time)

    def rounds(self, threshold: int, total: int) -> list[Round]:
        """Return the rounds that start before the last message is sent."""
        found = []
        before = 0
        for end in self.ends.tolist():
            start = self._start(before, threshold)
            if start is None or start >= end or self.sent(start) >= total:
                break
            held = self.held(start)
            found.append(Round(held, min(held, self.stable(end) - self.stable(start))))
            before = end
        return found

    def _start(self, before: int, threshold: int) -> int | None:
        """Return when the buffer first holds the threshold from some time on."""
        later = self.sends[self.sends > before].tolist()
        return next((time for time in (before, *later) if self.held(time) >= threshold), None)


def buffer_of(options: Options) -> tuple[Result, Buffer]:
    """Run data traffic and watch the first member's output buffer."""
    taken: list[Ints] = []
    result = simulate(options.setup(), trace=taken.append, wire_log=True)
    first = np.concatenate(taken)
    first = first[first[:, 2] == 0]
    code, time, _, column, number, kind = first.T
    info = find_protocol(options.protocol).kinds.index("INFO")
    sends = (code == SEND_EVENT) & (column == 0)
    stable = (code == STABLE_EVENT) & (column == 0)
    ends = (code == HANDLE_EVENT) & (kind == info)
    numbers = np.maximum.accumulate(number[stable]) if stable.any() else number[stable]
    return result, Buffer(time[sends], time[stable], numbers, time[ends])


def with_losses(protocol: str, loss: float, seed: int) -> Point:
    """Return the measurement of alpha and X for one protocol."""
    return task_point(TASK, protocol=protocol, loss=loss, seed=seed)


def points(full: bool) -> list[Point]:
    """Return all of them."""
    return [
        with_losses(protocol, loss, seed)
        for protocol in PROTOCOLS
        for loss in LOSSES
        for seed in range(SEEDS if full else QUICK_SEEDS)
    ]


def run_with_losses(protocol: str, loss: float, seed: int) -> Outcome:
    """Measure f and alpha with room to spare, derive X, and run at X."""
    more: dict[str, Any] = {"data_loss": loss, "seed": seed}
    half = BUFFER // 2
    roomy, seen = buffer_of(pressed(protocol, half, buffer=ROOM * BUFFER, **more))
    shares = [each.share for each in seen.rounds(half, MESSAGES)]
    rtt_s = Fraction(round(roomy.round_trip_max_us * 1_000_000), 10**12)
    optimum = trigger_optimum_messages(BUFFER, RATE_PER_S, rtt_s, min(shares))
    extra = {
        "rtt_ms": float(rtt_s) * 1000,
        "alpha_mean": float(sum(shares) / len(shares)),
        "alpha_least": float(min(shares)),
        "printed": float(printed_trigger_optimum(BUFFER, RATE_PER_S, rtt_s, min(shares))),
    }
    if optimum is None:
        return Outcome(roomy, extra)
    at = simulate(pressed(protocol, optimum, **more).setup())
    assert at.traffic is not None
    found = {
        "optimum": optimum,
        "full_at": at.traffic.first_blocked,
        "buffer_max": at.traffic.first_buffer_max,
    }
    return Outcome(at, extra | found | {"tests": at.executions})


def _extras(runs: Runs, protocol: str, loss: float) -> list[dict[str, float]]:
    asked = [with_losses(protocol, loss, seed) for seed in range(SEEDS)]
    made = [runs[point].extra for point in asked if point in runs]
    if not made:
        raise MissingRun(f"this run was not made: {asked[0].replay}")
    return made


def _mean(extras: list[dict[str, float]], name: str) -> Estimate:
    return mean_of([extra[name] for extra in extras])


def alpha_on_network(runs: Runs) -> Table:
    """The share of messages that a round finds stable, and the buffer at X."""
    rows: list[tuple[Any, ...]] = []
    for protocol in PROTOCOLS:
        for loss in LOSSES:
            extras = _extras(runs, protocol, loss)
            means = [cell for name in ("rtt_ms", "alpha_mean") for cell in with_interval(_mean(extras, name))]
            rows.append((protocol, f"{loss:.2%}", *means, *_at_optimum(extras)))
    return Table(
        key="alpha",
        title=f"Lost data: alpha measured on the network (g = {BUFFER}, r = {RATE_PER_S}/s, K = {MESSAGES})",
        columns=(
            "protocol",
            "loss",
            *columns_with_interval(("longest f [ms]", "alpha")),
            "least alpha",
            "X printed",
            "X",
            "runs with X",
            "buffer most",
            "full at X",
        ),
        rows=tuple(rows),
        note=f"Means over {len(_extras(runs, PROTOCOLS[0], LOSSES[0]))} seeds. X is from the longest f and"
        " the least alpha of each seed's run with room to spare, by the smaller bound; the paper prints the"
        " larger one.",
    )


def _at_optimum(extras: list[dict[str, float]]) -> tuple[Any, ...]:
    """Return the cells of the runs at X; X may be there for some seeds only."""
    least = round(min(extra["alpha_least"] for extra in extras), 2)
    there = [extra for extra in extras if "optimum" in extra]
    optima = _span([extra["optimum"] for extra in there])
    printed = _span([extra["printed"] for extra in extras])
    most = int(max(extra["buffer_max"] for extra in there)) if there else None
    full = int(sum(extra["full_at"] for extra in there)) if there else None
    return (least, printed, optima, f"{len(there)} of {len(extras)}", most, full)


def _span(values: list[float]) -> str:
    """Return the least and the largest of some values, whole; a dash for none."""
    if not values:
        return "-"
    low, high = (f"{value:.0f}" if math.isfinite(value) else "∞" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


TABLES = (alpha_on_network,)


def judge_lost_data(runs: Runs) -> Judgement:
    """H12."""
    extras = [extra for name in PROTOCOLS for loss in LOSSES for extra in _extras(runs, name, loss)]
    there = [extra for extra in extras if "optimum" in extra]
    full = sum(extra["full_at"] > 0 for extra in there)
    least = min((extra["alpha_least"] for extra in there), default=1.0)
    return Judgement(
        paper="never full at X",
        measured=f"{len(there) - full} of {len(there)} runs never full",
        holds=bool(there) and full == 0 and least < 1,
        why=f"alpha measured from {least:.2f} to 1; {full} of {len(there)} runs at X filled the buffer, and"
        f" {len(extras) - len(there)} of {len(extras)} had no X that the constraints allow",
    )


CLAIMS = (
    Claim(
        id="H12",
        kind="exact",
        text="With data lost, so that a round finds a share alpha of the messages stable, the buffer never"
        " overflows at the X that g, r, f and alpha give.",
        judge=judge_lost_data,
    ),
)


def figure_alpha(runs: Runs) -> Figure:
    """Alpha and f over the probability of loss."""

    def lines(name: str) -> list[Any]:
        return [
            curve(protocol, [(100 * loss, _mean(_extras(runs, protocol, loss), name)) for loss in LOSSES])
            for protocol in PROTOCOLS
        ]

    x = "data messages that a receiver loses [%]"
    return Figure(
        key="alpha",
        title="Lost data: the share of messages that a round finds stable",
        caption="(A) Mean over rounds, then over seeds, of the share of the first member's messages that are"
        f" stable at the end of a round which starts with {BUFFER // 2} of them. (B) The longest round. With"
        f" 121 members and a loss of 0.5 % nearly every second message is lost by somebody. {INTERVALS}",
        panels=(
            panel("(A) alpha", "alpha", lines("alpha_mean"), x=x),
            panel("(B) f", "longest round-trip time [ms]", lines("rtt_ms"), x=x, log=True),
        ),
    )


FIGURES = (figure_alpha,)
