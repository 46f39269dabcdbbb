"""When to start a stability round: the buffer trigger of the hierarchical paper, section 6.

A sender holds its unstable messages in a buffer of `g` messages and sends `r` messages per unit of time. A
round starts when the buffer holds `X` messages and takes `f`; meanwhile ``Q = r * f`` new messages arrive.
At its end a share `alpha` of the messages held at its start is released. If `X` or more remain the next round
starts at once, otherwise the sender waits until there are `X` again.

How long is a trigger safe? Rounds that follow each other at once start with ``B' = (1 - alpha) * B + Q``
messages, which tends to ``Q / alpha``. The paper's constraints (i) and (ii) look at the first two rounds
only; over an unlimited run the buffer peaks at ``max(X, Q / alpha) + Q``. So ``X = g - Q`` is safe forever
exactly when ``Q <= alpha * (g - Q)``, and if that fails no `X` is.

The same model in whole messages
--------------------------------
:func:`simulate_trigger` and :func:`trigger_optimum_messages` send message `k` at time ``k / r``. A round
that ends at the instant of a send releases first. A round that starts with `h` messages held releases
``floor(alpha * h)``: a message is stable as a whole or not at all. Numbers are handled as exact fractions; a
float stands for the decimal it prints as, so ``0.1`` is one tenth.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from stablecast.errors import InvalidInput

Number: TypeAlias = int | float | Fraction


@dataclass(frozen=True)
class TriggerRun:
    """What happened in one run of :func:`simulate_trigger`."""

    sent: int
    """Messages sent; fewer than asked for when the sender was stuck behind a full buffer for good."""
    tests: int
    """Stability rounds started."""
    peak: int
    """Most messages held at once."""
    overflow: bool
    """Whether any send found the buffer full."""
    blocked: int
    """Sending instants at which the buffer was full, so that nothing was sent."""


def trigger_bounds(buffer: Number, rate: Number, rtt: Number, stable_share: Number) -> tuple[float, float]:
    """Return the upper bounds on `X` that constraints (i) and (ii) of section 6 set.

    Parameters
    ----------
    buffer : number
        Capacity `g` in messages.
    rate : number
        Messages `r` sent per unit of time.
    rtt : number
        Duration `f` of a stability round, in the same unit of time.
    stable_share : number
        Share `alpha` of the held messages that a round finds stable, between 0 and 1.

    Returns
    -------
    tuple of float
        ``g - Q`` and ``(g - 2 * Q) / (1 - alpha)``. With `alpha` 1 the second constraint does not involve
        `X`: the bound is infinite when ``2 * Q <= g`` holds and minus infinity when it does not.

    Notes
    -----
    The first bound is the smaller one exactly when ``Q <= alpha * (g - Q)``, that is, when
    :func:`sustainable` holds.
    """
    g, share = _positive("buffer", buffer), _share(stable_share)
    new = _new_amount(rate, rtt)
    if share == 1:
        return float(g - new), math.inf if 2 * new <= g else -math.inf
    return float(g - new), float((g - 2 * new) / (1 - share))


def trigger_optimum(buffer: Number, rate: Number, rtt: Number, stable_share: Number) -> float:
    """Return the largest `X` that meets constraints (i) and (ii) of section 6.

    Both constraints bound `X` from above, so this is the smaller of the two. A value of zero or less means
    that no trigger meets them. The constraints cover two rounds; ask :func:`sustainable` for more.
    """
    return min(trigger_bounds(buffer, rate, rtt, stable_share))


def sustainable(buffer: Number, rate: Number, rtt: Number, stable_share: Number) -> bool:
    """Return whether some trigger keeps the buffer from overflowing forever (section 6, extended).

    The condition is ``Q <= alpha * (g - Q)``. When it holds ``X = g - Q`` is the largest safe trigger; when
    it fails, rounds follow each other without pause and the buffer grows past `g` from any start.
    """
    g, share = _positive("buffer", buffer), _share(stable_share)
    new = _new_amount(rate, rtt)
    return new <= share * (g - new)


def peak_occupancy(rate: Number, rtt: Number, stable_share: Number, trigger: Number) -> float:
    """Return the least buffer that never overflows, ``max(X, Q / alpha) + Q`` (section 6, extended).

    Infinite when `stable_share` is 0.
    """
    share, x = _share(stable_share), _positive("trigger", trigger)
    new = _new_amount(rate, rtt)
    if share == 0:
        return math.inf
    return float(max(x, new / share) + new)


def stability_tests(total: int, stable_share: Number, trigger: Number) -> float:
    """Return ``T(X) = K / (alpha * X)``, the tests that `total` messages need (section 6).

    The expression supposes that every test starts with exactly `X` messages, hence ``alpha * X >= Q``, and
    it counts the first `X` messages as if a test were due after ``alpha * X`` of them: it exceeds the true
    count by about ``1 / alpha - 1``. Infinite when `stable_share` is 0 and there is anything to send.
    """
    _at_least("total", total, 0)
    share, x = _share(stable_share), _positive("trigger", trigger)
    if share == 0:
        return math.inf if total else 0.0
    return float(total / (share * x))


def new_messages(rate: Number, rtt: Number) -> int:
    """Return the messages sent strictly within `rtt` after a send that triggers a round.

    This is `Q` of section 6 in whole messages: ``Q - 1`` when `Q` is whole, since the last send falls on the
    end of the round and the release comes first, and ``floor(Q)`` otherwise. Both are ``ceil(Q) - 1``.
    """
    return math.ceil(_new_amount(rate, rtt)) - 1


def trigger_optimum_messages(buffer: int, rate: Number, rtt: Number, stable_share: Number) -> int | None:
    """Return the largest whole `X` with which :func:`simulate_trigger` never overflows, or None.

    Notes
    -----
    With ``m = ceil(Q) - 1`` new messages in a triggered round, ``X <= g - m`` is needed at once. If
    ``floor(alpha * (g - m)) >= m + 1``, then at ``X = g - m`` every round releases more than it lets in, the
    sender waits for the next trigger, and the run repeats itself: safe forever. Otherwise no `X` is safe.
    Every round lets in at least `m`, so as long as nothing overflows a round starts with at most ``g - m``
    held and releases at most `m`, which is less than `Q`. Rounds that follow each other at once take in `Q`
    on average, so the buffer never falls back below `X`, the sender never waits, and the excess adds up.
    """
    _at_least("buffer", buffer, 1)
    share, new = _share(stable_share), new_messages(rate, rtt)
    largest = buffer - new
    return largest if math.floor(share * largest) > new else None


def simulate_trigger(
    buffer: int, rate: Number, rtt: Number, stable_share: Number, trigger: int, total: int
) -> TriggerRun:
    """Run the trigger of section 6 message by message.

    Parameters
    ----------
    buffer : int
        Capacity `g` in messages.
    rate, rtt, stable_share : number
        See :func:`trigger_bounds`.
    trigger : int
        `X`, at least 1. A trigger above `buffer` is never reached, and the sender gets stuck.
    total : int
        Messages `K` to send; the run ends with the last one.

    Returns
    -------
    TriggerRun
        Counts of the run. A send that finds the buffer full is tried again at the next sending instant.
    """
    _at_least("buffer", buffer, 1)
    _at_least("trigger", trigger, 1)
    _at_least("total", total, 0)
    model = _TriggerModel(buffer, _new_amount(rate, rtt), _share(stable_share), trigger)
    instant = sent = blocked = 0
    while sent < total:
        instant += 1
        model.end_rounds(instant)
        if model.held < buffer:
            model.send(instant)
            sent += 1
            continue
        blocked += 1
        if model.is_stuck():
            break
    return TriggerRun(sent=sent, tests=model.tests, peak=model.peak, overflow=blocked > 0, blocked=blocked)


def time_to_stable_bound(delivery: float, period: float, rtt: float) -> float:
    """Return ``D + Delta + RTT``, the longest time from sending a message to knowing it stable.

    Sections 5.4.2 and 6.1 call this time-to-stable and relate it to the round-trip time and to how often
    rounds start. A message that all have after `delivery` waits at most one `period` for the next round
    to start, and that round takes `rtt`.
    """
    for name, value in (("delivery", delivery), ("period", period), ("rtt", rtt)):
        if not (math.isfinite(value) and value >= 0):
            raise InvalidInput(f"{name} must be a finite number of at least 0, got {value!r}")
    return delivery + period + rtt


class _TriggerModel:
    """State of the discrete trigger, with time in sending intervals so that sends fall on integers."""

    def __init__(self, capacity: int, round_length: Fraction, share: Fraction, trigger: int) -> None:
        self.held = self.tests = self.peak = 0
        self._capacity, self._round_length, self._share = capacity, round_length, share
        self._trigger = trigger
        self._round_end: Fraction | None = None
        self._held_at_start = 0

    def end_rounds(self, now: int) -> None:
        """Finish every round that ends by `now`, starting the next one where it is due."""
        while self._round_end is not None and self._round_end <= now:
            self.held -= self._released()
            self._start_if_due(self._round_end)

    def send(self, now: int) -> None:
        self.held += 1
        self.peak = max(self.peak, self.held)
        if self._round_end is None:
            self._start_if_due(Fraction(now))

    def is_stuck(self) -> bool:
        """Tell whether a full buffer can never drain: no round runs, or rounds release nothing."""
        if self._round_end is None:
            return True
        return self._held_at_start == self._capacity and self._released() == 0

    def _start_if_due(self, at: Fraction) -> None:
        if self.held < self._trigger:
            self._round_end = None
            return
        self.tests += 1
        self._held_at_start = self.held
        self._round_end = at + self._round_length

    def _released(self) -> int:
        return math.floor(self._share * self._held_at_start)


def _exact(name: str, value: Number) -> Fraction:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(f"{name} must be a finite number, got {value!r}")
        return Fraction(repr(float(value)))
    return Fraction(value)


def _positive(name: str, value: Number) -> Fraction:
    exact = _exact(name, value)
    if exact <= 0:
        raise InvalidInput(f"{name} must be a number above 0, got {value!r}")
    return exact


def _share(value: Number) -> Fraction:
    exact = _exact("stable_share", value)
    if not 0 <= exact <= 1:
        raise InvalidInput(f"stable_share must be between 0 and 1, got {value!r}")
    return exact


def _new_amount(rate: Number, rtt: Number) -> Fraction:
    """Return `Q`, the messages sent during one round."""
    return _positive("rate", rate) * _positive("rtt", rtt)


def _at_least(name: str, value: int, lowest: int) -> None:
    if not isinstance(value, int) or value < lowest:
        raise InvalidInput(f"{name} must be an integer of at least {lowest}, got {value!r}")
