"""The tables of heads and positions read aloud: number by number, in plain loops, for small histories.

Nothing here is meant to be fast, and nothing uses what the kernels rely on: each number has a sending,
receipts and a time since which it is stable, and everything else is counted from these.
"""

from collections import Counter, defaultdict
from math import inf
from typing import NamedTuple

TABLES = ("frontiers", "sources", "readers", "laggards", "totals", "violations")


class Event(NamedTuple):
    group: str
    kind: str
    member: str | None
    source: str | None
    seq: int | None
    time_us: int


class Stay(NamedTuple):
    member: str
    start: float
    end: float


def analyse(events, first_seq=1, next_offset=False, bytes_are_numbers=False):
    """Return the tables of a history, each a list of rows."""
    groups = defaultdict(list)
    for event in events:
        moved = next_offset and event.kind == "position"
        groups[event.group].append(event._replace(seq=event.seq - 1) if moved else event)
    tables = {name: [] for name in TABLES}
    for name, own in sorted(groups.items()):
        group = Group(own, first_seq)
        for table in TABLES:
            rows = getattr(group, table)(bytes_are_numbers)
            tables[table] += [(name, *row) for row in rows]
    return tables


class Group:
    """The events of one group, and the sources in them."""

    def __init__(self, events, first_seq):
        self.events = events
        self.times = sorted({e.time_us for e in events})
        self.stays = self._stays()
        names = sorted({e.source for e in events if e.kind in ("head", "position")})
        self.of_sources = [Source(self, name, first_seq) for name in names]

    def of(self, *kinds):
        return [e for e in self.events if e.kind in kinds]

    def departures(self, member):
        return [e.time_us for e in self.of("leave", "fail") if e.member == member]

    def _stays(self):
        if not self.of("join"):
            members = sorted({e.member for e in self.of("position")})
            return [Stay(m, -inf, min(self.departures(m), default=inf)) for m in members]
        stays = []
        for start, member in sorted({(e.time_us, e.member) for e in self.of("join")}):
            if not any(stay.member == member and stay.start <= start < stay.end for stay in stays):
                end = min((time for time in self.departures(member) if time >= start), default=inf)
                stays.append(Stay(member, start, end))
        return [stay for stay in stays if stay.start < stay.end]

    def frontiers(self, _):
        for source in self.of_sources:
            yield from ((source.name, *row) for row in source.frontiers())

    def sources(self, bytes_are_numbers):
        for source in self.of_sources:
            yield (source.name, *source.summary(bytes_are_numbers))

    def readers(self, _):
        for source in self.of_sources:
            yield from ((source.name, *row) for row in source.readers())

    def laggards(self, bytes_are_numbers):
        completed, held = Counter(), Counter()
        for source in self.of_sources:
            for member, _, _, _, _, alone, done, *_ in source.readers():
                completed[member] += done
                held[member] += alone
        for member in sorted(completed):
            if completed[member] or held[member]:
                size = held[member] if bytes_are_numbers else None
                yield member, completed[member], held[member], size

    def totals(self, _):
        if not self.of_sources:
            return
        waiting = [source for source in self.of_sources if source.unstable()]
        sent = sum(len(source.numbers) for source in self.of_sources)
        stable = sum(source.prefix(inf) - source.first + 1 for source in self.of_sources)
        frontiers = [source.since() for source in waiting if source.since() is not None]
        oldest = min((source.oldest() for source in waiting), default=None)
        blockers = Counter(name for source in waiting for name in source.waited_for())
        most = min(blockers, key=lambda name: (-blockers[name], name), default=None)
        counts = len(self.of_sources), sent, stable, sent - stable
        yield (*counts, min(frontiers, default=None), oldest, most)

    def violations(self, _):
        for source in self.of_sources:
            if source.has_heads:
                yield from source.beyond()


class Source:
    """One source: its numbers, when each was sent, and since when each is stable."""

    def __init__(self, group, name, first_seq):
        self.group, self.name = group, name
        self.rows = [e for e in group.of("head", "position") if e.source == name]
        self.positions = [e for e in self.rows if e.kind == "position"]
        self.has_heads = len(self.positions) < len(self.rows)
        heads = [e for e in self.rows if e.kind == "head" or not self.has_heads]
        earliest = max(0, min(e.seq for e in self.rows))
        self.first = earliest if first_seq == "earliest" else first_seq
        self.numbers = range(self.first, max(self.first, max(e.seq for e in heads) + 1))
        self.sent = {q: min(e.time_us for e in heads if e.seq >= q) for q in self.numbers}
        reads_itself = any(e.member == name for e in self.positions)
        self.stays = [stay for stay in group.stays if stay.member != name or reads_itself]
        self.stable = {q: self.stable_us(q) for q in self.numbers}

    def receipt(self, member, q):
        return min((e.time_us for e in self.positions if e.member == member and e.seq >= q), default=inf)

    def required(self, q):
        return [stay for stay in self.stays if stay.start <= self.sent[q] < stay.end]

    def done_us(self, stay, q):
        """When a stay no longer kept a number from being stable."""
        return min(self.receipt(stay.member, q), stay.end)

    def stable_us(self, q, without=None):
        needed = [stay for stay in self.required(q) if stay.member != without]
        return max([self.sent[q], *(self.done_us(stay, q) for stay in needed)])

    def lacking(self, q, time_us):
        """The names that keep a number from being stable after all that happened up to a time."""
        if self.sent.get(q, inf) > time_us:
            return []
        return sorted(stay.member for stay in self.required(q) if self.done_us(stay, q) > time_us)

    def prefix(self, time_us, stable=None):
        """The largest number up to which everything was stable by a time, of this or of another truth."""
        stable, end = self.stable if stable is None else stable, self.first
        while end in stable and stable[end] < inf and stable[end] <= time_us:
            end += 1
        return end - 1

    def frontiers(self):
        earlier = -inf
        for now in self.group.times:
            before, after = self.prefix(earlier), self.prefix(now)
            if after > before:
                head = max(q for q in self.numbers if self.sent[q] <= now)
                yield now, head, after, next(iter(self.lacking(before + 1, earlier)), None)
            earlier = now

    def unstable(self):
        return [q for q in self.numbers if self.stable[q] == inf]

    def since(self):
        return max((time_us for time_us, *_ in self.frontiers()), default=None)

    def oldest(self):
        return min((self.sent[q] for q in self.unstable()), default=None)

    def waited_for(self):
        return self.lacking(self.prefix(inf) + 1, self.group.times[-1])

    def or_none(self, q):
        return q if q >= self.first else None

    def summary(self, bytes_are_numbers):
        stable, names = self.prefix(inf), self.waited_for()
        ends = (self.numbers[0], self.numbers[-1]) if self.numbers else (None, None)
        state = self.or_none(stable), self.since(), names[:10] or None, len(names), self.oldest()
        size = len(self.unstable()) if bytes_are_numbers else None
        return len(self.numbers), *ends, *state, not self.has_heads, size

    def readers(self):
        last = self.group.times[-1]
        completed = Counter()
        before = self.first - 1
        for _, _, stable, blocker in self.frontiers():
            completed[blocker] += stable - before
            before = stable
        for member in sorted({stay.member for stay in self.stays}):
            own = [e.seq for e in self.positions if e.member == member]
            gone = all(stay.end < inf for stay in self.stays if stay.member == member)
            alone_us, alone = self._alone(member)
            if gone and not (own or alone_us or completed[member]):
                continue
            without = {q: self.stable_us(q, without=member) for q in self.numbers}
            yield (
                member,
                self.or_none(max(own, default=self.first - 1)),
                None if gone else sum(member in self.lacking(q, last) for q in self.numbers),
                None if gone else self._behind_since(member),
                alone_us,
                alone,
                completed[member],
                self.or_none(self.prefix(inf, without)),
                member in self.waited_for(),
                gone,
            )

    def _behind_since(self, member):
        since = None
        for now in reversed(self.group.times):
            stays = any(s.member == member and s.start <= now < s.end for s in self.stays)
            if not stays or not any(member in self.lacking(q, now) for q in self.numbers):
                break
            since = now
        return since

    def _alone(self, member):
        alone_us = alone = 0
        for now, later in zip(self.group.times, self.group.times[1:], strict=False):
            numbers = sum(self.lacking(q, now) == [member] for q in self.numbers)
            alone += numbers * (later - now)
            alone_us += (later - now) if numbers else 0
        return alone_us, alone

    def beyond(self):
        for member in sorted({e.member for e in self.positions}):
            found = []
            for e in self.positions:
                if e.member == member:
                    head = max((q for q in self.numbers if self.sent[q] <= e.time_us), default=self.first - 1)
                    if e.seq > head:
                        found.append((e.time_us, -e.seq))
            if found:
                time_us, seq = min(found)
                yield "position_beyond_head", member, self.name, -seq, time_us
