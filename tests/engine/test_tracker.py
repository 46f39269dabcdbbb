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


def pace_of(protocol, members):
    choice = choose(protocol)
    return Pace(PaceOptions(), members, relays=choice.relays, takes_late=choice.takes_late)


class Bus:
    """Trackers of one view: data comes to all at once, the protocols' messages may be lost."""

    def __init__(self, protocol, *, seed, loss, members=MEMBERS, bases=None, options=None):
        self.now = 0.0
        self.carried = 0
        self.log = []
        """What members sent to whom, when."""
        self.loss = loss
        self.way_s = 0.0
        """How much longer than usual messages take."""
        self.is_lost = lambda frame, dest: False
        """Tells which messages do not come, beside those that are lost by chance."""
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
                pace=pace_of(protocol, members),
                send=self._sender(rank),
                now=0.0,
            )
            for rank in range(members)
        ]

    def _sender(self, rank):
        def send(frame, dest):
            self.log.append((round(self.now, 6), rank, dest, frame))
            for other in range(len(self.bases)) if dest == GROUP else [dest]:
                if other != rank and self._rng.random() >= self.loss and not self.is_lost(frame, other):
                    self._put(
                        self.now + self.way_s + 0.0005 + 0.001 * self._rng.random(), HEARS, other, frame, rank
                    )

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


def test_an_execution_starts_at_once_after_rest_and_the_next_one_a_step_later():
    bus = Bus("s_coord", seed=2, loss=0.0)
    start = bus.trackers[0].protocol.kinds.index("START")
    bus.say(10.0, 2, 1)
    bus.say(10.002, 2, 2)
    bus.run(until=12.0)
    starts = sorted({at for at, rank, _, frame in bus.log if rank == 0 and frame.kind == start})
    assert starts[0] == 10.0
    assert starts[1] == pytest.approx(10.0 + bus.trackers[0].pace.step)
    assert {tuple(tracker.stable) for tracker in bus.trackers} == {(0, 0, 2, 0, 0)}


@pytest.mark.parametrize("protocol", ["s_coord", "coordp", "gsgc"])
def test_a_group_that_rests_between_messages_keeps_its_step(protocol):
    bus = Bus(protocol, seed=2, loss=0.0)
    least = bus.trackers[0].pace.least
    for part in range(1, 30):
        bus.say(0.4 * part, 2, part)
    bus.run(until=20.0)
    assert bus.trackers[1].stable == [0, 0, 29, 0, 0]
    assert {tracker.pace.step for tracker in bus.trackers} == {least}


def test_an_execution_that_takes_longer_than_a_step_does_not_make_it_longer():
    bus = Bus("s_coord", seed=2, loss=0.0)
    bus.way_s = 0.05
    for part in range(1, 60):
        bus.say(0.1 * part, 2, part)
    bus.run(until=20.0)
    assert bus.trackers[0].stable == [0, 0, 59, 0, 0]
    assert bus.trackers[0].pace.step == bus.trackers[0].pace.least


def test_an_execution_that_is_due_starts_with_the_result_of_the_one_before():
    bus = Bus("s_coord", seed=2, loss=0.0)
    bus.way_s = 0.05
    first = bus.trackers[0]
    start, let_go_off, by_timer = first.protocol.kinds.index("START"), first.handle_timer, set()

    def started():
        return {frame.numbers[0] for _, rank, _, frame in bus.log if rank == 0 and frame.kind == start}

    def handle_timer(now):
        before = started()
        let_go_off(now)
        by_timer.update(started() - before)

    first.handle_timer = handle_timer
    for part in range(1, 60):
        bus.say(10.0 + 0.01 * part, 2, part)
    bus.run(until=10.6)
    assert by_timer == {1}
    assert len(started()) > 4


def test_a_member_that_lost_a_result_asks_for_it_and_gets_it_within_two_retransmissions():
    bus = Bus("s_coord", seed=2, loss=0.0)
    info = bus.trackers[0].protocol.kinds.index("INFO")
    lost = []
    bus.is_lost = lambda frame, dest: frame.kind == info and dest == 3 and not lost and not lost.append(1)
    bus.say(0.0, 2, 1)
    bus.run(until=0.1)
    assert lost
    assert bus.trackers[3].stable == [0, 0, 1, 0, 0]
    infos = [at for at, rank, dest, frame in bus.log if frame.kind == info and dest == 3]
    assert len(infos) == 2
    assert infos[1] - infos[0] < 2 * bus.trackers[3].pace.resend()


def test_messages_name_the_sources_that_are_busy_and_no_others():
    members = 40
    bus = Bus("s_coord", seed=7, loss=0.1, members=members)
    for part in range(1, 30):
        bus.say(0.02 * part, 17, part)
        bus.say(0.02 * part, 4, part)
    bus.run(until=5.0)
    named = {tuple(frame.sources) for *_, frame in bus.log}
    assert (4, 17) in named
    assert named <= {(), (4,), (17,), (4, 17)}
    assert all(tracker.stable[17] == tracker.stable[4] == 29 for tracker in bus.trackers)


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
