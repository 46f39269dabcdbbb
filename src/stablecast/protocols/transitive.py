"""transitive: data messages name their direct causal predecessors, and so acknowledge all before them.

Promise
    What a member calls stable, all members had before they sent something that this member has.
How it works
    A member that sends names the newest messages it has that no other one it has names already; whoever gets
    it, and has those named, knows that its sender had them and all that came before them.  A message is
    *taken up* when all that it names have been.  A member that has sent nothing for ``ack_every`` sends the
    names on their own.
Why it is safe
    A member names only what it has taken up, so that it has all predecessors, and its own messages in FIFO
    order.  What is named is what its sender had, and prefixes only grow.
Cost
    A number for each direct predecessor in each data message: one where messages are far apart, up to the
    number of senders where they are concurrent; and, from members that do not send, a message of its own.
    The sets of predecessors are kept whole here; on the wire only the direct ones count.
When a member is gone
    Nobody waits for what it has.  A message that only it had, and that others name, is never taken up: a
    group that goes on without it needs a view change first.
Paper
    Timestamp Acknowledgments for Determining Message Stability, section 1, on systems with causal order.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from stablecast.frontier import copy_into
from stablecast.frontier.sets import add, has, is_empty, remove
from stablecast.protocols._known_prefixes import (
    Knowing,
    begin_to_know,
    declare_known,
    learn_prefix,
    learn_prefixes,
    stop_waiting_for,
)
from stablecast.protocols._receivers import ACK_EVERY, KNOW, KNOW_ALL, draw_phase, place_receivers
from stablecast.protocols.contract import (
    GROUP,
    Acknowledging,
    IntArray,
    Kernels,
    Members,
    Outbox,
    Protocol,
    Role,
    Sources,
    Time,
    attach_number,
    attached,
    hidden,
    kernel,
    send,
    set_timer,
    sources,
    weigh,
)


class State(Knowing):
    """What a member has taken up, and which acknowledgements it has put aside."""

    taken: Sources
    """For each column, the last message taken up."""
    sender: Sources
    """For each column of which something has come, its sender's number."""
    sent_at: Time
    """When it last sent a data message."""
    is_aside: Members
    """Those of whom an acknowledgement is put aside."""
    aside: Annotated[IntArray, sources(rows=lambda sizes: sizes.group)]
    """For each of them, what it names."""


class ACK(NamedTuple):
    """What a member has taken up; on the wire, the direct predecessors of what it would send."""

    named: Sources


@kernel
def init(me: State, now: int, out: Outbox) -> None:
    """Look every so often, at a random phase, whether there is something to acknowledge."""
    begin_to_know(me)
    me.sent_at = now - me.params.ack_every
    set_timer(out, now + draw_phase(me, 1, me.params.ack_every))


@kernel
def attach(me: State, column: int, number: int, now: int) -> int:
    """Name what has been taken up; only direct predecessors cost bytes, and not the message before."""
    direct = 0
    for other in range(me.received.size):
        direct += is_direct(me, other) if other != column else 0
    for other in range(me.received.size):
        attach_number(me, column, number, other, me.taken[other])
    take_up(me, column, number, me.number)
    me.sent_at = now
    return int(direct * me.params.name_bytes)


@kernel
def is_direct(me: State, column: int) -> int:
    """Tell, as 0 or 1, whether no newer message that was taken up names a column's newest one."""
    number = me.taken[column]
    if number == 0:
        return 0
    for other in range(me.received.size):
        me.operations += 1
        if other != column and me.taken[other] > 0 and attached(me, other, me.taken[other], column) >= number:
            return 0
    return 1


@kernel
def take(me: State, column: int, source: int, before: int, now: int, out: Outbox) -> None:
    """Take up what can be: a message whose predecessors have been, and those that waited for it."""
    me.sender[column] = source
    progress = True
    while progress:
        progress = False
        for each in range(me.received.size):
            number = me.taken[each]
            while number < me.received[each] and is_next(me, each, number + 1):
                number += 1
            if number > me.taken[each]:
                take_up(me, each, number, me.sender[each])
                progress = True
    if not is_empty(me.is_aside):
        look_at_what_was_put_aside(me)
    declare_known(me, out)


@kernel
def is_next(me: State, column: int, number: int) -> bool:
    """Tell whether all that a message names has been taken up."""
    for other in range(me.received.size):
        me.operations += 1
        if other != column and attached(me, column, number, other) > me.taken[other]:
            return False
    return True


@kernel
def take_up(me: State, column: int, number: int, source: int) -> None:
    """A message, and all before it of its sender, is taken up: its sender had what it names."""
    me.taken[column] = number
    learn_prefix(me, column, me.number, number)
    learn_prefix(me, column, source, number)
    if source != me.number:
        for other in range(me.received.size):
            if other != column:
                learn_prefix(me, other, source, attached(me, column, number, other))


@kernel
def timer(me: State, now: int, out: Outbox) -> None:
    """Acknowledge by a message of its own, unless a data message has done so."""
    if now >= me.sent_at + me.params.ack_every:
        direct = 0
        for column in range(me.received.size):
            direct += is_direct(me, column)
        send(out, GROUP, ACK(me.taken))
        weigh(out, direct * me.params.name_bytes)
    set_timer(out, now + me.params.ack_every)
    declare_known(me, out)  # nobody may be left to wait for


@kernel
def on_ack(me: State, source: int, message: ACK, now: int, out: Outbox) -> None:
    """Take in an acknowledgement all of whose messages have been taken up here; put others aside."""
    if source == me.number:
        return
    if is_taken_up(me, message.named):
        learn_prefixes(me, source, message.named)
        declare_known(me, out)
    else:
        put_aside(me, source, message.named)


@kernel
def is_taken_up(me: State, named: IntArray) -> bool:
    """Tell whether all that an acknowledgement names has been taken up here."""
    for column in range(me.received.size):
        me.operations += 1
        if named[column] > me.taken[column]:
            return False
    return True


@kernel
def put_aside(me: State, source: int, named: IntArray) -> None:
    """Keep an acknowledgement for later, unless an older one of the same member waits already.

    With the newest in place of the oldest, steady traffic could keep each from ever being taken in.
    """
    if not has(me.is_aside, source):
        add(me.is_aside, source)
        copy_into(me.aside[source], named)


@kernel
def look_at_what_was_put_aside(me: State) -> None:
    """Take in those acknowledgements whose messages have been taken up by now."""
    for member in range(me.group_size):
        if has(me.is_aside, member) and is_taken_up(me, me.aside[member]):
            remove(me.is_aside, member)
            learn_prefixes(me, member, me.aside[member])


@kernel
def gone(me: State, member: int, column: int, now: int, out: Outbox) -> None:
    """Wait no longer for a member."""
    if member != me.number:
        stop_waiting_for(me, member)
        declare_known(me, out)


PROTOCOL = Protocol(
    about=__doc__,
    paper="timestamp, section 1",
    state=State,
    kernels=Kernels(
        init=init,
        attach=attach,
        attached=lambda sizes: sizes.tracked,
        take=take,
        timer=timer,
        receive={ACK: on_ack},
        gone=gone,
        sends=lambda sizes: 1,
    ),
    runs=Acknowledging(
        knows=lambda sizes: "all" if sizes.params["know"] == KNOW_ALL else "own", operations="operations"
    ),
    parameters=(ACK_EVERY, KNOW, hidden("name_bytes", Role.ENTRY_BYTES, 4)),
    places=place_receivers,
)
