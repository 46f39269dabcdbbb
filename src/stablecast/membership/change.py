"""One attempt of a leader to end a view: who takes part, who has answered, and what comes of the answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from stablecast.membership.coming import Coming
from stablecast.membership.cuts import merged
from stablecast.membership.messages import Flushed, Proposal, Sync
from stablecast.membership.rank_sets import NOBODY, ranks_in, set_of, unpacked
from stablecast.membership.view import Address, MemberInfo, View

NAMED = 3
"""How many members a reason names."""


@dataclass(slots=True)
class Change:
    """A proposal of this process, and how far it has come; sets are of ranks in the old view."""

    proposal: Proposal
    old: View
    survivors: int
    """Members of the old view that are to be in the next one."""
    leavers: int
    """Members that want to leave: they flush, so that what they have is in the cut, and are then let go."""
    since: float
    """When the present phase began."""
    contact: Address | None = None
    """Where the view dissolves to, if it does."""
    report: Flushed | None = None
    """What those have who have answered in the first phase."""
    sync: Sync | None = None
    """What the second phase asks for, once it has begun; on the way of its first repetition."""
    coming: Coming | None = None
    """The same for this process."""
    joiners: tuple[MemberInfo, ...] = ()
    longest_trip: float = 0.0
    """Seconds of the longest round trip to one that joins."""
    synced: int = NOBODY
    """Who has answered in the second phase."""
    joined: set[int] = field(default_factory=set)
    """Sessions of those who join and have answered."""
    turn: int = 0
    """How often the present phase was repeated."""

    @property
    def participants(self) -> int:
        """Members whose answer the present phase needs."""
        return self.survivors if self.sync is not None else self.survivors | self.leavers

    @property
    def excluded(self) -> int:
        """Members of the old view that failed or are left out."""
        return (1 << len(self.old.members)) - 1 & ~(self.survivors | self.leavers)

    @property
    def awaited(self) -> int:
        """Members that have not answered in the present phase."""
        if self.sync is not None:
            return self.survivors & ~self.synced
        return self.participants & ~(NOBODY if self.report is None else unpacked(self.report.members))

    @property
    def awaited_joiners(self) -> list[MemberInfo]:
        """Those who join and have not answered."""
        return [joiner for joiner in self.joiners if joiner.session not in self.joined]

    @property
    def is_answered(self) -> bool:
        """Whether all have answered in the present phase."""
        return not self.awaited and len(self.joined) == len(self.joiners)

    def members(self, ranks: int) -> list[MemberInfo]:
        """Return the members of the old view in a set."""
        return [self.old.members[rank] for rank in ranks_in(ranks)]

    def takes(self, sessions: Iterable[int]) -> bool:
        """Tell whether one of these is needed for this attempt."""
        ranks = self.old.ranks
        return bool(set_of(ranks[s] for s in sessions if s in ranks) & (self.survivors | self.leavers))

    def take_report(self, report: Flushed) -> None:
        """Add what some have answered in the first phase."""
        self.report = report if self.report is None else merged(self.report, report)

    def begin_sync(self, sync: Sync, coming: Coming, joiners: tuple[MemberInfo, ...], now: float) -> None:
        """Go to the second phase."""
        self.sync, self.coming, self.joiners = sync, coming, joiners
        self.since, self.turn = now, 0


def in_words(members: Sequence[MemberInfo], what: str) -> str:
    """Return what happened to members, naming a few."""
    named = ", ".join(member.label for member in members[:NAMED])
    more = f" and {len(members) - NAMED} more" if len(members) > NAMED else ""
    return f"{named}{more} {what}"
