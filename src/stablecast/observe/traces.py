"""A group as the traces of its members tell it, while they are being written.

The same is told as by a member (``engine/observed``), with these differences.  The frontier is what everyone
has in truth, and not what some member knows.  What each member keeps is told.  Nothing is told of silence: a
member of an idle group writes nothing.  A member is ``behind`` if it has been without a message for
``BEHIND_S``.
The time is that of the day while rows are new; of traces of a run that is over, or was simulated, it is that
of their last row.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from stablecast.engine.observed import BEHIND, OK, Gone, Notes, Observed, SeenHolding, SeenMember, SeenSource
from stablecast.errors import InvalidInput
from stablecast.holdback.units import size_text
from stablecast.observe.ledger import Ledger, Source
from stablecast.observe.place import Explained, Lacking, NoAnswer
from stablecast.observe.rows import PATTERN, Tail

BEHIND_S = 1.0
RUNNING_S = 60.0
"""Rows are new if the last one is no older than this."""
NOTES_EVERY_S = 0.2
MOST_HOLDING = 64
MOST_LACKING = 16


class TracesPlace:
    """The traces of one group in a folder."""

    def __init__(self, folder: Path, *, group: str | None = None) -> None:
        self.shown = str(folder)
        self._group = group
        self._tail = Tail(folder)
        self._ledgers: dict[str, Ledger] = {}
        self._reading = asyncio.Lock()

    async def look(self) -> Observed:
        """Return the group after what was written until now."""
        async with self._reading:
            ledger = await asyncio.to_thread(self._read)
            return seen(ledger, time.time_ns() // 1000, others=len(self._ledgers) - 1)

    def progress(self) -> str:
        """Return how much was read: traces of before may be large."""
        return f"reading '{self.shown}': {size_text(self._tail.read_bytes)} so far"

    async def notes(self, after: int, wait_s: int) -> Notes:
        """Return who came and went after a note, at once or as soon as somebody does."""
        end = time.monotonic() + wait_s
        while self._last_note() <= after and time.monotonic() < end:
            await asyncio.sleep(NOTES_EVERY_S)
        async with self._reading:
            ledger = self._chosen()
            kept = () if ledger is None else tuple(note for note in ledger.notes if note.number > after)
            return Notes(incarnation=self.shown, last=self._last_note(), notes=kept)

    def _last_note(self) -> int:
        ledger = self._chosen()
        return 0 if ledger is None else ledger.last_note

    async def explain(self, source: str, seq: int) -> Explained:
        """Tell who lacks a message."""
        async with self._reading:
            ledger = self._chosen()
            if ledger is None:
                raise NoAnswer(f"there are no events in '{self.shown}'")
            return explain(ledger, source, seq, now_us(ledger, time.time_ns() // 1000))

    async def close(self) -> None:
        """Do nothing: no file stays open."""

    def _read(self) -> Ledger:
        try:
            for rows in self._tail.new_rows():
                for row in rows:
                    name = row.group.partition("/")[0]
                    ledger = self._ledgers.get(name)
                    if ledger is None:
                        ledger = self._ledgers[name] = Ledger(name)
                    ledger.take(row)
        except InvalidInput as error:
            raise NoAnswer(str(error)) from None
        found = self._chosen()
        if found is None:
            raise NoAnswer(self._why_nothing())
        return found

    def _chosen(self) -> Ledger | None:
        """Return the group that was asked for, or the one with most events."""
        if self._group is not None:
            return self._ledgers.get(self._group)
        return max(self._ledgers.values(), key=lambda ledger: ledger.rows, default=None)

    def _why_nothing(self) -> str:
        if self._ledgers:
            names = ", ".join(sorted(self._ledgers))
            return f"group '{self._group}' has no events in '{self.shown}' (accepted: {names})"
        if not self._tail.files:
            return f"there are no traces in '{self.shown}' (accepted: a folder with files {PATTERN})"
        return f"the traces in '{self.shown}' have no events yet"


def now_us(ledger: Ledger, clock_us: int) -> int:
    """Return the time by which ages are told."""
    return (
        max(clock_us, ledger.latest_us) if clock_us - ledger.latest_us < RUNNING_S * 1e6 else ledger.latest_us
    )


def seen(ledger: Ledger, clock_us: int, *, others: int = 0) -> Observed:
    """Return a group as its traces tell it."""
    now = now_us(ledger, clock_us)
    frontiers = ledger.settle()
    holding = _holding(ledger, now)
    sources = [(name, one) for name, one in ledger.sources.items() if one.last]
    held: dict[str, list[SeenHolding]] = {}
    lacking: dict[str, list[SeenHolding]] = {}
    for one in holding:
        held.setdefault(one.member, []).append(one)
        lacking.setdefault(one.source, []).append(one)
    is_over = now == ledger.latest_us != clock_us
    more = f"; {others} more here" if others else ""
    return Observed(
        time_us=now,
        incarnation=ledger.group,
        group=ledger.group,
        me="",
        state=("traces of before" if is_over else "from traces") + more,
        protocol="",
        members=tuple(_member(ledger, name, held.get(name, []), now) for name in ledger.members),
        sources=tuple(
            _source(name, one, frontiers[name], lacking.get(name, []), now) for name, one in sources
        ),
        holding=tuple(holding[:MOST_HOLDING]),
        gone=tuple(
            Gone(name=name, state=state, since_s=(now - at) / 1e6)
            for name, (state, at) in reversed(ledger.gone.items())
        )[:MOST_HOLDING],
        sent=sum(one.last for _, one in sources),
        received_messages=sum(one.last for _, one in sources),
        stable_messages=sum(frontiers[name] for name, _ in sources),
        kept_bytes=sum(member.kept_bytes for member in ledger.members.values()),
        own_stable=ledger.own_stable,
        own_stable_s=ledger.own_stable_us / 1e6,
        last_note=ledger.last_note,
    )


def _member(ledger: Ledger, name: str, held: list[SeenHolding], now: int) -> SeenMember:
    member = ledger.members[name]
    oldest = max(held, key=lambda one: one.since_s, default=None)
    since = 0.0 if oldest is None else oldest.since_s
    return SeenMember(
        name=name,
        state=BEHIND if since > BEHIND_S else OK,
        last_heard_s=max(now - member.last_us, 0) / 1e6 if member.last_us else None,
        behind_messages=sum(one.messages for one in held),
        behind_bytes=sum(one.bytes for one in held),
        behind_s=since,
        behind_source="" if oldest is None else oldest.source,
        kept_bytes=member.kept_bytes,
    )


def _source(name: str, source: Source, frontier: int, lacking: list[SeenHolding], now: int) -> SeenSource:
    is_waiting = frontier < source.last and frontier + 1 >= source.first
    return SeenSource(
        name=name,
        received=source.last,
        stable=frontier,
        kept_bytes=sum(source.size_of(frontier + 1)) if is_waiting else 0,
        oldest_s=max(now - source.at(frontier + 1), 0) / 1e6 if is_waiting else 0.0,
        lacking=tuple(one.member for one in lacking[:MOST_LACKING]),
        lacking_count=len(lacking),
    )


def _holding(ledger: Ledger, now: int) -> list[SeenHolding]:
    """Return who lacks what, for longest first."""
    found = []
    for name, source in ledger.sources.items():
        for member in ledger.members if source.times else ():
            first = ledger.has(member, name) + 1
            if source.first <= first <= source.last:
                found.append(
                    SeenHolding(
                        member=member,
                        source=name,
                        first=first,
                        messages=source.last - first + 1,
                        bytes=sum(source.size_of(first)),
                        since_s=max(now - source.at(first), 0) / 1e6,
                    )
                )
    return sorted(found, key=lambda one: -one.since_s)


def explain(ledger: Ledger, source_name: str, seq: int, now: int) -> Explained:
    """Tell who lacks a message."""
    source = ledger.sources.get(source_name)
    if source is None or seq > source.last:
        return Explained(id=(source_name, seq), state="unknown")
    lacking = [name for name in ledger.members if ledger.has(name, source_name) < seq]
    since = max(now - source.at(seq), 0) / 1e6 if source.times and seq >= source.first else 0.0
    laggards = tuple(
        Lacking(
            member=name,
            has_up_to=ledger.has(name, source_name),
            since=since,
            last_heard=max(now - ledger.members[name].last_us, 0) / 1e6,
        )
        for name in lacking
    )
    return Explained(id=(source_name, seq), state="waiting" if lacking else "stable", laggards=laggards)
