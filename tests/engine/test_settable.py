"""Parameters of protocols in live groups: which can be set, what each does, and why others cannot be."""

import re
from pathlib import Path

import pytest
from test_tracker import Bus

from stablecast.engine.choice import (
    OF_THE_GROUP,
    choose,
    live_protocols,
    parameter_table,
    settable,
)
from stablecast.protocols import protocol
from stablecast.protocols.contract import GROUP

MEMBERS = 6
OTHER = {"subgroup": 2, "local_size": 2, "controllers": 2, "levels": 3, "tree_degree": 1}
"""Of options that are no words: a value that is not the default."""
SET = [(name, option) for name in live_protocols() for option in settable(protocol(name))]


def other_value(parameter):
    words = [word for word in parameter.choices if word != parameter.default]
    return OTHER.get(parameter.option_name, words[0] if words else None)


def observed(name, options):
    """Return all that members of a small group say, and what each knows in the end."""
    bus = Bus(name, seed=5, loss=0.0, members=MEMBERS, options=options)
    for part in range(1, 6):
        for rank in (0, 3):
            bus.say(0.02 * part, rank, part)
    bus.run(until=2.0)
    return bus.log, [tracker.stable for tracker in bus.trackers], [t.knows_own for t in bus.trackers]


@pytest.mark.parametrize(("name", "option"), SET)
def test_every_parameter_that_can_be_set_changes_what_members_do(name, option):
    parameter = settable(protocol(name))[option]
    # With five controllers and groups of up to fifty, six members would hardly show fewer of either.
    given = {"controllers": 1} if option in ("local_size", "controllers") else {}
    value = other_value(parameter)
    choose(name, given | {option: value})
    assert observed(name, given | {option: value}) != observed(name, given)


@pytest.mark.parametrize("name", live_protocols())
def test_the_same_parameters_make_the_same_run(name):
    written_out = {
        option: parameter.default
        for option, parameter in settable(protocol(name)).items()
        if parameter.default is not None
    }
    assert observed(name, written_out) == observed(name, {})


@pytest.mark.parametrize("subgroup", [1, 2, 4])
def test_a_member_gossips_to_as_many_as_the_subgroup_has(subgroup):
    bus = Bus("gsgc", seed=5, loss=0.0, members=20, options={"subgroup": subgroup})
    for part in range(1, 40):
        bus.say(0.02 * part, 0, part)
    bus.run(until=0.8)
    steps = {}
    for at, rank, dest, _ in bus.log:
        if dest != GROUP:
            steps.setdefault((at, rank), []).append(dest)
    sizes = [len(dests) for dests in steps.values()]
    assert max(sizes) == subgroup
    assert min(sizes) >= subgroup - 1  # one that draws itself sends a message less
    assert all(len(set(dests)) == len(dests) for dests in steps.values())


def test_controllers_are_as_many_as_were_asked_for_and_alone_speak_to_other_local_groups():
    bus = Bus("gsgc-local", seed=5, loss=0.0, members=12, options={"local_size": 4, "controllers": 2})
    for part in range(1, 20):
        bus.say(0.02 * part, 0, part)
    bus.run(until=1.0)
    group_of = [int(tracker.machine.me.local_group) for tracker in bus.trackers]
    kinds = bus.trackers[0].protocol.kinds
    across = {rank for _, rank, dest, _ in bus.log if dest != GROUP and group_of[dest] != group_of[rank]}
    assert across == {tracker.rank for tracker in bus.trackers if tracker.machine.me.rank < 2}
    assert sorted(group_of[rank] for rank in across) == [0, 0, 1, 1, 2, 2]
    assert {kinds[frame.kind] for _, _, dest, frame in bus.log if dest == GROUP} == {"STABLE"}


@pytest.mark.parametrize("levels", [2, 3])
def test_a_controller_gossips_at_one_level_at_a_time(levels):
    options = {"local_size": 4, "controllers": 2, "levels": levels}
    bus = Bus("gsgc-local", seed=5, loss=0.0, members=24, options=options)
    for part in range(1, 60):
        bus.say(0.02 * part, 0, part)
    bus.run(until=1.4)
    kinds, upper, sent = bus.trackers[0].protocol.kinds, {}, {"LOCAL": 0, "GLOBAL": 0}
    for _, rank, dest, frame in bus.log:
        if dest == GROUP:
            upper.clear()  # another round has begun
        elif kinds[frame.kind] == "GLOBAL":
            sent["GLOBAL"] += 1
            upper[rank] = True
        elif rank in upper:
            sent["LOCAL"] += 1
    assert sent["GLOBAL"] > 50
    assert sent["LOCAL"] < sent["GLOBAL"] / 5  # what it repeats every few steps to another controller


def test_every_other_parameter_is_refused_with_a_reason():
    for name in live_protocols():
        known = protocol(name).options
        for option in known.keys() - settable(protocol(name)).keys():
            with pytest.raises(Exception, match=re.escape(OF_THE_GROUP[known[option].role])):
                choose(name, {option: known[option].default})


def test_the_table_of_the_page_on_live_groups_is_made_from_the_declarations():
    page = (Path(__file__).parents[2] / "docs" / "live.md").read_text(encoding="utf-8")
    assert "\n".join(parameter_table()) in page
