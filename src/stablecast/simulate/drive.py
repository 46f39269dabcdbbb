"""What surrounds a kernel call: its sends go out, its results are measured and checked, timers are set."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast._jit import inlined, kernel
from stablecast.frontier import copy_into
from stablecast.protocols.contract.kernels import (
    ARRAY,
    AS_IT_IS,
    FINISHED,
    GROUP,
    LEARNED,
    NOTHING,
    RECEIVED,
    ROSE,
    SENDS,
    TIMER,
    Message,
)
from stablecast.simulate.checks import check_declaration
from stablecast.simulate.queues import NEVER, ROW_ITSELF, heap_push, new_message, take_slot
from stablecast.simulate.state import (
    FINISHED_AT,
    GAP_MAX,
    IMMEDIATE,
    NEXT_START,
    PERIODIC,
    PLANNED,
    RIDERS_MAX,
    ROUNDS,
    RUNNING,
    SETTLED,
    STARTED,
    STARTED_AT,
    TRIP_MAX,
)
from stablecast.simulate.struct import Sim
from stablecast.simulate.traffic import HANDLE_EVENT, add_rider, next_deadline, note
from stablecast.simulate.wires import post

IntArray = NDArray[np.integer[Any]]


@kernel
def note_handling(sim: Sim, member: int, message: int, now: int) -> None:
    """Measure that a member handles a message of the protocol, and when it joins an execution."""
    record = sim.members[member]
    record.received += 1
    execution = sim.messages[message].execution
    if execution > record.begun:
        record.begun = execution
        record.before_at = record.begun_at
        record.begun_at = now
    if sim.wire_log:
        kind, source = sim.messages[message].kind, sim.messages[message].source
        note(sim, HANDLE_EVENT, now, member, source, execution, kind)


@kernel
def note_start(sim: Sim, now: int) -> None:
    """Measure the start of an execution by member 0."""
    counts = sim.counts
    if counts[STARTED] > 0:
        counts[GAP_MAX] = max(counts[GAP_MAX], now - counts[STARTED_AT])
    else:
        counts[GAP_MAX] = max(counts[GAP_MAX], now)
    counts[STARTED] += 1
    counts[STARTED_AT] = now
    counts[RUNNING] = 1
    counts[NEXT_START] = max(counts[NEXT_START] + sim.period_ps, now)
    place = counts[STARTED] % sim.started_at.size
    sim.started_at[place] = now
    sim.first_learned[place] = -1
    sim.last_learned[place] = -1
    sim.root_rtt[place] = -1


@kernel
def after_kernel(sim: Sim, member: int, depth: int, now: int) -> None:
    """Send what a kernel call sent, then measure and check what it learned."""
    marks = sim.out_marks
    if marks[TIMER] != AS_IT_IS:
        sim.members[member].protocol_at = marks[TIMER]
    arrays = 0
    for k in range(marks[SENDS]):
        arrays = send_one(sim, member, k, arrays, depth, now)
    if marks[LEARNED] > 0:
        note_learned(sim, member, marks[LEARNED], now)
    if marks[ROSE]:
        check_declaration(sim, member, now)
    if marks[FINISHED] > sim.members[member].finished:
        sim.members[member].finished = marks[FINISHED]
        sim.counts[FINISHED_AT] = now
        if member == 0:
            sim.counts[PLANNED] += 1
            if marks[FINISHED] == sim.counts[STARTED]:
                sim.counts[RUNNING] = 0


@kernel
def note_learned(sim: Sim, member: int, execution: int, now: int) -> None:
    """Measure that a member knows the result of an execution."""
    record = sim.members[member]
    if execution <= record.learned:
        return
    record.learned = execution
    record.learned_at = now
    record.rtt = now - (record.begun_at if execution == record.begun else record.before_at)
    place = execution % sim.started_at.size
    since_start = now - sim.started_at[place]
    if sim.first_learned[place] < 0:
        sim.first_learned[place] = since_start
    sim.last_learned[place] = since_start
    if member == 0:
        sim.root_rtt[place] = record.rtt
        sim.counts[TRIP_MAX] = max(sim.counts[TRIP_MAX], since_start)


@kernel
def snapshot(sim: Sim, member: int) -> int:
    """Return a slot with what a member has received: its own row where no data traffic can change it."""
    if sim.messages_each == 0:
        return ROW_ITSELF - member
    slot = take_slot(sim)
    copy_into(sim.arrays[slot], sim.received[member])
    return int(slot)


@inlined
def message_view(sim: Sim, message: int) -> Message:
    """Return a message as kernels see it, with the array that it carries (some array if it carries none)."""
    record = sim.messages[message]
    if record.slot <= ROW_ITSELF:
        array = sim.received[ROW_ITSELF - record.slot]
    else:
        array = sim.arrays[max(record.slot, 0)]
    return Message(record.kind, record.source, record.execution, array)


@kernel
def array_bytes(sim: Sim, member: int, message: int) -> int:
    """Return the bytes of an array on the wire: all its entries, or the changed ones with their places."""
    full = sim.wire_entries * sim.entry_bytes
    if not sim.changed_only:
        return int(full)
    array, last = message_view(sim, message).array, sim.last_sent[member, sim.messages[message].kind]
    changed = 0
    for j in range(array.size):
        changed += array[j] != last[j]
        last[j] = array[j]
    return int(min(full, changed * sim.wire_entries // array.size * 2 * sim.entry_bytes))


@kernel
def send_one(sim: Sim, member: int, k: int, arrays: int, depth: int, now: int) -> int:
    """Turn one send of the outbox into a message on its way; return how many arrays were taken so far."""
    size = sim.header_bytes
    message = new_message(sim, sim.out_kind[k], member, sim.out_dest[k], size)
    record = sim.messages[message]
    record.execution = sim.out_execution[k]
    record.depth = depth + 1
    if sim.out_carries[k] == ARRAY:
        record.slot = sim.out_slot[arrays]
        sim.out_slot[arrays] = take_slot(sim)
        arrays += 1
    elif sim.out_carries[k] == RECEIVED:
        record.slot = snapshot(sim, member)
    if sim.out_carries[k] != NOTHING:
        record.wire_bytes += array_bytes(sim, member, message)
    sim.counts[ROUNDS] = max(sim.counts[ROUNDS], depth + 1)
    sim.members[member].sent += 1
    soon = sim.members[member].send_at <= now + sim.piggyback_ps
    if sim.piggyback_ps > 0 and soon and sim.members[member].riders < RIDERS_MAX:
        add_rider(sim, member, message, now)
    else:
        post(sim, member, message, now)
    return arrays


@kernel
def start_is_due(sim: Sim, now: int) -> bool:
    """Tell whether member 0 should begin an execution now."""
    counts = sim.counts
    if sim.executions > 0:
        if counts[PLANNED] >= sim.executions:
            return False
    elif counts[SETTLED] == sim.member_count:
        return False
    if counts[RUNNING]:
        return bool(sim.retry_ps > 0 and now >= counts[STARTED_AT] + sim.retry_ps)
    if sim.trigger == IMMEDIATE:
        return True
    if sim.trigger == PERIODIC:
        return bool(now >= counts[NEXT_START])
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
    if sim.executions > 0:
        if counts[PLANNED] >= sim.executions:
            return NEVER
    elif counts[SETTLED] == sim.member_count:
        return NEVER
    if counts[RUNNING]:
        return int(counts[STARTED_AT] + sim.retry_ps) if sim.retry_ps > 0 else NEVER
    return int(counts[NEXT_START]) if sim.trigger == PERIODIC else NEVER


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
            heap_push(sim, due, sim.link_count + sim.node_count + sim.member_count + member)


@kernel
def joins_at_start(sim: Sim) -> bool:
    """Tell whether member 0 takes part from the start on: its first message does not come back to it."""
    for k in range(sim.out_marks[SENDS]):
        if sim.out_dest[k] == GROUP:
            return False
    return True
