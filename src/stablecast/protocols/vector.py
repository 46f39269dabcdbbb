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

from stablecast.compiling import kernel
from stablecast.overlays import Tree
from stablecast.protocols._known_prefixes import (
    begin_to_know,
    declare_known,
    known_size,
    learn_prefix,
    stop_waiting_for,
)
from stablecast.protocols._receivers import (
    ACK_EVERY,
    ACK_TO,
    KNOW,
    KNOW_ALL,
    TO_ALL,
    VECTOR,
    own_column,
    place_receivers,
    sender_column,
    sender_count,
    sender_number,
    variant,
)
from stablecast.protocols.contract.draws import PROTOCOL_STREAM, uniform
from stablecast.protocols.contract.kernels import (
    GONE,
    GROUP,
    Member,
    Message,
    Outbox,
    send_numbers,
    send_received,
    set_timer,
)
from stablecast.protocols.contract.protocol import Place, Protocol, Sizes

ACK, ACK_ONE = 0, 1
EVERY, TO, WHAT = 1, 2, 3  # parameters
OPERATIONS = 1


@kernel
def init(me: Member, now: int, out: Outbox) -> None:
    """Acknowledge every so often, at a random phase."""
    begin_to_know(me, 0, me.params[WHAT])
    set_timer(out, now + int(uniform(me.seed, PROTOCOL_STREAM + me.number, 1) * me.params[EVERY]))


@kernel
def start(me: Member, now: int, out: Outbox) -> None:
    """No member starts anything: all run by their own timers."""


@kernel
def handle_timer(me: Member, now: int, out: Outbox) -> None:
    """Tell everyone what one has, or each sender what one has of it."""
    set_timer(out, now + me.params[EVERY])
    if me.params[TO] == TO_ALL:
        send_received(out, ACK, GROUP, 1)
    else:
        for k in range(sender_count(me)):
            column = sender_column(me, k)
            if column != own_column(me):
                send_numbers(out, ACK_ONE, sender_number(me, k), column + 1, me.received[column], 0)
    for column in range(me.received.size):
        me.reg[OPERATIONS] += learn_prefix(me, 0, column, me.number, me.received[column], me.params[WHAT])
    declare_known(me, 0, me.params[WHAT], out)


@kernel
def receive(me: Member, message: Message, now: int, out: Outbox) -> None:
    """Take in what a member has."""
    if message.source == me.number:
        return
    know = me.params[WHAT]
    if message.kind == GONE:
        stop_waiting_for(me, 0, message.source, know)
    elif message.kind == ACK_ONE:
        column = message.execution - 1
        me.reg[OPERATIONS] += learn_prefix(me, 0, column, message.source, message.first, know)
    else:
        for column in range(me.received.size):
            number = message.array[column]
            me.reg[OPERATIONS] += learn_prefix(me, 0, column, message.source, number, know)
    declare_known(me, 0, know, out)


def places(tree: Tree, sizes: Sizes, seed: int) -> Place:
    """Tell each member its column; with lists where groups differ or senders are written to one by one."""
    return place_receivers(sizes, with_lists=sizes.params[TO] != TO_ALL)


PROTOCOL = Protocol(
    name="vector",
    title="members acknowledge what they have of each sender, every so often",
    paper="timestamp, section 4",
    kinds=("ACK", "ACK_ONE"),
    rows=("ACK", "ACK"),
    start=start,
    receive=receive,
    handle_timer=handle_timer,
    init=init,
    places=places,
    module=__name__,
    family="stablecast.protocols._acknowledging",
    parameters=(variant(VECTOR), ACK_EVERY, ACK_TO, KNOW),
    extra_bytes=lambda sizes: (0, sizes.entry_bytes),
    autonomous=True,
    roundless=True,
    timed=True,
    told=True,
    knows=lambda sizes: (
        "own" if sizes.audiences or sizes.params[TO] != TO_ALL or sizes.params[WHAT] != KNOW_ALL else "all"
    ),
    groups_may_differ=True,
    messages=20,
    operations=OPERATIONS,
    own=lambda sizes: known_size(sizes.group, sizes.tracked, sizes.params[WHAT]),
    sends_max=lambda sizes: 1 if sizes.params[TO] == TO_ALL else sizes.tracked + 1,
    arrays_max=1,
)
