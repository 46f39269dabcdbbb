"""How few members need to buffer a message: the closed forms of the buffering paper, derived again.

A message M goes out once by unreliable multicast to `n` members. Each loses it with probability `loss`. Each
buffers it with probability ``q = C / n`` (a hash of M and its address decides, which counts as a fair coin),
whoever the others are. A member that lacks M can be helped as long as some bufferer has it.

For one member four things may happen to M, independently of the other members:

===============================  ======================
it buffers M and has it          ``q (1 - loss)``
it should buffer M and lost it   ``q loss``
it does not buffer and lost it   ``(1 - q) loss``
it does not buffer and has it    ``(1 - q)(1 - loss)``
===============================  ======================

*P_2*, some bufferer has M: not all members are outside the first row, ``1 - (1 - q (1 - loss))^n``. *P_1*,
no bufferer has M and yet nobody lacks it: all members are in the last row, ``((1 - q)(1 - loss))^n``. The
two exclude each other (the paper calls them independent, which they are not), so success is their sum, and
*P_fail* is what is left: nobody who buffers M has it, and somebody lacks it.

Members that crash are an extension: with `crash` a member is gone, message and need included, before repair
is over. Losses of different members are independent here; on a tree they are not.
How long to keep a message is in :mod:`stablecast.theory.epidemic`. Where a print is wrong, the function
computes what is right and a ``printed_...`` twin keeps the print.

References
----------
.. [1] O. Ozkasap, R. van Renesse, K. P. Birman, Z. Xiao, "Efficient Buffering in Reliable Multicast
   Protocols", NGC 1999.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stablecast.errors import InvalidInput

FloatArray = NDArray[np.float64]


def bufferer_share(n: int, C: float) -> float:
    """Return ``q = C / n``, the probability that a member is to buffer a message; 1 from ``C = n`` on."""
    check_group(n)
    if not (math.isfinite(C) and C >= 0):
        raise InvalidInput(f"C must be a finite number of at least 0, got {C!r}")
    return min(1.0, C / n)


def unbuffered_success(n: int, C: float, loss: float, *, crash: float = 0.0) -> float:
    """Return P_1: no bufferer, and all received the multicast, equation (1).

    With `crash`, each member is either gone or a receiver that does not buffer.
    """
    return math.exp(_log_unbuffered(n, C, loss, crash))


def buffered_success(n: int, C: float, loss: float, *, crash: float = 0.0) -> float:
    """Return P_2: at least one bufferer received the multicast, and stays, equation (2)."""
    return -math.expm1(_log_none_has(n, C, loss, crash))


def no_bufferer_has(n: int, C: float, loss: float, *, crash: float = 0.0) -> float:
    """Return ``1 - P_2``: after the multicast no bufferer has the message.

    Section 6 calls this "nobody buffers a message". That is only so until repair: a bufferer that lost the
    message buffers it when it gets it later, so in the end the probability is that of `loss` 0.
    """
    return math.exp(_log_none_has(n, C, loss, crash))


def failure(n: int, C: float, loss: float, *, crash: float = 0.0) -> float:
    """Return P_fail, equation (3): some member lacks the message and no bufferer has it.

    Parameters
    ----------
    n : int
        Members, the sender among them; as in the paper it may lose its own message. See
        :func:`failure_with_sender`.
    C : float
        Wanted number of bufferers, whole or not.
    loss : float
        Probability that a member does not receive the multicast.
    crash : float
        Probability that a member fails before repair is over, independently of the rest.

    Examples
    --------
    >>> round(failure(100, 6, 0.00484), 5)
    0.00085
    """
    return _difference(_log_none_has(n, C, loss, crash), _log_unbuffered(n, C, loss, crash))


def failure_with_sender(n: int, C: float, loss: float) -> float:
    """Return P_fail if the sender has its message, as it does, and buffers it only if the hash says so.

    Only the sender not buffering leaves room for failure; the other ``n - 1`` are as in equation (3):
    ``(1 - q) ((1 - q (1 - loss))^(n-1) - ((1 - q)(1 - loss))^(n-1))``. Always at or below :func:`failure`.
    """
    q, loss = bufferer_share(n, C), check_probability("loss", loss)
    none, unbuffered = log_never(q * (1 - loss), n - 1), log_never(q + loss - q * loss, n - 1)
    return (1 - q) * _difference(none, unbuffered)


def failure_limit(C: float, loss: float) -> float:
    """Return what P_fail tends to as `n` grows while `loss` stays: ``exp(-C (1 - loss))``, or 0 without loss.

    ``(1 - x / n)^n`` tends to ``exp(-x)`` from below and P_1 to 0, as ``(1 - loss)^n`` does. So it is also
    an upper bound for every `n` of at least `C`. Without loss P_1 does not vanish: everyone has the message,
    and nothing can fail.
    """
    return 0.0 if check_probability("loss", loss) == 0 else printed_failure_limit(C, loss)


def printed_failure_limit(C: float, loss: float) -> float:
    """Return the limit as printed, ``exp(-C (1 - loss))``, without the exception for `loss` 0."""
    if not (math.isfinite(C) and C >= 0):
        raise InvalidInput(f"C must be a finite number of at least 0, got {C!r}")
    return math.exp(-C * (1 - check_probability("loss", loss)))


def rare_loss_limit(C: float, losers: float) -> float:
    """Return what P_fail tends to if the number of members that lose a message stays: ``loss = losers / n``.

    ``exp(-C) (1 - exp(-losers))``: no bufferer, and at least one loser. This is the regime of the paper's own
    0.1 % of link loss, where the printed limit is too high by ``1 / (1 - exp(-losers))``.
    """
    if not (math.isfinite(losers) and losers >= 0):
        raise InvalidInput(f"losers must be a finite number of at least 0, got {losers!r}")
    return -printed_failure_limit(C, 0) * math.expm1(-losers)


def smallest_c(n: int, loss: float, target: float, *, crash: float = 0.0) -> float | None:
    """Return the smallest `C`, not rounded, with P_fail at or below `target`; None if there is none.

    P_fail falls as C grows: its derivative is ``-(1 - loss)`` times a difference of the same form for
    ``n - 1`` members, which is not negative.

    Examples
    --------
    >>> round(smallest_c(100, 0.00484, 0.001), 2)
    5.85
    """
    return smallest_argument(lambda C: failure(n, C, loss, crash=crash), n, target)


def smallest_c_by_limit(loss: float, target: float) -> float:
    """Return the `C` that the limit gives, ``ln(1 / target) / (1 - loss)``: enough for every larger `n`."""
    loss = check_probability("loss", loss)
    if not 0 < target < 1 or loss == 1:
        raise InvalidInput(f"target must be between 0 and 1 and loss below 1, got {target!r} and {loss!r}")
    return -math.log(target) / (1 - loss)


def smallest_argument(falling: Callable[[float], float], n: int, target: float) -> float | None:
    """Return the smallest `C` up to `n` at which a falling function is at or below `target`, by bisection."""
    if not 0 < target < 1:
        raise InvalidInput(f"target must be between 0 and 1, got {target!r}")
    low, high = 0.0, float(n)
    if falling(low) <= target:
        return low
    if falling(high) > target:
        return None
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > target else (low, middle)
    return high


def binomial(count: int, share: float) -> FloatArray:
    """Return the probabilities of 0 to `count` successes in as many trials."""
    share = check_probability("share", share)
    if share in (0.0, 1.0):
        certain = np.zeros(count + 1)
        certain[count if share else 0] = 1.0
        return certain
    k = np.arange(count + 1)
    factorial = np.array([math.lgamma(j + 1) for j in range(count + 1)])
    logs = (
        factorial[count]
        - factorial
        - factorial[::-1]
        + k * math.log(share)
        + (count - k) * math.log1p(-share)
    )
    probabilities: FloatArray = np.exp(logs)
    return probabilities


def more_than(distribution: FloatArray) -> FloatArray:
    """Return the probability of more than `k` for each `k`, summed from the far end: small ones count too."""
    tails = np.zeros_like(distribution)
    tails[:-1] = np.cumsum(distribution[:0:-1])[::-1]
    return tails


def bufferer_distribution(n: int, C: float, *, loss: float = 0.0) -> FloatArray:
    """Return the probabilities that 0 to `n` members buffer a message: binomial, mean ``C (1 - loss)``.

    With `loss` 0 these are the places in which a message is buffered in the end, once repair has reached the
    bufferers too (Figure 6); with a `loss`, those after the multicast alone.
    """
    return binomial(n, bufferer_share(n, C) * (1 - check_probability("loss", loss)))


def expected_bufferers(n: int, C: float, *, loss: float = 0.0) -> float:
    """Return the mean of :func:`bufferer_distribution`."""
    return n * bufferer_share(n, C) * (1 - check_probability("loss", loss))


def buffer_without_hash(rate: float, seconds: float) -> float:
    """Return the messages that a member holds if it keeps all of them for `seconds`: rate times time."""
    if not (rate > 0 and seconds > 0):
        raise InvalidInput(f"rate and seconds must be above 0, got {rate!r} and {seconds!r}")
    return rate * seconds


def expected_buffer(rate: float, seconds: float, n: int, C: float) -> float:
    """Return the mean number of messages that a member holds of its share: ``rate * seconds * C / n``.

    With the time growing as ``log n`` this is section 4's ``O(rho log n / n)``.
    """
    return buffer_without_hash(rate, seconds) * bufferer_share(n, C)


def printed_expected_buffer(rate: float, seconds: float, n: int, C: float) -> float:
    """Return section 4's sentence as it stands: the buffer "shrinks *by*" that much. It shrinks *to* it."""
    return buffer_without_hash(rate, seconds) - expected_buffer(rate, seconds, n, C)


def expected_reduction(n: int, C: float) -> float:
    """Return ``n / C``, by which the mean buffer shrinks (section 8); at least 1.

    It is one of means, for messages that are kept equally long. Peaks shrink less (:func:`peak_bound`), and
    a short-term buffer beside it does not shrink at all (:func:`two_buffers`).
    """
    return 1 / bufferer_share(n, C)


def two_buffers(rate: float, short_seconds: float, long_seconds: float, n: int, C: float) -> float:
    """Return the mean number of messages held with section 5's two buffers, each message counted once.

    All messages for the short time, a share for what the long time has beyond it. It tends to
    ``rate * short_seconds``, so it does not shrink to nothing as the abstract's "sub-constant" has it.
    """
    if not 0 < short_seconds <= long_seconds:
        raise InvalidInput(
            f"times must be above 0, the short one first, got {short_seconds!r}, {long_seconds!r}"
        )
    rest = rate * (long_seconds - short_seconds) * bufferer_share(n, C)
    return buffer_without_hash(rate, short_seconds) + rest


def peak_bound(window: int, n: int, C: float, messages: int, *, confidence: float = 0.99) -> int:
    """Return a number of messages that a member's buffer does not exceed in a run, with some confidence.

    At any time `window` messages (rate times time) are young enough to be held, and the member holds each
    with probability `q`: a binomial. It is at its highest when a message comes in, so there are `messages`
    times to look at; the result is the smallest `k` with ``messages * P(more than k) <= 1 - confidence``.
    """
    if not 0 < confidence < 1 or window < 1 or messages < 1:
        raise InvalidInput("confidence must be between 0 and 1, window and messages at least 1")
    above = more_than(binomial(window, bufferer_share(n, C)))
    return int(np.argmax(messages * above <= 1 - confidence))


def pick_is_right(view: int, bufferers_view: int, *, stale: float = 0.0, loss: float = 0.0) -> float:
    """Return the probability that a bufferer picked by a member's view has the message, if views differ.

    The picker takes those with ``H < C / view`` for bufferers; one that counts `bufferers_view` members
    buffers if ``H < C / bufferers_view``. The hash is the same, so one set holds the other: all picks are
    right if the picker counts as many or more, otherwise a share ``view / bufferers_view`` of them.

    Parameters
    ----------
    view, bufferers_view : int
        How many members the picker, and the one picked, count in.
    stale : float
        Share of the picker's view that is gone, or came after the message.
    loss : float
        Probability that a bufferer lost the message and has not got it yet.
    """
    check_group(view)
    check_group(bufferers_view)
    right = min(1.0, view / bufferers_view)
    return right * (1 - check_probability("stale", stale)) * (1 - check_probability("loss", loss))


def finds_some(common: int, view: int, bufferers_view: int, C: float) -> float:
    """Return the probability that anyone whom a member takes for a bufferer of a message is one.

    Each of the `common` members that are in both views is taken for one, and is one, with ``C / max(view,
    bufferers_view)``.
    """
    share = bufferer_share(max(view, bufferers_view), C)
    return -math.expm1(log_never(share, common))


def log_never(x: float, times: float) -> float:
    """Return ``times * log(1 - x)``: what has probability `x` never happens in so many trials."""
    if times == 0:
        return 0.0
    return -math.inf if x >= 1 else times * math.log1p(-x)


def check_probability(name: str, value: float) -> float:
    """Return a value between 0 and 1, or refuse it."""
    if not 0 <= value <= 1:
        raise InvalidInput(f"{name} must be between 0 and 1, got {value!r}")
    return float(value)


def check_group(n: int) -> None:
    """Refuse a number of members that is no whole number above 0."""
    if not isinstance(n, int) or n < 1:
        raise InvalidInput(f"a group must have a whole number of members, at least 1, got {n!r}")


def _log_none_has(n: int, C: float, loss: float, crash: float) -> float:
    q, kept = bufferer_share(n, C), 1 - check_probability("crash", crash)
    return log_never(q * (1 - check_probability("loss", loss)) * kept, n)


def _log_unbuffered(n: int, C: float, loss: float, crash: float) -> float:
    q, loss = bufferer_share(n, C), check_probability("loss", loss)
    return log_never((1 - check_probability("crash", crash)) * (q + loss - q * loss), n)


def _difference(larger: float, smaller: float) -> float:
    """Return the difference of two numbers given by their logarithms, without loss of digits."""
    if larger == -math.inf:
        return 0.0
    return -math.exp(larger) * math.expm1(min(0.0, smaller - larger))
