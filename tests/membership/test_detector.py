import random

import pytest

from stablecast.errors import InvalidInput
from stablecast.membership.detector import Detector
from stablecast.membership.view import MemberInfo, View


def view_of(size: int) -> View:
    members = tuple(MemberInfo(100 + rank, f"m{rank}", 1, "h", 7000 + rank) for rank in range(size))
    return View(1, 1, members, "g", {})


def detector_of(size: int, *, me: int = 0, fan_out: int | None = None, seed: int = 1) -> Detector:
    return Detector(
        view_of(size),
        100 + me,
        fail_after=3.0,
        every=0.5,
        rng=random.Random(seed),
        now=0.0,
        fan_out=fan_out,
    )


def everyone(size: int) -> list[Detector]:
    return [detector_of(size, me=rank, seed=rank) for rank in range(size)]


def run(detectors: list[Detector], *, until: float, silent: set[int], begin: float = 0.0, broken=()) -> float:
    """Let everyone but the silent ones tell each other, and return when the first one suspected somebody."""
    now = begin
    while now <= until:
        for rank, detector in enumerate(detectors):
            if rank in silent:
                continue
            for other in detector.tick(now):
                if other not in silent and (rank, other) not in broken:
                    detectors[other].merge(detector.counters(), rank, now)
            if detector.suspects(now):
                return now
        now += 0.5
    return float("inf")


@pytest.mark.parametrize("size", [2, 3, 9, 10, 50, 200])
def test_everyone_is_told_in_turn_and_nobody_twice_before_all_were_told(size):
    detector = detector_of(size)
    few = min(size - 1, 8 if size <= 64 else 4)
    told = [detector.tick(0.5 * i) for i in range(4 * size)]
    assert all(len(set(ranks)) == len(ranks) == few and 0 not in ranks for ranks in told)
    times = [sum(rank in ranks for ranks in told) for rank in range(1, size)]
    assert max(times) - min(times) <= 2


def test_a_member_alone_tells_nobody_and_suspects_nobody():
    detector = detector_of(1)
    assert detector.tick(0.0) == []
    assert detector.counters() == (1,)
    detector.tick(0.5)
    assert detector.suspects(0.5) == frozenset()


@pytest.mark.parametrize("size", [2, 5, 64, 200])
def test_who_speaks_is_not_suspected(size):
    assert run(everyone(size), until=8.0, silent=set()) == float("inf")


@pytest.mark.parametrize("size", [2, 5, 64, 200])
def test_who_falls_silent_is_suspected_soon_after_fail_after(size):
    detectors = everyone(size)
    run(detectors, until=2.0, silent=set())
    first = run(detectors, until=20.0, silent={1}, begin=2.5)
    assert 5.0 < first <= 7.5
    suspected = [detector.suspects(first) for rank, detector in enumerate(detectors) if rank != 1]
    assert frozenset().union(*suspected) == {1}


def test_a_broken_link_makes_nobody_suspect_anybody_while_there_is_another_way():
    assert run(everyone(3), until=20.0, silent=set(), broken={(0, 1), (1, 0)}) == float("inf")


def test_a_count_that_does_not_rise_is_no_sign_of_life():
    detector = detector_of(3)
    for i in range(8):
        now = 0.5 * i
        detector.tick(now)
        detector.merge((0, 5 + i, 7), 1, now)
    assert detector.suspects(3.5) == {2}
    assert detector.last_heard(2) == 0.0
    assert detector.last_heard(1) == 3.5


def test_anything_heard_from_a_member_withdraws_the_suspicion():
    detector = detector_of(2)
    for i in range(8):
        detector.tick(0.5 * i)
    assert detector.suspects(3.6) == {1}
    detector.heard(1, 3.6)
    assert detector.suspects(3.6) == frozenset()


def test_after_a_pause_silence_is_counted_anew_because_it_was_ones_own():
    detector = detector_of(3)
    detector.tick(0.0)
    assert detector.suspects(60.0) == frozenset()  # asked before the tick that is late
    detector.tick(60.0)
    assert detector.suspects(60.0) == frozenset()
    for i in range(1, 8):
        detector.tick(60.0 + 0.5 * i)
    assert detector.suspects(63.5) == {1, 2}


def test_a_tick_that_is_a_little_late_changes_nothing():
    detector = detector_of(2)
    for i in range(3):
        detector.tick(1.4 * i)
    detector.tick(3.9)
    assert detector.suspects(3.9) == {1}


def test_counts_of_another_length_are_ignored():
    detector = detector_of(3)
    detector.merge((9, 9), 1, 1.0)
    assert detector.counters() == (0, 0, 0)


def test_nobody_raises_ones_own_count():
    detector = detector_of(3)
    detector.merge((9, 1, 1), 1, 1.0)
    assert detector.counters() == (0, 1, 1)


def test_what_cannot_work_is_refused():
    with pytest.raises(InvalidInput, match="fail_after"):
        Detector(view_of(2), 100, fail_after=1.0, every=1.0, rng=random.Random(1), now=0.0)
    with pytest.raises(InvalidInput, match="not in view"):
        Detector(view_of(2), 5, fail_after=2.0, every=1.0, rng=random.Random(1), now=0.0)


@pytest.mark.parametrize("size", [3, 9, 30])
def test_a_link_that_carries_nothing_is_noticed_by_its_receiver_alone(size):
    detectors = everyone(size)
    run(detectors, until=30.0, silent=set(), broken={(1, 2)})
    assert [detector.unheard(30.0) for detector in detectors] == [
        [1] if rank == 2 else [] for rank in range(size)
    ]
    run(detectors, until=60.0, begin=30.5, silent=set())
    assert not any(detector.unheard(60.0) for detector in detectors)


def test_a_member_that_is_gone_is_no_dead_link():
    detectors = everyone(5)
    run(detectors, until=2.0, silent=set())
    for now in (2.5, 3.5, 4.5):
        run(detectors, until=now, begin=now, silent={1})
        assert not any(detector.unheard(now) for detector in detectors)


def test_who_was_paused_does_not_take_its_own_silence_for_dead_links():
    detectors = everyone(5)
    run(detectors, until=2.0, silent=set())
    run(detectors, until=30.0, begin=2.5, silent={2})
    detectors[2].tick(30.5)
    detectors[2].merge(detectors[0].counters(), 0, 30.5)
    assert detectors[2].unheard(30.5) == []
