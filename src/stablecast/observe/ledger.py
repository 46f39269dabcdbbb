"""A group as its members' traces tell it: who has what, who is waited for, what everyone keeps.

What is true after every row
    For each source there are the times and sizes of its messages from the first that somebody who must
    receive it lacks, or that the source itself does not know to be stable.  For each member there is the last
    message of each source that it has; receipts of a source are in its order, so that is a prefix.
Who must receive a message
    The members of the row's group that had joined when it was sent and are not gone (design of traces).  So
    the *frontier* here is the truth over all files that are read, and not what any member knows of it; a
    member whose file is not in the folder lacks everything.
What can go wrong
    Files are read one after the other, so a receipt may be read before its sending.  It counts once both are
    read.  A member that is not told of by any row is not known to exist.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from stablecast.engine.observed import FAILED, LEFT, Note
from stablecast.observe.rows import Row

MOST_NOTES = 1_000
CHANGES = {"join": "joined", "leave": LEFT, "fail": FAILED}


@dataclass(slots=True)
class Source:
    """One source's messages."""

    last: int = 0
    """The last that was sent."""
    first: int = 1
    """The number of the first whose time is kept."""
    times: deque[int] = field(default_factory=deque)
    sizes: deque[int] = field(default_factory=deque)
    known: int = 0
    """The last that the source knows to be stable."""
    audience: set[str] | None = None
    """Who receives it, where not everyone does."""

    def sent(self, seq: int, time_us: int, size: int) -> None:
        """Add a message; one whose predecessors are not known begins anew."""
        if seq <= self.last:
            return
        if seq != self.last + 1 or not self.times:
            self.first, self.known = seq, max(self.known, seq - 1)
            self.times.clear()
            self.sizes.clear()
        self.last = seq
        self.times.append(time_us)
        self.sizes.append(size)

    def at(self, seq: int) -> int:
        """Return when a message was sent whose time is kept."""
        return self.times[seq - self.first]

    def sent_before(self, time_us: int) -> int:
        """Return the last message that was sent before a time, as far as times are kept."""
        return self.first - 1 + bisect_right(self.times, time_us - 1)

    def size_of(self, seq: int) -> Iterator[int]:
        """Yield the sizes of the messages from one on."""
        return islice(self.sizes, max(seq - self.first, 0), None)

    def let_go(self, upto: int) -> None:
        """Forget messages that are settled."""
        while self.times and self.first <= upto:
            self.times.popleft()
            self.sizes.popleft()
            self.first += 1


@dataclass(slots=True)
class Member:
    """One member."""

    joined_us: int = 0
    last_us: int = 0
    """When it last did anything."""
    has: dict[str, int] = field(default_factory=dict)
    kept_messages: int = 0
    kept_bytes: int = 0


class Ledger:
    """All rows of one group so far; groups of single sources, ``GROUP/SOURCE``, belong to it."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.rows = 0
        self.latest_us = 0
        self.members: dict[str, Member] = {}
        self.sources: dict[str, Source] = {}
        self.gone: dict[str, tuple[str, int]] = {}
        self.notes: deque[Note] = deque(maxlen=MOST_NOTES)
        self.last_note = 0
        self.own_stable = 0
        self.own_stable_us = 0
        """Messages that their source came to know to be stable, and the sum of the times that took."""

    def take(self, row: Row) -> None:
        """Take in a row."""
        self.rows += 1
        self.latest_us = max(self.latest_us, row.time_us)
        if row.kind in CHANGES:
            self._change(row)
            return
        if row.kind not in ("send", "receive", "stable", "release") or row.seq is None:
            return
        member = self._member(row.member, row.time_us)
        source = self._source(row.source or row.member)
        if "/" in row.group:
            source.audience = (source.audience or set()) | {row.member}
        match row.kind:
            case "send":
                source.sent(row.seq, row.time_us, row.bytes or 0)
                self._has(member, row.member, row)
            case "receive":
                self._has(member, row.source or row.member, row)
            case "release":
                member.kept_messages = max(member.kept_messages - 1, 0)
                member.kept_bytes = max(member.kept_bytes - (row.bytes or 0), 0)
            case "stable" if row.source == row.member:
                self._learned(source, row.seq, row.time_us)

    def _member(self, name: str, time_us: int) -> Member:
        found = self.members.get(name)
        if found is None:
            found = Member()
            if name not in self.gone:
                self.members[name] = found
        found.last_us = max(found.last_us, time_us)
        return found

    def _source(self, name: str) -> Source:
        return self.sources.setdefault(name, Source())

    def _has(self, member: Member, source: str, row: Row) -> None:
        assert row.seq is not None
        member.has[source] = max(member.has.get(source, 0), row.seq)
        member.kept_messages += 1
        member.kept_bytes += row.bytes or 0

    def _learned(self, source: Source, seq: int, time_us: int) -> None:
        for number in range(max(source.known + 1, source.first), min(seq, source.last) + 1):
            self.own_stable += 1
            self.own_stable_us += max(time_us - source.at(number), 0)
        source.known = max(source.known, seq)

    def _change(self, row: Row) -> None:
        """Take in that somebody came or went; several members may tell of the same."""
        _, _, apart = row.group.partition("/")
        if apart and row.member != apart:
            self._change_audience(self._source(apart), row)
            if row.kind == "leave":  # it may have stopped receiving this source, and be there
                return
        if row.kind == "join":
            is_new = row.member not in self.members
            self.gone.pop(row.member, None)
            self._member(row.member, row.time_us).joined_us = row.time_us
        else:
            is_new = row.member not in self.gone
            self.members.pop(row.member, None)
            self.gone[row.member] = (CHANGES[row.kind], row.time_us)
        if is_new:
            self._note(row)

    def _change_audience(self, source: Source, row: Row) -> None:
        audience = source.audience or set()
        source.audience = audience | {row.member} if row.kind == "join" else audience - {row.member}

    def _note(self, row: Row) -> None:
        self.last_note += 1
        text = f"{CHANGES[row.kind]}: {row.member}"
        self.notes.append(Note(number=self.last_note, time_us=row.time_us, kind=row.kind, text=text))

    # What follows from it

    def has(self, name: str, source_name: str) -> int:
        """Return the last message of a source that a member has, or need not have."""
        member, source = self.members[name], self.sources[source_name]
        if name == source_name or (source.audience is not None and name not in source.audience):
            return source.last
        has = member.has.get(source_name, 0)
        return has if has >= source.last else max(has, source.sent_before(member.joined_us))

    def settle(self) -> dict[str, int]:
        """Return each source's frontier, and forget what is settled."""
        return {name: self._settled(name, source) for name, source in self.sources.items()}

    def _settled(self, name: str, source: Source) -> int:
        if not source.times:
            return source.last
        least = min((self.has(member, name) for member in self.members), default=source.last)
        frontier = min(least, source.last)
        source.let_go(min(frontier, source.known) if name in self.members else frontier)
        return frontier
