"""Every state that a few senders and receivers can get into, whatever the order of events.

Data is first in, first out on each connection.  Acknowledgements and notices of opening and closing, once
sent, can arrive at any time from then on, in any order, again and again, or never: this covers loss, delay
and doubling, and keeps the number of states small.  ``World.owed`` is what a checker knows and the machines
do not: the messages that a receiver still lacks although the sender counted it when it sent them.

With ``Case.tidy`` what the machines ignore for ever is taken off the network, which leaves far fewer states:
what belongs to a connection that its target knows to be over, and what it has heard.  That they do ignore it
is seen in the cases without.
"""

from collections import deque
from dataclasses import dataclass
from functools import cache
from itertools import count, product
from types import ModuleType
from typing import Any, NamedTuple

from stablecast.membership import connection

TO_SENDER, TO_RECEIVER = "to sender", "to receiver"


class World(NamedTuple):
    senders: tuple
    receivers: tuple
    told: frozenset = frozenset()
    """Who a notice or an acknowledgement is for, and the notice."""
    wires: tuple = ()
    """For each connection with data under way: sender, receiver and number; the timestamps."""
    owed: frozenset = frozenset()
    """Sender, receiver, timestamp."""


class Violation(AssertionError):
    """A check failed; tells the shortest way to it."""


@dataclass(frozen=True)
class Case:
    """How many sides there are, and how much they do."""

    timestamps: tuple
    """For each sender the timestamps that it may use; it may leave out any."""
    receivers: int
    connections: int = 1
    """Most connections of a pair, one after the other."""
    closing: tuple | None = None
    """Pairs that may disconnect; all by default."""
    tidy: bool = True
    rules: bool = True
    machines: ModuleType = connection
    connected: tuple = ()
    """Pairs that begin with an acknowledgement of 0 heard and both channels open."""
    only: tuple | None = None
    """The pairs that connect at all; all by default."""

    @property
    def senders(self):
        return len(self.timestamps)

    @property
    def pairs(self):
        return self.only or tuple(product(range(self.senders), range(self.receivers)))

    def begin(self):
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

    def sender_does(self, world, s, step, *given):
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

    def receiver_does(self, world, r, step, *given):
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

    def tidied(self, world):
        if not self.tidy:
            return world
        told = frozenset(notice for notice in world.told if not self._is_over(world, *notice))
        wires = tuple(
            entry for entry in world.wires if not _has_left(world.receivers[entry[0][1]], *entry[0])
        )
        return world._replace(told=told, wires=wires)

    def _is_over(self, world, target, number, message):
        if target == TO_RECEIVER:
            return _has_left(world.receivers[number], message.peer, number, message.connection)
        link = world.senders[number]._link(message.peer)
        if isinstance(message, self.machines.OpenAcknowledgements):
            return message.connection <= link.connection
        if message.connection > link.connection:
            return False
        if message.connection < link.connection or not link.is_open:
            return True
        if isinstance(message, self.machines.Close):
            return False
        return link.acknowledged is not None and message.timestamp <= link.acknowledged

    def tell(self, world, notice):
        target, number, message = notice
        does = self.sender_does if target == TO_SENDER else self.receiver_does
        return does(world, number, "receive", message)

    def deliver(self, world, wire):
        wires = dict(world.wires)
        first, *others = wires.pop(wire)
        if others:
            wires[wire] = tuple(others)
        s, r, number = wire
        world = world._replace(wires=tuple(sorted(wires.items())))
        return self.receiver_does(world, r, "receive", self.machines.Data(s, number, first))

    def all_told(self, world):
        """Deliver notices and acknowledgements until none makes a difference."""
        for _ in range(10):
            before = world
            for notice in sorted(world.told, key=repr):
                world = self.tell(world, notice)
            if world == before:
                return world
        raise Violation("notices that come again and again change something each time")

    def all_delivered(self, world):
        while world.wires:
            world = self.deliver(world, world.wires[0][0])
        return self.all_told(world)

    def steps(self, world):
        """Yield everything that may happen next, with a name for it."""
        for name, after in self._steps(world):
            if after is not world:
                yield name, self.tidied(after)

    def _steps(self, world):
        yield from self._arrivals(world)
        yield from self._connections(world)
        for r in range(self.receivers):
            yield (f"receiver {r} acknowledges", self.receiver_does(world, r, "acknowledge"))
        for s, side in enumerate(world.senders):
            for timestamp in self.timestamps[s]:
                if timestamp <= side.last:
                    continue
                yield (f"sender {s} sends {timestamp}", self.sender_does(world, s, "send", timestamp))

    def _arrivals(self, world):
        for wire, timestamps in world.wires:
            yield (f"receiver {wire[1]} gets {timestamps[0]} from {wire[0]}", self.deliver(world, wire))
        for notice in world.told:
            yield (f"{notice[0]} {notice[1]} comes {notice[2]}", self.tell(world, notice))

    def _connections(self, world):
        for s, r in self.pairs:
            at_receiver = world.receivers[r]._link(s)
            at_sender = world.senders[s]._link(r)
            if not at_receiver.is_open and at_receiver.connection < self.connections:
                yield (f"receiver {r} connects {s}", self.receiver_does(world, r, "connect", s))
            if at_sender.is_open and not at_sender.carries:
                yield (f"sender {s} connects {r}", self.sender_does(world, s, "connect", r))
            may_close = self.closing is None or (s, r) in self.closing
            if may_close and at_receiver.is_open:
                yield (f"receiver {r} disconnects {s}", self.receiver_does(world, r, "disconnect", s))
            if may_close and at_sender.is_open:
                yield (f"sender {s} disconnects {r}", self.sender_does(world, s, "disconnect", r))


def _has_left(receiver, s, r, number):
    """Tell whether a receiver knows that a connection is over."""
    link = receiver._link(s)
    return number < link.connection or (number == link.connection and not link.is_open)


@cache
def _taken(side, step, *given):
    """Take a step of a side; the same ones come again and again."""
    return getattr(side, step)(*given)


class Explored(NamedTuple):
    states: int
    steps: int
    quiet: int
    """States in which nothing is under way, from which liveness was checked."""
    joined: int
    """States in which a sender counts a receiver."""
    stable: int
    """States in which a sender calls something stable."""


def explore(case: Case, *, promise_only: bool = False) -> Explored:
    """Visit every state, breadth first; raise :class:`Violation` at the first that a check refuses.

    From a state with something under way one gets to a quiet one by deliveries alone, so it is enough to
    look at liveness in the quiet ones.
    """
    first = case.tidied(case.begin())
    came_from: dict[World, Any] = {first: None}
    ahead = deque([first])
    steps = quiet = joined = stable = 0
    while ahead:
        world = ahead.popleft()
        joined += any(side.receiver_group for side in world.senders)
        stable += any(side.stable_up_to for side in world.senders)
        wrong = _broken_promise(world)
        if not (wrong or promise_only):
            wrong = _broken_rule(case, world)
            if not wrong and not world.wires and case.tidied(case.all_told(world)) == world:
                quiet += 1
                wrong = _not_live(case, world)
        if wrong:
            raise Violation("\n".join([wrong, *_way_to(world, came_from)]))
        for name, after in case.steps(world):
            steps += 1
            if after not in came_from:
                came_from[after] = (world, name)
                ahead.append(after)
            went_back = "" if promise_only else _went_back(world, after)
            if went_back:
                raise Violation("\n".join([went_back, *_way_to(world, came_from), name]))
    _taken.cache_clear()
    return Explored(len(came_from), steps, quiet, joined, stable)


def _way_to(world, came_from):
    names = []
    while came_from[world] is not None:
        world, name = came_from[world]
        names.append(name)
    return reversed(names)


def _broken_promise(world):
    for s, r, timestamp in world.owed:
        if timestamp <= world.senders[s].stable_up_to:
            return f"sender {s} calls {timestamp} stable, and receiver {r} of its group lacks it"
        if timestamp not in world.senders[s].buffered:
            return f"sender {s} dropped {timestamp}, and receiver {r} of its group lacks it"
    return ""


def _broken_rule(case, world):
    for s, side in enumerate(world.senders):
        if side.stable_up_to > side.last:
            return f"sender {s} calls stable what it has not sent"
    for s, r in case.pairs:
        wrong = _against_the_rules(world.senders[s]._link(r), world.receivers[r]._link(s))
        if wrong:
            return f"{wrong}: sender {s}, receiver {r}"
    return ""


def _against_the_rules(at_sender, at_receiver):
    if at_sender.is_member and not (at_sender.is_open and at_sender.carries):
        return "a receiver is counted without its channels"
    if at_sender.is_member and at_sender.acknowledged is None:
        return "a receiver is counted that has confirmed nothing"
    if at_receiver.heard is not None and not at_receiver.is_open:
        return "a sender is in the group without an acknowledgement channel"
    same = at_receiver.is_open and at_sender.is_open and at_sender.connection == at_receiver.connection
    if same and at_sender.acknowledged is not None and at_receiver.heard is None:
        return "a receiver has acknowledged to a sender that is not in its group"
    if same and at_sender.acknowledged is not None and at_sender.acknowledged > at_receiver.heard:
        return "a receiver has acknowledged more than it has from a sender of its group"
    return ""


def _went_back(before, after):
    for old, new in zip(before.receivers, after.receivers, strict=True):
        if new.acknowledged < old.acknowledged:
            return f"an acknowledgement went back from {old.acknowledged} to {new.acknowledged}"
    for old, new in zip(before.senders, after.senders, strict=True):
        if new.stable_up_to < old.stable_up_to:
            return f"what is stable went back from {old.stable_up_to} to {new.stable_up_to}"
        for link in old.links:
            now = new._link(link.receiver)
            if (
                now.connection == link.connection
                and now.is_open
                and (now.acknowledged or 0) < (link.acknowledged or 0)
            ):
                return f"an entry of the acknowledgement vector went back from {link.acknowledged}"
    return ""


def _not_live(case, world):
    """Let the channels that are open stay open, and everyone send and acknowledge a few times."""
    sent = [side.last for side in world.senders]
    clock = count(1 + max([*sent, *(side.acknowledged for side in world.receivers)]))
    for _ in range(3):
        for s, r in case.pairs:
            at_sender = world.senders[s]._link(r)
            if at_sender.is_open and not at_sender.carries:
                world = case.sender_does(world, s, "connect", r)
        for r in range(case.receivers):
            world = case.receiver_does(world, r, "acknowledge")
        world = case.all_told(world)
        for s in range(case.senders):
            world = case.sender_does(world, s, "send", next(clock))
        world = case.all_delivered(world)
    for s, side in enumerate(world.senders):
        connected = {r for r in range(case.receivers) if world.receivers[r]._link(s).is_open}
        if set(side.receiver_group) != connected:
            return f"sender {s} counts {side.receiver_group}, and {sorted(connected)} are connected"
        if connected and side.stable_up_to < sent[s]:
            return f"{sent[s]} of sender {s} does not become stable"
    return _broken_promise(world) or _broken_rule(case, world)
