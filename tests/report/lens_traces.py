"""Small wire traces that are made by hand: data that gets lost and repaired, and rounds that count it.

A round is member 0's START to each, an answer ACK of each, and member 0's INFO to each; whoever gets the INFO
knows everything that member 0 had heard of all to be stable.
"""

from __future__ import annotations

import heapq
import itertools
import json
import random
from pathlib import Path

ALL = ("step", "peer", "message", "number", "execution", "first_seq", "queue_us", "service_us", "since_us")


class Group:
    """A group of members that multicast, lose, ask for repairs, and count; its rows are a wire trace."""

    def __init__(self, names, *, seed=1, loss=0.1, round_us=8_000):
        self.names, self.draw, self.loss, self.round_us = list(names), random.Random(seed), loss, round_us
        self.rows, self.heap, self.tie = [], [], itertools.count()
        self.steps, self.numbers = [0] * len(names), [0] * len(names)
        self.has = [[set() for _ in names] for _ in names]
        self.acks, self.sent = {}, [0] * len(names)

    def run(self, messages, *, every_us=3_000):
        """Send so many messages in turn, and count rounds until they are all stable."""
        for k in range(messages):
            self.at(
                100 + k * every_us, lambda k=k, t=100 + k * every_us: self.multicast(k % len(self.names), t)
            )
        rounds = messages * every_us // self.round_us + 4
        for execution in range(1, rounds + 1):
            self.at(execution * self.round_us, lambda e=execution: self.begin(e, e * self.round_us))
        while self.heap:
            heapq.heappop(self.heap)[2]()
        return self

    def at(self, time, action):
        heapq.heappush(self.heap, (time, next(self.tie), action))

    def row(self, kind, member, time, *, source=None, seq=None, size=None, **more):
        name = None if source is None else self.names[source]
        row = {"group": "g", "kind": kind, "member": self.names[member], "source": name, "seq": seq}
        row |= {"time_us": time, "bytes": size, **dict.fromkeys(ALL), "step": self.steps[member], **more}
        self.rows.append(row)

    def step(self, member):
        self.steps[member] += 1

    def transmit(self, member, time, peers, message, arrive, *, to_all=False, lossy=False, **about):
        """Send to some, who handle it later unless it is lost on the way."""
        for addressees in [peers] if to_all else [[peer] for peer in peers]:
            self.numbers[member] += 1
            number = self.numbers[member]
            peer = None if to_all else self.names[addressees[0]]
            self.row("transmit", member, time, peer=peer, message=message, number=number, **about)
            for dest in addressees:
                if lossy and self.draw.random() < self.loss:
                    continue
                queue, service = self.draw.randrange(200), self.draw.randrange(20, 100)
                end = time + queue + service + self.draw.randrange(300, 900)
                come = {"peer": self.names[member], "message": message, "number": number}
                come |= {"queue_us": queue, "service_us": service, **about}
                self.at(end, lambda d=dest, e=end, c=come: self.handle(d, e, c, arrive))

    def handle(self, member, time, come, arrive):
        self.step(member)
        self.row("arrive", member, time, **come)
        arrive(member, time)

    def others(self, member):
        return [k for k in range(len(self.names)) if k != member]

    def multicast(self, source, time):
        self.step(source)
        self.sent[source] += 1
        seq = self.sent[source]
        self.has[source][source].add(seq)
        self.row("send", source, time, source=source, seq=seq, size=100)
        about = {"source": source, "seq": seq, "first_seq": seq, "size": 130}
        self.transmit(
            source, time, self.others(source), "DATA", lambda m, t: self.got(m, t, source, seq),
            to_all=True, lossy=True, **about,
        )  # fmt: skip
        for dest in self.others(source):
            self.at(time + 2_500, lambda d=dest: self.ask(d, time + 2_500, source, seq, time))

    def got(self, member, time, source, seq):
        if seq not in self.has[member][source]:
            self.has[member][source].add(seq)
            self.row("receive", member, time, source=source, seq=seq, size=100)

    def ask(self, member, time, source, seq, since):
        if seq in self.has[member][source]:
            return
        self.step(member)
        self.row("timer", member, time, message="ask", since_us=since)
        about = {"source": source, "seq": seq, "first_seq": seq}
        repair = lambda peer, at: self.transmit(  # noqa: E731
            peer, at, [member], "REPAIR", lambda m, t: self.got(m, t, source, seq), size=130, **about
        )
        self.transmit(member, time, [source], "NAK", repair, size=40, **about)

    def begin(self, execution, time):
        self.step(0)
        self.row("timer", 0, time, message="round", since_us=time - self.round_us)
        self.acks[execution] = {0: [self.prefix(0, source) for source in range(len(self.names))]}
        about = {"execution": execution, "size": 60}
        answer = lambda m, t: self.answer(m, t, execution)  # noqa: E731
        self.transmit(0, time, self.others(0), "START", answer, **about)

    def prefix(self, member, source):
        return next(k for k in itertools.count() if k + 1 not in self.has[member][source])

    def answer(self, member, time, execution):
        told = [self.prefix(member, source) for source in range(len(self.names))]
        count = lambda m, t: self.count(t, execution, member, told)  # noqa: E731
        self.transmit(member, time, [0], "ACK", count, execution=execution, size=60)

    def count(self, time, execution, member, told):
        self.acks[execution][member] = told
        if len(self.acks[execution]) < len(self.names):
            return
        stable = [min(of) for of in zip(*self.acks[execution].values(), strict=True)]
        know = lambda m, t: self.know(m, t, stable)  # noqa: E731
        self.transmit(0, time, self.others(0), "INFO", know, execution=execution, size=60)
        self.know(0, time, stable)

    def know(self, member, time, stable):
        for source, seq in enumerate(stable):
            if seq:
                self.row("stable", member, time, source=source, seq=seq)
                self.row("release", member, time, source=source, seq=seq)


def write_lines(rows, file: Path) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def deliveries_only(rows):
    """Return what a trace without transmissions has."""
    return [
        {key: value for key, value in row.items() if key not in ALL}
        for row in rows
        if row["kind"] not in ("transmit", "arrive", "timer")
    ]
