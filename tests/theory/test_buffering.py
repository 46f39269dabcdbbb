"""The buffering paper's formulas against enumeration, draws and each other; B3's trees are beside."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stablecast.errors import InvalidInput
from stablecast.theory import buffering as theory

from .monte_carlo import assert_agrees, assert_mean_agrees, generator

groups = st.integers(1, 300)
small_groups = st.integers(1, 4)
shares = st.floats(0, 1)
probabilities = st.floats(0, 1)
wanted = st.floats(0, 20)


def enumerated(n: int, q: float, loss: float, crash: float, sender: bool = False) -> tuple[float, float]:
    """P_1 and P_2, by adding up what all members may do: gone, buffers, received."""
    p_1 = p_2 = 0.0
    for gone, buffers, received in itertools.product(itertools.product((0, 1), repeat=n), repeat=3):
        weight = 1.0
        for i in range(n):
            lost = 0.0 if sender and i == 0 else loss
            weight *= crash if gone[i] else 1 - crash
            weight *= q if buffers[i] else 1 - q
            weight *= 1 - lost if received[i] else lost
        has = [i for i in range(n) if not gone[i] and buffers[i] and received[i]]
        lacks = [i for i in range(n) if not gone[i] and not received[i]]
        p_2 += weight if has else 0
        p_1 += weight if not has and not lacks else 0
    return p_1, p_2


# P_1, P_2 and P_fail


@given(st.integers(1, 3), shares, probabilities, st.one_of(st.just(0.0), probabilities))
def test_p_1_and_p_2_are_what_adding_up_all_cases_gives(
    n: int, share: float, loss: float, crash: float
) -> None:
    p_1, p_2 = enumerated(n, share, loss, crash)
    assert theory.unbuffered_success(n, share * n, loss, crash=crash) == pytest.approx(p_1, abs=1e-12)
    assert theory.buffered_success(n, share * n, loss, crash=crash) == pytest.approx(p_2, abs=1e-12)


@given(groups, wanted, probabilities, probabilities)
def test_success_and_failure_are_all_there_is(n: int, C: float, loss: float, crash: float) -> None:
    success = theory.unbuffered_success(n, C, loss, crash=crash) + theory.buffered_success(
        n, C, loss, crash=crash
    )
    failure = theory.failure(n, C, loss, crash=crash)
    assert 0 <= failure <= 1
    assert success + failure == pytest.approx(1, abs=1e-12)


@given(groups, wanted, probabilities)
def test_without_crashes_failure_is_equation_3(n: int, C: float, loss: float) -> None:
    q = min(1, C / n)
    printed = (1 - q * (1 - loss)) ** n - ((1 - q) * (1 - loss)) ** n
    assert theory.failure(n, C, loss) == pytest.approx(printed, abs=1e-12)


def test_p_1_and_p_2_exclude_each_other_and_so_are_not_independent() -> None:
    p_1, p_2 = theory.unbuffered_success(5, 2, 0.1), theory.buffered_success(5, 2, 0.1)
    assert p_1 * p_2 > 0.04  # what both at once would have if they were independent; it never happens
    assert p_1 + p_2 == pytest.approx(1 - theory.failure(5, 2, 0.1))


@given(st.integers(1, 3), shares, probabilities)
def test_with_a_sender_that_has_its_message_all_cases_add_up_too(n: int, share: float, loss: float) -> None:
    p_1, p_2 = enumerated(n, share, loss, 0.0, sender=True)
    assert theory.failure_with_sender(n, share * n, loss) == pytest.approx(1 - p_1 - p_2, abs=1e-12)


@given(groups, wanted, probabilities)
def test_a_sender_that_has_its_message_never_makes_it_worse(n: int, C: float, loss: float) -> None:
    assert theory.failure_with_sender(n, C, loss) <= theory.failure(n, C, loss) + 1e-15


@given(groups, wanted, wanted, probabilities)
def test_failure_falls_as_c_grows(n: int, one: float, other: float, loss: float) -> None:
    low, high = sorted((one, other))
    assert theory.failure(n, high, loss) <= theory.failure(n, low, loss) + 1e-12


@given(groups, wanted)
def test_without_loss_nothing_fails(n: int, C: float) -> None:
    assert theory.failure(n, C, 0) == 0


@pytest.mark.parametrize(
    ("n", "C", "loss"), [(5, 2, 0.1), (20, 3, 0.05), (100, 6, 0.005), (100, 9, 0.26), (400, 4, 0.01)]
)
def test_draws_fail_as_often_as_equation_3_says(n: int, C: float, loss: float) -> None:
    random, trials = generator(3, n), 200_000
    failed = without = whole = 0
    for _ in range(trials // 2000):
        buffers, received = random.random((2000, n)) < C / n, random.random((2000, n)) >= loss
        helped = (buffers & received).any(axis=1)
        complete = received.all(axis=1)
        failed += int((~helped & ~complete).sum())
        without += int((~helped).sum())
        whole += int((~helped & complete).sum())
    assert_agrees(failed, trials, theory.failure(n, C, loss))
    assert_agrees(without, trials, theory.no_bufferer_has(n, C, loss))
    if trials * theory.unbuffered_success(n, C, loss) >= 10:
        assert_agrees(whole, trials, theory.unbuffered_success(n, C, loss))


def test_draws_with_crashes_and_a_sender_agree_too() -> None:
    n, C, loss, crash, trials = 40, 4, 0.05, 0.2, 200_000
    random = generator(4)
    failed = failed_with_sender = 0
    for _ in range(trials // 2000):
        buffers, received = random.random((2000, n)) < C / n, random.random((2000, n)) >= loss
        up = random.random((2000, n)) >= crash
        failed += int((~(buffers & received & up).any(axis=1) & (up & ~received).any(axis=1)).sum())
        received[:, 0] = True
        failed_with_sender += int((~(buffers & received).any(axis=1) & ~received.all(axis=1)).sum())
    assert_agrees(failed, trials, theory.failure(n, C, loss, crash=crash))
    assert_agrees(failed_with_sender, trials, theory.failure_with_sender(n, C, loss))


# The limit


@given(groups, shares, st.floats(1e-6, 1))
def test_the_limit_is_an_upper_bound_for_every_group(n: int, share: float, loss: float) -> None:
    C = share * n
    assert theory.failure(n, C, loss) <= theory.failure_limit(C, loss) + 1e-12


@pytest.mark.parametrize(("C", "loss"), [(2, 0.3), (6, 0.05), (9, 0.26)])
def test_failure_tends_to_the_limit_with_a_constant_loss(C: float, loss: float) -> None:
    assert theory.failure(10**7, C, loss) == pytest.approx(theory.failure_limit(C, loss), rel=1e-5)


def test_without_loss_the_printed_limit_is_not_the_limit() -> None:
    assert theory.failure(10**7, 6, 0) == theory.failure_limit(6, 0) == 0
    assert theory.printed_failure_limit(6, 0) == pytest.approx(math.exp(-6))


@pytest.mark.parametrize(("C", "losers"), [(2, 0.1), (6, 0.48), (6, 5)])
def test_with_a_constant_number_of_losers_the_limit_is_another_one(C: float, losers: float) -> None:
    n = 10**7
    assert theory.failure(n, C, losers / n) == pytest.approx(theory.rare_loss_limit(C, losers), rel=1e-4)


def test_at_the_papers_own_loss_the_printed_limit_is_three_times_too_high() -> None:
    loss = 1 - (1 - 0.001) ** 4.85  # 0.1 % a link, a binary tree of 100 nodes
    assert theory.failure(100, 5.85, loss) == pytest.approx(0.001, rel=0.01)
    assert 2.9 < theory.printed_failure_limit(5.85, loss) / theory.failure(100, 5.85, loss) < 3.0


# Choosing C


@given(st.integers(2, 300), st.floats(0.001, 0.5), st.floats(1e-6, 0.5))
def test_the_smallest_c_meets_the_target_and_nothing_smaller_does(n: int, loss: float, target: float) -> None:
    C = theory.smallest_c(n, loss, target)
    if C is None:
        assert theory.failure(n, n, loss) > target
    else:
        assert theory.failure(n, C, loss) <= target
        assert C == 0 or theory.failure(n, C * (1 - 1e-9), loss) >= target * (1 - 1e-6)


@given(st.integers(2, 300), st.floats(0.001, 0.5), st.floats(1e-6, 0.5))
def test_the_c_of_the_limit_is_always_enough(n: int, loss: float, target: float) -> None:
    C = theory.smallest_c_by_limit(loss, target)
    assume(n >= C)
    assert theory.failure(n, C, loss) <= target * (1 + 1e-9)


def test_crashes_need_more_bufferers() -> None:
    needed = [theory.smallest_c(100, 0.005, 0.001, crash=crash) or 0 for crash in (0, 0.01, 0.1, 0.5)]
    assert [round(C, 1) for C in needed] == [5.9, 5.9, 6.4, 10.7]


# How many buffer


@given(groups, wanted)
def test_the_number_of_bufferers_is_binomial_with_mean_c(n: int, C: float) -> None:
    distribution = theory.bufferer_distribution(n, C)
    assert distribution.sum() == pytest.approx(1)
    assert distribution @ np.arange(n + 1) == pytest.approx(min(n, C), abs=1e-9)
    assert theory.expected_bufferers(n, C) == pytest.approx(min(n, C))
    exact = [math.comb(n, k) * min(1, C / n) ** k * (1 - min(1, C / n)) ** (n - k) for k in range(min(n, 9))]
    assert distribution[: len(exact)] == pytest.approx(exact, abs=1e-12)


def test_figure_6_has_about_one_message_in_500_that_nobody_buffers_at_c_6_and_none_at_c_9() -> None:
    at_6, at_9 = (500 * theory.bufferer_distribution(100, C)[0] for C in (6, 9))
    assert (round(at_6, 2), round(at_9, 2)) == (1.03, 0.04)
    three = theory.more_than(theory.binomial(500, at_6 / 500))[2]
    assert 0.08 < three < 0.09  # the paper saw three


def test_one_minus_p_2_is_smaller_with_more_loss_if_c_is_set_by_equation_3() -> None:
    losses = [1 - (1 - link) ** 4.85 for link in (0.001, 0.015)]
    chosen = [theory.smallest_c(100, loss, 0.001) or 0 for loss in losses]
    none = [theory.no_bufferer_has(100, C, loss) for C, loss in zip(chosen, losses, strict=True)]
    assert [round(p, 4) for p in none] == [0.0025, 0.0010]


@given(st.integers(1, 60), st.floats(0.05, 0.95))
def test_more_than_is_the_rest_of_a_distribution(count: int, share: float) -> None:
    distribution = theory.binomial(count, share)
    assert theory.more_than(distribution) == pytest.approx(1 - np.cumsum(distribution), abs=1e-9)


# How much is buffered


def test_the_buffer_shrinks_to_and_not_by_the_printed_amount() -> None:
    held = [theory.expected_buffer(100, 2.0, n, 6) for n in (50, 100, 200)]
    assert held == pytest.approx([24, 12, 6])
    assert theory.printed_expected_buffer(100, 2.0, 100, 6) == pytest.approx(188)
    assert theory.buffer_without_hash(100, 2.0) == 200


@given(groups, st.floats(0.5, 20))
def test_the_mean_shrinks_by_n_over_c(n: int, C: float) -> None:
    ratio = theory.buffer_without_hash(10, 3) / theory.expected_buffer(10, 3, n, C)
    assert ratio == pytest.approx(theory.expected_reduction(n, C)) == pytest.approx(max(1, n / C))


@pytest.mark.parametrize(("window", "n", "C"), [(50, 100, 6.0), (200, 100, 6.0), (200, 50, 5.0)])
def test_draws_have_the_mean_and_stay_below_the_peak_bound(window: int, n: int, C: float) -> None:
    random, messages, runs = generator(5, window, n), 2000, 400
    peaks, means = [], []
    for _ in range(runs):
        buffers = random.random(messages + window) < C / n
        held = np.convolve(buffers, np.ones(window, int), "valid")
        peaks.append(held.max())
        means.append(held.mean())
    assert_mean_agrees(np.array(means), theory.expected_buffer(window, 1.0, n, C))
    bound = theory.peak_bound(window, n, C, messages, confidence=0.99)
    exceeded = int((np.array(peaks) > bound).sum())
    print(f"bound {bound}, peaks {min(peaks)} to {max(peaks)}, exceeded {exceeded} of {runs}")
    assert exceeded <= 0.01 * runs + 4 * math.sqrt(0.01 * runs)
    assert bound <= 1.7 * np.median(peaks)  # not far off either


def test_peaks_shrink_less_than_means() -> None:
    assert theory.expected_reduction(100, 6) == pytest.approx(16.7, abs=0.1)
    assert 50 / theory.peak_bound(50, 100, 6, 2000) < 5
    assert 200 / theory.peak_bound(200, 100, 6, 2000) < 8


def test_with_a_short_term_buffer_the_whole_does_not_shrink_to_nothing() -> None:
    held = [theory.two_buffers(25, 0.5, 2.0, n, 6) for n in (10, 100, 1000, 10**6)]
    assert held == pytest.approx([35, 14.75, 12.725, 12.500225])
    assert theory.two_buffers(25, 2.0, 2.0, 100, 6) == theory.buffer_without_hash(25, 2.0)


# Views that differ


@pytest.mark.parametrize(("view", "others"), [(100, 100), (95, 100), (100, 95), (50, 100)])
def test_draws_pick_right_bufferers_as_often_as_said(view: int, others: int) -> None:
    random, trials, C = generator(6, view, others), 60_000, 6.0
    common = min(view, others)
    hashes = random.random((trials, common))
    believed, really = hashes < C / view, hashes < C / others
    assert_agrees(
        int((believed & really).any(axis=1).sum()), trials, theory.finds_some(common, view, others, C)
    )
    some = believed.any(axis=1)
    picks = (random.random((trials, common)) * believed).argmax(axis=1)
    right = really[np.arange(trials), picks][some]
    expected = theory.pick_is_right(view, others)
    if expected < 1:
        assert_agrees(int(right.sum()), right.size, expected)
    else:
        assert right.all()


def test_stale_views_and_losses_make_picks_worse() -> None:
    assert theory.pick_is_right(100, 100, stale=0.05, loss=0.1) == pytest.approx(0.855)
    assert theory.pick_is_right(90, 100) == pytest.approx(0.9)
    assert theory.pick_is_right(110, 100) == 1


# What is refused


@pytest.mark.parametrize(
    "call",
    [
        lambda: theory.failure(0, 6, 0.1),
        lambda: theory.failure(2.5, 6, 0.1),
        lambda: theory.failure(10, -1, 0.1),
        lambda: theory.failure(10, math.inf, 0.1),
        lambda: theory.failure(10, 6, 1.1),
        lambda: theory.failure(10, 6, 0.1, crash=-0.1),
        lambda: theory.printed_failure_limit(math.nan, 0.1),
        lambda: theory.rare_loss_limit(6, -1),
        lambda: theory.smallest_c(10, 0.1, 0),
        lambda: theory.smallest_c_by_limit(1, 0.001),
        lambda: theory.buffer_without_hash(0, 1),
        lambda: theory.two_buffers(1, 2, 1, 10, 3),
        lambda: theory.peak_bound(0, 10, 3, 100),
    ],
)
def test_what_cannot_be_is_refused(call) -> None:
    with pytest.raises(InvalidInput):
        call()


def test_a_target_that_not_even_all_can_meet_has_no_c() -> None:
    assert theory.smallest_c(2, 0.5, 0.1) is None
