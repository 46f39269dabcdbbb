"""Members that all tell each other: who lacks another's array asks for it by sending its own again.

Until it has everyone's INFO, a member sends its own again, as a REPEAT, to those whose INFO it lacks, and a
REPEAT is answered with an INFO, also by a member that is through with that execution: without the answer
the first member could wait for ever (``docs/errata.md``).  Nobody waits for a member that is gone; when the
first one is, any INFO asks for the own one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

from stablecast.compiling import kernel
from stablecast.frontier import copy_into
from stablecast.frontier.sets import has
from stablecast.protocols.contract import (
    IntArray,
    Kernels,
    Member,
    Number,
    Outbox,
    few,
    guarded,
    members,
    send,
    send_again,
)
from stablecast.protocols.layers import is_new, one_to_each_if_guarded, wait_for_answers, wait_no_more

FIRST = 0


class Exchanging(Member):
    """What a member remembers of the others."""

    heard: Annotated[IntArray, members(rows=2, when=guarded)]
    """Those whose array has come, or who are gone, of even and of odd executions."""
    gone: Annotated[IntArray, members(when=guarded)]
    gone_count: Number


class Pieces(NamedTuple):
    """Kernels of the plain protocol that the layer calls."""

    advance: Callable[..., None]
    send_own: Callable[..., None]
    take_in: Callable[..., None]
    count_in: Callable[..., None]


def among_all(plain: Kernels, pieces: Pieces, INFO: Any, REPEAT: Any) -> Kernels:
    """Wrap the kernels of a protocol in which each member multicasts its array."""
    plain_start, on_info = plain.start, plain.receive[INFO]
    plain_advance, send_own, take_in, count = pieces

    @kernel
    def forget(me: Any, slot: int) -> None:
        """Nobody has been heard of in an execution, and nobody waits for those who are gone."""
        me.through[slot] = me.gone_count
        copy_into(me.heard[slot], me.gone)

    @kernel
    def advance(me: Any, execution: int) -> None:
        """Enter an execution."""
        before = me.execution
        plain_advance(me, execution)
        if execution > before + 1:
            forget(me, (execution + 1) % 2)
        forget(me, execution % 2)

    @kernel
    def tell(me: Any, now: int, out: Outbox) -> None:
        """Multicast the own array, once, and wait for those of the others."""
        if me.sent < me.execution:
            send_own(me, out)
            wait_for_answers(me, now, out)

    @kernel
    def start(me: Any, now: int, out: Outbox) -> None:
        """Begin the next execution."""
        plain_start(me, now, out)
        if me.guarded:
            forget(me, me.execution % 2)
            wait_for_answers(me, now, out)

    @kernel
    def see_whether_through(me: Any, execution: int, out: Outbox) -> None:
        """With all arrays of the current execution in, wait no more."""
        if me.through[execution % 2] == me.group_size and execution == me.execution:
            wait_no_more(out)

    @kernel
    def enter(me: Any, source: int, execution: int, now: int, out: Outbox) -> bool:
        """Enter the execution of a message and answer it; tell whether it is not an old one."""
        if execution < me.execution - 1:
            return False
        if execution > me.execution:
            advance(me, execution)
        if execution == me.execution and (source == FIRST or has(me.gone, FIRST)):
            tell(me, now, out)
        return True

    @kernel
    def hear(me: Any, source: int, execution: int, array: IntArray, out: Outbox) -> None:
        """Take in a member's first array."""
        if is_new(me.heard[execution % 2], source):
            take_in(me, execution, array, out)
            see_whether_through(me, execution, out)

    @kernel
    def hear_info(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """Take in a member's array."""
        if not me.guarded:
            on_info(me, source, message, now, out)
        elif enter(me, source, message.execution, now, out):
            hear(me, source, message.execution, message.R, out)

    @kernel
    def hear_repeat(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """Take it in and answer with the own array: its sender lacks it."""
        if me.guarded and enter(me, source, message.execution, now, out):
            send(out, source, INFO(message.execution, me.received))
            hear(me, source, message.execution, message.R, out)

    @kernel
    def gone(me: Any, member: int, column: int, now: int, out: Outbox) -> None:
        """Wait no more for a member; when it was the first one, answer in its place."""
        if not is_new(me.gone, member):
            return
        me.gone_count += 1
        if me.execution > 0 and member == FIRST:
            tell(me, now, out)
        for execution in range(max(me.execution - 1, 1), me.execution + 1):
            if is_new(me.heard[execution % 2], member):
                count(me, execution, out)
                see_whether_through(me, execution, out)

    @kernel
    def timer(me: Any, now: int, out: Outbox) -> None:
        """Repeat the own array to those whose array is missing."""
        first = True
        for j in range(me.group_size):
            if j == me.number or has(me.heard[me.execution % 2], j):
                continue
            if first:
                send(out, j, REPEAT(me.execution, me.received))
            else:
                send_again(out, j)
            first = False
        wait_for_answers(me, now, out)

    return Kernels(
        start=start,
        receive={INFO: hear_info, REPEAT: hear_repeat},
        gone=gone,
        timer=timer,
        sends=one_to_each_if_guarded,
        arrays=few,
    )
