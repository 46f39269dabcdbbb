import pytest

from stablecast.errors import InvalidInput
from stablecast.membership.slow_members import (
    Evict,
    Exclude,
    Lagging,
    Recovered,
    SlowMembers,
    SlowPolicy,
)


def exclude_at(members: SlowMembers, now: float, key: str = "a") -> list:
    """Let a member hold back for long, and come back into the view afterwards."""
    steps = members.holding(7, now - 31, now, key=key)
    members.view_changed([])
    return steps


def test_a_member_that_holds_nothing_back_is_left_alone():
    members = SlowMembers(SlowPolicy())
    assert members.holding(7, None, 5.0) == []
    assert members.holding(7, 4.5, 5.0) == []


def test_lagging_is_said_once_and_recovery_once():
    members = SlowMembers(SlowPolicy())
    assert members.holding(7, 4.0, 5.0) == [Lagging(7, 1.0)]
    assert members.holding(7, 4.0, 6.0) == []
    assert members.holding(7, None, 7.0) == [Recovered(7)]
    assert members.holding(7, None, 8.0) == []


def test_a_member_that_holds_back_only_younger_messages_has_recovered():
    members = SlowMembers(SlowPolicy())
    members.holding(7, 4.0, 5.0)
    assert members.holding(7, 5.5, 6.0) == [Recovered(7)]
    assert members.holding(7, 5.5, 6.5) == [Lagging(7, 1.0)]


def test_exclusion_comes_after_lagging_and_is_said_again_while_the_member_is_there():
    members = SlowMembers(SlowPolicy())
    assert members.holding(7, 0.0, 2.0) == [Lagging(7, 2.0)]
    assert members.holding(7, 0.0, 30.0) == [Exclude(7, 30.0)]
    assert members.holding(7, 0.0, 30.5) == []
    assert members.holding(7, 0.0, 31.0) == [Exclude(7, 30.0)]
    assert members.banned_until(7, 31.0) is None


def test_one_that_was_excluded_too_often_is_evicted_and_banned_for_a_while():
    members = SlowMembers(SlowPolicy())
    assert isinstance(exclude_at(members, 100.0)[-1], Exclude)
    assert isinstance(exclude_at(members, 200.0)[-1], Exclude)
    assert exclude_at(members, 300.0)[-1] == Evict(7, 600.0)
    assert members.banned_until("a", 599.0) is not None
    assert members.banned_until("a", 599.0) == 600.0
    assert members.banned_until("b", 599.0) is None
    assert members.banned_until("a", 600.0) is None
    assert members.banned_until("a", 600.0) is None


def test_exclusions_of_long_ago_do_not_count():
    members = SlowMembers(SlowPolicy())
    for now in (100.0, 350.0, 600.0, 850.0):
        assert isinstance(exclude_at(members, now)[-1], Exclude)


def test_reminders_of_one_exclusion_count_as_one():
    members = SlowMembers(SlowPolicy())
    steps = [step for i in range(50) for step in members.holding(7, 0.0, 30.0 + i, key="a")]
    assert {type(step) for step in steps} == {Lagging, Exclude}


def test_steps_that_are_never_taken():
    never = SlowMembers(SlowPolicy(lagging_after=None, exclude_after=None))
    assert never.holding(7, 0.0, 1e6) == []
    only_exclude = SlowMembers(SlowPolicy(lagging_after=None, evict_after=None))
    for i in range(1, 10):
        assert exclude_at(only_exclude, 40.0 * i) == [Exclude(7, 31.0)]
    assert only_exclude.banned_until("a", 400.0) is None


@pytest.mark.parametrize(
    ("field", "value"), [("lagging_after", 0), ("exclude_after", -1), ("evict_after", 0), ("ban", -1)]
)
def test_what_makes_no_sense_is_refused(field, value):
    with pytest.raises(InvalidInput, match=field):
        SlowPolicy(**{field: value})
