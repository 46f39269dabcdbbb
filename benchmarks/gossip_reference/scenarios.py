"""The paper's figures in the reference model: times per round of dense, sparse and local groups."""

from __future__ import annotations

import random
from collections.abc import Sequence
from statistics import fmean, stdev

from .model import Conditions, message_bytes, rounds_s, tree

SEEDS = 20
DENSE, SPARSE = 200, 1000
LIMITED = {"queue_limit": 64, "omissions": 2}
"""Simulation II."""


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and its standard error."""
    return fmean(values), stdev(values) / len(values) ** 0.5


def dense_s(subgroup: int, step_s: float, *, seeds: int = SEEDS) -> list[float]:
    """200 members on all nodes, nothing lost (simulation I)."""
    conditions = Conditions(size_bytes=message_bytes(DENSE))
    members = [range(DENSE)]
    return [
        rounds_s(tree(DENSE), members, subgroup=subgroup, step_s=step_s, conditions=conditions, seed=seed)[0]
        for seed in range(seeds)
    ]


def drawn(members: int, seed: int) -> list[int]:
    """Draw members from the nodes of the large tree."""
    return random.Random(f"members {seed}").sample(range(SPARSE), members)


def sparse_s(
    members: int, step_s: float, *, bandwidth_bps: float = 30_000.0, seeds: int = SEEDS
) -> list[float]:
    """Members drawn from 1,000 nodes, sub-group 1, simulation II."""
    conditions = Conditions(size_bytes=message_bytes(members), bandwidth_bps=bandwidth_bps, **LIMITED)
    return [
        rounds_s(
            tree(SPARSE), [drawn(members, seed)], subgroup=1, step_s=step_s, conditions=conditions, seed=seed
        )[0]
        for seed in range(seeds)
    ]


def local_phase_s(groups: int, *, at_once: bool, seeds: int = SEEDS) -> list[float]:
    """Return the time of the slowest of some local groups of 50, on one network or each on its own."""
    conditions = Conditions(size_bytes=message_bytes(50), **LIMITED)
    found = []
    for seed in range(seeds):
        nodes = drawn(50 * groups, seed)
        parts = [nodes[50 * k : 50 * k + 50] for k in range(groups)]
        runs = [parts] if at_once else [[part] for part in parts]
        times = [
            rounds_s(tree(SPARSE), run, subgroup=1, step_s=0.7, conditions=conditions, seed=groups * seed + k)
            for k, run in enumerate(runs)
        ]
        found.append(max(time for each in times for time in each))
    return found
