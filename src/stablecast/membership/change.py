"""One attempt of a leader to end a view: who takes part, who has answered, and what comes of the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from stablecast.membership.messages import Flushed, Prepare, Proposal, Sync
from stablecast.membership.view import Address, MemberInfo, View

REMEMBERED_NAMES = 1000
"""How many names' incarnations a view carries."""

REMEMBERED_BYTES = 16 << 10
"""How many bytes their names have together at most, beside those of members."""

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
    ) -> None:
        """Go to the second phase, with a cut from all answers."""
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


def next_view(
    view_id: int,
    epoch: int,
    change: Change,
    joiners: Sequence[MemberInfo],
    *,
    group: str,
) -> View:
    """Put the next view together: survivors in their order, then joiners with the incarnations they get."""
    incarnations = dict(change.old.incarnations)
    newcomers = []
    for joiner in joiners:
        given = max(joiner.incarnation, incarnations.pop(joiner.name, 0) + 1, 1)
        incarnations[joiner.name] = given
        newcomers.append(msgspec.structs.replace(joiner, incarnation=given))
    members = (*change.survivors, *newcomers)
    keeps = keeps_line(len(change.old.members), len(change.survivors), len(change.leavers))
    return View(
        id=view_id,
        epoch=epoch,
        members=members,
        line=change.old.line if keeps else side_line(group, view_id),
        incarnations=without_oldest(incarnations, {member.name for member in members}),
    )


def keeps_line(before: int, stay: int, left: int) -> bool:
    """Tell whether a view goes on under its name, by how many it had, how many stay and how many left.

    At least half of those who did not leave on their own; of two, either.
    """
    return before == 2 or 2 * stay >= before - left


def side_line(group: str, view_id: int) -> str:
    """Return what a view off the main line is called."""
    return f"{group}~{view_id:016x}"[: len(group) + 9]


def without_oldest(incarnations: dict[str, int], members: set[str]) -> dict[str, int]:
    """Return the incarnations with no more names and bytes than are remembered; members' names stay."""
    kept = dict(incarnations)
    size = sum(len(name.encode()) for name in kept if name not in members)
    for name in [name for name in kept if name not in members]:
        if len(kept) <= REMEMBERED_NAMES and size <= REMEMBERED_BYTES:
            break
        del kept[name]
        size -= len(name.encode())
    return kept


def in_words(members: Sequence[MemberInfo], what: str) -> str:
    """Return what happened to members, naming a few."""
    named = ", ".join(member.label for member in members[:NAMED])
    more = f" and {len(members) - NAMED} more" if len(members) > NAMED else ""
    return f"{named}{more} {what}"
