"""When something is next to be done: executions that are due, by time or by pressure, and members' timers.

The *starter* begins executions.  It is member 0 at first.  Where the protocol has successors, a member
becomes the starter when a failure detector has told it of all members with lower numbers.  What it does then
depends on the last execution:

- It is running: the successor begins it anew, at once.  For all that is measured this is the same execution.
- It is over, and more are to come: the trigger decides, as it did before.
- It is over, and was the last: the successor begins it anew if there is a member that has not finished it.  A
  coordinator that crashes while it sends the result may leave some without.
"""

from __future__ import annotations

from stablecast.compiling import kernel
from stablecast.protocols.contract.kernels import GROUP
from stablecast.simulate.executions import ordinal
from stablecast.simulate.queues import NEVER, heap_push
from stablecast.simulate.state import IMMEDIATE, PERIODIC, Sim
from stablecast.simulate.traffic import next_deadline


@kernel
def start_is_due(sim: Sim, now: int) -> bool:
    """Tell whether the starter should begin a new execution now."""
    counts = sim.counts
    if sim.autonomous or not sim.members[counts.starter].alive or were_all_started(sim):
        return False
    if counts.running:
        return bool(sim.retry_ps > 0 and now >= counts.started_at + sim.retry_ps)
    if sim.trigger == IMMEDIATE:
        return True
    if sim.trigger == PERIODIC:
        return bool(now >= counts.next_start)
    return bool(pressure(sim) >= sim.threshold)


@kernel
def were_all_started(sim: Sim) -> bool:
    """Tell whether no further execution is to come."""
    if sim.executions > 0:
        return bool(sim.counts.planned >= sim.executions)
    return bool(sim.counts.settled == sim.member_count)


@kernel
def succeeds(sim: Sim, member: int) -> bool:
    """Tell whether a member that has just been told of one before it is the new starter."""
    sim.members[member].told_before += 1
    return bool(sim.members[member].told_before == member)


@kernel
def is_left_over(sim: Sim) -> bool:
    """Tell whether a new starter has to begin the last execution anew."""
    if sim.counts.started == 0 or sim.counts.running:
        return bool(sim.counts.started > 0)
    if were_all_started(sim):
        for i in range(sim.member_count):
            finished = ordinal(sim, sim.members[i].finished)
            if sim.members[i].alive and finished < sim.counts.started:
                return True
    return False


@kernel
def pressure(sim: Sim) -> int:
    """Return the messages in the starter's output buffer; one that has nothing to send counts as full."""
    record = sim.members[sim.counts.starter]
    if record.to_send == 0:
        return int(sim.threshold)
    return int(sim.columns[record.column].sent - sim.own_stable[record.column])


@kernel
def next_start(sim: Sim) -> int:
    """Return when the starter's trigger next has something to decide by time alone."""
    counts = sim.counts
    if sim.autonomous or were_all_started(sim):
        return NEVER
    if counts.running:
        return int(counts.started_at + sim.retry_ps) if sim.retry_ps > 0 else NEVER
    return int(counts.next_start) if sim.trigger == PERIODIC else NEVER


@kernel
def set_timer(sim: Sim, member: int) -> None:
    """Bring a member's timer up to date; an entry of the heap that it has outgrown is ignored later."""
    due = next_deadline(sim, member)
    if member == sim.counts.starter:
        due = min(due, next_start(sim))
    record = sim.members[member]
    if due != record.timer_at:
        record.timer_at = due
        if due < NEVER:
            first = sim.link_count + sim.node_count + sim.host_count + sim.detours
            heap_push(sim, due, first + member)


@kernel
def joins_at_start(sim: Sim) -> bool:
    """Tell whether the starter takes part from the start on: its first message does not come back to it."""
    for k in range(sim.out_marks.sends):
        if sim.out_dest[k] == GROUP:
            return False
    return True
