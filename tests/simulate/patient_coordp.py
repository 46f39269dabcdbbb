"""patient_coordp: coordp whose coordinator asks again, by a timer, until everyone has answered.

A protocol from outside the package, with a timer and a set of members: it is here to test these, and would be
a poor one to use, because nobody repeats INFO.
"""

from __future__ import annotations

from typing import NamedTuple

from stablecast.frontier import copy_into, take_minimum
from stablecast.frontier.sets import add, clear, has, is_full
from stablecast.protocols.contract import (
    GROUP,
    NEVER,
    Kernels,
    Member,
    Members,
    Number,
    Outbox,
    Protocol,
    Round,
    Sources,
    Started,
    declare_stable,
    few,
    finish,
    kernel,
    send,
    set_timer,
)

COORDINATOR = 0
PATIENCE_PS = 20_000_000_000


class State(Member):
    """What a member keeps; all but the first is the coordinator's."""

    execution: Number
    S: Sources
    answered: Members


class START(NamedTuple):
    """The coordinator asks for everyone's array."""

    execution: Round


class ACK(NamedTuple):
    """What a member has received."""

    execution: Round
    R: Sources


class INFO(NamedTuple):
    """What everyone has received."""

    execution: Round
    S: Sources


@kernel
def start(me: State, now: int, out: Outbox) -> None:
    me.execution += 1
    copy_into(me.S, me.received)
    clear(me.answered)
    ask(me, now, out)


@kernel
def ask(me: State, now: int, out: Outbox) -> None:
    send(out, GROUP, START(me.execution))
    set_timer(out, now + PATIENCE_PS)


@kernel
def on_start(me: State, source: int, message: START, now: int, out: Outbox) -> None:
    if message.execution >= me.execution:
        me.execution = message.execution
        send(out, COORDINATOR, ACK(message.execution, me.received))


@kernel
def on_ack(me: State, source: int, message: ACK, now: int, out: Outbox) -> None:
    if message.execution < me.execution or has(me.answered, source):
        return
    add(me.answered, source)
    take_minimum(me.S, message.R)
    if is_full(me.answered, me.group_size):
        set_timer(out, NEVER)
        send(out, GROUP, INFO(message.execution, me.S))


@kernel
def on_info(me: State, source: int, message: INFO, now: int, out: Outbox) -> None:
    if message.execution >= me.execution:
        me.execution = message.execution
        declare_stable(me, out, message.execution, message.S)
        finish(out, message.execution)


PROTOCOL = Protocol(
    about=__doc__,
    paper="none",
    state=State,
    kernels=Kernels(start=start, timer=ask, receive={START: on_start, ACK: on_ack, INFO: on_info}, sends=few),
    runs=Started(),
)
