"""A coordinator that asks all and then tells all: both are repeated to those who have not answered.

START is answered by ACK, as in the plain protocol, and INFO by a further message, ACK_INFO; an execution is
over when all of these are in.  A member that is gone counts as having answered.  When the coordinator itself
is gone, its successor begins an execution of its own (:mod:`~stablecast.protocols.layers.succession`).

Why a successor's execution is safe
    It waits for an ACK of this execution from each member of whose end it has not been told.  An ACK goes to
    whoever sent the START that it answers, so none of another coordinator's is among them.
What the others do
    They remember who is gone, should it be their turn, and do not answer the START of a coordinator that is.
    They need not know who coordinates: START and INFO come from whoever does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stablecast.compiling import kernel
from stablecast.frontier import copy_into
from stablecast.frontier.sets import has
from stablecast.protocols.contract import Kernels, Number, Outbox, few, finish, send, send_again
from stablecast.protocols.layers import (
    Answers,
    is_gone,
    is_new,
    one_to_each_if_guarded,
    resends,
    unfinish,
    wait_for_answers,
    wait_no_more,
)
from stablecast.protocols.layers.succession import succeed

IDLE, ASKING, TELLING = 0, 1, 2


class Star(Answers):
    """What the coordinator keeps, and each member should it become one."""

    phase: Number
    """What it waits for: nothing, ACKs, or ACK_INFOs."""
    missing: Number
    """Answers still to come, its own included."""


def around(
    plain: Kernels, count: Callable[..., None], START: Any, ACK: Any, INFO: Any, ACK_INFO: Any
) -> Kernels:
    """Wrap the kernels of a protocol with a coordinator; ``count`` is what it does for each ACK."""
    plain_start, on_start, on_ack, on_info = (
        plain.start,
        *(plain.receive[each] for each in (START, ACK, INFO)),
    )

    @kernel
    def start(me: Any, now: int, out: Outbox) -> None:
        """Ask everyone, and wait for the answers."""
        succeed(me)
        plain_start(me, now, out)
        if me.guarded:
            _wait_for_all(me, ASKING, now, out)

    @kernel
    def hear_start(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """Answer; the coordinator takes its own answer in once."""
        if is_gone(me, source):
            return
        if not me.guarded or source != me.number:
            _step_down(me, message.execution, out)
            on_start(me, source, message, now, out)
        elif _answers(me, ASKING, source, message.execution):
            on_start(me, source, message, now, out)
            _see_whether_asked(me, now, out)

    @kernel
    def hear_ack(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """Take in a first answer."""
        if not me.guarded:
            on_ack(me, source, message, now, out)
        elif _answers(me, ASKING, source, message.execution):
            on_ack(me, source, message, now, out)
            _see_whether_asked(me, now, out)

    @kernel
    def hear_info(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """Take in the result and confirm it; the coordinator waits for all confirmations."""
        if message.execution < me.execution:
            return
        on_info(me, source, message, now, out)
        if resends(me):
            if source == me.number:
                unfinish(out)
                _hear_told(me, source, message.execution, out)
            else:
                send(out, source, ACK_INFO(message.execution))

    @kernel
    def hear_ack_info(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        """Take in a confirmation."""
        _hear_told(me, source, message.execution, out)

    @kernel
    def gone(me: Any, member: int, column: int, now: int, out: Outbox) -> None:
        """Wait no more for a member."""
        if not is_new(me.gone, member):
            return
        me.gone_count += 1
        if not is_new(me.heard, member):
            return
        if me.phase == ASKING:
            count(me, out)
            _see_whether_asked(me, now, out)
        elif me.phase == TELLING:
            _count_told(me, out)

    @kernel
    def timer(me: Any, now: int, out: Outbox) -> None:
        """Repeat the question, or the result, to those who have not answered."""
        first = True
        for j in range(me.group_size):
            if j == me.number or has(me.heard, j):
                continue
            if not first:
                send_again(out, j)
            elif me.phase == ASKING:
                send(out, j, START(me.execution))
            else:
                send(out, j, INFO(me.execution, me.S))
            first = False
        wait_for_answers(me, now, out)

    return Kernels(
        start=start,
        receive={START: hear_start, ACK: hear_ack, INFO: hear_info, ACK_INFO: hear_ack_info},
        gone=gone,
        timer=timer,
        sends=one_to_each_if_guarded,
        arrays=few,
    )


@kernel
def _wait_for_all(me: Any, phase: int, now: int, out: Outbox) -> None:
    """Nobody has answered yet, and nobody waits for those who are gone."""
    me.phase = phase
    me.missing = me.group_size - me.gone_count
    copy_into(me.heard, me.gone)
    wait_for_answers(me, now, out)


@kernel
def _step_down(me: Any, execution: int, out: Outbox) -> None:
    """A coordinator that hears of a later one waits for nobody any more."""
    if execution > me.execution and me.phase != IDLE:
        me.phase = IDLE
        wait_no_more(out)


@kernel
def _answers(me: Any, phase: int, source: int, execution: int) -> bool:
    """Tell whether a message is a member's first answer to what the coordinator asks now."""
    return bool(execution >= me.execution and me.phase == phase and is_new(me.heard, source))


@kernel
def _see_whether_asked(me: Any, now: int, out: Outbox) -> None:
    """With all ACKs in, INFO is under way."""
    if me.missing == 0:
        _wait_for_all(me, TELLING, now, out)


@kernel
def _hear_told(me: Any, source: int, execution: int, out: Outbox) -> None:
    if _answers(me, TELLING, source, execution):
        _count_told(me, out)


@kernel
def _count_told(me: Any, out: Outbox) -> None:
    """With all ACK_INFOs in, the execution is over."""
    me.missing -= 1
    if me.missing == 0 and resends(me):
        me.phase = IDLE
        finish(out, me.execution)
        wait_no_more(out)
