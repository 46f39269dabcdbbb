"""How long messages are under way, and why: what each packet has been served and has travelled so far.

A wire trace tells for each arrival how long its message waited in queues and how long it was served.  Of a
packet two times are kept: that of all servers that have worked on it (hosts that send and receive, the wire
of each link, routers), and that of propagation (of links, and of detours).  Both are known when it is given
to a server.  The time in queues is what remains of the time since its message was sent.

What is true while a packet is under way: ``served_ps`` and ``travelled_ps`` are the sums over the servers
that it was given to, up to its present one.  A copy begins with what the packet that it was made of has.
When its member handles it, it is in no server, so the remainder is the time that it waited.

The packets of a train are one record until they are first in their server (:mod:`.packets`); what serves one
of them is added when it is taken off.  What a packet waits for others of its own message counts as waiting.

All arrays have the length 1 in a run without a wire trace, and nothing reads or writes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import inlined
from stablecast.compiling.structs import Record

if TYPE_CHECKING:
    from stablecast.simulate.state import Sim

Ints = NDArray[np.int64]
NO_TIME = -1
PACKET_WAY_BYTES, MESSAGE_WAY_BYTES = 16, 24


class Arrival(Record):
    """Of the packet that a member handles now: how long it was served, and travelled, in picoseconds."""

    served: int
    travelled: int


@dataclass(kw_only=True, eq=False)
class Ways:
    """What a wire trace needs to know of members, of messages and of packets under way; times in ps."""

    steps: Annotated[Ints, "wired_members"]
    """How many steps each member has begun; the number of the present one."""
    transmissions: Annotated[Ints, "wired_members"]
    timer_set_at: Annotated[Ints, "wired_members"]
    """When each member's protocol set its timer to the time that it stands at."""
    left_at: Annotated[Ints, "wired_messages"]
    """When each message was sent, as which transmission of its sender, and when it was made, if it has waited
    for a ride since."""
    left_as: Annotated[Ints, "wired_messages"]
    made_at: Annotated[Ints, "wired_messages"]
    served_ps: Annotated[Ints, "wired_packets"]
    travelled_ps: Annotated[Ints, "wired_packets"]
    arrival: Arrival


def way_lengths(members: int, packets: int, messages: int, *, wire: bool) -> dict[str, int]:
    """Return the lengths of these arrays."""
    return {
        "wired_members": members if wire else 1,
        "wired_messages": messages if wire else 1,
        "wired_packets": packets if wire else 1,
    }


def grow_ways(sim: Sim) -> None:
    """Give these arrays the room that packets and messages have."""
    for name in ("served_ps", "travelled_ps"):
        setattr(sim, name, _longer(getattr(sim, name), sim.packets.size, 0))
    for name in ("left_at", "left_as", "made_at"):
        setattr(sim, name, _longer(getattr(sim, name), sim.messages.size, NO_TIME))


def _longer(array: Any, length: int, filler: int) -> Any:
    more = np.full(length - array.size, filler, array.dtype)
    return np.concatenate((array, more)) if more.size else array


@inlined
def set_out(sim: Sim, packet: int) -> None:
    """A packet of its sender is made."""
    sim.served_ps[packet] = 0
    sim.travelled_ps[packet] = 0


@inlined
def follow(sim: Sim, copy: int, packet: int) -> None:
    """A packet is copied, to go on by another way."""
    sim.served_ps[copy] = sim.served_ps[packet]
    sim.travelled_ps[copy] = sim.travelled_ps[packet]


@inlined
def serve(sim: Sim, packet: int, cost_ps: int) -> None:
    """A packet is given to a server that takes so long for it."""
    sim.served_ps[packet] += cost_ps


@inlined
def travel(sim: Sim, packet: int, delay_ps: int) -> None:
    """A packet will be under way for so long."""
    sim.travelled_ps[packet] += delay_ps


@inlined
def come(sim: Sim, packet: int) -> None:
    """A member handles a packet."""
    sim.arrival.served = sim.served_ps[packet]
    sim.arrival.travelled = sim.travelled_ps[packet]
