from hypothesis import given
from hypothesis import strategies as st

from stablecast.engine.reports import GOES_ON_S, MOST_SOURCES, NO_ROUND, Rounds


class Members:
    """Members with what they have of each source, which tell each other of rounds."""

    def __init__(self, size):
        self.has = [[0] * size for _ in range(size)]
        self.rounds = [Rounds(rank, size, self.reader(rank)) for rank in range(size)]
        self.found = [[0] * size for _ in range(size)]

    def reader(self, rank):
        return lambda source: self.has[rank][source]

    def begin(self, rank, now=0.0, sources=None):
        self.rounds[rank].begin(range(len(self.has)) if sources is None else sources, now)

    def tell(self, one, other, now=0.0):
        self.hear(other, self.rounds[one].to_tell(now), now)

    def hear(self, other, told, now=0.0):
        if told != NO_ROUND:
            for source, part in self.rounds[other].take(told, now):
                self.found[other][source] = max(part, self.found[other][source])

    def everywhere(self):
        """Return what every member has of each source."""
        return [min(column) for column in zip(*self.has, strict=True)]


def test_what_everyone_has_is_found_where_everyone_is_in_the_round():
    members = Members(3)
    members.has = [[5, 2, 0], [4, 2, 1], [4, 3, 0]]
    members.begin(0)
    for one, other in [(0, 1), (1, 2), (2, 0)]:
        members.tell(one, other)
    assert members.found == [[0, 0, 0], [0, 0, 0], [4, 2, 0]]  # the last one that comes in knows first
    members.tell(0, 1)
    assert members.rounds[2].to_tell(0.0) == NO_ROUND


def test_a_round_is_about_the_sources_that_its_beginner_waits_for():
    members = Members(3)
    members.has = [[5, 2, 3], [4, 2, 3], [4, 3, 3]]
    members.begin(0, sources=[0, 2])
    for one, other in [(0, 1), (1, 2)]:
        members.tell(one, other)
    number, least, _ = members.rounds[0].to_tell(0.0)
    assert number > 0
    assert dict(least) == {0: 5, 2: 3}
    assert members.found[2] == [4, 0, 3]


def test_of_two_rounds_that_begin_together_with_different_sources_one_goes_on():
    members = Members(3)
    members.has = [[5, 5, 5], [4, 4, 4], [3, 3, 3]]
    members.begin(0, sources=[0])
    members.begin(1, sources=[1])
    for one, other in [(0, 1), (1, 0), (1, 2), (0, 2), (2, 0), (2, 1)]:
        members.tell(one, other)
    assert members.found == [[0, 0, 0], [0, 0, 0], [0, 3, 0]]


def test_a_larger_round_takes_the_place_of_a_smaller_one_with_what_members_have_by_then():
    members = Members(2)
    members.has = [[1, 1], [0, 1]]
    members.begin(1)
    members.tell(1, 0)
    assert members.found[0] == [0, 1]
    members.has[1] = [1, 1]
    members.begin(0)
    members.tell(0, 1)
    assert members.found[1] == [1, 1]


def test_nobody_tells_of_a_round_that_there_is_no_news_of():
    members = Members(3)
    members.begin(0, now=1.0)
    assert members.rounds[0].to_tell(1.0 + GOES_ON_S) != NO_ROUND
    members.tell(0, 1, now=1.0 + GOES_ON_S)
    assert members.rounds[0].to_tell(1.1 + GOES_ON_S) == NO_ROUND
    assert members.rounds[1].to_tell(1.0 + 2 * GOES_ON_S) != NO_ROUND


def test_what_makes_no_sense_is_passed_over():
    rounds = Rounds(0, 300, lambda source: 1)
    assert rounds.take((7, ((300, 9),), b"\xff"), 0.0) == ()
    assert rounds.take((7, (), b"\xff" * 99), 0.0) == ()
    assert rounds.take((7, tuple((k, 9) for k in range(MOST_SOURCES + 1)), b"\xff" * 99), 0.0) == ()
    assert rounds.to_tell(0.0) == NO_ROUND
    assert rounds.take((7, ((3, 9),), b"\x02"), 0.0) == ()
    assert rounds.take((7, ((4, 9),), b"\xff" * 99), 0.0) == ()
    assert rounds.take((7, ((3, 9),), b"\xff" * 99), 0.0) == ((3, 1),)


STEPS = st.one_of(
    st.tuples(st.just("get"), st.integers(0, 3), st.integers(0, 3)),
    st.tuples(st.just("begin"), st.integers(0, 3), st.integers(0, 15)),
    st.tuples(st.just("send"), st.integers(0, 3), st.just(0)),
    st.tuples(st.just("arrive"), st.integers(0, 3), st.integers(0, 200)),
)


@given(st.lists(STEPS, max_size=150))
def test_whatever_is_lost_late_or_repeated_nothing_is_found_that_somebody_lacks(steps):
    members, on_the_way = Members(4), []
    for what, one, other in steps:
        if what == "get":
            members.has[one][other] += 1
        elif what == "begin":
            members.begin(one, sources=[source for source in range(4) if other >> source & 1])
        elif what == "send":
            on_the_way.append(members.rounds[one].to_tell(0.0))
        elif on_the_way:
            members.hear(one, on_the_way[other % len(on_the_way)])
        for found in members.found:
            assert all(part <= least for part, least in zip(found, members.everywhere(), strict=True))
