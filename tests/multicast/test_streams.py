import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablecast.multicast.frames import Data, Fragment
from stablecast.multicast.streams import RUN_COST, Stream, last_part, last_seq, size_of

VIEW, RANK = 7, 0


def data(part, seq, *payloads):
    return Data(VIEW, RANK, part, seq, list(payloads))


def fragment(part, seq, index, count, chunk=b"c"):
    return Fragment(VIEW, RANK, part, seq, index, count, chunk)


@pytest.fixture
def stream():
    return Stream("a", parts=0, messages=0)


def take(stream, run, now=0.0):
    """Take a run as members do; return the messages that it completes."""
    if run.part != stream.prefix + 1:
        stream.put_ahead(run)
        return []
    found = []
    taken = run
    while taken is not None:
        stream.append(taken, now)
        seq, payloads = stream.messages_of(taken)
        found += [(seq + k, payload) for k, payload in enumerate(payloads)]
        taken = stream.pop_next()
    return found


def test_a_run_knows_its_last_part_message_and_size():
    assert (last_part(data(5, 3, b"x", b"yz")), last_seq(data(5, 3, b"x", b"yz"))) == (6, 4)
    assert (last_part(fragment(5, 3, 0, 2)), last_seq(fragment(5, 3, 0, 2))) == (5, 2)
    assert (last_part(fragment(6, 3, 1, 2)), last_seq(fragment(6, 3, 1, 2))) == (6, 3)
    assert size_of(data(5, 3, b"x", b"yz")) == 3 + RUN_COST


def test_what_is_behind_a_gap_waits_for_what_is_missing(stream):
    assert take(stream, data(3, 3, b"3")) == []
    assert take(stream, data(2, 2, b"2")) == []
    assert stream.lacks
    assert (stream.prefix, stream.highest) == (0, 3)
    assert take(stream, data(1, 1, b"1")) == [(1, b"1"), (2, b"2"), (3, b"3")]
    assert not stream.lacks
    assert stream.ahead_bytes == 0


def test_a_run_that_comes_twice_is_kept_once(stream):
    assert stream.put_ahead(data(2, 2, b"2"))
    assert not stream.put_ahead(data(2, 2, b"2"))
    take(stream, data(1, 1, b"1"))
    assert not stream.put_ahead(data(2, 2, b"2"))
    assert stream.ahead_bytes == 0


def test_repairs_are_whole_runs_from_the_asked_part_on(stream):
    runs = [data(1, 1, b"a", b"b"), data(3, 3, b"c"), data(4, 4, b"d", b"e")]
    for run in runs:
        take(stream, run)
    stream.put_ahead(data(8, 8, b"h"))
    assert list(stream.runs_between(1, 3)) == runs[:2]
    assert list(stream.runs_between(3, 7)) == runs[1:]
    assert list(stream.runs_between(3, 9)) == [*runs[1:], data(8, 8, b"h")]  # 6 and 7 are missing here too
    assert list(stream.runs_between(8, 9)) == [data(8, 8, b"h")]
    assert list(stream.runs_between(2, 3)) == []
    stream.release(2)
    assert list(stream.runs_between(1, 3)) == runs[1:2]  # who asks for the first has it, and asked before


def test_what_is_stable_is_let_go_with_its_bytes(stream):
    for run in (data(1, 1, b"aa", b"b"), data(3, 3, b"c")):
        take(stream, run)
    (released,) = stream.release(2)
    assert (released.first, released.last, released.seq) == (1, 2, 2)
    assert (stream.stable, stream.stable_seq) == (2, 2)
    assert stream.kept_bytes == size_of(data(3, 3, b"c"))
    assert stream.release(2) == []
    assert stream.oldest.first == 3


def test_a_large_message_is_stable_with_its_last_part(stream):
    for index in range(3):
        take(stream, fragment(1 + index, 1, index, 3))
    stream.release(2)
    assert stream.stable_seq == 0
    stream.release(3)
    assert stream.stable_seq == 1


def test_parts_of_a_large_message_are_put_together(stream):
    assert take(stream, fragment(1, 1, 0, 2, b"he")) == []
    assert take(stream, fragment(2, 1, 1, 2, b"llo")) == [(1, b"hello")]
    assert take(stream, data(3, 2, b"next")) == [(2, b"next")]


def test_what_others_keep_is_dropped_after_a_while_but_still_counts_as_unstable(stream):
    take(stream, data(1, 1, b"a"), now=1.0)
    take(stream, data(2, 2, b"b"), now=1.5)
    take(stream, data(3, 3, b"c"), now=3.0)
    dropped = stream.drop(2.0, lambda run: run.part == 1)
    assert [kept.first for kept in dropped] == [2]
    assert stream.kept_bytes == size_of(data(1, 1, b"a")) + size_of(data(3, 3, b"c"))
    assert list(stream.runs_between(1, 3)) == [data(1, 1, b"a"), data(3, 3, b"c")]
    assert stream.drop(2.0, lambda run: run.part == 1) == []
    assert [kept.first for kept in stream.release(3)] == [1, 2, 3]
    assert stream.kept_bytes == 0


@given(order=st.permutations(range(12)), twice=st.lists(st.integers(0, 11), max_size=6))
def test_whatever_the_order_messages_come_out_once_and_in_theirs(order, twice):
    runs = [data(2 * k + 1, 2 * k + 1, b"%d" % (2 * k), b"%d" % (2 * k + 1)) for k in range(12)]
    stream, found = Stream("a", parts=0, messages=0), []
    for k in (*order[:6], *twice, *order[6:], *twice):
        if runs[k].part > stream.prefix:
            found += take(stream, runs[k])
    assert found == [(k + 1, b"%d" % k) for k in range(24)]
    assert stream.kept_bytes == sum(map(size_of, runs))
    assert not stream.ahead


def test_what_is_given_up_is_skipped_and_the_next_run_follows():
    stream = Stream("ann", parts=0, messages=0)
    stream.append(Data(1, 0, 1, 1, [b"a"]), 0.0)
    stream.put_ahead(Data(1, 0, 4, 4, [b"d"]))
    stream.skip(3)
    run = stream.pop_next()
    assert run is not None
    stream.append(run, 1.0)
    assert (stream.prefix, stream.seq, bool(stream.gaps)) == (4, 4, False)
    assert stream.messages_of(run) == (4, [b"d"])


def test_a_large_message_of_which_a_part_was_given_up_is_none():
    stream = Stream("ann", parts=0, messages=0)
    found = []
    for part, index, seq in [(1, 0, 1), (3, 2, 1), (4, 0, 2), (5, 1, 2), (6, 2, 2)]:
        if part > stream.prefix + 1:
            stream.hear_of(part - 1, 0.0)
            stream.skip(part - 1)
        run = Fragment(1, 0, part, seq, index, 3, b"%d" % index)
        stream.append(run, 0.0)
        found += stream.messages_of(run)[1]
    assert found == [b"012"]


def test_what_was_dropped_is_found_by_its_place():
    stream = Stream("ann", parts=0, messages=0)
    for part in (1, 2, 3, 4):
        stream.append(Data(1, 0, part, part, [b"x"]), float(part))
    stream.drop(3.5, lambda run: run.part == 2)
    assert [kept.first for kept in stream.dropped_between(1, 4)] == [1, 3]
    assert [run.part for run in stream.runs_between(1, 4)] == [2, 4]
