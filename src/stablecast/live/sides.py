"""What an engine talks to beside the network: the application, and the log of events."""

from __future__ import annotations

from typing import Protocol

from stablecast.live.results import Delivery, Event
from stablecast.membership.view import Address


class Listener(Protocol):
    """The application's side."""

    def deliver(self, batch: list[Delivery]) -> None:
        """Take messages, in order."""

    def tell(self, event: Event) -> None:
        """Take an event."""

    def went_on(self) -> None:
        """Look again: something became stable, there is room to send, or a view began."""

    def join_failed(self, tried: tuple[Address, ...], reason: str) -> None:
        """Take note that no view took this process in."""

    def has_left(self, reason: str) -> None:
        """Take note that this process is out of the group."""


class Log(Protocol):
    """Where events of the trace schema go."""

    def send(self, group: str, member: str, seq: int, time_us: int, size: int) -> None:
        """A message was sent."""

    def receive(
        self, group: str, member: str, source: str, first_seq: int, sizes: list[int], time_us: int
    ) -> None:
        """Messages in a row have come."""

    def stable(self, group: str, member: str, source: str, seq: int, time_us: int) -> None:
        """A source's messages are everywhere up to this one."""

    def release(
        self, group: str, member: str, source: str, first: int, last: int, sizes: list[int], time_us: int
    ) -> None:
        """Copies were let go."""

    def change(self, group: str, kind: str, member: str, time_us: int) -> None:
        """A member joined, left or failed."""

    def flush(self) -> None:
        """Have everything written."""
