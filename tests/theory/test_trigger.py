import math
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from stablecast.papers.hierarchical.theory import printed_trigger_optimum
from stablecast.theory import trigger as theory

shares = st.fractions(0, 1, max_denominator=20)
durations = st.fractions(Fraction(1, 10), 30, max_denominator=12)
rates = st.fractions(Fraction(1, 10), 5, max_denominator=10)
buffers = st.integers(1, 120)
untimed = settings(deadline=None)  # a busy machine is not a failure


def start_of_rounds(trigger: Fraction, new: Fraction, share: Fraction, count: int) -> list[Fraction]:
    """Messages held when each round starts, by the model of section 6 with divisible messages."""
    held, starts = trigger, []
    for _ in range(count):
        starts.append(held)
        held = max((1 - share) * held + new, trigger)
    return starts


# Bounds and optimum


def test_bounds_are_those_of_constraints_one_and_two() -> None:
    assert theory.trigger_bounds(100, 2, 15, Fraction(1, 2)) == (70.0, 80.0)
    assert theory.trigger_bounds(100, 0.5, 80, 0.75) == (60.0, 80.0)


def test_when_all_is_stable_the_second_bound_is_void_or_cannot_be_met() -> None:
    assert theory.trigger_bounds(100, 1, 50, 1) == (50.0, math.inf)
    assert theory.trigger_bounds(100, 1, 51, 1) == (49.0, -math.inf)


@given(buffers, durations, shares)
def test_the_optimum_meets_both_constraints_and_nothing_larger_does(
    buffer: int, rtt: Fraction, share: Fraction
) -> None:
    assume(share < 1)
    best = theory.trigger_optimum(buffer, 1, rtt, share)

    def meets(x: float) -> bool:
        return x + rtt <= buffer + 1e-9 and (1 - share) * x + 2 * rtt <= buffer + 1e-9

    assert meets(best)
    assert not meets(best + 1e-3)


def test_the_printed_optimum_breaks_a_constraint_and_overflows() -> None:
    right = theory.trigger_optimum(100, 1, 20, 0.5)
    printed = printed_trigger_optimum(100, 1, 20, 0.5)
    assert (right, printed) == (80.0, 120.0)
    assert not theory.simulate_trigger(100, 1, 20, 0.5, 80, 5000).overflow
    assert theory.simulate_trigger(100, 1, 20, 0.5, 120, 5000).overflow


@given(buffers, durations, shares)
def test_the_printed_optimum_is_right_only_where_both_bounds_agree(
    buffer: int, rtt: Fraction, share: Fraction
) -> None:
    first, second = theory.trigger_bounds(buffer, 1, rtt, share)
    printed = printed_trigger_optimum(buffer, 1, rtt, share)
    assert (printed == theory.trigger_optimum(buffer, 1, rtt, share)) == (first == second)


# An unlimited run


@given(buffers, durations, shares)
def test_a_trigger_of_buffer_minus_new_messages_is_the_optimum_exactly_when_sustainable(
    buffer: int, rtt: Fraction, share: Fraction
) -> None:
    first, second = theory.trigger_bounds(buffer, 1, rtt, share)
    holds = Fraction(rtt) <= share * (buffer - Fraction(rtt))
    assert theory.sustainable(buffer, 1, rtt, share) == holds
    assert (first <= second + 1e-9) if holds else (second <= first + 1e-9)


@given(st.fractions(1, 100, max_denominator=5), durations, shares)
def test_rounds_without_pause_tend_to_the_share_that_balances_them(
    trigger: Fraction, new: Fraction, share: Fraction
) -> None:
    assume(share > 0)
    starts = start_of_rounds(trigger, new, share, 60)
    limit = max(trigger, new / share)
    assert all(start <= limit for start in starts)
    assert limit - starts[-1] <= (1 - share) ** 59 * limit


@given(buffers, durations, shares, st.integers(1, 120))
def test_the_peak_decides_whether_a_trigger_is_safe(
    buffer: int, rtt: Fraction, share: Fraction, trigger: int
) -> None:
    safe = theory.peak_occupancy(1, rtt, share, trigger) <= buffer
    assert not safe or theory.sustainable(buffer, 1, rtt, share)
    if theory.sustainable(buffer, 1, rtt, share) and buffer > rtt:
        largest = buffer - rtt
        assert theory.peak_occupancy(1, rtt, share, largest) == pytest.approx(buffer)


def test_two_constraints_do_not_protect_the_third_round() -> None:
    best = theory.trigger_optimum(100, 1, 10, 0)
    assert best == 80.0
    starts = start_of_rounds(Fraction(80), Fraction(10), Fraction(0), 3)
    assert [start + 10 for start in starts] == [90, 100, 110]
    assert not theory.sustainable(100, 1, 10, 0)
    assert theory.peak_occupancy(1, 10, 0, best) == math.inf
    run = theory.simulate_trigger(100, 1, 10, 0, 80, 1000)
    assert run.overflow
    assert run.sent == 100


# Whole messages


@pytest.mark.parametrize(
    ("rate", "rtt", "expected"),
    [
        (1, 5, 4),
        (2, Fraction(5, 4), 2),
        (0.1, 30, 2),
        (0.1, 31, 3),
        (1, Fraction(1, 3), 0),
        (3, Fraction(1, 3), 0),
    ],
)
def test_new_messages_leave_out_the_send_at_the_end_of_the_round(
    rate: float, rtt: float, expected: int
) -> None:
    assert theory.new_messages(rate, rtt) == expected


@given(rates, durations)
def test_new_messages_are_the_sends_strictly_inside_the_round(rate: Fraction, rtt: Fraction) -> None:
    inside = sum(1 for k in range(1, math.ceil(rate * rtt) + 2) if k / rate < rtt)
    assert theory.new_messages(rate, rtt) == inside


@untimed
@given(buffers, rates, durations)
def test_when_all_is_stable_the_optimum_is_safe_and_one_more_is_not(
    buffer: int, rate: Fraction, rtt: Fraction
) -> None:
    assume(theory.sustainable(buffer, rate, rtt, 1))
    best = theory.trigger_optimum_messages(buffer, rate, rtt, 1)
    assert best == buffer - theory.new_messages(rate, rtt)
    assert not theory.simulate_trigger(buffer, rate, rtt, 1, best, 8 * buffer).overflow
    assert theory.simulate_trigger(buffer, rate, rtt, 1, best + 1, 8 * buffer).overflow


@untimed
@given(buffers, rates, durations, shares)
def test_wherever_there_is_an_optimum_it_is_safe_and_one_more_is_not(
    buffer: int, rate: Fraction, rtt: Fraction, share: Fraction
) -> None:
    best = theory.trigger_optimum_messages(buffer, rate, rtt, share)
    assume(best is not None)
    assert best is not None
    run = theory.simulate_trigger(buffer, rate, rtt, share, best, 20 * buffer)
    assert not run.overflow
    assert run.peak == buffer
    assert theory.simulate_trigger(buffer, rate, rtt, share, best + 1, 20 * buffer).overflow


@given(buffers, st.integers(1, 40), shares)
def test_a_sustainable_rate_with_whole_rounds_has_a_whole_optimum(
    buffer: int, rtt: int, share: Fraction
) -> None:
    assume(theory.sustainable(buffer, 1, rtt, share))
    assert theory.trigger_optimum_messages(buffer, 1, rtt, share) == buffer - rtt + 1


@untimed
@given(
    st.integers(1, 14),
    st.fractions(Fraction(1, 4), 8, max_denominator=4),
    st.fractions(0, 1, max_denominator=6),
)
def test_without_an_optimum_every_trigger_overflows_in_the_end(
    buffer: int, rtt: Fraction, share: Fraction
) -> None:
    safe = [
        x for x in range(1, buffer + 1) if not theory.simulate_trigger(buffer, 1, rtt, share, x, 600).overflow
    ]
    assert theory.trigger_optimum_messages(buffer, 1, rtt, share) == max(safe, default=None)


# Number of tests


@untimed
@given(buffers, rates, durations, st.integers(1, 2000))
def test_number_of_tests_agrees_with_a_run_when_all_is_stable(
    buffer: int, rate: Fraction, rtt: Fraction, total: int
) -> None:
    best = theory.trigger_optimum_messages(buffer, rate, rtt, 1)
    assume(best is not None)
    assert best is not None
    run = theory.simulate_trigger(buffer, rate, rtt, 1, best, total)
    assert run.sent == total
    assert abs(theory.stability_tests(total, 1, best) - run.tests) <= 1


@untimed
@given(buffers, durations, shares, st.integers(0, 1000))
def test_a_run_that_waits_between_tests_starts_one_for_each_batch_released(
    buffer: int, rtt: Fraction, share: Fraction, extra: int
) -> None:
    best = theory.trigger_optimum_messages(buffer, 1, rtt, share)
    assume(best is not None)
    assert best is not None
    run = theory.simulate_trigger(buffer, 1, rtt, share, best, best + extra)
    assert run.tests == 1 + extra // math.floor(share * best)


def test_the_printed_number_of_tests_counts_the_first_filling_of_the_buffer_too() -> None:
    assert theory.stability_tests(1000, 0.25, 80) == 50.0
    assert theory.simulate_trigger(100, 1, 10, 0.25, 80, 1000).tests == 47


# The simulation itself


def test_a_run_without_trouble_is_reported_as_such() -> None:
    run = theory.simulate_trigger(10, 1, 4, 1, 6, 20)
    assert run == theory.TriggerRun(sent=20, tests=3, peak=9, overflow=False, blocked=0)


def test_a_full_buffer_blocks_sends_until_the_round_ends() -> None:
    run = theory.simulate_trigger(10, 1, 4, 1, 9, 20)
    assert run == theory.TriggerRun(sent=20, tests=2, peak=10, overflow=True, blocked=4)


def test_a_trigger_beyond_the_buffer_is_never_reached() -> None:
    run = theory.simulate_trigger(10, 1, 4, 1, 11, 20)
    assert run == theory.TriggerRun(sent=10, tests=0, peak=10, overflow=True, blocked=1)


def test_nothing_to_send_needs_no_test() -> None:
    assert theory.simulate_trigger(10, 1, 4, 1, 5, 0) == theory.TriggerRun(0, 0, 0, False, 0)
    assert theory.stability_tests(0, 0, 5) == 0.0
    assert theory.stability_tests(1, 0, 5) == math.inf


@untimed
@given(st.integers(1, 30), rates, durations, shares, st.integers(1, 30), st.integers(0, 300))
def test_a_run_never_holds_more_than_the_buffer(
    buffer: int, rate: Fraction, rtt: Fraction, share: Fraction, trigger: int, total: int
) -> None:
    run = theory.simulate_trigger(buffer, rate, rtt, share, trigger, total)
    assert run.peak <= buffer
    assert run.sent <= total
    assert run.overflow == (run.blocked > 0)
    assert run.overflow or run.sent == total


def test_a_float_stands_for_the_decimal_it_prints_as() -> None:
    assert theory.new_messages(0.1, 30.0) == theory.new_messages(Fraction(1, 10), 30) == 2


# Time to stable


def test_a_message_is_stable_after_delivery_one_period_and_one_round() -> None:
    assert theory.time_to_stable_bound(1.5, 10.0, 4.0) == 15.5


# Arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1, 1, 1), "buffer must be"),
        ((10, 0, 1, 1), "rate must be a number above 0, got 0"),
        ((10, 1, -2, 1), "rtt must be a number above 0, got -2"),
        ((10, 1, 1, 1.5), "stable_share must be between 0 and 1, got 1.5"),
        ((10, 1, math.inf, 1), "rtt must be a finite number, got inf"),
    ],
)
def test_impossible_triggers_are_refused(arguments: tuple[int, int, int, int], message: str) -> None:
    for function in (
        theory.trigger_bounds,
        theory.trigger_optimum,
        theory.sustainable,
        theory.trigger_optimum_messages,
    ):
        with pytest.raises(ValueError, match=message):
            function(*arguments)


def test_impossible_runs_are_refused() -> None:
    with pytest.raises(ValueError, match="trigger must be an integer of at least 1, got 0"):
        theory.simulate_trigger(10, 1, 1, 1, 0, 5)
    with pytest.raises(ValueError, match="total must be an integer of at least 0, got -1"):
        theory.simulate_trigger(10, 1, 1, 1, 5, -1)
    with pytest.raises(ValueError, match="period must be a finite number of at least 0, got -1"):
        theory.time_to_stable_bound(1, -1, 1)
