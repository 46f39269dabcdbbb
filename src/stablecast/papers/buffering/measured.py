"""What runs of one kind measured: their deliveries, found by their points, and means over seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from stablecast.multicast.bimodal_result import Delivery
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import MissingRun, Runs


def delivery(runs: Runs, point: Point) -> Delivery:
    """Return what a run delivered and kept."""
    found = runs[point].result.delivery
    if found is None:
        raise MissingRun(f"nothing was delivered: {point.replay}")
    return found


def deliveries(runs: Runs, asked: Sequence[Point]) -> list[Delivery]:
    """Return those of the points that were run; not one of them is a missing run."""
    made = [point for point in asked if point in runs]
    if not made:
        raise MissingRun(f"this run was not made: {asked[0].replay}")
    return [delivery(runs, point) for point in made]


def mean(found: Sequence[Delivery], read: Callable[[Delivery], float]) -> float:
    """Return the mean of a measure."""
    return float(np.mean([read(each) for each in found]))


def made(runs: Runs, asked: Sequence[Point]) -> bool:
    """Tell whether any of the points was run."""
    return any(point in runs for point in asked)
