"""Where one process stands in the agreement on views: its view, its promises, whom it believes gone."""

from __future__ import annotations

from typing import NamedTuple

from stablecast.membership.actions import Action, Numbers, Randomness, Send, Timing
from stablecast.membership.messages import (
    Elsewhere,
    Flushed,
    Install,
    MembershipFrame,
    Proposal,
    Sync,
)
from stablecast.membership.view import Address, MemberInfo, View

NOTHING: Proposal = (0, 0)
"""Smaller than every proposal."""

REMEMBERED_VIEWS = 16
"""How many views that are over are remembered, for those who still ask."""


class Peer(NamedTuple):
    """Who sent a frame."""

    session: int
    address: Address


class Standing:
    """The state that following and leading share, and how frames go out."""

    def __init__(
        self,
        me: MemberInfo,
        *,
        group: str,
        protocol: str,
        rng: Randomness,
        numbers: Numbers,
        timing: Timing | None = None,
    ) -> None:
        self.me = me
        self.group = group
        self.protocol = protocol
        self.timing = timing or Timing()
        self.view: View | None = None
        self._rng = rng
        self._numbers = numbers
        self._out: list[Action] = []
        self._top = 0  # the largest epoch that was used here or asked of this process; never falls
        self._last_epoch = 0  # of the last view that was installed here
        self._installed_by = NOTHING
        self._ended: dict[int, Proposal] = {}  # which proposal ended an earlier view here
        self._suspected: frozenset[int] = frozenset()
        self._gone: set[int] = set()  # members that are certainly not in this view any more
        self._fresh: tuple[tuple[int, int], ...] | None = None  # numbers of a view that this step has begun
        self._promised = NOTHING
        self._flushed: Flushed | None = None  # the answer to what is promised
        self._pending: Sync | None = None  # the last SYNC that was accepted
        self._has_cut = False
        self._stopped = False
        self._news = 0.0  # when the leader of what is promised last said something about it

    @property
    def leads(self) -> bool:
        """Whether this process is the first of its view that it does not believe gone."""
        leader = self._leader()
        return leader is not None and leader.session == self.me.session

    @property
    def is_blocked(self) -> bool:
        """Whether nothing may be sent: the view is about to end."""
        return self._stopped

    def _leader(self) -> MemberInfo | None:
        if self.view is None:
            return None
        for member in self.view.members:
            if member.session == self.me.session or not self._is_out(member.session):
                return member
        return None

    def _is_out(self, session: int) -> bool:
        return session in self._suspected or session in self._gone

    def _send(self, frame: MembershipFrame, to: MemberInfo | Peer) -> None:
        self._out.append(Send(frame, to.address, to.session))

    def _send_to_address(self, frame: MembershipFrame, address: Address) -> None:
        if address != self.me.address:
            self._out.append(Send(frame, address, 0))

    def _say_elsewhere(self, proposal: Proposal, meant: int, to: Peer) -> None:
        """Tell who works on a view that is over here: how it ended, and where this process is now."""
        if meant in self._ended:
            self._send(Install(self._ended[meant]), to)
        self._send(Elsewhere(proposal, self.view), to)

    def _remember_end(self, view: View, proposal: Proposal) -> None:
        self._ended[view.id] = proposal
        while len(self._ended) > REMEMBERED_VIEWS:
            del self._ended[next(iter(self._ended))]

    def _new_view_id(self) -> int:
        return self._rng.getrandbits(64) or 1
