"""Messages cut into packets: how large each one is, and when all of a message has come to a member.

A message of u bytes, a header of h among them, is cut into ⌈(u − h) / (mtu − h)⌉ packets, one at least.  Each
has a header of its own, and all but the last are as large as the mtu allows.

*Trains.*  The packets of a message wait together at the processor that sends them, and a copy that comes by
a detour has all its packets at one time.  One record of the queues then stands for the packets from some
number on (its ``part`` is negative).  When it is first in its server, :func:`split_first` takes one packet
off it and leaves the rest in front.  No event makes more records for a message of many packets than for one
of a single packet, so the room that an event needs does not depend on the sizes of messages.

*Tallies.*  A member handles a message when it has received all packets of it.  Packets are counted, not told
apart: none comes twice unless all of the message does, so that every further whole number of messages means
that the member has got the message once more.  The count for a message to a single member is in the message.
One to several members has a tally: a row with a count for each member, and behind them, where there are
detours, a second count of what has come to the member's node.

What is true before and after each event: a message's ``copies`` is the number of records that carry it, and a
tally is taken if and only if its message is under way and was cut.  A packet that is lost leaves a count that
never becomes whole, and the count goes with the message, when the last of its packets has come out of the
network.  Hence nothing has to remember which receivers miss a packet, and nothing is left behind.
"""

from __future__ import annotations

from stablecast.compiling import inlined, kernel
from stablecast.simulate.network import PURE_DELAY, receive_cost_ps, send_cost_ps
from stablecast.simulate.queues import (
    GROUP,
    RECEIVE,
    SEND,
    heap_pop,
    heap_replace_top,
    new_packet,
    take_first,
)
from stablecast.simulate.state import Sim
from stablecast.simulate.way_times import follow, serve, set_out

ALL = -1
"""In place of the number of a part: all parts of the message."""


def tally_width(members: int, detours: int) -> int:
    """Return how many counts a tally has."""
    return members + detours


@kernel
def cut(sim: Sim, message: int) -> None:
    """Count the packets of a message that is about to be sent, and begin to count what comes of them."""
    record = sim.messages[message]
    room = sim.mtu_bytes - sim.header_bytes
    record.parts = max(1, (record.wire_bytes - sim.header_bytes + room - 1) // room)
    record.came = 0
    record.got = 0
    if record.parts > 1 and record.dest == GROUP:
        tally = sim.ctl.free_tally
        sim.ctl.free_tally = sim.tally_next[tally]
        sim.ctl.free_tallies -= 1
        for place in range(sim.tallies.shape[1]):
            sim.tallies[tally, place] = 0
        record.tally = tally


@inlined
def part_bytes(sim: Sim, message: int, part: int) -> int:
    """Return the bytes of a part of a message, its header included."""
    record = sim.messages[message]
    if part + 1 < record.parts:
        return int(sim.mtu_bytes)
    return int(record.wire_bytes - (record.parts - 1) * (sim.mtu_bytes - sim.header_bytes))


@inlined
def packet_bytes(sim: Sim, packet: int) -> int:
    """Return the bytes of a packet on the wire."""
    message = sim.packets[packet].message
    if sim.mtu_bytes == 0:
        return int(sim.messages[message].wire_bytes)
    return part_bytes(sim, message, sim.packets[packet].part)


@kernel
def bare_bytes(sim: Sim, packet: int) -> int:
    """Return the bytes that a packet would have without what its message carries of the protocol.

    These bytes are the last of the message; a packet that holds nothing else would not be there: -1.
    """
    message, part = sim.packets[packet].message, sim.packets[packet].part
    return bare_part_bytes(sim, message, max(part, 0))


@kernel
def bare_part_bytes(sim: Sim, message: int, part: int) -> int:
    """Return the same for a part of a message."""
    size = sim.messages[message].wire_bytes - sim.messages[message].carried
    if sim.mtu_bytes == 0:
        return int(size)
    room = sim.mtu_bytes - sim.header_bytes
    parts = max(1, (size - sim.header_bytes + room - 1) // room)
    if part + 1 < parts:
        return int(sim.mtu_bytes)
    return int(size - (parts - 1) * room) if part + 1 == parts else -1


@kernel
def has_come(sim: Sim, member: int, packet: int) -> bool:
    """Count a packet that has come to a member's node; tell whether all of its message has."""
    record = sim.messages[sim.packets[packet].message]
    if record.parts == 1:
        return True
    if record.tally < 0:
        record.came += 1
        return bool(record.came % record.parts == 0)
    place = sim.member_count + member
    sim.tallies[record.tally, place] += 1
    return bool(sim.tallies[record.tally, place] % record.parts == 0)


@kernel
def is_whole(sim: Sim, member: int, packet: int) -> bool:
    """Count a packet that a member has received; tell whether it has all of the message now."""
    record = sim.messages[sim.packets[packet].message]
    if record.parts == 1:
        return True
    if record.tally < 0:
        record.got += 1
        return bool(record.got % record.parts == 0)
    sim.tallies[record.tally, member] += 1
    return bool(sim.tallies[record.tally, member] % record.parts == 0)


@inlined
def new_train(sim: Sim, message: int, job: int) -> int:
    """Make a record for all packets of a message."""
    part = ALL if sim.mtu_bytes > 0 and sim.messages[message].parts > 1 else 0
    packet = new_packet(sim, message, job, part)
    if sim.wire:
        set_out(sim, packet)
    return packet


@inlined
def new_copy(sim: Sim, packet: int, job: int) -> int:
    """Make a packet like another one, which goes on by another way."""
    copy = new_packet(sim, sim.packets[packet].message, job, sim.packets[packet].part)
    if sim.wire:
        follow(sim, copy, packet)
    return copy


@kernel
def job_cost_ps(sim: Sim, job: int, size: int) -> int:
    """Return what a packet of so many bytes costs a processor; what is not a job costs nothing."""
    if job == SEND:
        return send_cost_ps(sim, size)
    return receive_cost_ps(sim, size) if job == RECEIVE else 0


@kernel
def split_first(sim: Sim, server: int) -> int:
    """Take the first packet out of the server on top of the heap, off a train that it may be part of."""
    packet = sim.servers[server].head
    first = -1 - sim.packets[packet].part
    message, job = sim.packets[packet].message, sim.packets[packet].job
    delayed = sim.host_model == PURE_DELAY and job < 0
    # Where nothing queues, the last packet has a record of its own: it is shorter, so it is through earlier.
    last = sim.messages[message].parts - 1 - (1 if delayed else 0)
    if first >= 0 and first < last:
        sim.packets[packet].part = -2 - first
        if not delayed:
            sim.packets[packet].at += job_cost_ps(sim, job, part_bytes(sim, message, first + 1))
        heap_replace_top(sim, sim.packets[packet].at, server)
        single = new_packet(sim, message, job, first)
        sim.packets[single].dest = sim.packets[packet].dest
        if sim.wire:
            follow(sim, single, packet)
            serve(sim, single, job_cost_ps(sim, job, part_bytes(sim, message, first)))
        return int(single)
    if first >= 0:
        sim.packets[packet].part = first
        if sim.wire:
            serve(sim, packet, job_cost_ps(sim, job, part_bytes(sim, message, first)))
    if delayed:
        sim.servers[server].head = sim.packets[packet].next
        heap_pop(sim)
        return int(packet)
    return int(take_first(sim, server))
