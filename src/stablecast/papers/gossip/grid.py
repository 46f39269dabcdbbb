"""The 12,000 runs with 200 members, and what they come to: one cell for each sub-group size and step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from stablecast.pipeline.point import Point, simulation
from stablecast.pipeline.runs import MissingRun, Run, Runs
from stablecast.simulate.result import Result

MEMBERS = 200
SENDERS = 50
TRACKED = 4
"""Entries whose values are simulated; sizes and times are those of all senders' entries."""
LIMIT_MS = 600_000.0
"""The paper gives a round ten minutes."""
NODES = {"dense": 200, "sparse": 1000}
LOSSES: dict[str, dict[str, int]] = {
    "I": {},
    "drops only": {"omissions": 2},
    "II": {"queue_limit": 64, "omissions": 2},
}
SUBGROUPS = (1, 2, 3, 4, 5)
STEPS_S = tuple(range(1, 21))
SEEDS = 20
QUICK_STEPS_S = (1, 2, 3, 4, 6, 9, 12, 15, 20)
QUICK_SEEDS = 3
JUDGED_SEEDS = 8
"""Of the grid under a reading that is not the main one."""


class Setting(NamedTuple):
    """Where the members are, and what is lost."""

    density: str
    losses: str

    def __str__(self) -> str:
        return f"{self.density}, {self.losses}"


SETTINGS = tuple(Setting(density, losses) for density in NODES for losses in LOSSES)
DENSE_I, DENSE_II = Setting("dense", "I"), Setting("dense", "II")
SPARSE_I, SPARSE_II = Setting("sparse", "I"), Setting("sparse", "II")


def seeds(full: bool) -> range:
    """Return the seeds of each sample: the paper's twenty, or a few."""
    return range(SEEDS if full else QUICK_SEEDS)


def wide_area(*, nodes: int, members: int, subgroup: int, step_s: float, seed: int, **options: Any) -> Point:
    """Return one round of gossip on the paper's network."""
    told: dict[str, Any] = {"protocol": "gsgc", "senders": SENDERS, **options}
    return simulation(
        topology="balanced",
        nodes=nodes,
        members=members,
        tracked=TRACKED,
        costs="wan1997",
        subgroup=subgroup,
        step_s=float(step_s),
        stop_at_first=True,
        until_ms=LIMIT_MS,
        seed=seed,
        **told,
    )


@cache
def at(setting: Setting, subgroup: int, step_s: int, seed: int) -> Point:
    """Return one run of the grid; each table and figure asks for thousands, so they are made once."""
    return wide_area(
        nodes=NODES[setting.density],
        members=MEMBERS,
        subgroup=subgroup,
        step_s=step_s,
        seed=seed,
        **LOSSES[setting.losses],
    )


def points(full: bool) -> list[Point]:
    """Return the paper's 12,000 runs, or the same grid thinned."""
    return _points(full, seeds(full))


def judged_points(full: bool) -> list[Point]:
    """Return the grid with fewer seeds, for the claims under other readings."""
    return _points(full, range(JUDGED_SEEDS if full else QUICK_SEEDS))


def _points(full: bool, chosen: range) -> list[Point]:
    return [
        at(setting, subgroup, step_s, seed)
        for setting in SETTINGS
        for subgroup in SUBGROUPS
        for step_s in (STEPS_S if full else QUICK_STEPS_S)
        for seed in chosen
    ]


def made(runs: Runs) -> list[Run]:
    """Return the runs of the grid that were made."""
    return [runs[point] for point in points(True) if point in runs]


def tpr_s(result: Result) -> float:
    """Return the time per round of a run that finished."""
    assert result.tpr_us is not None
    return result.tpr_us / 1e6


@dataclass(frozen=True)
class Cell:
    """The sample of one setting, sub-group size and step; runs that did not finish are left out."""

    setting: Setting
    subgroup: int
    step_s: int
    results: tuple[Result, ...]

    def _of(self, name: str) -> list[float]:
        return [float(getattr(result, name)) for result in self.results]

    @property
    def tpr_s(self) -> float:
        """Mean time per round."""
        return float(np.mean(self._of("tpr_us"))) / 1e6

    @property
    def tpr_deviation_s(self) -> float:
        """Sample standard deviation of the time per round."""
        return _deviation(self._of("tpr_us")) / 1e6

    @property
    def steps(self) -> float:
        """Mean number of steps in a round."""
        return float(np.mean(self._of("steps")))

    @property
    def queue(self) -> float:
        """Mean of the runs' average queue."""
        return float(np.mean(self._of("queue_mean")))

    @property
    def queue_deviation(self) -> float:
        """Sample standard deviation of the average queue."""
        return _deviation(self._of("queue_mean"))

    @property
    def queue_max(self) -> float:
        """Mean of the runs' longest queue."""
        return float(np.mean(self._of("queue_max")))

    @property
    def messages_per_s(self) -> float:
        """Messages that a member sends in a second."""
        each = [result.messages_sent / result.members / tpr_s(result) for result in self.results]
        return float(np.mean(each))

    def __str__(self) -> str:
        return f"{self.setting}, sub-group {self.subgroup}, step {self.step_s} s"


def _deviation(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def cell(runs: Runs, setting: Setting, subgroup: int, step_s: int) -> Cell:
    """Return a sample, of as many seeds as were run."""
    asked = (at(setting, subgroup, step_s, seed) for seed in range(SEEDS))
    results = [runs[point].result for point in asked if point in runs]
    finished = tuple(result for result in results if result.completed)
    if not finished:
        raise MissingRun(f"no run that finished: {at(setting, subgroup, step_s, 0).replay}")
    return Cell(setting, subgroup, step_s, finished)


def curve(runs: Runs, setting: Setting, subgroup: int) -> list[Cell]:
    """Return the samples of all steps that were run, shortest step first."""
    steps = [step_s for step_s in STEPS_S if at(setting, subgroup, step_s, 0) in runs]
    if not steps:
        raise MissingRun(f"this run was not made: {at(setting, subgroup, STEPS_S[0], 0).replay}")
    return [cell(runs, setting, subgroup, step_s) for step_s in steps]


def curves(runs: Runs, setting: Setting) -> Iterator[tuple[int, list[Cell]]]:
    """Go through the sub-group sizes."""
    for subgroup in SUBGROUPS:
        yield subgroup, curve(runs, setting, subgroup)


def best(cells: list[Cell]) -> Cell:
    """Return the sample with the shortest time per round."""
    return min(cells, key=lambda each: each.tpr_s)


def sample_size(runs: Runs) -> int:
    """Return how many seeds each sample has."""
    return sum(at(DENSE_I, 3, QUICK_STEPS_S[-1], seed) in runs for seed in range(SEEDS))
