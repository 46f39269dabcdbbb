import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablecast.engine.options import LARGEST_PAYLOAD
from stablecast.engine.seal import OVERHEAD
from stablecast.engine.sealing import room_in
from stablecast.engine.wire import encode, pack_encoded
from stablecast.errors import StablecastError
from stablecast.multicast.frames import Data, Fragment
from stablecast.multicast.packing import RUN_MESSAGES, OpenRun, Packer
from stablecast.multicast.streams import Stream

NOW = 0.0


def packer(largest=1_400, attach=None, width=0, parts=0, messages=0):
    room = room_in(largest)
    return Packer(2**64 - 1, 63, parts=parts, messages=messages, room=room, attach=attach, width=width)


def bytes_of(run):
    return len(pack_encoded([encode(run)])) + OVERHEAD


def test_small_messages_wait_for_company():
    packing = packer()
    assert packing.add(b"one", NOW) == []
    assert packing.add(b"two", NOW) == []
    (run,) = packing.flush(NOW)
    assert isinstance(run, Data)
    assert run.payloads == [b"one", b"two"]
    assert (run.part, run.seq) == (1, 1)
    assert packing.flush(NOW) == []
    assert packing.waiting == 0


def test_a_run_that_is_full_goes_and_the_next_begins():
    packing = packer()
    runs = [run for _ in range(40) for run in packing.add(bytes(100), NOW)] + packing.flush(NOW)
    assert [len(run.payloads) for run in runs] == [12, 12, 12, 4]
    assert [run.seq for run in runs] == [1, 13, 25, 37]
    assert all(bytes_of(run) <= 1_400 for run in runs)


def test_a_large_message_is_split_and_goes_behind_what_waits():
    packing = packer()
    packing.add(b"before", NOW)
    before, *parts = packing.add(bytes(5_000), NOW)
    packing.add(b"after", NOW)
    (after,) = packing.flush(NOW)
    assert isinstance(before, Data)
    assert all(isinstance(part, Fragment) for part in parts)
    assert [part.index for part in parts] == list(range(len(parts)))
    assert {(part.seq, part.count) for part in parts} == {(2, len(parts))}
    assert (after.part, after.seq) == (2 + len(parts), 3)


def test_empty_messages_are_messages_and_a_run_has_not_too_many():
    packing = packer(largest=60_000)
    runs = [run for _ in range(RUN_MESSAGES + 1) for run in packing.add(b"", NOW)] + packing.flush(NOW)
    assert [len(run.payloads) for run in runs] == [RUN_MESSAGES, 1]


def test_what_the_protocol_attaches_goes_with_each_part_and_still_fits():
    attached = []

    def attach(part, now):
        attached.append(part)
        return [2**62 + part, -(2**62)]

    packing = packer(attach=attach, width=2)
    runs = [run for size in (0, 10, 1_200, 9_000, 5) for run in packing.add(bytes(size), NOW)]
    runs += packing.flush(NOW)
    assert attached == list(range(1, packing.parts + 1))
    for run in runs:
        count = len(run.payloads) if isinstance(run, Data) else 1
        assert len(run.attached) == 2 * count
        assert bytes_of(run) <= 1_400


def test_numbers_go_on_from_the_view_before():
    packing = packer(parts=70, messages=50)
    packing.add(b"x", NOW)
    (run,) = packing.flush(NOW)
    assert (run.part, run.seq) == (71, 51)


@given(
    sizes=st.lists(st.one_of(st.integers(0, 3_000), st.integers(0, 40_000)), max_size=30),
    largest=st.sampled_from([512, 1_400, 16_000]),
    flushes=st.sets(st.integers(0, 30)),
)
def test_whatever_is_packed_fits_and_comes_out_the_same(sizes, largest, flushes):
    packing, payloads, runs = packer(largest=largest), [], []
    for k, size in enumerate(sizes):
        payloads.append(bytes([k]) * size)
        runs += packing.add(payloads[-1], NOW)
        if k in flushes:
            runs += packing.flush(NOW)
    runs += packing.flush(NOW)
    assert all(bytes_of(run) <= largest for run in runs)
    stream, found = Stream("a", parts=0, messages=0), []
    for run in runs:
        assert run.part == stream.prefix + 1
        stream.append(run, 0.0)
        seq, whole = stream.messages_of(run)
        if whole:
            assert seq == len(found) + 1
        found += whole
    assert found == payloads
    assert stream.seq == packing.messages == len(payloads)


def test_a_protocol_that_leaves_no_room_gets_an_error_and_nothing_is_packed():
    packing = packer(largest=512, attach=lambda part, now: [0] * 100, width=100)
    with pytest.raises(StablecastError, match="no room beside what the protocol attaches"):
        packing.parts_of(1)


def test_a_message_has_as_many_parts_as_it_is_split_into():
    packing = packer(largest=512, attach=lambda part, now: [part], width=1)
    for size in (0, 1, 386, 387, 388, 5_000, LARGEST_PAYLOAD):
        before, expected = packing.parts, packing.parts_of(size)
        packing.add(bytes(size), NOW)
        assert packing.parts - before == expected


def test_the_largest_message_fits_into_the_smallest_datagrams():
    packing = packer(largest=512)
    runs = packing.add(bytes(LARGEST_PAYLOAD), NOW)
    assert all(bytes_of(run) <= 512 for run in runs)
    assert sum(len(run.chunk) for run in runs) == LARGEST_PAYLOAD


def put(open_run, payload):
    """Put a message into the run under construction without a call, as ``Group.send`` does."""
    open_run.left -= len(payload) + open_run.each
    open_run.payloads.append(payload)


@given(
    sizes=st.lists(st.integers(0, 700), min_size=1, max_size=60),
    rooms=st.lists(st.integers(0, 4_000), min_size=1, max_size=60),
    largest=st.sampled_from([512, 1_400]),
)
def test_messages_that_are_put_in_without_a_call_fit_and_are_counted_like_others(sizes, rooms, largest):
    open_run = OpenRun()
    room = room_in(largest)
    packing = Packer(1, 0, parts=5, messages=3, room=room, attach=None, width=0, open_run=open_run)
    runs, payloads = [], [bytes([k]) * size for k, size in enumerate(sizes)]
    for k, payload in enumerate(payloads):
        if len(payload) < open_run.left:
            put(open_run, payload)
        else:
            runs += packing.add(payload, NOW)
            packing.grant(rooms[k % len(rooms)])
        assert packing.messages == open_run.before + len(open_run.payloads) == 4 + k
        assert packing.waiting == sum(len(p) + open_run.each for p in open_run.payloads)
    runs += packing.flush(NOW)
    assert all(bytes_of(run) <= largest for run in runs)
    stream = Stream("a", parts=5, messages=3)
    found = []
    for run in runs:
        assert run.part == stream.prefix + 1
        stream.append(run, NOW)
        found += stream.messages_of(run)[1]
    assert found == payloads
    assert packing.parts == stream.prefix


def test_no_more_is_put_in_without_a_call_than_there_is_room_for():
    open_run = OpenRun()
    packing = Packer(1, 0, parts=0, messages=0, room=10_000, attach=None, width=0, open_run=open_run)
    assert open_run.left == 0
    packing.grant(250)
    count = 0
    while open_run.left > 100:
        put(open_run, bytes(100))
        count += 1
    assert count == 2
    packing.grant(0)
    assert open_run.left == 0
    assert packing.waiting == 2 * (100 + open_run.each)


def test_empty_messages_that_are_put_in_without_a_call_make_no_run_too_long():
    open_run = OpenRun()
    packing = Packer(1, 0, parts=0, messages=0, room=60_000, attach=None, width=0, open_run=open_run)
    packing.grant(1 << 30)
    while open_run.left > 0:
        put(open_run, b"")
    assert len(open_run.payloads) <= RUN_MESSAGES
