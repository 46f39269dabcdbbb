"""Figures 8 to 10: queues, round-trip times, the gain of the structured protocols, and random trees."""

from __future__ import annotations

from functools import cache

import numpy as np

from stablecast.pipeline.experiments.table import Table
from stablecast.simulate import Result, Setup, costs, simulate, topology
from stablecast.theory import PAPER_TABLE_3, PROTOCOLS, group_size

HEIGHT = 5
TRACKED = 16
LARGE = (4, 7, 4)
THOUSAND = (4, 5, 3)
PAPER_GAINS = {
    ("coordp", "s_coordp"): {THOUSAND: 70, LARGE: 2100},
    ("train", "s_train"): {THOUSAND: 35, LARGE: 500},
}
GAIN_FACTOR = 4
READINGS: dict[str, dict[str, str | float]] = {
    "router as delay (default)": {},
    "router serial, own processor": {"router": "serial"},
    "router serial, host's processor": {"router": "serial", "processor": "shared"},
    "router 10 ms": {"router_us": 10_000.0},
    "hosts free": {"send_us": 0.0, "send_us_per_byte": 0.0},
    "hosts and routers free": {"send_us": 0.0, "send_us_per_byte": 0.0, "router_us": 0.0},
}


@cache
def run(protocol: str, shape: tuple[int, int, int], reading: str = "router as delay (default)") -> Result:
    """Run one execution on a tree."""
    built = topology("tree", degree=shape[0], height=shape[1], fill=shape[2])
    model = costs("lan1997", **READINGS[reading])
    return simulate(
        Setup(protocol=protocol, topology=built, costs=model, tracked=min(TRACKED, built.member_count))
    )


def shapes() -> list[tuple[int, int, int]]:
    """Return the trees of Table 3 in the order of their sizes."""
    listed = [(degree, HEIGHT, fill) for degree, fill in PAPER_TABLE_3]
    return sorted(listed, key=lambda shape: group_size(*shape))


def queues() -> Table:
    """Figure 8: the longest link queue."""
    rows = [
        (group_size(*shape), *(run(protocol, shape).queue_max for protocol in PROTOCOLS))
        for shape in shapes()
    ]
    by_protocol = dict(zip(PROTOCOLS, zip(*(row[1:] for row in rows), strict=True), strict=True))
    flat = all(set(by_protocol[name]) == {1} for name in ("train", "s_coordp", "s_train"))
    grows = all(by_protocol[name][-1] > 2 * by_protocol[name][0] for name in ("coordp", "fulldist"))
    largest = all(f >= c for f, c in zip(by_protocol["fulldist"], by_protocol["coordp"], strict=True))
    why = (
        f"train, s_coordp, s_train {'stay at 1' if flat else 'leave 1'}; coordp and fulldist"
        f" {'grow' if grows else 'do not grow'} with n, fulldist {'largest' if largest else 'not largest'}"
    )
    return Table(
        key="figure8",
        title="Figure 8: maximum queue of a link",
        columns=("n", *PROTOCOLS),
        rows=rows,
        verdicts={"H5": (flat and grows and largest, why)},
    )


def round_trips() -> Table:
    """Figure 9: round-trip time at the first member."""
    rows = []
    for shape in shapes():
        times = (round((run(protocol, shape).rtt_root_us or 0) / 1000, 3) for protocol in PROTOCOLS)
        rows.append((group_size(*shape), *times))
    time = dict(zip(PROTOCOLS, np.array([row[1:] for row in rows]).T, strict=True))
    longest = bool((time["train"] >= np.maximum(time["coordp"], time["fulldist"])).all())
    apart = float(np.abs(np.log(time["coordp"] / time["fulldist"])).max())
    flatness = float(time["s_coordp"].max() / time["s_coordp"].min())
    growth = float(time["coordp"].max() / time["coordp"].min())
    above = bool((time["s_train"] > time["s_coordp"]).all())
    holds = longest and apart < np.log(1.5) and flatness < growth / 10 and above
    why = (
        f"train {'longest' if longest else 'not longest'} at every n; coordp and fulldist within"
        f" {np.exp(apart):.2f} of each other; from the smallest to the largest n s_coordp × {flatness:.1f}"
        f" (arrays of 4n bytes), coordp × {growth:.0f}; s_train {'above' if above else 'not above'} s_coordp"
    )
    return Table(
        key="figure9",
        title="Figures 9 and 10: round-trip time at the first member [ms]",
        columns=("n", *PROTOCOLS),
        rows=rows,
        verdicts={"H6": (holds, why)},
    )


def gain(basic: str, structured: str, shape: tuple[int, int, int], reading: str) -> float:
    """Return how many times shorter the structured protocol's round trip is."""
    slow, fast = run(basic, shape, reading).rtt_root_us, run(structured, shape, reading).rtt_root_us
    assert slow is not None and fast is not None
    return slow / fast


def gains() -> Table:
    """Figure 10's gains at about a thousand and about twenty thousand members."""
    rows = []
    holds = True
    for (basic, structured), printed in PAPER_GAINS.items():
        for shape, paper in printed.items():
            measured = gain(basic, structured, shape, "router as delay (default)")
            ratio = max(measured / paper, paper / measured)
            holds &= ratio <= GAIN_FACTOR
            rows.append(
                (f"{basic}/{structured}", group_size(*shape), paper, round(measured, 1), round(ratio, 2))
            )
    worst = max(row[4] for row in rows)
    return Table(
        key="gains",
        title="Gain in round-trip time of the structured protocols",
        columns=("gain", "n", "paper", "simulated", "factor apart"),
        rows=rows,
        verdicts={"H7": (holds, f"at most a factor {worst} apart (accepted: {GAIN_FACTOR})")},
    )


def gain_sensitivity() -> Table:
    """How the gains move with the reading of the model."""
    rows = []
    for reading in READINGS:
        values = [
            round(gain(basic, structured, shape, reading), 1)
            for (basic, structured), printed in PAPER_GAINS.items()
            for shape in printed
        ]
        rows.append((reading, *values))
    columns = [
        f"{basic}/{structured} n={group_size(*shape)}"
        for (basic, structured), printed in PAPER_GAINS.items()
        for shape in printed
    ]
    rows.append(("paper", *(value for printed in PAPER_GAINS.values() for value in printed.values())))
    return Table(
        key="gain_sensitivity",
        title="The gains under other readings of the model",
        columns=("reading", *columns),
        rows=rows,
    )


def random_trees(*, trees: int) -> Table:
    """Figures 9 and 10, the points: round trips on random trees against the near-complete tree's."""
    rows: list[tuple[object, ...]] = []
    spread = []
    for shape in shapes():
        n = group_size(*shape)
        cells = []
        for protocol in PROTOCOLS:
            base = run(protocol, shape).rtt_root_us or 1.0
            ratios = [_random_tree_rtt(protocol, n, shape, seed) / base for seed in range(trees)]
            spread.append(float(np.mean(ratios)))
            cells.append(f"{np.mean(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})")
        rows.append((n, *cells))
    low, high = min(spread), max(spread)
    close = low >= 0.5 and high <= 2
    why = f"mean over {trees} trees between {low:.2f} and {high:.2f} of the near-complete tree's"
    return Table(
        key="random_trees",
        title="Random trees: round-trip time over the near-complete tree's, mean (least-most)",
        columns=("n", *PROTOCOLS),
        rows=rows,
        verdicts={"H8": (close, why)},
    )


def _random_tree_rtt(protocol: str, n: int, shape: tuple[int, int, int], seed: int) -> float:
    built = topology("random-tree", members=n, degree=shape[0], height=shape[1], seed=seed)
    result = simulate(Setup(protocol=protocol, topology=built, seed=seed, tracked=min(TRACKED, n)))
    assert result.rtt_root_us is not None
    return result.rtt_root_us
