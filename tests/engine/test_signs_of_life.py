"""What signs of life are about: what goes on, what neighbours know less of, and a little of the rest."""

import random
from types import SimpleNamespace

from stablecast.engine.signs_of_life import IDLE_SOURCES, MOST_SOURCES, SignsOfLife
from stablecast.membership.detector import Detector
from stablecast.membership.links import Links
from stablecast.membership.messages import Alive
from stablecast.membership.view import MemberInfo, View
from stablecast.multicast.heard import Heard
from stablecast.multicast.round_trips import RoundTrips
from stablecast.multicast.streams import Streams

EVERY = 0.25


class Payloads:
    """Stands for a data plane."""

    def __init__(self, size):
        self.streams = Streams([f"m{rank}" for rank in range(size)], [(0, 0)] * size)
        self.busy, self.settled = {}, {}
        self.since = {}
        self.has = Heard([0] * size)
        self.limit = None
        self.heard_of = []

    def prefixes(self):
        return tuple(self.streams.prefix(source) for source in range(len(self.streams)))

    def reported(self, source):
        return self.streams.prefix(source)

    def awaited(self):
        return [(source, SimpleNamespace(at=at, last=1)) for source, at in self.since.items()]

    def hear_of(self, source, part, by, now):
        self.heard_of.append((source, part, by))

    def told_with_signs(self, sources):
        return None

    def comes(self, source, part, at):
        """Let something unstable be there."""
        self.streams[source].prefix = part
        self.busy[source], self.since[source] = self.streams[source], at

    def settles(self, source):
        del self.busy[source], self.since[source]
        self.settled[source] = None


class Stable:
    """Stands for a tracker."""

    def __init__(self, size):
        self.stable = [0] * size

    def take_stable(self, source, part):
        rises = part > self.stable[source]
        self.stable[source] = max(part, self.stable[source])
        return rises


class Member:
    """Signs of life of rank 0, with all that they send."""

    def __init__(self, size):
        members = tuple(MemberInfo(100 + rank, f"m{rank}", 1, "h", rank) for rank in range(size))
        view = View(1, 1, members, "g", {})
        rng = random.Random(1)
        self.detector = Detector(view, 100, fail_after=3.0, every=EVERY, rng=rng, now=0.0)
        self.data, self.stability, self.sent = Payloads(size), Stable(size), []
        self.is_full, self.now = False, 0.0
        self.signs = SignsOfLife(
            view,
            0,
            detector=self.detector,
            links=Links(0, size, every=EVERY),
            data=self.data,
            stability=self.stability,
            around=self,
            trips=RoundTrips(),
            now=0.0,
        )

    def to_rank(self, frame, rank):
        self.sent.append((frame, rank))

    def round(self):
        """Have a round; return what is told of sources."""
        self.sent.clear()
        self.signs.tell(self.now)
        self.now += EVERY
        assert {rank for _, rank in self.sent} == set(self.detector.watched)
        return {source: told for source, *told in self.sent[0][0].has}

    def hears(self, *has, **fields):
        frame = Alive(1, 1, has, stamp=1, **fields)
        self.signs.take(frame, self.detector.watched[0], self.now)


def test_a_source_is_told_while_something_of_it_is_unstable_and_once_more():
    member = Member(40)
    assert member.round() == {}
    member.data.comes(5, 3, at=0.2)
    assert member.round() == {5: [3, 0]}
    assert member.round() == {5: [3, 0]}
    member.stability.stable[5] = 3
    member.data.settles(5)
    assert member.round() == {5: [3, 3]}


def test_a_source_whose_messages_became_stable_between_two_rounds_is_told_once():
    member = Member(200)
    member.data.comes(150, 3, at=0.1)
    member.stability.stable[150] = 3
    member.data.settles(150)
    assert member.round()[150] == [3, 3]
    assert 150 not in member.round()


def test_all_sources_that_have_sent_take_turns_where_nothing_goes_on():
    member = Member(200)
    for source in range(0, 200, 2):
        member.data.streams[source].prefix = 1
    told = [member.round() for _ in range(25)]
    assert all(len(sources) == IDLE_SOURCES for sources in told)
    assert {source for sources in told for source in sources} == set(range(0, 200, 2))


def test_nothing_is_made_for_sources_that_have_not_sent():
    member = Member(200)
    for _ in range(30):
        member.hears((7, 0, 0))
        member.round()
    assert member.data.streams.known() == []


def test_who_knows_more_than_its_neighbour_says_so_in_its_next_round():
    member = Member(200)
    for source in (150, 151, 152):
        member.data.streams[source].prefix = member.stability.stable[source] = 9
    member.hears((150, 9, 7), (151, 9, 9), (152, 8, 8))
    told = member.round()
    assert told[150] == told[152] == [9, 9]
    assert 151 not in told
    assert 150 not in member.round()


def test_what_a_neighbour_knows_more_is_taken_over_and_told_on_by_who_does_not_receive_it_too():
    member = Member(200)
    member.hears((150, 9, 7))
    assert member.data.heard_of == [(150, 9, member.detector.watched[0])]
    assert member.stability.stable[150] == 7
    assert member.round()[150] == [0, 7]


def test_of_very_many_sources_those_are_told_that_wait_for_longest_and_those_asked_for():
    member = Member(400)
    member.detector.tick(0.0)
    for source in range(300):
        member.data.comes(source, 1, at=300.0 - source)
    member.now = 300.0
    member.stability.stable[350] = member.data.streams[350].prefix = 4
    member.hears((350, 4, 2))
    told = member.round()
    assert len(told) == MOST_SOURCES
    assert told[350] == [4, 4]
    assert set(told) - {350} == set(range(299, 299 - MOST_SOURCES + 1, -1))
    assert [source for source, _ in member.sent[0][0].least] == list(range(299, 299 - MOST_SOURCES, -1))


def test_what_is_not_of_this_view_is_passed_over():
    member = Member(10)
    member.hears((10, 1, 1), (99, 1, 1))
    assert member.data.heard_of == []


def test_who_tells_of_as_many_sources_as_fit_may_have_left_some_out():
    member = Member(400)
    rank = member.detector.watched[0]
    member.now = 0.5
    member.hears(*((source, 1, 0) for source in range(MOST_SOURCES)))
    assert not member.signs.has_had_its_turn(rank, 0.1, 0.6)
    member.hears((0, 1, 0))
    assert member.signs.has_had_its_turn(rank, 0.1, 0.6)
