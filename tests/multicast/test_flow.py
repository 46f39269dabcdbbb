import pytest

from stablecast.multicast.flow import BURST, SLOW_LEAST, TOLERATED, WINDOW_FIRST, WINDOW_LEAST, Pacer, Window

MIB = 1 << 20


def test_a_window_is_never_larger_than_the_share():
    window = Window(100_000, 1_400)
    assert window.size == 100_000
    window.became_stable(MIB)
    assert window.size == 100_000


def lose_much(window, now, by=1):
    """Have one member ask for more than is tolerated."""
    window.was_lost(int(TOLERATED * window.size) + 1, by, now, 0.1)


def test_a_window_doubles_until_much_is_lost():
    window = Window(64 * MIB, 1_400)
    assert window.size == WINDOW_FIRST
    window.became_stable(WINDOW_FIRST)
    assert window.size == 2 * WINDOW_FIRST
    lose_much(window, 1.0)
    assert window.size == pytest.approx(1.4 * WINDOW_FIRST)
    window.became_stable(int(window.size))
    assert window.size == pytest.approx(1.4 * WINDOW_FIRST + 1_400, abs=2)


def test_a_window_grows_as_fast_over_long_ways_but_by_no_more_than_a_share_of_itself():
    windows = [Window(64 * MIB, 1_400) for _ in range(4)]
    for window, trip_s in zip(windows, (0.0, 0.02, 0.04, 10.0), strict=True):
        lose_much(window, 1.0)
        before = window.size
        window.became_stable(int(window.size), trip_s)
        window.size -= before
    grown = [window.size for window in windows]
    assert grown == pytest.approx([1_400, 1_400, 4 * 1_400, 0.7 * WINDOW_FIRST / 8], abs=2)


def test_few_losses_leave_a_window_as_it_is():
    window = Window(64 * MIB, 1_400)
    for k in range(1_000):  # each member loses 1 %, in pauses of their own
        window.was_sent(100_000)
        for by in range(5):
            window.was_lost(1_000, by, 0.05 * k, 0.1)
    assert window.size == WINDOW_FIRST


def test_losses_within_a_pause_shrink_the_window_once():
    window = Window(64 * MIB, 1_400)
    for by in range(10):
        lose_much(window, 1.0, by)
    assert window.size == pytest.approx(0.7 * WINDOW_FIRST)
    lose_much(window, 1.2)
    assert window.size == pytest.approx(0.49 * WINDOW_FIRST)


def test_losses_leave_a_least_window():
    window = Window(64 * MIB, 1_400)
    for k in range(100):
        lose_much(window, float(k))
    assert window.size == WINDOW_LEAST


def test_a_window_that_takes_long_to_be_stable_shrinks_once_in_that_time_and_not_below_a_floor():
    window = Window(64 * MIB, 1_400)
    window.became_stable(WINDOW_FIRST)
    assert not window.is_slow(0.004, 0.01, 1.0)
    assert not window.is_slow(0.008, 0.005, 1.0)  # twice the quickest
    assert window.is_slow(0.05, 0.01, 1.0)
    assert window.size == pytest.approx(1.8 * WINDOW_FIRST)
    assert window.is_slow(0.05, 0.01, 1.04)
    assert window.size == pytest.approx(1.8 * WINDOW_FIRST)
    for k in range(100):
        window.is_slow(0.05, 0.01, 2.0 + k)
    assert window.size == SLOW_LEAST


def test_a_window_that_losses_have_shrunk_is_not_enlarged_by_being_slow():
    window = Window(64 * MIB, 1_400)
    for k in range(10):
        lose_much(window, 1.0 + k)
    before = window.size
    assert before < SLOW_LEAST
    window.is_slow(0.001, 0.01, 1.0)
    assert window.is_slow(0.05, 0.01, 2.0)
    assert window.size == before


def test_a_long_way_is_not_slow():
    window = Window(64 * MIB, 1_400)
    assert not window.is_slow(0.6, 1.2, 1.0)
    assert not window.is_slow(1.2, 1.0, 2.0)


def test_a_message_may_always_go_out_if_nothing_is_unstable():
    window = Window(1_000, 1_400)
    assert window.takes(MIB, 0)
    assert not window.takes(999, 2)
    assert window.takes(998, 2)


def test_a_pacer_lets_a_burst_go_and_then_the_rate():
    pacer = Pacer(1_000_000.0, 0.0)
    sent = 0
    while pacer.may_send(0.0):
        pacer.sent(1_000)
        sent += 1_000
    assert BURST <= sent <= BURST + 1_000
    ready = pacer.ready_at()
    assert 0.0 < ready < 0.01
    assert not pacer.may_send(ready / 2)
    assert pacer.may_send(ready)


def test_a_pacer_saves_no_more_than_a_burst():
    pacer = Pacer(1_000_000.0, 0.0)
    assert pacer.may_send(3_600.0)
    pacer.sent(BURST)
    assert not pacer.may_send(3_600.0)
    assert pacer.may_send(3_600.1)
