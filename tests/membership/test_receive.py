"""Who receives what: audiences that follow from a view, and members that change what they receive."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st
from view_world import World

from stablecast.membership.audiences import Audiences
from stablecast.membership.messages import Receive
from stablecast.membership.view import FROM_ALL, MemberInfo

PATTERNS = ("*", "m*", "m0", "m[12]", "?3", "nobody")


@st.composite
def views(draw):
    size = draw(st.integers(1, 6))
    return [
        MemberInfo(
            k + 1,
            f"m{k}",
            1,
            "h",
            7000 + k,
            sends=draw(st.booleans()),
            receives=tuple(draw(st.lists(st.sampled_from(PATTERNS), max_size=3))),
        )
        for k in range(size)
    ]


@given(views())
def test_an_audience_is_who_says_to_receive_a_member_that_sends(members):
    audiences = Audiences(members)
    for source, one in enumerate(members):
        hearing = {
            rank
            for rank, other in enumerate(members)
            if rank != source and any(fnmatchcase(one.name, pattern) for pattern in other.receives)
        }
        if not audiences.is_whole:
            assert set(audiences.of(source)) == (hearing if one.sends else set())
        assert set(audiences.with_source(source)) == {*audiences.of(source), source}
        assert audiences.size_with_source(source) == len(audiences.of(source)) + 1
        for rank in range(len(members)):
            is_in = rank == source or rank in audiences.of(source)
            assert audiences.hears(rank, source) == is_in
            assert (source in audiences.unheard_by(rank)) == (not is_in)


@given(views())
def test_a_view_is_whole_where_nobody_misses_a_sender(members):
    misses = any(
        one is not source and source.sends and not one.receives_from(source)
        for source in members
        for one in members
    )
    assert Audiences(members).is_whole == (not misses)


def received(process):
    return {member.name: member.receives for member in process.machine.view.members}


def want(world, process, receives):
    process.does(process.machine.receive_from(receives, world.now))


def is_agreed(processes, name, receives):
    return all(
        p.machine.view is not None
        and received(p).get(name) == receives
        and p.machine.view.id == processes[0].machine.view.id
        for p in processes
    )


@pytest.mark.parametrize("who", [0, 2])
def test_a_member_asks_and_the_next_view_says_what_it_receives(who):
    world = World(21)
    group = world.group(4)
    names = [process.name for process in group]
    before = group[0].machine.view
    assert not group[who].machine.view.is_apart
    want(world, group[who], (names[1],))
    assert not group[who].machine.receives_as_wanted
    world.run_until(lambda: is_agreed(group, names[who], (names[1],)), within=5)
    view = group[0].machine.view
    assert view.id != before.id
    assert [member.label for member in view.members] == [member.label for member in before.members]
    assert view.is_apart
    assert group[who].machine.receives_as_wanted


def test_requests_that_are_lost_are_repeated_and_a_second_wish_counts():
    world = World(22)
    group = world.group(3)
    lost = []
    world.network.drops = lambda source, to, frame: (
        isinstance(frame, Receive) and len(lost) < 3 and not lost.append(frame)
    )
    want(world, group[2], ())
    want(world, group[2], ("x",))
    world.run_until(lambda: is_agreed(group, group[2].name, ("x",)), within=5)
    assert len(lost) == 3


def test_the_wish_outlives_the_leader_that_was_asked():
    world = World(23)
    group = world.group(4)
    world.network.drops = lambda source, to, frame: isinstance(frame, Receive) and to == group[0].address
    want(world, group[3], ("x",))
    world.crash(group[0])
    world.run_until(lambda: is_agreed(group[1:], group[3].name, ("x",)), within=20)


def test_what_one_receives_already_needs_no_view():
    world = World(24)
    group = world.group(2)
    before = group[0].machine.view.id
    want(world, group[1], FROM_ALL)
    assert group[1].machine.receives_as_wanted
    with pytest.raises(AssertionError):
        world.run_until(lambda: group[0].machine.view.id != before, within=3)
