"""Where other views of the same group may be."""

from __future__ import annotations

from collections.abc import Iterable

from stablecast.membership.view import Address, View

REMEMBERED_FOR = 600.0
"""Seconds for which members that failed are looked for."""

MOST_REMEMBERED = 64

MOST_SHARED = 16
"""How many places a leader tells the members of a new view, last ones first."""

AT_A_TIME = 16
"""How many addresses are probed in one round; the others have their turn in the next ones."""


class Outlook:
    """Where other views of the group may be: contacts that were given, and members that are gone."""

    def __init__(self) -> None:
        self._contacts: tuple[Address, ...] = ()
        self._departed: dict[Address, float] = {}
        self._turn = 0

    def know(self, contacts: Iterable[Address]) -> None:
        """Look at these always."""
        self._contacts = tuple(contacts)

    def remember(self, address: Address, now: float) -> None:
        """Look at this one for some minutes."""
        self._departed.pop(address, None)
        self._departed[address] = now
        while len(self._departed) > MOST_REMEMBERED:
            del self._departed[next(iter(self._departed))]

    def shared(self, view: View | None) -> tuple[Address, ...]:
        """Return where lost members were that a new view does not have."""
        here = {} if view is None else view.at
        return tuple(a for a in reversed(self._departed) if a not in here)[:MOST_SHARED]

    def places(self, view: View, now: float) -> list[Address]:
        """Return where somebody may be who is not in this view."""
        self._departed = {a: since for a, since in self._departed.items() if now - since < REMEMBERED_FOR}
        return [a for a in dict.fromkeys((*self._contacts, *self._departed)) if a not in view.at]

    def next_places(self, view: View, now: float) -> list[Address]:
        """Return whom to probe in this round."""
        places = self.places(view, now)
        if len(places) <= AT_A_TIME:
            return places
        self._turn = (self._turn + AT_A_TIME) % len(places)
        return (places[self._turn :] + places)[:AT_A_TIME]
