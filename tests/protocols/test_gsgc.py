"""What gossip promises, on machines without a network model."""

import numpy as np
import pytest
from gossip_group import STEP, GossipGroup
from groups import machines_of
from hypothesis import given, settings
from hypothesis import strategies as st

from stablecast.protocols import protocol
from stablecast.protocols.contract import Received, Sizes
from stablecast.protocols.gsgc import BEGIN, GOSSIP, MULTICAST, PIGGYBACK, USE

KIND = protocol("gsgc").messages.index(GOSSIP)
SHARES = (PIGGYBACK, MULTICAST, PIGGYBACK | MULTICAST)


def pair(**params):
    """Two machines that one moves by hand."""
    found = protocol("gsgc")
    machines = machines_of(found, Sizes(2, 1, 1, 4, found.parameter_values(params, 2)))
    for machine in machines:
        machine.me.received[:] = 5 + machine.me.number
        machine.init(0)
    return machines


def gossip_of(machine):
    """What a member would send now, to whomever."""
    me = machine.me
    parts = [me.M, me.W, me.stable[: machine.width(KIND) - 2]]
    return Received(KIND, me.number, (me.round,), np.concatenate(parts))


@pytest.mark.parametrize("share", SHARES)
def test_two_members_find_the_minimum(share):
    first, second = pair(share=share)
    first.receive(gossip_of(second), 1)
    assert first.me.stable.tolist() == [5]
    assert first.me.round == 2
    assert first.learned == first.finished == 1


@pytest.mark.parametrize(("snapshot", "minimum"), [(BEGIN, 5), (USE, 6)])
def test_what_comes_before_a_members_array_is_used_counts_only_if_it_is_taken_late(snapshot, minimum):
    first, second = pair(snapshot=snapshot)
    first.me.received[:] = 9
    first.receive(gossip_of(second), 1)
    assert first.me.stable.tolist() == [minimum]


def test_an_array_that_was_joined_with_anothers_is_not_taken_again():
    found = protocol("gsgc")
    machines = machines_of(found, Sizes(3, 1, 1, 4, found.parameter_values({"snapshot": USE}, 3)))
    first, second, _ = machines
    for machine in machines:
        machine.me.received[:] = 5
        machine.init(0)
    first.receive(gossip_of(second), 1)
    first.me.received[:] = second.me.received[:] = 9
    first.handle_timer(2)
    assert first.me.M.tolist() == [5]


def test_a_member_that_enters_a_round_on_anothers_message_adds_itself():
    first, second = pair()
    first.receive(gossip_of(second), 1)
    second.me.received[:] = 9
    second.receive(gossip_of(first), 2)  # the next round's, before the result of this one
    assert second.me.round == 3  # both are in it, so it is over at once
    assert second.me.stable.tolist() == [5]


def test_a_message_from_a_round_further_ahead_is_no_error():
    first, second = pair()
    ahead = gossip_of(second)
    first.receive(Received(KIND, 1, (40,), ahead.array), 1)
    assert first.me.round == 41
    assert first.me.stable.tolist() == [5]


def test_a_message_of_an_earlier_round_changes_nothing():
    first, second = pair()
    old = gossip_of(second)
    first.receive(old, 1)
    before = first.rows.sequences.copy(), first.rows.numbers.copy()
    first.receive(old, 2)
    assert (first.rows.sequences == before[0]).all()
    assert (first.rows.numbers == before[1]).all()
    assert first.me.round == 2


def test_a_member_gossips_to_distinct_members_at_every_step():
    found = protocol("gsgc")
    values = found.parameter_values({"subgroup": 5, "step": 100}, 10)
    machine = machines_of(found, Sizes(10, 1, 1, 4, values), seed=7)[3]
    machine.init(0)
    first = machine.next_timer()
    assert 0 <= first < 100
    seen = set()
    for k in range(50):
        sent = machine.handle_timer(first + 100 * k)
        dests = [each.dest for each in sent]
        assert len(set(dests)) == len(dests) >= 4  # one's own rank may be drawn, and is not sent to
        assert 3 not in dests
        seen |= set(dests)
        assert machine.next_timer() == first + 100 * (k + 1)
    assert seen == set(range(10)) - {3}


@given(
    n=st.integers(1, 8),
    seed=st.integers(0, 10_000),
    share=st.sampled_from(SHARES),
    subgroup=st.integers(1, 3),
    loss=st.floats(0, 0.4),
    doubled=st.floats(0, 0.5),
    data=st.data(),
)
@settings(max_examples=80)
def test_nothing_unsafe_whatever_happens_and_all_is_stable_when_it_is_over(
    n, seed, share, subgroup, loss, doubled, data
):
    joiners = data.draw(st.integers(0, min(3, n - 1)))
    group = GossipGroup(
        n,
        seed=seed,
        initial=n - joiners,
        senders=min(2, n - joiners),
        subgroup=subgroup,
        share=share,
        snapshot=data.draw(st.sampled_from((BEGIN, USE))),
        threshold=data.draw(st.sampled_from((16, 24, 60))),
        quiet=data.draw(st.sampled_from((0, 3))),
        fill=data.draw(st.sampled_from((0, 0, 4))),
        rest=8,
        admit_per_round=data.draw(st.sampled_from((0, 1))),
        join_window=data.draw(st.sampled_from((0, STEP // 2))),
    )
    group.loss, group.doubled = loss, doubled
    group.delay_max = data.draw(st.sampled_from((10, 60, 250)))
    coming = list(range(n - joiners, n))
    for _ in range(data.draw(st.integers(0, 12))):
        play(group, data, coming)
        group.run(group.now + data.draw(st.integers(0, 12)) * STEP)
    group.loss = group.doubled = 0.0
    group.delay_max = STEP // 2
    group.sides = [0] * n
    while coming:
        group.join(coming.pop(0))
    for _ in range(200):
        for member in range(n):
            if group.alive[member]:
                group.deliver_data(member, everything=True)
        group.run(group.now + 10 * STEP)
        if group.is_settled():
            return
    raise AssertionError("something that everyone has did not become stable")


def play(group, data, coming):
    """Let one thing happen; at least one member stays."""
    staying = [i for i in range(group.n) if group.alive[i] and not group.left[i]]
    what = data.draw(st.sampled_from(("send", "deliver", "crash", "leave", "join", "cut", "heal")))
    if what == "send":
        group.send_data(data.draw(st.integers(0, group.sent.size - 1)))
    elif what == "deliver":
        for member in staying:
            group.deliver_data(member)
    elif what in ("crash", "leave") and len(staying) > 1:
        # Of the late-join handlers one stays: who joins has to know someone.
        chosen = data.draw(st.sampled_from(staying[1:]))
        (group.crash if what == "crash" else group.leave)(chosen)
    elif what == "join" and coming:
        group.join(coming.pop(0))
    elif what == "cut":
        group.sides = [data.draw(st.integers(0, 1)) for _ in range(group.n)]
    elif what == "heal":
        group.sides = [0] * group.n


def test_the_last_handler_that_was_struck_off_comes_back_by_itself():
    """Handlers 1 and 2 have crashed, and the newcomer does not hear of 0 until it strikes it off."""
    group = GossipGroup(5, seed=2, initial=4, subgroup=1, share=PIGGYBACK, threshold=16, rest=8)
    for member in (1, 2):
        group.crash(member)
    group.join(4)
    group.sides = [0, 0, 0, 0, 1]
    group.run(40 * STEP)
    group.sides = [0] * 5
    group.crash(3)
    group.run(80 * STEP)
    group.send_data(0)
    for _ in range(60):
        group.deliver_data(0, everything=True)
        group.deliver_data(4, everything=True)
        group.run(group.now + 10 * STEP)
    assert group.alive[0]
    assert group.is_settled()


@given(seed=st.integers(0, 10_000), n=st.integers(2, 7), threshold=st.integers(1, 4))
@settings(max_examples=40)
def test_rash_suspicion_costs_time_and_never_safety(seed, n, threshold):
    group = GossipGroup(n, seed=seed, threshold=threshold)
    group.loss = 0.3
    for _ in range(30):
        group.send_data(0)
        for member in range(n):
            if group.alive[member]:
                group.deliver_data(member)
        group.run(group.now + 3 * STEP)
    assert all(group.alive)


def test_a_crashed_member_holds_the_group_up_for_about_the_threshold():
    group = GossipGroup(6, seed=3, threshold=20)
    group.crash(5)
    group.send_data(0)
    for member in range(5):
        group.deliver_data(member, everything=True)
    group.run(15 * STEP)
    assert not group.is_settled()
    group.run(60 * STEP)
    assert group.is_settled()
    assert group.false_strikes == 0


def test_parts_of_a_partition_collect_garbage_apart_and_merge():
    group = GossipGroup(8, seed=4, threshold=12)
    group.sides = [0] * 4 + [1] * 4
    group.run(40 * STEP)
    group.send_data(0)
    for member in range(4):
        group.deliver_data(member, everything=True)
    group.run(80 * STEP)
    assert all(group.machines[i].me.stable[0] == 1 for i in range(4))  # without the other side
    assert all(group.machines[i].me.stable[0] == 0 for i in range(4, 8))
    group.sides = [0] * 8
    for member in range(8):
        group.deliver_data(member, everything=True)
    group.run(400 * STEP)
    assert group.is_settled()
    assert all((group.machines[i].me.status % 2 == 1).all() for i in range(8))


def test_the_printed_comparisons_of_w_are_never_true_and_would_change_nothing():
    members, arrays = range(4), np.array([[5, 2], [3, 9], [7, 7], [4, 1]])
    sets = [np.array([mask >> member & 1 for member in members]) for mask in range(1, 16)]
    for W_i in sets:
        for W in sets:
            assert not (W_i > W).all()  # as printed: for all entries; whoever sends W is in it
            assert not (W_i < W).all()
            M_i, M = (arrays[each == 1].min(axis=0) for each in (W_i, W))
            if (W_i >= W).all():  # redundant, as it is meant
                assert (np.minimum(M_i, M) == M_i).all()
            if (W_i <= W).all():  # more up to date, as it is meant
                assert (np.minimum(M_i, M) == M).all()
