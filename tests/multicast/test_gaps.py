from hypothesis import given
from hypothesis import strategies as st

from stablecast.multicast.gaps import GAPS_MOST, NEVER, Gaps


def ranges(gaps, now=NEVER):
    return [(gap.first, gap.last) for gap in gaps.due(now)] if gaps else []


def test_what_comes_closes_a_gap_shortens_it_or_makes_two_of_it():
    gaps = Gaps()
    gaps.add(1, 10, 1.0)
    gaps.add(20, 22, 2.0)
    gaps.fill(1, 2)
    gaps.fill(5, 6)
    gaps.fill(10, 11)
    gaps.fill(20, 22)
    gaps.fill(100, 101)
    assert ranges(gaps) == [(3, 4), (7, 9)]
    gaps.fill(1, 50)
    assert not gaps
    assert gaps.next_at == NEVER


def test_each_gap_has_a_time_of_its_own():
    gaps = Gaps()
    gaps.add(1, 1, 1.0)
    gaps.add(3, 3, 2.0)
    assert (gaps.next_at, ranges(gaps, 1.5)) == (1.0, [(1, 1)])
    (gap,) = gaps.due(1.5)
    gap.due = 4.0
    gaps.rescheduled()
    assert (gaps.next_at, ranges(gaps, 3.0)) == (2.0, [(3, 3)])
    gaps.ask_all(0.5)
    assert ranges(gaps, 0.5) == [(1, 1), (3, 3)]


def test_news_of_further_parts_lengthen_a_gap_that_nobody_was_asked_for():
    gaps = Gaps()
    gaps.add(1, 1, 1.0)
    gaps.add(2, 5, 2.0)
    assert ranges(gaps, 1.0) == [(1, 5)]
    gaps.due(1.0)[0].tries = 1
    gaps.add(6, 7, 2.0)
    assert ranges(gaps) == [(1, 5), (6, 7)]


def test_gaps_are_bounded_where_nothing_comes_but_news():
    gaps = Gaps()
    for part in range(1, 3 * GAPS_MOST):
        gaps.add(part, part, float(part))
        for gap in gaps.due(NEVER):
            gap.tries += 1
    assert len(ranges(gaps)) == GAPS_MOST
    assert ranges(gaps)[-1][1] == 3 * GAPS_MOST - 1


def test_a_part_that_comes_before_a_repair_can_was_overtaken():
    gaps = Gaps()
    gaps.add(1, 2, 1.2, seen=1.0)
    gaps.add(4, 4, 1.2)
    gap, hearsay = gaps.holding(2), gaps.holding(4)
    assert gaps.holding(3) is None
    assert gap.late_by(1.25, 0.1) == 0.25
    gap.tries, gap.asked = 1, 1.5
    assert gap.late_by(1.5625, 0.1) == 0.5625
    assert gap.late_by(1.75, 0.1) is None
    assert hearsay.late_by(1.1, 0.1) is None


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 40), st.integers(0, 6)), max_size=40))
def test_gaps_agree_with_a_set_of_all_missing_parts(steps):
    gaps, missing, highest = Gaps(), set(), 0
    for is_new, number, more in steps:
        if is_new:
            first, last = highest + 1 + number % 3, highest + 1 + number % 3 + more
            gaps.add(first, last, 0.0)
            missing |= set(range(first, last + 1))
            highest = last
        else:
            gaps.fill(number, number + more)
            missing -= set(range(number, number + more + 1))
        found = [part for first, last in ranges(gaps) for part in range(first, last + 1)]
        assert found == sorted(missing)
