import asyncio

import pytest
from live_groups import Reader, first_deliveries, join, joined, play, until

from stablecast.engine.history import ANSWERS_MOST, MESSAGE_COST, Archive, Fetch
from stablecast.engine.names import Names, key_of
from stablecast.engine.results import Delivery, HistoryGone
from stablecast.errors import GroupClosed, InvalidInput
from stablecast.membership.view import MemberInfo
from stablecast.multicast.frames import AskHistory, Data, History
from stablecast.multicast.streams import Kept
from stablecast.testing import Network

MIB = 1 << 20


def test_a_late_joiner_gets_the_history_that_a_handler_keeps():
    async def scenario():
        network = Network(seed=6, loss=0.1)
        async with joined(network, "a", "b", each={"b": {"history_bytes": MIB}}) as (a, _):
            receipts = [await a.send(b"order %d" % k) for k in range(300)]
            await receipts[-1].stable()
            async with join(network, "c", [a.address]) as c:
                assert c.frontier["a"] == 300
                found = await c.history("a", 1, c.frontier["a"])
                assert found == [Delivery("a", k + 1, b"order %d" % k, "c") for k in range(300)]
                some = await c.history("a", 250, 252)
                assert [delivery.payload for delivery in some] == [b"order 249", b"order 250", b"order 251"]

    play(scenario)


def test_history_and_live_messages_make_one_sequence_without_a_gap():
    async def scenario():
        network = Network(seed=6)
        async with joined(network, "a", "b", history_bytes=MIB) as (a, _):

            async def go_on_sending():
                for k in range(1, 401):
                    await a.send(b"%d" % k)
                    await asyncio.sleep(0.002)

            sending = asyncio.create_task(go_on_sending())
            await asyncio.sleep(0.3)
            async with join(network, "c", [a.address], history_bytes=MIB) as c:
                first = (await first_deliveries(c, 1))[0].seq
                before = await c.history("a", 1, first - 1)
                reader = Reader(c)
                await sending
                await until(lambda: reader.found and reader.found[-1].seq == 400)
                numbers = [d.seq for d in before] + [first] + [d.seq for d in reader.found]
                assert numbers == list(range(1, 401))

    play(scenario)


def test_history_that_is_gone_is_said_to_be_gone():
    async def scenario():
        network = Network(seed=6)
        async with joined(network, "a", "b", history_bytes=1_000) as (a, _):
            receipts = [await a.send(b"%3d" % k + bytes(97)) for k in range(1, 51)]
            await receipts[-1].stable()
            async with join(network, "c", [a.address]) as c:
                gone = await c.history("a", 1, 50)
                assert isinstance(gone, HistoryGone)
                assert (gone.source, gone.first, gone.last) == ("a", 1, 50)
                assert 40 < gone.kept_from <= 50
                kept = await c.history("a", gone.kept_from, 50)
                assert [delivery.seq for delivery in kept] == list(range(gone.kept_from, 51))

    play(scenario)


def test_nobody_keeps_history_unless_told_to():
    async def scenario():
        network = Network(seed=6)
        async with joined(network, "a", "b") as (a, b):
            await (await a.send(b"x")).stable()
            assert await b.history("a", 1, 1) == HistoryGone("a", 1, 1)
            assert await b.history("nobody", 1, 1) == HistoryGone("nobody", 1, 1)

    play(scenario)


def test_a_message_larger_than_a_datagram_is_not_kept():
    async def scenario():
        network = Network(seed=6)
        async with joined(network, "a", "b", history_bytes=MIB) as (a, _):
            for payload in (b"small", bytes(5_000), b"small too"):
                receipt = await a.send(payload)
                await receipt.stable()
            async with join(network, "c", [a.address]) as c:
                gone = await c.history("a", 1, 3)
                assert (gone.first, gone.last) == (2, 3)
                assert await c.history("a", 3, 3) == [Delivery("a", 3, b"small too", "c")]

    play(scenario)


def test_several_ask_at_the_same_time_and_each_gets_its_own():
    async def scenario():
        network = Network(seed=6, loss=0.1)
        async with joined(network, "a", "b", history_bytes=MIB) as (a, b):
            for group in (a, b):
                receipts = [await group.send(group.me.encode() + b"%d" % k) for k in range(20)]
                await receipts[-1].stable()
            async with join(network, "c", [a.address]) as c:
                of_a, of_b = await asyncio.gather(c.history("a", 1, 20), c.history("b", 1, 20))
                assert [delivery.payload for delivery in of_a] == [b"a%d" % k for k in range(20)]
                assert [delivery.payload for delivery in of_b] == [b"b%d" % k for k in range(20)]

    play(scenario)


def test_asking_goes_on_when_the_member_that_answers_crashes():
    async def scenario():
        network = Network(seed=6, delay_s=(0.01, 0.02))
        async with joined(network, "a", "b", "c", history_bytes=MIB) as (a, *_):
            receipts = [await a.send(b"%d" % k + bytes(500)) for k in range(50)]
            await receipts[-1].stable()
            async with join(network, "d", [a.address]) as d:
                asking = asyncio.create_task(d.history("a", 1, 50))
                await asyncio.sleep(0.1)
                network.crash("a")
                assert len(await asking) == 50

    play(scenario)


def test_asking_in_a_group_that_is_closed_is_an_error():
    async def scenario():
        network = Network(seed=6)
        async with joined(network, "a", "b") as (a, _):
            network.pause("b")
            asking = asyncio.create_task(a.history("b", 1, 1))
            await asyncio.sleep(0.05)
            await a.close()
            with pytest.raises(GroupClosed):
                await asking

    play(scenario)


@pytest.mark.parametrize(("first", "last"), [(0, 1), (1, 0), ("1", 2), (1, True)])
def test_numbers_that_no_message_has_are_refused(first, last):
    with pytest.raises(InvalidInput, match="accepted: from 1"):
        Fetch("a", first, last, me="b", names=Names())


A = MemberInfo(77, "a", 1, "host", 1)


class Answers:
    """An archive with what it replies."""

    def __init__(self, budget):
        self.names = Names()
        self.names.label_of(A)
        self.archive = Archive(budget, self.names, 1_400)

    def keep(self, seq, *payloads):
        run = Data(1, 0, seq, seq, list(payloads))
        self.archive.keep(
            key_of(A), [Kept(run, seq, seq + len(payloads) - 1, seq + len(payloads) - 1, 0, 0.0)]
        )

    def ask(self, first, last):
        return self.archive.answers(AskHistory(1, "a", first, last))


def test_an_archive_lets_the_oldest_go_first():
    answers = Answers(10 + 2 * MESSAGE_COST)
    answers.keep(1, b"1111", b"2222")
    answers.keep(3, b"3333")
    assert answers.ask(1, 3) == [History(1, "a", 1, [], True, 2, A.session)]
    assert answers.ask(2, 3) == [History(1, "a", 2, [b"2222", b"3333"], False, 2, A.session)]


def test_an_answer_fits_a_datagram():
    answers = Answers(MIB)
    answers.keep(1, *(bytes(100) for _ in range(100)))
    first, *others = answers.ask(1, 100)
    assert all(5 < len(answer.payloads) < 14 for answer in (first, *others[:-1]))
    assert sum(len(answer.payloads) for answer in (first, *others)) == 100
    assert [answer.more for answer in (first, *others)] == [True] * len(others) + [False]


def test_a_request_is_answered_with_so_many_frames_at_most():
    answers = Answers(MIB)
    answers.keep(1, *(bytes(1_000) for _ in range(2 * ANSWERS_MOST)))
    assert len(answers.ask(1, 2 * ANSWERS_MOST)) == ANSWERS_MOST


def test_empty_messages_take_room_in_an_archive():
    answers = Answers(1_000)
    for seq in range(1, 1_001):
        answers.keep(seq, b"")
    (gone,) = answers.ask(1, 1)
    assert gone.gone
    assert gone.kept_from == 1_001 - 1_000 // MESSAGE_COST


def test_much_history_over_a_long_way_takes_a_few_round_trips():
    async def scenario():
        network = Network(seed=6, delay_s=(0.1, 0.1))
        keeps = {"b": {"history_bytes": MIB}}
        async with joined(network, "a", "b", each=keeps) as (a, _):
            receipts = [await a.send(bytes(200)) for _ in range(400)]
            await receipts[-1].stable()
            async with join(network, "c", [a.address]) as c:
                loop = asyncio.get_running_loop()
                await until(lambda: c.stats().view_epoch)
                await asyncio.sleep(2.0)
                started = loop.time()
                assert len(await c.history("a", 1, 400)) == 400
                assert loop.time() - started < 3.0  # of virtual time; with one datagram a trip it is 13

    play(scenario)
