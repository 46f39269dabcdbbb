"""How many times shorter the structured protocols' round trips are, where the paper prints it.

The paper gives the gains for 1,000 members and for 20,000 in a tree of height 7.  No tree of its family has
just these sizes, so each gain is read off between the two trees around it: both ends are simulated, and the
gain grows between them like a power of n (a straight line on two logarithmic axes).

Two of the four values lie below what any model without waiting can give.  Train waits for n messages, one
after the other.  S_Train waits for b in each of p levels, for a START that goes p levels down, and for its
own INFO; a START takes no longer than p messages of Train, which travel about 3 hops each, and a message
between siblings or to a parent takes no longer than one of Train's.  So Train takes at least n / (bp + p + 1)
times as long: 38 times for 1,000 members and 555 for 20,000.  The paper has 35 and 500.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from stablecast.papers.curves import apart, beside_paper, rounded
from stablecast.papers.hierarchical.readings import READINGS
from stablecast.papers.hierarchical.trees import Shape, on_tree, rtt_ms, run_on
from stablecast.papers.paper import Claim, Judgement
from stablecast.papers.statistics import exactly
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import Runs
from stablecast.report.table import Table
from stablecast.theory import group_size

GAIN_FACTOR = 4
"""How far a gain may be from the paper's."""
AROUND: dict[int, tuple[Shape, Shape]] = {1_000: ((4, 5, 2), (4, 5, 3)), 20_000: ((4, 7, 3), (4, 7, 4))}
"""The sizes at which the paper prints gains, and the trees with fewer and with more members."""


@dataclass(frozen=True)
class Printed:
    """A gain that the paper prints."""

    basic: str
    structured: str
    members: int
    gain: int

    @property
    def pair(self) -> str:
        """The two protocols."""
        return f"{self.basic}/{self.structured}"


PRINTED = (
    Printed("coordp", "s_coordp", 1_000, 70),
    Printed("coordp", "s_coordp", 20_000, 2_100),
    Printed("train", "s_train", 1_000, 35),
    Printed("train", "s_train", 20_000, 500),
)


def points(full: bool) -> list[Point]:
    """Return the runs on the trees around the printed sizes."""
    return [
        on_tree(protocol, shape)
        for protocol in ("coordp", "s_coordp", "train", "s_train")
        for around in AROUND.values()
        for shape in around
    ]


def gain_on(runs: Runs, basic: str, structured: str, shape: Shape) -> float:
    """Return how many times shorter the structured protocol's round trip is on a tree."""
    return rtt_ms(run_on(runs, basic, shape)) / rtt_ms(run_on(runs, structured, shape))


def between(x: float, low: tuple[float, float], high: tuple[float, float]) -> float:
    """Return the value at x of the power law through two points.

    Examples
    --------
    >>> round(between(10.0, (1.0, 2.0), (100.0, 200.0)), 6)
    20.0
    """
    share = math.log(x / low[0]) / math.log(high[0] / low[0])
    return low[1] * math.exp(share * math.log(high[1] / low[1]))


def ends(runs: Runs, printed: Printed) -> list[tuple[int, float]]:
    """Return the sizes around a printed one, and the gains there."""
    return [
        (group_size(*shape), gain_on(runs, printed.basic, printed.structured, shape))
        for shape in AROUND[printed.members]
    ]


def gain(runs: Runs, printed: Printed) -> float:
    """Return the gain at the printed size."""
    below, above = ends(runs, printed)
    return between(printed.members, below, above)


def gains(runs: Runs) -> Table:
    """Figure 10's gains at a thousand and at twenty thousand members."""
    rows = []
    for printed in PRINTED:
        told = (f"{value:.1f} at {n:,}" for n, value in ends(runs, printed))
        rows.append((printed.pair, printed.members, *told, printed.gain, exactly(gain(runs, printed))))
    return beside_paper(
        "gains",
        "Gain in round-trip time of the structured protocols",
        rows,
        what=("gain", "n", "tree below", "tree above"),
        note="Between the two trees around a printed size the gain is taken to grow like a power of n.",
    )


def gains_by_reading(runs: Runs) -> Table:
    """The gains under every reading beside the paper's."""
    rows: list[tuple[Any, ...]] = [("paper", *(printed.gain for printed in PRINTED), None)]
    for reading in READINGS:
        seen = reading.of(runs)
        found = [gain(seen, printed) for printed in PRINTED]
        rows.append((reading.name, *map(rounded, found), round(_worst(found), 2)))
    return Table(
        key="gains_by_reading",
        title="The gains under each reading",
        columns=("reading", *(f"{each.pair} n={each.members:,}" for each in PRINTED), "worst factor apart"),
        rows=tuple(rows),
    )


def _worst(found: list[float]) -> float:
    return max(apart(ours, printed.gain) for ours, printed in zip(found, PRINTED, strict=True))


TABLES = (gains, gains_by_reading)


def judge_gains(runs: Runs) -> Judgement:
    """H7."""
    found = [gain(runs, printed) for printed in PRINTED]
    worst = max(zip(PRINTED, found, strict=True), key=lambda both: apart(both[0].gain, both[1]))
    factor = apart(worst[0].gain, worst[1])
    return Judgement(
        paper=", ".join(f"{printed.gain:,}" for printed in PRINTED),
        measured=", ".join(f"{rounded(value):g}" for value in found),
        holds=factor <= GAIN_FACTOR,
        why=f"farthest is {worst[0].pair} at {worst[0].members:,} members, a factor {factor:.2f} apart"
        f" (accepted: {GAIN_FACTOR})",
    )


CLAIMS = (
    Claim(
        id="H7",
        kind="factor",
        text="Round-trip time gains of CoordP/S_CoordP (70 and 2100 times) and Train/S_Train (35 and 500"
        " times) at 1,000 and 20,000 members.",
        judge=judge_gains,
    ),
)
