"""The moving part of a simulation: servers, packets, messages, and the heap of busy servers.

Every server (link, router, host) is a FIFO whose packets know when they are done, because a serial server's
completion times follow from its arrivals.  The heap holds one entry for each busy server, for its first
packet; simultaneous entries come out in the order of the servers' numbers, so a run is the same everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import inlined, kernel

if TYPE_CHECKING:
    from stablecast.simulate.struct import Sim

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
    ],
    align=True,
)
MESSAGE = np.dtype(
    [
        ("kind", np.int64),
        ("source", np.int64),  # the sending member
        ("dest", np.int64),  # a member, or -1 for all
        ("wire_bytes", np.int64),
        ("execution", np.int64),
        ("depth", np.int64),  # messages in the chain that led to it, itself included
        ("slot", np.int64),  # its array, -1 for none
        ("copies", np.int64),  # packets that carry it
        ("rider", np.int64),  # first message that travels inside it, -1 for none
        ("next", np.int64),  # the next rider, or the next free message
        ("column", np.int64),  # of data: the sender's column, and a range of numbers
        ("first", np.int64),
        ("last", np.int64),
        ("born", np.int64),  # of data: when it was handed over
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

# Entries of Queues.ctl.
HEAP, FREE_PACKET, FREE_PACKETS, FREE_MESSAGE, FREE_MESSAGES, FREE_SLOT, FREE_SLOTS, NOW = range(8)


class Queues(NamedTuple):
    """All packets under way."""

    servers: Any
    packets: Any
    messages: Any
    heap: Any
    slot_next: NDArray[np.int64]
    slot_uses: NDArray[np.int64]
    """For each slot, the messages under way that carry it."""
    ctl: NDArray[np.int64]


@kernel
def heap_push(sim: Sim, at: int, server: int) -> None:
    """Add a busy server to the heap.

    The heap is 4-ary.  Its first entry has number ``TOP``, so that the four children of an entry lie in one
    cache line; behind the last entry come entries of time ``NEVER``.
    """
    heap = sim.heap
    hole = TOP + sim.ctl[HEAP]
    sim.ctl[HEAP] += 1
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
    last = TOP + sim.ctl[HEAP] - 1
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
    last = TOP + sim.ctl[HEAP] - 1
    at, server = heap[last].at, heap[last].server
    heap[last].at = NEVER
    sim.ctl[HEAP] -= 1
    if sim.ctl[HEAP] > 0:
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
def new_packet(sim: Sim, message: int, job: int) -> int:
    """Make a packet that carries a message."""
    packet = sim.ctl[FREE_PACKET]
    sim.ctl[FREE_PACKET] = sim.packets[packet].next
    sim.ctl[FREE_PACKETS] -= 1
    sim.packets[packet].message = message
    sim.packets[packet].job = job
    sim.packets[packet].dest = sim.messages[message].dest
    sim.messages[message].copies += 1
    return int(packet)


@inlined
def free_packet(sim: Sim, packet: int) -> None:
    """Give a packet back, and its message when it was the last to carry it."""
    message = sim.packets[packet].message
    sim.packets[packet].next = sim.ctl[FREE_PACKET]
    sim.ctl[FREE_PACKET] = packet
    sim.ctl[FREE_PACKETS] += 1
    release_copy(sim, message)


@kernel
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
        sim.messages[message].next = sim.ctl[FREE_MESSAGE]
        sim.ctl[FREE_MESSAGE] = message
        sim.ctl[FREE_MESSAGES] += 1
        message = rider


@kernel
def release_slot(sim: Sim, slot: int) -> None:
    """Drop one use of an array; the last one gives its room back."""
    sim.slot_uses[slot] -= 1
    if sim.slot_uses[slot] == 0:
        sim.slot_next[slot] = sim.ctl[FREE_SLOT]
        sim.ctl[FREE_SLOT] = slot
        sim.ctl[FREE_SLOTS] += 1


@kernel
def new_message(sim: Sim, kind: int, source: int, dest: int, size: int) -> int:
    """Make a message without an array."""
    message = sim.ctl[FREE_MESSAGE]
    record = sim.messages[message]
    sim.ctl[FREE_MESSAGE] = record.next
    sim.ctl[FREE_MESSAGES] -= 1
    record.kind = kind
    record.source = source
    record.dest = dest
    record.wire_bytes = size
    record.execution = 0
    record.depth = 0
    record.slot = -1
    record.copies = 0
    record.rider = -1
    record.next = -1
    record.column = -1
    return int(message)


@kernel
def take_slot(sim: Sim) -> int:
    """Take room for an array."""
    slot = sim.ctl[FREE_SLOT]
    sim.ctl[FREE_SLOT] = sim.slot_next[slot]
    sim.ctl[FREE_SLOTS] -= 1
    return int(slot)


def make_queues(servers: int, timers: int, *, packets: int, messages: int, slots: int) -> Queues:
    """Allocate everything free and idle."""
    server_records = np.zeros(servers, SERVER).view(np.recarray)
    server_records.head = -1
    ctl = np.zeros(8, np.int64)
    ctl[FREE_PACKET] = ctl[FREE_MESSAGE] = ctl[FREE_SLOT] = -1
    q = Queues(
        servers=server_records,
        packets=np.zeros(0, PACKET).view(np.recarray),
        messages=np.zeros(0, MESSAGE).view(np.recarray),
        heap=_empty_heap(servers + 4 * timers + 8),
        slot_next=np.zeros(0, np.int64),
        slot_uses=np.zeros(0, np.int64),
        ctl=ctl,
    )
    return grow(q, packets=packets, messages=messages, slots=slots)


def grow(q: Queues, *, packets: int = 0, messages: int = 0, slots: int = 0, heap: int = 0) -> Queues:
    """Return the same queues with more room."""
    return q._replace(
        packets=_more_records(q.packets, packets, q.ctl, FREE_PACKET),
        messages=_more_records(q.messages, messages, q.ctl, FREE_MESSAGE),
        slot_next=_more_slots(q.slot_next, slots, q.ctl),
        slot_uses=np.concatenate((q.slot_uses, np.zeros(slots, np.int64))) if slots else q.slot_uses,
        heap=_more_heap(q.heap, heap),
    )


def _more_records(records: Any, more: int, ctl: NDArray[np.int64], head: int) -> Any:
    if more == 0:
        return records
    old = records.size
    grown = np.zeros(old + more, records.dtype).view(np.recarray)
    grown[:old] = records
    grown.next[old:-1] = np.arange(old + 1, old + more)
    grown.next[-1] = ctl[head]
    ctl[head] = old
    ctl[head + 1] += more
    return grown


def _more_slots(slot_next: NDArray[np.int64], more: int, ctl: NDArray[np.int64]) -> NDArray[np.int64]:
    if more == 0:
        return slot_next
    old = slot_next.size
    grown = np.concatenate((slot_next, np.arange(old + 1, old + more + 1, dtype=np.int64)))
    grown[-1] = ctl[FREE_SLOT]
    ctl[FREE_SLOT] = old
    ctl[FREE_SLOTS] += more
    return grown


def _empty_heap(entries: int) -> Any:
    """Allocate a heap whose entries begin at a multiple of a cache line."""
    raw = np.zeros((entries + TOP + 12) * ENTRY.itemsize, np.uint8)
    skip = -raw.ctypes.data % 64
    heap = raw[skip : skip + (entries + TOP + 8) * ENTRY.itemsize].view(ENTRY).view(np.recarray)
    heap.at = NEVER
    return heap


def _more_heap(heap: Any, more: int) -> Any:
    if more == 0:
        return heap
    grown = _empty_heap(heap.size + more)
    grown[: heap.size] = heap
    return grown
