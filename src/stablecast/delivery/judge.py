"""What is true of each message: who had to have it, since when all did, who was last, and what was wrong.

Theory
    Everything that is told of a message lies in one piece of the ordered events.  One pass over the piece
    notes, for each incarnation that is in it, its first receipt and its first release; what is true of the
    message follows from these notes (:mod:`.truth`).  Who held a copy from when to when follows from them
    too.  The cost of a message is that of its events.
What is kept between messages
    Notes carry the number of the message that they are about, so that nothing has to be cleared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stablecast.compiling import inlined, kernel
from stablecast.delivery.columns import Ints, Longs, shortened
from stablecast.delivery.happened import Events, Ordered
from stablecast.delivery.kinds import EVER, NEVER, RECEIVE, RELEASE, RUN, RUN_BITS, SEND, STABLE
from stablecast.delivery.membership import Groups, Membership, Stays, is_required
from stablecast.delivery.messages import (
    Holdings,
    Messages,
    Waiting,
    nobody_waiting,
    room_for_holdings,
    room_for_messages,
)
from stablecast.delivery.truth import Notes, find_truth, note_lacking, nothing_noted
from stablecast.delivery.violations import (
    DUPLICATE,
    EARLY_RELEASE,
    MISSING_SEND,
    RECEIVE_AFTER_DEPARTURE,
    RECEIVE_BEFORE_SEND,
    SENT_AGAIN,
    Violations,
    accuse,
    violations_by,
)


class Counts(NamedTuple):
    """How far the outputs are filled, in arrays of one entry."""

    messages: Longs
    unsent: Longs
    """Messages that nobody sent."""
    violations: Longs
    holdings: Longs


class Judged(NamedTuple):
    """What follows from the events of some runs alone."""

    messages: Messages
    violations: Violations
    """Also what is told of messages that nobody sent, the earliest of each."""
    holdings: Holdings
    waiting: Waiting
    """By run, as the ordered events have them."""


def judge(events: Events, order: Ordered, membership: Membership) -> Judged:
    """Find out what is true of each message."""
    sends = int(np.count_nonzero(events.kind == SEND))
    copies = int(np.count_nonzero(events.kind == RECEIVE)) + sends
    messages, holdings = room_for_messages(sends), room_for_holdings(copies)
    waiting = nobody_waiting(len(order.run_source) + 1)
    filled, unsent, held = (np.zeros(1, np.int64) for _ in range(3))
    stays = membership.stays

    def find(count: Longs, found: Violations) -> None:
        for column in (filled, unsent, held, waiting.lacking):
            column[:] = 0
        judge_all(
            events, order, stays, membership.groups, membership.name_group, nothing_noted(len(stays.start)),
            Counts(filled, unsent, count, held), messages, found, holdings, waiting,
        )  # fmt: skip

    violations = violations_by(find, 1024 + len(events.seq) // 16)
    messages, holdings = shortened(messages, int(filled[0])), shortened(holdings, int(held[0]))
    if unsent[0]:
        last = holdings.message < 0
        holdings.message[last] = len(messages.seq) - 1 - holdings.message[last]
    return Judged(messages, violations, holdings, waiting)


@kernel
def judge_all(
    events: Events,
    order: Ordered,
    stays: Stays,
    groups: Groups,
    name_group: Ints,
    notes: Notes,
    counts: Counts,
    messages: Messages,
    violations: Violations,
    holdings: Holdings,
    waiting: Waiting,
) -> None:
    """Go through the events of each message."""
    key, bits = order.key, order.place_bits
    begin = 0
    while begin < key.size:
        end = begin + 1
        while end < key.size and key[end] >> bits == key[begin] >> bits:
            end += 1
        judge_one(
            events, key[begin:end], bits, begin, order, stays, groups, name_group,
            notes, counts, messages, violations, holdings, waiting,
        )  # fmt: skip
        begin = end


@kernel
def judge_one(
    events: Events,
    key: Longs,
    bits: int,
    number: int,
    order: Ordered,
    stays: Stays,
    groups: Groups,
    name_group: Ints,
    notes: Notes,
    counts: Counts,
    messages: Messages,
    violations: Violations,
    holdings: Holdings,
    waiting: Waiting,
) -> None:
    """Judge the message whose events have these keys; ``number`` tells it from all others."""
    mask = (1 << bits) - 1
    run = key[0] >> (bits + RUN_BITS)
    source = order.run_source[run]
    seq = order.run_number[run] * RUN + ((key[0] >> bits) & (RUN - 1))
    sent, size, claims_only, until = NEVER, -1, True, EVER
    for k in range(key.size):
        e = key[k] & mask
        if events.kind[e] == SEND:
            sent = min(sent, events.time[e])
            size = max(size, events.size[e])
        if events.kind[e] != STABLE:
            claims_only = False
            until = max(until, events.time[e])
    if claims_only:
        return
    seen = note_copies(events, key, mask, number, source, seq, sent, stays, notes, counts, violations)
    if sent == NEVER:
        note_unsent(events, key, mask, source, seq, counts, violations)
        # How many messages are sent is not known yet, so those that nobody sent count downwards for now.
        hold_copies(notes, seen, stays, -1, -1, sent, 0, -1 - counts.unsent[0], counts, holdings)
        counts.unsent[0] += 1
        return
    sender = sender_of(events, key, mask, sent)
    m = counts.messages[0]
    counts.messages[0] += 1
    messages.source[m] = source
    messages.seq[m] = seq
    messages.size[m] = size
    messages.sent[m] = sent
    messages.sender[m] = sender
    find_truth(messages, m, number, seen, notes, stays, groups, name_group[source])
    if messages.stable[m] == NEVER and waiting.lacking[run] == 0:
        note_lacking(messages, m, number, notes, stays, groups, name_group[source], waiting, run)
    note_releases(events, key, mask, messages, m, counts, violations)
    for s in range(seen):
        stay = notes.seen[s]
        if notes.got[stay] < sent and stays.name[stay] != source:
            accuse(violations, counts.violations, RECEIVE_BEFORE_SEND, source, seq, stay, notes.got[stay])
    held = hold_copies(notes, seen, stays, source, sender, sent, max(size, 0), m, counts, holdings)
    if notes.message[sender] != number:
        held = max(held, hold(holdings, counts, sender, m, sent, stays.end[sender], max(size, 0)))
    messages.until[m] = max(until, held)
    messages.let_go[m] = letting_go(notes, seen, stays, sent)


@kernel
def note_copies(
    events: Events,
    key: Longs,
    mask: int,
    number: int,
    source: int,
    seq: int,
    sent: int,
    stays: Stays,
    notes: Notes,
    counts: Counts,
    violations: Violations,
) -> int:
    """Note the first receipt and the first release of each incarnation; return how many there are."""
    seen, is_sent = 0, False
    for k in range(key.size):
        e = key[k] & mask
        kind, stay, time = events.kind[e], events.stay[e], events.time[e]
        if kind == SEND:
            if is_sent or time > sent:
                accuse(violations, counts.violations, SENT_AGAIN, source, seq, stay, time)
            else:
                is_sent = True
            continue
        if kind == STABLE:
            continue
        if kind != RECEIVE and kind != RELEASE:
            accuse(violations, counts.violations, RECEIVE_AFTER_DEPARTURE, source, seq, stay, time)
            continue
        if notes.message[stay] != number:
            notes.message[stay] = number
            notes.got[stay] = NEVER
            notes.released[stay] = NEVER
            notes.seen[seen] = stay
            seen += 1
        if kind == RELEASE:
            notes.released[stay] = min(notes.released[stay], time)
        elif notes.got[stay] == NEVER:
            notes.got[stay] = time
        else:
            accuse(violations, counts.violations, DUPLICATE, source, seq, stay, max(time, notes.got[stay]))
            notes.got[stay] = min(time, notes.got[stay])
    return seen


@kernel
def note_unsent(
    events: Events, key: Longs, mask: int, source: int, seq: int, counts: Counts, violations: Violations
) -> None:
    """Note who first told of a message that nobody sent."""
    first, who = NEVER, -1
    for k in range(key.size):
        e = key[k] & mask
        time, stay = events.time[e], events.stay[e]
        if events.kind[e] != STABLE and (time < first or (time == first and stay < who)):
            first, who = time, stay
    accuse(violations, counts.violations, MISSING_SEND, source, seq, who, first)


@kernel
def sender_of(events: Events, key: Longs, mask: int, sent: int) -> int:
    """Return the incarnation that sent a message first."""
    sender = -1
    for k in range(key.size):
        e = key[k] & mask
        if events.kind[e] == SEND and events.time[e] == sent:
            sender = events.stay[e]
    return int(sender)


@kernel
def note_releases(
    events: Events, key: Longs, mask: int, messages: Messages, m: int, counts: Counts, violations: Violations
) -> None:
    """Note the first and the last release of a message, and those before it was stable."""
    first, last = NEVER, -NEVER
    for k in range(key.size):
        e = key[k] & mask
        if events.kind[e] == RELEASE:
            time = events.time[e]
            first, last = min(first, time), max(last, time)
            if time < messages.stable[m]:
                source, seq = messages.source[m], messages.seq[m]
                accuse(violations, counts.violations, EARLY_RELEASE, source, seq, events.stay[e], time)
    messages.released_first[m] = first
    messages.released_last[m] = last if first < NEVER else NEVER


@kernel
def letting_go(notes: Notes, seen: int, stays: Stays, sent: int) -> int:
    """Count those that had to have a message, never left, and have released it."""
    count = 0
    for s in range(seen):
        stay = notes.seen[s]
        if notes.released[stay] < NEVER and stays.end[stay] == NEVER and is_required(stays, stay, sent):
            count += 1
    return count


@kernel
def hold_copies(
    notes: Notes,
    seen: int,
    stays: Stays,
    source: int,
    sender: int,
    sent: int,
    size: int,
    message: int,
    counts: Counts,
    holdings: Holdings,
) -> int:
    """Note how long each one held its copy, and return the last end; the sender holds it from its sending."""
    last = EVER
    for s in range(seen):
        stay = notes.seen[s]
        begin = sent if stay == sender else notes.got[stay]
        if begin == NEVER or (stays.name[stay] == source and stay != sender):
            continue
        end = min(notes.released[stay], stays.end[stay])
        last = max(last, hold(holdings, counts, stay, message, begin, end, size))
    return int(last)


@inlined
def hold(holdings: Holdings, counts: Counts, stay: int, message: int, begin: int, end: int, size: int) -> int:
    """Note that a message was held, and return when it was let go, EVER if it was not.

    What ends before it begins is held for no time.
    """
    h = counts.holdings[0]
    counts.holdings[0] += 1
    until = end if end == NEVER else max(begin, end)
    holdings.stay[h] = stay
    holdings.message[h] = message
    holdings.begin[h] = begin
    holdings.end[h] = until
    holdings.size[h] = size
    return EVER if until == NEVER else int(until)
