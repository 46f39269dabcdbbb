"""Rounds of gossip: the exact chain against draws, the closed forms against the chain."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablecast.errors import InvalidInput
from stablecast.theory import epidemic as theory
from stablecast.theory.buffering import binomial, failure_with_sender

from .monte_carlo import assert_agrees, assert_mean_agrees, generator


def play(random: np.random.Generator, n: int, lacking: np.ndarray, rounds: int, served: float) -> int:
    """Gossip among members, of whom some lack a message, and return how many still do."""
    has = ~lacking.copy()
    for _ in range(rounds):
        told = (np.arange(n) + random.integers(1, n, n)) % n
        reached = told[has & (random.random(n) < served)]
        has[reached] = True
    return int((~has).sum())


@pytest.mark.parametrize(("n", "rounds", "served"), [(5, 3, 1.0), (20, 7, 0.8), (64, 9, 1.0)])
def test_draws_from_one_holder_are_complete_as_often_as_the_chain_says(
    n: int, rounds: int, served: float
) -> None:
    random, trials = generator(8, n), 8000
    lacking = np.arange(n) > 0
    left = np.array([play(random, n, lacking, rounds, served) for _ in range(trials)])
    assert_agrees(int((left > 0).sum()), trials, theory.incomplete(n, n - 1, rounds, served=served))
    start = np.zeros(n)
    start[-1] = 1
    likely = theory.lacking_after(n, start, rounds, served=served)
    most = int(likely.argmax())
    assert_agrees(int((left == most).sum()), trials, float(likely[most]))


def test_draws_after_a_multicast_are_complete_as_often_as_the_chain_says() -> None:
    n, loss, rounds, served, trials = 50, 0.1, 4, 0.9, 8000
    random = generator(9)
    incomplete = 0
    for _ in range(trials):
        lacking = random.random(n) < loss
        lacking[0] = False
        incomplete += play(random, n, lacking, rounds, served) > 0
    assert_agrees(incomplete, trials, theory.incomplete_after_multicast(n, loss, rounds, served=served))


def play_forwarded(random: np.random.Generator, n: int, C: float, loss: float, rounds: int) -> str:
    """Multicast, then gossip: who does not buffer the message passes the request on to a random bufferer."""
    buffers, has = random.random(n) < C / n, random.random(n) >= loss
    has[0] = True
    if not has.all() and not (buffers & has).any():
        return "failed"
    for _ in range(rounds):
        told = (np.arange(n) + random.integers(1, n, n)) % n
        helped = []
        for p in np.flatnonzero(has & ~has[told]):
            others = np.flatnonzero(buffers & (np.arange(n) != p) & (np.arange(n) != told[p]))
            if buffers[p] or (others.size and has[random.choice(others)]):
                helped.append(told[p])
        has[helped] = True
    return "complete" if has.all() else "incomplete"


@pytest.mark.parametrize(("C", "loss"), [(5.85, 0.00484), (4.0, 0.0707)])
def test_forwarded_requests_are_through_within_the_rounds_that_a_message_is_kept(
    C: float, loss: float
) -> None:
    n, trials = 100, 1500
    random, rounds = generator(11, int(C)), theory.spread_rounds(n, 0.001)
    ends = [play_forwarded(random, n, C, loss, rounds) for _ in range(trials)]
    assert ends.count("incomplete") <= 2  # 1.5 would be the target
    if trials * failure_with_sender(n, C, loss) >= 10:
        assert_agrees(ends.count("failed"), trials, failure_with_sender(n, C, loss))


@given(st.integers(2, 30), st.floats(0.05, 1), st.integers(0, 5), st.data())
def test_the_chain_is_a_distribution_and_only_gets_better(
    n: int, served: float, rounds: int, data: st.DataObject
) -> None:
    lacking = data.draw(st.integers(0, n - 1))
    start = np.zeros(lacking + 1)
    start[lacking] = 1
    after = theory.lacking_after(n, start, rounds, served=served)
    assert after.sum() == pytest.approx(1)
    assert (after >= -1e-12).all()
    now, later = (theory.incomplete(n, lacking, r, served=served) for r in (rounds, rounds + 1))
    assert later <= now + 1e-12


@pytest.mark.parametrize("n", [2, 3, 5, 10, 20, 50, 100])
def test_the_closed_form_is_enough_and_close_when_nothing_is_lost(n: int) -> None:
    exact = theory.exact_rounds(n, n - 1, 0.001)
    assert exact <= theory.spread_rounds(n, 0.001)
    assert n < 10 or theory.spread_rounds(n, 0.001) <= exact + 1


@pytest.mark.parametrize("served", [0.5, 0.7, 0.9])
@pytest.mark.parametrize("n", [10, 50, 100])
def test_the_closed_form_is_within_two_rounds_when_something_is_lost(n: int, served: float) -> None:
    exact = theory.exact_rounds(n, n - 1, 0.001, served=served)
    assert abs(theory.spread_rounds(n, 0.001, served=served) - exact) <= 2


def test_a_hundred_members_need_19_rounds_for_one_in_a_thousand() -> None:
    assert theory.exact_rounds(100, 99, 0.001) == theory.spread_rounds(100, 0.001) == 19


@pytest.mark.parametrize("served", [0.5, 1.0])
@pytest.mark.parametrize("loss", [0.005, 0.07, 0.3])
@pytest.mark.parametrize("n", [2, 5, 30, 100])
def test_the_rounds_for_repair_are_always_enough(n: int, loss: float, served: float) -> None:
    rounds = theory.repair_rounds(n, loss, 0.001, served=served)
    assert theory.incomplete_after_multicast(n, loss, rounds, served=served) <= 0.001


def test_rounds_grow_with_the_logarithm_of_the_group() -> None:
    spread = [theory.spread_rounds(n, 0.001) for n in (100, 1000, 10_000)]
    repair = [theory.repair_rounds(n, 0.05, 0.001) for n in (100, 1000, 10_000)]
    assert spread == [19, 24, 30]
    assert repair == [11, 13, 15]


def test_nothing_lost_needs_no_rounds() -> None:
    assert theory.repair_rounds(100, 0, 0.001) == 0
    assert theory.exact_rounds(100, 0, 0.001) == 0
    assert theory.incomplete_after_multicast(100, 0, 0) == 0


def test_a_forwarded_request_is_served_less_often() -> None:
    assert theory.legs_served(0.01, 3) == pytest.approx(0.970299)
    assert theory.legs_served(0.01, 4, answers=0.95) == pytest.approx(0.912566, abs=1e-6)


# Shared holes


@given(st.integers(2, 60), st.floats(0, 1))
def test_the_mean_number_of_requests_is_that_over_the_binomial(n: int, loss: float) -> None:
    likely = binomial(n - 1, loss)
    mean = sum(p * theory.shared_hole_requests(n, k) for k, p in enumerate(likely.tolist()))
    assert theory.shared_hole_requests_after_multicast(n, loss) == pytest.approx(mean, abs=1e-9)


@pytest.mark.parametrize("lacking", [2, 10, 99])
def test_draws_bring_as_many_requests_for_a_multicast_as_said(lacking: int) -> None:
    n, trials = 100, 20_000
    random = generator(10, lacking)
    told = (np.arange(lacking) + random.integers(1, n, (trials, lacking))) % n
    assert_mean_agrees((told < lacking).sum(axis=1).astype(float), theory.shared_hole_requests(n, lacking))


def test_a_few_omissions_bring_few_requests_and_a_send_omission_one_from_almost_everyone() -> None:
    assert theory.shared_hole_requests(100, 2) == pytest.approx(0.02, abs=0.001)
    assert theory.shared_hole_requests(100, 99) == pytest.approx(98)
    at_low, at_high = (theory.shared_hole_requests_after_multicast(100, loss) for loss in (0.00484, 0.0707))
    assert (round(at_low, 4), round(at_high, 2)) == (0.0023, 0.49)


@pytest.mark.parametrize(
    "call",
    [
        lambda: theory.spread_rounds(0, 0.1),
        lambda: theory.spread_rounds(10, 1),
        lambda: theory.spread_rounds(10, 0.1, served=0),
        lambda: theory.lacking_after(3, np.ones(5) / 5, 1),
        lambda: theory.lacking_after(3, np.ones(2) / 2, -1),
        lambda: theory.legs_served(0.1, 0),
        lambda: theory.shared_hole_requests(10, 11),
    ],
)
def test_what_cannot_be_is_refused(call) -> None:
    with pytest.raises(InvalidInput):
        call()
