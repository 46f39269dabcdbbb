"""When something is next to be done: executions that are due, by time or by pressure, and members' timers."""

from __future__ import annotations

from stablecast.compiling import kernel
from stablecast.protocols.contract.kernels import GROUP
from stablecast.simulate.queues import NEVER, heap_push
from stablecast.simulate.state import IMMEDIATE, PERIODIC, Sim
from stablecast.simulate.traffic import next_deadline


@kernel
def start_is_due(sim: Sim, now: int) -> bool:
    """Tell whether member 0 should begin an execution now."""
    counts = sim.counts
    if sim.autonomous or not sim.members[0].alive:
        return False
    if sim.executions > 0:
        if counts.planned >= sim.executions:
            return False
    elif counts.settled == sim.member_count:
        return False
    if counts.running:
        return bool(sim.retry_ps > 0 and now >= counts.started_at + sim.retry_ps)
    if sim.trigger == IMMEDIATE:
        return True
    if sim.trigger == PERIODIC:
        return bool(now >= counts.next_start)
    return bool(pressure(sim) >= sim.threshold)


@kernel
def pressure(sim: Sim) -> int:
    """Return the messages in the first member's output buffer; a sender that is done counts as full."""
    record = sim.members[0]
    if record.to_send == 0:
        return int(sim.threshold)
    return int(sim.columns[record.column].sent - sim.own_stable[record.column])


@kernel
def next_start(sim: Sim) -> int:
    """Return when member 0's trigger next has something to decide by time alone."""
    counts = sim.counts
    if sim.autonomous:
        return NEVER
    if sim.executions > 0:
        if counts.planned >= sim.executions:
            return NEVER
    elif counts.settled == sim.member_count:
        return NEVER
    if counts.running:
        return int(counts.started_at + sim.retry_ps) if sim.retry_ps > 0 else NEVER
    return int(counts.next_start) if sim.trigger == PERIODIC else NEVER


@kernel
def set_timer(sim: Sim, member: int) -> None:
    """Bring a member's timer up to date; an entry of the heap that it has outgrown is ignored later."""
    due = next_deadline(sim, member)
    if member == 0:
        due = min(due, next_start(sim))
    record = sim.members[member]
    if due != record.timer_at:
        record.timer_at = due
        if due < NEVER:
            first = sim.link_count + sim.node_count + sim.member_count + sim.detours
            heap_push(sim, due, first + member)


@kernel
def joins_at_start(sim: Sim) -> bool:
    """Tell whether member 0 takes part from the start on: its first message does not come back to it."""
    for k in range(sim.out_marks.sends):
        if sim.out_dest[k] == GROUP:
            return False
    return True
