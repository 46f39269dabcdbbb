"""The moving part of a simulation: servers, packets, messages, and the heap of busy servers.

Every server (link, router, host) is a FIFO whose packets know when they are done, because a serial server's
completion times follow from its arrivals.  The heap holds one entry for each busy server, for its first
packet; simultaneous entries come out in the order of the servers' numbers, so a run is the same everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import inlined, kernel
from stablecast.compiling.structs import Record, allocate, zero_records

if TYPE_CHECKING:
    from stablecast.simulate.state import Sim

SERVER = np.dtype(
    [
        ("free_at", np.int64),  # when the packets taken so far are through
        ("head", np.int32),  # first packet, -1 when idle
        ("tail", np.int32),  # last packet
        ("queued", np.int32),  # packets not through yet, as of the last look
        ("leaving", np.int32),  # the first of those
        ("taken", np.int64),  # packets taken so far: the counter of its loss draws
    ],
    align=True,
)
PACKET = np.dtype(
    [
        ("at", np.int64),  # when it comes out of its server
        ("message", np.int32),
        ("next", np.int32),  # the one behind it in its server, or the next free one
        ("job", np.int32),  # the link that it came by, or one of the jobs below
        ("dest", np.int32),  # a member, or -1 for all
        ("part", np.int32),  # its number in a message cut into packets; -1 - k for all from number k on
    ],
    align=True,
)
MESSAGE = np.dtype(
    [
        ("kind", np.int64),
        ("wire_bytes", np.int64),
        ("carried", np.int64),  # of data: how many of these bytes are the protocol's
        ("copies", np.int64),  # packets that carry it
        ("source", np.int64),  # the sending member
        ("dest", np.int64),  # a member, or -1 for all
        ("depth", np.int64),  # messages in the chain that led to it, itself included
        # Of the protocol's messages, these five are its numbers, of which the first is the execution.
        ("execution", np.int64),
        ("first", np.int64),  # of data: a range of numbers
        ("last", np.int64),
        ("column", np.int64),  # of data: the sender's column
        ("born", np.int64),  # of data: when it was handed over
        ("slot", np.int64),  # its array, -1 for none
        ("rider", np.int64),  # first message that travels inside it, -1 for none
        ("next", np.int64),  # the next rider, or the next free message
        # Of a message that is cut into packets, see ``packets.py``.
        ("parts", np.int32),  # how many
        ("came", np.int32),  # of one to a single member: those that came to its node, and those it received
        ("got", np.int32),
        ("tally", np.int32),  # of one to several members: the row that has these, -1 for none
    ],
    align=True,
)
TOP = 3
NEVER = np.iinfo(np.int64).max
ENTRY = np.dtype([("at", np.int64), ("server", np.int64)], align=True)

RECEIVE, SEND, LOST = -1, -2, -3
"""Jobs of a packet: to be received, or sent, by a host; to be lost at the end of a link."""

GROUP = -1

ROW_ITSELF = -2
"""Slots from here down stand for members' received rows: -2 for member 0, -3 for member 1, and so on."""


class Control(Record):
    """Where the free lists and the heap stand, and what time it is."""

    heap: int
    """Entries in the heap."""
    free_packet: int
    """The first free packet, message and slot, -1 for none; and how many of each are free."""
    free_packets: int
    free_message: int
    free_messages: int
    free_slot: int
    free_slots: int
    free_tally: int
    """The first free tally, -1 for none, and how many are free."""
    free_tallies: int
    now: int
    """The time of the last event, in picoseconds."""


@dataclass(kw_only=True, eq=False)
class Queues:
    """All packets under way."""

    servers: Annotated[Any, SERVER, "servers"]
    packets: Annotated[Any, PACKET, "packets"]
    messages: Annotated[Any, MESSAGE, "messages"]
    heap: Annotated[Any, ENTRY, "entries"]
    slot_next: Annotated[NDArray[np.int64], "slots"]
    slot_uses: Annotated[NDArray[np.int64], "slots"]
    """For each slot, the messages under way that carry it."""
    tallies: Annotated[NDArray[np.int32], "tallies", "tallied"]
    """For messages cut into packets: what of them each member has received, and what came to its node."""
    tally_next: Annotated[NDArray[np.int64], "tallies"]
    ctl: Control


@inlined
def heap_push(sim: Sim, at: int, server: int) -> None:
    """Add a busy server to the heap.

    The heap is 4-ary.  Its first entry has number ``TOP``, so that the four children of an entry lie in one
    cache line; behind the last entry come entries of time ``NEVER``.
    """
    heap = sim.heap
    hole = TOP + sim.ctl.heap
    sim.ctl.heap += 1
    while hole > TOP:
        up = (hole >> 2) + 2
        if heap[up].at < at or (heap[up].at == at and heap[up].server < server):
            break
        heap[hole].at = heap[up].at
        heap[hole].server = heap[up].server
        hole = up
    heap[hole].at = at
    heap[hole].server = server


@inlined
def first_of_four(heap: Any, child: int) -> int:
    """Return which of four entries comes first, without branches: the order of events defies prediction."""
    a0, a1, a2, a3 = heap[child].at, heap[child + 1].at, heap[child + 2].at, heap[child + 3].at
    s0, s1, s2, s3 = (
        heap[child].server,
        heap[child + 1].server,
        heap[child + 2].server,
        heap[child + 3].server,
    )
    right = (a1 < a0) | ((a1 == a0) & (s1 < s0))
    left_at = a1 if right else a0
    left_server = s1 if right else s0
    left = child + 1 if right else child
    right = (a3 < a2) | ((a3 == a2) & (s3 < s2))
    right_at = a3 if right else a2
    right_server = s3 if right else s2
    other = child + 3 if right else child + 2
    right = (right_at < left_at) | ((right_at == left_at) & (right_server < left_server))
    return other if right else left


@inlined
def heap_replace_top(sim: Sim, at: int, server: int) -> None:
    """Put an entry in the place of the first and restore the order."""
    heap = sim.heap
    last = TOP + sim.ctl.heap - 1
    hole = TOP
    child = TOP + 1
    while child <= last:
        best = first_of_four(heap, child)
        best_at = heap[best].at
        best_server = heap[best].server
        if at < best_at or (at == best_at and server < best_server):
            break
        heap[hole].at = best_at
        heap[hole].server = best_server
        hole = best
        child = 4 * (hole - 2)
    heap[hole].at = at
    heap[hole].server = server


@inlined
def heap_pop(sim: Sim) -> None:
    """Remove the first entry."""
    heap = sim.heap
    last = TOP + sim.ctl.heap - 1
    at, server = heap[last].at, heap[last].server
    heap[last].at = NEVER
    sim.ctl.heap -= 1
    if sim.ctl.heap > 0:
        heap_replace_top(sim, at, server)


@inlined
def put(sim: Sim, server: int, packet: int, at: int) -> None:
    """Append a packet to a server; it will come out at ``at``."""
    sim.packets[packet].at = at
    sim.packets[packet].next = -1
    if sim.servers[server].head < 0:
        sim.servers[server].head = packet
        heap_push(sim, at, server)
    else:
        sim.packets[sim.servers[server].tail].next = packet
    sim.servers[server].tail = packet


@inlined
def take_first(sim: Sim, server: int) -> int:
    """Take out the packet of the server on top of the heap, and put the server's next one there."""
    packet = sim.servers[server].head
    following = sim.packets[packet].next
    sim.servers[server].head = following
    if following < 0:
        heap_pop(sim)
    else:
        heap_replace_top(sim, sim.packets[following].at, server)
    return int(packet)


@inlined
def new_packet(sim: Sim, message: int, job: int, part: int) -> int:
    """Make a packet that carries a message, or the part of it with a number."""
    packet = sim.ctl.free_packet
    sim.ctl.free_packet = sim.packets[packet].next
    sim.ctl.free_packets -= 1
    sim.packets[packet].message = message
    sim.packets[packet].job = job
    sim.packets[packet].dest = sim.messages[message].dest
    sim.packets[packet].part = part
    sim.messages[message].copies += 1
    return int(packet)


@inlined
def free_packet(sim: Sim, packet: int) -> None:
    """Give a packet back, and its message when it was the last to carry it."""
    message = sim.packets[packet].message
    sim.packets[packet].next = sim.ctl.free_packet
    sim.ctl.free_packet = packet
    sim.ctl.free_packets += 1
    release_copy(sim, message)


@inlined
def release_copy(sim: Sim, message: int) -> None:
    """Drop one reference to a message; the last one frees it and whatever rides inside it."""
    sim.messages[message].copies -= 1
    if sim.messages[message].copies > 0:
        return
    while message >= 0:
        rider = sim.messages[message].rider
        if rider < 0:
            rider = sim.messages[message].next
        if sim.messages[message].slot >= 0:
            release_slot(sim, sim.messages[message].slot)
        if sim.messages[message].tally >= 0:
            release_tally(sim, sim.messages[message].tally)
        sim.messages[message].next = sim.ctl.free_message
        sim.ctl.free_message = message
        sim.ctl.free_messages += 1
        message = rider


@kernel
def release_slot(sim: Sim, slot: int) -> None:
    """Drop one use of an array; the last one gives its room back."""
    sim.slot_uses[slot] -= 1
    if sim.slot_uses[slot] == 0:
        sim.slot_next[slot] = sim.ctl.free_slot
        sim.ctl.free_slot = slot
        sim.ctl.free_slots += 1


@kernel
def release_tally(sim: Sim, tally: int) -> None:
    """Give the room of a tally back."""
    sim.tally_next[tally] = sim.ctl.free_tally
    sim.ctl.free_tally = tally
    sim.ctl.free_tallies += 1


@kernel
def new_message(sim: Sim, kind: int, source: int, dest: int, size: int) -> int:
    """Make a message without an array."""
    message = sim.ctl.free_message
    record = sim.messages[message]
    sim.ctl.free_message = record.next
    sim.ctl.free_messages -= 1
    record.kind = kind
    record.source = source
    record.dest = dest
    record.wire_bytes = size
    record.carried = 0
    record.execution = 0
    record.depth = 0
    record.slot = -1
    record.copies = 0
    record.rider = -1
    record.next = -1
    record.column = -1
    record.tally = -1
    return int(message)


@kernel
def take_slot(sim: Sim) -> int:
    """Take room for an array."""
    slot = sim.ctl.free_slot
    sim.ctl.free_slot = sim.slot_next[slot]
    sim.ctl.free_slots -= 1
    return int(slot)


def make_queues(
    servers: int, timers: int, *, packets: int, messages: int, slots: int, tallied: int = 0
) -> Queues:
    """Allocate everything free and idle; a tally has ``tallied`` numbers, and there is none yet."""
    nothing = {"servers": servers, "packets": 0, "messages": 0, "slots": 0, "tallies": 0, "tallied": tallied}
    q = allocate(Queues, nothing, heap=_empty_heap(servers + 4 * timers + 8))
    q.servers.head = -1
    q.ctl.free_packet = q.ctl.free_message = q.ctl.free_slot = q.ctl.free_tally = -1
    grow(q, packets=packets, messages=messages, slots=slots)
    return q


def grow(
    q: Queues, *, packets: int = 0, messages: int = 0, slots: int = 0, tallies: int = 0, heap: int = 0
) -> None:
    """Give queues room for so many more packets, messages, slots, tallies and entries of the heap."""
    ctl = q.ctl
    if packets > 0:
        ctl.free_packet, q.packets = q.packets.size, _more_records(q.packets, packets, ctl.free_packet)
        ctl.free_packets += packets
    if messages > 0:
        ctl.free_message, q.messages = q.messages.size, _more_records(q.messages, messages, ctl.free_message)
        ctl.free_messages += messages
    if slots > 0:
        ctl.free_slot, q.slot_next = q.slot_next.size, _more_slots(q.slot_next, slots, ctl.free_slot)
        q.slot_uses = np.concatenate((q.slot_uses, np.zeros(slots, np.int64)))
        ctl.free_slots += slots
    if tallies > 0:
        ctl.free_tally, q.tally_next = q.tally_next.size, _more_slots(q.tally_next, tallies, ctl.free_tally)
        more = np.zeros((tallies, q.tallies.shape[1]), np.int32)
        q.tallies = np.concatenate((q.tallies, more))
        ctl.free_tallies += tallies
    if heap > 0:
        q.heap = _more_heap(q.heap, heap)


def _more_records(records: Any, more: int, first_free: int) -> Any:
    """Return the records with more behind them, which form a free list that goes on with the old one."""
    old = records.size
    grown = zero_records(old + more, records.dtype)
    grown[:old] = records
    grown.next[old:-1] = np.arange(old + 1, old + more)
    grown.next[-1] = first_free
    return grown


def _more_slots(slot_next: NDArray[np.int64], more: int, first_free: int) -> NDArray[np.int64]:
    old = slot_next.size
    grown = np.concatenate((slot_next, np.arange(old + 1, old + more + 1, dtype=np.int64)))
    grown[-1] = first_free
    return grown


def _empty_heap(entries: int) -> Any:
    """Allocate a heap whose entries begin at a multiple of a cache line."""
    raw = np.zeros((entries + TOP + 12) * ENTRY.itemsize, np.uint8)
    skip = -raw.ctypes.data % 64
    heap = raw[skip : skip + (entries + TOP + 8) * ENTRY.itemsize].view(ENTRY).view(np.recarray)
    heap.at = NEVER
    return heap


def _more_heap(heap: Any, more: int) -> Any:
    grown = _empty_heap(heap.size + more)
    grown[: heap.size] = heap
    return grown
