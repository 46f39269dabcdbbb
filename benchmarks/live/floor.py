"""What the same datagrams cost processes that have no protocol: the least that members can take.

python -m benchmarks.live.floor --members 4 --rate 1000

Each process sends its share of the messages to all others at even distances, sealed by AES-256-GCM, on
asyncio's event loop.  It opens what comes and hands it to a task that counts.  There are no frames, no order,
no repair, no signs of life and no stability.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import resource
import socket
import sys
from multiprocessing.connection import Connection

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

WARM_S = 1.0
NONCE_BYTES = 12


class Member:
    """One process that sends and counts."""

    def __init__(self, sock: socket.socket, peers: list[tuple[str, int]], key: bytes) -> None:
        self._socket, self._peers, self._cipher = sock, peers, AESGCM(key)
        self._waiting: list[bytes] = []
        self._came = asyncio.Event()
        self._sealed = int.from_bytes(os.urandom(8), "big") << 16
        self.counted = 0

    def read(self) -> None:
        """Open what has come."""
        try:
            while True:
                datagram, _ = self._socket.recvfrom(65_535)
                nonce, inside = datagram[:NONCE_BYTES], datagram[NONCE_BYTES:]
                self._waiting.append(self._cipher.decrypt(nonce, inside, None))
        except BlockingIOError:
            pass
        self._came.set()

    async def count(self) -> None:
        """Take what has come, as an application does."""
        while True:
            await self._came.wait()
            self._came.clear()
            self.counted += len(self._waiting)
            self._waiting.clear()

    async def send(self, gap_s: float, offset: float, payload: bytes) -> None:
        """Send at even distances, by turns with the other processes."""
        loop = asyncio.get_running_loop()
        at = (loop.time() // gap_s + offset) * gap_s
        while True:
            at += gap_s
            await asyncio.sleep(max(0.0, at - loop.time()))
            self._sealed += 1
            nonce = self._sealed.to_bytes(NONCE_BYTES, "big")
            datagram = nonce + self._cipher.encrypt(nonce, payload, None)
            for peer in self._peers:
                self._socket.sendto(datagram, peer)


def _run(number: int, given: argparse.Namespace, key: bytes, pipe: Connection) -> None:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    sock.setblocking(False)
    pipe.send(sock.getsockname())
    peers = [address for k, address in enumerate(pipe.recv()) if k != number]
    pipe.send(asyncio.run(_measure(Member(sock, peers, key), sock, number, given)))


async def _measure(
    member: Member, sock: socket.socket, number: int, given: argparse.Namespace
) -> dict[str, float]:
    loop = asyncio.get_running_loop()
    loop.add_reader(sock, member.read)
    share = member.send(given.members / given.rate, number / given.members, bytes(given.size))
    tasks = [asyncio.create_task(member.count()), asyncio.create_task(share)]
    await asyncio.sleep(WARM_S)
    before, counted, began = resource.getrusage(resource.RUSAGE_SELF), member.counted, loop.time()
    await asyncio.sleep(given.seconds)
    used, seconds = resource.getrusage(resource.RUSAGE_SELF), loop.time() - began
    for task in tasks:
        task.cancel()
    return {
        "delivered_per_s": (member.counted - counted) / seconds,
        "cpu": (used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime) / seconds,
        "switches_per_s": (used.ru_nvcsw + used.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw) / seconds,
    }


def main() -> None:
    """Run the processes, and print what they took together."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=4)
    parser.add_argument("--rate", type=float, default=1000.0, help="messages a second of all together")
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=5.0)
    given = parser.parse_args()
    key, pipes = os.urandom(32), []
    for number in range(given.members):
        ours, theirs = multiprocessing.Pipe()
        multiprocessing.Process(target=_run, args=(number, given, key, theirs), daemon=True).start()
        pipes.append(ours)
    addresses = [pipe.recv() for pipe in pipes]
    for pipe in pipes:
        pipe.send(addresses)
    found = [pipe.recv() for pipe in pipes]
    print(
        json.dumps(
            {
                "members": given.members,
                "rate": given.rate,
                "delivered_per_s_least": round(min(f["delivered_per_s"] for f in found)),
                "cpu": round(sum(f["cpu"] for f in found), 2),
                "switches_per_s": round(sum(f["switches_per_s"] for f in found)),
            }
        )
    )


if __name__ == "__main__":
    sys.exit(main())
