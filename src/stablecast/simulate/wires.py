"""How packets move: onto links, through routers, into hosts, from the sender to the last hop."""

from __future__ import annotations

from stablecast.compiling import apart, inlined, kernel
from stablecast.simulate.chance import DETOUR_STREAM, LINK_STREAM, uniform
from stablecast.simulate.hosts import (
    give_to_host,
    own_processor,
    put_at_host,
    receive_at_host,
    sending_processor,
)
from stablecast.simulate.network import DELAY, PER_LINK, SHARED, next_link
from stablecast.simulate.packets import bare_bytes, cut, has_come, new_copy, new_train, packet_bytes
from stablecast.simulate.queues import GROUP, LOST, RECEIVE, SEND, free_packet, put
from stablecast.simulate.source_trees import has_branches, is_branch
from stablecast.simulate.state import Sim
from stablecast.simulate.trace_rows import note_transmit
from stablecast.simulate.way_times import follow, serve, travel


@inlined
def make_room(sim: Sim, link: int, now: int) -> int:
    """Count the packets that a link still holds: those not wholly on the wire by now."""
    server = sim.servers[link]
    out_by = now + sim.links[link].propagation_ps
    while server.queued > 0 and sim.packets[server.leaving].at <= out_by:
        server.queued -= 1
        server.leaving = sim.packets[server.leaving].next
    return int(server.queued)


@inlined
def put_on_link(sim: Sim, link: int, packet: int, now: int) -> None:
    """Queue a packet on a link: one after the other onto the wire, then the propagation delay."""
    queued = make_room(sim, link, now)
    if sim.queue_limit > 0 and queued >= sim.queue_limit:
        sim.counts.dropped += 1
        free_packet(sim, packet)
        return
    message = sim.messages[sim.packets[packet].message]
    size = packet_bytes(sim, packet)
    server = sim.servers[link]
    takes = int(size * sim.links[link].ps_per_byte + 0.5)
    leaves = max(now, server.free_at) + takes
    server.free_at = leaves
    if sim.wire:
        serve(sim, packet, takes)
        travel(sim, packet, sim.links[link].propagation_ps)
    if queued == 0:
        server.leaving = packet
    server.queued = queued + 1
    sim.counts.queue_max = max(sim.counts.queue_max, queued + 1)
    sim.counts.queue_sum += queued + 1
    sim.counts.queue_records += 1
    sim.counts.on_links += 1
    if sim.packets[packet].part > 0:
        sim.further_hops[message.kind] += 1
    else:
        sim.hops[message.kind] += 1
    sim.hop_bytes[message.kind] += size
    if message.carried > 0:
        sim.counts.carried_hop_bytes += size - max(bare_bytes(sim, packet), 0)
    job = link
    if sim.links[link].loss > 0.0:
        server.taken += 1
        draw = uniform(sim.seed, LINK_STREAM + link, server.taken)
        if now < sim.loss_until_ps and draw < sim.links[link].loss:
            job = LOST
            sim.counts.lost += 1
    sim.packets[packet].job = job
    put(sim, link, packet, leaves + sim.links[link].propagation_ps)


@inlined
def leave_link(sim: Sim, link: int, packet: int) -> None:
    """Forget a packet that has come out of a link, before it can be given back."""
    sim.counts.on_links -= 1
    server = sim.servers[link]
    if server.queued > 0 and server.leaving == packet:
        server.queued -= 1
        server.leaving = sim.packets[packet].next


@kernel
def take_detour(sim: Sim, member: int, packet: int, now: int) -> bool:
    """Let a message that has come be there a second time, later, or come later; tell whether it does that.

    A message that was cut has come with the last of its packets; the others are at the host already.
    """
    if sim.mtu_bytes > 0 and not has_come(sim, member, packet):
        return False
    record = sim.members[member]
    record.arrivals += 1
    line = sim.link_count + sim.node_count + sim.host_count + member
    if uniform(sim.seed, DETOUR_STREAM + member, 2 * record.arrivals) < sim.duplicate:
        copy = new_train(sim, sim.packets[packet].message, sim.packets[packet].job)
        if sim.wire:
            follow(sim, copy, packet)
            travel(sim, copy, sim.detour_ps)
        put(sim, line, copy, now + sim.detour_ps)
    if uniform(sim.seed, DETOUR_STREAM + member, 2 * record.arrivals + 1) < sim.reorder:
        if sim.wire:
            travel(sim, packet, sim.detour_ps)
        put(sim, line, packet, now + sim.detour_ps)
        return True
    return False


@kernel
def post(sim: Sim, member: int, message: int, now: int) -> None:
    """Hand a message to its sender's host: as one, or as one for each member."""
    if sim.mtu_bytes > 0:
        cut(sim, message)
    if sim.wire:
        note_transmit(sim, member, message, now)
    if sim.one_by_one and sim.messages[message].dest == GROUP:
        own = new_train(sim, message, RECEIVE)  # made first: a full link may drop all others at once
        for j in range(sim.member_count):
            if j != member:
                packet = new_train(sim, message, SEND)
                sim.packets[packet].dest = j
                hand_over(sim, member, packet, message, now)
        receive_at_host(sim, member, own, now)
    else:
        hand_over(sim, member, new_train(sim, message, SEND), message, now)


@kernel
def hand_over(sim: Sim, member: int, packet: int, message: int, now: int) -> None:
    """Hand a message to its sender's host; what a member sends to itself is not counted."""
    if sim.packets[packet].dest != member:
        sim.sent[sim.messages[message].kind] += 1
        sim.sent_bytes[sim.messages[message].kind] += sim.messages[message].wire_bytes
    if sim.host_model == PER_LINK:
        hand_over_by_links(sim, member, packet, message, now)
    elif sim.hosts_free and sim.packets[packet].part >= 0:
        launch(sim, member, packet, now)
    else:
        give_to_host(sim, own_processor(sim, member), packet, SEND, now)


@kernel
def hand_over_by_links(sim: Sim, member: int, packet: int, message: int, now: int) -> None:
    """Hand a message to the processors of the links that it leaves by, and of the member to itself."""
    node = sim.member_node[member]
    dest = sim.packets[packet].dest
    if dest == GROUP and sim.by_source:
        for way in range(sim.way_start[node], sim.way_start[node + 1]):
            if is_branch(sim, member, way):
                copy = new_train(sim, message, SEND)
                give_to_host(sim, sending_processor(sim, sim.way_link[way]), copy, SEND, now)
    elif dest == GROUP:
        for k in range(sim.nodes[node].cast_start, sim.nodes[node].cast_stop):
            copy = new_train(sim, message, SEND)
            give_to_host(sim, sending_processor(sim, sim.cast_link[k]), copy, SEND, now)
    elif dest != member:
        link = next_link(sim, node, sim.member_node[dest])
        give_to_host(sim, sending_processor(sim, link), packet, SEND, now)
        return
    give_to_host(sim, own_processor(sim, member), packet, SEND, now)


@kernel
def leave_by(sim: Sim, link: int, packet: int, now: int) -> None:
    """Let a packet leave that the processor of a link has sent."""
    put_on_link(sim, link, packet, now)


@kernel
def launch(sim: Sim, member: int, packet: int, now: int) -> None:
    """Let a packet leave its sender's node: towards one member, or along the tree and back to itself.

    Where each link has a processor, this is the one of the member to itself.
    """
    node = sim.member_node[member]
    dest = sim.packets[packet].dest
    if dest == member:
        receive_at_host(sim, member, packet, now)
    elif dest != GROUP:
        link = next_link(sim, node, sim.member_node[dest])
        put_on_link(sim, link, packet, now)
    elif sim.host_model == PER_LINK:
        receive_at_host(sim, member, packet, now)
    elif sim.by_source:
        branch(sim, node, packet, now)
        receive_at_host(sim, member, packet, now)
    else:
        for k in range(sim.nodes[node].cast_start, sim.nodes[node].cast_stop):
            copy = new_copy(sim, packet, SEND)
            put_on_link(sim, sim.cast_link[k], copy, now)
        receive_at_host(sim, member, packet, now)


@apart
def branch(sim: Sim, node: int, packet: int, now: int) -> None:
    """Put copies of a packet on the links that lead down the tree of its source."""
    message = sim.packets[packet].message
    source = sim.messages[message].source
    for way in range(sim.way_start[node], sim.way_start[node + 1]):
        if is_branch(sim, source, way):
            copy = new_copy(sim, packet, SEND)
            put_on_link(sim, sim.way_link[way], copy, now)


@inlined
def goes_on(sim: Sim, node: int, message: int) -> bool:
    """Tell whether a node that got a multicast by a link has to forward it."""
    if sim.by_source:
        return has_branches(sim, sim.messages[message].source, node)
    return bool(sim.nodes[node].cast_stop - sim.nodes[node].cast_start > 1)


@inlined
def route(sim: Sim, node: int, packet: int, now: int) -> None:
    """Give a packet that came by a link to the node's router."""
    if sim.wire:
        serve(sim, packet, sim.router_ps)
    if sim.router_ps == 0:
        forward(sim, node, packet, now)
    elif sim.router_model == DELAY:
        sim.servers[sim.link_count + node].queued += 1
        put(sim, sim.link_count + node, packet, now + sim.router_ps)
    elif sim.router_model == SHARED and sim.nodes[node].member >= 0:
        server = sim.link_count + sim.node_count + sim.nodes[node].member
        put_at_host(sim, server, packet, sim.router_ps, now)
    else:
        put_at_host(sim, sim.link_count + node, packet, sim.router_ps, now)


@inlined
def forward(sim: Sim, node: int, packet: int, now: int) -> None:
    """Put a packet on its next link, or copies on all links of the multicast tree but the one it came by."""
    dest = sim.packets[packet].dest
    if dest != GROUP:
        link = next_link(sim, node, sim.member_node[dest])
        put_on_link(sim, link, packet, now)
        return
    if sim.by_source:
        branch(sim, node, packet, now)
        free_packet(sim, packet)
        return
    back = sim.packets[packet].job ^ 1
    for k in range(sim.nodes[node].cast_start, sim.nodes[node].cast_stop):
        if sim.cast_link[k] != back:
            copy = new_copy(sim, packet, SEND)
            put_on_link(sim, sim.cast_link[k], copy, now)
    free_packet(sim, packet)
