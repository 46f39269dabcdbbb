"""Whether a stability message waits for its sender's next data message, to travel inside it.

What riding saves
    A message that rides has no header of its own, and takes neither its sender nor its receivers the fixed
    part of the time that a message takes a host.
What riding costs
    Its other bytes go wherever the data goes: over every hop of the multicast, and through the processor of
    every member.  A message to all would have gone there anyway, so it always gains.  A message to one member
    goes to all others in vain.
The comparison
    Both sides follow from the costs and the network, and are the same whenever the message leaves.  With h
    the header's bytes, u the message's, H the hops of a multicast and d those to the destination, riding puts
    (u - h) · H bytes on hops instead of u · d (of a message to all, u · H).  With S and s the fixed part and
    the part for each byte of the time to send, r the factor to receive, riding takes hosts
    s · (u - h) · (1 + r · n) instead of (S + s · u) · (1 + r), or of (S + s · u) · (1 + r · n) to all.
    Where a multicast is one message to each, H is the sum of all ways and the sender pays n - 1 times.
What is not compared
    Packets: a message counts as one, whatever it is cut into.  On a graph H is that of the tree that all
    sources share.  And the wait.  A message that rides comes later, by up to ``piggyback_ms``.
"""

from __future__ import annotations

from stablecast.compiling import kernel
from stablecast.simulate.network import next_link
from stablecast.simulate.queues import GROUP
from stablecast.simulate.state import RIDERS_MAX, SAVING_BOTH, SAVING_BYTES, SAVING_NOTHING, SAVING_TIME, Sim


@kernel
def finds_ride(sim: Sim, member: int, message: int, now: int) -> bool:
    """Tell whether a message waits for data: that is due soon, has room for it, and saves what it has to."""
    record = sim.members[member]
    if record.send_at > now + sim.piggyback_ps or record.riders >= RIDERS_MAX:
        return False
    if sim.columns[record.column].leader != member:
        return False  # another member multicasts its data
    return bool(sim.rides_for == SAVING_NOTHING or saves(sim, member, message))


@kernel
def saves(sim: Sim, member: int, message: int) -> bool:
    """Tell whether a message that rides costs less than one on its own, by what the run looks at."""
    size, dest = sim.messages[message].wire_bytes, sim.messages[message].dest
    inside = size - sim.header_bytes
    bytes_alone = size * hops_to(sim, member, dest)
    bytes_inside = inside * hops_to(sim, member, GROUP)
    ps_alone = (sim.send_ps + sim.send_ps_per_byte * size) * host_uses(sim, dest)
    ps_inside = sim.send_ps_per_byte * inside * host_uses(sim, GROUP)
    fewer_bytes, less_time = bytes_inside < bytes_alone, ps_inside < ps_alone
    if sim.rides_for == SAVING_BYTES:
        return bool(fewer_bytes)
    if sim.rides_for == SAVING_TIME:
        return bool(less_time)
    no_loss = bytes_inside <= bytes_alone and ps_inside <= ps_alone
    return bool(sim.rides_for == SAVING_BOTH and no_loss and (fewer_bytes or less_time))


@kernel
def host_uses(sim: Sim, dest: int) -> float:
    """Return how many times the sending cost of a message hosts take, on both sides."""
    if dest != GROUP:
        return 1.0 + sim.receive_factor
    sends = sim.member_count - 1 if sim.one_by_one else 1
    return float(sends + sim.member_count * sim.receive_factor)


@kernel
def hops_to(sim: Sim, member: int, dest: int) -> int:
    """Return the hops of a message to a member, or to all."""
    if dest != GROUP:
        return way_length(sim, member, dest)
    if not sim.one_by_one:
        return int(sim.nodes[sim.node_count - 1].cast_stop // 2)
    hops = 0
    for j in range(sim.member_count):
        hops += way_length(sim, member, j)
    return hops


@kernel
def way_length(sim: Sim, member: int, dest: int) -> int:
    """Return the hops between two members."""
    node, target, hops = sim.member_node[member], sim.member_node[dest], 0
    while node != target:
        node = sim.links[next_link(sim, node, target)].to
        hops += 1
    return hops


@kernel
def overtakes(sim: Sim, member: int, kind: int) -> bool:
    """Tell whether a message of some type would overtake one that waits for a ride."""
    rider = sim.members[member].rider
    while rider >= 0:
        if sim.messages[rider].kind == kind:
            return True
        rider = sim.messages[rider].next
    return False
