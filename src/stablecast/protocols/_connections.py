"""Connections between receivers and senders while a group runs: what protocols of both kinds share.

What holds
    A receiver r takes messages of a sender s only while it is connected to s, and s waits only for receivers
    that it has counted in.  Each of the two decides alone, from what it was told.
How a receiver connects
    1. It sends ASK to the sender, with the number of the connection, and again at each acknowledgement
       until an answer comes.
    2. The sender counts it in and answers with ACCEPT, which names its last message so far.  The messages
       after that one are for the receiver, and none of them is stable without it.
    3. With ACCEPT the receiver begins to take what comes after that message; what it has missed since is
       repaired like any loss.
How a connection ends
    Either side closes both channels, without a word; the network tells the other side.  A receiver that has
    closed a channel sends no further acknowledgement on it.
Why numbers
    A receiver numbers its connections to a sender, from 1; those of the start have 0.  The sender remembers
    the last that it has counted and the last that it knows to be closed, so an ASK that comes late or
    twice does not count in a receiver that has gone again.
What can go wrong
    An ASK to a sender that has crashed is repeated until the receiver is told of the crash.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import numpy as np

from stablecast.errors import InvalidInput
from stablecast.protocols._receivers import (
    ACK_TO,
    TO_SENDERS,
    Receiver,
    leaders_of,
    place_receivers,
)
from stablecast.protocols.contract import (
    IntArray,
    Outbox,
    Placement,
    Places,
    Role,
    Sizes,
    Surroundings,
    count_receiver,
    entries,
    hidden,
    kernel,
    sources,
)

OUT, WAITING, IN = 0, 1, 2
"""How far a receiver is with a sender."""
CHANNELS = hidden("channels", Role.CHANNELS)
NUMBER_MAX = np.iinfo(np.int32).max


def connects(sizes: Sizes) -> bool:
    """Tell whether receivers connect and disconnect in this run."""
    return bool(sizes.params.get(CHANNELS.name, 0))


def _each_member(sizes: Sizes) -> int:
    return sizes.group


class Connected(Receiver):
    """A member whose sender and receiver groups change; without connections all of this is empty."""

    peers: Places
    """The number of each column's sender."""
    phase: Annotated[IntArray, sources(when=connects)]
    """For each column, how far this member is as a receiver."""
    connection: Annotated[IntArray, sources(when=connects)]
    """For each column, the number of the last connection."""
    counted: Annotated[IntArray, entries(_each_member, when=connects)]
    """For each receiver, the number of the last connection that it was counted in with."""
    closed: Annotated[IntArray, entries(_each_member, when=connects)]
    """For each receiver, the highest number of a connection that is known to be closed."""
    first: Annotated[IntArray, entries(_each_member, when=connects)]
    """For each receiver, the last message before it was counted in."""


def place_connected(around: Surroundings) -> Placement:
    """Give every member its place, and where members connect the numbers of all senders."""
    leaders = leaders_of(around.sizes) if connects(around.sizes) else ()
    start = np.arange(around.sizes.group + 1, dtype=np.int64) * len(leaders)
    every = np.array(leaders * around.sizes.group, np.int32)
    return {**place_receivers(around), "peers": (every, start)}


def check_channels(values: Mapping[str, int]) -> None:
    """Refuse connections without a channel for each receiver and sender."""
    if values[CHANNELS.name] and values[ACK_TO.name] != TO_SENDERS:
        raise InvalidInput(
            "connections need a channel from each receiver to each sender (accepted: ack_to senders)"
        )


@kernel
def begin_connected(me: Connected) -> None:
    """Be connected as the group is at the start."""
    if me.params.channels:
        for column in me.heard:
            me.phase[column] = IN
        for member in me.receivers:
            me.closed[member] = -1


@kernel
def want(me: Connected, column: int, connection: int) -> bool:
    """Begin to connect to a sender; tell whether it is there."""
    if me.connection[column] == NUMBER_MAX:
        return False
    me.phase[column] = WAITING
    me.connection[column] = connection
    return True


@kernel
def is_awaited(me: Connected, column: int, connection: int) -> bool:
    """Tell whether this is the connection that a receiver waits for."""
    return bool(me.params.channels and me.phase[column] == WAITING and me.connection[column] == connection)


@kernel
def leave_sender(me: Connected, column: int, connection: int) -> bool:
    """Take a connection to a sender for closed; tell whether it was open."""
    if me.phase[column] == OUT or me.connection[column] > connection:
        return False
    me.phase[column] = OUT
    return True


@kernel
def is_new(me: Connected, member: int, connection: int) -> bool:
    """Tell whether a receiver that asks for this connection is to be counted in."""
    return bool(connection > me.closed[member] and connection > me.counted[member])


@kernel
def is_counted(me: Connected, member: int, connection: int) -> bool:
    """Tell whether a receiver was counted in with this connection, and is still."""
    return bool(connection > me.closed[member] and connection == me.counted[member])


@kernel
def count_in(me: Connected, member: int, connection: int, out: Outbox) -> None:
    """Count a receiver in, from the next message on."""
    me.counted[member] = connection
    me.first[member] = me.received[me.column]
    count_receiver(out, member, me.first[member])


@kernel
def leave_receiver(me: Connected, member: int, connection: int) -> bool:
    """Take a connection of a receiver for closed; tell whether it is not counted any more."""
    me.closed[member] = max(me.closed[member], connection)
    return bool(me.counted[member] <= connection)


@kernel
def part_for_good(me: Connected, member: int, column: int) -> None:
    """Forget a member that is gone."""
    if me.params.channels:
        me.closed[member] = NUMBER_MAX
        if column >= 0:
            me.phase[column] = OUT
            me.connection[column] = NUMBER_MAX
