"""Section 5.4.2: round trips on random trees against those on the near-complete tree of the same size."""

from __future__ import annotations

from stablecast.papers.curves import columns_with_interval, with_interval
from stablecast.papers.hierarchical.theory import PROTOCOLS
from stablecast.papers.hierarchical.trees import (
    MOST_RANDOM_TREES,
    PAPER_RANDOM_TREES,
    Shape,
    on_random_tree,
    on_tree,
    random_points,
    random_runs,
    rtt_ms,
    run_on,
    shapes,
    sizes_told,
)
from stablecast.papers.paper import Claim, Judgement, Seeds, judged
from stablecast.papers.statistics import Comparison, Estimate, mean_of
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.table import Table
from stablecast.theory import group_size

JUDGED_SHAPES: list[Shape] = [(2, 5, 1), (3, 5, 3)]
"""Sizes that are run under every reading, and with further seeds where a verdict could turn."""
CLOSE_FACTOR = 2.0
"""How far a random tree's mean round trip may be from the near-complete tree's and still be called close."""


def _made(runs: Runs) -> list[Shape]:
    """Return the trees of Table 3 beside which there are random trees of the same size."""

    def both(protocol: str, shape: Shape) -> bool:
        return on_tree(protocol, shape) in runs and on_random_tree(protocol, shape, 0) in runs

    made = [shape for shape in shapes() if all(both(protocol, shape) for protocol in PROTOCOLS)]
    if not made:
        raise MissingRun(f"this run was not made: {on_random_tree(PROTOCOLS[0], shapes()[0], 0).replay}")
    return made


def _ratio(runs: Runs, protocol: str, shape: Shape) -> Estimate:
    """Return the mean over random trees, in parts of the near-complete tree's time."""
    base = rtt_ms(run_on(runs, protocol, shape))
    return mean_of([rtt_ms(run) / base for run in random_runs(runs, protocol, shape)])


def random_trees(runs: Runs) -> Table:
    """Figures 9 and 10, the points: round trips on random trees against the near-complete tree's."""
    rows = [
        (
            group_size(*shape),
            *(cell for name in PROTOCOLS for cell in with_interval(_ratio(runs, name, shape))),
        )
        for shape in shapes()
    ]
    return Table(
        key="random_trees",
        title="Random trees: round-trip time over the near-complete tree's, mean and 95 % interval",
        columns=("n", *columns_with_interval(PROTOCOLS)),
        rows=tuple(rows),
        note=f"{_ratio(runs, PROTOCOLS[0], shapes()[0]).seeds} random trees of each size.",
    )


TABLES = (random_trees,)


def judge_random_trees(runs: Runs) -> Judgement:
    """H8."""
    made = _made(runs)
    comparisons = [
        Comparison(
            what=f"{protocol}, n = {group_size(*shape)}",
            found=_ratio(runs, protocol, shape),
            least=1 / CLOSE_FACTOR,
            most=CLOSE_FACTOR,
        )
        for protocol in PROTOCOLS
        for shape in made
    ]
    low = min(comparisons, key=lambda each: each.found.value)
    high = max(comparisons, key=lambda each: each.found.value)
    return judged(
        comparisons,
        paper="close to near-complete",
        measured=f"{low.found.value:.2f} to {high.found.value:.2f} of it",
        why=f"mean over {high.found.seeds} trees least for {low.what}: {low.found}, most for {high.what}:"
        f" {high.found} (called close within a factor {CLOSE_FACTOR:g}); at {sizes_told(made)}",
    )


CLAIMS = (
    Claim(
        id="H8",
        kind="trend",
        text="On random trees of the same size the round trip is close to the near-complete tree's.",
        judge=judge_random_trees,
        seeds=Seeds(
            points=lambda count: random_points(count, JUDGED_SHAPES),
            first=PAPER_RANDOM_TREES,
            most=MOST_RANDOM_TREES,
        ),
    ),
)
