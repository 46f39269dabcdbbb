"""What every protocol of the hierarchical paper promises, told on machines without a network."""

import numpy as np
import pytest
from groups import MachineGroup
from hypothesis import given, settings
from hypothesis import strategies as st

PROTOCOLS = ["coordp", "fulldist", "train", "s_coordp", "s_train"]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_one_execution_tells_everyone_the_minimum_over_all(name):
    group = MachineGroup(name)
    rng = np.random.default_rng(1)
    table = rng.integers(0, 100, (len(group), len(group)))
    group.set_received(table)
    group.start()
    group.deliver_all()
    assert (group.stable() == table.min(axis=0)).all()


@pytest.mark.parametrize("name", PROTOCOLS)
@given(st.data())
@settings(max_examples=40, deadline=None)
def test_nothing_is_called_stable_early_in_any_order_of_arrivals(name, data):
    group = MachineGroup(name, data.draw(st.integers(1, 3)), data.draw(st.integers(1, 2)))
    n = len(group)
    table = np.zeros((n, n), np.int64)
    group.start()
    for _ in range(60 * n):
        if not group.under_way:
            if group.machines[0].me.execution >= 3:
                break
            group.start()
            continue
        member = data.draw(st.integers(0, n - 1)) if n < 6 else int(group.under_way[0][1])
        table[member] += 1
        group.machines[member].me.received[:] = table[member]
        before = group.stable()
        pick = data.draw(st.integers(0, min(len(group.under_way), 4) - 1))
        group.under_way.rotate(-pick)
        group.deliver(group.under_way.popleft())
        assert (group.stable() <= table.min(axis=0)).all()
        assert (group.stable() >= before).all()


@pytest.mark.parametrize("name", PROTOCOLS)
def test_stability_is_not_declared_while_a_member_is_silent(name):
    group = MachineGroup(name)
    group.set_received(np.full((len(group), len(group)), 7))
    group.start()
    silent = len(group) - 1
    group.deliver_all(keep=lambda kind, source, target: source != silent)
    assert (group.stable() == 0).all()


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_stalled_execution_is_overtaken_by_the_next_one(name):
    group = MachineGroup(name)
    group.set_received(np.full((len(group), len(group)), 7))
    group.start()
    stale = group.deliver_all(keep=lambda kind, source, target: source == 0)
    assert stale
    group.set_received(np.full((len(group), len(group)), 9))
    group.start()
    group.deliver_all()
    for entry in stale:
        group.deliver(entry)
    group.deliver_all()
    assert (group.stable() == 9).all()


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_group_of_chains_and_of_two_works(name):
    for degree, height in ((1, 1), (1, 4)):
        group = MachineGroup(name, degree, height)
        group.set_received(np.full((len(group), len(group)), 3))
        group.start()
        group.deliver_all()
        assert (group.stable() == 3).all()
