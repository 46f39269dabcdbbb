"""Rows of a trace, as an engine hands them over: what happened to which messages, at which time.

The fields of a row are the arguments, in order, of the method that writes it
(:class:`stablecast.trace.log.EventLog`).
"""

from __future__ import annotations

from typing import NamedTuple


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


Row = SendRow | ReceiveRow | StableRow | ReleaseRow | ChangeRow
