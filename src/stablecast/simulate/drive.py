"""What surrounds a kernel call: its sends go out, its results are measured and checked, timers are set.

A kernel reads and writes the state of one member and fills the outbox.  It does nothing else, so all that it
causes elsewhere is caused here, by :func:`after_kernel`, at the time of the event and in a fixed order:

1. The protocol's timer is set, if the call set it.
2. Messages leave in the order of the sends.  Each gets its place in the queues at once, so the order of sends
   is the order of simultaneous packets.
3. Changes of membership are noted, and receivers that are counted in or begin to take messages.  They come
   before the check, which asks who is required.
4. What the call has learned is measured, and then the start of a round, which may follow from that.
5. If the call declared more to be stable, the declaration is checked, then the buffers are released, and then
   it is kept in ``declared``.  A release may make room for messages that waited, which leave now, behind the
   sends of the call.
6. If the call finished an execution, that is measured, and the run may be over.
7. If the member has come in by it, how long that took is measured, and the run may be over as well.

What is true before a call: the outbox is empty (``clear``), ``declared`` equals ``stable`` at every member,
and no slot of an earlier call is held for further sends (``last_slot`` is 0).  The same is true after
:func:`after_kernel`, whatever the kernel did; the traces of both drivers are equal because the plain driver
keeps the same order.

What can go wrong: a kernel that changes ``stable`` without setting ``ROSE`` is not checked here.  The check
at the end of the run finds the difference from ``declared``.  A kernel that sends more than its protocol said
finds no room in the outbox; that ends the run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import inlined, kernel
from stablecast.compiling.view_calls import letter_of
from stablecast.compiling.views import ARRAY, NOTHING, RECEIVED, SAME, Rows
from stablecast.frontier import copy_into, raise_to
from stablecast.protocols.contract.kernels import AS_IT_IS, CHANGE_STATUS, GROUP
from stablecast.simulate.chance import OMISSION_STREAM, uniform
from stablecast.simulate.changes import pack_changes, take_changes
from stablecast.simulate.channels import is_connecting, note_counted, note_opened
from stablecast.simulate.checks import (
    TOO_MANY_SENDS,
    bring_truth_up_to_date,
    check_declaration,
    is_required,
)
from stablecast.simulate.executions import ordinal
from stablecast.simulate.queues import ROW_ITSELF, new_message, release_slot, take_slot
from stablecast.simulate.riding import finds_ride, overtakes
from stablecast.simulate.state import Sim
from stablecast.simulate.trace_rows import HANDLE_EVENT, note
from stablecast.simulate.traffic import add_rider, post_riders, release_declared
from stablecast.simulate.wires import post

IntArray = NDArray[np.integer[Any]]
NOWHERE = -2
"""Destination of a message that is dropped at its sender."""


@kernel
def note_handling(sim: Sim, member: int, message: int, now: int) -> None:
    """Measure that a member handles a message of the protocol, and when it joins an execution."""
    record = sim.members[member]
    record.received += 1
    execution = sim.messages[message].execution
    if execution > record.begun and not sim.roundless:
        note_begun(sim, member, execution, now)
    if sim.wire_log:
        kind, source = sim.messages[message].kind, sim.messages[message].source
        note(sim, HANDLE_EVENT, now, member, source, execution, kind)


@kernel
def note_begun(sim: Sim, member: int, execution: int, now: int) -> None:
    """Measure that a member joins an execution, if it is not in it already."""
    record, which = sim.members[member], ordinal(sim, execution)
    if which > record.begun:
        record.begun = which
        record.before_at = record.begun_at
        record.begun_at = now


@kernel
def note_asked(sim: Sim, now: int) -> None:
    """Measure that a member starts an execution, be it a new one or one that another had started."""
    counts = sim.counts
    counts.gap_max = max(counts.gap_max, now - counts.started_at)
    counts.started_at = now
    counts.running = 1


@kernel
def note_start(sim: Sim, now: int) -> None:
    """Measure the start of a new execution."""
    counts = sim.counts
    note_asked(sim, now)
    counts.started += 1
    counts.next_start = max(counts.next_start + sim.period_ps, now)
    place = counts.started % sim.started_at.size
    sim.started_at[place] = now
    sim.first_learned[place] = -1
    sim.last_learned[place] = -1
    sim.root_rtt[place] = -1


@kernel
def look_at_load(sim: Sim, now: int) -> None:
    """Count the messages on links at every sampling time up to now."""
    counts = sim.counts
    looks = (now - counts.sample_at) // sim.sample_ps + 1
    counts.sample_at += looks * sim.sample_ps
    counts.load_samples += looks
    counts.load_sum += looks * counts.on_links
    counts.load_max = max(counts.load_max, counts.on_links)


@kernel
def after_kernel(sim: Sim, member: int, depth: int, now: int) -> None:
    """Send what a kernel call sent, then measure and check what it learned."""
    marks = sim.out_marks
    if marks.overflow > 0:
        sim.counts.violation = TOO_MANY_SENDS
        sim.counts.violation_member = member
    if marks.timer != AS_IT_IS:
        if sim.wire and marks.timer != sim.members[member].protocol_at:
            sim.timer_set_at[member] = now
        sim.members[member].protocol_at = marks.timer
    arrays = 0
    for k in range(marks.sends):
        arrays = send_one(sim, member, k, arrays, depth, now)
    let_go_of_array(sim)
    if marks.changes > 0:
        note_changes(sim, member, now)
    if marks.counted > 0:
        note_counted(sim, member, marks.counted - 1, marks.after)
    if marks.opened > 0:
        note_opened(sim, member, marks.opened - 1, marks.after, now)
        see_whether_over(sim)
    if marks.learned > 0 and not sim.roundless:
        note_learned(sim, member, marks.learned, now)
    if marks.begun > 0:
        note_begun_by_timers(sim, marks.begun, now)
    if marks.rose:
        check_declaration(sim, member)
        if sim.messages_each > 0:
            release_declared(sim, member, now)
        copy_into(sim.declared[member], sim.stable[member])
        if sim.roundless:
            note_end_so_far(sim, now)
            see_whether_over(sim)
    if marks.finished > sim.members[member].finished:
        sim.members[member].finished = marks.finished
        note_end_so_far(sim, now)
        if sim.autonomous:
            see_whether_over(sim)
        elif member == sim.counts.starter:
            sim.counts.planned += 1
            if ordinal(sim, marks.finished) == sim.counts.started:
                sim.counts.running = 0
    if sim.members[member].joining_at >= 0:
        note_joined(sim, member, now)


@kernel
def note_end_so_far(sim: Sim, now: int) -> None:
    """Measure up to now; the last call counts."""
    sim.counts.finished_at = now
    sim.counts.load_sum_by_end = sim.counts.load_sum
    sim.counts.load_samples_by_end = sim.counts.load_samples
    sim.counts.load_max_by_end = sim.counts.load_max


@kernel
def note_learned(sim: Sim, member: int, execution: int, now: int) -> None:
    """Measure that a member knows the result of an execution."""
    record, execution = sim.members[member], ordinal(sim, execution)
    if execution <= record.learned:
        return
    record.learned = execution
    record.learned_at = now
    record.rtt = now - (record.begun_at if execution == record.begun else record.before_at)
    if sim.autonomous:
        note_learned_by_timers(sim, execution, now)
    place = execution % sim.started_at.size
    since_start = now - sim.started_at[place]
    if sim.first_learned[place] < 0:
        sim.first_learned[place] = since_start
    if sim.autonomous:
        record.rtt = since_start
    sim.last_learned[place] = since_start
    if member == sim.counts.starter:
        sim.root_rtt[place] = record.rtt
        sim.counts.trip_max = max(sim.counts.trip_max, since_start)


@kernel
def note_learned_by_timers(sim: Sim, execution: int, now: int) -> None:
    """The first member that knows a round's result begins the next round, and may end the run."""
    if execution <= sim.counts.planned:
        return
    place = execution % sim.started_at.size
    sim.first_learned[place] = now - sim.started_at[place]
    sim.counts.trip_max = max(sim.counts.trip_max, sim.first_learned[place])
    sim.counts.planned = execution
    sim.counts.round_ended = 1
    while sim.counts.started <= execution:
        note_start(sim, now + sim.pause_ps)
    if sim.stop_at_first and execution == sim.executions:
        sim.counts.stop = 1


@kernel
def note_changes(sim: Sim, member: int, now: int) -> None:
    """Keep the book of who is in; a member that strikes itself off has left, or wants to come back."""
    for k in range(sim.out_marks.changes):
        change = sim.out_changes[k]
        status = (abs(change) - 1) // CHANGE_STATUS
        j = (abs(change) - 1) % CHANGE_STATUS
        record = sim.members[j]
        if change < 0:
            record.struck = max(record.struck, status)
            if record.left:
                if record.struck_first < 0:
                    record.struck_first = now
                record.struck_last = now
            elif j != member:
                sim.counts.false_strikes += 1
            if j == member and record.left:
                record.alive = 0
            elif j == member:
                sim.counts.returning = j + 1
        elif status > record.admitted:
            if not is_required(sim, j):
                set_base(sim, j)
            record.admitted = status
            bring_truth_up_to_date(sim)


@kernel
def set_base(sim: Sim, member: int) -> None:
    """Note what had been sent when a member was admitted."""
    if not sim.faulty:
        return
    for c in range(sim.base.shape[1]):
        if sim.messages_each > 0:
            sim.base[member, c] = sim.columns[c].sent
        else:
            for i in range(sim.member_count):
                sim.base[member, c] = max(sim.base[member, c], sim.received[i, c])


@kernel
def give_received(sim: Sim, member: int) -> None:
    """Where no data is sent that a newcomer could ask for, it has what the group has."""
    for i in range(sim.member_count):
        if sim.members[i].alive:
            raise_to(sim.received[member], sim.received[i])


@kernel
def note_joined(sim: Sim, member: int, now: int) -> None:
    """Measure how long a member took to come in, once it counts itself in."""
    record = sim.members[member]
    if sim.sequences[member, sim.book + member] % 2 == 0:
        return
    took = now - record.joining_at
    record.joining_at = -1
    sim.counts.joins += 1
    sim.counts.join_sum += took
    sim.counts.join_max = max(sim.counts.join_max, took)
    see_whether_over(sim)


@kernel
def note_begun_by_timers(sim: Sim, execution: int, now: int) -> None:
    """The first member to begin a round: it may have rested since the one before ended."""
    counts = sim.counts
    if execution <= counts.begun or execution != counts.started:
        return
    counts.begun = execution
    length = sim.started_at.size
    if execution > 1:
        counts.gap_max = max(counts.gap_max, now - sim.started_at[(execution - 1) % length])
    counts.started_at = now
    sim.started_at[execution % length] = now


@kernel
def is_cut_off(sim: Sim, member: int, source: int) -> bool:
    """Tell whether a member does not get a message: it is not there, or on another side of a partition."""
    if not sim.members[member].alive:
        return True
    return bool(sim.members[member].side != sim.members[source].side)


@kernel
def omit(sim: Sim, member: int, now: int) -> None:
    """Drop, of all that the group sends in a step, as many messages as are to be dropped at senders."""
    step = now // sim.step_ps
    for d in range(sim.omissions):
        draw = uniform(sim.seed, OMISSION_STREAM, step * sim.omissions + d)
        victim = int(draw * sim.member_count * sim.omit_among)
        k = victim % sim.omit_among
        if victim // sim.omit_among == member and k < sim.out_marks.sends:
            sim.out_dest[k] = NOWHERE


@kernel
def see_whether_over(sim: Sim) -> None:
    """End a run of a protocol without a starter when every member is through and no fault is to come."""
    if not sim.autonomous or sim.drains or sim.counts.struck_faults < sim.fault_count:
        return
    for i in range(sim.member_count):
        if sim.members[i].alive and not is_through(sim, i):
            return
    sim.counts.stop = 1


@kernel
def is_through(sim: Sim, member: int) -> bool:
    """Tell whether a member has all that the run is for: the executions, or everything sent and stable.

    One that is on its way in has not; and where members may lack what is stable, they have to receive it.
    """
    if sim.members[member].joining_at >= 0 or (sim.channels and is_connecting(sim, member)):
        return False
    if sim.executions > 0:
        return bool(sim.members[member].finished >= sim.executions)
    for c in range(sim.columns.size):
        leader = sim.columns[c].leader
        asked = leader == member or not sim.knows_own
        if asked and sim.members[leader].alive:
            has = sim.received[member, c] if sim.handlers > 0 else sim.stable[member, c]
            if min(sim.stable[member, c], has) < sim.columns[c].target:
                return False
    return True


@kernel
def snapshot(sim: Sim, member: int) -> int:
    """Return a slot with what a member has received: its own row where no data traffic can change it."""
    if sim.messages_each == 0:
        return ROW_ITSELF - member
    slot = take_slot(sim)
    sim.slot_uses[slot] = 1
    copy_into(sim.arrays[slot], sim.received[member])
    return int(slot)


@inlined
def letter_for(sim: Sim, rows: Rows, member: int, message: int) -> Any:
    """Return a message as the protocol's ``receive`` takes it, with some row of arrays if it carries none."""
    record = sim.messages[message]
    if sim.changed_only and record.slot >= 0:
        take_changes(sim, member, message)
        array = sim.kept[member, record.source, record.kind]
    elif record.slot <= ROW_ITSELF:
        array = sim.received[ROW_ITSELF - record.slot]
    else:
        array = sim.arrays[max(record.slot, 0)]
    return letter_of(rows, record.kind, record.source, record, array)


@kernel
def let_go_of_array(sim: Sim) -> None:
    """No further message of this call carries the array that was sent last; all that did may be gone."""
    if sim.counts.last_slot > 0:
        release_slot(sim, sim.counts.last_slot - 1)
        sim.counts.last_slot = 0


@kernel
def send_one(sim: Sim, member: int, k: int, arrays: int, depth: int, now: int) -> int:
    """Turn one send of the outbox into a message on its way; return how many arrays were taken so far."""
    if sim.out_dest[k] == NOWHERE:
        sim.counts.lost += 1
        return int(arrays + (sim.out_carries[k] == ARRAY))
    kind = sim.out_kind[k]
    weighed = sim.out_payload[k] >= 0
    payload = sim.out_payload[k] if weighed else sim.kind_bytes[kind]
    message = new_message(sim, kind, member, sim.out_dest[k], sim.header_bytes + payload)
    record = sim.messages[message]
    record.depth = depth + 1
    if sim.kind_numbers[kind] > 0:
        record.execution = sim.out_numbers[k, 0]
        record.first = sim.out_numbers[k, 1]
        record.last = sim.out_numbers[k, 2]
        record.column = sim.out_numbers[k, 3]
        record.born = sim.out_numbers[k, 4]
    if sim.out_carries[k] == ARRAY:
        let_go_of_array(sim)
        record.slot = sim.out_slot[arrays]
        sim.slot_uses[record.slot] = 2  # one use by this message, one for others that carry the same
        sim.counts.last_slot = record.slot + 1
        sim.out_slot[arrays] = take_slot(sim)
        arrays += 1
    elif sim.out_carries[k] == SAME:
        record.slot = sim.counts.last_slot - 1
        sim.slot_uses[record.slot] += 1
    elif sim.out_carries[k] == RECEIVED:
        record.slot = snapshot(sim, member)
    if sim.changed_only and sim.out_carries[k] != NOTHING:
        pack_changes(sim, member, message, not weighed)
    sim.counts.rounds = max(sim.counts.rounds, depth + 1)
    if sim.one_by_one and record.dest == GROUP:
        sim.members[member].sent += sim.member_count - 1
    else:
        sim.members[member].sent += record.dest != member
    if sim.piggyback_ps > 0 and finds_ride(sim, member, message, now):
        add_rider(sim, member, message, now)
    else:
        if sim.changed_only and record.slot >= 0 and overtakes(sim, member, kind):
            post_riders(sim, member, now)
        post(sim, member, message, now)
    return arrays
