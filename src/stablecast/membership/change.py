"""One attempt of a leader to end a view: who takes part, who has answered, and what comes of the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from stablecast.membership.messages import Flushed, Prepare, Proposal, Sync
from stablecast.membership.view import Address, MemberInfo, View

NAMED = 3
"""How many members a reason names."""


@dataclass(slots=True)
class Change:
    """A proposal of this process, and how far it has come."""

    proposal: Proposal
    old: View
    survivors: tuple[MemberInfo, ...]
    """Members of the old view that are to be in the next one."""
    leavers: tuple[MemberInfo, ...]
    """Members that want to leave: they flush, so that what they have is in the cut, and are then let go."""
    since: float
    """When the present phase began."""
    contact: Address | None = None
    """Where the view dissolves to, if it does."""
    flushed: dict[int, Flushed] = field(default_factory=dict)
    sync: Sync | None = None
    """What the second phase asks for, once it has begun."""
    joiners: tuple[MemberInfo, ...] = ()
    longest_trip: float = 0.0
    """Seconds of the longest round trip to one that joins."""
    synced: set[int] = field(default_factory=set)

    @property
    def participants(self) -> tuple[MemberInfo, ...]:
        """All whose answer the present phase needs."""
        return self.survivors + (self.leavers if self.sync is None else self.joiners)

    @property
    def excluded(self) -> tuple[MemberInfo, ...]:
        """Members of the old view that failed or are left out."""
        return tuple(m for m in self.old.members if m not in self.survivors and m not in self.leavers)

    def awaited(self) -> tuple[MemberInfo, ...]:
        """Return who has not answered in the present phase."""
        answered: Iterable[int] = self.flushed if self.sync is None else self.synced
        return tuple(member for member in self.participants if member.session not in answered)

    def takes(self, sessions: Iterable[int]) -> bool:
        """Tell whether one of these is needed for this attempt."""
        among = set(sessions)
        return any(member.session in among for member in self.survivors + self.leavers)

    def frame_for(self, member: MemberInfo) -> Prepare | Sync:
        """Return what a participant is asked in the present phase."""
        if self.sync is None:
            return Prepare(self.proposal, self.old.id)
        if member in self.joiners:
            return msgspec.structs.replace(self.sync, old=0, cut=(), holders=(), left=())
        return self.sync

    def begin_sync(
        self,
        view: View | None,
        joiners: tuple[MemberInfo, ...],
        now: float,
        *,
        reason: str = "",
        places: tuple[Address, ...] = (),
    ) -> Sync:
        """Go to the second phase, with a cut from all answers; return what it asks for."""
        cut, holders = cut_and_holders(self.old, self.survivors + self.leavers, self.flushed)
        numbers = [(self.flushed[m.session].parts, self.flushed[m.session].messages) for m in self.survivors]
        self.joiners = joiners
        self.sync = Sync(
            proposal=self.proposal,
            old=self.old.id,
            view=view,
            cut=cut,
            holders=holders,
            numbers=() if view is None else (*numbers, *((0, 0) for _ in joiners)),
            contact=self.contact,
            left=tuple(member.session for member in self.leavers),
            reason=reason,
            places=places,
        )
        self.since = now
        return self.sync


def cut_and_holders(
    old: View, reporting: Sequence[MemberInfo], flushed: Mapping[int, Flushed]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return for each member of a view its last part that somebody has, and who has it.

    Holders are taken in this order: the source itself, then ``reporting`` as it is ordered.
    """
    cut, holders = [], []
    for rank, source in enumerate(old.members):
        has = {member.session: flushed[member.session].prefixes[rank] for member in reporting}
        last = max(has.values())
        first = next(session for session in has if has[session] == last)
        cut.append(last)
        holders.append(source.session if has.get(source.session) == last else first)
    return tuple(cut), tuple(holders)


def in_words(members: Sequence[MemberInfo], what: str) -> str:
    """Return what happened to members, naming a few."""
    named = ", ".join(member.label for member in members[:NAMED])
    more = f" and {len(members) - NAMED} more" if len(members) > NAMED else ""
    return f"{named}{more} {what}"
