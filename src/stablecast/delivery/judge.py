"""What is true of each message: who had to have it, since when all did, who was last, and what was wrong.

Theory
    Everything that is told of a message lies in one piece of the ordered events.  One pass over the piece
    notes, for each incarnation that is in it, its first receipt and its first release; then the truth follows
    from counts.  How many members had to receive what was sent at a time is known from the steps of the
    group: those that stayed to the end, and those that left later.  If one that stayed lacks the message, it
    is not stable, whoever else lacks it.  If only some that left lack it, it is stable since the last of them
    left or the last of all others received it, so only the group's leavers are gone through.  Nobody else is
    ever looked at: the cost of a message is that of its events, but for messages that somebody missed who
    left later.
What is kept between messages
    Notes of incarnations carry the number of the message that they are about, so that nothing has to be
    cleared.
What can go wrong
    Violations may be many.  Their number is counted whether or not there is room; if there was too little,
    the pass is made again with enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from stablecast.compiling import inlined, kernel
from stablecast.delivery.columns import Ints, Longs, shortened
from stablecast.delivery.happened import Events, Ordered
from stablecast.delivery.kinds import EVER, NEVER, RECEIVE, RELEASE, RUN, RUN_BITS, SEND, STABLE
from stablecast.delivery.membership import Groups, Membership, Stays

VIOLATIONS = (
    "early_stable",
    "early_release",
    "receive_after_departure",
    "duplicate",
    "receive_before_send",
    "sent_again",
    "missing_send",
    "gap",
    "send_out_of_order",
)
(
    EARLY_STABLE,
    EARLY_RELEASE,
    RECEIVE_AFTER_DEPARTURE,
    DUPLICATE,
    RECEIVE_BEFORE_SEND,
    SENT_AGAIN,
    MISSING_SEND,
    GAP,
    SEND_OUT_OF_ORDER,
) = range(len(VIOLATIONS))


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


class Violations(NamedTuple):
    """What should not be."""

    kind: Ints
    source: Ints
    seq: Longs
    stay: Ints
    time: Longs


class Holdings(NamedTuple):
    """Who held a message from when to when."""

    stay: Ints
    message: Ints
    """The row of the message; -1 if nobody sent it."""
    begin: Longs
    end: Longs
    """NEVER if it is held to the end."""
    size: Ints


class Notes(NamedTuple):
    """What is known of each incarnation about the message at hand."""

    message: Ints
    """The message that the rest is about."""
    got: Longs
    released: Longs
    seen: Ints
    """Incarnations that have done something with the message."""


class Waiting(NamedTuple):
    """Of each run of numbers: who lacks its first message that is not stable; a last row is of no run."""

    lacking: Ints
    """How many."""
    stays: Ints
    """The first :data:`NAMED` of them, a row for each run."""


class Counts(NamedTuple):
    """How far the outputs are filled, in arrays of one entry."""

    messages: Longs
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


NAMED = 10
"""At most so many of those that a source waits for are named."""


def judge(events: Events, order: Ordered, membership: Membership) -> Judged:
    """Find out what is true of each message."""
    sends = int(np.count_nonzero(events.kind == SEND))
    copies = int(np.count_nonzero(events.kind == RECEIVE)) + sends
    room = 1024 + len(events.seq) // 16
    while True:
        counts = no_counts()
        runs = len(order.run_source)
        waiting = Waiting(np.zeros(runs + 1, np.int32), np.zeros((runs + 1, NAMED), np.int32))
        judged = Judged(_no_messages(sends), no_violations(room), _no_holdings(copies), waiting)
        stays = len(membership.stays.start)
        notes = Notes(
            np.full(stays, -1),
            np.zeros(stays, np.int64),
            np.zeros(stays, np.int64),
            np.zeros(stays, np.int32),
        )
        judge_all(
            events, order, membership.stays, membership.groups, membership.name_group, notes, counts, *judged
        )
        if counts.violations[0] <= room:
            break
        room = int(counts.violations[0])
    return Judged(
        shortened(judged.messages, int(counts.messages[0])),
        shortened(judged.violations, int(counts.violations[0])),
        shortened(judged.holdings, int(counts.holdings[0])),
        judged.waiting,
    )


def no_counts() -> Counts:
    """Return counts of nothing."""
    return Counts(*(np.zeros(1, np.int64) for _ in Counts._fields))


def violations_by(find: Callable[[Counts, Violations], object], room: int) -> Violations:
    """Return the violations that a pass finds, which is made again if there was too little room."""
    while True:
        found, counts = no_violations(room), no_counts()
        find(counts, found)
        if counts.violations[0] <= room:
            return shortened(found, int(counts.violations[0]))
        room = int(counts.violations[0])


def _no_messages(room: int) -> Messages:
    wide = {"seq", "sent", "stable", "held", "released_first", "released_last", "until"}
    columns: list[Ints] = [
        np.empty(room, np.int64 if name in wide else np.int32) for name in Messages._fields
    ]
    return Messages(*columns)


def no_violations(room: int) -> Violations:
    """Return room for so many."""
    return Violations(
        np.empty(room, np.int8),
        np.empty(room, np.int32),
        np.empty(room, np.int64),
        np.empty(room, np.int32),
        np.empty(room, np.int64),
    )


def _no_holdings(room: int) -> Holdings:
    wide = {"begin", "end"}
    columns: list[Ints] = [
        np.empty(room, np.int64 if name in wide else np.int32) for name in Holdings._fields
    ]
    return Holdings(*columns)


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
        hold_copies(notes, seen, stays, -1, -1, sent, 0, -1, counts, holdings)
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
            accuse(violations, counts, RECEIVE_BEFORE_SEND, source, seq, stay, notes.got[stay])
    held = hold_copies(notes, seen, stays, source, sender, sent, max(size, 0), m, counts, holdings)
    if notes.message[sender] != number:
        held = max(held, hold(holdings, counts, sender, m, sent, stays.end[sender], max(size, 0)))
    messages.until[m] = max(until, held)
    messages.let_go[m] = letting_go(notes, seen, stays, sent)


@inlined
def accuse(
    violations: Violations, counts: Counts, kind: int, source: int, seq: int, stay: int, time: int
) -> None:
    """Note a violation, if there is room; it is counted in any case."""
    v = counts.violations[0]
    counts.violations[0] += 1
    if v < violations.kind.size:
        violations.kind[v] = kind
        violations.source[v] = source
        violations.seq[v] = seq
        violations.stay[v] = stay
        violations.time[v] = time


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
                accuse(violations, counts, SENT_AGAIN, source, seq, stay, time)
            else:
                is_sent = True
            continue
        if kind == STABLE:
            continue
        if kind != RECEIVE and kind != RELEASE:
            accuse(violations, counts, RECEIVE_AFTER_DEPARTURE, source, seq, stay, time)
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
            accuse(violations, counts, DUPLICATE, source, seq, stay, max(time, notes.got[stay]))
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
    accuse(violations, counts, MISSING_SEND, source, seq, who, first)


@kernel
def sender_of(events: Events, key: Longs, mask: int, sent: int) -> int:
    """Return the incarnation that sent a message first."""
    sender = -1
    for k in range(key.size):
        e = key[k] & mask
        if events.kind[e] == SEND and events.time[e] == sent:
            sender = events.stay[e]
    return int(sender)


@inlined
def step_at(groups: Groups, group: int, time: int) -> int:
    """Return the step of a group's size that holds at a time."""
    low, high = groups.first_step[group], groups.first_step[group + 1]
    while high - low > 1:
        middle = (low + high) >> 1
        if groups.step_us[middle] <= time:
            low = middle
        else:
            high = middle
    return int(low)


@inlined
def is_required(stays: Stays, stay: int, sent: int) -> bool:
    """Tell whether an incarnation was a member when a message was sent."""
    return bool(stays.belongs[stay] and stays.start[stay] <= sent and stays.end[stay] > sent)


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
                accuse(
                    violations,
                    counts,
                    EARLY_RELEASE,
                    messages.source[m],
                    messages.seq[m],
                    events.stay[e],
                    time,
                )
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
