"""Rows of a trace, as an engine hands them over: what happened to which messages, at which time.

The fields of a row are the arguments, in order, of the method that writes it
(:class:`stablecast.trace.log.EventLog`).  Rows of a wire trace go to a log that takes them (``WireLog``).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, cast

from stablecast.trace.wire_event import WireEvent


class SendRow(NamedTuple):
    """A message was sent."""

    group: str
    member: str
    seq: int
    time_us: int
    size: int


class ReceiveRow(NamedTuple):
    """Messages in a row have come."""

    group: str
    member: str
    source: str
    first: int
    sizes: list[int]
    time_us: int


class StableRow(NamedTuple):
    """A source's messages are everywhere up to this one."""

    group: str
    member: str
    source: str
    seq: int
    time_us: int


class ReleaseRow(NamedTuple):
    """Copies were let go."""

    group: str
    member: str
    source: str
    first: int
    last: int
    sizes: list[int]
    time_us: int


class ChangeRow(NamedTuple):
    """A member joined, left or failed."""

    group: str
    kind: str
    member: str
    time_us: int


class StepRow(NamedTuple):
    """The rows that follow belong to this step of their member."""

    number: int | None
    """None for rows that are about another member."""


Row = SendRow | ReceiveRow | StableRow | ReleaseRow | ChangeRow | StepRow | WireEvent


class Log(Protocol):
    """What writes a trace, such as :class:`stablecast.trace.log.EventLog`."""

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


class WireLog(Log, Protocol):
    """What writes a wire trace."""

    def step(self, number: int | None) -> None:
        """What follows belongs to this step of its member."""

    def wire_event(self, event: WireEvent) -> None:
        """Something went over the wire, or a timer went off."""


def put(row: Row, log: Log) -> None:
    """Hand a row to a log, which takes those of a wire trace if the engine makes any."""
    if isinstance(row, ReceiveRow):
        log.receive(*row)
    elif isinstance(row, SendRow):
        log.send(*row)
    elif isinstance(row, ReleaseRow):
        log.release(*row)
    elif isinstance(row, ChangeRow):
        log.change(*row)
    elif isinstance(row, StableRow):
        log.stable(*row)
    elif isinstance(row, StepRow):
        cast("WireLog", log).step(row.number)
    else:
        cast("WireLog", log).wire_event(row)
