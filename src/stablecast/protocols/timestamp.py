"""timestamp: members acknowledge one timestamp, below which they have everything of everyone.

Promise
    What a sender calls stable, all its receivers have (theorem 1).  Where all members are receivers of all
    senders, every member knows the same of everyone's messages (theorem 2).
How it works
    Data messages carry their sender's clock.  A member keeps the newest timestamp of each sender that it
    receives from, and multicasts the smallest of them every ``ack_every``; what is not above the smallest
    acknowledgement of all receivers is stable.  A sender that was silent for ``send_every`` sends a NULL,
    with its clock and its last number, or everybody would wait for it.
Why it is safe
    A receiver acknowledges t only when it has had a timestamp of at least t from every sender; data comes in
    FIFO order and each sender's timestamps rise strictly, so it has all that any of them stamped up to t, and
    none will stamp as low again.  A NULL counts only once the data before it has come.  Acknowledgements may
    be lost, come twice or out of order: the largest counts.
Clocks
    ``physical``: skew costs latency, never safety.  ``logical`` and ``hybrid``: acknowledgements carry their
    sender's clock as a second number, without which an idle member's clock would stand still.
Connections
    With ``ack_to`` senders, receivers may connect and disconnect while the group runs.  One number
    acknowledges all senders, so a receiver counts a sender from its ASK on, with what it acknowledges then
    as the sender's timestamp, and acknowledges no more until the sender's first message above it (ACCEPT)
    has come.  A sender counts a receiver from such a message on.  With ``no_rules`` each side counts whom it
    has heard of, which is not safe.
When a member is gone
    Nobody waits for it any more, neither for its acknowledgements nor for its messages.  What it sent and is
    not yet known to be stable stays so: others' acknowledgements no longer speak of it.  Acknowledgements
    name the set of those gone; those of members that know of another set are left out until they agree.
Cost
    A member a header and a timestamp for each ``ack_every``, whatever the number of senders; two with logical
    and hybrid clocks; and a timestamp in each data message.
Paper
    Timestamp Acknowledgments for Determining Message Stability, sections 3 to 6; ``docs/papers/timestamp.md``
    decides what the paper leaves open.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from stablecast.frontier.tournament import least_of, raise_number, set_number, tournament_size
from stablecast.protocols._connections import (
    IN,
    WAITING,
    Connected,
    begin_connected,
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
from stablecast.protocols._receivers import (
    THE_ONLY_EXECUTION,
    TO_ALL,
    draw_phase,
    has_receiver,
    hears,
)
from stablecast.protocols._timestamp_options import PARAMETERS, check, resolve
from stablecast.protocols.contract import (
    CLOSE_AT_RECEIVER,
    CONNECT,
    GROUP,
    NEVER,
    Acknowledging,
    Column,
    IntArray,
    Kernels,
    Number,
    Outbox,
    Protocol,
    Round,
    Sizes,
    Time,
    attach_number,
    attached,
    declare_prefix,
    entries,
    kernel,
    number,
    open_channel,
    send,
    set_timer,
    sources,
)
from stablecast.protocols.contract.clocks import (
    PHYSICAL,
    draw_drift_ppb,
    draw_offset_ps,
    merge,
    read,
    stamp,
)
from stablecast.protocols.contract.draws import PROTOCOL_STREAM, uniform

FROZEN = -1
"""In place of a NULL's number: its sender is gone."""


def _stamp_bytes(sizes: Sizes) -> int:
    return sizes.params["stamp_bytes"]


def _clock_bytes(sizes: Sizes) -> int:
    return 0 if sizes.params["clock"] == PHYSICAL else _stamp_bytes(sizes)


class State(Connected):
    """A member's clock, what it has of each sender, and what each member has acknowledged."""

    last: Number
    """The clock's last stamp, or a larger one that this member has received."""
    offset: Number
    drift: Number
    """How far the clock is ahead, and how fast it runs, in parts per billion."""
    ack_at: Time
    """When to acknowledge next."""
    sent_at: Time
    """When a data message or a NULL was last sent."""
    have: Annotated[IntArray, sources(wide=True)]
    """For each column, the newest timestamp up to which this member has everything."""
    null_stamp: Annotated[IntArray, sources(wide=True)]
    null_number: Annotated[IntArray, sources(wide=True)]
    """For each column, the timestamp and the number of the newest NULL."""
    told: Number
    """What was acknowledged last."""
    acked: Annotated[IntArray, entries(lambda sizes: tournament_size(sizes.group), wide=True)]
    """A tournament of what each member has acknowledged."""
    frontier: Number
    """The timestamp up to which everything is known to be everywhere."""
    gone: Number
    """Stands for the set of members that are gone: the sum of a random number for each."""
    operations: Number
    """Comparisons so far."""


class ACK(NamedTuple):
    """The timestamp up to which a member has everything, and its clock, where the clock is not physical."""

    gone: Round
    told: Annotated[int, number(_stamp_bytes)]
    clock: Annotated[int, number(_clock_bytes)]


class NULL(NamedTuple):
    """The clock of a sender that has nothing to send, and the number of its last data message."""

    column: Column
    stamp: Annotated[int, number(_stamp_bytes)]
    number: Number


class ASK(NamedTuple):
    """A receiver connects: its first acknowledgement to a sender, repeated until an answer comes."""

    connection: Number
    told: Annotated[int, number(_stamp_bytes)]


class ACCEPT(NamedTuple):
    """The sender's first message to a receiver: like a NULL, with the last message that is not for it."""

    connection: Number
    column: Column
    first: Number
    stamp: Annotated[int, number(_stamp_bytes)]
    number: Number


@kernel
def init(me: State, now: int, out: Outbox) -> None:
    """Set the clock, find out whom to wait for, and choose the phases of one's own timers."""
    me.offset = draw_offset_ps(me.seed, me.number, me.params.offsets)
    me.drift = draw_drift_ppb(me.seed, me.number, me.params.drift)
    begin_connected(me)
    for column in range(me.received.size):
        if not hears(me, column):
            me.have[column] = NEVER
    for member in range(me.group_size):
        if not has_receiver(me, member):
            raise_number(me.acked, member, NEVER)
    me.ack_at = now + draw_phase(me, 1, me.params.ack_every)
    me.sent_at = now - draw_phase(me, 2, me.params.send_every)
    set_next_timer(me, out)


@kernel
def set_next_timer(me: State, out: Outbox) -> None:
    """Have the timer go off for the next acknowledgement, or a sender's NULL if that is due before."""
    due = me.ack_at
    if me.column >= 0:
        due = min(due, me.sent_at + me.params.send_every)
    set_timer(out, due)


@kernel
def attach(me: State, column: int, number: int, now: int) -> int:
    """Stamp a data message."""
    attach_number(me, column, number, 0, tick(me, now))
    me.sent_at = now
    return int(me.params.stamp_bytes)


@kernel
def tick(me: State, now: int) -> int:
    """Return the clock's next stamp, above all that this member has received where the clock is such."""
    for column in range(me.received.size):
        look_at(me, column)
    since_set = now % me.params.sync
    reading = now - since_set + read(since_set, me.offset, me.drift)
    me.last = stamp(me.params.clock, me.last, reading, me.params.ahead)
    return me.last


@kernel
def look_at(me: State, column: int) -> None:
    """Bring up to date what this member has of a sender: data, and a NULL whose number it has reached."""
    have = me.have[column]
    if have == NEVER or (me.params.channels and me.phase[column] != IN):
        return
    if me.received[column] > 0:
        have = max(have, attached(me, column, me.received[column], 0))
    if me.null_number[column] <= me.received[column]:
        have = max(have, me.null_stamp[column])
    me.have[column] = have
    me.last = merge(me.params.clock, me.last, have)


@kernel
def timer(me: State, now: int, out: Outbox) -> None:
    """Acknowledge every so often, and be heard of when there is nothing to send."""
    if now >= me.ack_at:
        me.ack_at = now + me.params.ack_every
        acknowledge(me, now, out)
        if least_of(me.acked) == NEVER:
            declare(me, out)  # nobody is left to wait for
    if me.column >= 0 and now >= me.sent_at + me.params.send_every:
        send(out, GROUP, NULL(me.column, tick(me, now), me.received[me.column]))
        me.sent_at = now
    set_next_timer(me, out)


@kernel
def acknowledge(me: State, now: int, out: Outbox) -> None:
    """Tell the timestamp up to which one has everything; of oneself, that is the clock."""
    clock = tick(me, now)
    if me.column >= 0 and me.whole:
        me.have[me.column] = clock
    least = NEVER
    for column in range(me.received.size):
        least = min(least, me.have[column])
    me.operations += me.received.size
    if least < NEVER:
        me.told = max(me.told, least)
    if me.params.channels:
        acknowledge_on_channels(me, clock, out)
        return
    if least == NEVER:
        return
    if me.params.ack_to == TO_ALL:
        send(out, GROUP, ACK(me.gone, me.told, clock))
    else:
        for sender in me.senders:
            if sender != me.number:
                send(out, sender, ACK(me.gone, me.told, clock))
    if me.whole:
        take_acknowledgement(me, me.number, me.told, out)


@kernel
def acknowledge_on_channels(me: State, clock: int, out: Outbox) -> None:
    """Acknowledge to the senders that one is connected to; ask those again that have not answered."""
    for column in range(me.received.size):
        if me.phase[column] == IN:
            send(out, me.peers[column], ACK(me.gone, me.told, clock))
        elif me.phase[column] == WAITING:
            send(out, me.peers[column], ASK(me.connection[column], me.told))


@kernel
def on_ack(me: State, source: int, message: ACK, now: int, out: Outbox) -> None:
    """Take in an acknowledgement of a member that counts on the same others."""
    if source != me.number and message.gone == me.gone:
        me.last = merge(me.params.clock, me.last, message.clock)
        take_acknowledgement(me, source, message.told, out)


@kernel
def take_acknowledgement(me: State, source: int, told: int, out: Outbox) -> None:
    """Keep the largest acknowledgement of each member."""
    me.operations += raise_number(me.acked, source, told)
    if least_of(me.acked) > me.frontier:
        declare(me, out)


@kernel
def declare(me: State, out: Outbox) -> None:
    """What is stamped no later than the smallest acknowledgement is stable."""
    frontier = least_of(me.acked)
    me.frontier = frontier if frontier < NEVER else me.frontier
    for column in range(me.received.size):
        if column == me.column or (me.whole and me.null_number[column] != FROZEN):
            number = me.stable[column]
            while number < me.received[column] and attached(me, column, number + 1, 0) <= frontier:
                number += 1
                me.operations += 1
            declare_prefix(me, out, THE_ONLY_EXECUTION, column, number)


@kernel
def on_null(me: State, source: int, message: NULL, now: int, out: Outbox) -> None:
    """Keep the newest NULL of a sender; it counts when the data before it has come."""
    column = message.column
    if source == me.number or (me.params.channels and me.phase[column] != IN):
        return
    look_at(me, column)
    if message.stamp > me.null_stamp[column] and me.null_number[column] != FROZEN:
        me.null_stamp[column] = message.stamp
        me.null_number[column] = message.number
        look_at(me, column)


@kernel
def gone(me: State, member: int, column: int, now: int, out: Outbox) -> None:
    """Wait neither for acknowledgements nor for messages of a member that is gone."""
    me.gone += 1 + int(uniform(0, PROTOCOL_STREAM + member, 0) * (1 << 50))
    part_for_good(me, member, column)
    raise_number(me.acked, member, NEVER)
    if column >= 0:
        me.have[column] = NEVER
        me.null_number[column] = FROZEN
    if least_of(me.acked) > me.frontier:
        declare(me, out)


@kernel
def channel(me: State, what: int, member: int, column: int, connection: int, now: int, out: Outbox) -> None:
    """Connect to a sender, or take note that a connection is closed."""
    if what == CONNECT:
        if want(me, column, connection):
            connect(me, member, column, connection, now, out)
    elif what == CLOSE_AT_RECEIVER:
        if leave_sender(me, column, connection):
            me.have[column] = NEVER
    elif leave_receiver(me, member, connection):
        raise_number(me.acked, member, NEVER)
        if least_of(me.acked) > me.frontier:
            declare(me, out)


@kernel
def connect(me: State, member: int, column: int, connection: int, now: int, out: Outbox) -> None:
    """Acknowledge to a sender for the first time; from then on it counts (rule 2)."""
    tick(me, now)
    least = NEVER
    for k in range(me.received.size):
        least = min(least, me.have[k])
    if least < NEVER:
        me.told = max(me.told, least)
    if not me.params.no_rules:
        me.have[column] = me.told
    send(out, member, ASK(connection, me.told))


@kernel
def on_ask(me: State, source: int, message: ASK, now: int, out: Outbox) -> None:
    """Count a receiver in with a message above what it has acknowledged (rule 4), which is the answer.

    A sender whose clock is behind does not answer yet; the receiver asks again.
    """
    if not me.params.channels or me.column < 0:
        return
    me.last = merge(me.params.clock, me.last, message.told)
    if is_new(me, source, message.connection):
        stamp = tick(me, now)
        if stamp <= message.told and not me.params.no_rules:
            return
        count_in(me, source, message.connection, out)
        set_number(me.acked, source, message.told)
        answer(me, source, message.connection, stamp, out)
    elif is_counted(me, source, message.connection):
        answer(me, source, message.connection, tick(me, now), out)
        take_acknowledgement(me, source, message.told, out)


@kernel
def answer(me: State, source: int, connection: int, stamp: int, out: Outbox) -> None:
    """Send a receiver its first message."""
    send(out, source, ACCEPT(connection, me.column, me.first[source], stamp, me.received[me.column]))


@kernel
def on_accept(me: State, source: int, message: ACCEPT, now: int, out: Outbox) -> None:
    """Take a sender's messages from now on; this is the first of them."""
    column = message.column
    if is_awaited(me, column, message.connection):
        me.phase[column] = IN
        me.null_stamp[column] = message.stamp
        me.null_number[column] = message.number
        if me.params.no_rules:
            me.have[column] = 0
        open_channel(out, column, message.first)


PROTOCOL = Protocol(
    about=__doc__,
    paper="timestamp, section 3",
    state=State,
    kernels=Kernels(
        init=init,
        attach=attach,
        attached=lambda sizes: 1,
        timer=timer,
        receive={ACK: on_ack, NULL: on_null, ASK: on_ask, ACCEPT: on_accept},
        gone=gone,
        channel=channel,
        sends=lambda sizes: 2 if sizes.params["ack_to"] == TO_ALL else sizes.tracked + 2,
        arrays=lambda sizes: 1,
    ),
    runs=Acknowledging(
        knows=lambda sizes: "own" if sizes.audiences or sizes.params["ack_to"] != TO_ALL else "all",
        groups_may_differ=True,
        operations="operations",
    ),
    parameters=PARAMETERS,
    resolve=resolve,
    check=check,
    places=place_connected,
)
