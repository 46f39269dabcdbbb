"""Find a good step interval: the two-part search of the gossip paper, section 4.3, offline and online.

The time per round against the step interval falls, is flat for a while and rises.  Part I closes in on the
flat portion by the golden section; part II walks to both of its ends.  :func:`near_minimum` and
:func:`window` run the parts on any function.  :class:`StepController` runs them while the protocol is at
work, with nothing but the times of finished rounds, and starts over when conditions change.

Where it departs from the print
-------------------------------
The text accepts steps whose time is between ``(1 - e)`` and ``(1 + e)`` times the near-minimum, while the
printed loops compare the bare difference of two times with ``e``, a percentage.  Here the difference is
relative, as in the text.  The second printed loop on the lower side may ask for a step of zero or less, and
both second loops end at the first stride that is too long, although shorter ones may still fit.  Here no step
outside the given range is asked for, and every shorter stride is tried.  On the upper side the first printed
loop never ends if the time stays level; here the number of strides is limited.

In a running group
------------------
The paper measures each step on an idle network.  In a running group a round also meets what was sent before
it.  With a step that is too short more is sent than the links carry: each round then takes longer than the
one before, and leaves more behind for the next step that is tried.  Without limits to queues such a search
comes to no end: it compares steps by what earlier ones have left.  The controller therefore

- measures the longer one of two steps first, so that it comes to short ones from above, by small strides;
- gives a candidate up when most of the rounds that it is measured by take over twice as long as the best
  candidate's;
- goes back to the longest candidate after each one that is shorter than the best and does worse, until a
  round takes what it took there before: then queues have drained;
- does not count rounds as long as each is shorter than the one before: queues are draining;
- begins a further search with the longest step, for what made it necessary may be an overload.

So a candidate is measured on a network that holds what this candidate itself sends, and how far off the
lower bound is does not matter.  What is found may differ from the search on an idle network: a step that
overloads the links does well for one round, and not for many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeVar

from stablecast.errors import InvalidInput

GOLDEN = (math.sqrt(5) - 1) / 2
"""The print rounds it to 0.618; with the ratio itself, one of two measurements serves for the next stage."""
DOUBLINGS_MAX = 20
"""A window is at most about a million search steps wide."""
HOPELESS = 2.0
"""Times the best candidate's time above which a round speaks against a candidate by itself."""

Answer = TypeVar("Answer")
Search = Generator[float, float, Answer]
"""Yields the step to measure next, is sent the time measured there, and returns what it found."""


@dataclass(frozen=True)
class NearMinimum:
    """What part I found."""

    step: float
    value: float
    """The time measured at that step."""
    evaluations: int
    """Times that a value was asked for."""


@dataclass(frozen=True)
class Window:
    """What part II found: steps from ``low`` to ``high`` do nearly as well."""

    low: float
    high: float
    evaluations: int


def near_minimum(f: Callable[[float], float], low: float, high: float, gap: float) -> NearMinimum:
    """Part I: close in on the minimum of a function by the golden section.

    Parameters
    ----------
    f : callable
        The mean time per round, measured at a step.
    low, high : float
        Where to look; the ends themselves are not measured, so `low` may be 0.
    gap : float
        The search ends when the ends are at most this far apart.

    Returns
    -------
    NearMinimum
        The middle between the last ends, the time measured there, and the number of measurements.
    """
    return _drive(_near_minimum(*_checked_range(low, high), _positive("gap", gap)), f)


def window(
    f: Callable[[float], float],
    step: float,
    value: float,
    fluctuation: float,
    search_step: float,
    *,
    low: float = 0.0,
    high: float = math.inf,
) -> Window:
    """Part II: walk from a step to both sides as long as the time stays within a share of its value.

    Parameters
    ----------
    f : callable
        The mean time per round, measured at a step.
    step, value : float
        Where to begin, and the time there.
    fluctuation : float
        Share of `value`, above 0, by which the time may differ inside the window.
    search_step : float
        The shortest stride; strides double while they succeed, and halve afterwards.
    low, high : float
        Only steps strictly above `low` and up to `high` are measured.
    """
    _positive("step", step)
    _positive("search_step", search_step)
    if not 0 <= low < step <= high:
        raise InvalidInput(f"step {step!r} is not accepted (accepted: above {low!r} and up to {high!r})")
    band = _Band(_positive("value", value), _positive("fluctuation", fluctuation))
    return _drive(_window(step, band, search_step, low, high), f)


def _drive(search: Search[Answer], f: Callable[[float], float]) -> Answer:
    try:
        x = next(search)
        while True:
            x = search.send(f(x))
    except StopIteration as end:
        answer: Answer = end.value
        return answer


def _near_minimum(low: float, high: float, gap: float) -> Search[NearMinimum]:
    """Narrow the interval, a number of times known beforehand so that rounding cannot make it endless."""
    stages = max(0, math.ceil(math.log(gap / (high - low)) / math.log(GOLDEN) - 1e-9))
    a, b, known = low, high, dict[str, float]()
    evaluations = 0
    for _ in range(stages):
        left, right = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
        for name, x in (("right", right), ("left", left)):
            if name not in known:
                known[name] = yield x
                evaluations += 1
        if known["left"] >= known["right"]:
            a, known = left, {"left": known["right"]}
        else:
            b, known = right, {"right": known["left"]}
    value = yield (a + b) / 2
    return NearMinimum((a + b) / 2, value, evaluations + 1)


@dataclass(frozen=True)
class _Band:
    value: float
    fluctuation: float

    def holds(self, measured: float) -> bool:
        return abs(measured - self.value) < self.fluctuation * self.value


def _window(step: float, band: _Band, stride: float, low: float, high: float) -> Search[Window]:
    down, downs = yield from _walk(step, band, -stride, low, high)
    up, ups = yield from _walk(step, band, stride, low, high)
    return Window(down, up, downs + ups)


def _walk(at: float, band: _Band, stride: float, low: float, high: float) -> Search[tuple[float, int]]:
    """Walk to one side with doubling strides, then with halving ones; also count the measurements."""
    evaluations, strides = 0, 1
    for _ in range(DOUBLINGS_MAX):
        there = at + strides * stride
        if not low < there <= high:
            break
        evaluations += 1
        if not band.holds((yield there)):
            break
        at, strides = there, 2 * strides
    while strides > 1:
        strides //= 2
        there = at + strides * stride
        if low < there <= high:
            evaluations += 1
            at = there if band.holds((yield there)) else at
    return at, evaluations


class StepController:
    """Keep the step interval of a running protocol good, from the times of its rounds alone.

    It measures a candidate by the mean of a few rounds, finds a near-minimum (part I) and the window around
    it (part II), and stays there.  When the time of several rounds in a row leaves the window's band, group
    or network have changed, and it searches again.

    Parameters
    ----------
    low, high, gap : float
        As for :func:`near_minimum`.
    fluctuation, search_step : float
        As for :func:`window`.
    rounds : int
        Rounds that a candidate is measured by.
    patience : int
        Rounds in a row outside the band after which it searches again.
    skip : int
        Rounds after each change of the step that are not measured: what a shorter step has left in the
        network's queues still holds them up.
    """

    def __init__(
        self,
        low: float,
        high: float,
        gap: float,
        *,
        fluctuation: float = 0.1,
        search_step: float = 1.0,
        rounds: int = 3,
        patience: int = 3,
        skip: int = 0,
    ) -> None:
        self._low, self._high = _checked_range(low, high)
        self._gap, self._stride = _positive("gap", gap), _positive("search_step", search_step)
        self._fluctuation = _positive("fluctuation", fluctuation)
        self._rounds, self._patience = _count("rounds", rounds, 1), _count("patience", patience, 1)
        self._skip = self._to_skip = _count("skip", skip, 0)
        self.searches = 0
        """Searches begun so far."""
        self._window: tuple[float, float] | None = None
        self._step = 0.0
        self._times: list[float] = []
        """Times of the rounds with the step in force, from the last one on that was much shorter."""
        self._best: tuple[float, float] | None = None
        """The candidate with the shortest time so far, and that time."""
        self._longest = (0.0, 0.0)
        """The longest candidate so far, and its time."""
        self._next: float | None = None
        """The candidate to measure once queues have drained; None if there is nothing to wait for."""
        self._bands: list[_Band] = []
        """Around the time that the search measured, and around that of the first rounds after it."""
        self._outside = 0
        self._begin()

    @property
    def step(self) -> float:
        """The step to use now."""
        return self._step

    @property
    def window(self) -> tuple[float, float] | None:
        """Ends of the window that was found, None during a search."""
        return self._window

    def round_finished(self, time: float, step: float) -> float:
        """Take the time of a round that ran with a step, and return the step to use next.

        A round that began with another step than the one asked for says nothing about it and is passed over.
        """
        _positive("time", time)
        if not math.isclose(step, self._step, rel_tol=1e-6):  # whoever runs it may round the step
            return self._step
        if self._to_skip > 0:
            self._to_skip -= 1
            return self._step
        before = self._step
        if self._times and time < (1 - self._fluctuation) * self._times[-1]:
            self._times = []  # queues are draining
        self._times.append(time)
        if self._window is not None:
            self._watch(time)
        elif self._next is not None:
            self._drain(time)
        else:
            self._measure()
        if self._step != before:
            self._to_skip, self._times = self._skip, []
        return self._step

    def _begin(self) -> None:
        self.searches += 1
        self._window, self._best, self._next = None, None, None
        self._times, self._longest = [], (0.0, 0.0)
        self._search = self._both_parts()
        self._step = next(self._search)

    def _both_parts(self) -> Search[None]:
        if self.searches > 1:
            yield self._high  # where queues drain, and what others are compared with
        found = yield from _near_minimum(self._low, self._high, self._gap)
        band = _Band(found.value, self._fluctuation)
        around = yield from _window(found.step, band, self._stride, self._low, self._high)
        self._window, self._step = (around.low, around.high), found.step
        self._outside, self._bands = 0, [band]

    def _measure(self) -> None:
        """Go on to the next candidate if this one has been measured, or is hopeless."""
        hopeless = [time for time in self._times if self._best and time > HOPELESS * self._best[1]]
        if len(self._times) < self._rounds and len(hopeless) <= self._rounds // 2:
            return
        candidate, mean = self._step, math.fsum(self._times) / len(self._times)
        self._times = []
        if self._best is None or mean < self._best[1]:
            self._best = (candidate, mean)
        self._longest = max(self._longest, (candidate, mean))
        best, least = self._best
        try:
            self._step = self._search.send(mean)
        except StopIteration:
            return
        if candidate < best and mean > (1 + self._fluctuation) * least:
            self._step, self._next = self._longest[0], self._step

    def _drain(self, time: float) -> None:
        """Stay at the longest candidate until rounds take what they took; if they do not, begin again."""
        if time <= (1 + self._fluctuation) * self._longest[1]:
            self._step, self._next = self._next or self._step, None
            self._times = []
        elif len(self._times) > self._patience:
            self._begin()

    def _watch(self, time: float) -> None:
        """Begin again after some rounds in a row outside the bands.

        What earlier candidates had left may have prolonged the rounds that the search measured; so the first
        ones after it may be shorter, and have a band of their own then.
        """
        inside = any(band.holds(time) for band in self._bands)
        if len(self._bands) == 1:
            value = self._bands[0].value
            inside = inside or time < value
            if len(self._times) >= self._rounds:
                mean = math.fsum(self._times) / len(self._times)
                self._bands.append(_Band(min(mean, value), self._fluctuation))
        self._outside = 0 if inside else self._outside + 1
        if self._outside >= self._patience:
            self._begin()


def _positive(name: str, value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise InvalidInput(f"{name} must be a finite number above 0, got {value!r}")
    return value


def _count(name: str, value: int, lowest: int) -> int:
    if not isinstance(value, int) or value < lowest:
        raise InvalidInput(f"{name} must be an integer of at least {lowest}, got {value!r}")
    return value


def _checked_range(low: float, high: float) -> tuple[float, float]:
    if not (math.isfinite(high) and 0 <= low < high):
        raise InvalidInput(f"range {low!r} to {high!r} is not accepted (accepted: 0 <= low < high, finite)")
    return low, high
