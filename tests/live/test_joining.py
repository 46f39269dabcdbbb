"""Joining: nothing stops the event loop, seeds may have several addresses, errors name the true reason."""

import asyncio
import socket
import subprocess
import sys
import threading

import pytest
from live_groups import UNHURRIED, join, play, until

import stablecast
from stablecast.engine import warm as warming
from stablecast.errors import InvalidInput, JoinFailed
from stablecast.live.injection import InjectedTransport, Injection
from stablecast.live.udp import UdpTransport
from stablecast.membership.actions import Timing
from stablecast.membership.view import format_address
from stablecast.testing import Network

HASTY = Timing(join_timeout=0.5)


def test_neither_the_compiler_nor_the_ciphers_are_loaded_on_the_event_loop():
    code = (
        "import sys, stablecast; stablecast.join('orders'); print({'numba', 'cryptography'} & {*sys.modules})"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "set()"


@pytest.mark.parametrize("is_given", [False, True], ids=["udp", "another transport"])
def test_kernels_are_compiled_off_the_event_loop(is_given, monkeypatch):
    threads = []
    monkeypatch.setattr(warming, "warm", lambda choice: threads.append(threading.get_ident()))

    async def scenario():
        opened = (
            InjectedTransport(await UdpTransport.open(("127.0.0.1", 0)), Injection()) if is_given else None
        )
        async with stablecast.join("orders", transport=opened):
            pass

    asyncio.run(scenario())
    assert len(threads) == 1
    assert threads[0] != threading.get_ident()


def test_names_of_hosts_are_resolved_off_the_event_loop(monkeypatch):
    resolve, threads = socket.getaddrinfo, {}

    def noted(host, *arguments, **options):
        threads[host] = threading.get_ident()
        return resolve("127.0.0.1", *arguments, **options)

    async def scenario():
        async with stablecast.join("orders") as first:
            port = first.address.rpartition(":")[2]
            monkeypatch.setattr(socket, "getaddrinfo", noted)
            async with stablecast.join(
                "orders", bind="here:0", advertise="there:0", seeds=[f"seed:{port}"], metrics="metrics:0"
            ) as second:
                assert len(second.members) == 2

    asyncio.run(scenario())
    assert set(threads) >= {"here", "there", "seed", "metrics"}
    assert threading.get_ident() not in threads.values()


def test_an_error_while_kernels_are_compiled_comes_out_of_joining(monkeypatch):
    def fail(choice):
        raise InvalidInput("line 3 of the protocol")

    monkeypatch.setattr(warming, "warm", fail)

    async def scenario():
        with pytest.raises(InvalidInput, match="line 3 of the protocol"):
            await stablecast.join("orders")

    asyncio.run(scenario())


def test_a_name_with_addresses_of_both_kinds_is_taken_for_the_kind_that_is_bound(monkeypatch):
    both = [
        (family, socket.SOCK_DGRAM, 0, "", (host, 9))
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: both)

    async def scenario():
        with pytest.raises(JoinFailed, match=r"through \[::1\]:9"):
            await stablecast.join("orders", bind="[::1]:0", seeds=["both:9"], timing=HASTY)
        with pytest.raises(JoinFailed, match=r"through 127.0.0.1:9"):
            await stablecast.join("orders", seeds=["both:9"], timing=HASTY)

    asyncio.run(scenario())


class TwoAddresses:
    """A host that is reached at two addresses, and sends from the first one."""

    def __init__(self, first, second):
        self._first, self._second = first, second

    def start(self, receive):
        self._first.start(receive)
        self._second.start(receive)

    def __getattr__(self, name):
        return getattr(self._first, name)


def test_a_seed_that_answers_from_another_of_its_addresses_lets_newcomers_in():
    async def scenario():
        network = Network(seed=1)
        two = TwoAddresses(network.transport("10.1.0.1:7000"), network.transport("10.2.0.1:7000"))
        async with (
            stablecast.join("orders", member="a", transport=two) as a,
            join(network, "b", ["10.2.0.1:7000"]) as b,
        ):
            assert b.members == ("a", "b")
            receipt = await a.send(b"x")
            assert isinstance(await receipt.stable(timeout=5.0), stablecast.Stable)

    play(scenario)


def test_a_seed_that_is_bound_to_all_addresses_is_reached_at_any_of_them():
    async def scenario():
        async with stablecast.join(
            "orders", member="a", bind="0.0.0.0:0", advertise="127.0.0.1:0", insecure=True
        ) as a:
            port = a.address.rpartition(":")[2]
            async with stablecast.join("orders", member="b", seeds=[f"127.0.0.2:{port}"]) as b:
                assert b.members == ("a", "b")

    asyncio.run(scenario())


def test_a_member_that_refuses_is_quoted_and_not_taken_for_one_with_another_key():
    async def scenario():
        async with stablecast.join("orders", member="a") as a:
            with pytest.raises(JoinFailed) as failed:
                await stablecast.join("orders", seeds=[a.address], protocol="train")
            assert str(failed.value) == (
                f"cannot join 'orders' through {a.address}: "
                "refused: this group runs protocol 's_coord', not 'train'"
            )

    asyncio.run(scenario())


def test_a_seed_that_the_bound_address_cannot_reach_is_told_as_such():
    async def scenario():
        with pytest.raises(JoinFailed) as failed:
            await stablecast.join("orders", seeds=["192.0.2.1:7001"], timing=HASTY)
        assert (
            "192.0.2.1:7001: nothing can be sent there from 127.0.0.1, which reaches this machine only"
            in str(failed.value)
        )

    asyncio.run(scenario())


def test_processes_that_all_look_for_each_other_still_begin_one_group():
    async def scenario():
        network = Network(seed=1)
        seeds = ["10.3.0.1:7000", "10.3.0.2:7000", "10.3.0.3:7000"]
        joining = [
            stablecast.join("orders", member=f"m{k}", transport=network.transport(seed), seeds=seeds)
            for k, seed in enumerate(seeds)
        ]
        groups = await asyncio.gather(*(asyncio.ensure_future(_awaited(each)) for each in joining))
        while any(len(group.members) < 3 for group in groups):
            await asyncio.sleep(0.01)
        for group in groups:
            await group.close()

    async def _awaited(each):
        return await each

    play(scenario)


def test_processes_that_start_at_once_with_the_same_seeds_come_together_in_few_views():
    async def scenario():
        network, loop = Network(), asyncio.get_running_loop()
        began = loop.time()
        transports = [network.transport(f"m{k}") for k in range(24)]
        seeds = [format_address(transport.address) for transport in transports[:3]]
        joining = [
            stablecast.join("orders", transport=transport, seeds=seeds, pace=UNHURRIED)
            for transport in transports
        ]
        groups = await asyncio.gather(*joining)
        await until(lambda: all(len(group.members) == len(groups) for group in groups))
        seconds, views = loop.time() - began, [group.stats().views for group in groups]
        await asyncio.gather(*(group.close() for group in groups))
        return seconds, max(views)

    seconds, views = play(scenario)
    assert seconds < Timing().bootstrap_after + 0.5
    assert views <= 3
