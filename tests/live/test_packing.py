import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablecast.live.options import LARGEST_PAYLOAD
from stablecast.live.packing import RUN_MESSAGES, Packer
from stablecast.live.seal import OVERHEAD
from stablecast.live.streams import Stream
from stablecast.live.wire import Data, Fragment, encode, pack_encoded


def packer(largest=1_400, attach=None, width=0, parts=0, messages=0):
    return Packer(2**64 - 1, 63, parts=parts, messages=messages, largest=largest, attach=attach, width=width)


def bytes_of(run):
    return len(pack_encoded([encode(run)])) + OVERHEAD


def test_small_messages_wait_for_company():
    packing = packer()
    assert packing.add(b"one") == []
    assert packing.add(b"two") == []
    (run,) = packing.flush()
    assert isinstance(run, Data)
    assert run.payloads == [b"one", b"two"]
    assert (run.part, run.seq) == (1, 1)
    assert packing.flush() == []
    assert packing.waiting == 0


def test_a_run_that_is_full_goes_and_the_next_begins():
    packing = packer()
    runs = [run for _ in range(40) for run in packing.add(bytes(100))] + packing.flush()
    assert [len(run.payloads) for run in runs] == [12, 12, 12, 4]
    assert [run.seq for run in runs] == [1, 13, 25, 37]
    assert all(bytes_of(run) <= 1_400 for run in runs)


def test_a_large_message_is_split_and_goes_behind_what_waits():
    packing = packer()
    packing.add(b"before")
    before, *parts = packing.add(bytes(5_000))
    packing.add(b"after")
    (after,) = packing.flush()
    assert isinstance(before, Data)
    assert all(isinstance(part, Fragment) for part in parts)
    assert [part.index for part in parts] == list(range(len(parts)))
    assert {(part.seq, part.count) for part in parts} == {(2, len(parts))}
    assert (after.part, after.seq) == (2 + len(parts), 3)


def test_empty_messages_are_messages_and_a_run_has_not_too_many():
    packing = packer(largest=60_000)
    runs = [run for _ in range(RUN_MESSAGES + 1) for run in packing.add(b"")] + packing.flush()
    assert [len(run.payloads) for run in runs] == [RUN_MESSAGES, 1]


def test_what_the_protocol_attaches_goes_with_each_part_and_still_fits():
    attached = []

    def attach(part):
        attached.append(part)
        return [2**62 + part, -(2**62)]

    packing = packer(attach=attach, width=2)
    runs = [run for size in (0, 10, 1_200, 9_000, 5) for run in packing.add(bytes(size))] + packing.flush()
    assert attached == list(range(1, packing.parts + 1))
    for run in runs:
        count = len(run.payloads) if isinstance(run, Data) else 1
        assert len(run.attached) == 2 * count
        assert bytes_of(run) <= 1_400


@pytest.mark.parametrize("payload", [b"", b"x", bytes(1_000)])
def test_a_message_is_sent_even_if_what_is_attached_fills_more_than_a_datagram(payload):
    packing = packer(attach=lambda part: [2**62] * 300, width=300)
    runs = [*packing.add(payload), *packing.flush()]
    assert b"".join(run.chunk for run in runs) == payload
    assert [run.part for run in runs] == list(range(1, packing.parts + 1))
    assert (runs[-1].index, runs[-1].count) == (len(runs) - 1, len(runs))


def test_numbers_go_on_from_the_view_before():
    packing = packer(parts=70, messages=50)
    packing.add(b"x")
    (run,) = packing.flush()
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
        runs += packing.add(payloads[-1])
        if k in flushes:
            runs += packing.flush()
    runs += packing.flush()
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


def test_the_largest_message_fits_into_the_smallest_datagrams():
    packing = packer(largest=512)
    runs = packing.add(bytes(LARGEST_PAYLOAD))
    assert all(bytes_of(run) <= 512 for run in runs)
    assert sum(len(run.chunk) for run in runs) == LARGEST_PAYLOAD
