"""Whom a member asks for what it lacks: those who keep it first, and in the end everyone."""

import pytest

from stablecast.live.keepers import Keepers
from stablecast.live.wire import Data
from stablecast.membership.detector import Detector
from stablecast.membership.view import MemberInfo, View

SIZE = 12
MEMBERS = tuple(MemberInfo(1_000 + 7 * k, f"m{k}", 1, "h", 7000 + k) for k in range(SIZE))
VIEW = View(1, 1, MEMBERS, "orders", {})
SOURCE, ME = 0, 11
NOW = 4.0
RANGES = [(5, 9), (20, 20)]


class Still:
    """No randomness."""

    def getrandbits(self, k):
        return 0

    def random(self):
        return 0.0


def keepers(rank=ME, *, policy="two-buffers", copies=3, has=None, silent=()):
    """Return what a member knows, 4 s after the view began, of which others were silent for 3 s."""
    session = MEMBERS[rank].session
    detector = Detector(VIEW, session, fail_after=3.0, every=0.25, rng=Still(), now=0.0)
    for second in range(5):
        detector.tick(float(second))
    for other in set(range(SIZE)) - set(silent):
        detector.heard(other, NOW)
    has = has or [[30] * SIZE for _ in MEMBERS]
    return Keepers(VIEW, rank, policy=policy, copies=copies, has=has, detector=detector)


def chosen(part, copies=3):
    run = Data(VIEW.id, SOURCE, part, part, [b"x"])
    return {rank for rank in range(SIZE) if keepers(rank, copies=copies).keeps(SOURCE, run)}


def asked_in_turn(asker, part, tries):
    return [next(iter(asker.whom_to_ask(SOURCE, [(part, part)], tries=k, now=NOW))) for k in tries]


def test_the_source_is_asked_twice_and_then_it_and_those_whom_the_hash_chooses():
    asker = keepers()
    assert asker.whom_to_ask(SOURCE, RANGES, tries=0, now=NOW) == {SOURCE: RANGES}
    for part in range(1, 40):
        first = chosen(part) - {ME} | {SOURCE}
        order = asked_in_turn(asker, part, range(2, 2 + SIZE - 1))
        assert set(order[: len(first)]) == first
        assert set(order) == set(range(SIZE)) - {ME}  # whatever others were told, in the end everyone


def test_each_range_is_asked_of_its_own_keepers():
    asked = keepers().whom_to_ask(SOURCE, [(part, part) for part in range(1, 40)], tries=2, now=NOW)
    assert len(asked) > 1
    assert sorted(wanted for ranges in asked.values() for wanted in ranges) == [(k, k) for k in range(1, 40)]


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


def test_those_who_are_silent_come_last():
    silent = chosen(5) - {ME} | {SOURCE}
    order = asked_in_turn(keepers(silent=silent), 5, range(2, 2 + SIZE - 1))
    assert set(order[-len(silent) :]) == silent


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
