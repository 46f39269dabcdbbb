"""vector: members acknowledge what they have of each sender, every so often.

Promise
    What a member calls stable, all receivers had when they acknowledged it.
How it works
    Every ``ack_every`` a member multicasts its array of received prefixes; who hears it keeps it, and takes
    the minimum over members.  With ``ack_to`` senders, each sender is told of its own messages alone.
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

from stablecast.protocols._known_prefixes import (
    Knowing,
    begin_to_know,
    declare_known,
    learn_prefix,
    learn_prefixes,
    stop_waiting_for,
)
from stablecast.protocols._receivers import (
    ACK_EVERY,
    ACK_TO,
    KNOW,
    KNOW_ALL,
    TO_ALL,
    draw_phase,
    place_receivers,
)
from stablecast.protocols.contract import (
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
    send,
    set_timer,
)


class State(Knowing):
    """What others are known to have, and nothing more."""


class ACK(NamedTuple):
    """What a member has of each sender."""

    R: Sources


@counted_as("ACK")
class ACK_ONE(NamedTuple):  # noqa: N801
    """What a member has of the sender that this is for."""

    column: Column
    number: Number


@kernel
def init(me: State, now: int, out: Outbox) -> None:
    """Acknowledge every so often, at a random phase."""
    begin_to_know(me)
    set_timer(out, now + draw_phase(me, 1, me.params.ack_every))


@kernel
def timer(me: State, now: int, out: Outbox) -> None:
    """Tell everyone what one has, or each sender what one has of it."""
    set_timer(out, now + me.params.ack_every)
    if me.params.ack_to == TO_ALL:
        send(out, GROUP, ACK(me.received))
    else:
        for k in range(me.senders.size):
            column = me.heard[k]
            if column != me.column:
                send(out, me.senders[k], ACK_ONE(column, me.received[column]))
    learn_prefixes(me, me.number, me.received)
    declare_known(me, out)


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
        stop_waiting_for(me, member)
        declare_known(me, out)


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
        receive={ACK: on_ack, ACK_ONE: on_ack_one},
        gone=gone,
        sends=lambda sizes: 1 if sizes.params["ack_to"] == TO_ALL else sizes.tracked + 1,
        arrays=lambda sizes: 1,
    ),
    runs=Acknowledging(knows=knows, groups_may_differ=True, operations="operations"),
    parameters=(ACK_EVERY, ACK_TO, KNOW),
    places=place_receivers,
)
