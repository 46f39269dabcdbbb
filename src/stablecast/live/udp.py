"""UDP: one socket for a process, another one if IP multicast is configured.

The reader drains the socket and hands on what there was in one call, since waking up is what costs.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Literal, Self

from stablecast.errors import BindFailed, InvalidInput
from stablecast.live.transport import (
    Cancellable,
    Receive,
    TransportStats,
    checked_largest,
    family_of,
)
from stablecast.membership.view import Address, format_address

DATAGRAMS_A_WAKE_UP = 64
BYTES_A_WAKE_UP = 1 << 20
"""Taken in at once, so that timers and what the application sends do not wait for long."""
MOST_BYTES = 65_535
WAITING_DATAGRAMS = 1_024
"""How many wait for a full socket before the oldest are dropped."""
KNOWN_ADDRESSES = 4_096
# Linux's SO_SNDBUFFORCE and SO_RCVBUFFORCE: larger than the system's limit, for privileged processes.
FORCE = {socket.SO_SNDBUF: 32, socket.SO_RCVBUF: 33}
REASONS = {
    errno.EADDRINUSE: "it is in use (accepted: a free port, or 0 for any)",
    errno.EADDRNOTAVAIL: "no interface of this machine has this address",
    errno.EACCES: "it is not permitted (accepted: ports from 1024 on, or 0 for any)",
    errno.EPERM: "it is not permitted (accepted: ports from 1024 on, or 0 for any)",
    errno.ENODEV: "the interface cannot do IP multicast",
}


class UdpTransport:
    """Carries datagrams by UDP on the running event loop, asyncio's own or uvloop.

    Parameters
    ----------
    bind
        A numeric address of this machine; port 0 for any.
    multicast
        An IPv4 multicast group and port that all members share; None for one datagram to each member.
    largest
        The most bytes that a datagram should have; None for what suits the address.
    receive_buffer
        Bytes that the system keeps until this process reads them; it may grant less.
    """

    def __init__(
        self,
        bind: Address,
        *,
        multicast: Address | None = None,
        largest: int | None = None,
        receive_buffer: int = 4 << 20,
    ) -> None:
        self.kind = "udp" if multicast is None else "multicast"
        self.largest = checked_largest(largest, bind)
        self.has_ip_multicast = multicast is not None
        self.stats = TransportStats()
        self.seed: int | None = None
        self._loop = asyncio.get_running_loop()
        self._multicast = multicast
        self._socket = bound_socket(bind, receive_buffer=receive_buffer)
        self._sockets = [self._socket]
        if multicast is not None:
            try:
                self._sockets.append(_join_multicast(self._socket, bind, multicast, receive_buffer))
            except BaseException:
                self._socket.close()
                raise
        self.address: Address = self._socket.getsockname()[:2]
        self._ipv6 = self._socket.family == socket.AF_INET6
        self._receive: Receive | None = None
        self._waiting: deque[tuple[bytes, Address]] = deque()
        self._known: set[Address] = set() if multicast is None else {multicast}
        self._closed = False

    @classmethod
    async def open(
        cls,
        bind: Address,
        *,
        multicast: Address | None = None,
        largest: int | None = None,
        receive_buffer: int = 4 << 20,
    ) -> Self:
        """Bind on the loop that runs this."""
        return cls(bind, multicast=multicast, largest=largest, receive_buffer=receive_buffer)

    def start(self, receive: Receive) -> None:
        """Have everything that arrives from now on handed to ``receive``."""
        self._receive = receive
        if not self._closed:
            for sock in self._sockets:
                self._loop.add_reader(sock, self._read, sock)

    def send(self, datagram: bytes, to: Sequence[Address]) -> None:
        """Send a datagram to each of these addresses; what does not fit into the socket waits."""
        if self._closed:
            return
        known, waiting, sendto = self._known, self._waiting, self._socket.sendto
        sent = 0
        for address in to:
            if address not in known and not self._learn(address):
                continue
            if waiting:
                self._wait(datagram, address)
                continue
            try:
                sendto(datagram, address)
                sent += 1
            except BlockingIOError:
                self._wait(datagram, address)
            except OSError:
                self.stats.errors += 1
        self.stats.datagrams_sent += sent
        self.stats.bytes_sent += sent * len(datagram)

    def send_all(self, datagram: bytes, members: Sequence[Address]) -> None:
        """Send a datagram to all members, by IP multicast where it is configured."""
        self.send(datagram, members if self._multicast is None else (self._multicast,))

    now = staticmethod(time.monotonic)
    """Returns the system's monotonic time, which all processes of a machine share.

    A loop's own time may be coarser: uvloop counts milliseconds.
    """

    def time_of_day(self) -> float:
        """Return the system's time of day."""
        return time.time()

    def call_at(self, when: float, callback: Callable[[], object]) -> Cancellable:
        """Have something called by the loop."""
        return self._loop.call_later(max(0.0, when - time.monotonic()), callback)

    def close(self) -> None:
        """Close the sockets; what waits is tried once more."""
        if self._closed:
            return
        self._closed = True
        self._flush()
        for sock in self._sockets:
            if not self._loop.is_closed():
                self._loop.remove_reader(sock)
                self._loop.remove_writer(sock)
            sock.close()
        self.stats.dropped_full += len(self._waiting)
        self._waiting.clear()

    def _learn(self, address: Address) -> bool:
        """Whether datagrams can go there: a name would be resolved by the system, which blocks."""
        if not _is_numeric(address, self._socket.family):
            self.stats.errors += 1
            return False
        if len(self._known) >= KNOWN_ADDRESSES:
            self._known.clear()
        self._known.add(address)
        return True

    def _read(self, sock: socket.socket) -> None:
        batch: list[tuple[bytes, Address]] = []
        recvfrom, size = sock.recvfrom, 0
        try:
            while len(batch) < DATAGRAMS_A_WAKE_UP and size < BYTES_A_WAKE_UP:
                arrived = recvfrom(MOST_BYTES)
                batch.append(arrived)
                size += len(arrived[0])
        except BlockingIOError:
            pass
        except OSError:  # ICMP's answer to something sent earlier; the loop calls again if there is more
            self.stats.errors += 1
        if not batch or self._receive is None:
            return
        if self._ipv6:
            batch = [(datagram, sender[:2]) for datagram, sender in batch]
        self.stats.datagrams_received += len(batch)
        self.stats.bytes_received += size
        self._receive(batch)

    def _wait(self, datagram: bytes, address: Address) -> None:
        if not self._waiting:
            self._loop.add_writer(self._socket, self._write)
        elif len(self._waiting) >= WAITING_DATAGRAMS:
            self._waiting.popleft()
            self.stats.dropped_full += 1
        self._waiting.append((datagram, address))

    def _write(self) -> None:
        self._flush()
        if not self._waiting:
            self._loop.remove_writer(self._socket)

    def _flush(self) -> None:
        while self._waiting:
            datagram, address = self._waiting[0]
            try:
                self._socket.sendto(datagram, address)
                self.stats.datagrams_sent += 1
                self.stats.bytes_sent += len(datagram)
            except BlockingIOError:
                return
            except OSError:
                self.stats.errors += 1
            self._waiting.popleft()


async def who_listens(
    address: Address, timeout: float, *, here: Address
) -> Literal["nobody", "silent", "unreachable"]:
    """Tell whether a port is closed, for sure, or whether somebody may be there who says nothing.

    One byte is sent there from the host ``here``, which every member refuses; only the system of a closed
    port answers.  What cannot be sent to from there cannot be reached.
    """
    loop = asyncio.get_running_loop()
    answered = asyncio.Event()
    with socket.socket(family_of(address), socket.SOCK_DGRAM) as sock:
        sock.setblocking(False)
        try:
            sock.bind((here[0], 0))
            sock.connect(address)
            sock.send(b"\0")
            loop.add_reader(sock, answered.set)
            try:
                async with asyncio.timeout(timeout):
                    await answered.wait()
            finally:
                loop.remove_reader(sock)
            sock.recv(1)
        except (TimeoutError, BlockingIOError):
            return "silent"
        except ConnectionRefusedError:
            return "nobody"
        except OSError:
            return "unreachable"
    return "silent"


def bound_socket(bind: Address, *, receive_buffer: int, shared: bool = False) -> socket.socket:
    """Return a socket that does not block, bound to a numeric address; ``shared`` with others on the port."""
    family = family_of(bind)
    if not _is_numeric(bind, family, any_port=True):
        raise InvalidInput(
            f"cannot bind {format_address(bind)}: not a numeric address with a port up to 65535"
        )
    sock = socket.socket(family, socket.SOCK_DGRAM)
    try:
        sock.setblocking(False)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if shared:
            for option in ("SO_REUSEADDR", "SO_REUSEPORT"):
                sock.setsockopt(socket.SOL_SOCKET, getattr(socket, option), 1)
        _set_buffer(sock, socket.SO_RCVBUF, receive_buffer)
        _set_buffer(sock, socket.SO_SNDBUF, receive_buffer)
        sock.bind(bind)
    except OSError as error:
        sock.close()
        raise _bind_failed(bind, error) from None
    return sock


def _join_multicast(
    sender: socket.socket, bind: Address, group: Address, receive_buffer: int
) -> socket.socket:
    """Let ``sender`` send to a group by the interface of ``bind``; return a socket that hears the group."""
    host = ipaddress.IPv4Address(group[0]) if _is_numeric(group, socket.AF_INET) else None
    if host is None or not host.is_multicast or sender.family != socket.AF_INET:
        raise InvalidInput(
            f"multicast group {format_address(group)} for {format_address(bind)} "
            "(accepted: 224.0.0.0 to 239.255.255.255, and a port from 1, with an IPv4 address to bind)"
        )
    interface = socket.inet_aton(bind[0])
    listener = bound_socket(group, receive_buffer=receive_buffer, shared=True)
    try:
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, interface)
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)
        listener.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, host.packed + interface)
    except OSError as error:
        listener.close()
        raise _bind_failed(group, error) from None
    return listener


def _set_buffer(sock: socket.socket, option: int, size: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, FORCE[option], size)
            return
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, option, size)


def _bind_failed(address: Address, error: OSError) -> BindFailed:
    reason = REASONS.get(error.errno or 0) or error.strerror or str(error)
    return BindFailed(f"cannot bind {format_address(address)}: {reason}")


def _is_numeric(address: Address, family: int, *, any_port: bool = False) -> bool:
    host, port = address
    try:
        socket.inet_pton(family, host.partition("%")[0])
    except (OSError, ValueError):
        return False
    return (0 if any_port else 1) <= port <= 65_535
