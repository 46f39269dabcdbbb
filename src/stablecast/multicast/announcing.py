"""Saying how much one has sent, since nobody misses a last message that was lost.

It is said at doubling distances while something is unstable.  Everyone hears it, so it costs as much as a
message does.  Said before messages can have become stable, it is wasted; and where members are slow because
they have too much to do, it makes them slower still.  So the first distance is the time in which messages
become stable at the earliest, which grows with the steps of the stability protocol and with the round trips
that are measured.
"""

from __future__ import annotations

from collections.abc import Callable

from stablecast.multicast.around import Stability, Surroundings
from stablecast.multicast.frames import SentSoFar
from stablecast.multicast.streams import Stream

FIRST_S = 0.01
MOST_S = 0.5
GROWTH = 4
"""How many times the first distance the longest one is, if that is longer than ``MOST_S``."""
NEVER = float("inf")


class Announcing:
    """What one member says of its own messages in one view.

    Parameters
    ----------
    view, rank, own
        The view's number, which of the members this is, and its messages.
    first_s
        Returns the seconds in which messages become stable at the earliest.
    stability, around
        What is known to be everywhere, and who sends.
    far_starter
        The rank of who has to know of the messages without receiving them; None if nobody has.
    """

    def __init__(
        self,
        view: int,
        rank: int,
        own: Stream,
        *,
        first_s: Callable[[], float],
        stability: Stability,
        around: Surroundings,
        far_starter: int | None,
    ) -> None:
        self.due = NEVER
        """When it is to be said."""
        self.became_stable = False
        """Whether some of it has become stable and that was not said yet."""
        self._view = view
        self._rank = rank
        self._own = own
        self._first_s = first_s
        self._first = self._wait = FIRST_S
        self._stability = stability
        self._around = around
        self._far_starter = far_starter

    def sent(self, now: float) -> None:
        """Note that something was sent."""
        self._first = self._wait = max(FIRST_S, self._first_s())
        due = now + self._first
        self.due = due if self._far_starter is None else min(self.due, due)

    def handle_timer(self, now: float) -> None:
        """Say it if it is time to, or if others learn of what is stable in no other way."""
        is_due = self.due <= now
        is_unstable = self._own.stable < self._own.prefix
        is_awaited = is_due and is_unstable
        if is_awaited or (self.became_stable and self._stability.knows_own):
            self._around.to_audience(self._sent_so_far())
        if is_awaited and self._far_starter is not None:
            self._around.to_rank(self._sent_so_far(), self._far_starter)
        self.became_stable = False
        if is_due:
            self._wait = min(2 * self._wait, max(MOST_S, GROWTH * self._first))
            self.due = now + self._wait if is_unstable else NEVER

    def ask_progress(self) -> None:
        """Ask the audience how far they have come with one's own messages."""
        self._around.to_audience(self._sent_so_far(ask=True))

    def _sent_so_far(self, *, ask: bool = False) -> SentSoFar:
        return SentSoFar(self._view, self._own.prefix, self._stability.stable[self._rank], ask)
