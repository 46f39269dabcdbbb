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

from stablecast.compiling import kernel
from stablecast.overlays import Tree
from stablecast.protocols._known_prefixes import (
    begin_to_know,
    declare_known,
    known_prefix,
    known_size,
    learn_prefix,
    stop_waiting_for,
)
from stablecast.protocols._receivers import (
    ACK_EVERY,
    EXPLICIT,
    KNOW_OWN,
    own_column,
    place_receivers,
    variant,
)
from stablecast.protocols.contract.kernels import (
    GONE,
    NEVER,
    Member,
    Message,
    Outbox,
    send_numbers,
    set_timer,
)
from stablecast.protocols.contract.protocol import Place, Protocol, Sizes

ACK, ASK = 0, 1
EVERY = 1  # parameter
OPERATIONS, SENT_BEFORE = 1, 2  # registers; the second: the last message when the timer went off before


@kernel
def init(me: Member, now: int, out: Outbox) -> None:
    """Answer what comes; a sender also looks, every so often, whether all have answered."""
    begin_to_know(me, 0, KNOW_OWN)
    set_timer(out, now + me.params[EVERY] if own_column(me) >= 0 else NEVER)


@kernel
def start(me: Member, now: int, out: Outbox) -> None:
    """No member starts anything."""


@kernel
def take(me: Member, column: int, source: int, before: int, now: int, out: Outbox) -> None:
    """Acknowledge a message to its sender."""
    send_numbers(out, ACK, source, column + 1, me.received[column], 0)


@kernel
def handle_timer(me: Member, now: int, out: Outbox) -> None:
    """Ask those that have not acknowledged what was sent before the last time."""
    column = own_column(me)
    if me.stable[column] < me.reg[SENT_BEFORE]:
        for member in range(me.group_size):
            if known_prefix(me, 0, column, member, KNOW_OWN) < me.reg[SENT_BEFORE]:
                send_numbers(out, ASK, member, column + 1, 0, 0)
    me.reg[SENT_BEFORE] = me.received[column]
    set_timer(out, now + me.params[EVERY])
    declare_known(me, 0, KNOW_OWN, out)  # nobody may be left to wait for


@kernel
def receive(me: Member, message: Message, now: int, out: Outbox) -> None:
    """Take in an acknowledgement, answer a question, or stop waiting for one that is gone."""
    column = message.execution - 1
    if message.kind == ASK:
        send_numbers(out, ACK, message.source, message.execution, me.received[column], 0)
    elif own_column(me) >= 0:
        if message.kind == GONE:
            stop_waiting_for(me, 0, message.source, KNOW_OWN)
        else:
            me.reg[OPERATIONS] += learn_prefix(me, 0, column, message.source, message.first, KNOW_OWN)
        declare_known(me, 0, KNOW_OWN, out)


def places(tree: Tree, sizes: Sizes, seed: int) -> Place:
    """Tell each member its column, and its receivers where groups differ."""
    return place_receivers(sizes, with_lists=False)


PROTOCOL = Protocol(
    name="explicit",
    title="every member acknowledges every message to its sender",
    paper="timestamp, section 1",
    kinds=("ACK", "ASK"),
    start=start,
    receive=receive,
    handle_timer=handle_timer,
    init=init,
    take=take,
    places=places,
    module=__name__,
    family="stablecast.protocols._acknowledging",
    parameters=(variant(EXPLICIT), ACK_EVERY),
    execution_messages=lambda group: float(group * group),
    extra_bytes=lambda sizes: (sizes.entry_bytes, 0),
    autonomous=True,
    roundless=True,
    timed=True,
    told=True,
    knows=lambda sizes: "own",
    groups_may_differ=True,
    messages=20,
    operations=OPERATIONS,
    own=lambda sizes: known_size(sizes.group, sizes.tracked, KNOW_OWN),
    sends_max=lambda sizes: sizes.group,
    arrays_max=1,
)
