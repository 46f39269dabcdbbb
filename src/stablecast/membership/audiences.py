"""Who receives whom in a view, by rank.

Every member says at joining whether it sends and whose messages it receives, and every view names its
members, so all members of a view come to the same audiences.  A source's *audience* are the other members
that receive it; the source itself has its messages in any case.  A view is *whole* if every member receives
from every other one that sends.

Members of a large group want the same few things, so names are compared with patterns once for all members
that have the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from stablecast.membership.view import FROM_ALL, MemberInfo, Patterns


class Audiences:
    """The audiences of one view.

    Parameters
    ----------
    members
        The members by rank.
    """

    def __init__(self, members: Sequence[MemberInfo]) -> None:
        self.size = len(members)
        self.senders = sum(member.sends for member in members)
        """How many members send."""
        self._members = members
        self._everyone = range(self.size)

    @cached_property
    def is_whole(self) -> bool:
        """Whether everyone receives from everyone else who sends."""
        if all(member.receives == FROM_ALL for member in self._members):
            return True
        everyone_who_sends = {rank for rank, member in enumerate(self._members) if member.sends}
        missing = {wanted: everyone_who_sends.difference(ranks) for wanted, ranks in self._wanted.items()}
        return all(missing[member.receives] <= {rank} for rank, member in enumerate(self._members))

    @cached_property
    def _wanted(self) -> dict[Patterns, tuple[int, ...]]:
        """Return the ranks of the senders that match the patterns of some member."""
        first = {member.receives: member for member in self._members}
        return {
            wanted: tuple(rank for rank, source in enumerate(self._members) if one.receives_from(source))
            for wanted, one in first.items()
        }

    @cached_property
    def _audiences(self) -> tuple[tuple[int, ...], ...]:
        audiences: list[list[int]] = [[] for _ in self._members]
        for rank, member in enumerate(self._members):
            for source in self._wanted[member.receives]:
                if source != rank:
                    audiences[source].append(rank)
        return tuple(map(tuple, audiences))

    @cached_property
    def _sets(self) -> tuple[frozenset[int], ...]:
        return tuple(map(frozenset, self._audiences))

    def of(self, source: int) -> tuple[int, ...]:
        """Return the ranks of a source's audience, in their order."""
        if self.is_whole:
            return tuple(rank for rank in self._everyone if rank != source)
        return self._audiences[source]

    def with_source(self, source: int) -> Sequence[int]:
        """Return the ranks of a source's audience and its own, in their order."""
        return self._everyone if self.is_whole else sorted((*self._audiences[source], source))

    def size_with_source(self, source: int) -> int:
        """Return how many these are."""
        return self.size if self.is_whole else len(self._audiences[source]) + 1

    def hears(self, rank: int, source: int) -> bool:
        """Tell whether a member is to have a source's messages: it receives them, or it is the source."""
        return self.is_whole or rank == source or rank in self._sets[source]

    def unheard_by(self, rank: int) -> tuple[int, ...]:
        """Return the ranks of the other members from which one does not receive."""
        if self.is_whole:
            return ()
        return tuple(source for source in self._everyone if not self.hears(rank, source))

    def by_column(self) -> tuple[tuple[int, ...], ...]:
        """Return the audience of every member by rank; nothing if the view is whole."""
        return () if self.is_whole else self._audiences
