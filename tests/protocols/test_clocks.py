from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablecast.errors import InvalidInput
from stablecast.protocols.contract.clocks import (
    COUNTER_BITS,
    DRIFT_MAX_PPM,
    HORIZON_MAX_PS,
    HYBRID,
    LOGICAL,
    PHYSICAL,
    SKEW_MAX_PS,
    TICK_PS,
    check_clocks,
    draw_clocks,
    drifted_apart_ps,
    hybrid_time_ps,
    merge,
    most_ahead_ps,
    read,
    stamp,
)

INT64_MAX = 2**63 - 1
TEN_YEARS_US = 3653 * 86_400 * 10**6

KINDS = st.sampled_from([PHYSICAL, LOGICAL, HYBRID])
TIMES = st.integers(0, HORIZON_MAX_PS)
DRIFTS_PPB = st.integers(-DRIFT_MAX_PPM * 1000, DRIFT_MAX_PPM * 1000)


@st.composite
def group_bounds(draw):
    """A seed, and bounds that go together: skew, drift and horizon."""
    horizon_ps = draw(TIMES)
    drift_ppm = draw(st.floats(0, 100) | st.just(0.0))
    least = drifted_apart_ps(drift_ppm, horizon_ps)
    skew_ps = least + draw(st.integers(0, 10**15))
    return draw(st.integers(0, 2**32)), skew_ps, drift_ppm, horizon_ps


@st.composite
def histories(draw, members=3):
    """Events in the order of their times: a pause, a member, and whose last message it receives (or none)."""
    pause = st.integers(0, 3) | st.integers(0, 3 * TICK_PS) | st.integers(0, 10**13)
    event = st.tuples(pause, st.integers(0, members - 1), st.none() | st.integers(0, members - 1))
    return draw(st.lists(event, max_size=60))


def play(kind, clocks, history):
    """Yield each message sent: its member, the reading, the stamp, and the stamps that it comes after."""
    members = len(clocks.offset_ps)
    last, before, sent = [0] * members, [set() for _ in range(members)], [None] * members
    now = 0
    for pause, member, heard in history:
        now += pause
        if heard is None:
            reading = int(read(now, int(clocks.offset_ps[member]), int(clocks.drift_ppb[member])))
            last[member] = int(stamp(kind, last[member], reading))
            yield member, reading, last[member], frozenset(before[member])
            before[member].add(last[member])
            sent[member] = (last[member], frozenset(before[member]))
        elif sent[heard] is not None:
            last[member] = int(merge(kind, last[member], sent[heard][0]))
            before[member] |= sent[heard][1]


@given(KINDS, group_bounds(), histories())
def test_a_members_stamps_rise(kind, bounds, history):
    seed, skew_ps, drift_ppm, horizon_ps = bounds
    clocks = draw_clocks(seed, 3, skew_ps=skew_ps, drift_ppm=drift_ppm, horizon_ps=horizon_ps)
    last = [0, 0, 0]
    for member, _, stamped, _ in play(kind, clocks, history):
        assert stamped > last[member]
        last[member] = stamped


@given(st.sampled_from([LOGICAL, HYBRID]), group_bounds(), histories())
def test_a_stamp_is_above_all_that_its_sender_had_received(kind, bounds, history):
    seed, skew_ps, drift_ppm, horizon_ps = bounds
    clocks = draw_clocks(seed, 3, skew_ps=skew_ps, drift_ppm=drift_ppm, horizon_ps=horizon_ps)
    for _, _, stamped, before in play(kind, clocks, history):
        assert all(earlier < stamped for earlier in before)


def test_physical_clocks_do_not_follow_causality():
    """A member whose clock is behind answers with a lower stamp than the one that it answers."""
    fast = int(stamp(PHYSICAL, 0, 1000))
    slow = int(merge(PHYSICAL, 0, fast))
    assert stamp(PHYSICAL, slow, 400) < fast


@given(group_bounds(), histories())
def test_a_hybrid_stamp_is_within_its_bound_of_its_senders_clock(bounds, history):
    seed, skew_ps, drift_ppm, _ = bounds
    horizon_ps = HORIZON_MAX_PS
    skew_ps += drifted_apart_ps(drift_ppm, horizon_ps)
    clocks = draw_clocks(seed, 3, skew_ps=skew_ps, drift_ppm=drift_ppm, horizon_ps=horizon_ps)
    for count, (_, reading, stamped, _) in enumerate(play(HYBRID, clocks, history), start=1):
        told = int(hybrid_time_ps(stamped))
        assert reading - TICK_PS < told <= reading + most_ahead_ps(skew_ps, count)


def test_hybrid_stamps_run_ahead_of_a_clock_that_stands_still_by_a_tick_for_a_full_counter():
    full = 1 << COUNTER_BITS
    last = int(stamp(HYBRID, 0, 5 * TICK_PS))
    assert hybrid_time_ps(last) == 5 * TICK_PS
    for _ in range(full - 1):
        last = int(stamp(HYBRID, last, 5 * TICK_PS))
    assert hybrid_time_ps(last) == 5 * TICK_PS
    assert hybrid_time_ps(stamp(HYBRID, last, 5 * TICK_PS)) == 6 * TICK_PS
    assert most_ahead_ps(0, full - 1) == 0
    assert most_ahead_ps(0, full) == TICK_PS
    assert hybrid_time_ps(stamp(HYBRID, last, 7 * TICK_PS)) == 7 * TICK_PS


@given(group_bounds(), st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_readings_at_one_instant_differ_by_the_skew_at_most(bounds, instants):
    seed, skew_ps, drift_ppm, horizon_ps = bounds
    clocks = draw_clocks(seed, 6, skew_ps=skew_ps, drift_ppm=drift_ppm, horizon_ps=horizon_ps)
    for part in [*instants, 0, 1]:
        now = min(int(part * horizon_ps), horizon_ps)
        readings = [int(read(now, int(o), int(d))) for o, d in zip(*clocks, strict=True)]
        assert max(readings) - min(readings) <= skew_ps
        assert min(readings) >= 0


def test_the_skew_is_reached_by_the_extremes_of_offset_and_drift():
    skew_ps, drift_ppm, horizon_ps = 10**9, 5, 10**13
    offset_ps = skew_ps - drifted_apart_ps(drift_ppm, horizon_ps)
    early = read(horizon_ps, offset_ps, drift_ppm * 1000)
    assert early - read(horizon_ps, 0, -drift_ppm * 1000) == skew_ps


def test_offsets_and_drifts_fill_their_ranges_and_follow_from_the_seed():
    bounds = {"skew_ps": 10**9, "drift_ppm": 20.0, "horizon_ps": 10**13}
    clocks = draw_clocks(1, 2000, **bounds)
    offset_max = 10**9 - drifted_apart_ps(20.0, 10**13)
    assert 0 <= clocks.offset_ps.min() < 0.01 * offset_max
    assert 0.99 * offset_max < clocks.offset_ps.max() <= offset_max
    assert -20_000 <= clocks.drift_ppb.min() < -19_800
    assert 19_800 < clocks.drift_ppb.max() <= 20_000
    again = draw_clocks(1, 2000, **bounds)
    assert all((a == b).all() for a, b in zip(clocks, again, strict=True))
    fewer, other = draw_clocks(1, 10, **bounds), draw_clocks(2, 10, **bounds)
    assert (fewer.offset_ps == clocks.offset_ps[:10]).all(), "a member's clock does not depend on the others"
    assert (other.offset_ps != fewer.offset_ps).all()


@given(TIMES, TIMES, st.integers(0, SKEW_MAX_PS), DRIFTS_PPB)
def test_a_reading_is_the_exact_one_rounded_down_and_never_goes_back(one, other, offset_ps, drift_ppb):
    early, late = sorted((one, other))
    first, second = (int(read(now, offset_ps, drift_ppb)) for now in (early, late))
    assert first <= second
    for now, shown in ((early, first), (late, second)):
        exact = now * (1 + Fraction(drift_ppb, 10**9)) + offset_ps
        assert 0 <= exact - shown < 1


@given(TIMES, TIMES, DRIFTS_PPB)
def test_a_clock_drifts_no_more_than_its_bound(one, other, drift_ppb):
    elapsed = abs(one - other)
    shown = abs(int(read(one, 0, drift_ppb)) - int(read(other, 0, drift_ppb)))
    assert abs(shown - elapsed) <= Fraction(abs(drift_ppb) * elapsed, 10**9) + 1


@pytest.mark.parametrize("kind", [PHYSICAL, LOGICAL, HYBRID])
def test_nothing_overflows_at_the_largest_values(kind):
    reading = int(read(HORIZON_MAX_PS, SKEW_MAX_PS, DRIFT_MAX_PPM * 1000))
    assert reading == HORIZON_MAX_PS + SKEW_MAX_PS + HORIZON_MAX_PS // 100 < INT64_MAX
    stamped = int(stamp(kind, 0, reading))
    assert 0 < stamped < INT64_MAX
    assert int(stamp(kind, merge(kind, 0, stamped), 0)) in (1, stamped + 1)


def test_hybrid_stamps_of_ten_years_fit_into_64_bits():
    last = TEN_YEARS_US << COUNTER_BITS
    assert last < INT64_MAX
    assert hybrid_time_ps(stamp(HYBRID, last, 0) - (last - (1 << COUNTER_BITS))) == TICK_PS
    assert stamp(HYBRID, merge(HYBRID, 0, last), 0) == last + 1


def test_a_logical_clock_counts_a_stamp_each_nanosecond_for_ten_years():
    last = 1000 * TEN_YEARS_US
    assert stamp(LOGICAL, merge(LOGICAL, 0, last), 0) == last + 1 < INT64_MAX


@pytest.mark.parametrize(
    ("skew_ps", "drift_ppm", "horizon_ps", "reason"),
    [
        (-1, 0, 0, "skew of -1 ps: accepted are 0 to"),
        (SKEW_MAX_PS + 1, 0, 0, "skew"),
        (0, -0.5, 0, "drift of -0.5 ppm: accepted are 0 to 10000 ppm"),
        (0, DRIFT_MAX_PPM + 1, 0, "drift"),
        (0, float("nan"), 0, "drift"),
        (0, 0, -1, "horizon"),
        (0, 0, HORIZON_MAX_PS + 1, "horizon"),
        (1999, 1, 10**9, "up to 2000 ps apart"),
    ],
)
def test_bounds_that_cannot_be_are_refused(skew_ps, drift_ppm, horizon_ps, reason):
    with pytest.raises(InvalidInput, match=reason):
        check_clocks(skew_ps, drift_ppm, horizon_ps)
    with pytest.raises(InvalidInput, match=reason):
        draw_clocks(0, 2, skew_ps=skew_ps, drift_ppm=drift_ppm, horizon_ps=horizon_ps)


def test_a_group_without_members_has_no_clocks():
    with pytest.raises(InvalidInput, match="at least one"):
        draw_clocks(0, 0, skew_ps=0)


def test_logical_clocks_show_what_figure_3_does():
    """Five messages and one, acknowledgements that carry a stamp of their own, and two messages stamped 7."""
    first, second = [], []
    clock = {"s1": 0, "s2": 0, "r": 0}
    for _ in range(5):
        clock["s1"] = int(stamp(LOGICAL, clock["s1"], 0))
        first.append(clock["s1"])
    clock["s2"] = int(stamp(LOGICAL, clock["s2"], 0))
    second.append(clock["s2"])
    assert (first, second) == ([1, 2, 3, 4, 5], [1])
    for heard in [*first, *second]:
        clock["r"] = int(merge(LOGICAL, clock["r"], heard))
    assert min(first[-1], second[-1]) == 1, "what is acknowledged"
    clock["r"] = int(stamp(LOGICAL, clock["r"], 0))
    for sender in ("s1", "s2"):
        clock[sender] = int(merge(LOGICAL, clock[sender], clock["r"]))
        assert clock[sender] == 6
        assert stamp(LOGICAL, clock[sender], 0) == 7


def test_physical_clocks_let_figure_3_acknowledge_the_five_messages_and_not_the_sixth():
    """The smaller of the two senders' last stamps is acknowledged, so the later message has to wait."""
    first, last = [], 0
    for now in range(10, 60, 10):
        last = int(stamp(PHYSICAL, last, now))
        first.append(last)
    second = int(stamp(PHYSICAL, 0, 60))
    acknowledged = min(first[-1], second)
    assert sum(one <= acknowledged for one in [*first, second]) == 5
