"""Whom a member asks for what it lacks: those who keep it first, and in the end everyone."""

import pytest

from stablecast.membership.audiences import Audiences
from stablecast.membership.links import Links
from stablecast.membership.view import MemberInfo, View
from stablecast.multicast.frames import Data
from stablecast.multicast.heard import Heard
from stablecast.multicast.keepers import Keepers

SIZE = 12
MEMBERS = tuple(MemberInfo(1_000 + 7 * k, f"m{k}", 1, "h", 7000 + k) for k in range(SIZE))
VIEW = View(1, 1, MEMBERS, "orders", {})
SOURCE, ME = 0, 11
NOBODY = frozenset()


def keepers(rank=ME, *, policy="two-buffers", copies=3, has=None, unheard=(), above=()):
    links = Links(rank, SIZE, every=0.25)
    links.look(unheard, 1, 0.0)
    heard = Heard([0] * SIZE)
    for of, row in enumerate(has or [[30] * SIZE for _ in MEMBERS]):
        for source, part in enumerate(row):
            heard.take(of, source, part)
    audiences = Audiences(VIEW.members)
    return Keepers(
        VIEW.sessions,
        rank,
        audiences=audiences,
        policy=policy,
        copies=copies,
        has=heard,
        links=links,
        above=lambda source: above,
    )


def chosen(part, copies=3):
    run = Data(VIEW.id, SOURCE, part, part, [b"x"])
    return {rank for rank in range(SIZE) if keepers(rank, copies=copies).keeps(SOURCE, run)}


def asked_in_turn(asker, part, tries, suspects=NOBODY):
    return [asker.whom_to_ask(SOURCE, part, tries=k, suspects=suspects) for k in tries]


def test_the_source_is_asked_twice_and_then_it_and_those_whom_the_hash_chooses():
    asker = keepers()
    assert asked_in_turn(asker, 5, range(2)) == [SOURCE, SOURCE]
    for part in range(1, 40):
        first = chosen(part) - {ME} | {SOURCE}
        order = asked_in_turn(asker, part, range(2, 2 + SIZE - 1))
        assert set(order[: len(first)]) == first
        assert set(order) == set(range(SIZE)) - {ME}  # whatever others were told, in the end everyone


def test_each_gap_is_asked_of_its_own_keepers():
    asker = keepers()
    assert len({asker.whom_to_ask(SOURCE, part, tries=2, suspects=NOBODY) for part in range(1, 40)}) > 1


def test_those_who_are_chosen_are_asked_before_those_who_are_known_to_have_received_it():
    keep = chosen(5) - {ME} | {SOURCE}
    has = [[4 if rank in keep or rank < 6 else 30] * SIZE for rank in range(SIZE)]
    order = asked_in_turn(keepers(has=has), 5, range(2, 2 + SIZE - 1))
    assert set(order[: len(keep)]) == keep
    others = order[len(keep) :]
    assert others == sorted(others, key=lambda rank: has[rank][SOURCE] < 5)


def test_where_all_keep_everything_those_come_first_who_are_known_to_have_received_it():
    has = [[4 if rank % 2 else 30] * SIZE for rank in range(SIZE)]
    order = asked_in_turn(keepers(policy="until-stable", has=has), 5, range(2, 2 + SIZE - 1))
    assert [rank % 2 for rank in order] == [0] * 6 + [1] * 5


def test_those_who_are_suspected_come_last():
    silent = frozenset(chosen(5) - {ME} | {SOURCE})
    order = asked_in_turn(keepers(), 5, range(2, 2 + SIZE - 1), silent)
    assert set(order[-len(silent) :]) == silent


def test_a_source_that_is_not_heard_directly_is_asked_last():
    order = asked_in_turn(keepers(unheard=[SOURCE]), 5, range(SIZE - 1))
    assert order[-1] == SOURCE
    assert set(order) == set(range(SIZE)) - {ME}


@pytest.mark.parametrize("policy", ["two-buffers", "until-stable"])
def test_while_the_view_ends_the_source_is_asked_if_it_takes_part_and_every_fourth_time_another(policy):
    asker = keepers(policy=policy)
    asker.holders = [member.session for member in MEMBERS]
    order = asked_in_turn(asker, 5, range(8))
    assert [rank == SOURCE for rank in order] == [True, True, True, False] * 2


def test_while_the_view_ends_a_member_that_has_received_everything_is_trusted_only_if_all_keep_everything():
    for policy, is_trusted in (("until-stable", True), ("two-buffers", False)):
        asker = keepers(policy=policy)
        asker.holders = [MEMBERS[4].session] * SIZE
        for part in range(1, 40):
            order = asked_in_turn(asker, part, range(3))
            assert (order == [4, 4, 4]) == is_trusted
            if not is_trusted:
                assert set(order) & chosen(part) or not chosen(part) - {ME}


def test_who_passes_data_on_is_asked_twice_before_the_source():
    assert asked_in_turn(keepers(above=(4, 7, SOURCE)), 5, range(4)) == [4, 4, SOURCE, SOURCE]


def test_who_gets_data_from_the_source_itself_asks_the_source():
    assert asked_in_turn(keepers(above=(SOURCE,)), 5, range(2)) == [SOURCE, SOURCE]


def test_who_passes_data_on_and_is_suspected_or_not_heard_is_not_asked_first():
    asker = keepers(above=(4, SOURCE))
    assert asked_in_turn(asker, 5, range(2), suspects=frozenset({4})) == [SOURCE, SOURCE]
    assert asked_in_turn(keepers(above=(4, SOURCE), unheard=[4]), 5, range(2)) == [SOURCE, SOURCE]
