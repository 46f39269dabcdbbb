"""fulldist: every member multicasts its array, every member takes the minimum.

Promise
    A member calls a message stable only after every member had received it.
Why it is safe
    A member declares the minimum over one INFO of each member, all of the same execution; each INFO is a
    copy of what its sender had then received, and received prefixes only grow.
Cost
    2 rounds and n multicasts: n(n - 1) messages on the hops of a tree, n + 1 handled by every member.
How it is kept small
    The paper's n × n matrix is replaced by its column minima.  A row is only ever used in a minimum over
    rows of one execution, so a running minimum and a count say the same.  Two slots, by parity, because a
    fast member's INFO of the next execution may overtake a slow member's INFO of this one.
When messages are lost, or members are gone
    :mod:`stablecast.protocols.layers.exchange`.  When the first member is gone, the execution under way
    still ends: who has not yet answered it does so at the next INFO of anyone.
Paper
    Hierarchical Message Stability Tracking Protocols, section 3.2; retransmissions: hypercube, section 3.5.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from stablecast.protocols.contract import (
    GROUP,
    IntArray,
    Kernels,
    Number,
    Outbox,
    Protocol,
    Round,
    Sources,
    Started,
    counted_as,
    declare_stable,
    entries,
    finish,
    gather,
    kernel,
    send,
    sources,
)
from stablecast.protocols.layers import RESEND, exchange, sets_timers

FIRST = 0
BY_PARITY = entries(lambda sizes: 2, wide=True)


class State(exchange.Exchanging):
    """What a member keeps; entries with two slots are for even and for odd executions."""

    execution: Number
    """The newest execution that this member has heard of."""
    S: Annotated[IntArray, sources(rows=2)]
    """The minima of the arrays that have come."""
    gathered: Annotated[IntArray, BY_PARITY]
    """How many that are."""
    through: Annotated[IntArray, BY_PARITY]
    """Members whose array has come, or who are gone."""
    sent: Number
    """The last execution that this member sent its own array of."""


class INFO(NamedTuple):
    """What a member has received."""

    execution: Round
    R: Sources


@counted_as("INFO")
class REPEAT(NamedTuple):
    """The same again, to one that has not sent its own; where messages may be lost."""

    execution: Round
    R: Sources


@kernel
def start(me: State, now: int, out: Outbox) -> None:
    """Round 1: the first member multicasts its row."""
    advance(me, me.execution + 1)
    send_own(me, out)


@kernel
def on_info(me: State, source: int, message: INFO, now: int, out: Outbox) -> None:
    """Round 2: answer the first member's row with one's own; take in everyone's."""
    if message.execution < me.execution - 1:
        return
    if message.execution > me.execution:
        advance(me, message.execution)
    if message.execution == me.execution and source == FIRST:
        send_own(me, out)
    take_in(me, message.execution, message.R, out)


@kernel
def advance(me: State, execution: int) -> None:
    """Enter an execution; where one was missed, its slot is empty too."""
    if execution > me.execution + 1:
        empty(me, (execution + 1) % 2)
    empty(me, execution % 2)
    me.execution = execution


@kernel
def empty(me: State, slot: int) -> None:
    """Nothing has come of an execution."""
    me.gathered[slot] = 0
    me.through[slot] = 0


@kernel
def send_own(me: State, out: Outbox) -> None:
    """Multicast one's own row, once in an execution."""
    if me.sent < me.execution:
        me.sent = me.execution
        send(out, GROUP, INFO(me.execution, me.received))


@kernel
def take_in(me: State, execution: int, array: IntArray, out: Outbox) -> None:
    """Lower the minimum of an execution to a row."""
    slot = execution % 2
    gather(me.S[slot], array, me.gathered[slot] == 0)
    me.gathered[slot] += 1
    count(me, execution, out)


@kernel
def count(me: State, execution: int, out: Outbox) -> None:
    """With every member's row in, the minimum is stable."""
    slot = execution % 2
    me.through[slot] += 1
    if me.through[slot] == me.group_size:
        declare_stable(me, out, execution, me.S[slot])
        finish(out, execution)


PROTOCOL = Protocol(
    about=__doc__,
    paper="hierarchical, section 3.2",
    state=State,
    kernels=exchange.among_all(
        Kernels(start=start, receive={INFO: on_info}),
        exchange.Pieces(advance, send_own, take_in, count),
        INFO,
        REPEAT,
    ),
    runs=Started(by_minimum=True, timed=sets_timers, execution_messages=lambda group: float(group * group)),
    parameters=(RESEND,),
)
