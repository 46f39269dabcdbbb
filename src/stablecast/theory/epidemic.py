"""How many rounds of gossip bring a message to everyone, and so how long it has to be kept.

In every round each member that has the message tells one other member, drawn evenly, of it; a member that
lacks it then gets it, with probability `served`, which holds what may be lost on the way (the gossip, the
request, the message). This is the push half of the buffering paper's gossip; the other half only makes it
faster.

:func:`lacking_after` is exact for rounds in which all move at once. The closed forms are for setting a
number of rounds: :func:`spread_rounds` from a single holder, :func:`repair_rounds` after a multicast that
most received. Both grow as ``log n``, which is all that the paper says of it.

References
----------
.. [1] O. Ozkasap, R. van Renesse, K. P. Birman, Z. Xiao, "Efficient Buffering in Reliable Multicast
   Protocols", NGC 1999, sections 2 and 4.
.. [2] B. Pittel, "On spreading a rumor", SIAM J. Appl. Math. 47, 1987: log2 n + ln n rounds.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from stablecast.errors import InvalidInput
from stablecast.theory.buffering import binomial, check_group, check_probability, more_than

FloatArray = NDArray[np.float64]


def lacking_after(n: int, lacking: FloatArray, rounds: int, *, served: float = 1.0) -> FloatArray:
    """Return the distribution of the number of members that still lack a message after some rounds.

    With `k` members lacking it, the ``n - k`` others each draw one of ``n - 1``. A draw helps one more with
    probability ``(k - j) / (n - 1) * served`` once `j` have been helped in this round; adding one holder's
    draw after the other gives the exact distribution of `j`.

    Parameters
    ----------
    n : int
        Members.
    lacking : array
        Probabilities that 0, 1, 2, ... members lack it at first, at most ``n - 1``.
    rounds : int
        Rounds of gossip.
    served : float
        Probability that a member gets the message if one that has it gossips to it.
    """
    check_group(n)
    if rounds < 0 or not 1 <= lacking.size <= n:
        raise InvalidInput(f"rounds must not be negative, and at most {n - 1} members lack the message")
    now = np.array(lacking, float)
    for _ in range(rounds):
        after = np.zeros_like(now)
        for k in range(now.size):
            if now[k] > 0:
                after[: k + 1] += now[k] * _one_round(n, k, check_probability("served", served))
        now = after
    return now


def incomplete(n: int, lacking: int, rounds: int, *, served: float = 1.0) -> float:
    """Return the probability that somebody still lacks a message that `lacking` members lacked at first."""
    start = np.zeros(lacking + 1)
    start[lacking] = 1.0
    return _incomplete(lacking_after(n, start, rounds, served=served))


def incomplete_after_multicast(n: int, loss: float, rounds: int, *, served: float = 1.0) -> float:
    """Return the same after a multicast that every member but the sender loses with probability `loss`."""
    start = binomial(n - 1, loss)
    likely = int(np.argmax(more_than(start) < 1e-15)) + 1
    return _incomplete(lacking_after(n, start[:likely], rounds, served=served))


def spread_rounds(n: int, target: float, *, served: float = 1.0) -> int:
    """Return rounds after which a message that one member has is with everyone, but for probability `target`.

    ``log_(1+s) n + (ln n + ln(1 / target)) / s``, rounded up, for `s` = `served`. While few have it, their
    number grows by ``1 + s`` in a round; while few lack it, each is missed by all with about ``exp(-s)``.
    With `served` 1 it is enough for every `n` tried; below, it may be short by up to two rounds, and
    :func:`exact_rounds` is exact.

    Examples
    --------
    >>> [spread_rounds(n, 0.001) for n in (10, 100, 1000)]
    [13, 19, 24]
    """
    served = _positive_share(n, target, served)
    late = (math.log(n) - math.log(target)) / served
    return math.ceil(math.log(n) / math.log1p(served) + late)


def repair_rounds(n: int, loss: float, target: float, *, served: float = 1.0) -> int:
    """Return rounds after which a multicast is with everyone, but for probability `target`, if few lost it.

    A member that lacks the message is missed by the ``h`` others with ``(1 - served / (n - 1))^h``, and `h`
    only grows. Take for `h` a number that is there at first but for probability ``target / 2``; then the
    expected number that still lacks it, which bounds the probability, is at most ``(n - 1) loss`` times
    that to the rounds.

    Examples
    --------
    >>> [repair_rounds(n, 0.05, 0.001) for n in (10, 100, 1000)]
    [10, 11, 13]
    """
    served, loss = _positive_share(n, target, served), check_probability("loss", loss)
    if n == 1 or loss == 0:
        return 0
    holders = n - int(np.argmax(more_than(binomial(n - 1, loss)) <= target / 2))
    missed = holders * math.log1p(-served / (n - 1)) if n > 2 or served < 1 else -math.inf
    return max(1, math.ceil(math.log(target / 2 / ((n - 1) * loss)) / missed))


def exact_rounds(n: int, lacking: int, target: float, *, served: float = 1.0) -> int:
    """Return the fewest rounds after which :func:`incomplete` is at or below `target`."""
    served = _positive_share(n, target, served)
    now, rounds = np.zeros(lacking + 1), 0
    now[lacking] = 1.0
    while _incomplete(now) > target:
        now, rounds = lacking_after(n, now, 1, served=served), rounds + 1
    return rounds


def legs_served(leg_loss: float, legs: int, *, answers: float = 1.0) -> float:
    """Return `served` for an exchange of some messages, each lost with `leg_loss`, asked of one that answers.

    The original protocol has three legs: gossip, request, message. A request that is forwarded to a
    bufferer has four, and `answers` is :func:`stablecast.theory.buffering.pick_is_right`.
    """
    if legs < 1:
        raise InvalidInput(f"legs must be at least 1, got {legs}")
    arrive = (1 - check_probability("leg_loss", leg_loss)) ** legs
    return float(arrive * check_probability("answers", answers))


def shared_hole_requests(n: int, lacking: int) -> float:
    """Return how many requests for a multicast a round brings its sender, if `lacking` members see a hole.

    Each of them gossips to one other, which sees the same hole with ``(lacking - 1) / (n - 1)`` and then asks
    (section 5). A few holes bring next to none, ``k^2 / n``; a send omission brings one from almost everyone,
    which is no implosion only because they come spread over a round.
    """
    check_group(n)
    if not 0 <= lacking <= n:
        raise InvalidInput(f"lacking must be between 0 and {n}, got {lacking}")
    return lacking * (lacking - 1) / (n - 1) if n > 1 else 0.0


def shared_hole_requests_after_multicast(n: int, loss: float) -> float:
    """Return the mean of :func:`shared_hole_requests` after a multicast that the others lose with `loss`.

    The mean of ``k (k - 1)`` for a binomial `k` of ``n - 1`` is ``(n - 1)(n - 2) loss^2``.
    """
    check_group(n)
    return max(0, n - 2) * check_probability("loss", loss) ** 2


@lru_cache(maxsize=4096)
def _one_round(n: int, lacking: int, served: float) -> FloatArray:
    """Return the probabilities that 0 to `lacking` members still lack the message after one round."""
    helped = np.zeros(lacking + 1)
    helped[0] = 1.0
    if n > 1:
        hit = (lacking - np.arange(lacking + 1)) / (n - 1) * served
        for _ in range(n - lacking):
            moved = helped * hit
            helped = helped - moved
            helped[1:] += moved[:-1]
    return helped[::-1]


def _incomplete(distribution: FloatArray) -> float:
    return float(distribution[1:].sum())


def _positive_share(n: int, target: float, served: float) -> float:
    check_group(n)
    if not 0 < target < 1 or not 0 < served <= 1:
        raise InvalidInput(f"target and served must be above 0, and target below 1: {target!r}, {served!r}")
    return served
