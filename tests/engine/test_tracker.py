import heapq
import itertools
import random

import pytest

from stablecast.engine.choice import choose, live_protocols
from stablecast.engine.pace import Pace, PaceOptions
from stablecast.engine.tracker import Tracker
from stablecast.protocols.contract import GROUP

MEMBERS = 5
MESSAGES = 20
SAYS = 0
HEARS = 1


class Bus:
    """Trackers of one view: data comes to all at once, the protocols' messages may be lost."""

    def __init__(self, protocol, *, seed, loss, members=MEMBERS, bases=None, options=None):
        self.now = 0.0
        self.carried = 0
        self.log = []
        """What members sent to whom, when."""
        self.loss = loss
        self._only_sources_know = protocol == "explicit"
        self.bases = bases or [0] * members
        self._rng = random.Random(seed)
        self._queue = []
        self._order = itertools.count()
        self.trackers = [
            Tracker(
                choose(protocol, options),
                view=1234,
                rank=rank,
                bases=list(self.bases),
                pace=Pace(PaceOptions(), members),
                send=self._sender(rank),
                now=0.0,
            )
            for rank in range(members)
        ]

    def _sender(self, rank):
        def send(frame, dest):
            self.log.append((round(self.now, 6), rank, dest, frame))
            for other in range(len(self.bases)) if dest == GROUP else [dest]:
                if other != rank and self._rng.random() >= self.loss:
                    self._put(self.now + 0.0005 + 0.001 * self._rng.random(), HEARS, other, frame, rank)

        return send

    def _put(self, at, *what):
        heapq.heappush(self._queue, (at, next(self._order), what))

    def say(self, at, rank, part):
        """Let a member send a part at a time."""
        self._put(at, SAYS, rank, part, rank)

    def run(self, until):
        """Go on until nothing happens any more, or to a time."""
        while True:
            timers = [t for t in (tracker.next_timer() for tracker in self.trackers) if t is not None]
            at = min(timers, default=float("inf"))
            first = self._queue[0][0] if self._queue else float("inf")
            if min(at, first) > until:
                return
            if first <= at:
                self.now, _, what = heapq.heappop(self._queue)
                self._happen(*what)
            else:
                self.now = max(self.now, at)
                for tracker in self.trackers:
                    due = tracker.next_timer()
                    if due is not None and due <= self.now:
                        tracker.handle_timer(self.now)
            if self._only_sources_know:
                self._announce()

    def _announce(self):
        """Let members tell what they know of their own messages, as SENT does."""
        for source, tracker in itertools.product(self.trackers, self.trackers):
            tracker.take_stable(source.rank, source.stable[source.rank])

    def _happen(self, kind, rank, what, source):
        if kind == HEARS:
            self.carried += 1
            assert self.trackers[rank].receive(what, source, self.now)
            return
        attached = self.trackers[rank].attach(what, self.now) if self.trackers[rank].attaches else []
        for tracker in self.trackers:
            if attached and tracker.rank != rank:
                tracker.put_attached(rank, what, attached)
            tracker.has_received(rank, what, self.now)


@pytest.mark.parametrize("protocol", live_protocols())
def test_everything_is_found_stable_over_a_lossy_network_and_then_the_members_rest(protocol):
    bus = Bus(protocol, seed=1, loss=0.1)
    for k, rank in itertools.product(range(1, MESSAGES + 1), range(MEMBERS)):
        bus.say(k * 0.01, rank, k)
    bus.run(until=20.0)
    assert [tracker.stable for tracker in bus.trackers] == [[MESSAGES] * MEMBERS] * MEMBERS
    assert bus.now < 10.0
    carried = bus.carried
    bus.run(until=60.0)
    assert bus.carried == carried
    assert all(tracker.next_timer() is None for tracker in bus.trackers)


@pytest.mark.parametrize("protocol", live_protocols())
def test_a_group_that_rests_wakes_up_for_a_new_message(protocol):
    bus = Bus(protocol, seed=2, loss=0.0)
    bus.run(until=5.0)
    bus.say(10.0, 2, 1)
    bus.run(until=12.0)
    assert {tuple(tracker.stable) for tracker in bus.trackers} == {(0, 0, 1, 0, 0)}


@pytest.mark.parametrize("protocol", live_protocols())
def test_nothing_is_stable_that_one_member_lacks(protocol):
    bus = Bus(protocol, seed=3, loss=0.0, members=4)
    for tracker in bus.trackers[:3]:
        if tracker.attaches and tracker.rank == 0:
            attached = tracker.attach(1, 0.0)
        elif tracker.attaches:
            tracker.put_attached(0, 1, attached)
        tracker.has_received(0, 1, 0.0)
    bus.run(until=1.0)
    assert all(tracker.stable == [0] * 4 for tracker in bus.trackers)


def test_numbers_go_on_from_where_the_view_began():
    bus = Bus("gsgc", seed=4, loss=0.1, members=3, bases=[100, 0, 7])
    bus.say(0.01, 0, 101)
    bus.say(0.01, 2, 8)
    bus.run(until=5.0)
    assert {tuple(tracker.stable) for tracker in bus.trackers} == {(101, 0, 8)}


def test_a_member_takes_over_what_a_source_knows_of_its_own_messages():
    tracker = Bus("gsgc", seed=6, loss=0.0).trackers[0]
    assert tracker.take_stable(1, 3)
    assert not tracker.take_stable(1, 2)
    assert tracker.stable == [0, 3, 0, 0, 0]
