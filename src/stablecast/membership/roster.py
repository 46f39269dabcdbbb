"""What follows from a view alone, found once for all processes that are in it.

All members of a view come to the same ranks, addresses, labels, audiences and trees, so what one process has
found out serves every other one of the same Python process: a simulation, or tests, where a thousand engines
of a thousand members each would otherwise keep a million copies of what is the same.

A roster is looked up by the view's id, and counts only for a view that is equal: ids are random numbers that
come from elsewhere, and nothing here relies on their being different.  Few are kept, the newest ones; whoever
is in a view keeps its roster itself.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property

from stablecast.membership.audiences import Audiences
from stablecast.membership.trees import Trees
from stablecast.membership.view import Address, View

KEPT = 16
"""Rosters that are found again."""


class Roster:
    """A view, and what follows from it."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.size = len(view.members)
        self.sessions = view.sessions
        """The members' sessions by rank."""
        self.ranks = view.ranks
        """Ranks by session."""

    @cached_property
    def addresses(self) -> list[Address]:
        """Where the members are reached, by rank."""
        return [member.address for member in self.view.members]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What all call the members, by rank."""
        return tuple(member.label for member in self.view.members)

    @cached_property
    def keys(self) -> list[tuple[str, int]]:
        """Their labels, with their sessions."""
        return list(zip(self.labels, self.sessions, strict=True))

    @cached_property
    def zones(self) -> list[str]:
        """Where the members are, by rank."""
        return [member.zone for member in self.view.members]

    @cached_property
    def audiences(self) -> Audiences:
        """Who receives whom."""
        return Audiences(self.view.members)

    @cached_property
    def lines(self) -> dict[str, tuple[str, ...]]:
        """The groups that messages belong to in traces, each with the labels of its members."""
        if not self.view.is_apart:
            return {self.view.line: self.labels}
        return {
            self.view.line_of(source): tuple(self.labels[rank] for rank in self.audiences.with_source(source))
            for source, member in enumerate(self.view.members)
            if member.sends
        }

    @cached_property
    def trees(self) -> Trees:
        """Along which members pass on what is for all."""
        return Trees(self.zones, self.audiences)


_kept: OrderedDict[int, Roster] = OrderedDict()


def roster_of(view: View) -> Roster:
    """Return what follows from a view, found before if it can be."""
    roster = _kept.get(view.id)
    if roster is None or (roster.view is not view and roster.view != view):
        roster = _kept[view.id] = Roster(view)
        if len(_kept) > KEPT:
            _kept.popitem(last=False)
    return roster


def shared(view: View) -> View:
    """Return a view that is equal and that others in this process have, if there is one."""
    return roster_of(view).view
