"""The payloads of one view at one member, alone: no engine, no network, and a stability that is told."""

import random

import pytest

from stablecast.membership.audiences import Audiences
from stablecast.membership.links import Links
from stablecast.membership.view import MemberInfo
from stablecast.multicast.answering import BURST
from stablecast.multicast.data_plane import DataPlane
from stablecast.multicast.frames import Data, Nak, Progress, SentSoFar
from stablecast.multicast.round_trips import RoundTrips

VIEW = 7
SESSIONS = (101, 102, 103)
MEMBERS = tuple(MemberInfo(session, f"m{session}", 1, "127.0.0.1", session) for session in SESSIONS)


class Around:
    def __init__(self):
        self.sent = []
        self.taken = []
        self.let_go = []
        self.is_full = False

    def to_rank(self, frame, rank):
        self.sent.append((rank, frame))

    def to_audience(self, frame):
        self.sent.append((None, frame))

    def took(self, source, stream, run, now):
        self.taken.append((source, run.part))

    def released(self, source, stream, runs, now):
        self.let_go.append((source, [kept.first for kept in runs]))

    def dropped(self, source, runs, now):
        self.let_go.append((source, [kept.first for kept in runs]))

    def pop(self):
        sent, self.sent = self.sent, []
        return sent


class Stability:
    attaches = False
    width = 0
    knows_own = False
    starter = None

    def __init__(self):
        self.stable = [0] * len(SESSIONS)
        self.received = [0] * len(SESSIONS)
        self.rose = False

    def holds(self, source, part):
        return True

    def has_received(self, source, part, now):
        self.received[source] = part

    def take_stable(self, source, part):
        self.rose |= part > self.stable[source]
        self.stable[source] = max(self.stable[source], part)


@pytest.fixture
def around():
    return Around()


@pytest.fixture
def stability():
    return Stability()


def plane(around, stability, **more):
    told = {"policy": "until-stable", "copies": 1, "short_s": 0.0, "first_s": lambda: 0.004} | more
    return DataPlane(
        VIEW,
        0,
        sessions=SESSIONS,
        labels="abc",
        audiences=Audiences(MEMBERS),
        numbers=[(0, 0)] * 3,
        stability=stability,
        around=around,
        links=Links(0, 3, every=0.25),
        trips=RoundTrips(),
        rng=random.Random(1),
        suspects=lambda now: frozenset(),
        **told,
    )


def run_of(source, part, count=1, stable=0):
    return Data(VIEW, source, part, part, [b"x"] * count, [], stable)


def test_runs_join_the_prefix_in_order_whatever_order_they_come_in(around, stability):
    data = plane(around, stability)
    for part in (1, 4, 3, 2, 4):
        data.take(run_of(1, part), 0.0)
    assert around.taken == [(1, part) for part in (1, 2, 3, 4)]
    assert data.prefixes() == (0, 4, 0)
    assert stability.received == [0, 4, 0]


def test_what_is_missing_is_asked_of_its_source_then_of_others_and_comes_back(around, stability):
    data = plane(around, stability)
    data.take(run_of(1, 3), 0.0)
    asked = []
    for _ in range(4):
        data.handle_timer(data.next_timer())
        asked += around.pop()
    assert {frame.ranges[0] for _, frame in asked} == {(1, 2)}
    assert [rank for rank, _ in asked][:2] == [1, 1]
    assert 2 in [rank for rank, _ in asked]
    data.take(run_of(1, 1, count=2), 1.0)
    assert data.prefixes() == (0, 3, 0)
    data.handle_timer(1.0)
    assert data.next_timer() == float("inf")


def test_a_request_is_answered_from_what_is_kept(around, stability):
    data = plane(around, stability)
    for part in (1, 2, 3):
        data.take(run_of(1, part), 0.0)
    data.answer(Nak(VIEW, 1, [(2, 3)]), 2, 0.0)
    assert [(rank, frame.part) for rank, frame in around.pop()] == [(2, 2), (2, 3)]
    stability.take_stable(1, 2)
    data.sweep(0.0)
    assert around.let_go == [(1, [1, 2])]
    data.answer(Nak(VIEW, 1, [(1, 3)]), 2, 0.0)
    assert around.pop() == []  # it has just left
    data.answer(Nak(VIEW, 1, [(1, 3)]), 2, 1.0)
    assert [frame.part for _, frame in around.pop()] == [3]


def test_what_is_asked_for_beyond_a_burst_leaves_later(around, stability):
    data = plane(around, stability)
    parts = range(1, 3 * BURST + 1)
    for part in parts:
        data.take(run_of(1, part), 0.0)
    data.answer(Nak(VIEW, 1, [(parts[0], parts[-1])]), 2, 0.0)
    assert len(around.sent) == BURST
    while (due := data.next_timer()) < float("inf"):
        data.handle_timer(due)
    assert [(rank, frame.part) for rank, frame in around.pop()] == [(2, part) for part in parts]


def test_what_became_stable_before_it_left_is_not_sent(around, stability):
    data = plane(around, stability)
    for part in range(1, BURST + 3):
        data.take(run_of(1, part), 0.0)
    data.answer(Nak(VIEW, 1, [(1, BURST + 2)]), 2, 0.0)
    stability.take_stable(1, BURST + 1)
    data.sweep(0.0)
    while (due := data.next_timer()) < float("inf"):
        data.handle_timer(due)
    assert [frame.part for _, frame in around.pop()] == [*range(1, BURST + 1), BURST + 2]


@pytest.mark.parametrize(("first_s", "times"), [(0.004, [0.01, 0.03, 0.07]), (1.2, [1.2, 3.6, 8.4])])
def test_how_much_was_sent_is_said_at_doubling_distances_once_it_could_be_stable(
    around, stability, first_s, times
):
    data = plane(around, stability, first_s=lambda: first_s)
    data.add_own(run_of(0, 1), 0.0)
    said = []
    while len(said) < len(times):
        said.append(data.next_timer())
        data.handle_timer(said[-1])
    assert said == pytest.approx(times)
    assert around.pop() == [(None, SentSoFar(VIEW, 1, 0))] * len(times)


def test_nothing_is_said_any_more_once_all_is_stable(around, stability):
    data = plane(around, stability)
    data.add_own(run_of(0, 1), 0.0)
    stability.take_stable(0, 1)
    data.sweep(0.001)
    data.handle_timer(data.next_timer())
    assert data.next_timer() == float("inf")
    assert around.pop() == []


def test_what_is_sent_later_is_announced_later_if_stability_takes_longer_by_then(around, stability):
    seconds = [0.02]
    data = plane(around, stability, first_s=lambda: seconds[0])
    data.add_own(run_of(0, 1), 0.0)
    assert data.next_timer() == pytest.approx(0.02)
    seconds[0] = 0.3
    data.add_own(run_of(0, 2), 0.01)
    assert data.next_timer() == pytest.approx(0.31)


def test_who_asks_for_progress_is_answered(around, stability):
    data = plane(around, stability)
    data.take(run_of(1, 1), 0.0)
    data.take_sent_so_far(SentSoFar(VIEW, 2, 0, True), 1, 0.0)
    assert around.pop() == [(1, Progress(VIEW, 1, 1))]
    assert data.next_timer() < float("inf")


def test_a_full_application_takes_nothing_in_until_it_has_room(around, stability):
    data = plane(around, stability)
    around.is_full = True
    data.take(run_of(1, 1), 0.0)
    assert data.prefixes() == (0, 0, 0)
    around.is_full = False
    data.ask_again(0.5)
    data.handle_timer(0.5)
    assert around.pop() == [(1, Nak(VIEW, 1, [(1, 1)]))]


def test_at_the_end_of_a_view_nothing_beyond_the_cut_is_taken_in(around, stability):
    data = plane(around, stability)
    data.take(run_of(1, 2), 0.0)
    data.take(run_of(1, 3), 0.0)
    data.stop()
    data.get_up_to((0, 2, 0), SESSIONS, 0.0)
    assert not data.has_cut()
    data.take(run_of(1, 1), 0.0)
    assert data.has_cut()
    assert data.prefixes() == (0, 2, 0)
    data.settle(0.0)
    assert around.let_go == [(1, [1, 2])]
