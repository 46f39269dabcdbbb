"""The analysis of delivery traces read aloud: plain loops over a list of events, for small traces.

Nothing here is meant to be fast; every function is one sentence of what the tables mean.
"""

from collections import defaultdict
from itertools import pairwise
from math import inf
from typing import NamedTuple

TABLES = ("messages", "frontiers", "buffers", "laggards", "violations")


class Event(NamedTuple):
    group: str
    kind: str
    member: str
    source: str | None
    seq: int | None
    time_us: int
    bytes: int | None = None


class Incarnation(NamedTuple):
    """A stay of a member: from its joining until it is gone."""

    member: str
    start: float
    end: float


class Message(NamedTuple):
    source: str
    seq: int
    sent_us: int
    bytes: int | None


class Truth(NamedTuple):
    """What came of a message; its stability is endless while somebody lacks it."""

    stable_us: float
    last_member: str | None
    second_us: float
    required: int
    received: int


def analyse(events, first_seq=1):
    """Return the five tables of a trace, each a list of rows."""
    groups = defaultdict(list)
    for e in map(Event._make, events):
        groups[e.group].append(e._replace(member=e.source) if e.kind == "send" else e)
    tables = {name: [] for name in TABLES}
    for group, own in groups.items():
        analysis = Group(own, first_seq)
        for name in TABLES:
            tables[name] += [(group, *row) for row in getattr(analysis, name)()]
    return tables


class Group:
    """The events of one group, and what follows from them."""

    def __init__(self, events, first_seq):
        self.events = events
        self.first_seq = first_seq
        self.stays = self._stays()
        self.sent = self._messages()
        self.late, self.receipts = self._receipts()
        self.truth = {key: self._truth(message) for key, message in self.sent.items()}

    def of(self, *kinds):
        return [e for e in self.events if e.kind in kinds]

    def numbers(self, source):
        """All numbers that a source sent, in order."""
        return sorted(m.seq for m in self.sent.values() if m.source == source)

    def sources(self):
        return sorted({m.source for m in self.sent.values()})

    def first_of(self, source):
        return min(self.numbers(source)) if self.first_seq == "earliest" else self.first_seq

    # Membership.

    def departures(self, member):
        return sorted(e.time_us for e in self.of("leave", "fail") if e.member == member)

    def _stays(self):
        joins = self.of("join")
        if joins:
            return {e.member: self._stays_of(e.member) for e in joins}
        members = {e.member for e in self.of("send", "receive")}
        return {m: [Incarnation(m, -inf, min(self.departures(m), default=inf))] for m in members}

    def _stays_of(self, member):
        stays = []
        for start in sorted({e.time_us for e in self.of("join") if e.member == member}):
            if any(stay.start <= start < stay.end for stay in stays):
                continue
            end = min((d for d in self.departures(member) if d >= start), default=inf)
            stays.append(Incarnation(member, start, end))
        return stays

    def incarnation(self, member, time_us):
        """The stay that an event belongs to; None for those that are no members."""
        stays = self.stays.get(member)
        if not stays:
            return None
        begun = [stay for stay in stays if stay.start <= time_us]
        return begun[-1] if begun else stays[0]

    def _end(self, stay, member):
        """When a stay ended; of those that are no members, when they first were said to be gone."""
        return stay.end if stay else min(self.departures(member), default=inf)

    # Messages and receipts.

    def _messages(self):
        sends = defaultdict(list)
        for e in self.of("send"):
            sends[e.source, e.seq].append(e)
        messages = {}
        for (source, seq), copies in sends.items():
            sent_us = min(e.time_us for e in copies)
            sizes = [e.bytes for e in copies if e.bytes is not None]
            messages[source, seq] = Message(source, seq, sent_us, max(sizes, default=None))
        return messages

    def _is_late(self, receipt):
        stay = self.incarnation(receipt.member, receipt.time_us)
        if stay:
            return stay.end < receipt.time_us
        return any(gone < receipt.time_us for gone in self.departures(receipt.member))

    def _receipts(self):
        """The late receipts; and the times of the others, by message, name and incarnation (or None)."""
        late, receipts = [], defaultdict(list)
        for e in self.of("receive"):
            if self._is_late(e):
                late.append(e)
            else:
                who = self.incarnation(e.member, e.time_us)
                receipts[e.source, e.seq, e.member, who].append(e.time_us)
        return late, {key: sorted(times) for key, times in receipts.items()}

    # The truth.

    def _others(self, message):
        """The incarnations that have to receive a message, but for its sender's."""
        s = message.sent_us
        everybody = [stay for stays in self.stays.values() for stay in stays]
        return [x for x in everybody if x.start <= s and not x.end <= s and x.member != message.source]

    def _truth(self, message):
        s = message.sent_us
        sender = self.incarnation(message.source, s)
        sender_end = self._end(sender, message.source)
        contributions = [(min(s, sender_end), message.source)]
        received = int(s <= sender_end)
        for stay in self._others(message):
            times = self.receipts.get((message.source, message.seq, stay.member, stay), [inf])
            contributions.append((min(times[0], stay.end), stay.member))
            received += times[0] <= stay.end and times[0] < inf
        latest = max(time for time, _ in contributions)
        last = min(member for time, member in contributions if time == latest)
        second = sorted(time for time, _ in contributions)[-2:][0]
        return Truth(latest, last if latest < inf else None, second, len(contributions), received)

    def messages(self):
        for key, message in self.sent.items():
            truth = self.truth[key]
            stable_us = finite(truth.stable_us)
            outcome = (stable_us, truth.last_member, truth.required, truth.received)
            head = (message.source, message.seq, message.bytes, message.sent_us)
            yield (*head, *outcome, *self._detected(message), *self._released(message))

    def _detected(self, message):
        required = {(stay.member, stay) for stay in self._others(message)}
        required.add((message.source, self.incarnation(message.source, message.sent_us)))
        firsts = {}
        for e in self.of("stable"):
            who = (e.member, self.incarnation(e.member, e.time_us))
            if who in required and e.source == message.source and e.seq >= message.seq:
                firsts[who] = min(e.time_us, firsts.get(who, inf))
        return min(firsts.values(), default=None), max(firsts.values(), default=None)

    def _released(self, message):
        times = [e.time_us for e in self.of("release") if (e.source, e.seq) == (message.source, message.seq)]
        return min(times, default=None), max(times, default=None)

    # The other tables.

    def frontiers(self):
        for source in self.sources():
            first = before = self.first_of(source)
            for now in sorted({t.stable_us for t in self.truth.values() if t.stable_us < inf}):
                after = first
                while (source, after) in self.sent and self.truth[source, after].stable_us <= now:
                    after += 1
                if after > before:
                    sent = [m.seq for m in self.sent.values() if m.source == source and m.sent_us <= now]
                    yield source, now, max(sent, default=None), after - 1
                before = after

    def _holdings(self):
        """All (member, begin, end, bytes): an end is infinite while the message is held."""
        begins = [(m.source, m.seq, m.source, m.sent_us) for m in self.sent.values()]
        for (source, seq, member, _), times in self.receipts.items():
            if member != source or (source, seq) not in self.sent:
                begins.append((source, seq, member, times[0]))
        for source, seq, member, begin in begins:
            stay = self.incarnation(member, begin)
            releases = [
                e.time_us
                for e in self.of("release")
                if (e.source, e.seq, e.member) == (source, seq, member)
                and self.incarnation(member, e.time_us) == stay
            ]
            end = max(begin, min([*releases, self._end(stay, member)]))
            message = self.sent.get((source, seq))
            yield member, begin, end, (message.bytes or 0) if message else 0

    def buffers(self):
        holdings = list(self._holdings())
        last_us = max(e.time_us for e in self.events)
        for member in sorted({who for who, *_ in holdings}):
            own = [holding for who, *holding in holdings if who == member]
            held = [[size for begin, end, size in own if begin <= now < end] for now, _, _ in own]
            message_us = sum((end if end < inf else last_us) - begin for begin, end, _ in own)
            yield member, max(map(len, held)), max(map(sum, held)), message_us

    def laggards(self):
        rows = defaultdict(lambda: [0, 0, 0])
        for key, truth in self.truth.items():
            if truth.stable_us < inf:
                held_us = truth.stable_us - truth.second_us
                row = rows[truth.last_member]
                row[0] += 1
                row[1] += held_us
                row[2] += held_us * (self.sent[key].bytes or 0)
        yield from ((member, *row) for member, row in rows.items())

    # Violations.

    def violations(self):
        for e in self.late:
            yield "receive_after_departure", e.member, e.source, e.seq, e.time_us
        yield from self._bad_receipts()
        yield from self._bad_claims()
        yield from self._bad_sends()
        yield from self._missing_sends()

    def _bad_receipts(self):
        for (source, seq, member, _), times in self.receipts.items():
            for time_us in times[1:]:
                yield "duplicate", member, source, seq, time_us
            message = self.sent.get((source, seq))
            if message and member != source and times[0] < message.sent_us:
                yield "receive_before_send", member, source, seq, times[0]

    def _bad_claims(self):
        for e in self.of("stable"):
            claimed = [t for (source, seq), t in self.truth.items() if source == e.source and seq <= e.seq]
            if any(truth.stable_us > e.time_us for truth in claimed):
                yield "early_stable", e.member, e.source, e.seq, e.time_us
        for e in self.of("release"):
            if (e.source, e.seq) in self.sent and self.truth[e.source, e.seq].stable_us > e.time_us:
                yield "early_release", e.member, e.source, e.seq, e.time_us

    def _bad_sends(self):
        for source, seq in self.sent:
            times = sorted(e.time_us for e in self.of("send") if (e.source, e.seq) == (source, seq))
            for time_us in times[1:]:
                yield "sent_again", source, source, seq, time_us
        for source in self.sources():
            numbers = self.numbers(source)
            if numbers[0] > self.first_of(source):
                yield "gap", source, source, self.first_of(source), self.sent[source, numbers[0]].sent_us
            for before, seq in pairwise(numbers):
                sent_us = self.sent[source, seq].sent_us
                if seq > before + 1:
                    yield "gap", source, source, before + 1, sent_us
                if sent_us < self.sent[source, before].sent_us:
                    yield "send_out_of_order", source, source, seq, sent_us

    def _missing_sends(self):
        named = defaultdict(list)
        for e in self.of("receive", "release", "stable"):
            if (e.source, e.seq) in self.sent:
                continue
            numbers = self.numbers(e.source)
            if e.kind != "stable" or (numbers and e.seq > numbers[-1]):
                named[e.source, e.seq].append((e.time_us, e.member))
        for (source, seq), events in named.items():
            time_us, member = min(events)
            yield "missing_send", member, source, seq, time_us


def finite(time_us):
    return time_us if time_us < inf else None
