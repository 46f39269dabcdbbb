"""Data traffic: senders with bounded buffers, their messages on the network, repair, and what it costs."""

from __future__ import annotations

from stablecast.compiling import kernel
from stablecast.frontier.window import NEW
from stablecast.multicast.fifo import is_missing, missing_until, take_data
from stablecast.simulate.chance import MEMBER_STREAM, uniform
from stablecast.simulate.queues import GROUP, NEVER, new_message
from stablecast.simulate.state import BEATS_MAX, DATA, HEARTBEAT, KEPT, NAK, REQUEST, Sim
from stablecast.simulate.trace_rows import (
    RECEIVE_EVENT,
    RELEASE_EVENT,
    SEND_EVENT,
    STABLE_EVENT,
    note,
    note_arrive,
)
from stablecast.simulate.wires import post


@kernel
def hold(sim: Sim, member: int, change: int, now: int) -> None:
    """Change the number of messages in a member's buffers, keeping its maximum and its integral."""
    record = sim.members[member]
    record.held_area += float(record.held) * float(now - record.held_since)
    record.held_since = now
    record.held += change
    record.held_max = max(record.held_max, record.held)


@kernel
def hand_over(sim: Sim, member: int, now: int) -> None:
    """A sender's next message is due: send it, hand it to the leader, or wait for room in the buffer."""
    record = sim.members[member]
    column = sim.columns[record.column]
    if column.leader != member:
        message = new_message(sim, REQUEST, member, column.leader, sim.header_bytes + sim.data_bytes)
        sim.messages[message].column = record.column
        sim.messages[message].born = now
        post(sim, member, message, now)
    elif column.sent - sim.own_stable[record.column] >= sim.buffer:
        column.blocked += 1
        record.waiting = 1
        record.send_at = NEVER
        return
    else:
        multicast(sim, record.column, now, now)
    record.to_send -= 1
    record.waiting = 0
    record.send_at = now + record.interval if record.to_send > 0 else NEVER


@kernel
def multicast(sim: Sim, column_number: int, born: int, now: int) -> None:
    """Number a message and multicast it, with the stability messages that wait for a ride."""
    column = sim.columns[column_number]
    member = column.leader
    column.sent += 1
    column.sent_at = now
    column.heartbeat_gap = sim.heartbeat_ps
    column.heartbeat_at = now + sim.heartbeat_ps if sim.lossy else NEVER
    seq = column.sent
    column.held_max = max(column.held_max, seq - sim.own_stable[column_number])
    sim.sent_at[column_number, seq % sim.sent_at.shape[1]] = born
    sim.highest[member, column_number] = seq
    sim.received[member, column_number] = seq
    hold(sim, member, 1, now)
    if sim.tracing:
        note(sim, SEND_EVENT, now, member, column_number, seq, sim.data_bytes)
    if not sim.attaches:
        post_data(sim, column_number, seq, 0, now)


@kernel
def post_data(sim: Sim, column_number: int, seq: int, attached_bytes: int, now: int) -> None:
    """Send a data message that has its number to all, with what is attached to it and what rides on it."""
    member = sim.columns[column_number].leader
    born = sim.sent_at[column_number, seq % sim.sent_at.shape[1]]
    if sim.attaches:
        sim.attached[column_number, seq % sim.attached.shape[1], sim.attached.shape[2] - 1] = attached_bytes
        sim.counts.attached_bytes += attached_bytes
    message = data_message(sim, column_number, seq, GROUP, born)
    take_riders(sim, member, message)
    post(sim, member, message, now)


@kernel
def data_message(sim: Sim, column_number: int, seq: int, dest: int, born: int) -> int:
    """Make a data message."""
    size = sim.header_bytes + sim.data_bytes
    attached = 0
    if sim.attaches:
        attached = sim.attached[column_number, seq % sim.attached.shape[1], sim.attached.shape[2] - 1]
    message = new_message(sim, DATA, sim.columns[column_number].leader, dest, size + attached)
    record = sim.messages[message]
    record.carried = attached
    record.column = column_number
    record.first = seq
    record.last = seq
    record.born = born
    return message


@kernel
def take_riders(sim: Sim, member: int, carrier: int) -> None:
    """Put the stability messages that wait at a member inside a data message, without their headers."""
    record = sim.members[member]
    rider = record.rider
    sim.messages[carrier].rider = rider
    while rider >= 0:
        size = sim.messages[rider].wire_bytes - sim.header_bytes
        sim.messages[carrier].wire_bytes += size
        sim.messages[carrier].carried += size
        sim.counts.rider_bytes += size
        sim.counts.riders += 1
        rider = sim.messages[rider].next
    record.rider = -1
    record.riders = 0
    record.rider_at = NEVER


@kernel
def add_rider(sim: Sim, member: int, message: int, now: int) -> None:
    """Let a stability message wait for the member's next data message."""
    record = sim.members[member]
    if record.rider < 0:
        record.rider = message
        record.rider_at = now + sim.piggyback_ps
    else:
        sim.messages[record.last_rider].next = message
    record.last_rider = message
    record.riders += 1
    if sim.wire:
        sim.made_at[message] = now


@kernel
def post_riders(sim: Sim, member: int, now: int) -> None:
    """Send the stability messages that found no ride on their own."""
    record = sim.members[member]
    rider = record.rider
    record.rider = -1
    record.riders = 0
    record.rider_at = NEVER
    while rider >= 0:
        following = sim.messages[rider].next
        sim.messages[rider].next = -1
        post(sim, member, rider, now)
        rider = following


@kernel
def handle_data(sim: Sim, member: int, message: int, now: int) -> bool:
    """Take in a message of the data traffic at a member; tell whether it got through."""
    record = sim.messages[message]
    is_data = record.kind == DATA or record.kind == KEPT
    may_be_lost = is_data and record.dest == GROUP and sim.data_loss > 0.0 and record.source != member
    if may_be_lost and _lost(sim, member, now):
        return False
    if sim.wire:
        note_arrive(sim, member, message, False, now)
    if is_data:
        _take(sim, member, message, now)
    elif record.kind == HEARTBEAT:
        highest = sim.highest
        highest[member, record.column] = max(highest[member, record.column], record.last)
        ask_for(sim, member, record.column, now)
    elif record.kind == NAK:
        _answer(sim, member, message, now)
    else:
        _take_request(sim, record.column, record.born, now)
    return True


@kernel
def _lost(sim: Sim, member: int, now: int) -> bool:
    record = sim.members[member]
    record.draws += 1
    draw = uniform(sim.seed, MEMBER_STREAM + member, record.draws)
    lost = now < sim.loss_until_ps and draw < sim.data_loss
    if lost:
        sim.counts.lost += 1
    return bool(lost)


@kernel
def _take(sim: Sim, member: int, message: int, now: int) -> None:
    record = sim.messages[message]
    column, seq = record.column, record.first
    if sim.columns[column].leader == member or (sim.audiences and not sim.audience[column, member]):
        return
    taken = take_data(sim.received[member], sim.ahead[member], sim.highest[member], column, seq)
    if taken == NEW:
        hold(sim, member, 1, now)
        sim.counts.delivery_max = max(sim.counts.delivery_max, now - record.born)
        if sim.tracing:
            note(sim, RECEIVE_EVENT, now, member, column, seq, sim.data_bytes)
    ask_for(sim, member, column, now)


@kernel
def ask_for(sim: Sim, member: int, column: int, now: int) -> None:
    """Ask for the first missing range of a column, unless that was asked for a short while ago."""
    if not is_missing(sim.received[member], sim.highest[member], column):
        return
    if sim.audiences and not sim.audience[column, member]:
        return
    due = sim.asked_at[member, column] + sim.nak_ps
    if sim.asked_at[member, column] >= 0 and now < due:
        sim.members[member].nak_at = min(sim.members[member].nak_at, due)
        return
    sim.asked_at[member, column] = now
    sim.members[member].nak_at = min(sim.members[member].nak_at, now + sim.nak_ps)
    size = sim.header_bytes + 2 * sim.entry_bytes
    message = new_message(sim, NAK, member, _whom_to_ask(sim, member, column), size)
    record = sim.messages[message]
    record.column = column
    record.first = sim.received[member, column] + 1
    record.last = missing_until(sim.received[member], sim.ahead[member], sim.highest[member], column)
    post(sim, member, message, now)


@kernel
def _whom_to_ask(sim: Sim, member: int, column: int) -> int:
    """Return whom to ask for the first missing message of a column: its sender, if it is not stable yet.

    What is stable the late-join handlers keep, and who sent it, in case they were cut off at that time.  A
    member asks one after the other, beginning with one of its own so that not all ask the same.
    """
    leader = sim.columns[column].leader
    if sim.received[member, column] >= sim.stable[member, column] or sim.handlers == 0:
        return int(leader)
    record = sim.members[member]
    keeper = member
    while keeper == member:
        k = (member + record.asks) % (sim.handlers + 1)
        keeper = leader if k == sim.handlers else k
        record.asks += 1
    return int(keeper)


@kernel
def hear_of(sim: Sim, member: int, column: int, number: int, now: int) -> None:
    """A member that was not waited for learns, from what is stable, that it lacks something."""
    sim.highest[member, column] = max(sim.highest[member, column], number)
    ask_for(sim, member, column, now)


@kernel
def ask_again(sim: Sim, member: int, now: int) -> None:
    """Repeat the requests of a member that are due."""
    sim.members[member].nak_at = NEVER
    for column in range(sim.columns.size):
        ask_for(sim, member, column, now)


@kernel
def _answer(sim: Sim, member: int, message: int, now: int) -> None:
    """Send copies of what a receiver lacks: of what is held here as it is not stable, or kept for good."""
    column, source = sim.messages[message].column, sim.messages[message].source
    length, leads = sim.sent_at.shape[1], sim.columns[column].leader == member
    for seq in range(sim.messages[message].first, sim.messages[message].last + 1):
        if leads and seq > sim.own_stable[column]:
            copy = data_message(sim, column, seq, source, sim.sent_at[column, seq % length])
            post(sim, member, copy, now)
        elif sim.handlers > 0 and seq <= sim.received[member, column]:
            copy = data_message(sim, column, seq, source, now)
            sim.messages[copy].kind = KEPT
            sim.messages[copy].source = member
            post(sim, member, copy, now)


@kernel
def _take_request(sim: Sim, column_number: int, born: int, now: int) -> None:
    """A leader numbers a message for one of its senders, if there is room; otherwise it waits its turn."""
    column = sim.columns[column_number]
    if column.queued > 0 or column.sent - sim.own_stable[column_number] >= sim.buffer:
        column.queued += 1
        column.blocked += 1
        place = (column.sent + column.queued) % sim.sent_at.shape[1]
        sim.sent_at[column_number, place] = born
    else:
        multicast(sim, column_number, born, now)


@kernel
def beat(sim: Sim, column_number: int, now: int) -> None:
    """Tell everyone the last number sent, at doubling distances."""
    column = sim.columns[column_number]
    column.heartbeat_gap *= 2
    given_up = column.heartbeat_gap >> BEATS_MAX >= sim.heartbeat_ps
    column.heartbeat_at = NEVER if given_up else now + column.heartbeat_gap
    message = new_message(sim, HEARTBEAT, column.leader, GROUP, sim.header_bytes + sim.entry_bytes)
    sim.messages[message].column = column_number
    sim.messages[message].last = column.sent
    post(sim, column.leader, message, now)


@kernel
def release_declared(sim: Sim, member: int, now: int) -> None:
    """Let go of what a member has newly declared, and see whether everything is stable there by now.

    ``declared`` is what the member had declared before.
    """
    stable, declared = sim.stable[member], sim.declared[member]
    settled = True
    for j in range(stable.size):
        if stable[j] > declared[j]:
            release(sim, member, j, declared[j], stable[j], now)
            if stable[j] > sim.received[member, j]:
                hear_of(sim, member, j, stable[j], now)
        settled &= stable[j] == sim.columns[j].target
    if settled and not sim.members[member].settled:
        sim.members[member].settled = 1
        sim.counts.settled += 1


@kernel
def release(sim: Sim, member: int, column: int, old: int, new: int, now: int) -> None:
    """Let go of the messages of a column that a member has just learned to be stable."""
    hold(sim, member, old - new, now)
    if sim.tracing:
        size = sim.data_bytes
        note(sim, STABLE_EVENT, now, member, column, new, size)
        for seq in range(old + 1, new + 1):
            note(sim, RELEASE_EVENT, now, member, column, seq, size)
    if sim.columns[column].leader == member:
        _make_room(sim, column, old, new, now)


@kernel
def _make_room(sim: Sim, column_number: int, old: int, new: int, now: int) -> None:
    """The sender's own messages are stable: measure how long that took, and send what waited for room."""
    column = sim.columns[column_number]
    sim.own_stable[column_number] = new
    length = sim.sent_at.shape[1]
    for seq in range(old + 1, new + 1):
        k = sim.counts.tts_count
        if k < sim.tts.size:
            sim.tts[k] = now - sim.sent_at[column_number, seq % length]
        sim.counts.tts_count = k + 1
    if column.sent == new:
        column.heartbeat_at = NEVER
    while column.queued > 0 and column.sent - new < sim.buffer:
        column.queued -= 1
        multicast(sim, column_number, sim.sent_at[column_number, (column.sent + 1) % length], now)
    if sim.members[column.leader].waiting:
        sim.members[column.leader].send_at = now


@kernel
def next_deadline(sim: Sim, member: int) -> int:
    """Return when a member's data traffic next has something to do."""
    record = sim.members[member]
    due = min(record.send_at, record.nak_at, record.rider_at, record.protocol_at)
    if record.column >= 0 and sim.columns[record.column].leader == member:
        due = min(due, sim.columns[record.column].heartbeat_at)
    return int(due)


@kernel
def handle_deadlines(sim: Sim, member: int, now: int) -> None:
    """Do what a member's data traffic has due by now, sending apart."""
    record = sim.members[member]
    if record.column >= 0:
        column = sim.columns[record.column]
        if column.leader == member and column.heartbeat_at <= now:
            beat(sim, record.column, now)
    if record.nak_at <= now:
        ask_again(sim, member, now)
    if record.rider_at <= now:
        post_riders(sim, member, now)
