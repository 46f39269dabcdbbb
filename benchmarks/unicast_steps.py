"""Unicast traffic on stablecast's engine: every member sends to given members at given times.

It has the form of a protocol, so the engine's own loop runs it: a member's place lists its destinations, its
timer sends those of one step, and receiving only counts.  In the place of an execution's number, a message
carries the time at which it was handed over.
"""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import kernel
from stablecast.overlays import Tree
from stablecast.protocols.contract import Member, Message, Outbox, Place, Protocol, send, set_timer
from stablecast.protocols.contract.kernels import no_init
from stablecast.simulate import Setup, costs, topology
from stablecast.simulate.compiled import loop_for
from stablecast.simulate.prepare import prepare
from stablecast.simulate.queues import grow
from stablecast.simulate.state import Sim

UNICAST = 0
FANOUT = 3
STEP_PS = 9 * 10**12
RECEIVED, LATENCY_SUM_PS, LAST_PS, SENT = 0, 1, 2, 3  # registers

init = no_init


@kernel
def start(me: Member, now: int, out: Outbox) -> None:
    """There are no executions."""


@kernel
def handle_timer(me: Member, now: int, out: Outbox) -> None:
    for _ in range(FANOUT):
        send(out, UNICAST, me.place[me.reg[SENT]], now)
        me.reg[SENT] += 1
    if me.reg[SENT] < me.place.size:
        set_timer(out, now + STEP_PS)


@kernel
def receive(me: Member, message: Message, now: int, out: Outbox) -> None:
    me.reg[RECEIVED] += 1
    me.reg[LATENCY_SUM_PS] += now - message.execution
    me.reg[LAST_PS] = now


def place(tree: Tree) -> Place:
    """Nowhere to send to; `run_unicast` fills in the destinations."""
    return Place(np.zeros(0, np.int32), np.zeros(tree.size + 1, np.int64))


PROTOCOL = Protocol(
    name="unicast_steps",
    title="every member sends unicasts at given times",
    paper="none",
    kinds=("DATA",),
    start=start,
    receive=receive,
    handle_timer=handle_timer,
    place=place,
    module=__name__,
    timed=True,
)


@dataclass(frozen=True)
class UnicastRun:
    """As the reference's `UnicastResult`, and the number of events."""

    completion_ps: int
    hops: dict[str, int]
    events: int
    wall_s: float
    latency_sum_ps: int
    received: int


def run_unicast(dest: NDArray[np.int64], *, stagger_ps: int) -> UnicastRun:
    """Send to `dest[s, i]` from member i at `s * STEP_PS + i * stagger_ps`, on the gossip paper's network."""
    members = dest.shape[1]
    protocol = dataclasses.replace(PROTOCOL, place=lambda _: _places(dest))
    size_bytes = 236 + -(-members // 8)
    setup = Setup(
        protocol=protocol,
        topology=topology("balanced", nodes=members),
        costs=costs("wan1997", header_bytes=size_bytes),
        tracked=1,
    )
    sim = prepare(setup, protocol)
    sim.members.protocol_at = np.arange(members) * stagger_ps
    # Room for all messages at once, so that the loop need not come back for more.
    grow(sim, packets=dest.size, messages=dest.size)
    wall_s = _run_to_end(sim)
    reg = sim.reg
    return UnicastRun(
        completion_ps=int(reg[:, LAST_PS].max()),
        hops={kind: int(sim.hops[k]) for k, kind in enumerate(PROTOCOL.kinds)},
        events=int(sim.counts.events),
        wall_s=wall_s,
        latency_sum_ps=int(reg[:, LATENCY_SUM_PS].sum()),
        received=int(reg[:, RECEIVED].sum()),
    )


def _places(dest: NDArray[np.int64]) -> Place:
    """List each member's destinations, step after step."""
    steps, members, fanout = dest.shape
    flat = np.ascontiguousarray(dest.transpose(1, 0, 2), dtype=np.int32).reshape(-1)
    return Place(flat, np.arange(members + 1, dtype=np.int64) * steps * fanout)


def _run_to_end(sim: Sim) -> float:
    """Run the engine's loop to the end; return its time."""
    loop = loop_for(PROTOCOL)
    room = (64, 8, 2, 0)
    loop.run(sim, *room, 0)
    began = time.perf_counter()
    if loop.run(sim, *room, 1 << 60) != loop.DONE:
        raise RuntimeError("the unicasts did not come to an end")
    return time.perf_counter() - began
