"""What was deleted while somebody needed it, from the positions and deletions of a collection.

Theory
    The history gives each reader a position c at each time.  Where it is known what a reader needs next,
    c + 1 was kept at an earlier snapshot and the reader lacked it.  A deletion says that everything from a to
    b went between two snapshots.  If after the second one the reader is still in the group with a position of
    c, and a <= c + 1 <= b, then c + 1 went before the reader had it: the reader has lost what it needed.  The
    loss begins at c + 1 and ends at b, or at the head if that is lower.
Why no correct run is accused
    Who deletes no more than the frontier leaves c + 1 of every reader.  A reader that moves on, or needs
    something unknown, may have had what went: it is not judged, and counted (``undecided``).  So is one whose
    log was made anew while it lacked something.  A reader that leaves needs nothing any more.
Why an early deletion is found
    If one snapshot saw that a reader lacks an entry that is kept, and a later one sees the reader where it
    was and the beginning of the log after that entry, then the deletion lies between, and is found.  A reader
    that is deleted from and moves on between the same two snapshots is undecided: snapshots that are closer
    together leave less undecided.
What is not seen
    Entries that are taken out of the middle of a log, one by one, as XDEL does.  A reader that is removed and
    made anew between two snapshots, under its name and at its place: nothing tells it from one that never
    moved, and what was rightly deleted in between looks like a loss.  Where its place is another, it is seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from stablecast.holdback.numbering import Numbering


class Event(NamedTuple):
    """A row of positions, as collections have it."""

    group: str
    kind: str
    member: str | None
    source: str | None
    seq: int | None
    time_us: int


class Deletion(NamedTuple):
    """A row of deletions."""

    group: str
    source: str
    time_us: int
    from_seq: int
    to_seq: int
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Loss:
    """A reader's numbers that were deleted while it needed them."""

    group: str
    source: str
    member: str
    from_seq: int
    to_seq: int
    time_us: int
    """The snapshot that first showed it."""

    @property
    def text(self) -> str:
        """What was lost, as the system writes numbers."""
        numbering = Numbering.of_group(self.group)
        last = numbering.up_to(numbering.widen(self.to_seq))
        return f"{numbering.text(numbering.widen(self.from_seq))} {last}"


@dataclass
class Audit:
    """What an audit found."""

    losses: list[Loss] = field(default_factory=list)
    deletions: int = 0
    undecided: int = 0
    """Readers, each counted with the deletion, that may or may not have had what went."""
    readers: int = 0


class _Reached(NamedTuple):
    """How far a reader is, since when, and how far it was before that time."""

    seq: int
    time_us: int
    before: int | None


@dataclass
class _Group:
    """A group as it is at one time."""

    heads: dict[str, int] = field(default_factory=dict)
    reached: dict[str, dict[str, _Reached]] = field(default_factory=dict)
    """By source and member."""


def audit(events: Iterable[Event], deletions: Iterable[Deletion]) -> Audit:
    """Judge all deletions; rows may come in any order."""
    found, groups = Audit(), dict[str, _Group]()
    rows = sorted(events, key=lambda row: row.time_us)
    at = 0
    for deletion in sorted(deletions, key=lambda row: row.time_us):
        while at < len(rows) and rows[at].time_us <= deletion.time_us:
            _note(groups.setdefault(rows[at].group, _Group()), rows[at])
            at += 1
        found.deletions += 1
        _judge(groups.setdefault(deletion.group, _Group()), deletion, found)
    found.readers = len({(row.group, row.member) for row in rows if row.kind == "position"})
    return found


def _note(group: _Group, row: Event) -> None:
    if row.kind == "head" and row.source is not None and row.seq is not None:
        group.heads[row.source] = max(group.heads.get(row.source, -1), row.seq)
    elif row.kind == "position" and row.source is not None and row.member is not None and row.seq is not None:
        readers = group.reached.setdefault(row.source, {})
        was = readers.get(row.member)
        if was is None:
            readers[row.member] = _Reached(row.seq, row.time_us, None)
        elif row.seq > was.seq:
            before = was.before if was.time_us == row.time_us else was.seq
            readers[row.member] = _Reached(row.seq, row.time_us, before)
    elif row.kind in ("leave", "fail") and row.member is not None:
        for readers in group.reached.values():
            readers.pop(row.member, None)


def _judge(group: _Group, row: Deletion, found: Audit) -> None:
    head = group.heads.get(row.source, row.to_seq)
    for member, reached in sorted(group.reached.get(row.source, {}).items()):
        before = reached.before if reached.time_us == row.time_us else reached.seq
        if before is None or before >= min(row.to_seq, head):
            continue  # it came with this snapshot, or had everything before
        lacks = row.from_seq <= reached.seq + 1 <= row.to_seq
        if member in row.unknown or not lacks:
            found.undecided += before + 1 >= row.from_seq
        elif reached.seq < head:
            last = min(row.to_seq, head)
            found.losses.append(Loss(row.group, row.source, member, reached.seq + 1, last, row.time_us))
