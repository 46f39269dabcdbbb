"""Scenarios of the agreement on views, over a world that checks safety in every step."""

import msgspec
import pytest
from view_schedules import Schedule
from view_world import Broken, Process, World

from stablecast.errors import InvalidInput
from stablecast.membership.actions import JoinFailed, Left, Timing
from stablecast.membership.change import Change
from stablecast.membership.cuts import cut_of, holders_of, merged, numbers_after, report_of
from stablecast.membership.merge import precedence
from stablecast.membership.messages import (
    Admission,
    Elsewhere,
    Farewell,
    Flushed,
    Install,
    Installed,
    Join,
    MembershipFrame,
    Prepare,
    Probe,
    Redirect,
    Sync,
    Synced,
    Way,
)
from stablecast.membership.next_view import REMEMBERED_BYTES, keeps_line, next_view, without_oldest
from stablecast.membership.view import MemberInfo, View

AFTER_A_CRASH = 5.0
"""Seconds within which the others have a new view: ``fail_after``, a round or two, and the change."""


def labels(process: Process) -> list[str]:
    assert process.view is not None
    return [member.label for member in process.view.members]


def meet(world: World, processes=None, *, within: float = 20.0) -> float:
    return world.run_until(lambda: world.is_one_view(processes), within=within)


def crash_when(
    world: World, victim: Process, kind: type, *, nth: int = 1, lets_through: bool = False
) -> None:
    """Let a process crash as it sends a frame of this kind for the nth time."""
    seen = 0

    def drops(source, to, frame):
        nonlocal seen
        if source != victim.address or not isinstance(frame, kind) or not victim.is_up:
            return False
        seen += 1
        if seen == nth:
            world.crash(victim)
            return not lets_through
        return False

    world.network.drops = drops


def test_a_process_alone_has_a_view_at_once():
    world = World(1)
    alone = world.first("a")
    assert labels(alone) == ["a"]
    assert alone.machine.leads
    assert alone.machine.state == "member"


def test_joiners_that_come_together_come_with_one_view():
    world = World(2)
    members = world.group(8)
    assert [len(view.members) for _, view in members[0].history] == [1, 8]
    assert world.now < 0.2


def test_joining_through_any_member_is_redirected_to_the_leader():
    world = World(3)
    members = world.group(3)
    late = world.joiner([members[2].address])
    assert meet(world, [*members, late]) < 0.3


def test_a_name_that_is_taken_is_given_the_next_incarnation():
    world = World(4)
    first = world.first("a")
    twins = [world.joiner([first.address], "a") for _ in range(2)]
    meet(world)
    assert labels(first) == ["a", "a#2", "a#3"]
    world.crash(twins[1])
    meet(world)
    world.joiner([first.address], "a")
    meet(world)
    assert labels(first)[-1] == "a#4"


def test_a_joiner_of_another_protocol_is_told_both():
    world = World(5)
    first = world.first()
    world.protocol = "train"
    other = world.joiner([first.address])
    world.run(1.0)
    assert isinstance(other.outcome, JoinFailed)
    assert "'gsgc'" in other.outcome.reason
    assert "'train'" in other.outcome.reason


def test_a_joiner_that_would_be_one_too_many_is_refused_and_nobody_changes_the_view_for_it():
    world = World(6, most=3)
    members = world.group(3)
    late = world.joiner([members[2].address])
    world.run(1.0)
    assert isinstance(late.outcome, JoinFailed)
    assert late.outcome.reason == (
        "refused: the group has 3 members, and 'p0' can be in one of at most 3: its datagrams have room for"
        " what protocol 'gsgc' attaches for so many (accepted: larger datagrams, at every member)"
    )
    assert [len(view.members) for _, view in members[0].history] == [1, 3]


def test_of_joiners_that_come_together_those_who_came_first_get_in():
    world = World(6, most=4)
    first = world.first()
    joiners = [world.joiner([first.address]) for _ in range(6)]
    world.run(2.0)
    inside = [process for process in joiners if process.outcome is None]
    assert len(inside) == 3
    assert world.is_one_view([first, *inside])


def test_joining_fails_in_bounded_time_and_says_what_was_tried():
    world = World(6)
    lost = world.joiner([("h", 1), ("h", 2)])
    world.run(4.9)
    assert lost.outcome is None
    world.run(0.3)
    assert lost.outcome == JoinFailed((("h", 1), ("h", 2)), "no answer within 5 s")


def test_joining_through_nobody_is_refused():
    world = World(7)
    with pytest.raises(InvalidInput, match="contact"):
        world.joiner([])


def test_one_of_several_contacts_begins_alone_and_the_others_join_it():
    world = World(8)
    contacts = [("h", 1), ("h", 2), ("h", 3)]
    processes = [world.joiner(contacts, address=address) for address in contacts]
    seconds = meet(world)
    assert 1.0 <= seconds < 1.5
    assert all(len(process.history) <= 2 for process in processes)


def test_contacts_that_cannot_see_each_other_begin_apart_and_merge():
    world = World(9)
    contacts = [("h", 1), ("h", 2)]
    processes = [world.joiner(contacts, address=address) for address in contacts]
    world.split(processes[:1], processes[1:])
    world.run(4.0)
    assert [labels(process) for process in processes] == [["p0"], ["p1"]]
    world.heal()
    assert meet(world) < 3.0


@pytest.mark.parametrize("victim", [0, 1, 4])
def test_after_a_crash_the_others_go_on(victim):
    world = World(10)
    members = world.group(5)
    world.crash(members[victim])
    assert meet(world) < AFTER_A_CRASH
    view = world.live()[0].view
    assert view.line == "orders"


@pytest.mark.parametrize("survivor", [0, 3])
def test_all_but_one_crash(survivor):
    world = World(11)
    members = world.group(4)
    for process in members:
        if process is not members[survivor]:
            world.crash(process)
    assert meet(world) < AFTER_A_CRASH
    assert members[survivor].view.line.startswith("orders~")


def test_what_only_one_survivor_has_of_a_crashed_member_all_get():
    world = World(12)
    a, _, c, _ = world.group(4)
    world.network.drops = lambda source, to, frame: source == a.address and to != c.address
    for _ in range(7):
        a.multicast()
    world.run(0.1)
    world.crash(a)
    world.network.drops = lambda source, to, frame: False
    meet(world)
    ends = {has for (view, _), has in world.watch.ends.items() if len(has) == 4}
    assert ends == {(7, 0, 0, 0)}


def test_what_is_behind_a_gap_of_a_crashed_member_is_delivered_by_nobody():
    world = World(13)
    a, *_ = world.group(3)
    world.network.drops = lambda source, to, frame: getattr(frame, "number", 0) == 2
    for _ in range(5):
        a.multicast()
    world.run(0.1)
    world.crash(a)
    meet(world)
    assert {has for has in world.watch.ends.values() if len(has) == 3} == {(1, 0, 0)}


LEADER_FRAMES = [Prepare, Sync, Install]
MEMBER_FRAMES = [Flushed, Synced, Installed]


@pytest.mark.parametrize("frame", LEADER_FRAMES)
@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize("lets_through", [False, True])
def test_a_leader_may_crash_at_any_frame_of_a_view_change(frame, nth, lets_through):
    world = World(14)
    members = world.group(4)
    for process in members * 3:
        process.multicast()
    crash_when(world, members[0], frame, nth=nth, lets_through=lets_through)
    joiner = world.joiner([members[1].address])
    world.run_until(lambda: not members[0].is_up, within=5)
    assert meet(world) < AFTER_A_CRASH + 1.0
    names = {process.name for process in world.live()}
    assert {member.name for member in joiner.view.members} == names


@pytest.mark.parametrize("frame", MEMBER_FRAMES)
@pytest.mark.parametrize("lets_through", [False, True])
@pytest.mark.parametrize("who", ["survivor", "joiner"])
def test_a_member_may_crash_at_any_frame_of_a_view_change(frame, lets_through, who):
    world = World(15)
    members = world.group(3)
    joiner = world.joiner([members[0].address])
    victim = joiner if who == "joiner" else members[1]
    crash_when(world, victim, frame, lets_through=lets_through)
    world.run(1.0)
    assert victim.is_up == (who == "joiner" and frame is Flushed)
    assert meet(world) < AFTER_A_CRASH


def test_a_joiner_that_is_gone_holds_the_group_up_only_shortly():
    world = World(16)
    members = world.group(3)
    joiner = world.joiner([members[0].address])
    world.run(0.02)
    world.crash(joiner)
    assert meet(world, members) < 1.5


def test_a_joiner_that_asks_but_does_not_hear_does_not_stop_the_group_again_and_again():
    world = World(17)
    members = world.group(3)
    world.network.drops = lambda source, to, frame: isinstance(frame, Admission)
    joiner = world.joiner([members[0].address])
    blocked = 0.0
    for _ in range(110):
        world.run(0.05)
        blocked += 0.05 * members[1].is_stopped
    assert isinstance(joiner.outcome, JoinFailed)
    assert blocked < 3.0


def test_two_leaders_at_once_come_to_one_view():
    world = World(18)
    members = world.group(4)
    a, b = members[:2]
    for leader, other in ((a, b), (b, a)):
        leader.does(leader.machine.suspect(frozenset({other.session}), world.now))
    meet(world, within=30)
    assert len(world.live()) == 4


def test_a_member_that_lacks_install_begins_with_the_first_frame_of_the_view():
    world = World(19)
    members = world.group(2)
    world.network.drops = lambda source, to, frame: isinstance(frame, Install)
    joiner = world.joiner([members[0].address])
    world.run_until(lambda: len(members[0].view.members) == 3, within=2)
    members[0].multicast()
    assert meet(world, [*members, joiner]) < 0.1


def test_a_leader_that_begins_again_follows_a_member_into_the_view_that_it_had_agreed_to():
    world = World(20)
    a, b, c = world.group(3)
    world.network.drops = lambda source, to, frame: isinstance(frame, Install) and to == b.address
    world.joiner([a.address])
    world.run_until(lambda: c.view is not None and len(c.view.members) == 4, within=2)
    world.crash(a)
    seconds = meet(world)
    assert seconds < AFTER_A_CRASH
    assert len(b.history) == len(c.history)


def test_leaving_takes_a_member_out_without_anyone_failing():
    world = World(21)
    members = world.group(4)
    for leaver in (members[2], members[0]):
        for _ in range(4):
            leaver.multicast()
        leaver.does(leaver.machine.leave(world.now))
        assert meet(world, [process for process in world.live() if process is not leaver]) < 0.5
        world.run(1.5)
        assert leaver.outcome == Left("left")
    assert world.live()[0].view.line == "orders"


def test_what_a_leaver_has_sent_is_not_lost():
    world = World(22)
    a, b, c = world.group(3)
    world.network.drops = lambda source, to, frame: source == c.address and hasattr(frame, "number")
    for _ in range(3):
        c.multicast()
    world.run(0.1)
    world.network.drops = lambda source, to, frame: False
    c.does(c.machine.leave(world.now))
    meet(world, [a, b])
    assert (0, 0, 3) in world.watch.ends.values()


def test_everyone_leaves():
    world = World(23)
    members = world.group(3)
    for process in members:
        process.does(process.machine.leave(world.now))
    world.run(6.0)
    assert not world.live()


def test_one_alone_leaves_at_once_and_so_does_one_that_is_in_no_view():
    world = World(24)
    alone, joiner = world.first(), world.joiner([("h", 1)])
    for process in (alone, joiner):
        process.does(process.machine.leave(world.now))
        assert isinstance(process.outcome, Left)


def test_leaving_is_done_in_bounded_time_if_nobody_answers():
    world = World(25)
    a, b = world.group(2)
    world.split([a], [b])
    b.does(b.machine.leave(world.now))
    world.run(5.2)
    assert isinstance(b.outcome, Left)


def test_a_paused_member_comes_back_as_the_next_incarnation():
    world = World(26)
    members = world.group(4)
    world.pause(members[2], 8.0)
    meet(world, [members[0], members[1], members[3]])
    world.run_until(lambda: not members[2].is_paused, within=10)
    seconds = meet(world)
    assert seconds < 8.0
    assert members[2].name + "#2" in labels(members[0])
    assert members[0].view.line == "orders"


def late_leader(world: World) -> tuple[Process, list[Process]]:
    """Return a leader that is paused when others agree to its view, and those others in another one."""
    leader, *others = world.group(4)
    for process in (leader, *others):
        process.multicast()
    others.append(world.joiner([process.address for process in (leader, *others)]))

    def pause_leader(source, to, frame):
        if isinstance(frame, Synced):
            world.pause(leader, 6.0)
        return False

    world.network.drops = pause_leader
    world.run_until(lambda: leader.is_paused, within=1)
    world.network.drops = lambda source, to, frame: False
    world.run_until(lambda: world.is_one_view(others), within=10)
    for process in others:
        process.multicast()
    return leader, others


def test_a_leader_that_was_paused_begins_a_view_that_its_members_have_left_behind():
    world = World(20)
    leader, others = late_leader(world)
    world.run_until(lambda: not leader.is_paused, within=10)
    world.run_until(lambda: len(leader.history) > 2, within=1)
    late = leader.history[2][1]
    assert {member.session for member in late.members} == {p.session for p in (leader, *others)}
    assert late.id not in {view.id for process in others for _, view in process.history if view}
    meet(world)


def test_the_watch_notices_that_a_member_of_a_late_view_left_without_its_cut():
    world = World(20)
    leader, others = late_leader(world)
    others[0].left_with[leader.view.id][leader.view.rank_of(leader.session)] -= 1
    with pytest.raises(Broken, match="calls stable what"):
        world.run(10.0)


def test_a_short_pause_of_the_leader_changes_nothing():
    world = World(27)
    members = world.group(4)
    world.pause(members[0], 2.0)
    world.run(10.0)
    assert all(len(process.history) <= 2 for process in members)


def test_parts_of_a_split_group_go_on_and_merge_into_the_main_line():
    world = World(28)
    members = world.group(5)
    world.split(members[:3], members[3:])
    world.run(8.0)
    assert {*labels(members[0])} == {process.name for process in members[:3]}
    assert {*labels(members[3])} == {process.name for process in members[3:]}
    assert members[0].view.line == "orders"
    assert members[3].view.line.startswith("orders~")
    for process in members * 4:
        process.multicast()
    world.heal()
    assert meet(world) < 4.0
    assert members[0].view.line == "orders"


def test_parts_that_do_not_fit_into_one_view_go_on_apart_until_they_do():
    world = World(27, most=4)
    members = world.group(4)
    world.split(members[:2], members[2:])
    world.run(8.0)
    late = world.start()
    world.network.cells[late.address] = 1
    late.does(late.machine.join([members[0].address], world.now))
    meet(world, [*members[:2], late])
    world.heal()
    world.run(5.0)
    views = {process: process.view for process in world.live()}
    world.run(20.0)
    assert {process: process.view for process in world.live()} == views
    assert {len(view.members) for view in views.values()} == {2, 3}
    world.crash(late)
    assert meet(world) < 8.0


def test_a_split_into_single_processes_comes_together_again():
    world = World(29)
    members = world.group(6)
    world.split(*([process] for process in members))
    world.run(10.0)
    assert all(len(process.view.members) == 1 for process in members)
    world.heal()
    assert meet(world, within=30) < 20.0


def test_a_process_that_starts_again_at_its_address_replaces_the_one_before():
    world = World(30)
    members = world.group(3)
    world.crash(members[1])
    again = world.joiner([members[0].address], members[1].name, address=members[1].address)
    assert meet(world) < 1.0
    assert again.name + "#2" in labels(again)


def test_a_leader_that_starts_again_at_its_address_gets_back_in():
    world = World(31)
    members = world.group(3)
    world.crash(members[0])
    world.joiner([members[1].address], members[0].name, address=members[0].address)
    assert meet(world) < 1.0


def test_a_member_that_is_left_out_is_told_and_may_come_back():
    world = World(32)
    members = world.group(4)
    leader, slow = members[0], members[-1]
    leader.does(leader.machine.leave_out(slow.session, "held everyone back", world.now))
    assert meet(world, members[:-1]) < 0.5
    meet(world)
    assert slow.name + "#2" in labels(leader)


def test_members_that_do_not_lead_leave_no_others_out():
    world = World(33)
    members = world.group(3)
    by_rank = [world.by_session[session] for session in members[0].view.sessions]
    assert by_rank[1].machine.leave_out(by_rank[2].session, "slow", world.now) == []
    assert by_rank[2].machine.leave_out(by_rank[1].session, "slow", world.now) == []


def test_a_leader_that_holds_everyone_back_is_left_out_by_the_next_one():
    world = World(33)
    members = world.group(3)
    leader, *others = (world.by_session[session] for session in members[0].view.sessions)
    for process in others:
        process.does(process.machine.leave_out(leader.session, "held everyone back", world.now))
    assert meet(world, others) < 0.5
    meet(world)
    assert leader.name + "#2" in labels(others[0])


def test_a_survivor_that_lives_but_does_not_answer_is_left_out_in_the_end():
    world = World(34, timing=Timing(flush_timeout=2.0))
    members = world.group(3)
    mute = world.by_session[members[0].view.sessions[1]]
    world.network.drops = lambda source, to, frame: source == mute.address and isinstance(frame, Flushed)
    joiner = world.joiner([members[0].address])
    others = [process for process in members if process is not mute]
    assert 2.0 < meet(world, [*others, joiner]) < 4.0


def test_one_that_hears_nobody_goes_alone_without_taking_the_others_apart():
    world = World(36)
    members = world.group(5)
    deaf = world.by_session[members[0].view.sessions[0]]
    world.network.cut_links = {(process.address, deaf.address) for process in members}
    others = [process for process in members if process is not deaf]
    assert meet(world, others) < AFTER_A_CRASH
    assert all(len(process.history) <= 3 for process in others)
    world.heal()
    meet(world)


def test_frames_that_are_out_of_place_are_ignored():
    world = World(35)
    a, b = world.group(2)
    view, way = a.view, Way("h", 1, 1)
    odd: list[MembershipFrame] = [
        Prepare((99, 5), view.id, way),
        Flushed((99, 5), b"\1", ((0, 1, 0, 1),)),
        Sync((99, 5), view.id, way, None, ()),
        Sync((99, b.session), view.id, way, None, ()),
        Admission((99, b.session), b.address, view, ()),
        Synced((99, a.session)),
        Synced((99, a.session), b"\377"),
        Install((99, 5)),
        Install((99, 5), way),
        Installed((99, 5)),
        Farewell(1, "why"),
        Redirect("h", 1),
        Elsewhere((99, 5), 0),
        Join(MemberInfo(5, "x", 1, "h", 9), "gsgc"),
    ]
    for frame in odd:
        a.does(a.machine.receive(frame, b.session, b.address, world.now))
    world.run(3.0)
    assert a.view is view
    assert not a.is_stopped


def test_every_frame_survives_the_wire():
    seen = {}
    schedule = Schedule(3)
    schedule.world.network.drops = lambda source, to, frame: (
        bool(seen.setdefault(type(frame), frame)) and False
    )
    schedule.run()
    decoder = msgspec.msgpack.Decoder(MembershipFrame)
    frames = [frame for kind, frame in seen.items() if issubclass(kind, msgspec.Struct)]
    assert len(frames) > 10
    for frame in frames:
        assert decoder.decode(msgspec.msgpack.encode(frame)) == frame


def soaked(numbers):
    return [pytest.param(number, marks=pytest.mark.soak) for number in numbers]


BATCHES = [*range(0, 100, 20), *soaked(range(100, 4000, 20))]
CROWDS = [*range(4), *soaked(range(4, 100))]


@pytest.mark.parametrize("first", BATCHES)
def test_whatever_goes_wrong_views_agree_and_all_meet_again(first):
    for seed in range(first, first + 20):
        try:
            Schedule(seed).run()
        except Broken as broken:
            pytest.fail(f"Schedule({seed}).run(): {broken}")


@pytest.mark.parametrize("seed", CROWDS)
def test_whatever_goes_wrong_in_large_groups_views_agree_and_all_meet_again(seed):
    """Groups of 20 to 40: members pass on what others lead, and crash while they do; answers are lost."""
    try:
        Schedule(seed, crowded=True).run()
    except Broken as broken:
        pytest.fail(f"Schedule({seed}, crowded=True).run(): {broken}")


@pytest.mark.parametrize("size", [2, 5, 16])
def test_a_crash_is_followed_by_a_view_soon_after_fail_after(size):
    for seed in range(3):
        world = World(seed)
        members = world.group(size)
        world.crash(members[seed % size])
        assert 2.5 < meet(world) < AFTER_A_CRASH


MEMBERS = tuple(MemberInfo(10 + i, name, 1, "h", i) for i, name in enumerate("abc"))
OLD = View(1, 1, MEMBERS, "g", {"a": 1, "b": 1, "c": 1})


def test_the_cut_is_the_largest_prefix_and_its_holder_the_source_if_it_can():
    base = ((2, 1), (2, 1), (7, 7))
    first = report_of((2, 10), 0, base, (5, 2, 7), 3)
    second = report_of((2, 10), 1, base, (5, 3, 9), 2)
    both = merged(second, first)
    assert both == merged(first, second) == merged(both, second)
    assert (cut_of(base, both.sent), holders_of(OLD, both.sent)) == ((5, 3, 9), (10, 11, 11))
    assert (cut_of(base, first.sent), holders_of(OLD, first.sent)) == ((5, 2, 7), (10, 11, 12))
    assert both.members == b"\3"
    assert numbers_after(OLD, base, both.sent, OLD) == ((5, 3), (3, 2), (9, 7))


@pytest.mark.parametrize(
    ("before", "stay", "left", "keeps"),
    [(5, 3, 0, True), (5, 2, 0, False), (4, 2, 0, True), (3, 1, 0, False), (3, 1, 1, True), (2, 1, 0, True)],
)
def test_a_view_keeps_its_line_with_half_of_those_who_did_not_leave(before, stay, left, keeps):
    assert keeps_line(before, stay, left) == keeps


def test_a_view_off_the_main_line_has_a_name_of_its_own():
    change = Change((2, 10), OLD, 0b001, 0, 0.0)
    view = next_view(0xABCDEF0123456789, 2, change, [], group="g", receives={})
    assert view.line == "g~abcdef01"


def test_a_joiner_is_given_the_next_incarnation_of_its_name_or_what_it_asks_for():
    change = Change((2, 10), OLD, 0b111, 0, 0.0)
    asks = [MemberInfo(20, "a", 1, "h", 7), MemberInfo(21, "new", 4, "h", 8), MemberInfo(22, "a", 1, "h", 9)]
    view = next_view(5, 2, change, asks, group="g", receives={})
    assert [member.label for member in view.members] == ["a", "b", "c", "a#2", "new#4", "a#3"]
    assert view.incarnations == {"b": 1, "c": 1, "new": 4, "a": 3}


def test_a_thousand_names_are_remembered_and_members_first_of_all():
    many = {f"n{i}": 1 for i in range(1005)}
    kept = without_oldest(many, {"n0"})
    assert len(kept) == 1000
    assert "n0" in kept
    assert "n5" not in kept
    assert "n6" in kept


def test_names_are_remembered_up_to_a_number_of_bytes():
    many = {f"{k:064d}": 1 for k in range(1_000)}
    first = f"{0:064d}"
    kept = without_oldest(many, {first})
    assert sum(map(len, kept)) <= REMEMBERED_BYTES + len(first)
    assert first in kept
    assert list(kept)[-1] == f"{999:064d}"
    assert len(kept) > 200


def test_of_two_views_the_main_line_goes_on_then_the_larger_then_the_later_one():
    def probe(**given: int) -> Probe:
        values = {"view": 9, "epoch": 5, "size": 5, "main": False} | given
        return Probe(**values, leader_host="h", leader_port=1)

    order = [probe(size=4, epoch=9), probe(epoch=4), probe(), probe(view=8), probe(epoch=6), probe(main=True)]
    assert sorted(order, key=precedence) == order
