"""vector: members acknowledge what they have of each sender, every so often.

Promise
    What a member calls stable, all receivers had when they acknowledged it.
How it works
    Every ``ack_every`` a member multicasts its array of received prefixes; who hears it keeps it, and takes
    the minimum over members.  With ``ack_to`` senders, each sender is told of its own messages alone.
Connections
    With ``ack_to`` senders, receivers may connect and disconnect while the group runs.  An acknowledgement
    speaks of one sender alone, so a connection concerns nobody else, and needs no rules but an answer.
Why it is safe
    An acknowledgement is a copy of what its sender had, and prefixes only grow; lost and reordered ones are
    no matter, as the largest counts.
Cost
    A member a header and a number for each sender in every ``ack_every``; a member keeps the numbers of all
    members and senders, or with ``know`` own those about itself.
Paper
    Timestamp Acknowledgments for Determining Message Stability, section 4: what timestamps are compared with.
"""

from __future__ import annotations

from typing import NamedTuple

from stablecast.frontier.tournament import set_number
from stablecast.protocols._connections import (
    CHANNELS,
    IN,
    WAITING,
    Connected,
    begin_connected,
    check_channels,
    count_in,
    is_awaited,
    is_counted,
    is_new,
    leave_receiver,
    leave_sender,
    part_for_good,
    place_connected,
    want,
)
from stablecast.protocols._known_prefixes import (
    Knowing,
    begin_to_know,
    declare_known,
    learn_prefix,
    learn_prefixes,
    row_of,
    stop_waiting_for,
)
from stablecast.protocols._receivers import (
    ACK_EVERY,
    ACK_TO,
    KNOW,
    KNOW_ALL,
    TO_ALL,
    draw_phase,
)
from stablecast.protocols.contract import (
    CLOSE_AT_RECEIVER,
    CONNECT,
    GROUP,
    Acknowledging,
    Column,
    Kernels,
    Number,
    Outbox,
    Protocol,
    Sizes,
    Sources,
    counted_as,
    kernel,
    open_channel,
    send,
    set_timer,
)


class State(Knowing, Connected):
    """What others are known to have, and connections."""


class ACK(NamedTuple):
    """What a member has of each sender."""

    R: Sources


@counted_as("ACK")
class ACK_ONE(NamedTuple):  # noqa: N801
    """What a member has of the sender that this is for."""

    column: Column
    number: Number


class ASK(NamedTuple):
    """A receiver connects, and asks again until an answer comes."""

    connection: Number


class ACCEPT(NamedTuple):
    """The answer: the last message that is not for the receiver."""

    connection: Number
    column: Column
    first: Number


@kernel
def init(me: State, now: int, out: Outbox) -> None:
    """Acknowledge every so often, at a random phase."""
    begin_connected(me)
    begin_to_know(me)
    set_timer(out, now + draw_phase(me, 1, me.params.ack_every))


@kernel
def timer(me: State, now: int, out: Outbox) -> None:
    """Tell everyone what one has, or each sender what one has of it."""
    set_timer(out, now + me.params.ack_every)
    if me.params.ack_to == TO_ALL:
        send(out, GROUP, ACK(me.received))
    elif me.params.channels:
        acknowledge_on_channels(me, out)
    else:
        for k in range(me.senders.size):
            column = me.heard[k]
            if column != me.column:
                send(out, me.senders[k], ACK_ONE(column, me.received[column]))
    learn_prefixes(me, me.number, me.received)
    declare_known(me, out)


@kernel
def acknowledge_on_channels(me: State, out: Outbox) -> None:
    """Acknowledge to the senders that one is connected to; ask those again that have not answered."""
    for column in range(me.received.size):
        if me.phase[column] == IN:
            send(out, me.peers[column], ACK_ONE(column, me.received[column]))
        elif me.phase[column] == WAITING:
            send(out, me.peers[column], ASK(me.connection[column]))


@kernel
def on_ack(me: State, source: int, message: ACK, now: int, out: Outbox) -> None:
    """Take in what a member has."""
    if source != me.number:
        learn_prefixes(me, source, message.R)
        declare_known(me, out)


@kernel
def on_ack_one(me: State, source: int, message: ACK_ONE, now: int, out: Outbox) -> None:
    """Take in what a member has of one's own messages."""
    if source != me.number:
        learn_prefix(me, message.column, source, message.number)
        declare_known(me, out)


@kernel
def gone(me: State, member: int, column: int, now: int, out: Outbox) -> None:
    """Wait no longer for a member."""
    if member != me.number:
        part_for_good(me, member, column)
        stop_waiting_for(me, member)
        declare_known(me, out)


@kernel
def channel(me: State, what: int, member: int, column: int, connection: int, now: int, out: Outbox) -> None:
    """Connect to a sender, or take note that a connection is closed."""
    if what == CONNECT:
        if want(me, column, connection):
            send(out, member, ASK(connection))
    elif what == CLOSE_AT_RECEIVER:
        leave_sender(me, column, connection)
    elif leave_receiver(me, member, connection):
        stop_waiting_for(me, member)
        declare_known(me, out)


@kernel
def on_ask(me: State, source: int, message: ASK, now: int, out: Outbox) -> None:
    """Count a receiver in, and tell it from which message on."""
    if not me.params.channels or me.column < 0:
        return
    if is_new(me, source, message.connection):
        count_in(me, source, message.connection, out)
        set_number(me.known[row_of(me, me.column)], source, me.first[source])
    if is_counted(me, source, message.connection):
        send(out, source, ACCEPT(message.connection, me.column, me.first[source]))


@kernel
def on_accept(me: State, source: int, message: ACCEPT, now: int, out: Outbox) -> None:
    """Take a sender's messages from now on."""
    if is_awaited(me, message.column, message.connection):
        me.phase[message.column] = IN
        open_channel(out, message.column, message.first)


def knows(sizes: Sizes) -> str:
    """Tell whose messages members learn of."""
    to_all, of_all = sizes.params["ack_to"] == TO_ALL, sizes.params["know"] == KNOW_ALL
    return "all" if to_all and of_all and not sizes.audiences else "own"


PROTOCOL = Protocol(
    about=__doc__,
    paper="timestamp, section 4",
    state=State,
    kernels=Kernels(
        init=init,
        timer=timer,
        receive={ACK: on_ack, ACK_ONE: on_ack_one, ASK: on_ask, ACCEPT: on_accept},
        gone=gone,
        channel=channel,
        sends=lambda sizes: 1 if sizes.params["ack_to"] == TO_ALL else sizes.tracked + 1,
        arrays=lambda sizes: 1,
    ),
    runs=Acknowledging(knows=knows, groups_may_differ=True, operations="operations"),
    parameters=(ACK_EVERY, ACK_TO, KNOW, CHANNELS),
    check=check_channels,
    places=place_connected,
)
