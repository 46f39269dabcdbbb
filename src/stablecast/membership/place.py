"""Where a process can be: in no view yet, in search of one, in one, on its way out, or done.

Each place holds what is known only there: a search exists only while there is no view; a promise, and a
change that this process leads, only in a view.  The phase follows from the place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, TypeAlias

from stablecast.membership.change import Change
from stablecast.membership.coming import Coming
from stablecast.membership.cuts import Numbers
from stablecast.membership.messages import Flushed, Proposal
from stablecast.membership.view import Address, Patterns, View

MOST_CONTACTS = 64


class Phase(Enum):
    """What a process is doing, as far as it matters for what a frame does."""

    NEW = "new"
    """It was not told yet how to begin."""
    SEEKING = "seeking"
    """It is in no view, and looks for one."""
    MEMBER = "member"
    """It is in a view, and may send."""
    FOLLOWING = "following"
    """It has stopped for a proposal, and does not lead an attempt itself."""
    LEADING = "leading"
    """It has stopped for a proposal of its own, and leads the change."""
    DEPARTING = "departing"
    """It has led the change to a view without itself, and stays until the others have begun that view."""
    DONE = "done"
    """It has left, or could not join: nothing happens any more."""


@dataclass(slots=True)
class Accepted:
    """The SYNC that this process goes by."""

    coming: Coming
    has_cut: bool
    """Whether everything up to its cut is here, so that it may be installed."""


@dataclass(slots=True)
class Promise:
    """A member has stopped for a proposal."""

    proposal: Proposal
    prefixes: tuple[int, ...]
    """What was here of each member of the view, by rank."""
    flushed: Flushed
    """The same as an answer to the proposal."""
    accepted: Accepted | None = None
    """The last SYNC of this view that was accepted; it may be one of an earlier proposal."""
    change: Change | None = None
    """The attempt, while this process leads it."""


@dataclass(slots=True)
class InView:
    """What belongs to one view, and is forgotten with it."""

    view: View
    base: Numbers
    """What it began with."""
    is_new: bool = True
    """Whether this is the step in which it begins: the engine does not know of it yet."""
    began_at: float = 0.0
    probe_at: float = 0.0
    """When other views are looked for next."""
    suspected: frozenset[int] = frozenset()
    """Members that were not heard of for long."""
    gone: set[int] = field(default_factory=set)
    """Members that are certainly not in this view any more."""
    left_out: dict[int, str] = field(default_factory=dict)
    """Members that live and are to go, and why."""
    leavers: set[int] = field(default_factory=set)
    """Members that want to leave."""
    receives: dict[int, Patterns] = field(default_factory=dict)
    """What members want to receive from the next view on, by their sessions."""
    synced: set[int] = field(default_factory=set)
    """Leaders whose view was agreed to here before another proposal was promised."""
    merge_into: Address | None = None
    """Where a better view is."""
    asked_to_unblock: bool = False
    """Whether a member waits for a change that nobody brings to an end."""
    refusals: int = 0
    """How often proposals of this process were refused."""
    retry_at: float = 0.0
    """Before which this process makes no proposal."""
    promise: Promise | None = None
    """What it has stopped for; None while it may send."""
    lacks_since: float | None = None
    """Since when something is missing here that the cuts of next views have; None if nothing is."""

    def is_out(self, session: int) -> bool:
        """Tell whether a member is believed gone or is to go."""
        return session in self.left_out or session in self.suspected or session in self.gone

    def stop_leading(self) -> None:
        """Give up the attempt that this process leads, if any, and what it was for."""
        self.merge_into = None
        if self.promise is not None:
            self.promise.change = None


@dataclass(slots=True)
class Search:
    """A process without a view looks for one."""

    contacts: list[Address]
    since: float
    deadline: float
    is_again: bool
    """Whether it was in a view before, so that it never fails but begins alone."""
    given: tuple[Address, ...]
    """The contacts that it began with."""
    accepted: Accepted | None = None
    """The SYNC that lets it in; there is nothing to fetch."""
    accepted_at: float = 0.0
    is_tried: bool = False
    """Whether a leader is about to let it in."""

    def add(self, contact: Address) -> bool:
        """Take another contact; tell whether it is new."""
        if contact in self.contacts or len(self.contacts) >= MOST_CONTACTS:
            return False
        self.contacts.append(contact)
        return True


Place: TypeAlias = Search | InView | Literal[Phase.NEW, Phase.DEPARTING, Phase.DONE]


def phase_of(place: Place) -> Phase:
    """Return what a process is doing by where it is."""
    match place:
        case Search():
            return Phase.SEEKING
        case InView(promise=None):
            return Phase.MEMBER
        case InView(promise=Promise(change=None)):
            return Phase.FOLLOWING
        case InView():
            return Phase.LEADING
        case _:
            return place
