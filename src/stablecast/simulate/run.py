"""Run a set-up: call the compiled loop until it is done, giving it room when it asks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from stablecast.compiling.views import Rows
from stablecast.errors import InvalidInput, SafetyViolation, StablecastError
from stablecast.protocols import protocol_names
from stablecast.protocols.contract import Protocol, Role
from stablecast.simulate.checks import VIOLATIONS, check_end
from stablecast.simulate.compiled import loop_for
from stablecast.simulate.prepare import place_members, prepare, trace_burst
from stablecast.simulate.result import Result, collect
from stablecast.simulate.room import allowed_bytes, burst_of, give_room
from stablecast.simulate.setup import Setup
from stablecast.simulate.state import Sim

EVENTS_A_CALL = 2_000_000
STANDSTILL_CALLS = 20
"""Calls without a step forward in simulated time after which a run is given up."""
Progress = Callable[[int, int, int], None]
"""Called now and then with the events handled, the simulated picoseconds and the executions completed."""


@dataclass(frozen=True)
class Changed:
    """What is another one from now on."""

    step_s: float | None = None
    bandwidth_bps: float | None = None
    """Of every link, for what is put on it from now on."""


Steer = Callable[[int, float, float], float | Changed | None]
"""Called with a round's number, the step in force and the time that the round took, in seconds; returns the
step to use from now on, what else is to change with it, or None for nothing."""
TraceSink = Callable[["np.ndarray[tuple[int, int], np.dtype[np.int64]]"], None]
"""Called with rows of the trace; :data:`stablecast.simulate.trace_rows.ROW` has their columns."""


def simulate(
    setup: Setup,
    *,
    progress: Progress | None = None,
    trace: TraceSink | None = None,
    wire_log: bool = False,
    wire: bool = False,
    steer: Steer | None = None,
) -> Result:
    """Run one simulation and return what it measured.

    ``steer`` is asked after each round of a protocol that runs by timers; it may change the time between
    steps for all members, and the links, from then on.  ``wire_log`` and ``wire`` have the trace tell more:
    stability messages that are handled, or everything that is transmitted, arrives, and goes off.

    Raises :class:`SafetyViolation` when a checker sees something called stable too early.
    """
    setup = place_members(setup)
    protocol = setup.found_protocol
    loop = loop_for(protocol)
    bytes_max = allowed_bytes()
    try:
        traced = trace is not None
        sim, rows = prepare(setup, protocol, trace=traced, wire_log=wire_log and traced, wire=wire and traced)
    except MemoryError:
        raise InvalidInput(
            "the run does not fit the memory (take fewer members, senders, or --tracked)"
        ) from None
    if steer is not None and not protocol.having(Role.STEP):
        steered = ", ".join(protocol_names(lambda found: found.having(Role.STEP)))
        raise InvalidInput(f"{protocol.name} has no steps to steer (accepted: {steered})")
    sim.counts.watched = steer is not None
    wall_s = _run(setup, sim, rows, loop, bytes_max, progress, trace, steer)
    _raise_violation(setup, sim)
    return collect(setup, protocol, sim, rows, wall_s)


def _run(
    setup: Setup,
    sim: Sim,
    rows: Rows,
    loop: ModuleType,
    bytes_max: int,
    progress: Progress | None,
    trace: TraceSink | None,
    steer: Steer | None,
) -> float:
    """Call the loop until it is done, and do what it returns for; return the time that this took."""
    burst = burst_of(setup, setup.found_protocol, sim)
    trace_rows = trace_burst(setup, sim, int(sim.columns.target.sum()))
    give_room(sim, rows, burst, bytes_max)
    loop.run(sim, rows, *burst, trace_rows, 0)  # compiles it, if need be
    began, stood_still, last_now = time.perf_counter(), 0, -1
    while True:
        status = loop.run(sim, rows, *burst, trace_rows, EVENTS_A_CALL)
        if status == loop.MORE_ROOM:
            give_room(sim, rows, burst, bytes_max)
        elif status == loop.TRACE_FULL:
            _flush(sim, trace)
        elif status == loop.ROUND_OVER:
            if steer is not None:
                _steer(sim, rows, setup.found_protocol, steer)
        elif status == loop.PAUSED:
            stood_still = stood_still + 1 if sim.ctl.now == last_now else 0
            last_now = int(sim.ctl.now)
            if stood_still >= STANDSTILL_CALLS:
                raise _standstill(setup, sim)
            if progress is not None:
                progress(int(sim.counts.events), int(sim.ctl.now), int(sim.counts.planned))
        else:
            break
    wall_s = time.perf_counter() - began
    check_end(sim)
    _flush(sim, trace)
    return wall_s


def _standstill(setup: Setup, sim: Sim) -> StablecastError:
    return StablecastError(
        f"{setup.protocol_name}: time stands still at {int(sim.ctl.now) / 1e6:g} µs, after"
        f" {STANDSTILL_CALLS * EVENTS_A_CALL:,} events there (does a timer set itself to the time that it"
        " goes off at, or do messages that take no time answer each other?)"
    )


def _steer(sim: Sim, rows: Rows, protocol: Protocol, steer: Steer) -> None:
    """Tell how long the round took that has just ended, and change what is asked for."""
    name = protocol.having(Role.STEP)[0].name
    rounds = int(sim.counts.planned)
    took = int(sim.first_learned[rounds % sim.started_at.size])
    answer = steer(rounds, getattr(rows.params, name) / 1e12, took / 1e12)
    changed = answer if isinstance(answer, Changed) else Changed(answer)
    if changed.step_s is not None:
        setattr(rows.params, name, max(1, round(changed.step_s * 1e12)))
    if changed.bandwidth_bps is not None:
        sim.links["ps_per_byte"] = 8e12 / changed.bandwidth_bps


def _flush(sim: Sim, trace: TraceSink | None) -> None:
    counts = sim.counts
    if trace is not None and counts.traced:
        trace(sim.trace[: counts.traced].copy())
    counts.traced = 0


def _raise_violation(setup: Setup, sim: Sim) -> None:
    counts = sim.counts
    if counts.violation:
        raise SafetyViolation(
            f"{setup.protocol_name}: {VIOLATIONS[int(counts.violation)]}"
            f" (member {counts.violation_member}, sender column {counts.violation_column},"
            f" seed {setup.seed}, {setup.topology.label}, at {int(sim.ctl.now) / 1e6} µs)"
        )
