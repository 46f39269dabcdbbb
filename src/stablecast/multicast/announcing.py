"""Saying how much one has sent, since nobody misses a last message that was lost.

It is said at doubling distances while something is unstable.  In a large group everyone hears it, and nothing
becomes stable sooner than after some steps of the stability protocol, so the first distance is two of them at
least.
"""

from __future__ import annotations

from stablecast.multicast.around import Stability, Surroundings
from stablecast.multicast.frames import SentSoFar
from stablecast.multicast.streams import Stream

FIRST_S = 0.01
STEPS = 2
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
    step_s
        A step of the stability protocol.
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
        step_s: float,
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
        self._first = max(FIRST_S, STEPS * step_s)
        self._wait = self._first
        self._stability = stability
        self._around = around
        self._far_starter = far_starter

    def sent(self, now: float) -> None:
        """Note that something was sent."""
        self._wait = self._first
        due = now + self._first
        self.due = due if self._far_starter is None else min(self.due, due)

    def handle_timer(self, now: float) -> None:
        """Say it if it is time to, or if others learn of what is stable in no other way."""
        is_due = self.due <= now
        if is_due or (self.became_stable and self._stability.knows_own):
            self._around.to_audience(self._sent_so_far())
        if is_due and self._far_starter is not None:
            self._around.to_rank(self._sent_so_far(), self._far_starter)
        self.became_stable = False
        if is_due:
            self._wait = min(2 * self._wait, max(MOST_S, GROWTH * self._first))
            self.due = now + self._wait if self._own.stable < self._own.prefix else NEVER

    def ask_progress(self) -> None:
        """Ask the audience how far they have come with one's own messages."""
        self._around.to_audience(self._sent_so_far(ask=True))

    def _sent_so_far(self, *, ask: bool = False) -> SentSoFar:
        return SentSoFar(self._view, self._own.prefix, self._stability.stable[self._rank], ask)
