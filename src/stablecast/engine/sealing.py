"""How an engine's datagrams are sealed and unpacked: by a cipher, or in the open where nobody listens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from stablecast.engine.keys import Keyring
from stablecast.engine.seal import OVERHEAD, Opened, Seal
from stablecast.engine.wire import INSIDE_BYTES, AnyFrame, unpack

Unpack = Callable[[bytes], tuple[int, list[AnyFrame]]]
"""Returns destination and frames of what is inside a datagram."""


def room_in(largest: int) -> int:
    """Return the bytes that frames have in a datagram of so many bytes."""
    return largest - OVERHEAD - INSIDE_BYTES


class AnySeal(Protocol):
    """What closes and opens the datagrams of one process; see :class:`stablecast.engine.seal.Seal`."""

    refused: dict[str, int]
    last_refusal: str

    @property
    def session(self) -> int:
        """The process's own session."""

    def close(self, inside: bytes) -> bytes:
        """Return a datagram with this inside."""

    def open(self, datagram: bytes) -> Opened | None:
        """Return who sealed a datagram and what is inside; None, and a count, if it is refused."""

    def keep(self, session: int) -> None:
        """Remember which datagrams of a session have come until ``forget``."""

    def forget(self, session: int) -> None:
        """Undo ``keep``."""

    def rotate(self, keyring: Keyring) -> None:
        """Seal with the first of these keys from now on."""


@dataclass(frozen=True)
class Sealing:
    """One way to seal and unpack."""

    seal: Callable[[str, int, Keyring | None], AnySeal]
    """Called with the group, the session and the group's keys, if it has any."""
    unpack: Unpack = unpack


SEALED = Sealing(lambda group, session, keyring: Seal(group, session, keyring=keyring))
"""By a cipher: the way of every process on a network."""
