"""The network between this machine and given peers: round trips, losses and bandwidth, one peer at a time.

Round trips and losses are those of small datagrams, one in a millisecond, as a member of a group sends them.
A datagram and its answer may both be lost, so the share that is lost one way is ``1 - sqrt(1 - p)`` for a
share p of round trips without an answer.  Bandwidth is that of a burst: bytes behind its first datagram, over
the time until its last one has come.  What a burst loses in full queues does not count as loss.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from stablecast.advisor.calibration.echo import (
    ASK,
    DATA,
    LEAST_BYTES,
    PING,
    PONG,
    TELL,
    TOLD,
    Coder,
    Echo,
    Frame,
)
from stablecast.engine.keys import Keyring
from stablecast.errors import BindFailed, StablecastError
from stablecast.live.transport import family_of, is_loopback, parse_address
from stablecast.live.udp import UdpTransport
from stablecast.membership.view import Address, format_address

PINGS = 500
PACE_S = 0.001
PING_BYTES = 160
"""Those of a small message with its seal."""
ANSWER_S = 1.0
BURST = 400
BURST_BYTES = 1400
ASKS = 5


class NoAnswer(StablecastError):
    """A peer does not answer."""


@dataclass(frozen=True)
class Seen:
    """What was measured of one peer."""

    peer: str
    rtt_ms: float
    rtt_p95_ms: float
    lost_share: float
    """One way."""
    bandwidth_bps: float | None
    """None on loopback, which has no link."""


class Prober:
    """Sends what is measured, and takes the answers."""

    def __init__(self, transport: UdpTransport, keyring: Keyring | None) -> None:
        self._transport = transport
        self._coder = Coder(keyring)
        self._waiting: dict[tuple[int, int, int], asyncio.Future[tuple[float, Frame]]] = {}
        transport.start(self._receive)

    async def see(self, peer: Address) -> Seen:
        """Measure one peer."""
        token = random.getrandbits(64)
        times = await self._pings(peer, token)
        if not times:
            raise NoAnswer(
                f"{format_address(peer)} does not answer (is 'stablecast calibrate --serve' running there,"
                " with the same key?)"
            )
        lost = 1 - math.sqrt(len(times) / PINGS)
        bandwidth = None if is_loopback(peer) else await self._burst(peer, token)
        ordered = sorted(times)
        p95 = quantiles(ordered, n=20)[-1] if len(ordered) > 1 else ordered[0]
        return Seen(format_address(peer), 1e3 * median(ordered), 1e3 * p95, lost, bandwidth)

    async def _pings(self, peer: Address, token: int) -> list[float]:
        """Return the seconds of the round trips that came to an end."""
        asked = []
        for number in range(PINGS):
            began = self._transport.now()
            answer = self._expect(PONG, token, number)
            self._transport.send(self._coder.write(PING, token, number, size=PING_BYTES), [peer])
            asked.append((began, answer))
            if number == 0:
                await asyncio.wait([answer], timeout=ANSWER_S)
            await asyncio.sleep(PACE_S)
        await asyncio.wait([answer for _, answer in asked], timeout=ANSWER_S)
        times = [answer.result()[0] - began for began, answer in asked if answer.done()]
        self._forget()
        return times

    async def _burst(self, peer: Address, token: int) -> float | None:
        """Return the bits per second of a burst, None if too little of it came."""
        for number in range(BURST):
            self._transport.send(self._coder.write(DATA, token, number, size=BURST_BYTES), [peer])
        for ask in range(ASKS):
            await asyncio.sleep(0.2)
            answer = self._expect(TELL, token, ask)
            self._transport.send(self._coder.write(ASK, token, ask, size=LEAST_BYTES), [peer])
            done, _ = await asyncio.wait([answer], timeout=ANSWER_S)
            if done:
                datagrams, size, span_us = TOLD.unpack_from(answer.result()[1].fill)
                behind = size * (datagrams - 1) / max(datagrams, 1)
                return behind * 8e6 / span_us if behind and span_us else None
        return None

    def _expect(self, kind: int, token: int, number: int) -> asyncio.Future[tuple[float, Frame]]:
        answer: asyncio.Future[tuple[float, Frame]] = asyncio.get_running_loop().create_future()
        self._waiting[kind, token, number] = answer
        return answer

    def _forget(self) -> None:
        for answer in self._waiting.values():
            answer.cancel()
        self._waiting.clear()

    def _receive(self, batch: Sequence[tuple[bytes, Address]]) -> None:
        now = self._transport.now()
        for datagram, _ in batch:
            frame = self._coder.read(datagram)
            if frame is None:
                continue
            answer = self._waiting.pop((frame.kind, frame.token, frame.number), None)
            if answer is not None and not answer.done():
                answer.set_result((now, frame))


async def see_all(peers: Sequence[Address], keyring: Keyring | None) -> list[Seen]:
    """Measure each peer in turn."""
    found = []
    for peer in peers:
        any_address = "::" if ":" in peer[0] else "0.0.0.0"
        here = ("127.0.0.1" if peer[0].startswith("127.") else any_address, 0)
        transport = await UdpTransport.open(here)
        try:
            found.append(await Prober(transport, keyring).see(peer))
        finally:
            transport.close()
    return found


async def serve(bind: str, keyring: Keyring | None, told: asyncio.Future[Address] | None = None) -> None:
    """Answer until this task is cancelled."""
    address = parse_address(bind)
    if family_of(address) is None:
        raise BindFailed(f"cannot bind {bind}")
    transport = await UdpTransport.open(address)
    try:
        echo = Echo(transport, keyring)
        if told is not None:
            told.set_result(echo.address)
        await asyncio.Event().wait()
    finally:
        transport.close()
