"""Figure 4 of the paper as a run of the connection machines, with the rules of section 6 and without.

Three nodes are senders and receivers, each in its own groups too, as the paper has it.  Their clocks agree,
so a timestamp is the time of sending.  A message takes ``LATENCY`` units, to oneself none.  The copy of B
for node 3 is lost.  The layer below notices that at the next message from node 1: node 3 keeps this one back
and asks for B, and node 1 sends B again if it still has it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import TypeAlias

from stablecast.errors import unknown_name
from stablecast.papers.timestamp.connections.connection import (
    Acknowledgement,
    Close,
    Data,
    Delivered,
    Event,
    OpenAcknowledgements,
    ReceiverSide,
    Removed,
    SenderSide,
    Stable,
)

NODES = (1, 2, 3)
LATENCY = 3
MESSAGES = {"A": (2, 22), "B": (1, 27), "C": (2, 33), "D": (3, 35)}
"""Who sends them, and when.  The paper has A, B and C; its numbers also need a message of node 3."""
B_FROM, B = MESSAGES["B"]
DEPRIVED = 3
"""The node that does not get B."""
NEXT = 48
"""When node 1 sends its next message, E, or closes the connection to node 3."""
FIRST_ROUND = {3: 38, 1: 40, 2: 42}
"""When each node acknowledges: node 3 once it has C, node 2 last, as in the paper."""
LAST_ROUND = {3: 60, 1: 64, 2: 66}
NAMES = {stamp: name for name, (_, stamp) in MESSAGES.items()} | {NEXT: "E"}

Pair: TypeAlias = tuple[int, int]
"""Sender and receiver."""


@dataclass(frozen=True)
class Course:
    """What is different in a run."""

    rules: bool = True
    apart: bool = False
    """Whether node 3 does not connect to node 1, so that its view is the wrong one of the paper."""
    closes: bool = False
    """Whether node 1 closes the connection to node 3 instead of sending on."""


COURSES = {
    "no rules": Course(rules=False),
    "node 3 gets B later": Course(),
    "node 1 closes to node 3": Course(closes=True),
    "node 3 never connects": Course(apart=True),
}
"""The runs, by name: the paper's, and those in which the rules prevent what happens there."""


@dataclass(frozen=True, kw_only=True)
class Letter:
    """Something sent from one node to another."""

    source: int
    dest: int
    kind: str
    """``data``, ``acknowledgement``, ``request``, ``repair``, ``opening`` or ``closing``."""
    number: int
    """The timestamp that it carries, acknowledges or asks for; 0 if it opens or closes."""
    sent: int
    received: int | None
    """None if it is lost."""


@dataclass(frozen=True, kw_only=True)
class Acknowledged:
    """A node acknowledges to all."""

    node: int
    time: int
    value: int
    senders: tuple[int, ...]
    """Its sender group."""
    has: tuple[int, ...]
    """The timestamps of the messages that it has."""


@dataclass(frozen=True, kw_only=True)
class Declared:
    """A node calls its messages up to a timestamp stable."""

    node: int
    time: int
    up_to: int
    heard: dict[int, int]
    """For each node of its receiver group, the latest acknowledgement."""
    lacking: frozenset[tuple[int, int]]
    """Receivers of the group, counted since the sending, and the timestamps among these that they lack."""


@dataclass
class Log:
    """What happened in a run."""

    letters: list[Letter] = field(default_factory=list)
    acknowledged: list[Acknowledged] = field(default_factory=list)
    declared: list[Declared] = field(default_factory=list)
    delivered: dict[tuple[int, int], int] = field(default_factory=dict)
    """When a node got a message: node and timestamp, time."""
    gone: list[tuple[int, int, int]] = field(default_factory=list)
    """Who was asked for a message that it no longer has: node, time, timestamp."""

    def first_round(self, node: int) -> Acknowledged:
        """Return a node's acknowledgement after A to D, while node 3 lacks B."""
        return next(one for one in self.acknowledged if (one.node, one.time) == (node, FIRST_ROUND[node]))

    @property
    def violations(self) -> int:
        """Messages that were called stable while a node lacked them that was counted since the sending."""
        return len({(one.node, *lack) for one in self.declared for lack in one.lacking})

    def called_stable(self) -> Declared | None:
        """Return when node 1 first calls B stable, if it does."""
        return next((one for one in self.declared if one.node == B_FROM and one.up_to >= B), None)


def play(course: str) -> Log:
    """Play a run from the opening of the connections to the last acknowledgements."""
    if course not in COURSES:
        raise unknown_name("run of Figure 4", course, COURSES)
    return _Play(COURSES[course]).run()


class _Play:
    """Three nodes and what is under way between them."""

    def __init__(self, course: Course) -> None:
        self.course = course
        self.log = Log()
        self.now = 0
        self.senders = {n: SenderSide(course.rules) for n in NODES}
        self.receivers = {n: ReceiverSide(course.rules) for n in NODES}
        self.missing: dict[Pair, int] = {}
        """What the layer below waits for."""
        self.kept_back: dict[Pair, list[Data]] = {}
        self.owed: set[tuple[int, int, int]] = set()
        """Sender, receiver, timestamp: not delivered to one that is counted since the sending."""
        self._ahead: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()

    def run(self) -> Log:
        """Do everything at its time."""
        pairs = [
            (s, r) for s in NODES for r in NODES if not self.course.apart or (s, r) != (B_FROM, DEPRIVED)
        ]
        for s, r in pairs:
            self._at(0, partial(self._receiver_does, r, "connect", s))
            self._at(LATENCY + 1, partial(self._sender_does, s, "connect", r))
        for n in NODES:
            self._at(0, partial(self._acknowledge, n))
            self._at(FIRST_ROUND[n], partial(self._acknowledge, n))
            self._at(LAST_ROUND[n], partial(self._acknowledge, n))
        for node, stamp in MESSAGES.values():
            self._at(stamp, partial(self._sender_does, node, "send", stamp))
        step = ("disconnect", DEPRIVED) if self.course.closes else ("send", NEXT)
        self._at(NEXT, partial(self._sender_does, B_FROM, *step))
        while self._ahead:
            self.now, _, action = heapq.heappop(self._ahead)
            action()
        return self.log

    def _at(self, time: int, action: Callable[[], None]) -> None:
        heapq.heappush(self._ahead, (time, next(self._order), action))

    def _acknowledge(self, n: int) -> None:
        self._receiver_does(n, "acknowledge")
        side = self.receivers[n]
        has = sorted(stamp for node, stamp in self.log.delivered if node == n)
        self.log.acknowledged.append(
            Acknowledged(
                node=n, time=self.now, value=side.acknowledged, senders=side.sender_group, has=tuple(has)
            )
        )

    def _sender_does(self, n: int, step: str, given: object) -> None:
        self.senders[n], events = getattr(self.senders[n], step)(given)
        for event in events:
            self._note(n, event)

    def _receiver_does(self, n: int, step: str, *given: object) -> None:
        self.receivers[n], events = getattr(self.receivers[n], step)(*given)
        for event in events:
            self._note(n, event)

    def _note(self, n: int, event: Event) -> None:
        """Send what a node sends, and keep count of what it tells."""
        match event:
            case Data(peer, _, timestamp):
                if peer in self.senders[n].receiver_group:
                    self.owed.add((n, peer, timestamp))
                self._send_data(n, event)
            case Acknowledgement(peer, _, timestamp):
                self._post(n, peer, "acknowledgement", timestamp, partial(self._tell, n, event))
            case OpenAcknowledgements(peer):
                self._post(n, peer, "opening", 0, partial(self._tell, n, event))
            case Close(peer):
                self._post(n, peer, "closing", 0, partial(self._close, n, event))
            case Delivered(peer, timestamp):
                self.log.delivered[n, timestamp] = self.now
                self.owed.discard((peer, n, timestamp))
            case Removed(peer):
                self.owed = {one for one in self.owed if one[:2] != (n, peer)}
            case Stable(up_to):
                self._declare(n, up_to)

    def _declare(self, n: int, up_to: int) -> None:
        lacking = frozenset((r, stamp) for s, r, stamp in self.owed if s == n and stamp <= up_to)
        heard = self.senders[n].acknowledgement_vector
        self.log.declared.append(Declared(node=n, time=self.now, up_to=up_to, heard=heard, lacking=lacking))

    def _tell(self, source: int, event: Acknowledgement | OpenAcknowledgements) -> None:
        self._sender_does(event.peer, "receive", replace(event, peer=source))

    def _close(self, source: int, event: Close) -> None:
        self._receiver_does(event.peer, "receive", replace(event, peer=source))

    def _post(
        self,
        source: int,
        dest: int,
        kind: str,
        number: int,
        arrive: Callable[[], None],
        *,
        lost: bool = False,
    ) -> None:
        """Send something; it arrives after a while unless it is lost, and at once at oneself."""
        arrival = self.now if source == dest else self.now + LATENCY
        if not lost:
            self._at(arrival, arrive)
        if source != dest:
            self.log.letters.append(
                Letter(
                    source=source,
                    dest=dest,
                    kind=kind,
                    number=number,
                    sent=self.now,
                    received=None if lost else arrival,
                )
            )

    def _send_data(self, s: int, event: Data) -> None:
        lost = (s, event.peer, event.timestamp) == (B_FROM, DEPRIVED, B)
        if lost:
            self.missing[s, event.peer] = B
        self._post(s, event.peer, "data", event.timestamp, partial(self._arrive, s, event), lost=lost)

    def _arrive(self, s: int, event: Data) -> None:
        """Pass a message on to its node, or keep it back and ask for the one before it."""
        r = event.peer
        missing = self.missing.get((s, r))
        if missing is None:
            self._receiver_does(r, "receive", replace(event, peer=s))
        else:
            self.kept_back.setdefault((s, r), []).append(event)
            self._post(r, s, "request", missing, partial(self._repair, s, replace(event, timestamp=missing)))

    def _repair(self, s: int, event: Data) -> None:
        """Send a message again, if it is still there."""
        if event.timestamp in self.senders[s].buffered:
            self._post(s, event.peer, "repair", event.timestamp, partial(self._mend, s, event))
        else:
            self.log.gone.append((s, self.now, event.timestamp))

    def _mend(self, s: int, event: Data) -> None:
        """Pass on what was missing, and all that was kept back for it."""
        pair = (s, event.peer)
        del self.missing[pair]
        for each in (event, *self.kept_back.pop(pair, ())):
            self._receiver_does(event.peer, "receive", replace(each, peer=s))
