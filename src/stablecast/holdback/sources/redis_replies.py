"""What ``XINFO STREAM key FULL COUNT 1`` replies, as values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stablecast.holdback.numbering import parse_stream_id


@dataclass(frozen=True, slots=True)
class Group:
    """A consumer group."""

    name: bytes
    delivered: int
    """The last entry that was delivered to it."""
    pending: int
    """How many entries it has been delivered and has not acknowledged."""
    first_pending: int | None
    lag: int | None
    entries_read: int | None
    consumers: int
    seen_us: int | None

    @property
    def needs_from(self) -> int:
        """The first name that it may still need."""
        after = self.delivered + 1
        return after if self.first_pending is None else min(after, self.first_pending)


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream with its groups."""

    length: int
    first: int
    """The first entry's name; if there is none, the one after the last that there was."""
    last: int
    """The last name that was given."""
    added: int | None
    nodes: int
    groups: tuple[Group, ...]

    @property
    def behind(self) -> bool:
        """Whether a group may lack an entry that is kept."""
        return self.length > 0 and any(group.needs_from <= self.last for group in self.groups)


def parse_stream(reply: Any) -> Stream:
    """Return a stream from a reply."""
    told = _pairs(reply)
    last = _name(told[b"last-generated-id"])
    entries = told[b"entries"]
    return Stream(
        length=int(told[b"length"]),
        first=_name(entries[0][0]) if entries else last + 1,
        last=last,
        added=told.get(b"entries-added"),
        nodes=int(told[b"radix-tree-keys"]),
        groups=tuple(_group(_pairs(one)) for one in told[b"groups"]),
    )


def _group(told: Mapping[bytes, Any]) -> Group:
    pending = told[b"pending"]
    consumers = [_pairs(one) for one in told[b"consumers"]]
    seen = [int(one[b"seen-time"]) for one in consumers]
    return Group(
        name=told[b"name"],
        delivered=_name(told[b"last-delivered-id"]),
        pending=int(told[b"pel-count"]),
        first_pending=_name(pending[0][0]) if pending else None,
        lag=told.get(b"lag"),
        entries_read=told.get(b"entries-read"),
        consumers=len(consumers),
        seen_us=max(seen) * 1000 if seen else None,
    )


def _name(text: bytes) -> int:
    return parse_stream_id(text.decode())


def _pairs(reply: Any) -> Mapping[bytes, Any]:
    """Return a reply of keys and values, which comes as one flat list."""
    if isinstance(reply, Mapping):
        return reply
    return dict(_two(reply))


def _two(flat: Any) -> Iterator[tuple[bytes, Any]]:
    each = iter(flat)
    return zip(each, each, strict=True)
