"""Stability that does not come: whether it does, what stands in the way, and when it is over.

Stability stalls where the oldest unstable message is older than it should be.  What stands in the way is, as
far as it is known, a link that carries nothing in one direction (its receiver lacks all signs of life from
there, and hears that their sender lives), or a member that has not said to have the message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stablecast.engine.results import StabilityResumed, StabilityStalled

if TYPE_CHECKING:
    from stablecast.engine.in_view import InView

UNEXPLAINED = 3
"""A stall for which no link is known is told after so many times the patience: losses make short ones."""
OVER_AFTER_S = 3.0
"""Seconds without an overdue message after which a stall is over, if all links carry something again."""


class Stalls:
    """What the application was told of stalls; outlasts views."""

    def __init__(self) -> None:
        self._told: StabilityStalled | None = None
        self._since = 0.0
        self._overdue_at = 0.0

    def look(self, here: InView, now: float) -> StabilityStalled | StabilityResumed | None:
        """Return what the application is to be told now."""
        links = tuple((here.labels[one], here.labels[other]) for one, other in here.links.known())
        age = here.age_of_unstable(now)
        if age > here.signs.patience:
            self._overdue_at = now
            return self._stalled(here, age, links, now)
        if links or now - self._overdue_at < OVER_AFTER_S:
            return None
        return self.over(now)

    def _stalled(
        self, here: InView, age: float, links: tuple[tuple[str, str], ...], now: float
    ) -> StabilityStalled | None:
        is_known = self._told is not None and self._told.links == links
        if is_known or (not links and age <= UNEXPLAINED * here.signs.patience):
            return None
        if self._told is None:
            self._since = now - age
        self._told = StabilityStalled(age, links, here.lacking_oldest())
        return self._told

    def over(self, now: float) -> StabilityResumed | None:
        """Take note that whatever it was is over; return what the application is to be told."""
        told, self._told = self._told, None
        return None if told is None else StabilityResumed(now - self._since)
