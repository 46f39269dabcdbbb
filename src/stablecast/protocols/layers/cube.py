"""Neighbours that go through iterations together, and repeat to silent ones what they told them.

What the current iteration's silent neighbours have not answered is sent to them again, as a REPEAT.  A
REPEAT is answered: with the closing message of the last round if it is of that one, else with what is known
now if that iteration was reached.  The paper has no such answer and can wait for ever
(``docs/papers/hypercube.md``).  The bit of a member that is gone is set from then on.  Members that are cut
off exchange what they have and fall silent after three iterations without news.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from stablecast.compiling import kernel
from stablecast.frontier import copy_into
from stablecast.frontier.sets import add, fill, has
from stablecast.protocols.contract import (
    IntArray,
    Kernels,
    Member,
    Number,
    Outbox,
    guarded,
    members,
    send,
    send_again,
    sources,
)
from stablecast.protocols.layers import wait_for_answers

QUIET_MAX = 3
LAST = 1 << 30
"""As an iteration: after all others."""


class Neighbour(Member):
    """What a member remembers of its neighbours."""

    gone: Annotated[IntArray, members(when=guarded)]
    everyone: Annotated[IntArray, members(when=guarded)]
    """The set of all members, for the closing message of the last round."""
    closed: Annotated[IntArray, sources(when=guarded)]
    """The result of the last round."""
    news: Number
    """Whether G has grown in this iteration."""
    quiet: Number
    """Iterations without news, one after the other."""


@kernel
def note_news(me: Any) -> None:
    """G has grown."""
    me.news = 1


@kernel
def leave_out_gone(me: Any) -> None:
    """In a new round those who are gone count as heard."""
    me.quiet = 0
    if me.guarded:
        copy_into(me.G, me.gone)
        for k in range(me.neighbours.size):
            if has(me.gone, me.neighbours[k]):
                me.reached[k] = LAST


@kernel
def keep_result(me: Any) -> None:
    """Keep a round's result for neighbours that have not got its closing message."""
    if me.guarded:
        copy_into(me.closed, me.M)


@kernel
def is_worth_it(me: Any) -> bool:
    """Tell whether another iteration may bring news, or a neighbour waits for this member's."""
    if me.news:
        me.quiet = 0
    elif me.quiet < QUIET_MAX:
        me.quiet += 1
    elif not _is_behind(me):
        return False
    me.news = 0
    return True


@kernel
def _is_behind(me: Any) -> bool:
    """Tell whether a neighbour has gone on to a later iteration, and so waits for this member."""
    for k in range(me.neighbours.size):
        if me.iteration < me.reached[k] < LAST:
            return True
    return False


def around(
    plain: Kernels, take_in: Callable[..., None], go_on: Callable[..., None], STABILITY: Any, REPEAT: Any
) -> Kernels:
    """Wrap the kernels of a protocol whose members go through iterations with their neighbours."""
    begin = plain.timer

    @kernel
    def hear_repeat(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """Take in what a neighbour knows, and answer it."""
        if message.round == me.round - 1:
            fill(me.everyone, me.group_size)
            send(out, source, STABILITY(message.round, LAST - 1, me.closed, me.everyone))
        if message.round != me.round:
            return
        take_in(me, source, message.iteration, message.M, message.G)
        if me.iteration == 0:
            return
        go_on(me, now, out)
        if out.marks.sends == 0 and message.iteration <= me.iteration:
            send(out, source, STABILITY(me.round, me.iteration, me.M, me.G))

    @kernel
    def gone(me: Any, member: int, column: int, now: int, out: Outbox) -> None:
        """Count a member as heard, in this round and in all later ones."""
        add(me.gone, member)
        add(me.G, member)
        me.news = 1
        for k in range(me.neighbours.size):
            if me.neighbours[k] == member:
                me.reached[k] = LAST
        if me.iteration > 0:
            go_on(me, now, out)

    @kernel
    def timer(me: Any, now: int, out: Outbox) -> None:
        """Begin the next round after the pause; or repeat to the neighbours that are silent."""
        if me.iteration == 0:
            begin(me, now, out)
            return
        first = True
        for k in range(me.neighbours.size):
            if me.reached[k] >= me.iteration:
                continue
            if first:
                send(out, me.neighbours[k], REPEAT(me.round, me.iteration, me.M, me.G))
            else:
                send_again(out, me.neighbours[k])
            first = False
        if not first:
            wait_for_answers(me, now, out)

    return Kernels(
        init=plain.init,
        receive={**plain.receive, REPEAT: hear_repeat},
        gone=gone,
        timer=timer,
        sends=plain.sends,
        arrays=lambda sizes: 4,
    )
