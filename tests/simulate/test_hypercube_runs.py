"""Runs of the hypercube paper's protocols: counts by hand, failures, resends, graphs, the load of links."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablecast.errors import InvalidInput
from stablecast.overlays.hypercube import disseminate, hypercube
from stablecast.simulate import simulate, topology
from stablecast.simulate.faults import failing_members
from stablecast.simulate.options import Options

FOUR = ("coord", "fulldist", "s_coord", "cubefulldist")
GRAPH = {"topology": "random-graph", "edge_probability": 0.1}


def run(**options):
    return simulate(Options(**options).setup())


def star(protocol, members, **options):
    """All paths between members take the same time, so that all keep step."""
    network = {"topology": "balanced", "nodes": members + 1, "degree": members, "members": members}
    wires = {"costs": "links-only", "bandwidth_bps": 1e15, "propagation_us": 100.0, "senders": 1}
    return run(protocol=protocol, **network, **wires, **options)


@pytest.mark.parametrize("members", [2, 3, 7, 8, 14, 33, 64, 100])
def test_messages_of_a_round_are_those_of_the_iterations(members):
    """In step, a node sends to all neighbours once an iteration and once more when it has heard of all."""
    cube = hypercube(members)
    expected = int((cube.degree * (disseminate(cube) + 1)).sum())
    # A seed in which the centre of the star holds no member.
    free = (
        seed
        for seed in range(5000)
        if topology("balanced", nodes=members + 1, degree=members, members=members, seed=seed).member_nodes[0]
    )
    seed = next(free)
    result = star("cubefulldist", members, seed=seed)
    assert result.messages_sent == expected
    assert result.hops["total"] == 2 * expected


def test_the_three_others_send_the_papers_numbers_of_messages():
    n = 40
    assert run(protocol="coord", members=n, **GRAPH).messages_sent == 3 * (n - 1)
    assert run(protocol="s_coord", members=n, **GRAPH).messages_sent == 3 * (n - 1)
    assert run(protocol="fulldist", members=n, **GRAPH).messages_sent == n * (n - 1)


@pytest.mark.parametrize(
    ("name", "like", "options"),
    [
        ("coord", "coordp", {"placement": "random", "cast": "unicast"}),
        ("s_coord", "s_coordp", {"placement": "random", "tree_degree": "log", "cast": "relay"}),
    ],
)
def test_the_papers_names_are_other_defaults_of_the_same_protocol(name, like, options):
    one = run(protocol=name, members=50, seed=2, **GRAPH)
    other = run(protocol=like, members=50, seed=2, **GRAPH, **options)
    assert one.rtt_last_us == other.rtt_last_us
    assert one.hops == other.hops
    assert one.processed.tolist() == other.processed.tolist()


def test_no_member_of_s_coord_handles_more_than_the_tree_gives_it():
    result = run(protocol="s_coord", members=300, topology="random-graph")
    degree = 9  # log2 of 300, rounded up
    # Received: START, INFO, an ACK from each child.  Sent: an ACK, START and INFO to each child.
    assert result.processed_max <= 3 * degree + 3


@pytest.mark.parametrize("routes", ["hops", "delay"])
def test_routes_by_delay_are_not_slower_where_links_are_idle(routes):
    times = {
        policy: run(protocol="cubefulldist", members=64, routes=policy, free_bitmap=True, **GRAPH)
        for policy in ("hops", "delay")
    }
    assert times["delay"].rtt_last_us < times["hops"].rtt_last_us
    assert times["delay"].hops["total"] > times["hops"].hops["total"]
    assert times[routes].completed


def test_density_decides_whether_fulldist_grows():
    def first(members, probability):
        seeds = range(3)
        runs = [
            run(
                protocol="fulldist",
                topology="random-graph",
                members=members,
                senders=50,
                edge_probability=probability,
                seed=seed,
            )
            for seed in seeds
        ]
        return sum(result.rtt_first_us for result in runs)

    assert first(400, 0.02) < first(150, 0.02)
    assert first(400, 4 / 400) > 1.5 * first(150, 4 / 150)


def test_failing_members_are_neighbours_of_member_0_and_others_but_never_itself():
    near = set(hypercube(300).neighbours_of(0).tolist())
    for seed in range(10):
        drawn = failing_members(300, neighbours=3, others=2, seed=seed)
        assert len(drawn) == 5
        assert len(near & set(drawn)) >= 3
        assert 0 not in drawn
    assert failing_members(300, neighbours=3, others=0, seed=1) == failing_members(
        300, neighbours=3, others=0, seed=1
    )


@pytest.mark.parametrize("name", FOUR)
def test_a_crash_at_zero_happens_before_anything_is_sent(name):
    sound = run(protocol=name, members=30, **GRAPH)
    hurt = run(protocol=name, members=30, faults="crash 29 at 0", **GRAPH)
    assert hurt.completed
    assert hurt.processed[29] == 0
    assert hurt.messages_sent < sound.messages_sent


@pytest.mark.parametrize("name", FOUR)
def test_all_stall_without_being_told_and_none_when_told(name):
    options = {"protocol": name, "members": 30, "fail_neighbours": 1, "seed": 4, **GRAPH}
    assert not run(**options, detect_ms=-1).completed
    # Member 0's neighbours 1 and 2 and 4 are inner members of the tree, which is rebuilt.
    assert run(**options).completed


@given(
    members=st.integers(4, 80),
    probability=st.floats(0, 0.3),
    loss=st.floats(0, 0.4),
    at_ms=st.sampled_from((0.0, 0.5, 3.0, 12.0)),
    told_ms=st.sampled_from((0.0, 2.0, 20.0)),
    seed=st.integers(0, 10_000),
    data=st.data(),
)
@settings(max_examples=60, deadline=None)
def test_survivors_finish_on_any_graph_once_told(members, probability, loss, at_ms, told_ms, seed, data):
    """Up to floor(log2 n) - 1 neighbours of member 0 crash; the checkers look at every declaration."""
    failing = data.draw(st.integers(0, members.bit_length() - 2))
    options = Options(
        protocol="cubefulldist",
        topology="random-graph",
        members=members,
        edge_probability=probability,
        seed=seed,
        link_loss=loss / 4,  # a path has several links
        duplicate=0.1,
        reorder=0.1,
        resend_ms=20.0,
        fail_neighbours=failing,
        fail_at_ms=at_ms,
        detect_ms=told_ms,
        until_ms=600_000.0,
    )
    print(options.command())
    assert simulate(options.setup()).completed


def test_rounds_follow_each_other_after_the_pause():
    one = run(protocol="cubefulldist", members=20, **GRAPH)
    several = run(protocol="cubefulldist", members=20, executions=4, pause_ms=50.0, **GRAPH)
    assert several.completed
    assert several.executions == 4
    assert 3 * 50_000 < several.simulated_us < 4 * (50_000 + 2 * one.simulated_us)
    assert several.rtt_first_us < 2 * one.rtt_last_us


def test_data_becomes_stable_by_the_hypercube():
    result = run(
        protocol="cubefulldist", members=12, senders=3, messages=10, rate_per_s=100.0, pause_ms=10.0, **GRAPH
    )
    assert result.completed
    assert result.traffic.messages_stable == 30


def test_the_load_is_counted_every_millisecond():
    """Two members, one link of 10 ms: a message is on it from 0 to 10 ms, and its answer from 10 to 20."""
    result = run(
        protocol="coordp",
        topology="balanced",
        members=2,
        costs="links-only",
        propagation_us=10_000.0,
        bandwidth_bps=1e15,
    )
    assert result.simulated_us == pytest.approx(30_000)
    assert result.load_max == 1
    assert result.load_mean == pytest.approx(1.0)
    often = run(
        protocol="coordp",
        topology="balanced",
        members=2,
        costs="links-only",
        propagation_us=400.0,
        bandwidth_bps=1e15,
    )
    assert often.simulated_us == pytest.approx(1200)
    assert often.load_mean == 1.0


def test_the_set_of_members_takes_bytes_unless_it_is_said_not_to():
    counted = run(protocol="cubefulldist", members=64, senders=10, **GRAPH)
    free = run(protocol="cubefulldist", members=64, senders=10, free_bitmap=True, **GRAPH)
    assert free.hop_bytes == free.hops["total"] * (32 + 40)
    assert counted.hop_bytes == counted.hops["total"] * (32 + 40 + 8 + 4)


def test_resends_cost_nothing_where_they_are_not_needed_but_the_acknowledgements():
    plain = run(protocol="coord", members=30, **GRAPH)
    patient = run(protocol="coord", members=30, resend_ms=1000.0, **GRAPH)
    assert patient.rtt_last_us == plain.rtt_last_us
    assert patient.messages_sent == plain.messages_sent + 29
    cube = {"protocol": "cubefulldist", "members": 30, **GRAPH}
    assert run(**cube, resend_ms=1000.0).messages_sent == run(**cube).messages_sent


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"fail_neighbours": 9}, "fail_neighbours 9 is not accepted"),
        ({"fail_random": 30}, "fail_random 30 is not accepted"),
        ({"fail_neighbours": 1, "fail_at_ms": -1.0}, "fail_at_ms"),
        ({"edge_probability": 1.5}, "edge probability 1.5"),
        ({"routes": "hop"}, "did you mean 'hops'"),
        ({"cast": "unicst"}, "did you mean 'unicast'"),
        ({"cast": "relay"}, "relay"),
        ({"placement": "randm"}, "did you mean 'random'"),
        ({"duplicate": 2.0}, "duplicate 2.0 is not accepted"),
        ({"resend_ms": -1.0}, "resend_ms -1.0"),
        ({"tree_degree": "two"}, "tree_degree"),
        ({"sample_ms": 0.0}, "sample_ms"),
        ({"resend_ms": 5.0, "fail_random": 1, "detect_ms": -1.0}, "for ever"),
        ({"messages": 1, "sender_groups": 1, "duplicate": 0.1}, "sender groups need links"),
        ({"piggyback": "al"}, "did you mean 'all'"),
    ],
)
def test_what_is_not_accepted_is_told_in_one_line(options, told):
    asked = {"protocol": "fulldist", "members": 30, **GRAPH} | options
    with pytest.raises(InvalidInput, match=told) as raised:
        Options(**asked).setup()
    assert "\n" not in str(raised.value)


def test_gossip_has_no_resends_to_ask_for():
    with pytest.raises(InvalidInput, match="resend"):
        Options(protocol="gsgc", topology="balanced", members=10, resend_ms=5.0).setup()
