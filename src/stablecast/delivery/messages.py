"""What is known of messages, as arrays: each message, who held it, and who lacks it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stablecast.delivery.columns import Ints, Longs

NAMED = 10
"""At most so many of those that a source waits for are named."""


class Messages(NamedTuple):
    """Messages that were sent, by source and number."""

    source: Ints
    seq: Longs
    size: Ints
    sent: Longs
    sender: Ints
    """The incarnation that sent it."""
    stable: Longs
    """NEVER if it is not."""
    last: Ints
    """The incarnation that made it as late as that; -1 if it is not stable."""
    held: Longs
    """How much later that was than the one before."""
    required: Ints
    received: Ints
    released_first: Longs
    """NEVER if nobody let go of it."""
    released_last: Longs
    until: Longs
    """When the last was done with it, claims apart, or the last that held it was gone."""
    let_go: Ints
    """How many of those that had to have it and never left have released it."""


class Holdings(NamedTuple):
    """Who held a message from when to when."""

    stay: Ints
    message: Ints
    """The row of the message; those that nobody sent come after all others, by source and number."""
    begin: Longs
    end: Longs
    """NEVER if it is held to the end."""
    size: Ints


class Waiting(NamedTuple):
    """Of each run of numbers: who lacks its first message that is not stable; a last row is of no run."""

    lacking: Ints
    """How many."""
    stays: Ints
    """The first :data:`NAMED` of them, a row for each run."""


def nobody_waiting(runs: int) -> Waiting:
    """Return that nobody lacks anything, in so many runs."""
    return Waiting(np.zeros(runs, np.int32), np.zeros((runs, NAMED), np.int32))


def room_for_messages(count: int) -> Messages:
    """Return room for so many."""
    wide = {"seq", "sent", "stable", "held", "released_first", "released_last", "until"}
    return Messages(*_empty(count, Messages._fields, wide))


def room_for_holdings(count: int) -> Holdings:
    """Return room for so many."""
    return Holdings(*_empty(count, Holdings._fields, {"begin", "end"}))


def _empty(count: int, names: tuple[str, ...], wide: set[str]) -> list[Ints]:
    return [np.empty(count, np.int64 if name in wide else np.int32) for name in names]
