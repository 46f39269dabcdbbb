import pytest

from stablecast.live.flow import BURST, WINDOW_FIRST, WINDOW_LEAST, Pacer, Window

MIB = 1 << 20


def test_a_window_is_never_larger_than_the_share():
    window = Window(100_000, 1_400)
    assert window.size == 100_000
    window.became_stable(MIB)
    assert window.size == 100_000


def test_a_window_doubles_until_the_first_loss():
    window = Window(64 * MIB, 1_400)
    assert window.size == WINDOW_FIRST
    window.became_stable(WINDOW_FIRST)
    assert window.size == 2 * WINDOW_FIRST
    window.was_lost(1.0, 0.1)
    assert window.size == pytest.approx(1.4 * WINDOW_FIRST)
    window.became_stable(int(window.size))
    assert window.size == pytest.approx(1.4 * WINDOW_FIRST + 1_400, abs=2)


def test_one_loss_that_many_ask_about_shrinks_the_window_once():
    window = Window(64 * MIB, 1_400)
    for _ in range(10):
        window.was_lost(1.0, 0.1)
    assert window.size == pytest.approx(0.7 * WINDOW_FIRST)
    window.was_lost(1.2, 0.1)
    assert window.size == pytest.approx(0.49 * WINDOW_FIRST)


def test_losses_leave_a_least_window():
    window = Window(64 * MIB, 1_400)
    for k in range(100):
        window.was_lost(float(k), 0.1)
    assert window.size == WINDOW_LEAST


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
