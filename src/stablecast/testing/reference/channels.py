"""Members with a channel of their own between each two: the timestamp paper's model, for small exact runs.

The simulator's network has links that messages share.  Here every message takes as long as it is told to:
data is reliable and comes in order, acknowledgements may be lost and overtake each other.  The protocols' own
kernels run, through :class:`~stablecast.protocols.contract.Machine`; what they call stable is checked against
what everyone has.  Times are whole numbers of any unit.

>>> run = ChannelRun(
...     "vector",
...     members=3,
...     leaders=(0,),
...     data_delay=lambda s, r, k: 2,
...     ack_delay=lambda r, s, k: 3,
...     params={"ack_every": 10, "know": 1},
... )
>>> run.send(0, at=5)
>>> for member in range(3):
...     run.set_phases(member, ack_at=7)
>>> run.run(until=100)
>>> [(each.number, each.at - each.sent) for each in run.known]
[(1, 15)]
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from stablecast.errors import SafetyViolation
from stablecast.overlays import tree_from_parents
from stablecast.protocols import protocol as find_protocol
from stablecast.protocols.contract import GROUP, NEVER, Machine, Received, Sent, Sizes, Surroundings

Delay = Callable[[int, int, int], int]
"""How long message number k of a sender takes to a receiver."""
LossyDelay = Callable[[int, int, int], int | None]
"""How long the k-th acknowledgement of a member takes to another one; None if it is lost."""

TIMERS, ARRIVALS = 0, 1
"""What happens first at one time: an acknowledgement that leaves just before a message comes is the worst."""
DATA, NULL = "DATA", "NULL"


@dataclass(frozen=True)
class Passage:
    """A message from one member to another."""

    kind: str
    source: int
    dest: int
    sent: int
    received: int | None
    """None if it was lost, or is still under way."""
    numbers: tuple[int, ...]
    """What it carries: of data the number and what is attached, of others numbers, then arrays."""


@dataclass(frozen=True)
class Known:
    """A message that its sender knows to be stable."""

    column: int
    number: int
    sent: int
    at: int


class ChannelRun:
    """A run of some members; say what happens, then ``run``."""

    def __init__(
        self,
        protocol: str,
        *,
        members: int,
        leaders: tuple[int, ...],
        data_delay: Delay,
        ack_delay: LossyDelay,
        null_delay: LossyDelay | None = None,
        audiences: tuple[tuple[int, ...], ...] = (),
        params: Mapping[str, int] | None = None,
        received: Sequence[Sequence[int]] = (),
        messages_max: int = 1000,
        seed: int = 0,
    ) -> None:
        """Set up members; ``leaders`` are the senders, by column, and ``audiences`` their receivers.

        NULLs go by the data channels, or by ``null_delay``, lost and overtaking, where that is given.
        ``received`` has what each member has of each column at the start, of data that was sent before it.
        """
        self.protocol = find_protocol(protocol)
        self.leaders = leaders
        self.audiences = audiences or tuple(tuple(range(members)) for _ in leaders)
        self.data_delay = data_delay
        self.ack_delay = ack_delay
        self.null_delay = null_delay
        self.now = 0
        self.passages: list[Passage] = []
        self.known: list[Known] = []
        self.stable_at: list[tuple[int, int, int, int]] = []
        """Whenever a member calls more stable: when, who, of which column, up to which number."""
        self.gone: set[int] = set()
        values = self.protocol.parameter_values(params or {}, members)
        sizes = Sizes(members, len(leaders), len(leaders), 4, values, True, leaders, audiences)
        star = tree_from_parents([-1] + [0] * (members - 1))  # places follow from the senders alone
        places = self.protocol.places(Surroundings(star, sizes, seed, lambda: np.zeros((members, members))))
        width = max(self.protocol.kernels.attached(sizes), 1)
        self.attached = np.zeros((len(leaders), messages_max + 1, width), np.int64)
        self.machines = [
            Machine(self.protocol, index=index, sizes=sizes, places=places, seed=seed, attached=self.attached)
            for index in range(members)
        ]
        self._stable = [machine.me.stable.copy() for machine in self.machines]
        self._sent_at: list[list[int]] = [[0] for _ in leaders]
        for machine, row in zip(self.machines, received, strict=bool(received)):
            machine.me.received[:] = row
        for column, leader in enumerate(leaders):
            self._sent_at[column] *= 1 + int(self.machines[leader].me.received[column])
        self._last_arrival: Counter[tuple[int, int]] = Counter()
        self._sendings: Counter[tuple[int, int]] = Counter()
        self._entries = itertools.count()
        self._calendar: list[tuple[int, int, int, Callable[[], None]]] = []
        self._rung: dict[int, int] = {}
        for member, machine in enumerate(self.machines):
            self._after(member, machine.init(0))

    def set_phases(self, member: int, *, ack_at: int, sent_at: int | None = None) -> None:
        """Choose when a member acknowledges first, and when it is taken to have sent last."""
        machine, due = self.machines[member], ack_at
        if "ack_at" in self.protocol.declaration.state:
            # Such a member keeps its own times; its timer looks at what is due and sets itself for the next.
            machine.me.ack_at, due = ack_at, self.now
            if sent_at is not None:
                machine.me.sent_at = sent_at
        machine.ring_at(due)
        self._set_timer(member)

    def set_clock(self, member: int, offset: int) -> None:
        """Let a member's clock, of a protocol that has clocks, be ahead of true time."""
        self.machines[member].me.offset = offset

    def clock(self, member: int) -> int:
        """Return what a member's clock has come to, with all that it has received."""
        me = self.machines[member].me
        have = me.have.copy()
        for column, number in enumerate(me.received.tolist()):
            if number and have[column] < NEVER:
                have[column] = max(int(have[column]), int(self.attached[column, number, 0]))
        heard = int(have[have < NEVER].max(initial=0))
        return max(int(me.last), heard)

    def at(self, time: int, action: Callable[[], None], *, order: int = TIMERS) -> None:
        """Let something happen at a time."""
        heapq.heappush(self._calendar, (time, order, next(self._entries), action))

    def send(self, column: int, at: int) -> None:
        """Let a sender send a data message at a time."""
        self.at(at, lambda: self._send(column))

    def crash(self, member: int, at: int) -> None:
        """Let a member fall silent for ever."""
        self.at(at, lambda: self.gone.add(member))

    def tell_gone(self, member: int, gone: int, at: int) -> None:
        """Let a member hear that another one is gone."""
        column = self.leaders.index(gone) if gone in self.leaders else -1

        def tell() -> None:
            if member not in self.gone:
                self._after(member, self.machines[member].gone(gone, self.now, column))

        self.at(at, tell)

    def run(self, until: int) -> None:
        """Let everything happen up to a time."""
        while self._calendar and self._calendar[0][0] <= until:
            self.now, _, _, action = heapq.heappop(self._calendar)
            action()

    def _send(self, column: int) -> None:
        leader = self.leaders[column]
        if leader in self.gone:
            return
        machine = self.machines[leader]
        number = int(machine.me.received[column]) + 1
        machine.me.received[column] = number
        self._sent_at[column].append(self.now)
        machine.attach(column, number, self.now)
        numbers = (number, *self.attached[column, number].tolist())
        for member in self.audiences[column]:
            if member != leader:
                arrival = self._arrival(column, member, number)
                self._pass(DATA, leader, member, arrival, numbers, self._take(column, member, number))
        self._set_timer(leader)

    def _arrival(self, column: int, member: int, k: int) -> int:
        """Return when a message comes that none may overtake."""
        arrival = max(self.now + self.data_delay(column, member, k), self._last_arrival[column, member])
        self._last_arrival[column, member] = arrival
        return arrival

    def _take(self, column: int, member: int, number: int) -> Callable[[], None]:
        def take() -> None:
            machine = self.machines[member]
            machine.me.received[column] = number
            if self.protocol.takes:
                self._after(member, machine.take(column, self.leaders[column], number - 1, self.now))

        return take

    def _pass(
        self,
        kind: str,
        source: int,
        dest: int,
        arrival: int | None,
        numbers: tuple[int, ...],
        action: Callable[[], None],
    ) -> None:
        """Let a message come to a member, unless it is lost or its receiver is gone by then."""
        place = len(self.passages)
        self.passages.append(Passage(kind, source, dest, self.now, None, numbers))

        def come() -> None:
            if dest not in self.gone:
                self.passages[place] = replace(self.passages[place], received=self.now)
                action()

        if arrival is not None:
            self.at(arrival, come, order=ARRIVALS)

    def _after(self, member: int, sent: list[Sent]) -> None:
        for each in sent:
            dests = range(len(self.machines)) if each.dest == GROUP else (each.dest,)
            for dest in dests:
                if dest != member:
                    self._send_protocol(member, dest, each)
        self._check(member)
        self._set_timer(member)

    def _send_protocol(self, source: int, dest: int, sent: Sent) -> None:
        kind = self.protocol.kinds[sent.kind]
        message = Received(sent.kind, source, sent.numbers, sent.array)
        numbers = (*sent.numbers, *(() if sent.array is None else sent.array.tolist()))
        if kind == NULL:
            column = self.leaders.index(source)
            if dest not in self.audiences[column]:
                return
            arrival: int | None
            if self.null_delay is None:
                arrival = self._arrival(column, dest, 0)
            else:
                arrival = self._lossy_arrival(self.null_delay, source, dest)
        else:
            arrival = self._lossy_arrival(self.ack_delay, source, dest)

        def receive() -> None:
            self._after(dest, self.machines[dest].receive(message, self.now))

        self._pass(kind, source, dest, arrival, numbers, receive)

    def _lossy_arrival(self, delay_of: LossyDelay, source: int, dest: int) -> int | None:
        self._sendings[source, dest] += 1
        delay = delay_of(source, dest, self._sendings[source, dest])
        return None if delay is None else self.now + delay

    def _set_timer(self, member: int) -> None:
        due = self.machines[member].next_timer()
        if due is not None and self._rung.get(member) != due:
            self._rung[member] = due
            self.at(due, lambda: self._ring(member, due))

    def _ring(self, member: int, due: int) -> None:
        if self.machines[member].next_timer() == due and member not in self.gone:
            self._after(member, self.machines[member].handle_timer(self.now))

    def _check(self, member: int) -> None:
        """Theorems 1 and 2: what a member calls stable is at everyone it is for, and stays stable."""
        stable, before = self.machines[member].me.stable, self._stable[member]
        if (stable < before).any():
            raise SafetyViolation(f"a frontier went back at member {member}, at {self.now}")
        for column in np.flatnonzero(stable > before).tolist():
            for other in self.audiences[column]:
                if other not in self.gone and self.machines[other].me.received[column] < stable[column]:
                    raise SafetyViolation(
                        f"member {member} calls message {stable[column]} of column {column} stable at"
                        f" {self.now}, and member {other} has {self.machines[other].me.received[column]}"
                    )
            self.stable_at.append((self.now, member, column, int(stable[column])))
            if self.leaders[column] == member:
                for number in range(int(before[column]) + 1, int(stable[column]) + 1):
                    self.known.append(Known(column, number, self._sent_at[column][number], self.now))
        self._stable[member] = stable.copy()
