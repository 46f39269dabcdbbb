"""Arrays that are handed from member to member: each hop is repeated until the next member confirms it.

A train is confirmed by GOT, on the ring's second tour by GOT_INFO; START at a first child, which a tree's
inner member repeats, by GOT_START; INFO and ACK_INFO are as in :mod:`~stablecast.protocols.layers.tree`.
A train that comes again is confirmed again, and nothing else.  Among siblings the result confirms all trains
and STARTs of its execution, since it was made of them; S is the result from then on, and no train.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stablecast.compiling import kernel
from stablecast.protocols.contract import Kernels, Member, Number, Outbox, few, send, send_again
from stablecast.protocols.layers import (
    one_to_each_if_guarded,
    resends,
    tree,
    wait_for_answers,
    wait_no_more,
)
from stablecast.protocols.layers.rebuilt import next_asked

FIRST = 0
NOTHING, ON_START, ON_ACK, ON_INFO = 0, 1, 2, 3  # which train the next member of a ring has not confirmed
# Flags of a sibling: the train of the one before it, or START, is in; the last child's is in; its own train,
# and START at its first child, are still to be confirmed.
FROM_BEFORE, FROM_BELOW, TRAIN_OUT, START_OUT = 1, 2, 4, 8


class Passenger(Member):
    """What a member of a ring remembers."""

    tours: Number
    """Tours of this execution on which the train was here."""
    unconfirmed: Number
    """The train that the next member has not confirmed."""


def round_a_ring(plain: Kernels, START: Any, ACK: Any, INFO: Any, GOT: Any, GOT_INFO: Any) -> Kernels:
    """Wrap the kernels of a protocol in which a train goes round a ring twice."""
    plain_start, on_ack, on_info = plain.start, plain.receive[ACK], plain.receive[INFO]

    @kernel
    def start(me: Any, now: int, out: Outbox) -> None:
        """Send the first train, and wait for its confirmation."""
        plain_start(me, now, out)
        me.tours = 0
        _passed_on(me, ON_START, now, out)

    @kernel
    def hear_train(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """Confirm a train; take it in and pass it on once."""
        if not me.guarded:
            on_ack(me, source, message, now, out)
        elif _is_current(me, message.execution):
            if resends(me):
                send(out, source, GOT(message.execution))
            if me.tours < 1:
                me.tours = 1
                on_ack(me, source, message, now, out)
                _passed_on(me, ON_INFO if me.number == FIRST else ON_ACK, now, out)

    @kernel
    def hear_info(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """Confirm the result; take it in and pass it on once."""
        if not me.guarded:
            on_info(me, source, message, now, out)
        elif _is_current(me, message.execution):
            if resends(me):
                send(out, source, GOT_INFO(message.execution))
            if me.tours < 2:
                me.tours = 2
                on_info(me, source, message, now, out)
                if me.number != FIRST:
                    _passed_on(me, ON_INFO, now, out)

    @kernel
    def hear_got(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """The next member has the train of this tour."""
        if _is_current(me, message.execution) and (me.unconfirmed == ON_START or me.unconfirmed == ON_ACK):
            me.unconfirmed = NOTHING
            wait_no_more(out)

    @kernel
    def hear_got_info(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """The next member has the result."""
        if _is_current(me, message.execution) and me.unconfirmed == ON_INFO:
            me.unconfirmed = NOTHING
            wait_no_more(out)

    @kernel
    def timer(me: Any, now: int, out: Outbox) -> None:
        """Repeat what was not confirmed."""
        if me.unconfirmed == ON_START:
            send(out, me.next, START(me.execution, me.S))
        elif me.unconfirmed == ON_ACK:
            send(out, me.next, ACK(me.execution, me.S))
        else:
            send(out, me.next, INFO(me.execution, me.S))
        wait_for_answers(me, now, out)

    handlers = (hear_train, hear_train, hear_info, hear_got, hear_got_info)
    messages = (START, ACK, INFO, GOT, GOT_INFO)
    receive = dict(zip(messages, handlers, strict=True))
    return Kernels(start=start, receive=receive, timer=timer, sends=few)


@kernel
def _is_current(me: Any, execution: int) -> bool:
    """Ignore an older execution, and enter a newer one."""
    if execution > me.execution:
        me.execution = execution
        me.tours = 0
        me.unconfirmed = NOTHING
    return bool(execution == me.execution)


@kernel
def _passed_on(me: Any, train: int, now: int, out: Outbox) -> None:
    """The plain kernel has sent a train to the next member."""
    if resends(me):
        me.unconfirmed = train
        wait_for_answers(me, now, out)


class Sibling(tree.Asking):
    """What a member of a tree remembers."""

    flags: Number


class Messages(NamedTuple):
    """The messages of such a protocol."""

    START: Any
    ACK1: Any
    ACK2: Any
    INFO: Any
    GOT: Any
    GOT_START: Any
    ACK_INFO: Any


def among_siblings(
    plain: Kernels, plain_advance: Callable[..., None], pass_on: Callable[..., None], messages: Messages
) -> Kernels:
    """Wrap the kernels of a protocol in which trains run through siblings and climb a tree."""
    START, ACK1, _, INFO, GOT, GOT_START, ACK_INFO = messages
    plain_start, on_start, on_ack, on_info = (
        plain.start,
        *(plain.receive[each] for each in (START, ACK1, INFO)),
    )

    @kernel
    def begin(me: Any, now: int, out: Outbox) -> None:
        """Nothing of this execution has come; the first child is to confirm START."""
        me.phase = tree.WAITING
        me.flags = 0
        if resends(me) and me.children > 0:
            me.flags = START_OUT
            wait_for_answers(me, now, out)

    @kernel
    def advance(me: Any, execution: int, now: int, out: Outbox) -> None:
        """Enter an execution."""
        plain_advance(me, execution)
        begin(me, now, out)

    told = tree.telling(on_info, advance, ACK_INFO)
    tell_info, tell_ack_info, _ = told

    @kernel
    def is_current(me: Any, execution: int, now: int, out: Outbox) -> bool:
        """Ignore an older execution, and enter a newer one."""
        if execution > me.execution:
            advance(me, execution, now, out)
        return bool(execution == me.execution)

    @kernel
    def start(me: Any, now: int, out: Outbox) -> None:
        """Send the first train, and wait for its confirmation."""
        plain_start(me, now, out)
        if me.guarded:
            begin(me, now, out)

    @kernel
    def see_whether_passed_on(me: Any, now: int, out: Outbox) -> None:
        """A train is under way, and is to be confirmed."""
        if me.missing == 0 and me.parent >= 0 and resends(me):
            me.flags |= TRAIN_OUT
            wait_for_answers(me, now, out)

    @kernel
    def hear_start(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """Confirm START to the parent; take it in once."""
        if not me.guarded:
            on_start(me, source, message, now, out)
        elif is_current(me, message.execution, now, out) and me.previous < 0:
            if resends(me) and me.parent >= 0:
                send(out, me.parent, GOT_START(message.execution))
            if not me.flags & FROM_BEFORE:
                me.flags |= FROM_BEFORE
                on_start(me, source, message, now, out)
                see_whether_passed_on(me, now, out)

    @kernel
    def hear_train(me: Any, source: int, message: Any, part: int, now: int, out: Outbox) -> None:
        """Confirm a train; take it in and pass it on once."""
        if not me.guarded:
            on_ack(me, source, message, now, out)
        elif is_current(me, message.execution, now, out):
            if resends(me):
                send(out, source, GOT(message.execution))
            if not me.flags & part:
                me.flags |= part
                on_ack(me, source, message, now, out)
                see_whether_passed_on(me, now, out)

    @kernel
    def hear_ack1(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """A train of the previous sibling."""
        hear_train(me, source, message, FROM_BEFORE, now, out)

    @kernel
    def hear_ack2(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """A train of the last child."""
        hear_train(me, source, message, FROM_BELOW, now, out)

    @kernel
    def hear_info(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """Confirm the result; take it in and pass it on once."""
        if not me.guarded:
            on_info(me, source, message, now, out)
            return
        tell_info(me, source, message, now, out)
        if me.phase >= tree.TELLING:
            me.flags &= ~(TRAIN_OUT | START_OUT)

    @kernel
    def hear_got(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """The next member has the train of this tour."""
        if is_current(me, message.execution, now, out):
            me.flags &= ~TRAIN_OUT

    @kernel
    def hear_got_start(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """The first child has START."""
        if is_current(me, message.execution, now, out):
            me.flags &= ~START_OUT

    @kernel
    def tell_children(me: Any, out: Outbox) -> None:
        """Repeat the result to the children that have not confirmed it."""
        first, child = True, next_asked(me, -1)
        while child >= 0:
            if first:
                send(out, child, INFO(me.execution, me.S))
            else:
                send_again(out, child)
            first, child = False, next_asked(me, child)

    @kernel
    def timer(me: Any, now: int, out: Outbox) -> None:
        """Repeat what was not confirmed."""
        flags = me.flags
        if flags & START_OUT:
            send(out, me.first_child, START(me.execution))
        if flags & TRAIN_OUT:
            pass_on(me, out)
        if me.phase == tree.TELLING:
            tell_children(me, out)
        if flags & (START_OUT | TRAIN_OUT) or me.phase == tree.TELLING:
            wait_for_answers(me, now, out)

    handlers = (hear_start, hear_ack1, hear_ack2, hear_info, hear_got, hear_got_start, tell_ack_info)
    receive = dict(zip(messages, handlers, strict=True))
    return Kernels(start=start, receive=receive, timer=timer, sends=one_to_each_if_guarded, arrays=few)


__all__ = ["Messages", "Passenger", "Sibling", "among_siblings", "round_a_ring"]
