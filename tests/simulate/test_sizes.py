"""Runs at sizes where an easy implementation would fail."""

from stablecast.simulate import Setup, simulate, topology


def test_twenty_thousand_members_need_no_eighty_kilobyte_arrays_each():
    setup = Setup(protocol="s_coordp", topology=topology("tree", degree=4, height=7, fill=4))
    assert setup.column_count == 21845
    assert setup.tracked_count * setup.topology.member_count <= 16_000_000
    result = simulate(setup)
    assert result.completed
    assert result.hops["total"] == 3 * 21844


def test_wire_sizes_follow_the_senders_not_the_tracked():
    shape = topology("tree", degree=3, height=3)
    few, many = (simulate(Setup(protocol="coordp", topology=shape, tracked=k)) for k in (1, 40))
    assert few.simulated_us == many.simulated_us
    assert few.hop_bytes == many.hop_bytes


def test_a_router_only_node_forwards_and_is_no_member():
    shape = topology("balanced", nodes=60, members=20, seed=9)
    for protocol in ("coordp", "fulldist", "train", "s_coordp", "s_train"):
        result = simulate(Setup(protocol=protocol, topology=shape))
        assert result.members == 20
        assert result.completed
