import numpy as np
import pytest

from stablecast.simulate.checks import BACKWARDS, EARLY, check_declaration
from stablecast.simulate.options import Options
from stablecast.simulate.prepare import place_members, prepare

MEMBER, COLUMN = 2, 1
NOTES = {"truth", "constructed", "counts"}
"""What the checkers may write; of the counts, only the violation."""


@pytest.fixture
def sim():
    """A group in which everyone has ten messages of each of two senders, five of them declared stable."""
    options = Options(protocol="coordp", topology="tree", degree=2, height=2, senders=2, messages=20)
    setup = place_members(options.setup())
    found, _ = prepare(setup, setup.found_protocol)
    found.received[:] = 10
    found.stable[:] = found.declared[:] = 5
    return found


def contents(sim):
    return {name: np.array(getattr(sim, name), copy=True) for name in sim.fields_}


@pytest.mark.parametrize("declared", [4, 5, 8, 10, 11])
def test_a_check_changes_nothing_but_its_own_notes(sim, declared):
    sim.stable[MEMBER, COLUMN] = declared
    before = contents(sim)
    check_declaration(sim, MEMBER)
    after = contents(sim)
    changed = {name for name in before if not np.array_equal(before[name], after[name])}
    assert changed <= NOTES
    counts = {
        name for name in before["counts"].dtype.names if before["counts"][name] != after["counts"][name]
    }
    assert counts <= {"violation", "violation_member", "violation_column"}


@pytest.mark.parametrize(("declared", "violation"), [(4, BACKWARDS), (5, 0), (10, 0), (11, EARLY)])
def test_a_declaration_is_compared_with_the_last_one_and_with_what_everyone_has(sim, declared, violation):
    sim.stable[MEMBER, COLUMN] = declared
    check_declaration(sim, MEMBER)
    assert sim.counts.violation == violation
    if violation:
        assert (sim.counts.violation_member, sim.counts.violation_column) == (MEMBER, COLUMN)
