"""Completion times worked out by hand, to the picosecond."""

import pytest

from stablecast.simulate import Setup, Trigger, costs, simulate, topology


def send(size):
    return 338 + 47 * size / 400


def receive(size):
    return 1.1 * send(size)


def wire(size):
    return size * 8 / 100


def test_train_on_two_members_alternates_send_wire_and_receive():
    size = 32 + 4 * 2
    result = simulate(Setup(protocol="train", topology=topology("tree", degree=1, height=1)))
    assert result.simulated_us == pytest.approx(4 * (send(size) + wire(size) + receive(size)), abs=1e-6)


def test_links_only_train_pays_wire_and_propagation_for_each_hop():
    model = costs("links-only", propagation_us=1)
    result = simulate(Setup(protocol="train", topology=topology("tree", degree=3, height=2), costs=model))
    assert result.simulated_us == pytest.approx(result.hops["total"] * (wire(32 + 4 * 13) + 1), abs=1e-6)


def test_coordp_on_a_star_waits_for_the_coordinators_processor():
    """The own START is received first, then three ACKs that arrive together, one after the other."""
    size = 32 + 4 * 4
    result = simulate(Setup(protocol="coordp", topology=topology("tree", degree=3, height=1)))
    acks_at = send(32) + wire(32) + receive(32) + send(size) + wire(size)
    gathered = acks_at + 3 * receive(size)
    assert result.simulated_us == pytest.approx(gathered + send(size) + wire(size) + receive(size), abs=1e-6)
    assert result.rtt_root_us == pytest.approx(
        gathered + send(size) + receive(size) - send(32) - receive(32), abs=1e-6
    )
    assert result.queue_max == 1
    assert result.host_queue_max == 3


def test_a_forwarding_node_delays_by_a_millisecond_and_end_nodes_do_not():
    size = 32 + 4 * 3
    free_hosts = costs("lan1997", send_us=0, send_us_per_byte=0)
    result = simulate(
        Setup(protocol="train", topology=topology("tree", degree=1, height=2), costs=free_hosts)
    )
    # The ring 1 → 2 → 3 → 1 crosses the middle node once a tour.
    assert result.hops["total"] == 8
    assert result.simulated_us == pytest.approx(8 * wire(size) + 2 * 1000, abs=1e-6)


def test_a_serial_router_shared_with_the_host_makes_both_wait():
    shape = topology("tree", degree=1, height=2)
    separate = simulate(Setup(protocol="fulldist", topology=shape, costs=costs("lan1997", router="serial")))
    shared = simulate(
        Setup(
            protocol="fulldist", topology=shape, costs=costs("lan1997", router="serial", processor="shared")
        )
    )
    assert shared.simulated_us > separate.simulated_us


def test_executions_follow_each_other_when_the_first_member_has_finished():
    shape = topology("tree", degree=2, height=2)
    once = simulate(Setup(protocol="s_coordp", topology=shape))
    thrice = simulate(Setup(protocol="s_coordp", topology=shape, trigger=Trigger(executions=3)))
    assert thrice.executions == 3
    assert 2 * once.simulated_us < thrice.simulated_us < 3 * once.simulated_us
