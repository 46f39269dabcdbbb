"""Members of a tree that see to their own children, and repeat to silent ones what they asked or told them.

A member that waits for children's ACKs sends START to them again; one that has reported answers a START with
its ACK again.  INFO likewise: a member passes it on until each child has sent its ACK_INFO, and sends its own
to the parent when all of those are in.  A leaf that is gone is no longer waited for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stablecast.compiling import kernel
from stablecast.frontier import copy_into
from stablecast.protocols._tree import TreeMember, rank_of
from stablecast.protocols.contract import Kernels, Number, Outbox, few, finish, send
from stablecast.protocols.layers import is_new, resends, unfinish, wait_for_answers, wait_no_more

WAITING, ASKING, REPORTED, TELLING, DONE = 0, 1, 2, 3, 4
Kernel = Callable[..., Any]


class Asking(TreeMember):
    """How far a member is with its children."""

    phase: Number
    """START is to come; children's reports are to come; it has reported; children are told; all are told."""
    told: Number
    """Children that know the result, or are gone."""


class Messages(NamedTuple):
    """The messages of such a protocol."""

    START: Any
    ACK: Any
    INFO: Any
    ACK_INFO: Any


class Asked(NamedTuple):
    """Further kernels of the plain protocol that the layer calls."""

    advance: Kernel
    count: Kernel
    report: Kernel
    ask_children: Kernel
    tell_children: Kernel


class Telling(NamedTuple):
    """Kernels that see to it that a result comes to all children."""

    hear_info: Kernel
    hear_ack_info: Kernel
    see_whether_told: Kernel


def telling(on_info: Kernel, advance: Kernel, ACK_INFO: Any) -> Telling:
    """Wrap what a member does with a result: its children are to confirm it before it confirms it itself."""

    @kernel
    def see_whether_told(me: Any, out: Outbox) -> None:
        """With all children told, be through and confirm it to the parent."""
        if me.phase == TELLING and resends(me) and me.told == me.children:
            me.phase = DONE
            finish(out, me.execution)
            wait_no_more(out)
            if me.parent >= 0:
                send(out, me.parent, ACK_INFO(me.execution))

    @kernel
    def hear_info(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """Take in the result, or confirm it again; the children are to confirm it first."""
        if message.execution < me.execution:
            return
        if message.execution > me.execution:
            advance(me, message.execution, now, out)
        if me.phase >= TELLING:
            if me.phase == DONE and resends(me) and me.parent >= 0:
                send(out, me.parent, ACK_INFO(message.execution))
            return
        me.phase = TELLING
        copy_into(me.heard, me.gone)
        copy_into(me.S, message.S)
        on_info(me, source, message, now, out)
        if resends(me):
            unfinish(out)
            me.told = me.gone_count
            wait_for_answers(me, now, out)
            see_whether_told(me, out)

    @kernel
    def hear_ack_info(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """Take in a child's confirmation."""
        if message.execution < me.execution:
            return
        if message.execution > me.execution:
            advance(me, message.execution, now, out)
        rank = rank_of(me, source)
        if me.phase == TELLING and rank >= 0 and is_new(me.heard, rank):
            me.told += 1
            see_whether_told(me, out)

    return Telling(hear_info, hear_ack_info, see_whether_told)


def asking(plain: Kernels, asked: Asked, messages: Messages) -> Kernels:
    """Wrap the kernels of a protocol whose members ask their children."""
    plain_start, on_start, on_ack = plain.start, plain.receive[messages.START], plain.receive[messages.ACK]
    on_info = plain.receive[messages.INFO]
    plain_advance, count, report, ask_children, tell_children = asked

    @kernel
    def advance(me: Any, execution: int, now: int, out: Outbox) -> None:
        """Enter an execution."""
        plain_advance(me, execution)
        _begin(me)

    told = telling(on_info, advance, messages.ACK_INFO)
    tell_info, tell_ack_info, see_whether_told = told

    @kernel
    def start(me: Any, now: int, out: Outbox) -> None:
        """Begin the next execution."""
        plain_start(me, now, out)
        if me.guarded:
            _begin(me)

    @kernel
    def see_whether_reported(me: Any, out: Outbox) -> None:
        """With everything in, the report is under way."""
        if me.missing == 0:
            me.phase = REPORTED
            wait_no_more(out)

    @kernel
    def hear_start(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """Ask the children, once; one that has reported reports again."""
        if not me.guarded:
            on_start(me, source, message, now, out)
            return
        if message.execution < me.execution:
            return
        if message.execution > me.execution:
            advance(me, message.execution, now, out)
        if me.phase == REPORTED and resends(me):
            report(me, out)
        if me.phase == WAITING:
            me.phase = ASKING
            wait_for_answers(me, now, out)
            on_start(me, source, message, now, out)
            see_whether_reported(me, out)

    @kernel
    def hear_ack(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """Take in a child's first report."""
        if not me.guarded:
            on_ack(me, source, message, now, out)
            return
        if message.execution < me.execution:
            return
        if message.execution > me.execution:
            advance(me, message.execution, now, out)
        rank = rank_of(me, source)
        if me.phase < REPORTED and rank >= 0 and is_new(me.heard, rank):
            on_ack(me, source, message, now, out)
            see_whether_reported(me, out)

    @kernel
    def hear_info(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """Take in the result, or confirm it again; the children are to confirm it first."""
        if me.guarded:
            tell_info(me, source, message, now, out)
        else:
            on_info(me, source, message, now, out)

    @kernel
    def gone(me: Any, member: int, column: int, now: int, out: Outbox) -> None:
        """Wait no more for a child that has no children."""
        rank = rank_of(me, member)
        if rank < 0 or me.inner[rank] or not is_new(me.gone, rank):
            return
        me.gone_count += 1
        if me.execution == 0 or not is_new(me.heard, rank):
            return
        if me.phase < REPORTED:
            count(me, out)
            see_whether_reported(me, out)
        elif me.phase == TELLING:
            me.told += 1
            see_whether_told(me, out)

    @kernel
    def timer(me: Any, now: int, out: Outbox) -> None:
        """Repeat the question, or the result, to the children that have not answered."""
        if me.phase == ASKING:
            ask_children(me, out)
        elif me.phase == TELLING:
            tell_children(me, me.S, out)
        wait_for_answers(me, now, out)

    handlers = (hear_start, hear_ack, hear_info, tell_ack_info)
    return Kernels(
        start=start,
        receive=dict(zip(messages, handlers, strict=True)),
        gone=gone,
        timer=timer,
        sends=plain.sends,
        arrays=few,
    )


@kernel
def _begin(me: Any) -> None:
    """A new execution: nobody has answered yet, and nobody waits for those who are gone."""
    me.missing -= me.gone_count
    me.phase = WAITING
    copy_into(me.heard, me.gone)
