"""Theorems 1 and 2 on random channels: losses, reordering, skewed clocks, members that go at any time."""

from __future__ import annotations

import os

import pytest
from channel_groups import PROTOCOLS, play, told_at_different_times
from hypothesis import given, settings
from hypothesis import strategies as st

from stablecast.errors import InvalidInput, SafetyViolation
from stablecast.papers.timestamp.example_runs import S1, S2, figure_2, figure_3
from stablecast.protocols import protocol
from stablecast.protocols.contract import NEVER, Sizes
from stablecast.simulate import Setup, Traffic, simulate, topology
from stablecast.testing.reference.channels import ChannelRun
from stablecast.theory.timestamp import FIGURE_2, timestamp_latency, vector_latency

SEEDS = st.integers(0, 2**32)
EXAMPLES = settings(max_examples=int(os.environ.get("CHANNEL_EXAMPLES", "30")))


@pytest.mark.parametrize("crashes", [False, True])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("name", PROTOCOLS)
@EXAMPLES
@given(seed=SEEDS)
def test_what_is_called_stable_is_everywhere_and_all_becomes_stable(
    name: str, whole: bool, crashes: bool, seed: int
) -> None:
    print(f"play({name!r}, {seed}, whole={whole}, crashes={crashes})")
    played = play(name, seed, whole=whole, crashes=crashes)
    assert not played.unstable()


@pytest.mark.parametrize("fineness", [1, 3, 100])
def test_figure_2_step_by_step(fineness: int) -> None:
    for sender, units in ((S1, 7), (S2, 14)):
        (known,) = figure_2("vector", sender, fineness).known
        assert known.at - known.sent == units * fineness == vector_latency(FIGURE_2)[sender] * fineness
    (known,) = figure_2("timestamp", S1, fineness).known
    assert known.at - known.sent == 11 * fineness - 1 == timestamp_latency(FIGURE_2)[0] * fineness - 1
    (known,) = figure_2("timestamp", S2, fineness).known
    assert known.at - known.sent == 14 * fineness


def test_figure_3_step_by_step() -> None:
    _, steps = figure_3()
    assert [step.clocks for step in steps] == [(5, 1, 5, 5), (6, 6, 6, 6), (7, 7, 7, 7), (8, 8, 8, 8)]
    assert [step.have for step in steps] == [(5, 1), (5, 1), (7, 7), (7, 7)]
    assert [step.acknowledged for step in steps] == [0, 1, 1, 7]
    assert [step.buffers for step in steps] == [
        ((1, 2, 3, 4, 5), (1,)),
        ((2, 3, 4, 5), ()),
        ((2, 3, 4, 5, 7), (7,)),
        ((), ()),
    ]


def test_one_silent_sender_keeps_everything_from_becoming_stable() -> None:
    """Without NULLs the second sender, which sends nothing, holds all others back."""
    run = two_senders(send_every=10**9)
    assert run.known == []
    assert [each.number for each in two_senders(send_every=10).known] == [1, 2, 3]


def two_senders(send_every: int) -> ChannelRun:
    run = ChannelRun(
        "timestamp",
        members=3,
        leaders=(0, 1),
        data_delay=lambda column, member, k: 1,
        ack_delay=lambda source, dest, k: 1,
        params={"ack_every": 5, "send_every": send_every},
    )
    for member in range(3):
        run.set_phases(member, ack_at=5, sent_at=0)
    for at in (1, 2, 3):
        run.send(0, at)
    run.run(10_000)
    return run


def wrong_view(believes: tuple[tuple[int, ...], ...]) -> ChannelRun:
    """Figure 4: node 3 receives only node 2's messages; the others believe that it receives all."""
    run = ChannelRun(
        "timestamp",
        members=3,
        leaders=(0, 1, 2),
        data_delay=lambda column, member, k: 10**9 if (column, member) == (0, 2) else 1,
        ack_delay=lambda source, dest, k: 1,
        params={"ack_every": 10, "send_every": 10**6},
    )
    me = run.machines[2].me
    for column in range(3):
        if column not in believes[2]:
            me.have[column] = NEVER
    for member in range(3):
        run.set_phases(member, ack_at=40, sent_at=0)
    for column, at in ((1, 22), (0, 27), (1, 33), (2, 34)):
        run.send(column, at)
    return run


def test_figure_4_with_a_wrong_view_a_message_is_called_stable_that_a_node_lacks() -> None:
    run = wrong_view(((0, 1, 2), (0, 1, 2), (1, 2)))
    with pytest.raises(SafetyViolation, match=r"message 1 of column 0 stable .* member 2 has 0"):
        run.run(100)
    told = [machine.me.told for machine in run.machines]
    assert told == [33, 27, 33]  # node 1's own entry is its clock, else it would be 27


def test_figure_4_with_the_right_view_the_message_waits() -> None:
    run = wrong_view(((0, 1, 2), (0, 1, 2), (0, 1, 2)))
    run.run(100)
    assert run.known == []
    assert run.machines[2].me.told == 0


def test_acknowledgements_of_members_that_know_of_another_set_of_gone_ones_are_left_out() -> None:
    """Else a member that has not heard yet would take them to cover the messages of the one that is gone."""
    run = told_at_different_times()
    run.run(2000)
    assert run.machines[1].me.stable.tolist() == [0, 0]
    run.send(1, 2001)
    run.run(3000)
    assert [each.column for each in run.known] == [1]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_they_need_data_and_no_executions(name: str) -> None:
    group = topology("balanced", members=5)
    with pytest.raises(InvalidInput, match="give messages above 0"):
        Setup(protocol=name, topology=group)
    with pytest.raises(InvalidInput, match="leave sender_groups out"):
        Setup(protocol=name, topology=group, traffic=Traffic(messages=3, sender_groups=2))


def test_groups_that_differ_are_for_protocols_that_can() -> None:
    group, data = topology("balanced", members=5), Traffic(messages=3)
    with pytest.raises(InvalidInput, match="transitive needs all members"):
        Setup(protocol="transitive", topology=group, traffic=data, receivers=2)
    with pytest.raises(InvalidInput, match="1 to 4, or none"):
        Setup(protocol="vector", topology=group, traffic=data, receivers=5)
    setup = Setup(protocol="vector", topology=group, traffic=data, receivers=2, seed=3)
    assert all(len(audience) == 2 for audience in setup.audiences)
    assert all(leader not in setup.audiences[leader] for leader in range(5))
    assert len(set(setup.audiences)) > 1


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_group_of_one_knows_at_once(name: str) -> None:
    setup = Setup(protocol=name, topology=topology("balanced", members=1), traffic=Traffic(messages=3))
    assert simulate(setup).completed


def test_a_wire_has_the_bytes_that_the_clock_needs() -> None:
    found = protocol("timestamp")
    params = {"stamp_bytes": 4}
    for clock, numbers in ((0, 1), (1, 2), (2, 2)):
        sizes = Sizes(5, 5, 5, 4, found.parameter_values(params | {"clock": clock}, 5))
        assert found.declaration.wire_bytes(sizes) == [4 * numbers, 8, 8, 16]
