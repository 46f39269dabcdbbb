import random

import pytest
from watching_group import DELAY_S, EVERY, FAIL_AFTER, Group, detector_of, view_of

from stablecast.errors import InvalidInput
from stablecast.membership.detector import UNHEARD_ROUNDS, Detector
from stablecast.membership.passing_on import ASKS, LIVES, MOST_NEWS, SUSPECTED

SIZES = [2, 5, 9, 64, 200]


def passed_on(detector, now):
    """Return what a detector says at once, by whom it tells."""
    return dict(detector.passing_on.take_out(detector.watched, now))


def silent_for(detector, seconds, *, begin=0.0):
    """Let a detector count its rounds while nothing comes."""
    now = begin
    while now <= begin + seconds:
        detector.tick(now)
        passed_on(detector, now)
        now += EVERY
    return now - EVERY


# Who is suspected, and when


def test_a_member_alone_tells_nobody_and_suspects_nobody():
    detector = detector_of(1)
    assert detector.tick(0.0) == ()
    assert detector.count == 1
    assert silent_for(detector, 9.0, begin=EVERY) > FAIL_AFTER
    assert detector.suspects(9.5) == frozenset()


@pytest.mark.parametrize("size", SIZES)
def test_who_speaks_is_not_suspected_nor_is_there_any_news(size):
    group = Group(size)
    group.run(8.0)
    assert not group.suspected
    assert not group.news


@pytest.mark.parametrize("size", SIZES)
def test_who_stops_is_suspected_by_all_after_fail_after_and_the_time_that_news_takes(size):
    group = Group(size)
    group.run(5.2)
    group.down.add(1)
    group.run(10.0)
    assert group.suspected.keys() == {(rank, 1) for rank in group.living()}
    times = group.suspected.values()
    assert min(times) > 5.2 - EVERY + FAIL_AFTER
    assert (
        max(times) < 5.2 + FAIL_AFTER + 3 * EVERY
    )  # its last round, the suspicion's, and when it is looked at
    assert all(suspects == {1} for suspects in group.suspects().values())


def test_a_member_is_suspected_no_sooner_than_fail_after_it_was_last_heard_here():
    detector = detector_of(5)
    detector.hear_count(2, 7, 0.0)
    detector.hear_news([(2, SUSPECTED, 7)], 1, 0.2)
    now = silent_for(detector, 2.5, begin=0.5)
    assert detector.suspects(now) == frozenset()
    assert 2 in detector.suspects(silent_for(detector, 0.5, begin=now + EVERY))


@pytest.mark.parametrize("size", [64, 200])
def test_a_member_of_which_only_others_hear_is_suspected_when_a_suspicion_has_stood_for_half_the_time(size):
    detector = detector_of(size)
    far = next(rank for rank in range(1, size) if rank not in detector.watched)
    for step in range(20):
        now = EVERY * step
        detector.tick(now)
        for rank in detector.watched:
            detector.hear_count(rank, step + 1, now)
    detector.hear_news([(far, SUSPECTED, 3)], detector.watched[0], 9.6)
    assert detector.suspects(9.6 + FAIL_AFTER / 2) == frozenset()
    assert detector.suspects(9.7 + FAIL_AFTER / 2) == {far}


def test_anything_heard_from_a_member_withdraws_the_suspicion():
    detector = detector_of(2)
    now = silent_for(detector, 3.5)
    assert detector.suspects(now) == {1}
    detector.heard(1, now)
    assert detector.suspects(now) == frozenset()


def test_a_neighbour_is_silent_when_others_are_asked_about_it_and_suspected_later():
    detector = detector_of(3)
    detector.hear_count(1, 1, 0.0)
    asked_after = min(FAIL_AFTER / 4, UNHEARD_ROUNDS * EVERY)
    now = silent_for(detector, asked_after)
    assert not detector.is_silent(1, now)
    now = silent_for(detector, 0.0, begin=now + EVERY)
    assert detector.is_silent(1, now)
    assert not detector.is_suspected(1)
    silent_for(detector, FAIL_AFTER / 2, begin=now + EVERY)
    assert detector.is_suspected(1)


def test_a_process_that_is_late_itself_calls_nobody_silent():
    detector = detector_of(3)
    now = silent_for(detector, FAIL_AFTER / 3)
    assert detector.is_silent(1, now)
    assert not detector.is_silent(1, detector.next_tick + 1.5 * EVERY)


def test_neighbours_of_a_member_that_stopped_with_it_have_stand_ins_that_notice_it():
    group = Group(200)
    group.run(3.0)
    around = set(group.detectors[50].watched)
    group.down |= around | {50}
    group.run(3.0 + 2 * FAIL_AFTER + 4 * EVERY)
    assert all(suspects == group.down for suspects in group.suspects().values())


@pytest.mark.parametrize("size", [9, 100])
def test_the_parts_of_a_group_that_is_cut_in_two_suspect_each_other_and_nobody_else(size):
    group = Group(size)
    group.run(3.0)
    one = set(range(0, size, 2))
    other = set(range(size)) - one
    group.dead = {(a, b) for a in range(size) for b in range(size) if (a in one) != (b in one)}
    group.run(3 * FAIL_AFTER)
    for rank, suspects in group.suspects().items():
        assert suspects == (other if rank in one else one)


# Refutation


def test_a_suspicion_goes_to_all_neighbours_once_however_often_it_comes():
    detector = detector_of(64)
    detector.tick(0.0)
    teller = detector.watched[0]
    for now in (0.1, 0.2, 0.3):
        detector.hear_news([(60, SUSPECTED, 4)], teller, now)
        said = passed_on(detector, now)
        assert said == (dict.fromkeys(detector.watched, ((60, SUSPECTED, 4),)) if now == 0.1 else {})


def test_who_knows_a_larger_count_says_so_to_who_tells_of_a_suspicion_and_passes_nothing_on():
    detector = detector_of(64)
    detector.tick(0.0)
    teller = detector.watched[0]
    detector.hear_count(detector.watched[1], 5, 0.0)
    detector.hear_news([(detector.watched[1], SUSPECTED, 4)], teller, 0.1)
    assert passed_on(detector, 0.1) == {teller: ((detector.watched[1], LIVES, 5),)}


def test_a_larger_count_ends_a_suspicion_and_its_end_is_passed_on_once():
    detector = detector_of(64)
    detector.tick(0.0)
    teller = detector.watched[0]
    detector.hear_news([(60, SUSPECTED, 4)], teller, 0.0)
    passed_on(detector, 0.0)
    detector.hear_news([(60, LIVES, 4)], teller, 0.1)
    assert passed_on(detector, 0.1) == {}
    detector.hear_news([(60, LIVES, 5)], teller, 0.2)
    assert passed_on(detector, 0.2) == dict.fromkeys(detector.watched, ((60, LIVES, 5),))
    detector.hear_news([(60, LIVES, 5)], teller, 0.3)
    assert passed_on(detector, 0.3) == {}
    detector.hear_news([(60, SUSPECTED, 4)], teller, 0.4)
    assert passed_on(detector, 0.4) == {teller: ((60, LIVES, 5),)}


def test_who_is_suspected_raises_its_count_and_tells_its_neighbours_and_some_others():
    detector = detector_of(200)
    detector.tick(0.0)
    teller = detector.watched[0]
    detector.hear_news([(0, SUSPECTED, 1)], teller, 0.1)
    said = passed_on(detector, 0.1)
    assert detector.count == 2
    assert set(detector.watched) < set(said)
    assert all((0, LIVES, 2) in news for news in said.values())
    detector.hear_news([(0, SUSPECTED, 1)], teller, 0.2)
    assert passed_on(detector, 0.2) == {teller: ((0, LIVES, 2),)}


def test_a_suspicion_at_a_count_that_nobody_can_have_heard_is_ignored():
    detector = detector_of(5)
    detector.tick(0.0)
    detector.hear_news([(0, SUSPECTED, 99)], 1, 0.1)
    assert detector.count == 1
    assert passed_on(detector, 0.1) == {}


def test_of_two_suspicions_the_one_with_the_larger_count_counts():
    detector = detector_of(64)
    detector.tick(0.0)
    far = next(rank for rank in range(1, 64) if rank not in detector.watched)
    teller = detector.watched[0]
    detector.hear_news([(far, SUSPECTED, 4)], teller, 0.0)
    detector.hear_news([(far, SUSPECTED, 6)], teller, 1.0)
    detector.hear_news([(far, LIVES, 5)], teller, 1.1)
    assert (far, SUSPECTED, 6) in detector.to_tell()
    now = silent_for(detector, 2.5, begin=1.0)
    assert far not in detector.suspects(1.0 + FAIL_AFTER / 2)
    assert far in detector.suspects(now)


def test_a_member_whose_signs_of_life_to_its_neighbours_are_lost_is_not_suspected_while_it_reaches_others():
    group = Group(200)
    group.run(3.0)
    group.dead = {(50, rank) for rank in group.detectors[50].watched}
    group.run(60.0)
    assert not group.suspected


def test_nobody_is_suspected_where_a_tenth_of_everything_is_lost():
    group = Group(64, loss=0.1)
    group.run(120.0)
    assert not group.suspected
    assert group.news


def test_what_is_told_at_a_time_is_bounded_and_all_of_it_is_told_in_turn():
    detector = detector_of(400)
    told = set()
    detector.tick(0.0)
    for rank in range(100, 300):
        detector.hear_news([(rank, SUSPECTED, 1)], 1, 0.0)
    for step in range(20):
        detector.tick(0.01 * step)
        assert len(detector.to_tell()) <= MOST_NEWS
        told |= {rank for rank, _, _ in detector.to_tell()}
    assert told >= set(range(100, 300))
    said, now = [], 0.0
    while detector.passing_on.at < float("inf"):
        now = detector.passing_on.at
        said.append(passed_on(detector, now)[detector.watched[0]])
    assert max(map(len, said)) <= MOST_NEWS
    assert {rank for news in said for rank, _, _ in news} == set(range(100, 300))
    assert now > 0.0


# Links


@pytest.mark.parametrize("size", [3, 9, 64])
def test_a_link_that_carries_nothing_is_noticed_by_its_receiver_alone(size):
    group = Group(size)
    sender = group.detectors[2].watched[0]
    group.dead = {(sender, 2)}
    group.run(30.0)
    assert group.unheard() == {2: [sender]}
    assert not group.suspected
    group.dead = set()
    group.run(1.0)
    assert group.unheard() == {}


def test_what_others_pass_on_hides_no_dead_link():
    group = Group(64)
    sender = group.detectors[2].watched[0]
    group.dead = {(sender, 2)}
    for _ in range(60):
        group.run(EVERY)
        group.detectors[2].heard(sender, group.now, is_direct=False)
    assert group.unheard() == {2: [sender]}
    assert not group.suspected


def test_who_hears_what_a_member_has_made_by_way_of_others_does_not_suspect_it():
    detector = detector_of(5)
    now = 0.0
    while now < 2 * FAIL_AFTER:
        detector.tick(now)
        passed_on(detector, now)
        detector.heard(1, now, is_direct=False)
        detector.heard(2, now)
        now += EVERY
    assert detector.suspects(now) == {3, 4}


def test_a_dead_link_concerns_the_neighbours_of_its_sender_and_nobody_else():
    group = Group(200)
    sender = group.detectors[2].watched[0]
    group.dead = {(sender, 2)}
    group.run(30.0)
    concerned = {2, sender, *group.detectors[sender].watched}
    assert group.news
    assert all(rank in concerned for _, rank, _, _ in group.news)
    assert {what for *_, news in group.news for _, what, _ in news} == {ASKS, LIVES}


def test_a_group_in_which_nobody_hears_everyone_suspects_nobody():
    group = Group(4)
    group.dead = {(0, 1), (1, 2), (2, 3), (3, 0)}
    group.run(30.0)
    assert not group.suspected
    assert group.unheard() == {1: [0], 2: [1], 3: [2], 0: [3]}


def test_a_member_that_is_gone_is_no_dead_link():
    group = Group(5, loss=0.2)
    group.run(4.0)
    group.down.add(1)
    for _ in range(30):
        group.run(0.2)
        assert not any(1 in ranks for ranks in group.unheard().values())


# A process that did not run


def test_after_a_pause_silence_is_counted_anew_because_it_was_ones_own():
    detector = detector_of(3)
    detector.tick(0.0)
    assert detector.suspects(60.0) == frozenset()  # asked before the tick that is late
    detector.tick(60.0)
    assert detector.suspects(60.0) == frozenset()
    now = silent_for(detector, FAIL_AFTER, begin=60.5)
    assert detector.suspects(now) == {1, 2}


def test_who_missed_a_round_reads_what_has_come_before_it_judges_others():
    detector = detector_of(3)
    for rank in (1, 2):
        detector.hear_count(rank, 1, 0.0)
    detector.tick(0.0)
    assert detector.tick(1.6)
    assert detector.to_tell() == ()
    assert passed_on(detector, 1.6) == {}
    detector.tick(2.1)
    assert {what for _, what, _ in detector.to_tell()} == {SUSPECTED}


def test_ticks_that_are_a_little_late_keep_nobody_from_being_suspected():
    detector = detector_of(2)
    for i in range(3):
        detector.tick(1.4 * i)
    detector.tick(3.9)
    assert detector.suspects(3.9) == {1}


def test_who_was_paused_does_not_take_its_own_silence_for_dead_links_and_is_back_at_once():
    group = Group(64)
    group.run(2.0)
    group.down.add(2)
    group.run(2.0)
    assert not group.suspected
    group.down.discard(2)
    group.run(20.0)
    assert group.unheard() == {}
    assert not group.suspected


# What else is known


def test_last_heard_is_of_neighbours_what_came_and_of_others_no_news():
    detector = detector_of(64)
    far = next(rank for rank in range(1, 64) if rank not in detector.watched)
    near = detector.watched[0]
    for step in range(4):
        detector.tick(EVERY * step)
    assert detector.last_heard(near) == 0.0
    assert detector.last_heard(far) == 3 * EVERY
    detector.hear_count(near, 1, 1.6)
    assert detector.last_heard(near) == 1.6
    detector.hear_news([(far, SUSPECTED, 1)], near, 1.6)
    assert detector.last_heard(far) == pytest.approx(1.6 - FAIL_AFTER / 2)
    assert detector.heard_all_at() <= 1.6 - FAIL_AFTER / 2


def test_who_takes_this_member_for_a_neighbour_is_told_too():
    detector = detector_of(64)
    far = next(rank for rank in range(1, 64) if rank not in detector.watched)
    detector.hear_count(far, 9, 0.0)
    assert detector.tick(0.1) == (*detector.watched, far)
    assert detector.tick(0.1 + 3 * EVERY) == detector.watched
    detector.hear_count(far, 10, 2.0, is_round=False)
    assert detector.tick(2.1) == detector.watched


def test_nobody_raises_ones_own_count_nor_speaks_of_who_is_not_there():
    detector = detector_of(3)
    detector.hear_news([(0, LIVES, 9), (7, SUSPECTED, 1), (7, LIVES, 1), (1, 5, 1)], 1, 0.0)
    assert detector.count == 0
    assert passed_on(detector, 0.0) == {}


def test_what_cannot_work_is_refused():
    with pytest.raises(InvalidInput, match="fail_after"):
        Detector(view_of(2), 100, fail_after=1.0, every=1.0, rng=random.Random(1), now=0.0)
    with pytest.raises(InvalidInput, match="not in view"):
        Detector(view_of(2), 5, fail_after=2.0, every=1.0, rng=random.Random(1), now=0.0)


def test_news_takes_a_few_steps_of_the_network_to_everyone():
    group = Group(200)
    group.run(5.0)
    group.down.add(1)
    group.run(FAIL_AFTER / 2 + 1.0)
    first = min(at for at, *_, news in group.news if news[0][:2] == (1, SUSPECTED))
    last = {}
    for at, rank, _, news in group.news:
        if (1, SUSPECTED) in [piece[:2] for piece in news]:
            last.setdefault(rank, at)
    assert last.keys() == set(group.living())
    assert max(last.values()) - first < 10 * DELAY_S + 2 * EVERY / 25


def test_five_rounds_have_to_be_missed():
    detector = detector_of(3)
    detector.hear_count(1, 4, 0.0)
    detector.hear_news([(1, LIVES, 4 + UNHEARD_ROUNDS - 1)], 2, 2.0)
    assert detector.unheard(2.6) == []
    detector.hear_news([(1, LIVES, 4 + UNHEARD_ROUNDS)], 2, 2.6)
    assert detector.unheard(2.6) == [1]
    detector.heard(1, 2.7)
    assert detector.unheard(2.7) == []
