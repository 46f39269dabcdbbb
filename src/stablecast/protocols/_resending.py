"""Resends, and members that are gone, for protocols that wait for the answers of others.

Section 3.5 of the hypercube paper: a message that was not answered is sent again, periodically, to those
who have not answered.  For that a member keeps sets, behind one another in ``own``, of who has answered and
of who is gone; answers that come twice are then known as well.  Where nothing can be lost, come twice or
fail, there are no sets (``Sizes.guarded``) and a count does.
"""

from __future__ import annotations

from collections.abc import Callable

from stablecast._jit import kernel
from stablecast.frontier.sets import add, has, words
from stablecast.protocols.contract.kernels import Member, Outbox, set_timer
from stablecast.protocols.contract.parameters import TIMEOUT, Parameter, Role
from stablecast.protocols.contract.protocol import Sizes

RESEND = 0
"""Where ``Member.params`` has the time between two resends: the first parameter of all these protocols."""
RESENDS = Parameter(
    "resend",
    TIMEOUT,
    0.0,
    "Time after which a message that was not answered is sent again, to those who have not answered;"
    " 0 for never.",
    unit="ms",
    role=Role.RESEND,
    least=0,
)


def resends_set_timers(params: tuple[int, ...]) -> bool:
    """Tell whether a protocol that sets timers for resends alone does so."""
    return params[RESEND] > 0


def sets_if_guarded(count: int) -> Callable[[Sizes], int]:
    """Return the length of ``own`` for that many sets of members, at least two, or nothing."""

    def length(sizes: Sizes) -> int:
        return count * int(words(sizes.group)) if sizes.guarded else 0

    return length


def sends_to_all(sizes: Sizes) -> int:
    """Return the most messages of a call that may send to each member alone."""
    return sizes.group + 4 if sizes.guarded else 4


@kernel
def is_guarded(me: Member) -> bool:
    """Tell whether the sets are there."""
    return bool(me.own.size > 1)


@kernel
def resends(me: Member) -> bool:
    """Tell whether what is not answered is sent again."""
    return bool(me.params[RESEND] > 0)


@kernel
def wait_for_answers(me: Member, now: int, out: Outbox) -> None:
    """Look again after a while, where there are resends."""
    if me.params[RESEND] > 0:
        set_timer(out, now + me.params[RESEND])


@kernel
def set_at(me: Member, number: int) -> int:
    """Return where a set begins."""
    return int(number * words(me.group_size))


@kernel
def is_in(me: Member, number: int, j: int) -> bool:
    """Tell whether ``j`` is in a set; without sets nobody is."""
    return is_guarded(me) and has(me.own, set_at(me, number), j)


@kernel
def put_in(me: Member, number: int, j: int) -> bool:
    """Put ``j`` into a set; tell whether it was not in it before, which without sets is taken for granted."""
    if not is_guarded(me):
        return True
    if is_in(me, number, j):
        return False
    add(me.own, set_at(me, number), j)
    return True


@kernel
def copy_set(me: Member, into: int, number: int) -> None:
    """Make a set equal to another."""
    if is_guarded(me):
        to, from_, length = set_at(me, into), set_at(me, number), words(me.group_size)
        for k in range(length):
            me.own[to + k] = me.own[from_ + k]
