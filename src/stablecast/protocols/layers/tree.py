"""Members of a tree that see to their own children, and repeat to silent ones what they asked or told them.

A member that waits for children's ACKs sends START to them again; one that has reported answers a START with
its ACK again.  INFO likewise: a member passes it on until each child has sent its ACK_INFO, and sends its own
to the parent when all of those are in.

With ``pull``
    Nobody confirms INFO.  A member that has reported repeats its ACK until INFO is in, and a parent that has
    the result answers an ACK with it.  So a lost START is repeated by the parent, a lost ACK by either, and a
    lost INFO is asked for by who lacks it; whoever waits for something has a timer.  An execution has three
    messages for each member instead of four, and is over for the root when the result is known: the next one
    can begin while INFO still travels, and what is lost of it comes with the next result.
    A repeated ACK may hold more than the first one; it is a report of its sender in this execution either
    way, and a parent takes in one of them.

When members are gone
    Their children hang under the nearest ancestor that is left, or under the coordinator
    (:mod:`~stablecast.protocols.layers.rebuilt`, with why that is safe).  The execution is repaired, not
    begun anew: reports that are in count.  A member that has another parent now reports to that one again, or
    confirms INFO again.  One that has taken over children asks them, or tells them, where START and INFO are
    passed on.  Only when the root is gone there is a new execution
    (:mod:`~stablecast.protocols.layers.succession`).
What is true
    Until a member has reported, ``missing`` is the number of its children whose answers are still to come,
    and 1 more before START is in.  While it tells them the result, ``untold`` is the number of those that
    have not confirmed it.  A report of a member that is not a child yet is in ``heard`` and in the minimum,
    and changes neither number.  A report that comes after the detector's word about its sender is dropped:
    the members below that sender are asked themselves by then.
    The result that a member tells its children is at least what it calls stable, which everyone has: with
    ``changed_only`` a receiver that lacks an earlier array of the root, and had that result of its parent,
    gets less of the next one than it knows already.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stablecast.compiling import kernel
from stablecast.frontier import copy_into, raise_to
from stablecast.frontier.sets import clear
from stablecast.protocols._tree import TreeMember
from stablecast.protocols.contract import (
    Kernels,
    Number,
    Outbox,
    Role,
    few,
    finish,
    gather,
    hidden,
    send,
    send_again,
)
from stablecast.protocols.layers import is_gone, is_new, resends, unfinish, wait_for_answers, wait_no_more
from stablecast.protocols.layers.rebuilt import (
    count_asked,
    is_asked,
    is_below,
    is_child,
    next_asked,
    parent_of,
)
from stablecast.protocols.layers.succession import coordinates, coordinator_of, succeed

WAITING, ASKING, REPORTED, TELLING, DONE = 0, 1, 2, 3, 4
Kernel = Callable[..., Any]
PULL = hidden("pull", Role.PULL)
"""The parameter of protocols that can ask for a lost result."""


class Asking(TreeMember):
    """How far a member is with its children."""

    phase: Number
    """START is to come; children's reports are to come; it has reported; children are told; all are told."""
    untold: Number
    """Children that have not confirmed the result."""
    rebuilt: Number
    """Whether its children are others than in the first tree."""


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
        if me.phase == TELLING and resends(me) and me.untold == 0:
            me.phase = DONE
            finish(out, me.execution)
            wait_no_more(out)
            if not coordinates(me):
                send(out, parent_of(me), ACK_INFO(me.execution))

    @kernel
    def hear_info(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """Take in the result, or confirm it again; the children are to confirm it first."""
        if message.execution < me.execution:
            return
        if message.execution > me.execution:
            advance(me, message.execution, now, out)
        if me.phase >= TELLING:
            if me.phase == DONE and resends(me) and not coordinates(me):
                send(out, parent_of(me), ACK_INFO(message.execution))
            return
        me.phase = TELLING
        clear(me.heard)
        copy_into(me.S, message.S)
        raise_to(me.S, me.stable)
        on_info(me, source, message, now, out)
        if resends(me):
            unfinish(out)
            me.untold = count_asked(me)
            wait_for_answers(me, now, out)
            see_whether_told(me, out)

    @kernel
    def hear_ack_info(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """Take in a child's confirmation."""
        if message.execution < me.execution:
            return
        if message.execution > me.execution:
            advance(me, message.execution, now, out)
        if me.phase == TELLING and not is_gone(me, source):
            asked = is_asked(me, source)
            if is_new(me.heard, source) and asked:
                me.untold -= 1
                see_whether_told(me, out)

    return Telling(hear_info, hear_ack_info, see_whether_told)


def asking(plain: Kernels, asked: Asked, messages: Messages) -> Kernels:
    """Wrap the kernels of a protocol whose members ask their children."""
    plain_start, on_start, on_ack = plain.start, plain.receive[messages.START], plain.receive[messages.ACK]
    on_info = plain.receive[messages.INFO]
    plain_advance, count, report, ask_children, tell_children = asked
    START, _, INFO, ACK_INFO = messages

    @kernel
    def advance(me: Any, execution: int, now: int, out: Outbox) -> None:
        """Enter an execution."""
        plain_advance(me, execution)
        _begin(me)

    told = telling(on_info, advance, ACK_INFO)
    tell_info, tell_ack_info, see_whether_told = told

    @kernel
    def start(me: Any, now: int, out: Outbox) -> None:
        """Begin the next execution."""
        succeed(me)
        plain_start(me, now, out)
        if me.guarded:
            _begin(me)

    @kernel
    def see_whether_reported(me: Any, now: int, out: Outbox) -> None:
        """With everything in, the report is under way; who pulls repeats it until the result is in."""
        if me.missing == 0:
            me.phase = REPORTED
            wait_no_more(out)
            if me.params.pull and not coordinates(me):
                wait_for_answers(me, now, out)

    @kernel
    def hear_start(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """Ask the children, once; one that has reported reports again."""
        if not me.guarded:
            on_start(me, source, message, now, out)
            return
        if message.execution < me.execution or is_gone(me, coordinator_of(message.execution)):
            return
        if message.execution > me.execution:
            advance(me, message.execution, now, out)
        if me.phase == REPORTED and resends(me):
            report(me, out)
        if me.phase == WAITING:
            me.phase = ASKING
            wait_for_answers(me, now, out)
            on_start(me, source, message, now, out)
            see_whether_reported(me, now, out)

    @kernel
    def hear_ack(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """Take in a child's first report; keep one of a member that may become a child."""
        if not me.guarded:
            on_ack(me, source, message, now, out)
            return
        if message.execution < me.execution or is_gone(me, source):
            return
        if message.execution > me.execution:
            advance(me, message.execution, now, out)
        if me.phase >= REPORTED:
            if me.params.pull and me.phase == DONE:
                send(out, source, INFO(me.execution, me.S))
            return
        counts = is_asked(me, source)
        if not is_new(me.heard, source):
            return
        if counts:
            on_ack(me, source, message, now, out)
            see_whether_reported(me, now, out)
        else:
            gather(me.S, message.S, me.gathered == 0)
            me.gathered += 1

    @kernel
    def pull_info(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """Take in the result, once, and pass it on; a child that does not get it asks for it."""
        if message.execution < me.execution:
            return
        if message.execution > me.execution:
            advance(me, message.execution, now, out)
        if me.phase != DONE:
            me.phase = DONE
            clear(me.heard)
            copy_into(me.S, message.S)
            on_info(me, source, message, now, out)
            wait_no_more(out)

    @kernel
    def hear_info(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """Take in the result; the children are to confirm it, or ask for it."""
        if not me.guarded:
            on_info(me, source, message, now, out)
        elif me.params.pull:
            pull_info(me, source, message, now, out)
        else:
            tell_info(me, source, message, now, out)

    @kernel
    def ask_those_below(me: Any, member: int, out: Outbox) -> None:
        """Ask the children that hung under a member which is gone."""
        child = next_asked(me, -1)
        while child >= 0:
            if is_below(me, child, member):
                send(out, child, START(me.execution))
            child = next_asked(me, child)

    @kernel
    def tell_those_below(me: Any, member: int, out: Outbox) -> None:
        """Tell them the result."""
        first, child = True, next_asked(me, -1)
        while child >= 0:
            if is_below(me, child, member):
                if first:
                    send(out, child, INFO(me.execution, me.S))
                else:
                    send_again(out, child)
                first = False
            child = next_asked(me, child)

    @kernel
    def lose_child(me: Any, member: int, now: int, out: Outbox) -> None:
        """Wait for those below a child that is gone in its place, unless its own answer is in."""
        me.rebuilt = 1
        if me.phase < REPORTED:
            if me.params.relay and me.phase == ASKING:
                ask_those_below(me, member, out)
            me.missing = count_asked(me) + (me.phase == WAITING) + 1
            count(me, out)
            see_whether_reported(me, now, out)
        elif me.phase == TELLING:
            if me.params.relay:
                tell_those_below(me, member, out)
            me.untold = count_asked(me)
            see_whether_told(me, out)

    @kernel
    def lose_parent(me: Any, out: Outbox) -> None:
        """Tell another parent what this member told the one that is gone; behind the coordinator is none."""
        parent = parent_of(me)
        if is_gone(me, parent):
            return
        if me.phase == REPORTED:
            report(me, out)
        elif me.phase == DONE and not me.params.pull:
            send(out, parent, ACK_INFO(me.execution))

    @kernel
    def gone(me: Any, member: int, column: int, now: int, out: Outbox) -> None:
        """Repair the tree around a member that is gone."""
        parent, was_child = parent_of(me), is_child(me, member)
        if not is_new(me.gone, member):
            return
        me.gone_count += 1
        if was_child and me.execution > 0:
            lose_child(me, member, now, out)
        elif was_child:
            me.rebuilt = 1
        elif member == parent and me.execution > 0:
            lose_parent(me, out)

    @kernel
    def timer(me: Any, now: int, out: Outbox) -> None:
        """Repeat the question, or the result, to the children that have not answered, or the own answer."""
        if me.phase == ASKING:
            ask_children(me, out)
        elif me.phase == REPORTED:
            report(me, out)
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
    """A new execution: nobody has answered yet, and all before its coordinator are gone."""
    me.phase = WAITING
    clear(me.heard)
    for j in range(coordinator_of(me.execution)):
        if is_new(me.gone, j):
            me.gone_count += 1
    if me.number > 0 and coordinates(me):
        me.rebuilt = 1
    if me.rebuilt:
        me.missing = 1 + count_asked(me)
