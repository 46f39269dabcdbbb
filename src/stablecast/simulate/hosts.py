"""Hosts: the processors that send and receive packets, by three models.

- *One processor* (``serial``): all that a member sends and receives is one queue of jobs.
- *Per link* (``per-link``): each link has a processor at its origin that sends and one at its end that
  receives, so that jobs of different links do not wait for each other.  A message to all is a job of each
  link that it leaves by.  What a member sends to itself is sent and received by the member's own processor.
- *Pure delay* (``delay``): each packet takes its time, and none waits for another.

What is true before and after each event: a serial processor is a server like any other.  The host of a pure
delay is one whose packets are in the order of their times, then in that of their coming, and it has an entry
in the heap for each of its records, because one that comes later may be through earlier.  Hosts that take no
time are of the first model, whatever was asked for: nothing can wait there.

What can go wrong: to find its place in a pure delay, a packet that overtakes others passes those that it does
not overtake.  Where a host has many packets of different sizes at a time, this is slow.
"""

from __future__ import annotations

from stablecast.compiling import inlined, kernel
from stablecast.simulate.network import PER_LINK, PURE_DELAY
from stablecast.simulate.packets import (
    bare_bytes,
    bare_part_bytes,
    job_cost_ps,
    packet_bytes,
    part_bytes,
)
from stablecast.simulate.queues import RECEIVE, heap_push, new_packet, put
from stablecast.simulate.state import Sim
from stablecast.simulate.way_times import follow, serve


@inlined
def own_processor(sim: Sim, member: int) -> int:
    """Return the server that is a member's processor, of several the one for what it sends to itself."""
    return int(sim.link_count + sim.node_count + member)


@inlined
def sending_processor(sim: Sim, link: int) -> int:
    """Return the server that sends what leaves by a link."""
    return int(sim.link_count + sim.node_count + sim.member_count + link)


@inlined
def receiving_processor(sim: Sim, link: int) -> int:
    """Return the server that receives what comes by a link."""
    return int(sim.link_count + sim.node_count + sim.member_count + sim.link_count + link)


@kernel
def member_at(sim: Sim, processor: int) -> int:
    """Return the member that a processor of a link belongs to; the first one sends by link 0."""
    receives = processor >= sim.link_count
    # Links come in pairs, one for each direction, so the origin of a link is the end of its other direction.
    link = processor - sim.link_count if receives else processor ^ 1
    return int(sim.nodes[sim.links[link].to].member)


@inlined
def put_at_host(sim: Sim, server: int, packet: int, cost_ps: int, now: int) -> None:
    """Queue a job on a serial processor."""
    host = sim.servers[server]
    host.free_at = max(now, host.free_at) + cost_ps
    host.queued += 1
    sim.counts.host_queue_max = max(sim.counts.host_queue_max, host.queued)
    put(sim, server, packet, host.free_at)


@inlined
def give_to_host(sim: Sim, server: int, packet: int, job: int, now: int) -> None:
    """Let a processor send or receive a packet, or all packets of a train."""
    sim.packets[packet].job = job
    if sim.packets[packet].part < 0:
        note_train(sim, packet, job)
        if sim.host_model == PURE_DELAY:
            delay_train_at_host(sim, server, packet, now)
        else:
            put_train_at_host(sim, server, packet, now)
        return
    cost_ps = job_cost_ps(sim, job, packet_bytes(sim, packet))
    if sim.wire:
        serve(sim, packet, cost_ps)
    message = sim.messages[sim.packets[packet].message]
    sim.host_ps[message.kind] += cost_ps
    if message.carried > 0:
        note_carried(sim, job, cost_ps, bare_bytes(sim, packet))
    if sim.host_model == PURE_DELAY:
        put_by_time(sim, server, packet, now + cost_ps)
    else:
        put_at_host(sim, server, packet, cost_ps, now)


@kernel
def note_carried(sim: Sim, job: int, cost_ps: int, bare: int) -> None:
    """Measure what the protocol's bytes in a packet of data take a host."""
    sim.counts.carried_host_ps += cost_ps - (job_cost_ps(sim, job, bare) if bare >= 0 else 0)


@kernel
def note_train(sim: Sim, packet: int, job: int) -> None:
    """Measure what the packets of a train take a host."""
    message = sim.packets[packet].message
    record = sim.messages[message]
    for part in range(record.parts):
        cost_ps = job_cost_ps(sim, job, part_bytes(sim, message, part))
        sim.host_ps[record.kind] += cost_ps
        if record.carried > 0:
            note_carried(sim, job, cost_ps, bare_part_bytes(sim, message, part))


@kernel
def put_train_at_host(sim: Sim, server: int, packet: int, now: int) -> None:
    """Queue the packets of a train on a serial processor, as one job each; the first is through first."""
    message, job = sim.packets[packet].message, sim.packets[packet].job
    parts = int(sim.messages[message].parts)  # of 32 bits, in which uncompiled times would overflow
    full_ps = job_cost_ps(sim, job, part_bytes(sim, message, 0))
    last_ps = job_cost_ps(sim, job, part_bytes(sim, message, parts - 1))
    host = sim.servers[server]
    begins = max(now, host.free_at)
    host.free_at = begins + (parts - 1) * full_ps + last_ps
    host.queued += parts
    sim.counts.host_queue_max = max(sim.counts.host_queue_max, host.queued)
    put(sim, server, packet, begins + full_ps)


@kernel
def delay_train_at_host(sim: Sim, server: int, packet: int, now: int) -> None:
    """Let the packets of a train be through after their times, whatever else is at the host."""
    message, job = sim.packets[packet].message, sim.packets[packet].job
    last = new_packet(sim, message, job, sim.messages[message].parts - 1)
    sim.packets[last].dest = sim.packets[packet].dest
    last_ps = job_cost_ps(sim, job, packet_bytes(sim, last))
    if sim.wire:
        follow(sim, last, packet)
        serve(sim, last, last_ps)
    put_by_time(sim, server, packet, now + job_cost_ps(sim, job, part_bytes(sim, message, 0)))
    put_by_time(sim, server, last, now + last_ps)


@kernel
def put_by_time(sim: Sim, server: int, packet: int, at: int) -> None:
    """Put a packet behind those of a server that come out by then, with an entry of its own in the heap."""
    packets, record = sim.packets, sim.servers[server]
    packets[packet].at = at
    heap_push(sim, at, server)
    before = -1
    following = record.head
    if following >= 0 and packets[record.tail].at <= at:
        before = record.tail
        following = -1
    while following >= 0 and packets[following].at <= at:
        before = following
        following = packets[following].next
    packets[packet].next = following
    if before < 0:
        record.head = packet
    else:
        packets[before].next = packet
    if following < 0:
        record.tail = packet


@inlined
def receive_at_host(sim: Sim, member: int, packet: int, now: int) -> None:
    """Let a member's host receive a packet that came by a link, or from the member itself."""
    job = sim.packets[packet].job
    if sim.host_model == PER_LINK and job >= 0:
        give_to_host(sim, receiving_processor(sim, job), packet, RECEIVE, now)
    else:
        give_to_host(sim, own_processor(sim, member), packet, RECEIVE, now)
