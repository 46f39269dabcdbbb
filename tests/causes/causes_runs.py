"""Random wire traces of a small group, made by a few rules of their own.

Member m0 coordinates: it transmits START, every member answers ACK with what it has, and when all have, m0
knows the minimum to be stable and transmits INFO.  Senders multicast DATA, which may be lost; who sees a
gap waits, asks the source by NAK, and gets a REPAIR.  Times are multiples of a tick, so that some are equal.
"""

import heapq
from collections import defaultdict

import numpy as np
import pyarrow as pa

from stablecast.causes.reading import run_of
from stablecast.trace.schema import arrow_schema

SCHEMA = arrow_schema(wire=True)


def table_of(rows):
    """Return rows, given as dictionaries, as a table of the schema."""
    full = [{"group": "g", **row} for row in rows]
    return pa.Table.from_pylist(full, pa.schema([field.with_nullable(True) for field in SCHEMA]))


def run_from(rows):
    """Return the run that rows tell, as if they had been read from a file."""
    return run_of(table_of(rows))


class Group:
    """A simulation that writes down every step."""

    def __init__(self, seed, *, members=5, messages=12, loss=0.2, tick_us=50, pause_us=2_000):
        self.random = np.random.default_rng(seed)
        self.names = [f"m{number}" for number in range(members)]
        self.loss, self.tick_us, self.pause_us = loss, tick_us, pause_us
        self.messages = messages
        self.rows, self.heap, self.order, self.now = [], [], 0, 0
        self.steps, self.numbers = defaultdict(int), defaultdict(int)
        self.sent, self.has = defaultdict(int), defaultdict(set)
        self.asked, self.acks, self.execution = set(), {}, 0
        self.known, self.stable = defaultdict(int), 0

    def run(self):
        senders = self.names[: max(1, len(self.names) // 2)]
        for number in range(self.messages):
            sender = senders[int(self.random.integers(len(senders)))]
            self.at(self.ticks(40) * (number + 1) // 2, sender, lambda who=sender: self.send(who))
        self.at(0, "m0", self.start)
        while self.heap:
            self.now, _, member, cause, action = heapq.heappop(self.heap)
            self.steps[member] += 1
            if cause:
                self.note(member, **cause)
            action()
        return self.rows

    def ticks(self, most):
        return self.tick_us * int(self.random.integers(1, most + 1))

    def at(self, time_us, member, action, cause=None):
        self.order += 1
        heapq.heappush(self.heap, (time_us, self.order, member, cause, action))

    def note(self, member, kind, **more):
        row = {"kind": kind, "member": member, "time_us": self.now, "step": self.steps[member], **more}
        self.rows.append(row)

    def timer(self, member, name, after_us, action, *, told=True):
        cause = {"kind": "timer", "message": name, "since_us": self.now if told else None}
        self.at(self.now + after_us, member, action, cause)

    def transmit(self, member, peer, message, action, loss=0.0, **more):
        """Transmit to one or all; ``action(receiver)`` is what an arrival does."""
        number = self.numbers[member]
        self.numbers[member] += 1
        self.note(member, "transmit", peer=peer, message=message, number=number, bytes=100, **more)
        for receiver in self.names if peer is None else [peer]:
            if receiver == member or self.random.random() < loss:
                continue
            queue_us, service_us, way_us = self.ticks(4), self.ticks(2), self.ticks(10)
            cause = {"kind": "arrive", "peer": member, "message": message, "number": number, **more}
            cause |= {"queue_us": queue_us, "service_us": service_us, "bytes": 100}
            at_us = self.now + queue_us + service_us + way_us
            self.at(at_us, receiver, lambda who=receiver: action(who), cause)

    def send(self, member):
        self.sent[member] += 1
        seq = self.sent[member]
        self.note(member, "send", source=member, seq=seq, bytes=100)
        self.has[member, member].add(seq)
        more = {"source": member, "first_seq": seq, "seq": seq}
        self.transmit(
            member, None, "DATA", lambda who: self.receive(who, member, seq), loss=self.loss, **more
        )

    def receive(self, member, source, seq):
        if seq not in self.has[member, source]:
            self.has[member, source].add(seq)
            self.note(member, "receive", source=source, seq=seq, bytes=100)
        self.look(member, source, seq)

    def look(self, member, source, up_to):
        for seq in range(1, up_to + 1):
            if seq not in self.has[member, source] and (member, source, seq) not in self.asked:
                self.asked.add((member, source, seq))
                self.timer(
                    member, "nak", self.ticks(6), lambda lacking=seq: self.ask(member, source, lacking)
                )

    def ask(self, member, source, seq):
        more = {"source": source, "first_seq": seq, "seq": seq}

        def answer(who):
            back = lambda receiver: self.receive(receiver, source, seq)  # noqa: E731
            self.transmit(who, member, "REPAIR", back, **more)

        self.transmit(member, source, "NAK", answer, **more)

    def start(self):
        self.execution += 1
        self.acks = {}
        self.transmit(self.names[0], None, "START", self.acknowledge, execution=self.execution)
        self.look_at_all(self.names[0])
        self.count(self.names[0])

    def look_at_all(self, member):
        for source, up_to in list(self.sent.items()):
            self.look(member, source, up_to)

    def acknowledge(self, member):
        self.look_at_all(member)
        told = self.prefixes(member)
        self.transmit(member, "m0", "ACK", lambda _: self.count(member, told), execution=self.execution)

    def prefixes(self, member):
        return {source: self.prefix(member, source) for source in self.sent}

    def prefix(self, member, source):
        seq = 0
        while seq + 1 in self.has[member, source]:
            seq += 1
        return seq

    def count(self, member, told=None):
        self.acks[member] = self.prefixes(member) if told is None else told
        if len(self.acks) < len(self.names):
            return
        sources = set.intersection(*(set(told) for told in self.acks.values()))
        minimum = {source: min(told[source] for told in self.acks.values()) for source in sources}
        self.learn("m0", minimum)
        self.transmit("m0", None, "INFO", lambda who: self.learn(who, minimum), execution=self.execution)
        done = sum(self.known["m0", source] for source in self.sent) == self.messages
        if not done and self.execution < 200:
            self.timer("m0", "round", self.pause_us, self.start, told=self.random.random() < 0.5)

    def learn(self, member, minimum):
        for source in sorted(minimum):
            before, now = self.known[member, source], minimum[source]
            if now > before:
                self.known[member, source] = now
                self.note(member, "stable", source=source, seq=now)
                for seq in range(before + 1, now + 1):
                    self.note(member, "release", source=source, seq=seq, bytes=100)


def random_rows(seed, **options):
    """Return the rows of one run in the order in which they happened."""
    return Group(seed, **options).run()
