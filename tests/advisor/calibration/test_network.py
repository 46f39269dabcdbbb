"""Peers answer, are counted, and refuse who has another key."""

import asyncio

import pytest

from stablecast.advisor.calibration import network
from stablecast.advisor.calibration.echo import ASK, DATA, LEAST_BYTES, PING, PONG, TOLD, Coder
from stablecast.advisor.calibration.network import NoAnswer, see_all, serve
from stablecast.engine.keys import Keyring

KEY, OTHER = Keyring.of(bytes(32)), Keyring.of(bytes([1]) * 32)


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(network, "PINGS", 30)
    monkeypatch.setattr(network, "ANSWER_S", 0.3)


def seen(server_key, own_key):
    async def both():
        told = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(serve("127.0.0.1:0", server_key, told))
        try:
            return await see_all([await told], own_key)
        finally:
            serving.cancel()

    return asyncio.run(both())


def test_a_peer_on_loopback_loses_nothing_and_has_no_link():
    (found,) = seen(KEY, KEY)
    assert 0 < found.rtt_ms < 500
    assert found.lost_share == 0
    assert found.bandwidth_bps is None


def test_the_bandwidth_of_a_link_is_measured_by_a_burst(monkeypatch):
    monkeypatch.setattr(network, "is_loopback", lambda address: False)
    (found,) = seen(None, None)
    assert found.bandwidth_bps > 1e6


def test_a_peer_with_another_key_does_not_answer():
    with pytest.raises(NoAnswer, match="does not answer"):
        seen(KEY, OTHER)
    with pytest.raises(NoAnswer):
        seen(KEY, None)


def test_an_answer_is_never_longer_than_what_it_answers():
    coder = Coder(KEY)
    for size in (0, LEAST_BYTES, 1400):
        asked = coder.write(PING, 1, 2, size=size)
        assert len(coder.write(PONG, 1, 2, size=len(asked))) == len(asked)
    assert len(coder.write(ASK, 1, 2, told=TOLD.pack(1, 2, 3))) == LEAST_BYTES


def test_what_is_not_a_datagram_of_ours_is_not_read():
    coder = Coder(KEY)
    datagram = coder.write(DATA, 7, 8)
    assert coder.read(datagram).token == 7
    for place in range(len(datagram)):
        changed = bytearray(datagram)
        changed[place] ^= 1
        assert coder.read(bytes(changed)) is None
    assert coder.read(datagram[:-1]) is None
    assert coder.read(b"") is None
