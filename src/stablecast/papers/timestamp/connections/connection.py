"""Connections between a sender and a receiver, on which timestamp acknowledgements are safe.

    receiver, events = ReceiverSide().connect(7)
    sender, events = SenderSide().receive(OpenAcknowledgements(peer=2, connection=1))

A node that is both has one of each.  Both are values: a step returns the side as it is afterwards and what it
sends and tells, in that order.  Neither has a clock; a timestamp to send is an argument.

Promise
    A sender calls a message stable only when every receiver that was in its receiver group when it sent the
    message, and has been since, has delivered it.
How
    One number acknowledges all senders, so a sender has to be counted before its messages matter.  A receiver
    opens the acknowledgement channel (``connect``).  Its first acknowledgement on it puts the sender into
    its sender group, with that acknowledgement as the sender's entry in the timestamp vector: from then on
    it acknowledges no more than it has from this sender.  The sender opens the message channel (``connect``),
    and counts the receiver from its first message above an acknowledgement that it got.  Either side may
    close (``disconnect``); who hears of it forgets the other.

What the rules leave open is decided so:

- **A reconnection is a new connection.**  The receiver numbers its connections to a sender; a number is never
  used again, not even after a crash.  Everything carries the number, and what belongs to another connection
  is ignored.  An acknowledgement left over from before would let the sender count the receiver from a
  timestamp that it has meanwhile acknowledged on behalf of others, and now ignores.  The opening of a later
  connection tells that the one before is closed.
- **The sender's channel belongs to the receiver's.**  A message channel is opened for the acknowledgement
  channel at hand, and closing one closes both.  With channels that are numbered apart, each side could close
  the other's new channel because of its own old one, for ever.
- **Messages that come before the first acknowledgement are ignored**, as are those that are not above the
  entry: the sender does not count this receiver for them.
- **A sender whose clock is behind** an acknowledgement has to send something above it: a logical clock jumps
  to ``least_timestamp``, a physical clock waits until it has passed.  Until then the receiver is not counted,
  and its acknowledgements, to all senders, stand still (``held_back_by``).  So they do when the sender
  never opens its channel or falls silent; that it will send is assumed, and after a while of silence the
  receiver has to disconnect.
- **Acknowledgements do not go back.**  A new sender enters with the acknowledgement as it is, so the smallest
  entry stays; one that leaves can only raise it.  Without senders a receiver repeats its last
  acknowledgement, at first 0: any number would be true, and a low one lets the next sender in soonest.
- **A sender with an empty receiver group calls nothing further stable.**  Its messages are for nobody, so
  both answers are safe.  But such a sender is mostly not yet connected, or cut off from everyone, and it
  should not tell the layer above that all is delivered.  It goes on when a receiver is counted.
- **What was called stable stays so** when a receiver with a lower acknowledgement joins: it is counted only
  for what is sent from then on.  One that comes back is a new one, with a gap that nobody fills.
- **A node's own messages** count as delivered to itself: it is in neither of its own groups.

With ``rules=False`` the groups are what each side sees for itself: a receiver counts the senders that it has
heard, and a sender the receivers that it has opened a channel to.  That is unsafe, which tests show with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from stablecast.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class OpenAcknowledgements:
    """A receiver opens its acknowledgement channel to a sender."""

    peer: int
    """In what a side sends, the node that it is for; in what it receives, the node that it is from."""
    connection: int
    """The receiver's number of this connection to this sender, from 1."""


@dataclass(frozen=True, slots=True)
class OpenMessages:
    """A sender opens its message channel to a receiver, which needs not be told: the first data says it."""

    peer: int
    connection: int


@dataclass(frozen=True, slots=True)
class Close:
    """Both channels of a connection are closed; the other side hears of it sooner or later."""

    peer: int
    connection: int


@dataclass(frozen=True, slots=True)
class Data:
    """A message; on one connection all arrive in order while it is open."""

    peer: int
    connection: int
    timestamp: int


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """All messages up to a timestamp, of all senders of a group; may be lost, late or doubled."""

    peer: int
    connection: int
    timestamp: int


@dataclass(frozen=True, slots=True)
class Added:
    """Tells that a node is now in the sender or receiver group of this side."""

    peer: int


@dataclass(frozen=True, slots=True)
class Removed:
    """Tells that a node is no longer in the group of this side."""

    peer: int


@dataclass(frozen=True, slots=True)
class Delivered:
    """Tells that a message was new and belongs to the layer above."""

    peer: int
    timestamp: int


@dataclass(frozen=True, slots=True)
class Stable:
    """Tells that a sender's messages up to a timestamp are stable now and have left its buffer."""

    up_to: int


Event: TypeAlias = (
    OpenAcknowledgements
    | OpenMessages
    | Close
    | Data
    | Acknowledgement
    | Added
    | Removed
    | Delivered
    | Stable
)


class SenderLink(NamedTuple):
    """What a receiver knows of a sender."""

    sender: int
    connection: int = 0
    is_open: bool = False
    heard: int | None = None
    """The sender's entry in the timestamp vector; None while it is not in the sender group."""


class ReceiverLink(NamedTuple):
    """What a sender knows of a receiver."""

    receiver: int
    connection: int = 0
    is_open: bool = False
    """Whether the receiver has opened the connection and nobody is known to have closed it."""
    carries: bool = False
    """Whether the message channel is open too."""
    acknowledged: int | None = None
    """The receiver's entry in the acknowledgement vector; None before anything came."""
    is_member: bool = False


@dataclass(frozen=True)
class ReceiverSide:
    """A node as a receiver: its sender group and local timestamp vector."""

    rules: bool = True
    acknowledged: int = 0
    """The last acknowledgement that was sent."""
    links: tuple[SenderLink, ...] = ()
    """One for each sender that was ever connected to, by number."""

    @property
    def sender_group(self) -> tuple[int, ...]:
        """The senders whose messages it acknowledges."""
        return tuple(link.sender for link in self.links if link.heard is not None)

    @property
    def timestamp_vector(self) -> dict[int, int]:
        """For each sender of the group its last timestamp, or the acknowledgement that it began with."""
        return {link.sender: link.heard for link in self.links if link.heard is not None}

    @property
    def acknowledgement(self) -> int:
        """What it would acknowledge now."""
        return min(self.timestamp_vector.values(), default=self.acknowledged)

    @property
    def held_back_by(self) -> tuple[int, ...]:
        """The senders of the group that the acknowledgement waits for: those with the smallest entry."""
        least = self.acknowledgement
        return tuple(sender for sender, heard in self.timestamp_vector.items() if heard == least)

    def link(self, sender: int) -> SenderLink:
        """Return what is known of a sender."""
        for link in self.links:
            if link.sender == sender:
                return link
        return SenderLink(sender)

    def connect(self, sender: int) -> tuple[ReceiverSide, tuple[Event, ...]]:
        """Open an acknowledgement channel to a sender (first step of a connection)."""
        link = self.link(sender)
        if link.is_open:
            raise InvalidInput(f"sender {sender} is connected already; disconnect it first")
        link = SenderLink(sender, link.connection + 1, is_open=True)
        return self._with(link), (OpenAcknowledgements(sender, link.connection),)

    def acknowledge(self) -> tuple[ReceiverSide, tuple[Event, ...]]:
        """Acknowledge on every open channel; the first time on a channel adds its sender (second step)."""
        value = self.acknowledgement
        events: list[Event] = []
        links = []
        for link in self.links:
            if link.is_open and link.heard is None and self.rules:
                link = link._replace(heard=value)
                events.append(Added(link.sender))
            if link.is_open:
                events.append(Acknowledgement(link.sender, link.connection, value))
            links.append(link)
        return replace(self, acknowledged=value, links=tuple(links)), tuple(events)

    def disconnect(self, sender: int) -> tuple[ReceiverSide, tuple[Event, ...]]:
        """Close both channels of a connection."""
        link = self.link(sender)
        if not link.is_open:
            raise InvalidInput(f"sender {sender} is not connected, so there is nothing to close")
        side, events = self._forget(link)
        return side, (*events, Close(sender, link.connection))

    def receive(self, message: Data | Close) -> tuple[ReceiverSide, tuple[Event, ...]]:
        """Take in what a sender sent."""
        link = self.link(message.peer)
        if not link.is_open or message.connection != link.connection:
            return self, ()
        if isinstance(message, Close):
            return self._forget(link)
        return self._take(link, message.timestamp)

    def _take(self, link: SenderLink, timestamp: int) -> tuple[ReceiverSide, tuple[Event, ...]]:
        """Deliver a message of a sender that is in the group, if it is above the sender's entry."""
        if link.heard is None and self.rules:
            return self, ()
        if link.heard is not None and timestamp <= link.heard:
            return self, ()
        added = (Added(link.sender),) if link.heard is None else ()
        return self._with(link._replace(heard=timestamp)), (*added, Delivered(link.sender, timestamp))

    def _forget(self, link: SenderLink) -> tuple[ReceiverSide, tuple[Event, ...]]:
        """Take a connection for closed; its number stays known."""
        removed = (Removed(link.sender),) if link.heard is not None else ()
        return self._with(link._replace(is_open=False, heard=None)), removed

    def _with(self, link: SenderLink) -> ReceiverSide:
        others = [other for other in self.links if other.sender != link.sender]
        return replace(self, links=tuple(sorted([*others, link], key=_number)))


@dataclass(frozen=True)
class SenderSide:
    """A node as a sender: its receiver group, local acknowledgement vector and buffer."""

    rules: bool = True
    last: int = 0
    """The timestamp of the last message sent."""
    stable_up_to: int = 0
    """Its messages with timestamps up to this are stable."""
    buffered: tuple[int, ...] = ()
    """The timestamps of the messages that it still has to keep."""
    links: tuple[ReceiverLink, ...] = ()
    """One for each receiver that was ever heard of, by number."""

    @property
    def receiver_group(self) -> tuple[int, ...]:
        """The receivers that have to acknowledge a message before it is stable."""
        return tuple(link.receiver for link in self.links if link.is_member)

    @property
    def acknowledgement_vector(self) -> dict[int, int]:
        """For each receiver of the group the largest acknowledgement from it."""
        return {link.receiver: link.acknowledged or 0 for link in self.links if link.is_member}

    @property
    def least_timestamp(self) -> int:
        """The smallest timestamp above its last and above all acknowledgements of open connections.

        A message with this timestamp, or a larger one, adds all receivers that it has heard and has a
        message channel to.
        """
        return 1 + max([self.last, *(link.acknowledged or 0 for link in self.links)])

    def link(self, receiver: int) -> ReceiverLink:
        """Return what is known of a receiver."""
        for link in self.links:
            if link.receiver == receiver:
                return link
        return ReceiverLink(receiver)

    def connect(self, receiver: int) -> tuple[SenderSide, tuple[Event, ...]]:
        """Open the message channel of a connection that a receiver has opened (third step)."""
        link = self.link(receiver)
        if not link.is_open or link.carries:
            raise InvalidInput(f"receiver {receiver} has no open connection that waits for a message channel")
        link = link._replace(carries=True, is_member=not self.rules)
        added = (Added(receiver),) if link.is_member else ()
        side, events = self._settled(link)
        return side, (OpenMessages(receiver, link.connection), *added, *events)

    def send(self, timestamp: int) -> tuple[SenderSide, tuple[Event, ...]]:
        """Send a message on all message channels and keep it; it may add receivers (fourth step)."""
        if timestamp <= self.last:
            raise InvalidInput(f"timestamp {timestamp} is not above {self.last}, the last that was sent")
        events: list[Event] = []
        links = []
        for link in self.links:
            if link.carries and not link.is_member and _is_above(timestamp, link.acknowledged):
                link = link._replace(is_member=True)
                events.append(Added(link.receiver))
            if link.carries:
                events.append(Data(link.receiver, link.connection, timestamp))
            links.append(link)
        buffered = (*self.buffered, timestamp)
        side, further = replace(self, last=timestamp, buffered=buffered, links=tuple(links))._settled()
        return side, (*events, *further)

    def disconnect(self, receiver: int) -> tuple[SenderSide, tuple[Event, ...]]:
        """Close both channels of a connection."""
        link = self.link(receiver)
        if not link.is_open:
            raise InvalidInput(f"receiver {receiver} is not connected, so there is nothing to close")
        side, events = self._forget(ReceiverLink(receiver, link.connection))
        return side, (Close(receiver, link.connection), *events)

    def receive(
        self, message: OpenAcknowledgements | Acknowledgement | Close
    ) -> tuple[SenderSide, tuple[Event, ...]]:
        """Take in what a receiver sent."""
        link = self.link(message.peer)
        if isinstance(message, OpenAcknowledgements):
            if message.connection <= link.connection:
                return self, ()
            return self._forget(ReceiverLink(message.peer, message.connection, is_open=True))
        if isinstance(message, Close):
            if message.connection < link.connection:
                return self, ()
            return self._forget(ReceiverLink(message.peer, message.connection))
        if not link.is_open or message.connection != link.connection:
            return self, ()
        return self._settled(link._replace(acknowledged=max(link.acknowledged or 0, message.timestamp)))

    def _forget(self, link: ReceiverLink) -> tuple[SenderSide, tuple[Event, ...]]:
        """Replace what is known of a receiver by a link that is closed or new."""
        removed = (Removed(link.receiver),) if self.link(link.receiver).is_member else ()
        side, events = self._settled(link)
        return side, (*removed, *events)

    def _settled(self, link: ReceiverLink | None = None) -> tuple[SenderSide, tuple[Event, ...]]:
        """Take over a link and see what is stable now."""
        side = self if link is None else self._with(link)
        up_to = min(side.acknowledgement_vector.values(), default=0)
        if up_to <= side.stable_up_to:
            return side, ()
        buffered = tuple(timestamp for timestamp in side.buffered if timestamp > up_to)
        return replace(side, stable_up_to=up_to, buffered=buffered), (Stable(up_to),)

    def _with(self, link: ReceiverLink) -> SenderSide:
        others = [other for other in self.links if other.receiver != link.receiver]
        return replace(self, links=tuple(sorted([*others, link], key=_number)))


def _is_above(timestamp: int, acknowledged: int | None) -> bool:
    """Tell whether a message is one from which a receiver with this acknowledgement can be counted."""
    return acknowledged is not None and timestamp > acknowledged


def _number(link: SenderLink | ReceiverLink) -> int:
    return link[0]
