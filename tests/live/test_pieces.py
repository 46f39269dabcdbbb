"""Frames of any size travel in datagrams of the configured size."""

import asyncio
import random

import pytest
from live_groups import join, joined, play, until

import stablecast
from stablecast.engine.pieces import BYTES_OF_ALL, FRAMES_OF_ONE, Pieces, cut
from stablecast.engine.wire import Piece, decode, encode, unpack
from stablecast.membership.messages import Farewell
from stablecast.testing import Network


def name_of(k):
    return f"{k:03d}-" + "a-long-name-that-says-where-it-runs-and-what-it-is-for-in-full"[:60]


def nothing_larger_than(largest):
    def tap(datagram, sender, to):
        return None if len(datagram) > largest else datagram

    return tap


@pytest.mark.parametrize(("largest", "size"), [(1_400, 40), (512, 40)])
def test_no_datagram_of_a_large_group_with_long_names_is_larger_than_it_may_be(largest, size):
    async def scenario():
        network = Network(seed=3, largest=largest, tap=nothing_larger_than(largest))
        names = [name_of(k) for k in range(size)]
        async with joined(network, *names, zone="z" * 64) as groups:
            receipt = await groups[0].send(bytes(100))
            assert isinstance(await receipt.stable(20.0), stablecast.Stable)
            network.crash(names[-1])
            await groups[-2].close()
            stay = groups[:-2]
            await until(lambda: all(len(group.members) == size - 2 for group in stay))
            assert network.datagrams.largest <= largest

    play(scenario)


@pytest.mark.parametrize("loss", [0.0, 0.2])
def test_the_many_visitors_of_a_small_group_do_not_break_it(loss):
    async def scenario():
        network = Network(seed=3, largest=512, loss=loss, tap=nothing_larger_than(512))
        async with joined(network, name_of(0), name_of(1)) as groups:
            for k in range(2, 40):
                async with join(network, name_of(k), [groups[0].address]):
                    pass
            await until(lambda: all(len(group.members) == 2 for group in groups))
            assert network.datagrams.largest <= 512

    play(scenario)


def test_a_split_group_of_long_names_comes_together_again():
    async def scenario():
        network = Network(seed=3, largest=512, loss=0.05, tap=nothing_larger_than(512))
        names = [name_of(k) for k in range(12)]
        async with joined(network, *names) as groups:
            network.partition(names[:7], names[7:])
            await until(lambda: all(len(group.members) < 12 for group in groups))
            network.heal()
            await until(lambda: all(len(group.members) == 12 for group in groups))
            await asyncio.sleep(5.0)
            assert network.datagrams.largest <= 512

    play(scenario)


def pieces_of(frame, room=200):
    """Return a frame's pieces as they are taken out of datagrams."""
    found = []
    for packed in cut(encode(frame), room):
        assert len(packed) <= room
        _, frames = unpack(b"\x92\x00\x91" + packed)
        found += frames
    return found


def farewell(number):
    return Farewell(number, "x" * 900, bytes(range(200)))


def test_a_frame_is_complete_with_its_last_piece_in_any_order():
    pieces = pieces_of(farewell(1))
    random.Random(1).shuffle(pieces)
    found = Pieces()
    assert [found.add(piece, 5) for piece in pieces[:-1]] == [None] * (len(pieces) - 1)
    assert decode(found.add(pieces[-1], 5)) == farewell(1)


def test_a_repetition_brings_the_pieces_that_were_lost():
    found, complete = Pieces(), []
    for kept in (0, 1):  # every other piece is lost, and the other ones of the repetition
        complete += [found.add(piece, 5) for piece in pieces_of(farewell(1))[kept::2]]
    assert decode(complete[-1]) == farewell(1)


def test_pieces_of_different_frames_or_senders_never_mix():
    found = Pieces()
    one, other = pieces_of(farewell(1)), pieces_of(farewell(2))
    for piece in one[:-1]:
        found.add(piece, 5)
    assert found.add(other[-1], 5) is None
    assert found.add(one[-1], 6) is None
    stolen = Piece(one[-1].name, one[-1].index, one[-1].count, other[0].chunk)
    assert found.add(stolen, 5) is None  # it completes the frame, which is then not the one that it is named
    for piece in one[:-1]:
        found.add(piece, 5)
    assert decode(found.add(one[-1], 5)) == farewell(1)


@pytest.mark.parametrize(("index", "count"), [(0, 0), (3, 3), (0, 1 << 40)])
def test_pieces_that_no_frame_has_are_passed_over(index, count):
    assert Pieces().add(Piece(1, index, count, b"x"), 5) is None


def test_what_is_never_complete_takes_bounded_memory():
    found = Pieces()
    for session in range(3_000):
        for name in range(FRAMES_OF_ONE):
            found.add(Piece(name, 0, 3, bytes(1_000)), session)
    assert BYTES_OF_ALL - 1_000 < found.kept_bytes <= BYTES_OF_ALL


def test_a_session_has_a_few_incomplete_frames_and_the_oldest_go_first():
    found = Pieces()
    frames = [pieces_of(farewell(number)) for number in range(FRAMES_OF_ONE + 1)]
    for pieces in frames:
        for piece in pieces[:-1]:
            found.add(piece, 5)
    complete = [found.add(pieces[-1], 5) is not None for pieces in reversed(frames)]
    assert complete == [True] * FRAMES_OF_ONE + [False]
