import asyncio
import secrets
import socket
import time
from array import array

import pytest
from live_groups import first_deliveries, join, joined, play, until

import stablecast
from stablecast.engine.keys import Key, Keyring
from stablecast.engine.options import LARGEST_PAYLOAD
from stablecast.errors import BindFailed, InvalidInput, JoinFailed
from stablecast.membership.actions import Timing
from stablecast.membership.slow_members import SlowPolicy
from stablecast.testing import Network

OLD, NEW = (Key(number, secrets.token_bytes(32)) for number in (0, 1))
HASTY = Timing(join_timeout=0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"group": ""}, "group name '' is not accepted"),
        ({"group": "a b"}, "group name 'a b' is not accepted"),
        ({"group": "x" * 65}, "1 to 64 characters"),
        ({"group": 7}, "group name 7 is not accepted"),
        ({"member": "a#2"}, "member name 'a#2' is not accepted"),
        ({"member": "a/b"}, "member name 'a/b'"),
        ({"member": "a~b"}, "member name 'a~b'"),
        ({"zone": "eu west"}, "zone name 'eu west'"),
        ({"on_full": "drop"}, "on_full 'drop' is not accepted (accepted: block, error)"),
        ({"deliver": "all"}, "accepted: received, stable, nothing"),
        ({"policy": "none"}, "accepted: until-stable, two-buffers"),
        ({"policy": "two-buffers", "deliver": "stable"}, "deliver 'stable' needs policy 'until-stable'"),
        ({"buffer_bytes": 100}, "buffer_bytes 100 is not accepted"),
        ({"buffer_bytes": 1e9}, "buffer_bytes 1000000000.0 is not accepted"),
        ({"queue_messages": 0}, "queue_messages 0"),
        ({"history_bytes": -1}, "history_bytes -1"),
        ({"copies": True}, "copies True"),
        ({"fail_after": 0.3}, "at least twice alive_every"),
        ({"fail_after": float("nan")}, "fail_after nan"),
        ({"rate_bytes_per_s": 0}, "rate_bytes_per_s 0"),
        ({"short_s": float("inf")}, "short_s inf"),
        ({"key": b"short"}, "the key has 5 bytes (accepted: 32"),
        ({"key": "password"}, "not a key"),
        ({"key": 5}, "a key cannot be a int"),
    ],
    ids=str,
)
def test_an_argument_that_cannot_be_accepted_is_refused_before_anything_happens(arguments, message):
    with pytest.raises(InvalidInput) as refused:
        stablecast.join(**{"group": "orders", **arguments})
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"protocol": "gsgd"}, "unknown protocol 'gsgd'; did you mean 'gsgc'?"),
        ({"protocol": None}, "unknown protocol 'None'"),
        ({"protocol_options": 7}, "protocol_options 7 is not accepted"),
        ({"bind": "127.0.0.1"}, "address '127.0.0.1' is not HOST:PORT"),
        ({"bind": 7001}, "address 7001 is not text (accepted: '127.0.0.1:7001'"),
        ({"bind": ("127.0.0.1", 7001)}, "address ('127.0.0.1', 7001) is not text"),
        ({"seeds": [7001]}, "address 7001 is not text"),
        ({"seeds": 7001}, "seeds is 7001 (accepted: a list of addresses"),
        ({"advertise": 7001}, "address 7001 is not text"),
        ({"metrics": 9100}, "address 9100 is not text"),
        (
            {"seeds": ["[::1]:7001"]},
            "seed '[::1]:7001' is an address of IPv6, and bind '127.0.0.1:0' one of IPv4",
        ),
        (
            {"bind": "[::1]:0", "seeds": ["127.0.0.1:7001"]},
            "is an address of IPv4, and bind '[::1]:0' one of IPv6",
        ),
        ({"advertise": "[::1]:0"}, "advertise '[::1]:0' is an address of IPv6"),
        ({"bind": "127.0.0.1:99999"}, "port '99999' is not a number from 0 to 65535"),
        ({"bind": "no.such.host.invalid:1"}, "there is no host called 'no.such.host.invalid'"),
        ({"seeds": ["7001"]}, "address '7001' is not HOST:PORT"),
        ({"seeds": ["127.0.0.1:0"]}, "seed '127.0.0.1:0' has no port"),
        ({"seeds": "127.0.0.1:7001"}, "accepted: a list of addresses, ['127.0.0.1:7001']"),
        ({"advertise": "nowhere"}, "address 'nowhere' is not HOST:PORT"),
        ({"metrics": "9100"}, "address '9100' is not HOST:PORT"),
        ({"multicast": "10.0.0.1:5000"}, "accepted: 224.0.0.0 to 239.255.255.255"),
        ({"largest": 100}, "largest datagram of 100 bytes (accepted: 512 to 65507)"),
        ({"bind": "0.0.0.0:0"}, "bind '0.0.0.0:0' needs a key"),
        ({"bind": "0.0.0.0:0", "insecure": True}, "needs advertise: the address that others send to"),
    ],
    ids=str,
)
def test_an_address_that_cannot_be_used_is_refused(arguments, message):
    async def scenario():
        with pytest.raises(InvalidInput) as refused:
            await stablecast.join("orders", **arguments)
        assert message in str(refused.value)

    asyncio.run(scenario())


@pytest.mark.parametrize("opened", [{"key": OLD.secret}, {"insecure": True}], ids=["a key", "insecure"])
def test_other_addresses_than_loopback_need_a_key_or_the_word_insecure(opened):
    async def scenario():
        async with stablecast.join("orders", bind="0.0.0.0:0", advertise="127.0.0.1:0", **opened) as group:
            host, port = group.address.split(":")
            assert host == "127.0.0.1"
            assert int(port) > 0

    asyncio.run(scenario())


def test_a_port_that_is_in_use_is_named():
    async def scenario():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            with pytest.raises(BindFailed, match=f"cannot bind {address}: it is in use"):
                await stablecast.join("orders", bind=address)

    asyncio.run(scenario())


def test_an_address_of_another_machine_cannot_be_bound():
    async def scenario():
        with pytest.raises(BindFailed, match="no interface of this machine has this address"):
            await stablecast.join("orders", bind="192.0.2.1:7001", key=OLD.secret)

    asyncio.run(scenario())


def closed_ports(count):
    """Return addresses on which nobody listens."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for sock in sockets:
        sock.bind(("127.0.0.1", 0))
    addresses = [f"127.0.0.1:{sock.getsockname()[1]}" for sock in sockets]
    for sock in sockets:
        sock.close()
    return addresses


def test_when_no_seed_answers_joining_fails_in_bounded_time_and_says_whom_it_asked():
    async def scenario():
        seeds = closed_ports(2)
        before = time.monotonic()
        with pytest.raises(JoinFailed) as failed:
            await stablecast.join("orders", seeds=seeds, timing=HASTY)
        assert time.monotonic() - before < 5.0
        return seeds, str(failed.value)

    seeds, message = asyncio.run(scenario())
    assert "cannot join 'orders'" in message
    assert "no answer within 0.5 s" in message
    for seed in seeds:
        assert f"{seed}: nobody listens there" in message


@pytest.mark.parametrize(
    ("member", "newcomer"),
    [
        ({"key": OLD.secret}, {"key": NEW.secret}),
        ({"key": OLD.secret}, {}),
        ({}, {"key": NEW.secret}),
        ({}, {"group": "other"}),
    ],
    ids=["another key", "no key", "a key where there is none", "another group"],
)
def test_who_is_not_of_the_group_is_told_that_somebody_is_there_who_refuses(member, newcomer):
    async def scenario():
        async with stablecast.join("orders", **member) as group:
            arguments = {"group": "orders", "seeds": [group.address], "timing": HASTY, **newcomer}
            with pytest.raises(JoinFailed) as failed:
                await stablecast.join(**arguments)
            assert f"{group.address}: somebody listens there and refuses us: another key" in str(failed.value)
            assert sum(group.stats().refused.values()) > 0
            assert len(group.members) == 1

    asyncio.run(scenario())


def test_another_protocol_is_refused_with_the_reason():
    async def scenario():
        network = Network(seed=1)
        async with joined(network, "a", "b") as (a, b):
            for seed in (a.address, b.address):
                with pytest.raises(JoinFailed, match="this group runs protocol 's_coord', not 'train'"):
                    await join(network, "c", [seed], protocol="train")
            assert len(a.members) == 2

    play(scenario)


def test_a_member_that_is_banned_is_refused_with_the_reason():
    async def scenario():
        network = Network(seed=1)
        policy = SlowPolicy(lagging_after=0.2, exclude_after=0.5, evict_after=1, ban=60.0)
        slow = {"b": {"queue_messages": 1}}
        async with joined(network, "a", "b", slow=policy, each=slow) as (a, b):
            b.deliveries()
            for _ in range(10):
                await a.send(b"x")
                await asyncio.sleep(0.01)
            await until(lambda: len(a.members) == 1)
            await b.close()
            with pytest.raises(JoinFailed, match=r"refused: 'b' was too slow too often"):
                await join(network, "b", [a.address])

    play(scenario)


@pytest.mark.parametrize("payload", ["text", None, 5, [1, 2]])
def test_a_message_that_is_not_bytes_is_refused(payload):
    async def scenario():
        async with join(Network(seed=1), "a") as group:
            with pytest.raises(InvalidInput, match=f"a message is bytes, not {type(payload).__name__}"):
                await group.send(payload)
            with pytest.raises(InvalidInput, match="a message is bytes"):
                group.send_nowait(payload)

    play(scenario)


def test_a_message_that_is_too_large_is_refused():
    async def scenario():
        async with join(Network(seed=1), "a") as group:
            with pytest.raises(InvalidInput, match=r"1048577 bytes is too large \(accepted: up to 1048576\)"):
                await group.send(bytes(LARGEST_PAYLOAD + 1))
            await group.send(bytes(LARGEST_PAYLOAD))

    play(scenario)


def test_keys_change_while_the_group_goes_on():
    async def scenario():
        network = Network(seed=1)
        async with joined(network, "a", "b", "c", key=Keyring((OLD,))) as groups:
            count = 0
            for ring in (Keyring((OLD, NEW)), Keyring((NEW, OLD)), Keyring((NEW,))):
                for group in groups:  # each member at a time of its own
                    group.rotate_key(ring)
                    count += 1
                    receipt = await groups[0].send(b"%d" % count)
                    assert isinstance(await receipt.stable(timeout=5.0), stablecast.Stable)
            found = await first_deliveries(groups[2], count)
            assert [delivery.payload for delivery in found] == [b"%d" % k for k in range(1, count + 1)]
            with pytest.raises(JoinFailed, match="no answer"):
                await join(network, "d", [groups[0].address], key=Keyring((OLD,)))
            async with join(network, "e", [groups[0].address], key=Keyring((NEW,))) as late:
                assert len(late.members) == 4
            with pytest.raises(InvalidInput):
                groups[0].rotate_key(b"short")

    play(scenario)


def test_a_view_of_larger_items_is_measured_in_bytes():
    async def scenario():
        async with joined(Network(seed=1), "a") as (a,):
            large = memoryview(array("Q", [7]) * (LARGEST_PAYLOAD // 8 + 1))
            with pytest.raises(InvalidInput, match="too large"):
                await a.send(large)
            receipt = await a.send(memoryview(array("Q", [7])))
            await receipt.stable()

    play(scenario)
