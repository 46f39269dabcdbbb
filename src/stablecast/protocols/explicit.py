"""explicit: every member acknowledges every message to its sender.

Promise
    What a sender calls stable, all its receivers have.  Others learn nothing.
How it works
    A member that gets a message tells its sender the number up to which it has all.  A sender whose messages
    are not acknowledged after ``ack_every`` asks those that have not done so, in case an answer was lost.
Why it is safe
    An acknowledgement is what its sender has, and prefixes only grow.
Cost
    A message of a header and a number for each receiver and data message.
Paper
    Timestamp Acknowledgments for Determining Message Stability, section 1: the simplest way.
"""

from __future__ import annotations

from typing import NamedTuple

from stablecast.frontier.tournament import number_of
from stablecast.protocols._known_prefixes import (
    Knowing,
    begin_to_know,
    declare_known,
    learn_prefix,
    stop_waiting_for,
)
from stablecast.protocols._receivers import ACK_EVERY, KNOW_OWN, place_receivers
from stablecast.protocols.contract import (
    NEVER,
    Acknowledging,
    Column,
    Kernels,
    Number,
    Outbox,
    Protocol,
    Role,
    hidden,
    kernel,
    send,
    set_timer,
)


class State(Knowing):
    """What receivers are known to have of one's own messages."""

    sent_before: Number
    """The last message of its own when the timer went off before."""


class ACK(NamedTuple):
    """What a member has of the sender that this is for."""

    column: Column
    number: Number


class ASK(NamedTuple):
    """A sender asks for an acknowledgement."""

    column: Column


@kernel
def init(me: State, now: int, out: Outbox) -> None:
    """Answer what comes; a sender also looks, every so often, whether all have answered."""
    begin_to_know(me)
    set_timer(out, now + me.params.ack_every if me.column >= 0 else NEVER)


@kernel
def take(me: State, column: int, source: int, before: int, now: int, out: Outbox) -> None:
    """Acknowledge a message to its sender."""
    send(out, source, ACK(column, me.received[column]))


@kernel
def on_ack(me: State, source: int, message: ACK, now: int, out: Outbox) -> None:
    """The sender takes in an acknowledgement."""
    if me.column >= 0:
        learn_prefix(me, message.column, source, message.number)
        declare_known(me, out)


@kernel
def timer(me: State, now: int, out: Outbox) -> None:
    """Ask those that have not acknowledged what was sent before the last time."""
    if me.stable[me.column] < me.sent_before:
        for member in range(me.group_size):
            if number_of(me.known[0], member) < me.sent_before:
                send(out, member, ASK(me.column))
    me.sent_before = me.received[me.column]
    set_timer(out, now + me.params.ack_every)
    declare_known(me, out)  # nobody may be left to wait for


@kernel
def on_ask(me: State, source: int, message: ASK, now: int, out: Outbox) -> None:
    """Answer the sender's question."""
    send(out, source, ACK(message.column, me.received[message.column]))


@kernel
def gone(me: State, member: int, column: int, now: int, out: Outbox) -> None:
    """Wait no longer for a member."""
    if me.column >= 0:
        stop_waiting_for(me, member)
        declare_known(me, out)


PROTOCOL = Protocol(
    about=__doc__,
    paper="timestamp, section 1",
    state=State,
    kernels=Kernels(
        init=init,
        take=take,
        receive={ACK: on_ack, ASK: on_ask},
        timer=timer,
        gone=gone,
        sends=lambda sizes: sizes.group,
        arrays=lambda sizes: 1,
    ),
    runs=Acknowledging(
        knows=lambda sizes: "own",
        groups_may_differ=True,
        operations="operations",
        execution_messages=lambda group: float(group * group),
    ),
    parameters=(ACK_EVERY, hidden("know", Role.DERIVED, KNOW_OWN)),
    places=place_receivers,
)
