"""Messages cut into packets, and host models: times worked out apart, what is counted, and what is left."""

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablecast.errors import InvalidInput
from stablecast.overlays import Tree
from stablecast.simulate import Costs, Setup, Traffic, Trigger, costs, simulate, topology
from stablecast.simulate.compiled import loop_for
from stablecast.simulate.prepare import place_members, prepare
from stablecast.simulate.room import burst_of, give_room
from stablecast.simulate.topologies import Topology

HEADER = 32


def path(links):
    """Two members, at the ends of a path of so many links."""
    tree = Tree(np.arange(-1, links, dtype=np.int64))
    return Topology("path", "path", tree, np.array([0, links], dtype=np.int64))


def whole_ps(microseconds):
    return int(Fraction(microseconds) * 10**6 + Fraction(1, 2))


def through(stages, sizes):
    """Let packets of some sizes go through stages, all there at 0; return when the last comes out.

    A stage is whether it works on one packet at a time, and its time for a packet in microseconds.
    """
    under_way = [(0, size) for size in sizes]
    for one_at_a_time, time_us in stages:
        free, out = 0, []
        for at, size in under_way:
            begins = max(at, free) if one_at_a_time else at
            out.append((begins + whole_ps(time_us(size)), size))
            free = out[-1][0]
        under_way = sorted(out, key=lambda packet: packet[0])
    return max(at for at, _ in under_way)


def cut(size, mtu):
    count = max(1, ceil(Fraction(size - HEADER, mtu - HEADER)))
    rest = size - HEADER - (count - 1) * (mtu - HEADER)
    return [mtu] * (count - 1) + [HEADER + rest]


@settings(max_examples=150)
@given(
    links=st.integers(1, 6),
    entry_bytes=st.integers(0, 400),
    room=st.integers(1, 150),
    megabits=st.sampled_from((1, 2, 8, 50, 100)),
    propagation_us=st.sampled_from((0, 7)),
    router=st.sampled_from(("delay", "serial")),
    router_us=st.sampled_from((0, 3, 40, 1000)),
    host=st.sampled_from(("serial", "per-link", "delay")),
    send_us=st.sampled_from((0, 5, 338)),
    send_us_per_byte=st.sampled_from((0.0, 0.125, 2.0)),
)
def test_a_message_of_k_packets_on_a_path_of_h_links_takes_the_time_of_fifo_servers_in_a_row(
    links,
    entry_bytes,
    room,
    megabits,
    propagation_us,
    router,
    router_us,
    host,
    send_us,
    send_us_per_byte,
):
    """``train`` on two members is four messages of two entries, each sent when the one before is there."""
    model = Costs(
        bandwidth_bps=megabits * 1e6,
        propagation_us=float(propagation_us),
        router=router,
        router_us=float(router_us),
        host_model=host,
        send_us=float(send_us),
        send_us_per_byte=send_us_per_byte,
        receive_factor=1.5,
        entry_bytes=entry_bytes,
        mtu_bytes=HEADER + room,
    )
    result = simulate(Setup(protocol="train", topology=path(links), costs=model))

    def send(size):
        return send_us + Fraction(send_us_per_byte) * size

    link = [(True, lambda size: Fraction(8 * size, megabits)), (False, lambda size: propagation_us)]
    node = (router == "serial", lambda size: router_us)
    middle = [*link, *([node, *link] * (links - 1))]
    queues = host != "delay"
    stages = [(queues, send), *middle, (queues, lambda size: send(size) * Fraction(3, 2))]
    sizes = cut(HEADER + 2 * entry_bytes, HEADER + room)
    assert round(result.simulated_us * 1e6) == 4 * through(stages, sizes)
    assert result.hops["total"] == 4 * links
    assert result.packet_hops == 4 * links * len(sizes)
    assert result.hop_bytes == 4 * links * sum(sizes)
    assert result.sent_bytes == 4 * (HEADER + 2 * entry_bytes)


@pytest.mark.parametrize("links", [1, 3, 5])
@pytest.mark.parametrize("count", [1, 2, 9])
def test_equal_packets_take_the_time_of_one_and_that_of_the_slowest_server_for_each_other(links, count):
    model = costs("lan1997", mtu_bytes=HEADER + 100, entry_bytes=50 * count, router="serial", router_us=450.0)
    result = simulate(Setup(protocol="train", topology=path(links), costs=model))
    size = HEADER + 100
    send, wire = 338 + 47 * size / 400, 8 * size / 100
    alone = 2.1 * send + links * wire + (links - 1) * 450
    slowest = max(1.1 * send, 450 if links > 1 else 0)
    assert result.simulated_us == pytest.approx(4 * (alone + (count - 1) * slowest), abs=1e-6)


def test_a_message_that_fits_one_packet_takes_the_time_of_a_whole_one():
    shape = topology("tree", degree=3, height=2)
    whole = simulate(Setup(protocol="s_coordp", topology=shape))
    cut_late = simulate(Setup(protocol="s_coordp", topology=shape, costs=costs("lan1997", mtu_bytes=1500)))
    assert cut_late.simulated_us == whole.simulated_us
    assert cut_late.packet_hops == whole.packet_hops == whole.hops["total"]


def test_children_do_not_wait_for_each_other_at_a_processor_for_each_link():
    """Three ACKs come at the same time: one after the other, or all at once."""
    size = HEADER + 4 * 4
    receive = 1.1 * (338 + 47 * size / 400)
    took = {
        host: simulate(
            Setup(
                protocol="coordp",
                topology=topology("tree", degree=3, height=1),
                costs=costs("lan1997", host_model=host),
            )
        ).simulated_us
        for host in ("serial", "per-link", "delay")
    }
    assert took["serial"] - took["per-link"] == pytest.approx(2 * receive, abs=1e-6)
    assert took["delay"] == took["per-link"]


def test_acks_that_come_by_one_link_wait_for_each_other_unless_the_host_is_a_pure_delay():
    chain = topology("tree", degree=1, height=4)
    took = [
        simulate(
            Setup(protocol="coordp", topology=chain, costs=costs("lan1997", send_us=5000.0, host_model=host))
        )
        for host in ("serial", "per-link", "delay")
    ]
    assert took[0].simulated_us >= took[1].simulated_us > took[2].simulated_us
    assert took[2].host_queue_max == 0


def test_a_lost_packet_loses_the_message_however_many_others_come():
    """With two packets a message gets through about as often as two messages of one packet do."""
    shape = topology("tree", degree=1, height=1)
    arrived = {}
    for count in (1, 4):
        model = Costs(link_loss=0.2, mtu_bytes=HEADER + 25, entry_bytes=0, send_us=10.0)
        traffic = Traffic(messages=400, data_bytes=25 * count, rate_per_s=100.0, buffer=500, heartbeat_ms=1e6)
        setup = Setup(
            protocol="coordp",
            topology=shape,
            costs=model,
            traffic=traffic,
            trigger=Trigger(kind="periodic", period_ms=1e7),
            senders=1,
            until_ms=20_000.0,
        )
        rows = []
        simulate(setup, trace=lambda block, rows=rows: rows.extend(block[:, 0].tolist()))
        arrived[count] = rows.count(1) / 400
    assert arrived[1] > 0.9
    assert arrived[4] < arrived[1]


LEFT_BEHIND = [
    ("coordp", {}, {}),
    ("fulldist", {"executions": 3}, {}),
    ("s_coordp", {"executions": 2}, {"cast": "unicast"}),
    ("s_train", {"executions": 2}, {}),
]


@pytest.mark.parametrize("host", ["serial", "per-link", "delay"])
@pytest.mark.parametrize(("protocol", "trigger", "rest"), LEFT_BEHIND)
@pytest.mark.parametrize(
    ("faults", "traffic"),
    [
        ({"link_loss": 0.1}, {}),
        ({"queue_limit": 1, "bandwidth_bps": 5e4}, {}),
        (
            {"link_loss": 0.1, "duplicate": 0.4, "reorder": 0.4},
            {"messages": 3, "data_bytes": 60, "buffer": 2},
        ),
    ],
)
def test_nothing_is_left_behind_by_messages_that_lost_packets(protocol, trigger, rest, host, faults, traffic):
    setup = place_members(
        Setup(
            protocol=protocol,
            topology=topology("tree", degree=3, height=2),
            costs=costs("lan1997", mtu_bytes=40, host_model=host, **faults),
            traffic=Traffic(**traffic),
            trigger=Trigger(**({"executions": 2} | trigger)),
            senders=4,
            loss_until_ms=150.0,
            **rest,
        )
    )
    sim, rows = prepare(setup, setup.found_protocol)
    burst, loop = burst_of(setup, setup.found_protocol, sim), loop_for(setup.found_protocol)
    give_room(sim, rows, burst, 1 << 30)
    while loop.run(sim, rows, *burst, 0, 100_000) == loop.MORE_ROOM:
        give_room(sim, rows, burst, 1 << 30)
    assert sim.ctl.heap == 0
    assert sim.counts.lost + sim.counts.dropped > 0
    assert (sim.servers.head == -1).all()
    assert sim.ctl.free_packets == sim.packets.size
    assert sim.ctl.free_messages == sim.messages.size
    assert sim.ctl.free_tallies == sim.tally_next.size > 0
    assert sim.ctl.free_slots == sim.slot_next.size - setup.found_protocol.most_arrays(setup.sizes)


@pytest.mark.parametrize("mtu_bytes", [1, 31, 32])
def test_packets_without_room_behind_the_header_are_refused(mtu_bytes):
    line = f"mtu_bytes {mtu_bytes} leaves no room behind a header of 32 bytes .accepted: 0 .* above 32"
    with pytest.raises(InvalidInput, match=line) as refused:
        costs("lan1997", mtu_bytes=mtu_bytes)
    assert "\n" not in str(refused.value)
    assert costs("lan1997", mtu_bytes=mtu_bytes, header_bytes=0).mtu_bytes == mtu_bytes


@pytest.mark.parametrize("change", [{"mtu_bytes": -1}, {"host_model": "parallel"}])
def test_packets_and_hosts_that_are_none_are_refused(change):
    with pytest.raises(InvalidInput, match="accepted"):
        costs("lan1997", **change)


@pytest.mark.parametrize("host", ["per-link", "delay"])
def test_a_router_shares_the_processor_only_of_a_host_that_has_one(host):
    with pytest.raises(
        InvalidInput, match=f"cannot share the processor of a {host} host.*accepted: host_model"
    ):
        costs("lan1997", router="serial", processor="shared", host_model=host)
    assert costs("lan1997", processor="shared", host_model=host).host_model == host
