import pytest

from stablecast.engine.outcomes import TIMES_KEPT, Outcomes
from stablecast.engine.results import MessageId, Stable, StableInSmallerView

ABC, AB = ("a", "b", "c"), ("a", "b")


@pytest.fixture
def outcomes():
    found = Outcomes("a")
    found.begin_view(0, ABC)
    return found


def test_nothing_is_known_of_a_message_that_is_not_stable(outcomes):
    assert outcomes.of(1, 0.0) is None
    outcomes.became_stable(3, ABC, 1.0)
    assert outcomes.of(4, 0.0) is None


def test_a_message_that_all_have_is_stable_since_the_first_time_that_was_known(outcomes):
    outcomes.became_stable(3, ABC, 1.0)
    outcomes.became_stable(5, ABC, 2.0)
    assert outcomes.of(2, 0.25) == Stable(MessageId("a", 2), ABC, 0.75)
    assert outcomes.of(3, 0.25) == Stable(MessageId("a", 3), ABC, 0.75)
    assert outcomes.of(4, 0.25) == Stable(MessageId("a", 4), ABC, 1.75)


def test_a_member_that_went_before_it_was_stable_is_named(outcomes):
    outcomes.became_stable(2, ABC, 1.0)
    outcomes.became_stable(4, AB, 2.0)
    outcomes.begin_view(4, AB)
    outcomes.became_stable(6, AB, 3.0)
    assert isinstance(outcomes.of(2, 0.0), Stable)
    assert outcomes.of(3, 0.0) == StableInSmallerView(MessageId("a", 3), AB, ("c",), 2.0)
    assert isinstance(outcomes.of(5, 0.0), Stable)


def test_a_member_that_joined_later_is_not_missed(outcomes):
    outcomes.became_stable(1, ABC, 1.0)
    outcomes.begin_view(1, (*ABC, "d"))
    outcomes.became_stable(2, (*ABC, "d"), 2.0)
    assert outcomes.of(1, 0.0).members == ABC
    assert outcomes.of(2, 0.0).members == (*ABC, "d")


def test_what_is_older_news_changes_nothing(outcomes):
    outcomes.became_stable(3, ABC, 1.0)
    outcomes.became_stable(2, AB, 2.0)
    assert outcomes.stable_seq == 3
    assert outcomes.of(2, 0.0) == Stable(MessageId("a", 2), ABC, 1.0)


def test_memory_does_not_grow_with_messages(outcomes):
    for seq in range(1, 3 * TIMES_KEPT):
        outcomes.became_stable(seq, ABC, float(seq))
    assert outcomes.of(1, 0.0).members == ABC
    assert outcomes.of(3 * TIMES_KEPT - 1, 0.0).seconds == 3 * TIMES_KEPT - 1
