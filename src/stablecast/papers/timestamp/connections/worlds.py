"""A few senders and receivers with all that is under way between them, and everything that may happen next.

Data is first in, first out on each connection.  Acknowledgements and notices of opening and closing, once
sent, can arrive at any time from then on, in any order, again and again, or never: this covers loss, delay
and doubling, and keeps the number of states small.  ``World.owed`` is what a checker knows and the machines
do not: the messages that a receiver still lacks although the sender counted it when it sent them.

With ``Case.tidy`` what the machines ignore for ever is taken off the network, which leaves far fewer states:
what belongs to a connection that its target knows to be over, and what it has heard.  That they do ignore it
is seen in the cases without.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

from stablecast.errors import StablecastError
from stablecast.papers.timestamp.connections import connection
from stablecast.papers.timestamp.connections.connection import (
    Acknowledgement,
    Close,
    OpenAcknowledgements,
    ReceiverSide,
    SenderSide,
)

TO_SENDER, TO_RECEIVER = "to sender", "to receiver"

Pair: TypeAlias = tuple[int, int]
"""Sender and receiver."""
Wire: TypeAlias = tuple[int, int, int]
"""Sender, receiver and number of a connection."""
Notice: TypeAlias = tuple[str, int, OpenAcknowledgements | Acknowledgement | Close]
"""Who a notice or an acknowledgement is for, by role and number, and what it says."""
Named: TypeAlias = tuple[str, "World"]
"""What happens, and the world after it."""


class World(NamedTuple):
    """One state of everyone and of the network."""

    senders: tuple[SenderSide, ...]
    receivers: tuple[ReceiverSide, ...]
    told: frozenset[Notice] = frozenset()
    """What can arrive, and arrive again."""
    wires: tuple[tuple[Wire, tuple[int, ...]], ...] = ()
    """For each connection with data under way: the connection; the timestamps."""
    owed: frozenset[tuple[int, int, int]] = frozenset()
    """Sender, receiver, timestamp."""


class Violation(StablecastError):
    """A check failed; tells the shortest way to it."""


@dataclass(frozen=True)
class Case:
    """How many sides there are, and how much they do."""

    timestamps: tuple[tuple[int, ...], ...]
    """For each sender the timestamps that it may use; it may leave out any."""
    receivers: int
    connections: int = 1
    """Most connections of a pair, one after the other."""
    closing: tuple[Pair, ...] | None = None
    """Pairs that may disconnect; all by default."""
    tidy: bool = True
    rules: bool = True
    machines: ModuleType = connection
    """Where the sides and their events are from."""
    connected: tuple[Pair, ...] = ()
    """Pairs that begin with an acknowledgement of 0 heard and both channels open."""
    only: tuple[Pair, ...] | None = None
    """The pairs that connect at all; all by default."""

    @property
    def senders(self) -> int:
        """Their number."""
        return len(self.timestamps)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs that connect at all."""
        return self.only or tuple(product(range(self.senders), range(self.receivers)))

    def begin(self) -> World:
        """Return the first state."""
        m = self.machines
        senders = (m.SenderSide(self.rules),) * self.senders
        world = World(senders, (m.ReceiverSide(self.rules),) * self.receivers)
        for s, r in self.connected:
            world = self.receiver_does(world, r, "connect", s)
        for r in range(self.receivers):
            world = self.receiver_does(world, r, "acknowledge")
        world = self.all_told(world)
        for s, r in self.connected:
            world = self.sender_does(world, s, "connect", r)
        return world

    def sender_does(self, world: World, s: int, step: str, *given: object) -> World:
        """Let a sender take a step, and put what it sends on the network."""
        side, events = _taken(world.senders[s], step, *given)
        if side is world.senders[s] and not events:
            return world
        m, wires, told, owed = self.machines, dict(world.wires), set(world.told), set(world.owed)
        for event in events:
            if isinstance(event, m.Data):
                wire = (s, event.peer, event.connection)
                wires[wire] = (*wires.get(wire, ()), event.timestamp)
                if event.peer in side.receiver_group:
                    owed.add((s, event.peer, event.timestamp))
            elif isinstance(event, m.Close):
                told.add((TO_RECEIVER, event.peer, m.Close(s, event.connection)))
            elif isinstance(event, m.Removed):
                owed = {one for one in owed if one[:2] != (s, event.peer)}
        senders = (*world.senders[:s], side, *world.senders[s + 1 :])
        return World(senders, world.receivers, frozenset(told), tuple(sorted(wires.items())), frozenset(owed))

    def receiver_does(self, world: World, r: int, step: str, *given: object) -> World:
        """Let a receiver take a step, and put what it sends on the network."""
        side, events = _taken(world.receivers[r], step, *given)
        if side is world.receivers[r] and not events:
            return world
        m, told, owed = self.machines, set(world.told), set(world.owed)
        for event in events:
            if isinstance(event, m.Delivered):
                owed.discard((event.peer, r, event.timestamp))
            elif isinstance(event, m.Acknowledgement):
                told.add((TO_SENDER, event.peer, m.Acknowledgement(r, event.connection, event.timestamp)))
            elif isinstance(event, m.OpenAcknowledgements | m.Close):
                told.add((TO_SENDER, event.peer, type(event)(r, event.connection)))
        receivers = (*world.receivers[:r], side, *world.receivers[r + 1 :])
        return world._replace(receivers=receivers, told=frozenset(told), owed=frozenset(owed))

    def tidied(self, world: World) -> World:
        """Take what is ignored for ever off the network."""
        if not self.tidy:
            return world
        told = frozenset(notice for notice in world.told if not self._is_over(world, *notice))
        wires = tuple(
            entry for entry in world.wires if not _has_left(world.receivers[entry[0][1]], *entry[0])
        )
        return world._replace(told=told, wires=wires)

    def _is_over(self, world: World, target: str, number: int, message: Any) -> bool:
        """Tell whether a notice will never again make a difference."""
        if target == TO_RECEIVER:
            return _has_left(world.receivers[number], message.peer, number, message.connection)
        link = world.senders[number].link(message.peer)
        if isinstance(message, self.machines.OpenAcknowledgements):
            return bool(message.connection <= link.connection)
        if message.connection > link.connection:
            return False
        if message.connection < link.connection or not link.is_open:
            return True
        if isinstance(message, self.machines.Close):
            return False
        return link.acknowledged is not None and message.timestamp <= link.acknowledged

    def tell(self, world: World, notice: Notice) -> World:
        """Let a notice or an acknowledgement arrive; it stays on the network."""
        target, number, message = notice
        does = self.sender_does if target == TO_SENDER else self.receiver_does
        return does(world, number, "receive", message)

    def deliver(self, world: World, wire: Wire) -> World:
        """Let the first message on a connection arrive."""
        wires = dict(world.wires)
        first, *others = wires.pop(wire)
        if others:
            wires[wire] = tuple(others)
        s, r, number = wire
        world = world._replace(wires=tuple(sorted(wires.items())))
        return self.receiver_does(world, r, "receive", self.machines.Data(s, number, first))

    def all_told(self, world: World) -> World:
        """Deliver notices and acknowledgements until none makes a difference."""
        for _ in range(10):
            before = world
            for notice in sorted(world.told, key=repr):
                world = self.tell(world, notice)
            if world == before:
                return world
        raise Violation("notices that come again and again change something each time")

    def all_delivered(self, world: World) -> World:
        """Deliver everything that is under way."""
        while world.wires:
            world = self.deliver(world, world.wires[0][0])
        return self.all_told(world)

    def steps(self, world: World) -> Iterator[Named]:
        """Yield everything that may happen next, with a name for it."""
        for name, after in self._steps(world):
            if after is not world:
                yield name, self.tidied(after)

    def _steps(self, world: World) -> Iterator[Named]:
        yield from self._arrivals(world)
        yield from self._connections(world)
        for r in range(self.receivers):
            yield (f"receiver {r} acknowledges", self.receiver_does(world, r, "acknowledge"))
        for s, side in enumerate(world.senders):
            for timestamp in self.timestamps[s]:
                if timestamp <= side.last:
                    continue
                yield (f"sender {s} sends {timestamp}", self.sender_does(world, s, "send", timestamp))

    def _arrivals(self, world: World) -> Iterator[Named]:
        for wire, timestamps in world.wires:
            yield (f"receiver {wire[1]} gets {timestamps[0]} from {wire[0]}", self.deliver(world, wire))
        for notice in world.told:
            yield (f"{notice[0]} {notice[1]} comes {notice[2]}", self.tell(world, notice))

    def _connections(self, world: World) -> Iterator[Named]:
        for s, r in self.pairs:
            at_receiver = world.receivers[r].link(s)
            at_sender = world.senders[s].link(r)
            if not at_receiver.is_open and at_receiver.connection < self.connections:
                yield (f"receiver {r} connects {s}", self.receiver_does(world, r, "connect", s))
            if at_sender.is_open and not at_sender.carries:
                yield (f"sender {s} connects {r}", self.sender_does(world, s, "connect", r))
            may_close = self.closing is None or (s, r) in self.closing
            if may_close and at_receiver.is_open:
                yield (f"receiver {r} disconnects {s}", self.receiver_does(world, r, "disconnect", s))
            if may_close and at_sender.is_open:
                yield (f"sender {s} disconnects {r}", self.sender_does(world, s, "disconnect", r))


def _has_left(receiver: ReceiverSide, s: int, r: int, number: int) -> bool:
    """Tell whether a receiver knows that a connection is over."""
    link = receiver.link(s)
    return number < link.connection or (number == link.connection and not link.is_open)


@cache
def _taken(side: Any, step: str, *given: Any) -> tuple[Any, tuple[Any, ...]]:
    """Take a step of a side; the same ones come again and again."""
    taken: tuple[Any, tuple[Any, ...]] = getattr(side, step)(*given)
    return taken


def forget_steps() -> None:
    """Let go of the steps that are kept because they come again and again."""
    _taken.cache_clear()
