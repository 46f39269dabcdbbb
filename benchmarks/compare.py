"""The same scenarios on stablecast's engine and on the SimPy reference: equal results, and the speeds."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import unicast_steps
from benchmarks.simpy_reference import scenarios as reference
from benchmarks.unicast_steps import FANOUT, STEP_PS
from stablecast.protocols import protocol as find_protocol
from stablecast.simulate import Result, Setup, Trigger, simulate, topology
from stablecast.simulate.compiled import loop_for
from stablecast.simulate.prepare import initial_received, prepare
from stablecast.simulate.queues import grow

OWN_RUNS = 5
PS_PER_US = 10**6


@dataclass(frozen=True)
class Comparison:
    """One scenario on both engines."""

    name: str
    hops: int
    completion_ps: int
    own_wall_s: float
    """Median of the warm runs."""
    events: int
    reference_wall_s: float
    reference_runs: int
    differences: tuple[str, ...]
    """What is not the same; empty when the engines agree."""

    @property
    def own_speed(self) -> float:
        """Hops per second."""
        return self.hops / self.own_wall_s

    @property
    def reference_speed(self) -> float:
        """Hops per second."""
        return self.hops / self.reference_wall_s


def compare_coordp(tree: tuple[int, int, int], executions: int, *, reference_runs: int) -> Comparison:
    """Scenario A: executions of coordp, one after the other."""
    setup = _setup("coordp", tree, executions)
    arrays = initial_received(setup)
    name = f"A  coordp, tree {'/'.join(map(str, tree))}, {executions} executions"
    return _compare_stability(
        name, setup, lambda: reference.run_coordp(*tree, executions, arrays), reference_runs
    )


def compare_fulldist(tree: tuple[int, int, int], *, reference_runs: int) -> Comparison:
    """Scenario B: one execution of fulldist."""
    setup = _setup("fulldist", tree, 1)
    arrays = initial_received(setup)
    name = f"B  fulldist, tree {'/'.join(map(str, tree))}"
    return _compare_stability(name, setup, lambda: reference.run_fulldist(*tree, arrays), reference_runs)


def compare_unicast(steps: int, *, members: int = 200, reference_runs: int) -> Comparison:
    """Scenario C: unicasts from every member in steps, on links of 30 kbps."""
    dest = destinations(steps, members)
    stagger_ps = reference.TIE_FREE_STAGGER_PS
    own = [unicast_steps.run_unicast(dest, stagger_ps=stagger_ps) for _ in range(1 + OWN_RUNS)][1:]
    theirs = [
        reference.run_unicast(dest, step_ps=STEP_PS, stagger_ps=stagger_ps) for _ in range(reference_runs)
    ]
    facts = ("completion_ps", "hops", "latency_sum_ps", "received")
    return Comparison(
        name=f"C  {steps} steps of {FANOUT} unicasts, {members} nodes",
        hops=sum(theirs[0].hops.values()),
        completion_ps=own[0].completion_ps,
        own_wall_s=statistics.median(run.wall_s for run in own),
        events=own[0].events,
        reference_wall_s=statistics.median(run.wall_s for run in theirs),
        reference_runs=reference_runs,
        differences=tuple(fact for fact in facts if getattr(own[0], fact) != getattr(theirs[0], fact)),
    )


def destinations(steps: int, members: int) -> NDArray[np.int64]:
    """Draw destinations; no member sends to itself."""
    offsets = np.random.default_rng(7).integers(1, members, (steps, members, FANOUT))
    return (offsets + np.arange(members)[:, None]) % members


def _setup(protocol: str, tree: tuple[int, int, int], executions: int) -> Setup:
    degree, height, fill = tree
    shape = topology("tree", degree=degree, height=height, fill=fill)
    return Setup(protocol=protocol, topology=shape, trigger=Trigger(executions=executions))


def _compare_stability(
    name: str, setup: Setup, run_reference: Callable[[], reference.StabilityResult], reference_runs: int
) -> Comparison:
    own = [simulate(setup) for _ in range(1 + OWN_RUNS)][1:]
    theirs = [run_reference() for _ in range(reference_runs)]
    return Comparison(
        name=name,
        hops=sum(theirs[0].hops.values()),
        completion_ps=completion_ps(own[0]),
        own_wall_s=statistics.median(run.wall_s for run in own),
        events=own[0].events,
        reference_wall_s=statistics.median(run.wall_s for run in theirs),
        reference_runs=reference_runs,
        differences=_stability_differences(setup, own[0], theirs[0]),
    )


def _stability_differences(setup: Setup, own: Result, theirs: reference.StabilityResult) -> tuple[str, ...]:
    minima = initial_received(setup).min(axis=0)
    same: dict[str, Any] = {
        "completion_ps": completion_ps(own) == theirs.completion_ps,
        "hops": {kind: count for kind, count in own.hops_by_kind.items() if count} == theirs.hops,
        "stable arrays": np.array_equal(stable_arrays(setup), theirs.stable),
        "minima": bool((theirs.stable == minima).all()),
    }
    return tuple(fact for fact, is_same in same.items() if not is_same)


def completion_ps(result: Result) -> int:
    """Return when the last member finished; microseconds as floats hold that many picoseconds exactly."""
    return round(result.simulated_us * PS_PER_US)


def stable_arrays(setup: Setup) -> NDArray[np.int32]:
    """Run once more, one layer below `simulate`, which does not hand out the members' arrays."""
    protocol = find_protocol(setup.protocol)
    loop = loop_for(protocol)
    sim, rows = prepare(setup, protocol)
    members = setup.topology.member_count
    # Room for a packet from every member to every other, so that the loop need not come back for more.
    grow(sim, packets=members**2, messages=members, heap=128)
    if loop.run(sim, rows, 64, 8, 2, 0, 0, 1 << 60) != loop.DONE:
        raise RuntimeError(f"{setup.protocol} did not come to an end")
    return sim.stable
