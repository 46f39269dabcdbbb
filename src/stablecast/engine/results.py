"""What the application gets: deliveries, outcomes, events and explanations; all of them frozen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import msgspec


class MessageId(NamedTuple):
    """Names a message: who sent it, and which one of its messages it is, from 1."""

    source: str
    seq: int


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """A message that has come, in its source's order and once."""

    source: str
    """The label of the member that sent it."""
    seq: int
    """Its number among this source's messages, from 1."""
    payload: bytes
    me: str
    """The label of the member that it was delivered to: where it changes, this process came back as a new
    member, and may have missed messages in between."""

    @property
    def id(self) -> MessageId:
        """Name it."""
        return MessageId(self.source, self.seq)


@dataclass(frozen=True, slots=True)
class Stable:
    """Every member of the view that the message was sent in has it."""

    id: MessageId
    members: tuple[str, ...]
    """Who has it."""
    seconds: float
    """From its sending until this member knew."""


@dataclass(frozen=True, slots=True)
class StableInSmallerView:
    """Every member that is left has it; some that were there when it was sent are gone, and may lack it."""

    id: MessageId
    members: tuple[str, ...]
    """Who has it."""
    gone: tuple[str, ...]
    """Who was there when it was sent, and is no more."""
    seconds: float


@dataclass(frozen=True, slots=True)
class ProbablyStable:
    """The message has had its rounds of gossip, in bimodal delivery: every member has it, most probably.

    Nobody keeps it any more, so who lacks it has given it up.
    """

    id: MessageId
    members: tuple[str, ...]
    """Who should have it."""
    gone: tuple[str, ...]
    """Who was there when it was sent, and is no more."""
    p_fail: float
    """How probably one of the members lacks it, while others have it."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Laggard:
    """A member that a message waits for."""

    member: str
    has_up_to: int
    """The last message of this source that it is known to have; it may have more by now."""
    since: float
    """Seconds that it has kept the message waiting."""
    last_heard: float
    """Seconds since something was heard of it."""


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The time is over, and the message is not known to be where it should; it goes on its way."""

    id: MessageId
    laggards: tuple[Laggard, ...]
    """Who is not known to have it; nobody if a level was asked for that a stable message can never reach."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Reached:
    """A stability level below "everyone" is reached."""

    id: MessageId
    members: tuple[str, ...]
    """Who is known to have it."""
    seconds: float


Settlement: TypeAlias = Stable | StableInSmallerView | ProbablyStable
"""What can become of a message in the end."""
Outcome: TypeAlias = Settlement | TimedOut


@dataclass(frozen=True, slots=True)
class Explanation:
    """What keeps a message from being stable, as this member knows it."""

    id: MessageId
    state: str
    """``stable``, ``waiting``, ``sending`` (not yet on the network) or ``unknown``; in bimodal delivery
    ``probably stable`` for what has had its rounds of gossip, and ``gossiping`` before."""
    laggards: tuple[Laggard, ...]

    def __str__(self) -> str:
        if not self.laggards:
            return f"{self.id.source}/{self.id.seq}: {self.state}"
        who = "; ".join(
            f"{lag.member} has up to {lag.has_up_to}, waiting for {lag.since:.3g} s, "
            f"last heard of {lag.last_heard:.3g} s ago"
            for lag in self.laggards
        )
        return f"{self.id.source}/{self.id.seq}: {self.state} for {who}"


@dataclass(frozen=True, slots=True)
class ViewChanged:
    """The group has agreed on another list of members."""

    members: tuple[str, ...]
    joined: tuple[str, ...]
    left: tuple[str, ...]
    failed: tuple[str, ...]
    reason: str
    me: str
    """One's own label in this view: a process that comes back is a new member."""
    main: bool
    """Whether this is the group's main line, and not a part that was cut off."""


@dataclass(frozen=True, slots=True)
class MemberLagging:
    """A member holds messages back; nothing is done about it yet."""

    member: str
    seconds: float


@dataclass(frozen=True, slots=True)
class MemberRecovered:
    """A member that was lagging has caught up."""

    member: str


@dataclass(frozen=True, slots=True)
class MemberExcluded:
    """A slow member is left out of the next view; it may come back at once as a new incarnation."""

    member: str
    seconds: float


@dataclass(frozen=True, slots=True)
class MemberEvicted:
    """A member that was slow again and again may not come back for a while."""

    member: str
    seconds: float
    """How long it may not."""


@dataclass(frozen=True, slots=True)
class MemberFailed:
    """A member was not heard of for too long, or did not answer, and is out of the view."""

    member: str


@dataclass(frozen=True, slots=True)
class StabilityStalled:
    """The stability protocol concludes nothing; told again when other links are found to be in the way.

    What all members have is found out by their signs of life meanwhile, which takes longer.
    """

    seconds: float
    """Age of the oldest message that is not stable."""
    links: tuple[tuple[str, str], ...]
    """Sender and receiver of each link that carries nothing in this direction, as its receiver says."""
    members: tuple[str, ...]
    """Who has not said to have that message, of those who can be heard."""


@dataclass(frozen=True, slots=True)
class StabilityResumed:
    """Messages become stable in their usual time again, or another view has begun."""

    seconds: float
    """How long they did not."""


@dataclass(frozen=True, slots=True)
class Released:
    """Copies of a source's messages were let go, up to a number."""

    source: str
    seq: int


@dataclass(frozen=True, slots=True)
class MessagesLost:
    """Messages that others may have were given up here, in bimodal delivery: the next ones are delivered."""

    source: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Settled:
    """The view of this member has ended: it was cut off, and comes back as a new incarnation."""

    reason: str


@dataclass(frozen=True, slots=True)
class ProtocolChosen:
    """A group with protocol ``auto`` runs this one from the view on that has begun."""

    protocol: str
    step_s: float
    """The time between two of its steps."""
    before: str
    """What ran before; empty in the first view."""


@dataclass(frozen=True, slots=True)
class QueueFull:
    """The application does not read: no more messages of others are taken in until half of these are read."""

    waiting: int
    """Deliveries that wait."""


@dataclass(frozen=True, slots=True)
class DeliveriesGivenUp:
    """Nobody had asked for deliveries when too many waited: they are given up, and no more are kept."""

    count: int
    """How many had waited."""


@dataclass(frozen=True, slots=True)
class TraceFailed:
    """The trace could not be written to its end, as on a full disk; the group goes on without it."""

    reason: str


@dataclass(frozen=True, slots=True)
class HistoryGone:
    """What a newcomer asked for of before it joined is no longer kept by anyone it asked."""

    source: str
    first: int
    """The first that was not found."""
    last: int
    kept_from: int = 0
    """The first of this source that the last one asked keeps; 0 for none."""


Event: TypeAlias = (
    ViewChanged
    | MemberLagging
    | MemberRecovered
    | MemberExcluded
    | MemberEvicted
    | MemberFailed
    | StabilityStalled
    | StabilityResumed
    | Released
    | MessagesLost
    | Settled
    | ProtocolChosen
    | QueueFull
    | DeliveriesGivenUp
    | TraceFailed
    | HistoryGone
)
