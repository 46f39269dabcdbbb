"""Lost, repeated and reordered messages, and members that are gone: layers around plain protocols.

Theory
    The papers write their protocols for channels that lose nothing and members that stay.  Section 3.5 of the
    hypercube paper says, once for all of them, what more it takes: messages carry the number of their
    execution; who waits for answers sends its question again, periodically, to those who have not answered;
    and an answer counts once.  For that a member keeps two sets: *heard*, of those whose answer it has, and
    *gone*, of those that a failure detector has told it of; nobody waits for these, so they count as heard.
What is true
    The sets are there only in runs that can lose or repeat messages, or lose members (``me.guarded``).  Where
    they are not, each layer calls the plain kernel and does nothing else; that test is all that it costs.
How a layer is made
    A module of this package wraps the kernels of a plain protocol: it decides whether a message is news
    before the plain kernel sees it, and sets the timer for the next retransmission behind it.  :mod:`star`
    is for a coordinator that asks everyone, :mod:`tree` for members that ask their children, :mod:`trains`
    for arrays that are handed on, :mod:`exchange` for members that all tell each other, :mod:`cube` for
    iterations of neighbours.
Structures
    When the coordinator is gone :mod:`succession` says who is the next, and when an inner member of a tree is
    gone :mod:`rebuilt` says where its children hang.
What can go wrong
    When a member of a ring, or of a train of siblings, is gone, the execution waits for ever, and a run shows
    that it does.
"""

from __future__ import annotations

from typing import Annotated, Any

from stablecast.compiling import kernel
from stablecast.frontier.sets import add, has
from stablecast.protocols.contract import (
    NEVER,
    TIMEOUT,
    IntArray,
    Member,
    Number,
    Outbox,
    Parameter,
    Role,
    Sizes,
    guarded,
    members,
    set_timer,
)
from stablecast.protocols.contract.protocol import SPARE_SENDS

RESEND = Parameter(
    "resend",
    TIMEOUT,
    0.0,
    "Time after which a message that was not answered is sent again; 0 for never.",
    unit="ms",
    role=Role.RESEND,
    least=0,
)
"""The parameter of every protocol with such a layer."""


class Answers(Member):
    """What a member remembers of the others, in runs that need it."""

    heard: Annotated[IntArray, members(when=guarded)]
    """Those that have answered; where one asks all, also those that are gone."""
    gone: Annotated[IntArray, members(when=guarded)]
    gone_count: Number


def sets_timers(sizes: Sizes) -> bool:
    """Tell whether a protocol that sets timers for retransmissions alone does so."""
    return sizes.params[RESEND.name] > 0


def one_to_each_if_guarded(sizes: Sizes) -> int:
    """Return the room of a call that sends to each member alone only when it repeats something."""
    return sizes.group + SPARE_SENDS if sizes.guarded else SPARE_SENDS


@kernel
def resends(me: Member) -> bool:
    """Tell whether what is not answered is sent again."""
    return bool(me.params.resend > 0)


@kernel
def wait_for_answers(me: Member, now: int, out: Outbox) -> None:
    """Look again after a while, where there are retransmissions."""
    if me.params.resend > 0:
        set_timer(out, now + me.params.resend)


@kernel
def wait_no_more(out: Outbox) -> None:
    """Every answer is in."""
    set_timer(out, NEVER)


@kernel
def is_new(known: IntArray, j: int) -> bool:
    """Put a member into a set; tell whether it was not in it before."""
    if has(known, j):
        return False
    add(known, j)
    return True


@kernel
def unfinish(out: Outbox) -> None:
    """The plain kernel is through, but answers are still to come."""
    out.marks.finished = 0


@kernel
def has_answered(me: Answers, j: int) -> bool:
    """Tell whether a member has answered, or is gone; where nothing can be lost nobody is asked twice."""
    return bool(me.guarded and has(me.heard, j))


@kernel
def is_gone(me: Any, j: int) -> bool:
    """Tell whether a failure detector has told of a member."""
    return bool(me.guarded and has(me.gone, j))
