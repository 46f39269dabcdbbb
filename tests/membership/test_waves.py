"""Trees along which view changes go, what is merged on the way, and views that are told as what changes."""

import random
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from view_world import Ask, Part, World

from stablecast.membership.admit import SPONSORED_FROM
from stablecast.membership.change import Change
from stablecast.membership.coming import after_sync
from stablecast.membership.cuts import cut_of, merged, numbers_after, report_of
from stablecast.membership.messages import Admission, Alive, Elsewhere, Flushed, Install, Prepare, Sync, Way
from stablecast.membership.next_view import applied, delta_of, next_view
from stablecast.membership.rank_sets import packed, ranks_in, set_of, unpacked
from stablecast.membership.view import Labels, MemberInfo, View
from stablecast.membership.waves import DEGREE, branch_at, branch_of, order_of, way_to

LEADER = 100
MOST_FRAMES = 64
"""That a view change may cost a member: six steps with a frame for each neighbour, and probes."""


def roll_of(size, zones=("",)):
    return tuple(
        MemberInfo(100 + k, f"m{k}", 1, "h", 7000 + k, zone=zones[k % len(zones)]) for k in range(size)
    )


def view_of(size, zones=("",)):
    members = roll_of(size, zones)
    return View(1, 1, members, "g", {member.name: 1 for member in members})


@given(st.sets(st.integers(0, 2000)))
def test_a_set_of_ranks_is_the_same_after_it_was_in_a_frame(ranks):
    assert set(ranks_in(unpacked(packed(set_of(ranks))))) == ranks


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 120), st.data())
def test_whoever_is_in_the_tree_gets_a_frame_once_and_is_in_one_answer(size, data):
    out = data.draw(st.sets(st.integers(0, size - 1)))
    turn = data.draw(st.integers(0, 50))
    roll = roll_of(size, ("b", "a", "c"))
    taking_part = set(range(1, size)) - out
    way = way_to(len(taking_part), ("h", 1), packed(set_of(out)), turn)
    root = branch_of(order_of(roll, LEADER, way), 0, way.degree)
    assert set(ranks_in(root.below)) == taking_part
    got, waiting = [], list(root.children)
    while waiting:
        rank = waiting.pop()
        got.append(rank)
        branch = branch_at(roll, LEADER, way, rank)
        below = [branch_at(roll, LEADER, way, child) for child in branch.children]
        assert branch.below == set_of(branch.children) | sum(one.below for one in below)
        assert branch.height == 0 or branch.height > max(one.height for one in below) - 1
        waiting += branch.children
    assert sorted(got) == sorted(taking_part)


def test_a_small_group_is_asked_by_its_leader_and_in_a_large_one_nobody_speaks_to_many():
    for size in (2, 9, 10, 1024):
        way = way_to(size - 1, ("h", 1), b"", 0)
        order = order_of(roll_of(size), LEADER, way)
        branches = [branch_of(order, place, way.degree) for place in range(size)]
        assert max(len(branch.children) for branch in branches) <= (size - 1 if size <= 9 else DEGREE)
        assert branches[0].height <= (1 if size <= 9 else 4)


def test_members_of_a_zone_are_next_to_each_other():
    roll = roll_of(60, ("east", "north", "west"))
    zones = [roll[rank].zone for rank in order_of(roll, LEADER, Way("h", 1, DEGREE))]
    assert sum(one != other for one, other in pairwise(zones)) == 2


def test_in_later_repetitions_others_pass_things_on_and_the_leader_comes_to_each_in_the_end():
    roll, asked = roll_of(200), set()
    for turn in range(100):
        way = way_to(199, ("h", 1), b"", turn)
        asked |= set(branch_of(order_of(roll, LEADER, way), 0, way.degree).children)
    assert asked == set(range(1, 200))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.integers(0, 10**6))
def test_merged_reports_are_the_maximum_whatever_way_they_take(size, seed):
    chance = random.Random(seed)
    base = tuple((chance.randrange(5), 0) for _ in range(size))
    has = [tuple(parts + chance.randrange(4) for parts, _ in base) for _ in range(size)]
    for source in range(size):  # nobody has more of a source than the source itself
        most = max(prefixes[source] for prefixes in has)
        has[source] = (*has[source][:source], most, *has[source][source + 1 :])
    reports = [report_of((2, 9), k, base, has[k], has[k][k] - base[k][0], {k}) for k in range(size)]
    pool = reports + chance.choices(reports, k=3)
    while len(pool) > 1:
        chance.shuffle(pool)
        pool.append(merged(pool.pop(), pool.pop()))
    [report] = pool
    assert cut_of(base, report.sent) == tuple(map(max, zip(*has, strict=True)))
    assert unpacked(report.members) == (1 << size) - 1
    assert report.synced == tuple(range(size))
    for source, parts, holder, messages in report.sent:
        assert has[holder][source] == base[source][0] + parts
        assert holder == source
        assert messages == parts


@pytest.mark.parametrize("seed", range(20))
def test_a_view_made_of_what_changes_is_the_one_that_the_leader_made(seed):
    chance = random.Random(seed)
    old = view_of(12)
    survivors = set_of(k for k in range(12) if chance.random() < 0.7) | 1
    change = Change((2, LEADER), old, survivors, 0, 0.0)
    asking = [MemberInfo(500 + k, chance.choice(["m1", "new"]), 1, "h", k) for k in range(3)]
    view = next_view(7, 2, change, asking, group="g", receives={100: ("m1",), 105: ("*",)})
    delta = delta_of(old, view, survivors)
    assert applied(old, delta) == view
    sync = Sync((2, LEADER), 1, Way("h", 1, 6), delta, ((3, 2, 3, 1),))
    base = tuple((k, k) for k in range(12))
    coming = after_sync(old, base, sync)
    assert coming.view == view
    assert coming.numbers == numbers_after(old, base, sync.sent, view)
    assert coming.cut == (0, 1, 2, 5, *range(4, 12))


def test_a_member_whose_next_view_comes_out_differently_does_not_go_on():
    old = view_of(3)
    change = Change((2, LEADER), old, 0b111, 0, 0.0)
    view = next_view(7, 2, change, [], group="g", receives={})
    delta = delta_of(old, view, 0b111)
    other = View(1, 1, old.members, "g", {"m0": 1, "m1": 2, "m2": 1}, Labels.PLAIN)
    sync = Sync((2, LEADER), 1, Way("h", 1, 6), delta, ())
    assert after_sync(old, ((0, 0),) * 3, sync) is not None
    assert after_sync(other, ((0, 0),) * 3, sync) is None
    world = World(1)
    leader, member = world.group(2)
    member.does(
        member.machine.receive(
            Prepare((9, leader.session), leader.view.id, sync.way), leader.session, leader.address, 0.0
        )
    )
    wrong = Sync((9, leader.session), leader.view.id, sync.way, delta, ())
    answers = member.machine.receive(wrong, leader.session, leader.address, 0.0)
    assert [action.frame for action in answers] == [Elsewhere(wrong.proposal, 0)]


def counted(world):
    """Count frames of membership by process, sent and received together."""
    counts = Counter()

    def drops(source, to, frame):
        if not isinstance(frame, Alive | Part | Ask):
            counts[source] += 1
            counts[to] += 1
        return False

    world.network.drops = drops
    return counts


def test_a_crash_in_a_large_group_costs_no_member_many_frames():
    world = World(3, zones=("east", "west"))
    members = world.group(80)
    for process in members[::4]:
        process.multicast()
    world.run(0.1)
    world.crash(members[30])
    leader = next(process for process in members if process.machine.leads)
    counts = counted(world)
    leader.does(leader.machine.suspect(frozenset({members[30].session}), world.now))
    others = [process for process in members if process is not members[30]]
    assert world.run_until(lambda: world.is_one_view(others), within=2) < 0.2
    world.run(0.3)
    assert max(counts.values()) <= MOST_FRAMES


def test_one_inside_of_the_tree_that_is_gone_holds_the_others_up_only_shortly():
    world = World(4)
    members = world.group(40)
    leader = next(process for process in members if process.machine.leads)
    way = way_to(38, leader.address, packed(1 << 20), 0)
    order = order_of(leader.view.members, leader.session, way)
    inside = branch_of(order, 0, way.degree).children[0]
    gone, silent = (world.by_session[leader.view.sessions[rank]] for rank in (20, inside))
    world.crash(gone)
    world.network.drops = lambda source, to, frame: (
        source == silent.address and isinstance(frame, Prepare | Sync | Install)
    )  # it passes nothing on
    leader.does(leader.machine.suspect(frozenset({gone.session}), world.now))
    others = [process for process in members if process is not gone]
    assert world.run_until(lambda: world.is_one_view(others), within=2) < 0.5


def test_late_answers_are_passed_on_together():
    world = World(5)
    members = world.group(40)
    leader = next(process for process in members if process.machine.leads)
    order = order_of(leader.view.members, leader.session, way_to(38, leader.address, packed(1 << 20), 0))
    branch = branch_of(order, 1, DEGREE)
    inner = world.by_session[leader.view.sessions[order[0]]]
    told = []

    def drops(source, to, frame):
        if source == inner.address and isinstance(frame, Flushed):
            told.append(unpacked(frame.members).bit_count())
        return False

    world.network.drops = drops
    gone, *late = (world.by_session[leader.view.sessions[rank]] for rank in (20, *branch.children))
    world.crash(gone)
    for process in late:
        world.pause(process, 0.06)
    leader.does(leader.machine.suspect(frozenset({gone.session}), world.now))
    others = [process for process in members if process is not gone]
    assert world.run_until(lambda: world.is_one_view(others), within=2) < 0.5
    assert len(late) >= 5
    assert told[0] == 1
    assert told[-1] == 1 + len(late)
    assert len(told) <= 3


def test_a_hundred_that_join_at_once_are_few_view_changes():
    world = World(6)
    first = world.first()
    for _ in range(100):
        world.later(world.random.uniform(0.0, 0.15), lambda: world.joiner([first.address]))
    seconds = world.run_until(lambda: first.view is not None and len(first.view.members) == 101, within=5)
    assert seconds < 1.0
    assert len(first.history) <= 4


@pytest.mark.parametrize("sponsors_are_heard", [True, False])
def test_newcomers_to_a_large_group_are_told_by_its_members_and_by_the_leader_if_they_do_not_answer(
    sponsors_are_heard,
):
    world = World(7)
    members = world.group(SPONSORED_FROM)
    leader = next(process for process in members if process.machine.leads)
    told = Counter()

    def drops(source, to, frame):
        if isinstance(frame, Admission):
            told[source] += 1
            return source != leader.address and not sponsors_are_heard
        return False

    world.network.drops = drops
    newcomers = [world.joiner([leader.address]) for _ in range(10)]
    within = 0.3 if sponsors_are_heard else 0.9
    assert world.run_until(lambda: world.is_one_view([*members, *newcomers]), within=3) < within
    assert len(told) >= 6
    assert sum(told.values()) == 10 if sponsors_are_heard else told[leader.address] >= 9
