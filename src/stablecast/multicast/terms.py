"""What bimodal delivery comes to in a view of so many members: copies, rounds, and P_fail.

Copies
    As few as keep equation (3) of the buffering paper, with a sender that has its own message, at ``p_fail``
    for the view's size and the loss, unless a number was given; at least one, and never more than members.
Rounds
    As many as gossip needs to bring a message from a single member to all, but for a tenth of ``p_fail``.
    A request that is passed on takes four messages, each of which may be lost.
P_fail
    The sum of both: nobody who was chosen to keep the message had it, and somebody lacked it; or the rounds
    were over before everyone had it.  What everyone keeps for a while, and multicasts that are repeated, make
    it smaller in practice, so this is a bound.  It is one for losses that do not depend on each other, and
    for members that stay.
"""

from __future__ import annotations

from dataclasses import dataclass

from stablecast.multicast.delivery import Bimodal
from stablecast.theory.buffering import failure, failure_with_sender, smallest_argument
from stablecast.theory.epidemic import legs_served, spread_rounds

ROUNDS_SHARE = 0.1
"""The part of ``p_fail`` that the number of rounds may use up."""
LEGS = 4
"""Gossip, a request, its forwarding, and the message."""


@dataclass(frozen=True)
class Terms:
    """What holds in one view."""

    members: int
    copies: float
    """Members that keep a message for all its rounds, on average."""
    rounds: int
    """Rounds of gossip after which it is let go, and given up where it is missing."""
    short_rounds: int
    """Rounds for which everyone keeps it."""
    gossip_s: float
    loss: float
    rounds_fail: float
    """How probably the rounds are over too early."""

    def p_fail(self, *, loss: float | None = None, crash: float = 0.0) -> float:
        """Return the probability that a message comes to some members and not to others.

        By default for the loss that was assumed; ``crash`` is the share of members that failed meanwhile.
        """
        loss = self.loss if loss is None else loss
        if self.members == 1 or loss == 0:
            return 0.0
        unkept = failure_with_sender(self.members, self.copies, loss)
        if crash:
            unkept = max(unkept, failure(self.members, self.copies, loss, crash=crash))
        return min(1.0, unkept + self.rounds_fail)


def terms_of(bimodal: Bimodal, members: int) -> Terms:
    """Return what bimodal delivery comes to in a view of so many members."""
    wanted = bimodal.copies
    if wanted is None:
        wanted = smallest_argument(
            lambda copies: failure_with_sender(members, copies, bimodal.loss),
            members,
            bimodal.p_fail * (1 - ROUNDS_SHARE),
        )
    copies = float(members) if wanted is None else min(max(wanted, 1.0), float(members))
    rounds_fail = bimodal.p_fail * ROUNDS_SHARE
    rounds = bimodal.keep_rounds
    if rounds is None:
        served = legs_served(bimodal.loss, LEGS)
        rounds = max(spread_rounds(max(members, 2), rounds_fail, served=served), bimodal.short_rounds)
    return Terms(members, copies, rounds, bimodal.short_rounds, bimodal.gossip_s, bimodal.loss, rounds_fail)
