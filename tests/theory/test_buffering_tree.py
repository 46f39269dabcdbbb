"""B3: which reading of P_loss, on which tree, gives C of about 6 and about 9."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablecast.errors import InvalidInput
from stablecast.papers.buffering import tree_odds as theory
from stablecast.theory import buffering

from .monte_carlo import assert_agrees, generator

BINARY = theory.breadth_first_tree(2, 100)
TARGET = 0.001
LOW, HIGH = 0.001, 0.015


@st.composite
def trees(draw: st.DrawFn) -> tuple[int, ...]:
    nodes = draw(st.integers(2, 7))
    return (-1, *(draw(st.integers(0, v - 1)) for v in range(1, nodes)))


def received_on(parents: tuple[int, ...], links: np.ndarray) -> np.ndarray:
    """Who receives, given which links work, for many multicasts at once."""
    received = np.ones_like(links)
    for v in range(1, len(parents)):
        received[:, v] = received[:, parents[v]] & links[:, v]
    return received


# The recursion


@given(trees(), st.floats(0, 1), st.floats(0, 1), st.data())
def test_the_recursion_is_what_adding_up_all_cases_gives(
    parents: tuple[int, ...], share: float, p: float, data: st.DataObject
) -> None:
    nodes = len(parents)
    members = sorted(data.draw(st.sets(st.integers(0, nodes - 1), min_size=1)))
    failed = without = 0.0
    works = np.array(list(itertools.product((False, True), repeat=nodes - 1)), bool)
    works = np.hstack([np.ones((len(works), 1), bool), works])
    for links, received in zip(works, received_on(parents, works), strict=True):
        weight = float(np.prod(np.where(links[1:], 1 - p, p)))
        have = sum(bool(received[v]) for v in members)
        no_bufferer = weight * (1 - share) ** have
        without += no_bufferer
        failed += no_bufferer if have < len(members) else 0.0
    C = share * len(members)
    assert theory.no_bufferer_has_on_tree(parents, C, p, members) == pytest.approx(without, abs=1e-12)
    assert theory.tree_failure(parents, C, p, members) == pytest.approx(failed, abs=1e-12)


@given(st.integers(2, 60), st.floats(0, 15), st.floats(0, 1))
def test_on_a_star_losses_are_independent_and_it_is_equation_3_with_a_sender(
    n: int, C: float, p: float
) -> None:
    star = theory.breadth_first_tree(n - 1, n)
    assert theory.tree_failure(star, C, p) == pytest.approx(buffering.failure_with_sender(n, C, p), abs=1e-12)


@pytest.mark.parametrize(("C", "p"), [(4.0, LOW), (4.0, HIGH), (6.0, HIGH)])
def test_draws_on_the_binary_tree_fail_as_often_as_said(C: float, p: float) -> None:
    random, trials, n = generator(7, int(1000 * p), int(C)), 200_000, len(BINARY)
    failed = 0
    for _ in range(trials // 2000):
        received = received_on(BINARY, random.random((2000, n)) >= p)
        received[:, 0] = True
        buffers = random.random((2000, n)) < C / n
        failed += int((~(buffers & received).any(axis=1) & ~received.all(axis=1)).sum())
    assert_agrees(failed, trials, theory.tree_failure(BINARY, C, p))


# B3


def test_b3_on_a_binary_tree_equation_3_gives_6_at_low_loss_and_the_tree_itself_9_at_high_loss() -> None:
    by_equation = [theory.printed_smallest_c_on_tree(BINARY, p, TARGET) or 0 for p in (LOW, HIGH)]
    on_the_tree = [theory.smallest_c_on_tree(BINARY, p, TARGET) or 0 for p in (LOW, HIGH)]
    assert [round(C, 2) for C in by_equation] == [5.85, 7.18]
    assert [round(C, 2) for C in on_the_tree] == [4.89, 9.20]


@pytest.mark.parametrize("degree", [2, 3, 4, 5, 8, 10])
def test_b3_holds_within_the_factor_by_equation_3_for_every_tree(degree: int) -> None:
    tree = theory.breadth_first_tree(degree, 100)
    low, high = (theory.printed_smallest_c_on_tree(tree, p, TARGET) or 0 for p in (LOW, HIGH))
    assert 6 / 1.35 <= low <= 6 * 1.35
    assert 9 / 1.35 <= high <= 9 * 1.35


def test_b3_equation_3_alone_needs_paths_of_20_links_for_9() -> None:
    at = {t: buffering.smallest_c(100, theory.path_loss(HIGH, t), TARGET) or 0 for t in (5, 10, 19, 20)}
    assert {t: round(C, 1) for t, C in at.items()} == {5: 7.2, 10: 7.8, 19: 8.9, 20: 9.0}
    assert round(buffering.smallest_c(100, theory.path_loss(LOW, 20), TARGET) or 0, 1) == 6.7


def test_with_c_by_equation_3_the_tree_fails_more_often_than_promised_at_high_loss() -> None:
    assert theory.tree_failure(BINARY, 7.18, HIGH) == pytest.approx(0.00256, rel=0.01)
    assert theory.tree_failure(BINARY, 9, HIGH) == pytest.approx(0.00108, rel=0.01)
    assert theory.tree_failure(BINARY, 6, LOW) == pytest.approx(0.00039, rel=0.01)


def test_members_on_the_leaves_alone_need_about_as_many() -> None:
    tree = theory.breadth_first_tree(2, 197)
    members = theory.leaves_and_root(tree)
    assert len(members) == 100
    found = [theory.smallest_c_on_tree(tree, p, TARGET, members) or 0 for p in (LOW, HIGH)]
    assert [round(C, 2) for C in found] == [5.42, 9.66]


def test_a_root_with_one_link_cannot_be_made_safe_by_any_c_below_n() -> None:
    chain = theory.breadth_first_tree(1, 100)
    assert (theory.smallest_c_on_tree(chain, HIGH, TARGET) or 0) > 90


# Losses along paths


def test_the_loss_of_a_mean_path_is_above_the_mean_loss_by_little() -> None:
    for p in (LOW, HIGH):
        mean, printed = theory.mean_path_loss(BINARY, p), theory.printed_mean_path_loss(BINARY, p)
        assert mean < printed < 1.01 * mean


@given(trees(), st.floats(0, 1))
def test_the_loss_of_a_mean_path_is_never_below_the_mean_loss(parents: tuple[int, ...], p: float) -> None:
    assert theory.mean_path_loss(parents, p) <= theory.printed_mean_path_loss(parents, p) + 1e-12


def test_the_binary_tree_of_100_has_paths_of_485_hundredths_on_average() -> None:
    assert sum(theory.depths(BINARY)) / 99 == pytest.approx(4.85, abs=0.005)


@pytest.mark.parametrize(
    "call",
    [
        lambda: theory.depths((0, 0)),
        lambda: theory.depths((-1, 1)),
        lambda: theory.depths(()),
        lambda: theory.breadth_first_tree(0, 3),
        lambda: theory.tree_failure((-1, 0), 1, 0.1, (5,)),
        lambda: theory.mean_path_loss((-1,), 0.1),
        lambda: theory.path_loss(0.1, -1),
    ],
)
def test_what_is_no_tree_is_refused(call) -> None:
    with pytest.raises(InvalidInput):
        call()
