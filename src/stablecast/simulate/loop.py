"""The event loop.  It is compiled once for each protocol, with the protocol's kernels in it.

The loop takes the first entry of the heap, moves the packet or rings the timer that it stands for, and goes
on until the heap is empty.  Time does not go back: an event puts entries into the heap for its own time or
later ones only, because every cost and delay is at least 0.  Entries of equal time come out in the order of
the servers' numbers.  A server has at most one entry for packets, and of equal entries for a timer only the
first counts, so the order of events is total and does not depend on the machine.

What is true before each event:

- Every busy server (link, router, host, detour) has exactly one entry in the heap, with the time of its first
  packet; an idle one has none.  Packets in a server are in the order in which they come out.
- A member's timer has an entry with the time ``timer_at``, unless that is -1 or ``NEVER``.  Older entries may
  still be there; :func:`ring` ignores an entry whose time is not ``timer_at``.
- The queues and the trace have room for the most that one event can take.  The loop looks once, before the
  event, and functions below it take room without looking.
- The invariants of the state hold (see :mod:`stablecast.simulate.state`).

The same is true after the event, except for the room.  The loop therefore can return between any two events
and be called again with the same structure.  It returns when Python has something to do: give more room, take
the trace, report progress or a round, or stop because of a violation.  The returns do not change the order of
events, so a run is the same however often it is interrupted.

What can go wrong:

- Queues may only grow.  The loop then asks for room again and again, until Python refuses.
- A protocol that sets its timer to a time that has passed makes time go back for one event.
- A run whose timers never end, for instance with members that wait for a crashed one, is bounded by
  ``until_ps`` alone.

The protocol's kernels are globals of this module that it does not define:
:mod:`stablecast.simulate.compiled` writes a copy of this file for each set of kernels, and puts them into
it before it is run, because numba keeps compiled code only for functions of a file.
"""

from __future__ import annotations

from typing import Any

from stablecast.compiling import apart, inlined, kernel
from stablecast.compiling.view_calls import outbox_of
from stablecast.compiling.views import Rows
from stablecast.protocols.contract.kernels import clear
from stablecast.protocols.layers.succession import REIGN
from stablecast.simulate.channels import note_change
from stablecast.simulate.checks import pair_of
from stablecast.simulate.drive import (
    after_kernel,
    give_received,
    is_cut_off,
    is_through,
    letter_for,
    look_at_load,
    note_asked,
    note_begun,
    note_handling,
    note_start,
    omit,
    see_whether_over,
    set_base,
)
from stablecast.simulate.faults import (
    CONNECT,
    CRASH,
    DROP,
    JOIN,
    LEAVE,
    LOSE_RECEIVER,
    MOVE,
    TELL,
    TELL_JOINED,
)
from stablecast.simulate.hosts import member_at, receive_at_host
from stablecast.simulate.network import PURE_DELAY
from stablecast.simulate.packets import is_whole, new_copy, split_first
from stablecast.simulate.queues import (
    GROUP,
    LOST,
    NEVER,
    RECEIVE,
    SEND,
    TOP,
    free_packet,
    heap_pop,
    heap_push,
    take_first,
)
from stablecast.simulate.starts import is_left_over, joins_at_start, set_timer, start_is_due, succeeds
from stablecast.simulate.state import DATA, PRESSURE, Sim
from stablecast.simulate.timer_rows import note_timers
from stablecast.simulate.trace_rows import begin_arrival, begin_step, note_arrive
from stablecast.simulate.traffic import hand_over, handle_data, handle_deadlines, post_data
from stablecast.simulate.wires import (
    forward,
    goes_on,
    launch,
    leave_by,
    leave_link,
    route,
    take_detour,
)

# The protocol's kernels, put in by ``compiled.py``.
init: Any
start: Any
receive: Any
timer: Any
gone: Any
joined: Any
channel: Any
leave: Any
attach: Any
take: Any
hear: Any

DONE, MORE_ROOM, TRACE_FULL, UNSAFE, PAUSED, GIVEN_UP, ROUND_OVER = range(7)
"""Why the loop returned."""


@apart
def begin(sim: Sim, rows: Rows, now: int) -> None:
    """Let the starter begin a new execution if one is due."""
    if start_is_due(sim, now):
        note_start(sim, now)
        call_start(sim, rows, now)


@kernel
def call_start(sim: Sim, rows: Rows, now: int) -> None:
    """Let the starter begin the newest execution."""
    i = sim.counts.starter
    clear(sim.out_marks)
    start(rows[i], now, outbox_of(rows, i))
    execution = sim.out_numbers[0, 0]
    if sim.successors:
        sim.members[i].ahead = sim.counts.started - execution % REIGN
    if joins_at_start(sim):
        note_begun(sim, i, execution, now)
    after_kernel(sim, i, 0, now)


@kernel
def take_over(sim: Sim, rows: Rows, i: int, now: int) -> None:
    """Make a member the starter; it begins anew what another one left behind."""
    sim.counts.starter = i
    if is_left_over(sim):
        sim.counts.planned -= not sim.counts.running
        note_asked(sim, now)
        call_start(sim, rows, now)


@apart
def handle_protocol(sim: Sim, rows: Rows, i: int, message: int, now: int) -> None:
    """Give a stability message to a member's kernel."""
    note_handling(sim, i, message, now)
    clear(sim.out_marks)
    receive(rows[i], letter_for(sim, rows, i, message), now, outbox_of(rows, i))
    after_kernel(sim, i, sim.messages[message].depth, now)
    if sim.faulty:
        come_back(sim, rows, now)
    if i == sim.counts.starter:
        begin(sim, rows, now)


@kernel
def tell(sim: Sim, rows: Rows, i: int, member: int, now: int) -> None:
    """Let a failure detector tell a member that another one is gone."""
    if sim.members[i].alive:
        clear(sim.out_marks)
        gone(rows[i], member, sim.members[member].column, now, outbox_of(rows, i))
        after_kernel(sim, i, 0, now)
        if sim.successors and member < i and succeeds(sim, i):
            take_over(sim, rows, i, now)
        if sim.counts.entered > 0:
            if i == sim.counts.starter:
                begin(sim, rows, now)
            if uses_timers(sim):
                set_timer(sim, i)


@kernel
def tell_joined(sim: Sim, rows: Rows, i: int, member: int, now: int) -> None:
    """Let a membership service tell a member that another one has joined."""
    if sim.members[i].alive:
        clear(sim.out_marks)
        joined(rows[i], member, now, outbox_of(rows, i))
        after_kernel(sim, i, 0, now)
        set_timer(sim, i)


@kernel
def come_in(sim: Sim, rows: Rows, i: int, now: int) -> None:
    """Let a member begin to take part."""
    clear(sim.out_marks)
    init(rows[i], now, outbox_of(rows, i))
    after_kernel(sim, i, 0, now)


@kernel
def come_back(sim: Sim, rows: Rows, now: int) -> None:
    """A member that has just found itself struck off wants to come in anew."""
    i = sim.counts.returning - 1
    if i >= 0:
        sim.counts.returning = 0
        arrive_outside(sim, rows, i, now)


@kernel
def arrive_outside(sim: Sim, rows: Rows, i: int, now: int) -> None:
    """A member wants to take part; its protocol sees to what it needs for that."""
    if sim.book >= 0:
        sim.members[i].joining_at = now
    sim.members[i].send_at = max(sim.members[i].send_at, now)
    if sim.messages_each == 0:
        give_received(sim, i)
    come_in(sim, rows, i, now)


@kernel
def change_connection(sim: Sim, rows: Rows, number: int, now: int) -> None:
    """Something happens to a connection, at one of its ends."""
    fault = sim.faults[number]
    i, what = fault.member, fault.what
    if sim.members[i].alive:
        at_sender = what in (DROP, LOSE_RECEIVER)
        column = sim.members[i].column if at_sender else sim.members[fault.side].column
        if what == DROP:
            sim.pairs[pair_of(sim, column, fault.side)].required = 0
        told = note_change(sim, what, i, column, now)
        clear(sim.out_marks)
        channel(rows[i], told, fault.side, column, fault.number, now, outbox_of(rows, i))
        after_kernel(sim, i, 0, now)
        set_timer(sim, i)


@apart
def strike(sim: Sim, rows: Rows, number: int, now: int) -> None:
    """A fault happens."""
    sim.ctl.now = now
    sim.counts.struck_faults += 1
    i = sim.faults[number].member
    if sim.wire:
        begin_step(sim, i)
    if sim.faults[number].what == JOIN:
        sim.members[i].alive = 1
        if sim.book < 0:
            set_base(sim, i)
        arrive_outside(sim, rows, i, now)
        set_timer(sim, i)
    elif sim.faults[number].what == TELL:
        tell(sim, rows, i, sim.faults[number].side, now)
    elif sim.faults[number].what == TELL_JOINED:
        tell_joined(sim, rows, i, sim.faults[number].side, now)
    elif sim.faults[number].what >= CONNECT:
        change_connection(sim, rows, number, now)
    elif sim.faults[number].what == MOVE:
        sim.members[i].side = sim.faults[number].side
    elif sim.members[i].alive:
        sim.members[i].left = 1
        sim.members[i].left_at = now
        if sim.faults[number].what == LEAVE and sim.leaves:
            clear(sim.out_marks)
            leave(rows[i], now, outbox_of(rows, i))
            after_kernel(sim, i, 0, now)
            set_timer(sim, i)
        else:
            sim.members[i].alive = 0
    see_whether_over(sim)


@kernel
def take_in(sim: Sim, rows: Rows, i: int, message: int, before: int, now: int) -> None:
    """Tell a member's protocol that a data message has made the prefix of its column grow."""
    column = sim.messages[message].column
    clear(sim.out_marks)
    take(rows[i], column, sim.columns[column].leader, before, now, outbox_of(rows, i))
    after_kernel(sim, i, 0, now)


@kernel
def send_attached(sim: Sim, rows: Rows, i: int, now: int) -> None:
    """Send the data message that a member has numbered, with what its protocol attaches to it."""
    column = sim.members[i].column
    if column >= 0 and sim.columns[column].attached < sim.columns[column].sent:
        number = sim.columns[column].sent
        sim.columns[column].attached = number
        size = attach(rows[i], column, number, now)
        post_data(sim, column, number, size, now)


@kernel
def handle(sim: Sim, rows: Rows, i: int, packet: int, now: int, timed: bool) -> None:
    """Let a member receive a packet; with the last of a message the member gets it, and what rides inside."""
    if sim.mtu_bytes > 0 and not is_whole(sim, i, packet):
        free_packet(sim, packet)
        return
    message = sim.packets[packet].message
    if sim.faulty and is_cut_off(sim, i, sim.messages[message].source):
        free_packet(sim, packet)
        return
    if sim.wire:
        begin_arrival(sim, i, packet)
    kind, column = sim.messages[message].kind, sim.messages[message].column
    before = sim.received[i, column] if kind == DATA else 0
    if kind < DATA:
        if sim.wire:
            note_arrive(sim, i, message, False, now)
        handle_protocol(sim, rows, i, message, now)
    elif handle_data(sim, i, message, now):
        if sim.hears and sim.messages[message].source != i:
            hear(rows[i], sim.messages[message].source, now)
        if sim.takes and kind == DATA and sim.received[i, column] > before:
            take_in(sim, rows, i, message, before, now)
        rider = sim.messages[message].rider
        while rider >= 0:
            if sim.messages[rider].dest == GROUP or sim.messages[rider].dest == i:
                if sim.wire:
                    note_arrive(sim, i, rider, True, now)
                handle_protocol(sim, rows, i, rider, now)
            rider = sim.messages[rider].next
        if i == sim.counts.starter and sim.trigger == PRESSURE:
            begin(sim, rows, now)
        if sim.handlers > 0 and is_through(sim, i):
            see_whether_over(sim)
    free_packet(sim, packet)
    if timed:
        set_timer(sim, i)


@inlined
def arrive(sim: Sim, rows: Rows, link: int, packet: int, now: int, timed: bool) -> None:
    """A packet comes out of a link: onwards first, then to the member on this node."""
    leave_link(sim, link, packet)
    if sim.packets[packet].job == LOST:
        free_packet(sim, packet)
        return
    node = sim.links[link].to
    message = sim.packets[packet].message
    dest = sim.packets[packet].dest
    local = packet
    if dest == GROUP:
        if goes_on(sim, node, message):
            if sim.nodes[node].member < 0:
                route(sim, node, packet, now)
                return
            local = new_copy(sim, packet, link)
            route(sim, node, packet, now)
    elif sim.member_node[dest] != node:
        route(sim, node, packet, now)
        return
    if sim.detours > 0 and take_detour(sim, sim.nodes[node].member, local, now):
        return
    deliver(sim, rows, sim.nodes[node].member, local, now, timed)


@inlined
def deliver(sim: Sim, rows: Rows, i: int, packet: int, now: int, timed: bool) -> None:
    """Give a packet to a member, by way of its processor if that takes time."""
    if sim.hosts_free:
        handle(sim, rows, i, packet, now, timed)
    else:
        receive_at_host(sim, i, packet, now)


@inlined
def finish_job(sim: Sim, rows: Rows, processor: int, packet: int, now: int, timed: bool) -> None:
    """A processor is through with a packet: that of a member, or behind those one of a link."""
    i = processor
    if processor >= sim.member_count:
        i = member_at(sim, processor - sim.member_count)
    job = sim.packets[packet].job
    if job == RECEIVE:
        handle(sim, rows, i, packet, now, timed)
    elif job == SEND:
        if sim.faulty and not sim.members[i].alive:
            free_packet(sim, packet)
        elif processor >= sim.member_count:
            leave_by(sim, processor - sim.member_count, packet, now)
        else:
            launch(sim, i, packet, now)
    else:
        forward(sim, sim.member_node[i], packet, now)


@kernel
def uses_timers(sim: Sim) -> bool:
    """Tell whether members' timers have to be looked after in this run."""
    return bool(sim.messages_each > 0 or sim.retry_ps > 0 or sim.trigger != 0 or sim.protocol_timers)


@apart
def ring(sim: Sim, rows: Rows, i: int, now: int) -> None:
    """A member's timer goes off; an entry that it has outgrown is ignored."""
    if sim.members[i].timer_at != now:
        return
    sim.ctl.now = now
    sim.members[i].timer_at = -1
    if not sim.members[i].alive:
        return
    if sim.wire:
        note_timers(sim, i, now)
    if sim.members[i].send_at <= now:
        hand_over(sim, i, now)
        if sim.attaches:
            send_attached(sim, rows, i, now)
    handle_deadlines(sim, i, now)
    if sim.members[i].protocol_at <= now:
        sim.members[i].protocol_at = NEVER
        clear(sim.out_marks)
        timer(rows[i], now, outbox_of(rows, i))
        if sim.omissions > 0:
            omit(sim, i, now)
        after_kernel(sim, i, 0, now)
    if i == sim.counts.starter:
        begin(sim, rows, now)
    set_timer(sim, i)


@kernel
def open_run(sim: Sim, rows: Rows) -> None:
    """Set faults to come, and let those happen that are there from the start."""
    counts = sim.counts
    counts.sample_at = sim.sample_ps
    for number in range(sim.fault_count):
        what = sim.faults[number].what
        if sim.faults[number].at == 0 and what in (CRASH, MOVE, TELL):
            strike(sim, rows, number, 0)
        else:
            server = sim.link_count + sim.node_count + sim.host_count + sim.detours
            server += sim.member_count + number
            heap_push(sim, sim.faults[number].at, server)
    if sim.autonomous:
        note_start(sim, 0)


@inlined
def is_trace_full(sim: Sim, trace_min: int) -> bool:
    """Tell whether the trace has to be taken before the next event."""
    return bool(trace_min > 0 and sim.trace.shape[0] - sim.counts.traced < trace_min)


@kernel
def enter(
    sim: Sim,
    rows: Rows,
    packets_min: int,
    messages_min: int,
    slots_min: int,
    tallies_min: int,
    trace_min: int,
) -> bool:
    """Open the run and let all members come in; tell whether there was room for all of them so far.

    When all are in, set every timer and start the first execution if it is due at once.
    """
    counts = sim.counts
    if counts.entered > sim.member_count:
        return True
    if counts.entered == 0:
        open_run(sim, rows)
        counts.entered = 1
    while sim.autonomous and counts.entered <= sim.member_count:
        if sim.ctl.free_packets < packets_min or sim.ctl.free_messages < messages_min:
            return False
        if sim.ctl.free_slots < slots_min or sim.heap.size - sim.ctl.heap < packets_min + TOP + 8:
            return False
        if sim.mtu_bytes > 0 and sim.ctl.free_tallies < tallies_min:
            return False
        if is_trace_full(sim, trace_min):
            return False
        i = counts.entered - 1
        if sim.members[i].alive:
            come_in(sim, rows, i, 0)
        counts.entered += 1
    counts.entered = sim.member_count + 1
    if uses_timers(sim):
        for i in range(sim.member_count):
            set_timer(sim, i)
    begin(sim, rows, 0)
    if uses_timers(sim):
        set_timer(sim, counts.starter)
    return True


@kernel
def run(
    sim: Sim,
    rows: Rows,
    packets_min: int,
    messages_min: int,
    slots_min: int,
    tallies_min: int,
    trace_min: int,
    events_max: int,
) -> int:
    """Handle events in order until none is left or Python is needed.

    The ``*_min`` are the most that one event can take; with less than that free the loop returns.  It is the
    only function that Python calls: what is called from Python is compiled with all that it calls.
    """
    counts = sim.counts
    if events_max == 0:
        return PAUSED
    if not enter(sim, rows, packets_min, messages_min, slots_min, tallies_min, trace_min):
        return TRACE_FULL if is_trace_full(sim, trace_min) else MORE_ROOM
    routers = sim.link_count
    hosts = routers + sim.node_count
    detours = hosts + sim.host_count
    timers = detours + sim.detours
    strikes = timers + sim.member_count
    timed = uses_timers(sim)
    cut = sim.mtu_bytes > 0
    split = cut or sim.host_model == PURE_DELAY
    stop_at = counts.events + events_max
    while sim.ctl.heap > 0:
        if counts.events >= stop_at:
            return PAUSED
        if sim.ctl.free_packets < packets_min or sim.ctl.free_messages < messages_min:
            return MORE_ROOM
        if sim.ctl.free_slots < slots_min or sim.heap.size - sim.ctl.heap < packets_min + TOP + 8:
            return MORE_ROOM
        if cut and sim.ctl.free_tallies < tallies_min:
            return MORE_ROOM
        if is_trace_full(sim, trace_min):
            return TRACE_FULL
        counts.events += 1
        now = sim.heap[TOP].at
        if now > sim.until_ps:
            return GIVEN_UP
        if now >= counts.sample_at:
            look_at_load(sim, now)
        server = sim.heap[TOP].server
        if server >= timers:
            heap_pop(sim)
            if server >= strikes:
                strike(sim, rows, server - strikes, now)
            else:
                ring(sim, rows, server - timers, now)
        else:
            sim.ctl.now = now
            packet = split_first(sim, server) if split and server >= hosts else take_first(sim, server)
            if server < routers:
                arrive(sim, rows, server, packet, now, timed)
            else:
                sim.servers[server].queued -= 1
                if server < hosts:
                    forward(sim, server - routers, packet, now)
                elif server >= detours:
                    deliver(sim, rows, server - detours, packet, now, timed)
                else:
                    finish_job(sim, rows, server - hosts, packet, now, timed)
        if counts.violation != 0:
            return UNSAFE
        if counts.stop != 0:
            return DONE
        if counts.round_ended != 0:
            counts.round_ended = 0
            if counts.watched:
                return ROUND_OVER
    return DONE
