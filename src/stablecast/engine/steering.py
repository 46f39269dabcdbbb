"""The search for a good step while a group runs: the gossip paper's controller (section 4.3), live.

Who
    The first member of a view searches, and tells the others which step to take (``Step``).  A member that is
    not told in time takes the step of before; that costs time and nothing else.
What is measured
    How long a part that is here takes to be known to be everywhere, one part at a time: a *probe*.  When a
    probe is over, the next one is a part that has come meanwhile.  So under load, and in a protocol of
    rounds, a probe takes a round: it is the paper's time per round.  In a protocol without rounds it is the
    time to stable.  Load shows in it too: with steps that are too short, messages wait in queues, or are
    dropped, and probes take longer.
What is searched
    Steps from the shortest to the longest that are allowed, by their logarithms: they may differ by a factor
    of a thousand.  :class:`~stablecast.theory.step_search.StepController`, which simulations are steered by
    too, finds a near-minimum and the window around it, stays there, and searches again when conditions have
    changed.
What can go wrong
    Nothing becomes stable while a member is silent, and a probe takes as long as that.  It is one of several
    that a step is measured by.  The first after each change of the step does not count.  A view change
    begins the search anew.
"""

from __future__ import annotations

import math

from stablecast.theory.step_search import StepController

FACTOR = 1.25
"""Steps that differ by less are not told apart."""
FLUCTUATION = 0.25
"""Share by which the time may differ in the window."""
PROBES = 5
"""Probes that a step is measured by."""
SKIP = 1
PATIENCE = 30
"""Probes in a row outside the window's band after which the search begins again."""
INSTANT_S = 1e-9


class Steering:
    """Searches for the step of a group from ``least_s`` to ``most_s``."""

    def __init__(self, least_s: float, most_s: float) -> None:
        self.number = 1
        """Grows with each change of the step, so that members know the newest."""
        self._least_s = least_s
        self._controller = StepController(
            0.0,
            math.log(most_s / least_s),
            math.log(FACTOR),
            fluctuation=FLUCTUATION,
            search_step=math.log(FACTOR),
            rounds=PROBES,
            patience=PATIENCE,
            skip=SKIP,
        )
        self._source, self._part, self._since = -1, 0, 0.0

    @property
    def step_s(self) -> float:
        """The step to take now."""
        return self._seconds(self._controller.step)

    @property
    def window_s(self) -> tuple[float, float] | None:
        """Shortest and longest step that do nearly as well as the best, None during a search."""
        window = self._controller.window
        return None if window is None else (self._seconds(window[0]), self._seconds(window[1]))

    @property
    def searches(self) -> int:
        """Searches begun so far."""
        return self._controller.searches

    @property
    def is_measuring(self) -> bool:
        """Whether a probe is under way."""
        return self._source >= 0

    def begin(self, source: int, part: int, now: float) -> None:
        """Begin a probe with a part that is here and not stable."""
        self._source, self._part, self._since = source, part, now

    def look(self, stable: list[int], now: float) -> bool:
        """End the probe if its part is stable; tell whether the step is another one from now on."""
        if not self.is_measuring or stable[self._source] < self._part:
            return False
        self._source = -1
        before = self._controller.step
        self._controller.round_finished(max(now - self._since, INSTANT_S), before)
        changed = self._controller.step != before
        self.number += changed
        return changed

    def _seconds(self, x: float) -> float:
        return self._least_s * math.exp(x)
