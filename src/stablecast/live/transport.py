"""What carries datagrams: the contract of transports, and addresses as text."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from stablecast.errors import InvalidInput
from stablecast.membership.view import Address

LARGEST = 1_400
"""Bytes of a datagram that crosses usual networks in one piece."""
LARGEST_ON_LOOPBACK = 16_000
LARGEST_UDP = 65_507
"""Bytes that a UDP datagram can carry at all."""

Receive = Callable[[list[tuple[bytes, Address]]], None]
"""Takes datagrams that came together, each with its sender's address."""


class Cancellable(Protocol):
    """What ``call_at`` returns."""

    def cancel(self) -> None:
        """Let it not happen; nothing if it has, or was cancelled before."""


@dataclass(slots=True)
class TransportStats:
    """What a transport has done so far."""

    datagrams_sent: int = 0
    """One for each destination; one in all if IP multicast takes it to everyone."""
    bytes_sent: int = 0
    datagrams_received: int = 0
    bytes_received: int = 0
    dropped_full: int = 0
    """Datagrams given up because a queue of ours was full."""
    errors: int = 0
    """Sends and receipts that the system refused."""


class Transport(Protocol):
    """Carries datagrams between processes, and keeps the time for its process.

    Datagrams may be lost, come twice or out of order, and never come in pieces.  Nothing here blocks, and
    nothing raises for reasons of the network: what fails is counted in ``stats``.
    """

    @property
    def kind(self) -> str:
        """What carries the datagrams, in one word."""

    @property
    def address(self) -> Address:
        """Where this process is reached, with the real port."""

    @property
    def largest(self) -> int:
        """The most bytes that a datagram should have."""

    @property
    def has_ip_multicast(self) -> bool:
        """Whether ``send_all`` takes one copy to everyone."""

    @property
    def stats(self) -> TransportStats:
        """Counters, which go on counting."""

    @property
    def seed(self) -> int | None:
        """What this process's randomness starts from in a test; None for the system's randomness."""

    def start(self, receive: Receive) -> None:
        """Have everything that arrives from now on handed to ``receive``, as many at once as there are."""

    def send(self, datagram: bytes, to: Sequence[Address]) -> None:
        """Send a datagram to each of these addresses."""

    def send_all(self, datagram: bytes, members: Sequence[Address]) -> None:
        """Send a datagram to all members, by IP multicast where it is configured."""

    def now(self) -> float:
        """Return the time in seconds, from any beginning; it never goes back."""

    def time_of_day(self) -> float:
        """Return what the clock on the wall shows, in seconds since 1970; it may be set forward and back."""

    def call_at(self, when: float, callback: Callable[[], object]) -> Cancellable:
        """Have something called once, at a time by ``now()``."""

    def close(self) -> None:
        """Send and receive nothing any more; may be called again."""


def numeric_address(text: str) -> Address | None:
    """Return the address that ``host:port`` or ``[IPv6]:port`` names; None if the host is a name."""
    host, port = _split(text)
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            return socket.inet_ntop(family, socket.inet_pton(family, host)), port
        except (OSError, ValueError):
            continue
    return None


def parse_address(text: str, family: socket.AddressFamily = socket.AF_INET) -> Address:
    """Return the address that ``host:port`` or ``[IPv6]:port`` names, with names resolved to numbers.

    Resolving a name asks the system and may take its time; of several addresses one of the family is taken.
    """
    numeric = numeric_address(text)
    if numeric is not None:
        return numeric
    host, port = _split(text)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError):
        raise InvalidInput(f"address '{text}': there is no host called '{host}'") from None
    usable = [entry for entry in found if entry[0] in (socket.AF_INET, socket.AF_INET6)]
    if not usable:
        raise InvalidInput(f"address '{text}': '{host}' has neither an IPv4 nor an IPv6 address")
    nearest = min(usable, key=lambda entry: entry[0] != family)
    return str(nearest[4][0]), port


def family_of(address: Address) -> socket.AddressFamily:
    """Return whether an address is one of IPv4 or of IPv6."""
    return socket.AF_INET6 if ":" in address[0] else socket.AF_INET


def _split(text: str) -> tuple[str, int]:
    if not isinstance(text, str):
        raise InvalidInput(f"address {text!r} is not text (accepted: '127.0.0.1:7001', '[::1]:7001')")
    host, colon, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not host.strip("[]") or (":" in host and not bracketed):
        raise InvalidInput(
            f"address '{text}' is not HOST:PORT (accepted: 127.0.0.1:7001, [::1]:7001, name:7001)"
        )
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= 65_535):
        raise InvalidInput(f"address '{text}': port '{port}' is not a number from 0 to 65535")
    return host[1:-1] if bracketed else host, int(port)


def is_loopback(address: Address) -> bool:
    """Whether an address, which is numeric, never leaves this machine."""
    try:
        host = ipaddress.ip_address(address[0])
    except ValueError:
        return False
    mapped = host.ipv4_mapped if isinstance(host, ipaddress.IPv6Address) else None
    return (mapped or host).is_loopback


def checked_largest(largest: int | None, address: Address) -> int:
    """Return how large datagrams may be: as asked for, or what suits the address."""
    if largest is None:
        return LARGEST_ON_LOOPBACK if is_loopback(address) else LARGEST
    if not 512 <= largest <= LARGEST_UDP:
        raise InvalidInput(f"largest datagram of {largest} bytes (accepted: 512 to {LARGEST_UDP})")
    return largest
