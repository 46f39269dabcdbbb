"""Run a set-up: call the compiled loop until it is done, giving it room when it asks."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import ModuleType

import numpy as np

from stablecast.errors import InvalidInput, SafetyViolation
from stablecast.protocols import protocol_names
from stablecast.protocols.contract import Protocol, Role
from stablecast.simulate.checks import VIOLATIONS, check_end
from stablecast.simulate.compiled import loop_for
from stablecast.simulate.prepare import place_members, prepare, trace_burst
from stablecast.simulate.queues import FREE_MESSAGES, FREE_PACKETS, FREE_SLOTS, HEAP, NOW, grow
from stablecast.simulate.result import Result, collect
from stablecast.simulate.setup import Setup
from stablecast.simulate.state import (
    EVENTS,
    PLANNED,
    RIDERS_MAX,
    TRACED,
    VIOLATION,
    VIOLATION_COLUMN,
    VIOLATION_MEMBER,
    WATCHED,
    Arrays,
)
from stablecast.simulate.struct import Sim

EVENTS_A_CALL = 2_000_000
CASTS_MAX = 4
"""Messages to all that one kernel call sends at most."""
Progress = Callable[[int, int, int], None]
"""Called now and then with the events handled, the simulated picoseconds and the executions completed."""
Steer = Callable[[int, float, float], float | None]
"""Called with a round's number, the step in force and the time that the round took, in seconds; returns the
step to use from now on, or None for the same."""
TraceSink = Callable[["np.ndarray[tuple[int, int], np.dtype[np.int64]]"], None]
"""Called with rows of the trace: code, time in ps, member, column, number, bytes."""


def simulate(
    setup: Setup,
    *,
    progress: Progress | None = None,
    trace: TraceSink | None = None,
    wire_log: bool = False,
    steer: Steer | None = None,
) -> Result:
    """Run one simulation and return what it measured.

    ``steer`` is asked after each round of a protocol that runs by timers; it may change the time between
    steps for all members from then on.

    Raises :class:`SafetyViolation` when a checker sees something called stable too early.
    """
    setup = place_members(setup)
    protocol = setup.found_protocol
    loop = loop_for(protocol)
    try:
        sim = prepare(setup, protocol, trace=trace is not None, wire_log=wire_log and trace is not None)
    except MemoryError:
        raise InvalidInput(
            "the run does not fit the memory (take fewer members, senders, or --tracked)"
        ) from None
    if steer is not None and not protocol.having(Role.STEP):
        steered = ", ".join(protocol_names(lambda found: found.having(Role.STEP)))
        raise InvalidInput(f"{protocol.name} has no steps to steer (accepted: {steered})")
    sim.meters.counts[WATCHED] = steer is not None
    sim, wall_s = _run(setup, sim, loop, protocol, progress, trace, steer)
    _raise_violation(setup, sim)
    return collect(setup, protocol, sim, wall_s)


def _run(
    setup: Setup,
    sim: Arrays,
    loop: ModuleType,
    protocol: Protocol,
    progress: Progress | None,
    trace: TraceSink | None,
    steer: Steer | None,
) -> tuple[Arrays, float]:
    packets_min, messages_min, slots_min = _burst(setup, sim, protocol)
    rows = trace_burst(sim.plan, sim.feed)
    sim = _give_room(sim, packets_min, messages_min, slots_min)
    shared = Sim(sim)
    loop.run(shared, packets_min, messages_min, slots_min, rows, 0)  # compiles it, if need be
    began = time.perf_counter()
    while True:
        status = loop.run(shared, packets_min, messages_min, slots_min, rows, EVENTS_A_CALL)
        if status == loop.MORE_ROOM:
            sim = _give_room(sim, packets_min, messages_min, slots_min)
            shared.share(sim)
        elif status == loop.TRACE_FULL:
            _flush(sim, trace)
        elif status == loop.ROUND_OVER:
            if steer is not None:
                _steer(sim, protocol, steer)
        elif status == loop.PAUSED:
            if progress is not None:
                counts = sim.meters.counts
                progress(int(counts[EVENTS]), int(sim.q.ctl[NOW]), int(counts[PLANNED]))
        else:
            break
    wall_s = time.perf_counter() - began
    check_end(shared)
    _flush(sim, trace)
    return sim, wall_s


def _steer(sim: Arrays, protocol: Protocol, steer: Steer) -> None:
    """Tell how long the round took that has just ended, and set the step to use from now on."""
    place = protocol.place_of(Role.STEP)
    rounds = int(sim.meters.counts[PLANNED])
    took = int(sim.meters.first_learned[rounds % sim.meters.started_at.size])
    step_s = steer(rounds, int(sim.group.params[0, place]) / 1e12, took / 1e12)
    if step_s is not None:
        sim.group.params[0, place] = max(1, round(step_s * 1e12))


def _burst(setup: Setup, sim: Arrays, protocol: Protocol) -> tuple[int, int, int]:
    """Return the most packets, messages and arrays that one event can take."""
    sends, arrays = protocol.most_sends(setup.sizes), protocol.most_arrays(setup.sizes)
    degree = int((sim.net.nodes.cast_stop - sim.net.nodes.cast_start).max())
    data = 0
    if sim.plan.messages_each > 0:
        data = 40 + sim.feed.columns.size + (sim.plan.buffer if sim.plan.group_senders else 0)
    ridden = RIDERS_MAX if sim.plan.piggyback_ps > 0 else 0
    messages = 2 * (ridden + 1) * sends + data + 2
    # Of one call's messages a few go to all, and the others to one member each.
    casts = min(messages, 2 * (ridden + 1) * CASTS_MAX + data + 2)
    to_all = sim.net.member_count if sim.plan.one_by_one else degree
    return casts * (to_all + 2) + 3 * messages, messages, 2 * (ridden + 1) * arrays + data + 2


def _give_room(sim: Arrays, packets_min: int, messages_min: int, slots_min: int) -> Arrays:
    """Double what is nearly used up."""
    q, ctl = sim.q, sim.q.ctl
    more_slots = max(q.slot_next.size, slots_min) if ctl[FREE_SLOTS] < slots_min else 0
    q = grow(
        q,
        packets=max(q.packets.size, packets_min) if ctl[FREE_PACKETS] < packets_min else 0,
        messages=max(q.messages.size, messages_min) if ctl[FREE_MESSAGES] < messages_min else 0,
        slots=more_slots,
        heap=max(q.heap.size, packets_min) if q.heap.size - ctl[HEAP] < packets_min + 16 else 0,
    )
    group = sim.group
    if more_slots:
        wider = np.zeros((group.arrays.shape[0] + more_slots, group.arrays.shape[1]), group.arrays.dtype)
        wider[: group.arrays.shape[0]] = group.arrays
        group = group._replace(arrays=wider)
    return sim._replace(q=q, group=group, out=sim.out._replace(arrays=group.arrays))


def _flush(sim: Arrays, trace: TraceSink | None) -> None:
    counts = sim.meters.counts
    if trace is not None and counts[TRACED]:
        trace(sim.meters.trace[: counts[TRACED]].copy())
    counts[TRACED] = 0


def _raise_violation(setup: Setup, sim: Arrays) -> None:
    counts = sim.meters.counts
    if counts[VIOLATION]:
        raise SafetyViolation(
            f"{setup.protocol_name}: {VIOLATIONS[int(counts[VIOLATION])]}"
            f" (member {counts[VIOLATION_MEMBER]}, sender column {counts[VIOLATION_COLUMN]},"
            f" seed {setup.seed}, {setup.topology.label}, at {int(sim.q.ctl[NOW]) / 1e6} µs)"
        )
