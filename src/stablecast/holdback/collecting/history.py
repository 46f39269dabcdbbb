"""Which rows a snapshot adds to the history: heads, positions, comings and goings, and what was deleted.

Theory
    A row is written when something changed.  Rows are cumulative, so a snapshot that is missed costs
    resolution and nothing else: whoever moved meanwhile is told at the next one, with its time.
What a position in the history means
    A reader has everything up to c.  If it is *known* what it needs next (``exact``), then c + 1 is an entry
    that was kept at that time and that the reader lacked, or c was the head.  This is what a deletion is
    judged by.  Redis leaves gaps in its numbers, so a position there is the number before the next entry that
    exists (:mod:`stablecast.holdback.sources.redis`).  When that entry is deleted, the same rule would move
    the position over it, as if the reader had got it.  So a position rises only if
      - the system itself says that the reader has come further (``told``), or
      - the reader lacked nothing before, and nothing that was sent since has gone: as many entries are kept
        as were sent meanwhile, or
      - an entry in the middle was taken out: the log's beginning is still at or before c.
    Otherwise c stays, and with it the evidence.
Deletions
    Between two snapshots the log's beginning rose from a to b + 1: everything from a to b is gone.  Snapshots
    read the beginning no later than the positions, so a reader whose position is still below c + 1 in [a, b]
    did not get c + 1 before it went.  A reader of which it is not known what it needs next is named in the
    row (``unknown``), and is not judged.  A slot that PostgreSQL calls lost has lost what it needed, even if
    the beginning of the log does not show it: a row says so, and it leaves a microsecond later.
Comings and goings
    Readers of the first snapshot join at the time of the first head, so they owe all of it.  Later ones join
    at the time when they are first seen.  A reader that is no longer told has left, unless the snapshot says
    that it is not whole.  A log is missing if a snapshot of a scope that told it before does not have it:
    another database, filter or account of the same server says nothing of it.
    A name whose position goes back stands for another reader, or for one that reads again: the one has left,
    and the other joins a microsecond later.
A log that begins anew
    A stream that was deleted and made again, or a server that came back without its data, counts from
    scratch: the head, or what was sent, has gone back.  That is another log, and its group gets a number:
    ``orders#2``.  All of the one before is gone; of a reader that lacked some, and is there again, it is not
    known whether it had it by then (``unknown``).
A log that is missing
    Its readers leave, and where they were is remembered.  If it comes back they join there, and then it is
    judged as if it had been there all the time.
What can go wrong
    Between two snapshots a reader may come, read and go unseen.  Numbers that have no place in files of
    positions leave the log out, and a line says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from stablecast.holdback.frontier import frontier_of
from stablecast.holdback.model import Log, Reader, Snapshot
from stablecast.holdback.numbering import Numbering

MOST_ABSENT = 10_000
"""So many logs are remembered that are no longer there."""


class Row(NamedTuple):
    """A row of the schema of events."""

    group: str
    kind: str
    member: str
    source: str | None
    seq: int | None
    time_us: int


class Deletion(NamedTuple):
    """Everything from one number to another is no longer kept."""

    group: str
    source: str
    time_us: int
    from_seq: int
    to_seq: int
    unknown: tuple[str, ...]
    """Readers of which it was not known what they needed next."""


class Held(NamedTuple):
    """What a log held back from a time on, and for whom."""

    group: str
    source: str
    time_us: int
    blocker: str | None
    held_items: int | None
    held_bytes: int | None


@dataclass(frozen=True, slots=True)
class Place:
    """How far a reader is in the history."""

    position: int
    exact: bool
    told: int
    """What the system told itself."""


@dataclass(frozen=True, slots=True)
class Known:
    """A log as the history has it."""

    group: str
    head: int
    first_seq: int
    sent: int | None
    time_us: int
    readers: Mapping[str, Place] = field(default_factory=dict)
    held: tuple[Any, ...] = ()
    scopes: tuple[str, ...] = ()
    """What snapshots that told it were of, the last at the end; one of no such scope says nothing when it
    does not tell it."""
    absent: bool = False
    """It was missing from the last snapshot; its readers have left, and are where they were if it is back."""

    def plain(self) -> list[Any]:
        """Return it as a value of JSON."""
        readers = {name: [one.position, one.exact, one.told] for name, one in self.readers.items()}
        numbers = [self.head, self.first_seq, self.sent, self.time_us]
        return [self.group, *numbers, readers, list(self.held), list(self.scopes), self.absent]

    @classmethod
    def of(cls, plain: list[Any]) -> Known:
        """Return what `plain` gave."""
        group, head, first_seq, sent, time_us, readers, held, *more = plain
        places = {name: Place(*one) for name, one in readers.items()}
        scopes, absent = more or ((), False)
        return cls(group, head, first_seq, sent, time_us, places, tuple(held), tuple(scopes), absent)


@dataclass
class Added:
    """What a snapshot adds."""

    rows: list[Row] = field(default_factory=list)
    deletions: list[Deletion] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    known: dict[str, Known | None] = field(default_factory=dict)
    """Logs that changed, by server, group and source; None for those that are gone."""
    problems: list[str] = field(default_factory=list)


def key_of(server: str, log: Log) -> str:
    """Return what a log is found by; a line break is in no name of a server."""
    return "\n".join((server, log.group, log.source))


def add(known: Mapping[str, Known], snapshot: Snapshot, asked: Collection[str] = ()) -> Added:
    """Return what a snapshot adds to what is known, which is not changed.

    ``asked`` has the scopes that are asked now.  A log that several of them have is told by one: snapshots of
    two may come in another order than they were taken in.
    """
    added = Added()
    seen = set()
    for log in snapshot.logs:
        key = key_of(snapshot.server, log)
        seen.add(key)
        if _is_told_by_another(known.get(key), snapshot, asked):
            continue
        if any(log.numbering.narrow(seq) is None for seq in _numbers(log)):
            text = log.numbering.text(log.head)
            added.problems.append(
                f"{log.group}: numbers such as {text} have no place in files; it is left out"
            )
            continue
        _add_log(key, known, log, snapshot, added)
    if not snapshot.problems:
        for key, before in known.items():
            if key not in seen and not before.absent and _tells(snapshot, key, before):
                time_us = _time(snapshot, before)
                added.rows += _leaving(before, before.readers, time_us)
                added.known[key] = replace(before, time_us=time_us, absent=True)
    absent = [key for key, one in known.items() if one.absent and key not in seen]
    if len(absent) > MOST_ABSENT:
        absent.sort(key=lambda key: known[key].time_us)
        added.known.update(dict.fromkeys(absent[:-MOST_ABSENT]))
    return added


def _is_told_by_another(before: Known | None, snapshot: Snapshot, asked: Collection[str]) -> bool:
    last = before.scopes[-1:] if before is not None else ()
    return bool(last) and last[0] != snapshot.scope and last[0] in asked


def _scopes(before: Known, snapshot: Snapshot) -> tuple[str, ...]:
    return (*(one for one in before.scopes if one != snapshot.scope), snapshot.scope)


def _tells(snapshot: Snapshot, key: str, before: Known) -> bool:
    """Tell whether a log that a snapshot does not have is no longer there.

    Another database, filter or account of the same server says nothing of it.
    """
    if before.scopes:
        return snapshot.scope in before.scopes
    return key.partition("\n")[0] == snapshot.server  # from a journal that has no scopes


def _numbers(log: Log) -> Iterator[int]:
    yield from (log.head, max(0, log.first_seq - 1))
    yield from (one.position for one in log.readers if one.position is not None and one.holds)


def _time(snapshot: Snapshot, before: Known) -> int:
    """Return the time of new rows, which is after that of earlier ones even if a clock went back."""
    return max(snapshot.time_us, before.time_us + 1)


def _add_log(key: str, known: Mapping[str, Known], log: Log, snapshot: Snapshot, added: Added) -> None:
    before = known.get(key)
    if before is not None and before.absent:
        before = _back(before, log, snapshot, added)
    sent = log.sent.items if log.sent.items is not None else log.sent.bytes
    if before is None:
        group = _next_name(log.group, known) if _is_used(log.group, known) else log.group
        before = Known(group, -1, log.first_seq, sent, snapshot.time_us - 1)
    elif log.head < before.head or (sent or 0) < (before.sent or 0):
        time_us = _end(before, log, snapshot, added)
        before = Known(_next_name(before.group, known), -1, log.first_seq, sent, time_us)
    time_us = _time(snapshot, before)
    again = [one.member for one in log.readers if _is_another(before, one, log)]
    if again:
        added.rows += _leaving(before, again, time_us)
        readers = {name: place for name, place in before.readers.items() if name not in again}
        before, time_us = replace(before, readers=readers), time_us + 1
    places = _places(before, log, whole=not snapshot.problems)
    after = replace(
        before, head=log.head, first_seq=max(log.first_seq, before.first_seq), sent=sent, time_us=time_us,
        readers=places, scopes=_scopes(before, snapshot),
    )  # fmt: skip
    added.rows += _rows(before, after, log)
    added.deletions += _deletions(before, after, log)
    after = _lose(after, log, added)
    told = _held(after, log)
    if tuple(told[3:]) != before.held:
        added.held.append(told)
        after = replace(after, held=tuple(told[3:]))
    if after != replace(before, time_us=time_us):
        added.known[key] = after


def _back(before: Known, log: Log, snapshot: Snapshot, added: Added) -> Known:
    """Take readers up where they were, so that what was deleted while the log was missing is judged."""
    time_us = _time(snapshot, before)
    names = {one.member for one in log.readers if one.holds}
    readers = {name: place for name, place in before.readers.items() if name in names}
    was = replace(before, readers={}, absent=False)
    now = replace(was, readers=readers, time_us=time_us)
    added.rows += _rows(was, now, log)
    return now


def _end(before: Known, log: Log, snapshot: Snapshot, added: Added) -> int:
    """End a log that was made anew; return the time of its last row.

    All of it is gone.  A reader that lacked some and is there again may have read it before that, or not.
    """
    time_us, there = _time(snapshot, before), {one.member for one in log.readers}
    unknown = [name for name, one in before.readers.items() if name in there and one.position < before.head]
    added.rows += _leaving(before, before.readers.keys() - set(unknown), time_us)
    added.rows += _leaving(before, unknown, time_us + 1)
    added.deletions += _deletion(before, log, time_us, before.first_seq, before.head, unknown)
    return time_us + 1


def _is_used(group: str, known: Mapping[str, Known]) -> bool:
    """Tell whether a new log has the name that another got when it was made anew."""
    return "#" in group and any(one.group == group for one in known.values())


def _next_name(group: str, known: Mapping[str, Known]) -> str:
    used = {one.group for one in known.values()}
    while group in used:
        name, _, number = group.rpartition("#")
        group = f"{name}#{int(number) + 1}" if name and number.isdecimal() else f"{group}#2"
    return group


def _places(before: Known, log: Log, *, whole: bool) -> dict[str, Place]:
    """Return how far readers are now; those that are missing have left if the snapshot is whole."""
    places = {} if whole else dict(before.readers)
    for reader in log.readers:
        if reader.holds:
            places[reader.member] = _moved(before, before.readers.get(reader.member), reader, log)
        elif _is_lost(reader) and (place := before.readers.get(reader.member)):
            places[reader.member] = place
        else:
            places.pop(reader.member, None)
    return places


def _is_lost(reader: Reader) -> bool:
    """Tell whether the system itself says that it has deleted what a reader needed, as PostgreSQL does."""
    return not reader.holds and reader.details.get("wal_status") == "lost"


def _lose(after: Known, log: Log, added: Added) -> Known:
    """Say what readers lost by the system's own words, and let them leave a microsecond later."""
    lost = sorted(one.member for one in log.readers if one.member in after.readers and _is_lost(one))
    for name in lost:
        first = after.readers[name].position + 1
        last = min(after.head, max(first, after.first_seq - 1))
        unknown = [other for other in after.readers if other not in lost]
        if not any(row.group == after.group and _covers(row, name, first, log) for row in added.deletions):
            added.deletions += _deletion(after, log, after.time_us, first, last, unknown)
    if not lost:
        return after
    added.rows += _leaving(after, lost, after.time_us + 1)
    readers = {name: place for name, place in after.readers.items() if name not in lost}
    return replace(after, readers=readers, time_us=after.time_us + 1)


def _covers(row: Deletion, name: str, first: int, log: Log) -> bool:
    seq = log.numbering.narrow(first)
    return name not in row.unknown and seq is not None and row.from_seq <= seq <= row.to_seq


def _told(reader: Reader, log: Log) -> Place:
    """Return how far a reader is in one snapshot alone."""
    position = min(log.head, log.first_seq - 1 if reader.position is None else reader.position)
    return Place(position, reader.exact, position if reader.told is None else reader.told)


def _is_another(before: Known, reader: Reader, log: Log) -> bool:
    """Tell whether a name that was there now stands for another reader, or for one that reads again.

    What follows from a filter may go back while nothing is read again; it is not exact.
    """
    place = before.readers.get(reader.member)
    tells = reader.holds and (reader.told is not None or reader.exact)
    return place is not None and tells and _told(reader, log).told < place.told


def _moved(before: Known, place: Place | None, reader: Reader, log: Log) -> Place:
    """Return how far a reader is, given how far it was; see the theory."""
    now = _told(reader, log)
    if place is None or now.told > place.position:
        return now
    lacked, taken_out = place.position < before.head, log.first_seq <= place.position
    gone = True if lacked else _sent_and_gone(before, log)
    if now.position < place.position:
        return replace(place, exact=False)  # it came no further, and needs something else than it needed
    if now.position == place.position:
        return replace(now, exact=now.exact or (place.exact and lacked and now.told == place.told))
    if taken_out or gone is False:
        return now
    # What it needed is gone.  A reader that was made anew meanwhile, further on, may not have needed it.
    return place if gone and now.told == place.told else replace(place, exact=False)


def _sent_and_gone(before: Known, log: Log) -> bool | None:
    """Tell whether something that was sent since the last snapshot is gone; None if that is not known.

    It is asked of a log of which nothing is kept that was there before.
    """
    if log.head == before.head:
        return False
    if log.numbering is not Numbering.STREAM_ID:
        return log.first_seq > before.head + 1  # its numbers have no gaps
    if log.sent.items is None or log.kept.items is None or log.kept.estimated or before.sent is None:
        return None
    return log.sent.items - before.sent > log.kept.items


def _rows(before: Known, after: Known, log: Log) -> Iterator[Row]:
    narrow = log.numbering.narrow
    group, source, time_us = after.group, log.source, after.time_us
    for name in after.readers:
        if name not in before.readers:
            yield Row(group, "join", name, None, None, time_us)
    if after.head > before.head:
        yield Row(group, "head", source, source, narrow(after.head), time_us)
    for name, place in after.readers.items():
        was = before.readers.get(name)
        if (was is None or place.position > was.position) and place.position >= 0:
            yield Row(group, "position", name, source, narrow(place.position), time_us)
    yield from _leaving(before, before.readers.keys() - after.readers.keys(), time_us)


def _leaving(before: Known, names: Any, time_us: int) -> Iterator[Row]:
    for name in sorted(names):
        yield Row(before.group, "leave", name, None, None, time_us)


def _deletions(before: Known, after: Known, log: Log) -> Iterator[Deletion]:
    """Say what is gone since the last snapshot, if anything was there."""
    if after.first_seq <= before.first_seq:
        return
    if before.first_seq > before.head and _sent_and_gone(before, log) is False:
        return  # there was nothing, and all that came is kept
    last = after.first_seq - 1
    unknown = [name for name, one in after.readers.items() if not one.exact and one.position < last]
    yield from _deletion(after, log, after.time_us, before.first_seq, last, unknown)


def _deletion(
    known: Known, log: Log, time_us: int, first: int, last: int, unknown: Iterable[str]
) -> Iterator[Deletion]:
    """Say that a range is gone, if it is one that has a place in files."""
    from_seq, to_seq = log.numbering.narrow(first), log.numbering.narrow(last)
    if first <= last and from_seq is not None and to_seq is not None:
        yield Deletion(known.group, log.source, time_us, from_seq, to_seq, tuple(sorted(unknown)))


def _held(after: Known, log: Log) -> Held:
    found = frontier_of(log)
    blocker = found.waiting_for[0] if found.waiting_for else None
    return Held(after.group, log.source, after.time_us, blocker, found.held.items, found.held.bytes)
