"""Room for what is under way: how much of it an event can take, and how much memory a run may use for it.

Before each event the loop compares what is free with the most that any event can take (:class:`Burst`), and
returns to Python if less is free.  Python then doubles what is nearly used up, so that queues that grow to n
packets are copied log n times.

Queues need not be bounded.  Where members send faster than the network carries, for instance because they
retransmit long before an answer can come, they grow for as long as the run lasts.  A run is therefore refused
room beyond half of the memory that was available when it started.  The other half is for the copy that is
alive while an array is replaced by a larger one, and for what else the machine does.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stablecast.compiling.views import Rows
from stablecast.errors import InvalidInput
from stablecast.protocols.contract import Protocol
from stablecast.simulate.costs import PS_PER_US
from stablecast.simulate.queues import grow
from stablecast.simulate.setup import Setup
from stablecast.simulate.state import RIDERS_MAX, Plan, Sim
from stablecast.simulate.way_times import MESSAGE_WAY_BYTES, PACKET_WAY_BYTES, grow_ways

CASTS_MAX = 4
"""Messages to all that one kernel call sends at most."""
HEAP_SPARE = 16
NO_LIMIT = 1 << 62
ALLOWED_BYTES_MIN = 256 << 20
"""What a run may use however little memory is available."""


class Burst(NamedTuple):
    """The most that one event can take."""

    packets: int
    messages: int
    slots: int
    tallies: int


def burst_of(setup: Setup, protocol: Protocol, sim: Sim) -> Burst:
    """Return the most packets, messages, arrays and tallies that one event can take."""
    arrays = protocol.most_arrays(setup.sizes)
    messages, data = most_messages(setup, sim), most_data(setup, sim)
    branches = np.diff(sim.way_start) if sim.by_source else sim.nodes.cast_stop - sim.nodes.cast_start
    degree = int(branches.max())
    ridden = most_ridden(sim)
    # Of one call's messages a few go to all, and the others to one member each.
    casts = min(messages, 2 * (ridden + 1) * CASTS_MAX + data + 2)
    to_all = sim.member_count if sim.one_by_one else degree
    packets = casts * (to_all + 2) + 3 * messages
    slots = 2 * (ridden + 1) * arrays + data + 2
    if sim.changed_only:
        slots += messages  # then each message has an array of its own
    # A message that is cut has two records at most where one that is whole has one, see packets.py.
    return Burst(2 * packets, messages, slots, casts) if sim.mtu_bytes else Burst(packets, messages, slots, 0)


def most_ridden(plan: Plan) -> int:
    """Return how many messages may wait at a member for a ride."""
    return RIDERS_MAX if plan.piggyback_ps > 0 else 0


def most_data(setup: Setup, plan: Plan) -> int:
    """Return the most messages of the data traffic that one event makes."""
    if plan.messages_each == 0:
        return 0
    return 40 + setup.column_count + (plan.buffer if plan.group_senders else 0)


def most_messages(setup: Setup, plan: Plan) -> int:
    """Return the most messages that one event makes."""
    sends = setup.found_protocol.most_sends(setup.sizes)
    return 2 * (most_ridden(plan) + 1) * sends + most_data(setup, plan) + 2


def give_room(sim: Sim, rows: Rows, burst: Burst, bytes_max: int) -> None:
    """Double what is nearly used up; raise :class:`InvalidInput` if that takes more memory than allowed."""
    ctl = sim.ctl
    packets = max(sim.packets.size, burst.packets) if ctl.free_packets < burst.packets else 0
    messages = max(sim.messages.size, burst.messages) if ctl.free_messages < burst.messages else 0
    slots = max(sim.slot_next.size, burst.slots) if ctl.free_slots < burst.slots else 0
    tallies = max(sim.tally_next.size, burst.tallies) if ctl.free_tallies < burst.tallies else 0
    free_entries = sim.heap.size - ctl.heap
    heap = max(sim.heap.size, burst.packets) if free_entries < burst.packets + HEAP_SPARE else 0
    slot_bytes = 2 * sim.slot_next.itemsize + sim.arrays.shape[1] * sim.arrays.itemsize
    tally_bytes = sim.tally_next.itemsize + sim.tallies.shape[1] * sim.tallies.itemsize
    more = slots * slot_bytes + tallies * tally_bytes + heap * sim.heap.itemsize
    more += packets * sim.packets.itemsize + messages * sim.messages.itemsize
    if sim.wire:
        more += packets * PACKET_WAY_BYTES + messages * MESSAGE_WAY_BYTES
    needed = _used_bytes(sim) + more
    if more > 0 and needed > bytes_max:
        raise InvalidInput(_refusal(sim, needed, bytes_max))
    try:
        grow(sim, packets=packets, messages=messages, slots=slots, tallies=tallies, heap=heap)
        if sim.wire:
            grow_ways(sim)
        _grow_arrays(sim, rows, slots)
    except MemoryError:
        raise InvalidInput(_refusal(sim, needed, bytes_max)) from None


def _grow_arrays(sim: Sim, rows: Rows, slots: int) -> None:
    """Give each of so many more slots its row."""
    if slots:
        old = sim.arrays
        sim.arrays = np.zeros((old.shape[0] + slots, old.shape[1]), old.dtype)
        sim.arrays[: old.shape[0]] = old
        rows.outbox._replace(arrays=sim.arrays).share(rows)


def _used_bytes(sim: Sim) -> int:
    slots = (sim.slot_next, sim.slot_uses, sim.arrays)
    ways = (sim.served_ps, sim.travelled_ps, sim.left_at, sim.left_as, sim.made_at)
    arrays = (sim.packets, sim.messages, sim.heap, *slots, sim.tallies, sim.tally_next, *ways)
    return sum(array.nbytes for array in arrays)


def _refusal(sim: Sim, bytes_needed: int, bytes_max: int) -> str:
    packets = sim.packets.size - int(sim.ctl.free_packets)
    messages = sim.messages.size - int(sim.ctl.free_messages)
    now_us = int(sim.ctl.now) / PS_PER_US
    return (
        f"{messages:,} messages in {packets:,} packets are under way after {now_us:,.0f} µs;"
        f" room for more takes {_mebibytes(bytes_needed)}, and {_mebibytes(bytes_max)} are allowed"
        " (take a longer resend time or period, a lower rate, a queue limit, or fewer members)"
    )


def _mebibytes(count: int) -> str:
    return f"{count / (1 << 20):,.0f} MiB"


def allowed_bytes() -> int:
    """Return how much memory a run that starts now may use for what is under way."""
    return max(_available_bytes() // 2, ALLOWED_BYTES_MIN)


def resident_bytes() -> int:
    """Return the memory that this process takes now, or 0 where that is not told."""
    pages = next(iter(_lines("/proc/self/statm")), "0 0").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _available_bytes() -> int:
    """Return the memory that can be had without swapping, or all that there is where that is not told."""
    for line in _lines("/proc/meminfo"):
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return min(int(value.split()[0]) * 1024, _container_bytes())
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _container_bytes() -> int:
    """Return the limit of the container that this process runs in, if there is one."""
    limits = [int(line) for line in _lines("/sys/fs/cgroup/memory.max") if line.isdigit()]
    return min(limits, default=NO_LIMIT)


def _lines(file: str) -> list[str]:
    try:
        return Path(file).read_text(encoding="ascii").splitlines()
    except OSError:
        return []
