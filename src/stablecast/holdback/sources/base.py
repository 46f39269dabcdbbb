"""What a source is: something that takes snapshots of one system, and only reads."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from stablecast.errors import InvalidInput
from stablecast.holdback.model import Snapshot

TIMEOUT_S = 5.0
"""How long a system is waited for, if nobody says otherwise."""


class CannotAsk(InvalidInput):
    """A system cannot be asked at all: it does not answer, or it refuses; the message says who and why."""


class Refused(CannotAsk):
    """A system has said no: nothing was done."""


class Source(Protocol):
    """One system; connected when it is made, or at the first snapshot."""

    def take(self) -> Snapshot:
        """Return a snapshot; if a part cannot be read, the rest with a line for each problem.

        A system that answers nothing raises `CannotAsk`, and may be asked again later.
        """

    def close(self) -> None:
        """Let the connection go."""


class Closing:
    """A source that closes at the end of a ``with``."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the connection go."""
