"""Compare times per round of `gsgc` with those of the reference model, in the mean over 20 seeds.

Ends with 1 if two means differ by more than chance explains.
"""

from __future__ import annotations

import sys

from stablecast.papers.gossip import grid, group_sizes
from stablecast.pipeline.point import Point
from stablecast.simulate import simulate
from stablecast.simulate.options import Options

from . import scenarios
from .scenarios import SEEDS, mean_and_error

ERRORS_MOST = 4.0
"""Standard errors of the difference within which means agree."""
DENSE_STEPS_S = (4, 6, 7, 8, 9, 10, 12, 15)
SPARSE = ((50, 14), (200, 15), (500, 16), (500, 18), (500, 20))
"""Members, and milliseconds of the step for each."""


def own_s(points: list[Point]) -> list[float]:
    """Run points of the paper's evaluation on stablecast's simulator."""
    return [grid.tpr_s(simulate(Options.of(point.options).setup())) for point in points]


def compare(name: str, theirs: list[float], own: list[float]) -> bool:
    """Print both means; tell whether they agree."""
    (their_mean, their_error), (own_mean, own_error) = mean_and_error(theirs), mean_and_error(own)
    errors = abs(their_mean - own_mean) / (their_error**2 + own_error**2) ** 0.5
    print(
        f"{name:<28} {their_mean:7.2f} ± {their_error:.2f}   {own_mean:7.2f} ± {own_error:.2f}"
        f"   {own_mean / their_mean - 1:+6.1%}   {errors:4.1f}",
        flush=True,
    )
    return bool(errors <= ERRORS_MOST)


def main() -> int:
    """Compare the dense group at several steps, and sparse ones of several sizes."""
    print(f"{'time per round [s]':<28} {'reference':>15}   {'stablecast':>15}   {'apart':>6}   in errors")
    agree = [
        compare(
            f"dense, I, b = 3, {step_s} s",
            scenarios.dense_s(3, step_s),
            own_s([grid.at(grid.DENSE_I, 3, step_s, seed) for seed in range(SEEDS)]),
        )
        for step_s in DENSE_STEPS_S
    ]
    for members, each_ms in SPARSE:
        step_s = group_sizes.step_s(members, each_ms, group_sizes.BANDWIDTHS[0])
        points = [
            group_sizes.of_size(members, each_ms, group_sizes.BANDWIDTHS[0], seed) for seed in range(SEEDS)
        ]
        name = f"sparse, II, n = {members}, {step_s:g} s"
        agree.append(compare(name, scenarios.sparse_s(members, step_s), own_s(points)))
    for at_once in (True, False):
        times = scenarios.local_phase_s(10, at_once=at_once, seeds=SEEDS // 2 if at_once else SEEDS)
        where = "on one network" if at_once else "each alone"
        print(
            "first phase of 10 local groups, the slowest, {}: {:.1f} ± {:.1f} s".format(
                where, *mean_and_error(times)
            )
        )
    return 0 if all(agree) else 1


if __name__ == "__main__":
    sys.exit(main())
