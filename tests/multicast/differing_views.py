"""How often a bufferer is found by a member whose view of the group differs from the others'.

Every view is drawn on its own: some present members are unknown to its owner, and some that are gone are
still in it. A member buffers by the size of its own view. One that looks for a bufferer computes them by
its own view, picks one at random, and picks again in later rounds if that one is gone or does not buffer
the message.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stablecast.papers.buffering.fairness import hash_all

ROUNDS = 5


@dataclass(frozen=True)
class Found:
    """Shares of messages, over all members that might ask."""

    at_once: float
    """The first pick has the message."""
    in_rounds: float
    """One of the first few independent picks has it."""
    ever: float
    """Some member of the view that is taken for a bufferer is one."""
    somebody: float
    """Some member buffers the message at all."""


def search(
    name: str,
    n: int,
    C: float,
    *,
    unknown: int,
    gone: int,
    messages: int,
    seed: int,
) -> Found:
    """Draw views and look for bufferers.

    Parameters
    ----------
    name : str
        The hash.
    n, C : int, float
        Members that are there, and wanted bufferers.
    unknown, gone : int
        Most present members that a view lacks, and most others that it has; each view draws its own numbers.
    messages : int
        Messages, each looked for by one random member.
    seed : int
        Of views, askers and picks.
    """
    random = np.random.default_rng(seed)
    addresses = 0x0A000001 + np.arange(n + 4 * max(gone, 1), dtype=np.int64)
    values = hash_all(name, np.zeros(messages, np.int64), np.arange(1, messages + 1), addresses)
    knows = np.zeros((n, addresses.size), bool)
    for owner in range(n):
        knows[owner, :n] = True
        others = np.delete(np.arange(n), owner)
        knows[owner, random.choice(others, random.integers(0, unknown + 1), replace=False)] = False
        stale = random.choice(np.arange(n, addresses.size), random.integers(0, gone + 1), replace=False)
        knows[owner, stale] = True
    sizes = knows.sum(axis=1)
    really = np.zeros_like(values, bool)
    really[:, :n] = values[:, :n] * sizes < C
    counts = np.zeros(4)
    for m, asker in enumerate(random.integers(0, n, messages)):
        believed = np.flatnonzero(knows[asker] & (values[m] * sizes[asker] < C))
        right = really[m, believed]
        picks = random.integers(0, max(1, believed.size), ROUNDS)
        lucky = right[picks] if believed.size else np.zeros(ROUNDS, bool)
        counts += [lucky[0], lucky.any(), right.any(), really[m].any()]
    return Found(*(counts / messages).tolist())
