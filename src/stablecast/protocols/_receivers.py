"""Whose messages a member gets, and who gets its own: what the acknowledging protocols share.

Where everyone receives from every sender (groups are *whole*), nobody needs a list of others, and the lists
are empty.  Lists are made where groups differ, and where members write to senders one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stablecast.protocols.contract import (
    CHOICE,
    TIME,
    IntArray,
    Member,
    Parameter,
    Place,
    Placement,
    Places,
    Role,
    Sizes,
    Surroundings,
    kernel,
)
from stablecast.protocols.contract.draws import PROTOCOL_STREAM, uniform

TO_ALL, TO_SENDERS = 0, 1
KNOW_ALL, KNOW_OWN = 0, 1
THE_ONLY_EXECUTION = 1
"""Under this number these protocols, which have no executions, tell what they have learned."""

ACK_EVERY = Parameter(
    "ack_every",
    TIME,
    100.0,
    "Time between two acknowledgements of a member.",
    unit="ms",
    role=Role.EVERY,
    above=0,
)
ACK_TO = Parameter(
    "ack_to",
    CHOICE,
    "all",
    "Whom members acknowledge to: all members at once, or the senders, with one message to each.",
    choices={"all": TO_ALL, "senders": TO_SENDERS},
)
KNOW = Parameter(
    "know",
    CHOICE,
    "all",
    "Whose messages a member learns to be stable: the messages of all senders, or only its own.",
    choices={"all": KNOW_ALL, "own": KNOW_OWN},
)


class Receiver(Member):
    """A member that knows its place among senders and receivers."""

    column: Place
    """The column of its own messages, -1 if it sends none."""
    whole: Place
    """1 if everyone receives from every sender, itself included; 0 if groups differ."""
    heard: Places
    """The columns of the senders that it receives from."""
    senders: Places
    """The numbers of these senders, in the same order."""
    receivers: Places
    """The numbers of the members that receive from it, where groups differ."""


def leaders_of(sizes: Sizes) -> tuple[int, ...]:
    """Return the member that leads each column: as given, or spread evenly over the group."""
    return sizes.leaders or tuple(c * sizes.group // sizes.tracked for c in range(sizes.tracked))


def place_receivers(around: Surroundings) -> Placement:
    """Give every member its place; the lists take members times senders of room."""
    sizes = around.sizes
    leaders, audiences, group = leaders_of(sizes), sizes.audiences, range(sizes.group)
    columns = np.full(sizes.group, -1)
    columns[list(leaders)] = range(len(leaders))
    heard: list[Sequence[int]] = [()] * sizes.group
    if audiences:
        heard = [[c for c, audience in enumerate(audiences) if i in audience] for i in group]
    elif sizes.params.get(ACK_TO.name, TO_ALL) != TO_ALL:
        heard = [range(len(leaders))] * sizes.group
    return {
        "column": columns,
        "whole": np.full(sizes.group, int(not audiences)),
        "heard": _lists(heard),
        "senders": _lists([[leaders[c] for c in each] for each in heard]),
        "receivers": _lists([audiences[c] if audiences and c >= 0 else () for c in columns]),
    }


def _lists(each: Sequence[Sequence[int]]) -> tuple[IntArray, IntArray]:
    """Return the members' lists as one array, and where each begins."""
    start = np.cumsum([0, *map(len, each)], dtype=np.int64)
    return np.array([entry for one in each for entry in one], np.int32), start


@kernel
def hears(me: Receiver, column: int) -> bool:
    """Tell whether a column's messages are for this member."""
    return me.whole == 1 or _lists_it(me.heard, column)


@kernel
def has_receiver(me: Receiver, member: int) -> bool:
    """Tell whether a member receives from this one."""
    return me.whole == 1 or _lists_it(me.receivers, member)


@kernel
def _lists_it(entries: IntArray, wanted: int) -> bool:
    for entry in entries:
        if entry == wanted:
            return True
    return False


@kernel
def draw_phase(me: Receiver, draw: int, period: int) -> int:
    """Draw when something periodic is first due, within its period, so that members do not act at once."""
    return int(uniform(me.seed, PROTOCOL_STREAM + me.number, draw) * period)
