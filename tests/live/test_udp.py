import asyncio
import gc
import socket
import warnings

import pytest

from stablecast.errors import BindFailed, InvalidInput
from stablecast.live import udp
from stablecast.live.transport import Transport, is_loopback, parse_address
from stablecast.live.udp import UdpTransport, who_listens
from stablecast.membership.view import format_address

HERE = ("127.0.0.1", 0)
GROUP = "239.255.77.1"


def loop_factories():
    factories = [pytest.param(asyncio.new_event_loop, id="asyncio")]
    try:
        import uvloop
    except ImportError:
        return factories
    return [*factories, pytest.param(uvloop.new_event_loop, id="uvloop")]


@pytest.fixture(params=loop_factories())
def run(request):
    def run_within_time(coroutine):
        async def within_time():
            async with asyncio.timeout(20):
                return await coroutine

        with asyncio.Runner(loop_factory=request.param) as runner:
            return runner.run(within_time())

    return run_within_time


class Inbox:
    """What a transport received, and a way to wait for it."""

    def __init__(self, transport: Transport):
        self.received = []
        self.batches = []
        self._more = asyncio.Event()
        transport.start(self._take)

    def _take(self, batch):
        self.received += batch
        self.batches.append(len(batch))
        self._more.set()

    async def until(self, count):
        while len(self.received) < count:
            self._more.clear()
            await self._more.wait()
        return self.received


class FullSocket:
    """A socket that takes only what it is given room for."""

    def __init__(self, real):
        self._real = real
        self.room = 0

    def sendto(self, datagram, address):
        if self.room == 0:
            raise BlockingIOError
        self.room -= 1
        return self._real.sendto(datagram, address)

    def __getattr__(self, name):
        return getattr(self._real, name)


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(HERE)
        return sock.getsockname()[1]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:7001", ("127.0.0.1", 7001)),
        ("0.0.0.0:0", ("0.0.0.0", 0)),
        ("[::1]:7001", ("::1", 7001)),
        ("[0:0::0:1]:65535", ("::1", 65535)),
        ("localhost:80", ("127.0.0.1", 80)),
    ],
)
def test_an_address_is_read_from_text(text, address):
    assert parse_address(text) == address
    assert parse_address(format_address(address)) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "7001",
        "host",
        ":7001",
        "[]:7001",
        "::1:7001",
        "127.0.0.1:",
        "127.0.0.1:65536",
        "127.0.0.1:-1",
    ],
)
@pytest.mark.parametrize("space", ["", " "])
def test_text_of_another_form_is_refused_in_one_line_that_shows_it(text, space):
    check_refusal(text + space)


@pytest.mark.parametrize(
    "text",
    ["127.0.0.1:x", "127.0.0.1:\u0661", "256.0.0.1:1", "no such host:1", "a\0b:1", "é" * 70 + ":1"],
)
def test_text_that_is_no_address_is_refused_in_one_line_that_shows_it(text):
    check_refusal(text)


def check_refusal(text):
    with pytest.raises(InvalidInput) as refused:
        parse_address(text)
    assert f"'{text}'" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_only_addresses_that_stay_on_this_machine_are_loopback():
    assert all(is_loopback((host, 1)) for host in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
    assert not any(
        is_loopback((host, 1)) for host in ["0.0.0.0", "::", "10.0.0.1", "name", "::ffff:10.0.0.1"]
    )


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_datagram_reaches_each_destination_with_the_sender_s_address(run, host):
    async def scenario():
        ends = [await UdpTransport.open((host, 0)) for _ in range(3)]
        inboxes = [Inbox(end) for end in ends]
        first = ends[0]
        first.send(b"to both", [end.address for end in ends[1:]])
        first.send_all(b"to all", [end.address for end in ends[1:]])
        for inbox in inboxes[1:]:
            assert await inbox.until(2) == [(b"to both", first.address), (b"to all", first.address)]
        for end in ends:
            end.close()
        return first.stats, ends[1].stats

    sent, received = run(scenario())
    assert (sent.datagrams_sent, sent.bytes_sent) == (4, 2 * 7 + 2 * 6)
    assert (received.datagrams_received, received.bytes_received) == (2, 13)


def test_what_came_together_is_handed_on_together_and_in_bounded_batches(run):
    async def scenario():
        sender, receiver = await UdpTransport.open(HERE), await UdpTransport.open(HERE)
        numbers = [number.to_bytes(2) for number in range(200)]
        for number in numbers:
            sender.send(number, [receiver.address])
        inbox = Inbox(receiver)
        received = await inbox.until(200)
        sender.close()
        receiver.close()
        return [datagram for datagram, _ in received] == numbers, inbox.batches

    in_order, batches = run(scenario())
    assert in_order
    assert batches == [64, 64, 64, 8]


def test_the_largest_datagram_of_udp_passes_and_a_larger_one_is_counted(run):
    async def scenario():
        sender, receiver = await UdpTransport.open(HERE), await UdpTransport.open(HERE)
        inbox = Inbox(receiver)
        sender.send(bytes(65_508), [receiver.address])
        sender.send(bytes(65_507), [receiver.address])
        received = await inbox.until(1)
        sender.close()
        receiver.close()
        return [len(datagram) for datagram, _ in received], sender.stats.errors

    assert run(scenario()) == ([65_507], 1)


@pytest.mark.parametrize(
    "address",
    [("example.invalid", 1), ("127.0.0.1", 0), ("127.0.0.1", 70_000), ("::1", 1), ("", 1), ("a\0", 1)],
)
def test_addresses_that_cannot_be_sent_to_are_counted_and_never_resolved(run, address, monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: pytest.fail("resolved a name"))

    async def scenario():
        sender = await UdpTransport.open(HERE)
        sender.send(b"x", [address])
        sender.close()
        return sender.stats

    stats = run(scenario())
    assert (stats.errors, stats.datagrams_sent) == (1, 0)


def test_a_closed_port_is_no_reason_to_fail(run):
    async def scenario():
        sender, receiver = await UdpTransport.open(HERE), await UdpTransport.open(HERE)
        inbox = Inbox(receiver)
        sender.start(lambda batch: None)
        for _ in range(10):
            sender.send(b"x", [("127.0.0.1", free_port()), receiver.address])
        await inbox.until(10)
        sender.close()
        receiver.close()

    run(scenario())


def test_a_full_socket_makes_datagrams_wait_and_the_oldest_give_way(run, monkeypatch):
    monkeypatch.setattr(udp, "WAITING_DATAGRAMS", 3)

    async def scenario():
        sender, receiver = await UdpTransport.open(HERE), await UdpTransport.open(HERE)
        inbox = Inbox(receiver)
        full = sender._socket = FullSocket(sender._socket)
        for letter in b"abcde":
            sender.send(bytes([letter]), [receiver.address])
        assert sender.stats.dropped_full == 2
        full.room = 100
        sent = [datagram for datagram, _ in await inbox.until(3)]
        sender.send(b"f", [receiver.address])
        await inbox.until(4)
        sender.close()
        receiver.close()
        return sent, inbox.received[3][0], sender.stats

    sent, last, stats = run(scenario())
    assert (sent, last) == ([b"c", b"d", b"e"], b"f")
    assert (stats.datagrams_sent, stats.dropped_full) == (4, 2)


def test_ip_multicast_takes_one_datagram_to_all_with_the_sender_s_own_address(run):
    async def scenario():
        group = (GROUP, free_port())
        ends = [await UdpTransport.open(HERE, multicast=group) for _ in range(3)]
        inboxes = [Inbox(end) for end in ends]
        ends[0].send_all(b"all", [end.address for end in ends])
        for inbox in inboxes:
            assert await inbox.until(1) == [(b"all", ends[0].address)]
        ends[1].send(b"one", [ends[2].address])
        assert (await inboxes[2].until(2))[1] == (b"one", ends[1].address)
        for end in ends:
            end.close()
        return ends[0].kind, ends[0].stats.datagrams_sent

    assert run(scenario()) == ("multicast", 1)


@pytest.mark.parametrize("group", [("10.0.0.1", 7000), (GROUP, 0), ("ff02::1", 7000), ("name", 7000)])
def test_what_is_no_multicast_group_is_refused(run, group):
    async def scenario():
        with pytest.raises(InvalidInput, match="multicast group"):
            await UdpTransport.open(HERE, multicast=group)

    run(scenario())


@pytest.mark.parametrize(
    ("bind", "reason"),
    [(None, "in use"), (("192.0.2.1", 0), "no interface")],
)
def test_an_address_that_cannot_be_bound_is_told_in_one_line(run, bind, reason):
    async def scenario():
        holder = await UdpTransport.open(HERE)
        with pytest.raises(BindFailed, match=reason) as failed:
            await UdpTransport.open(bind or holder.address)
        assert format_address(bind or holder.address) in str(failed.value)
        holder.close()

    run(scenario())


@pytest.mark.parametrize(
    "arguments",
    [
        {"bind": ("name", 1)},
        {"bind": ("127.0.0.1", 65_536)},
        {"bind": HERE, "largest": 100},
        {"bind": HERE, "largest": 65_508},
    ],
)
def test_settings_that_make_no_sense_are_refused(run, arguments):
    async def scenario():
        with pytest.raises(InvalidInput):
            await UdpTransport.open(**arguments)

    run(scenario())


def test_datagrams_are_larger_on_loopback_unless_said(run):
    async def scenario():
        transports = [
            await UdpTransport.open(HERE),
            await UdpTransport.open(("0.0.0.0", 0)),
            await UdpTransport.open(HERE, largest=9_000),
        ]
        for transport in transports:
            transport.close()
        return [transport.largest for transport in transports]

    assert run(scenario()) == [16_000, 1_400, 9_000]


def test_timers_go_by_the_transport_s_time_and_can_be_cancelled(run):
    async def scenario():
        transport = await UdpTransport.open(HERE)
        fired = asyncio.Event()
        transport.call_at(transport.now(), lambda: pytest.fail("was cancelled")).cancel()
        transport.call_at(transport.now() + 0.001, fired.set)
        await fired.wait()
        transport.close()

    run(scenario())


def test_closing_twice_leaves_nothing_behind_and_sends_nothing_more(run):
    async def scenario():
        transport, other = await UdpTransport.open(HERE), await UdpTransport.open(HERE)
        transport.start(lambda batch: pytest.fail("closed"))
        other.send(b"x", [transport.address])
        transport.close()
        transport.close()
        transport.send(b"x", [other.address])
        again = await UdpTransport.open(transport.address)
        again.close()
        other.close()
        return transport.stats.datagrams_sent

    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        assert run(scenario()) == 0
        gc.collect()


def test_a_process_that_closes_while_it_receives_receives_no_more(run):
    async def scenario():
        transport, other = await UdpTransport.open(HERE), await UdpTransport.open(HERE)
        closed = asyncio.Event()
        batches = []

        def close(batch):
            batches.append(len(batch))
            transport.close()
            closed.set()

        for _ in range(100):
            other.send(b"x", [transport.address])
        transport.start(close)
        await closed.wait()
        other.close()
        return batches

    assert run(scenario()) == [64]


def test_a_closed_port_is_told_from_one_that_is_silent(run):
    async def scenario():
        listener = await UdpTransport.open(HERE)
        answers = [
            await who_listens(("127.0.0.1", free_port()), 5.0, here=HERE),
            await who_listens(listener.address, 0.01, here=HERE),
            await who_listens(("192.0.2.1", 9), 5.0, here=HERE),
        ]
        listener.close()
        return answers

    assert run(scenario()) == ["nobody", "silent", "unreachable"]
