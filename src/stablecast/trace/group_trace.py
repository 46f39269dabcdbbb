"""What happened in one group, as the event schema reads it: who was there, and who has what since when.

Everything here is told by the events alone.  Times are microseconds; ``NEVER`` is later than all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stablecast.trace.columns import Columns, Ints, Mask
from stablecast.trace.schema import KINDS

NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Messages:
    """The messages of a group, by source and number, a row each."""

    source: Ints
    seq: Ints
    size: Ints
    """Zero where no event tells."""
    sent: Ints
    """When; the first receipt where the sender was gone before it could tell."""
    untold: Mask
    """Whether no ``send`` tells of it."""
    width: int
    """Larger than any number."""

    def rows(self, events: Columns) -> Ints:
        """Return the row of each event's message, -1 if there is no such message."""
        keys, wanted = self.source * self.width + self.seq, events.source * self.width + events.seq
        places = np.searchsorted(keys, wanted)
        if not keys.size:
            return np.full(len(events), -1)
        near = np.minimum(places, keys.size - 1)
        fits = (keys[near] == wanted) & (events.seq < self.width)
        return np.where(fits, near, -1)


class GroupTrace:
    """One group's events, with what follows from them for each message and member."""

    def __init__(self, name: str, events: Columns) -> None:
        self.name = name
        self.events = events
        self.count = len(events.members)
        self.receives = events.of_kind("receive")
        self.joined = self._first_change("join")
        self.departed = self._first_change("leave", "fail")
        self.present = self._present()
        self.messages = _messages(events)

    def _first_change(self, *kinds: str) -> Ints:
        changes = self.events.of_kind(*kinds)
        first = np.full(self.count, NEVER)
        np.minimum.at(first, changes.member, changes.time_us)
        return first

    def _present(self) -> Mask:
        """Tell who is a member: who joins, or if nobody does, who sends or receives."""
        present: Mask = self.joined < NEVER
        if not present.any():
            present[self.events.of_kind("send", "receive").member] = True
            self.joined[present] = np.iinfo(np.int64).min
        return present

    @cached_property
    def survives(self) -> Mask:
        """Members that neither left nor failed."""
        survives: Mask = self.present & (self.departed == NEVER)
        return survives

    @cached_property
    def receive_rows(self) -> Ints:
        """The message of each receipt."""
        return self.messages.rows(self.receives)

    @cached_property
    def is_late(self) -> Mask:
        """Receipts after their member's departure, which count for nothing."""
        return self.receives.time_us > self.departed[self.receives.member]

    @cached_property
    def is_first(self) -> Mask:
        """Receipts that are their member's first of the message, and count."""
        first = np.zeros(len(self.receives), np.bool_)
        counted = np.flatnonzero(~self.is_late)
        pair = self.receive_rows[counted] * self.count + self.receives.member[counted]
        first[counted[np.unique(pair, return_index=True)[1]]] = True
        return first

    @cached_property
    def has_since(self) -> Ints:
        """For each message and member, since when the member has the message."""
        since = np.full((self.messages.seq.size, self.count), NEVER)
        chosen = self.is_first
        since[self.receive_rows[chosen], self.receives.member[chosen]] = self.receives.time_us[chosen]
        rows = np.arange(self.messages.seq.size)
        since[rows, self.messages.source] = self.messages.sent
        return since

    @cached_property
    def required(self) -> Mask:
        """For each message and member, whether the member must receive the message."""
        sent = self.messages.sent[:, None]
        required: Mask = self.present & (self.joined <= sent) & (self.departed > sent)
        required[np.arange(sent.size), self.messages.source] = True
        return required

    @cached_property
    def truth(self) -> Ints:
        """When each message was stable, in truth."""
        settled = np.minimum(self.has_since, self.departed)
        truth: Ints = np.where(self.required, settled, np.iinfo(np.int64).min).max(axis=1)
        return truth


def _messages(events: Columns) -> Messages:
    told = events.of_kind("send", "receive")
    width = int(told.seq.max(initial=0)) + 1
    is_receipt = told.kind == KINDS.index("receive")
    # Sends first, so that the first row of a message is its send where there is one.
    order = np.lexsort((told.time_us, is_receipt))
    keys = (told.source * width + told.seq)[order]
    found, first = np.unique(keys, return_index=True)
    chosen = order[first]
    return Messages(
        source=found // width,
        seq=found % width,
        size=np.maximum(told.size[chosen], 0),
        sent=told.time_us[chosen],
        untold=is_receipt[chosen],
        width=width,
    )
