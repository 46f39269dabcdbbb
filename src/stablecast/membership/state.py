"""What one process knows about views, as data; the functions beside this file change it.

Where it is
    ``State.place`` says it, and holds what is known only there, see ``place``.  Only ``moves`` sets it.
What outlives a view
    The epochs that were used (``Past``), who has asked to be let in (``Lobby``), where lost members were
    (``Outlook``), an INSTALL that is still repeated (``Announcement``), and the wishes to leave and to
    receive from others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from stablecast.membership.actions import Action, Numbers, Randomness, Send, Timing
from stablecast.membership.change import Change
from stablecast.membership.lobby import Lobby
from stablecast.membership.messages import MembershipFrame, Proposal
from stablecast.membership.outlook import Outlook
from stablecast.membership.place import Accepted, InView, Phase, Place, Search, phase_of
from stablecast.membership.view import Address, MemberInfo, Patterns, View
from stablecast.membership.waves import Relay

NOTHING: Proposal = (0, 0)
"""Smaller than every proposal."""

REMEMBERED_VIEWS = 16
"""How many views that are over are remembered, for those who still ask."""


class Peer(NamedTuple):
    """Who sent a frame."""

    session: int
    address: Address


@dataclass(slots=True)
class Announcement:
    """An INSTALL that not all have confirmed."""

    proposal: Proposal
    roll: tuple[MemberInfo, ...]
    """Whom it is for: the members of the next view, or of the one that dissolves."""
    waiting: int
    """Who has not confirmed it: a set of ranks in the roll."""
    since: float
    """When it was sent first."""
    until: float
    turn: int = 0
    """How often it was repeated."""


@dataclass(slots=True)
class Past:
    """Epochs and views that are over."""

    top: int = 0
    """The largest epoch that was used here or asked of this process; never falls."""
    last_epoch: int = 0
    """Of the last view that was installed here."""
    installed_by: Proposal = NOTHING
    """What the last view was installed, or ended, by."""
    roll: tuple[MemberInfo, ...] = ()
    """Whom INSTALL of that was for, by rank."""
    ended: dict[int, Proposal] = field(default_factory=dict)
    """Which proposal ended an earlier view here."""

    def remember_end(self, view: View, proposal: Proposal) -> None:
        """Note how a view ended."""
        self.ended[view.id] = proposal
        while len(self.ended) > REMEMBERED_VIEWS:
            del self.ended[next(iter(self.ended))]

    def knows(self, proposal: Proposal) -> bool:
        """Tell whether a proposal was installed here."""
        return proposal == self.installed_by or proposal in self.ended.values()


@dataclass(slots=True)
class Timers:
    """When something is to be done; None for never."""

    ticks: int = 0
    tick_at: float | None = None
    """When what is not answered is repeated."""
    gather_at: float | None = None
    """When those who wait to be let in have waited for others to come along."""


@dataclass(slots=True)
class State:
    """Everything that one process knows, and what it wants to be done."""

    me: MemberInfo
    group: str
    protocol: str
    timing: Timing
    rng: Randomness
    numbers: Numbers
    lobby: Lobby
    mark_id: Callable[[int], int] | None = None
    """Puts into a drawn id of a view what all who are in it are to know."""
    outlook: Outlook = field(default_factory=Outlook)
    place: Place = Phase.NEW
    past: Past = field(default_factory=Past)
    timers: Timers = field(default_factory=Timers)
    seeds: tuple[Address, ...] = ()
    """The contacts that this process was given."""
    announcement: Announcement | None = None
    relay: Relay | None = None
    """What was passed on last, and is not answered yet."""
    leave_by: float | None = None
    """When this process, which wants to leave, does so without an answer."""
    receives: Patterns | None = None
    """What this process wants to receive, if it has said so since it began."""
    distrust_until: float = 0.0
    """Until when no better view is looked at, since one has refused this process."""
    news_at: float = 0.0
    """When another member last said something about a proposal that this process has promised."""
    out: list[Action] = field(default_factory=list)
    """What is to be done, in this order."""

    @property
    def phase(self) -> Phase:
        """What this process is doing."""
        return phase_of(self.place)

    @property
    def in_view(self) -> InView | None:
        """What belongs to the present view, None if there is none."""
        return self.place if isinstance(self.place, InView) else None

    @property
    def here(self) -> InView:
        """What belongs to the present view, for functions that run only in one."""
        if not isinstance(self.place, InView):
            raise RuntimeError(f"not in a view, but {self.phase.value}")
        return self.place

    @property
    def search(self) -> Search | None:
        """The search for a view, None if there is none."""
        return self.place if isinstance(self.place, Search) else None

    @property
    def seeking(self) -> Search:
        """The search for a view, for functions that run only during one."""
        if not isinstance(self.place, Search):
            raise RuntimeError(f"not in search of a view, but {self.phase.value}")
        return self.place

    @property
    def view(self) -> View | None:
        """The present view, None if there is none."""
        return self.place.view if isinstance(self.place, InView) else None

    @property
    def view_id(self) -> int:
        """The id of the present view, 0 if there is none."""
        return self.place.view.id if isinstance(self.place, InView) else 0

    @property
    def is_stopped(self) -> bool:
        """Whether it is in a view that is about to end."""
        return isinstance(self.place, InView) and self.place.promise is not None

    @property
    def change(self) -> Change | None:
        """The attempt that this process leads, None if it leads none."""
        here = self.in_view
        return None if here is None or here.promise is None else here.promise.change

    @property
    def accepted(self) -> Accepted | None:
        """The last SYNC that this process has accepted, None if there is none."""
        if isinstance(self.place, InView):
            return None if self.place.promise is None else self.place.promise.accepted
        return self.place.accepted if isinstance(self.place, Search) else None

    @property
    def promised(self) -> Proposal:
        """The largest proposal that this process follows."""
        here = self.in_view
        return self.past.installed_by if here is None or here.promise is None else here.promise.proposal

    @property
    def is_to_receive_others(self) -> bool:
        """Whether this process wants to receive from others than its view says, or than it asks to be in."""
        return self.receives is not None and self.receives != self.me.receives

    @property
    def leader(self) -> MemberInfo:
        """The first of the view that is not believed gone: this process, if it is nobody before it."""
        here, me = self.here, self.me.session
        return next(m for m in here.view.members if m.session == me or not here.is_out(m.session))

    @property
    def leads(self) -> bool:
        """Whether this process is the first of its view that it does not believe gone."""
        return self.in_view is not None and self.leader.session == self.me.session

    def new_view_id(self) -> int:
        """Return a number for a view."""
        drawn = self.rng.getrandbits(64) or 1
        return drawn if self.mark_id is None else self.mark_id(drawn)

    def send(self, frame: MembershipFrame, to: MemberInfo | Peer) -> None:
        """Have a frame sent to a process."""
        self.out.append(Send(frame, to.address, to.session))

    def send_to_address(self, frame: MembershipFrame, address: Address) -> None:
        """Have a frame sent to whoever is at an address that is not this one."""
        if address != self.me.address:
            self.out.append(Send(frame, address, 0))
