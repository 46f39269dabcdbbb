"""Since when a message was stable, and who made it so late or lacks it, from notes of its copies.

Theory
    How many members had to receive what was sent at a time is known from the steps of the group: those that
    stayed to the end, and those that left later.  If one that stayed lacks the message, it is not stable,
    whoever else lacks it.  If only some that left lack it, it is stable since the last of them left or the
    last of all others received it, so only the group's leavers are gone through.  Nobody else is looked at,
    but for the first message of a run that is not stable: of that one, those who lack it are named.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stablecast.compiling import kernel
from stablecast.delivery.columns import Ints, Longs
from stablecast.delivery.kinds import NEVER
from stablecast.delivery.membership import Groups, Stays, is_required, step_at
from stablecast.delivery.messages import NAMED, Messages, Waiting


class Notes(NamedTuple):
    """What is known of each incarnation about the message at hand."""

    message: Ints
    """The message that the rest is about."""
    got: Longs
    released: Longs
    seen: Ints
    """Incarnations that have done something with the message."""


def nothing_noted(stays: int) -> Notes:
    """Return notes about no message, of so many incarnations."""
    return Notes(
        np.full(stays, -1), np.zeros(stays, np.int64), np.zeros(stays, np.int64), np.zeros(stays, np.int32)
    )


@kernel
def find_truth(
    messages: Messages,
    m: int,
    number: int,
    seen: int,
    notes: Notes,
    stays: Stays,
    groups: Groups,
    group: int,
) -> None:
    """Find since when a message was stable, and by whom; fill in all that follows from that."""
    sent, sender = messages.sent[m], messages.sender[m]
    step = step_at(groups, group, sent)
    staying, leaving = groups.staying[step], groups.leaving[step]
    is_in = is_required(stays, sender, sent)
    messages.required[m] = staying + leaving + (0 if is_in else 1)
    if is_in and stays.end[sender] == NEVER:
        staying -= 1
    elif is_in:
        leaving -= 1
    # The latest, the one before it, and who is the latest, of equals the smallest name.
    top, second, last = min(sent, stays.end[sender]), -NEVER, sender
    received = 1 if sent <= stays.end[sender] else 0
    for s in range(seen):
        stay = notes.seen[s]
        got = notes.got[stay]
        if stay == sender or got == NEVER or not is_required(stays, stay, sent):
            continue
        received += 1
        if stays.end[stay] == NEVER:
            staying -= 1
        else:
            leaving -= 1
        if got > top or (got == top and stay < last):
            top, second, last = got, top, stay
        else:
            second = max(second, got)
    messages.received[m] = received
    if staying > 0:
        messages.stable[m] = NEVER
        messages.last[m] = -1
        messages.held[m] = 0
        return
    if leaving > 0:
        for k in range(groups.first_leaver[group], groups.first_leaver[group + 1]):
            stay = groups.leaver[k]
            has = stay == sender or (notes.message[stay] == number and notes.got[stay] < NEVER)
            if has or not is_required(stays, stay, sent):
                continue
            gone = stays.end[stay]
            if gone > top or (gone == top and stay < last):
                top, second, last = gone, top, stay
            else:
                second = max(second, gone)
    messages.stable[m] = top
    messages.last[m] = last
    messages.held[m] = top - second if second > -NEVER else 0


@kernel
def note_lacking(
    messages: Messages,
    m: int,
    number: int,
    notes: Notes,
    stays: Stays,
    groups: Groups,
    group: int,
    waiting: Waiting,
    run: int,
) -> None:
    """Note who lacks a message that is not stable: members that never left."""
    count = 0
    for stay in range(groups.first_stay[group], groups.first_stay[group + 1]):
        if stays.end[stay] < NEVER or stay == messages.sender[m]:
            continue
        has = notes.message[stay] == number and notes.got[stay] < NEVER
        if not has and is_required(stays, stay, messages.sent[m]):
            if count < NAMED:
                waiting.stays[run, count] = stay
            count += 1
    waiting.lacking[run] = count
