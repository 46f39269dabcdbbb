from hypothesis import given
from hypothesis import strategies as st

from stablecast.multicast.digests import Told, lacked_by_both, to_be_had, told_of, without
from stablecast.multicast.frames import Data
from stablecast.multicast.gaps import Gap
from stablecast.multicast.streams import Stream

parts = st.sets(st.integers(1, 40))


def ranges_of(numbers):
    found = []
    for number in sorted(numbers):
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def numbers_of(ranges):
    return {number for first, last in ranges for number in range(first, last + 1)}


@given(parts, st.integers(1, 40), st.integers(1, 40))
def test_what_is_left_of_a_range_is_what_the_others_do_not_have(taken, one, other):
    span = min(one, other), max(one, other)
    assert numbers_of(without(span, ranges_of(taken))) == set(range(span[0], span[1] + 1)) - taken


@given(parts, st.integers(0, 20), st.integers(1, 40), st.integers(1, 40))
def test_a_gap_is_what_the_other_has_what_it_lacks_and_what_it_does_not_speak_of(had, over, one, other):
    gap = Gap(min(one, other), max(one, other), 0.0)
    told = Told(0, over, 40, 40, ranges_of({part for part in had if part > over}))
    missing = set(range(gap.first, gap.last + 1))
    assert numbers_of(to_be_had(gap, told)) == {part for part in missing if part > over and part in had}
    assert numbers_of(lacked_by_both(gap, told)) == {
        part for part in missing if part > over and part not in had
    }


@given(parts)
def test_a_digest_has_all_that_has_come_and_is_sound(come):
    stream = Stream("ann", parts=0, messages=0)
    for part in sorted(come):
        run = Data(1, 0, part, part, [b"x"])
        if part == stream.prefix + 1:
            stream.append(run, 0.0)
        else:
            stream.put_ahead(run)
    told = told_of(0, stream, 7)
    assert numbers_of(told.received) == come
    assert (told.over, told.highest, told.seq) == (0, max(come, default=0), 7)
    assert told.is_sound


def test_ranges_that_overlap_or_go_too_far_are_not_sound():
    assert not Told(0, 0, 10, 10, [(1, 4), (4, 6)]).is_sound
    assert not Told(0, 0, 10, 10, [(5, 4)]).is_sound
    assert not Told(0, 3, 10, 10, [(3, 4)]).is_sound
    assert not Told(0, 0, 10, 10, [(8, 11)]).is_sound
    assert Told(0, 10, 4, 10, []).is_sound
