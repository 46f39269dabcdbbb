"""Room for what is under way: how much of it an event can take.

Before each event the loop compares what is free with the most that any event can take (:class:`Burst`), and
returns to Python if less is free.  Python then doubles what is nearly used up, so that queues that grow to n
packets are copied log n times.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stablecast.protocols.contract import Protocol
from stablecast.simulate.queues import grow
from stablecast.simulate.setup import Setup
from stablecast.simulate.state import RIDERS_MAX, Sim

CASTS_MAX = 4
"""Messages to all that one kernel call sends at most."""
HEAP_SPARE = 16


class Burst(NamedTuple):
    """The most that one event can take."""

    packets: int
    messages: int
    slots: int


def burst_of(setup: Setup, protocol: Protocol, sim: Sim) -> Burst:
    """Return the most packets, messages and arrays that one event can take."""
    sends, arrays = protocol.most_sends(setup.sizes), protocol.most_arrays(setup.sizes)
    degree = int((sim.nodes.cast_stop - sim.nodes.cast_start).max())
    data = 0
    if sim.messages_each > 0:
        data = 40 + sim.columns.size + (sim.buffer if sim.group_senders else 0)
    ridden = RIDERS_MAX if sim.piggyback_ps > 0 else 0
    messages = 2 * (ridden + 1) * sends + data + 2
    # Of one call's messages a few go to all, and the others to one member each.
    casts = min(messages, 2 * (ridden + 1) * CASTS_MAX + data + 2)
    to_all = sim.member_count if sim.one_by_one else degree
    return Burst(casts * (to_all + 2) + 3 * messages, messages, 2 * (ridden + 1) * arrays + data + 2)


def give_room(sim: Sim, burst: Burst) -> None:
    """Double what is nearly used up."""
    ctl = sim.ctl
    packets = max(sim.packets.size, burst.packets) if ctl.free_packets < burst.packets else 0
    messages = max(sim.messages.size, burst.messages) if ctl.free_messages < burst.messages else 0
    slots = max(sim.slot_next.size, burst.slots) if ctl.free_slots < burst.slots else 0
    free_entries = sim.heap.size - ctl.heap
    heap = max(sim.heap.size, burst.packets) if free_entries < burst.packets + HEAP_SPARE else 0
    grow(sim, packets=packets, messages=messages, slots=slots, heap=heap)
    if slots:
        old = sim.arrays
        sim.arrays = np.zeros((old.shape[0] + slots, old.shape[1]), old.dtype)
        sim.arrays[: old.shape[0]] = old
