"""unicast_steps: every member sends to given members at given times.

It has the form of a protocol, so the engine's own loop runs it: a member's place lists its destinations, its
timer sends those of one step, and receiving only counts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling.views import Rows
from stablecast.protocols.contract import (
    Kernels,
    Member,
    Number,
    Outbox,
    Placement,
    Places,
    Protocol,
    Round,
    Started,
    Time,
    few,
    kernel,
    send,
    set_timer,
)
from stablecast.simulate import Setup, costs, topology
from stablecast.simulate.compiled import loop_for
from stablecast.simulate.prepare import prepare
from stablecast.simulate.queues import grow
from stablecast.simulate.state import Sim

FANOUT = 3
STEP_PS = 9 * 10**12


class State(Member):
    destinations: Places
    """Whom to send to, step after step."""
    sent: Number
    arrived: Number
    latency_sum: Time
    last_at: Time


class DATA(NamedTuple):
    handed_over_at: Round


@kernel
def timer(me: State, now: int, out: Outbox) -> None:
    for _ in range(FANOUT):
        send(out, me.destinations[me.sent], DATA(now))
        me.sent += 1
    if me.sent < me.destinations.size:
        set_timer(out, now + STEP_PS)


@kernel
def on_data(me: State, source: int, message: DATA, now: int, out: Outbox) -> None:
    me.arrived += 1
    me.latency_sum += now - message.handed_over_at
    me.last_at = now


PROTOCOL = Protocol(
    about=__doc__,
    paper="none",
    state=State,
    kernels=Kernels(receive={DATA: on_data}, timer=timer, sends=few),
    runs=Started(),
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
    protocol = PROTOCOL.replace(places=lambda _: _places(dest))
    size_bytes = 236 + -(-members // 8)
    setup = Setup(
        protocol=protocol,
        topology=topology("balanced", nodes=members),
        costs=costs("wan1997", header_bytes=size_bytes),
        tracked=1,
    )
    sim, rows = prepare(setup, protocol)
    sim.members.protocol_at = np.arange(members) * stagger_ps
    # Room for all messages at once, so that the loop need not come back for more.
    grow(sim, packets=dest.size, messages=dest.size)
    wall_s = _run_to_end(sim, rows)
    return UnicastRun(
        completion_ps=int(rows.column("last_at").max()),
        hops={kind: int(sim.hops[k]) for k, kind in enumerate(PROTOCOL.kinds)},
        events=int(sim.counts.events),
        wall_s=wall_s,
        latency_sum_ps=int(rows.column("latency_sum").sum()),
        received=int(rows.column("arrived").sum()),
    )


def _places(dest: NDArray[np.int64]) -> Placement:
    """List each member's destinations, step after step."""
    steps, members, fanout = dest.shape
    flat = np.ascontiguousarray(dest.transpose(1, 0, 2), dtype=np.int32).reshape(-1)
    return {"destinations": (flat, np.arange(members + 1, dtype=np.int64) * steps * fanout)}


def _run_to_end(sim: Sim, rows: Rows) -> float:
    """Run the engine's loop to the end; return its time."""
    loop = loop_for(PROTOCOL)
    room = (64, 8, 2, 0, 0)
    loop.run(sim, rows, *room, 0)
    began = time.perf_counter()
    if loop.run(sim, rows, *room, 1 << 60) != loop.DONE:
        raise RuntimeError("the unicasts did not come to an end")
    return time.perf_counter() - began
