"""The messages of each source in the order of their numbers: how far all is stable, what is out of line.

Theory
    What is true of all messages up to some number is a sum over runs of numbers.  Each run is summed up by
    itself (:func:`summed_up`); the sums of all runs, a row each, tell every run what was before it and what
    comes next (:func:`put_in_line`); then each run can be walked through alone (:func:`walk`).  The first and
    the last of these see messages, and can be done by as many processes as there are runs; the middle one
    sees only the sums.
    A source's line may begin with messages that are not at hand any more, because they have left the state of
    a stream.  What matters of them is one row a source (:class:`Start`), from which the sums go on.
What follows
    ``prefix``: since when everything up to a message was stable, NEVER if it is not.  ``whole``: whether no
    number is missing before it.  Where both hold, the stable prefix of the source reaches the message.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stablecast.compiling import kernel
from stablecast.delivery.columns import Ints, Longs, shortened
from stablecast.delivery.kinds import EARLIEST, EVER, NEVER, RUN_BITS, FirstSeq
from stablecast.delivery.messages import Messages
from stablecast.delivery.violations import GAP, SEND_OUT_OF_ORDER, Violations, accuse, violations_by


class Claims(NamedTuple):
    """Claims that everything up to a number is stable, by source and number."""

    source: Ints
    seq: Longs
    stay: Ints
    time: Longs


class Start(NamedTuple):
    """Of each name: the messages that its line begins with and that are not at hand."""

    messages: Longs
    first_seq: Longs
    """NEVER if there are none; EVER in what follows."""
    last_seq: Longs
    last_sent: Longs
    """The sending of the last of them."""
    most_sent: Longs
    """The last sending of any; not after ``latest``."""
    latest: Longs
    """When the last of them was stable."""
    stable_seq: Longs
    stable_us: Longs
    """The end of the stable prefix among them."""


def nothing_before(names: int) -> Start:
    """Return the start of lines all of whose messages are at hand."""
    start = Start(*(np.full(names, EVER) for _ in Start._fields))
    return start._replace(messages=np.zeros(names, np.int64), first_seq=np.full(names, NEVER))


class Runs(NamedTuple):
    """Runs of numbers with messages or claims, by source and number, each summed up."""

    source: Ints
    number: Longs
    messages: Longs
    stables: Longs
    latest: Longs
    """When the last of them was stable that are; EVER if none is."""
    first_seq: Longs
    """This and the next three have no meaning in a run without messages."""
    last_seq: Longs
    last_sent: Longs
    first_stable: Longs
    earliest_sent: Longs
    """NEVER if there are none."""


class Before(NamedTuple):
    """What was before a run, what comes after it, and what is true of its whole source."""

    messages: Longs
    open: Longs
    latest: Longs
    """EVER if nothing was."""
    seq: Longs
    """EVER if there was none."""
    sent: Longs
    origin: Longs
    """The number that the source begins with."""
    next_seq: Longs
    next_stable: Longs
    """Of the next message after the run; NEVER if there is none."""
    source_last: Longs
    """The largest number of the source; EVER if it sent nothing."""
    earliest_sent: Longs
    """The first sending in this run or in any later one."""


class Line(NamedTuple):
    """Of each message: since when all up to it were stable, and whether no number is missing."""

    prefix: Longs
    whole: Ints


class Frontiers(NamedTuple):
    """Changes of stable prefixes."""

    source: Ints
    time: Longs
    stable: Longs


def runs_of(messages: Messages, claims: Claims) -> tuple[Runs, Longs, Longs]:
    """Sum up the runs in which there are messages or claims, and tell where each begins among both."""
    source = np.concatenate([messages.source, claims.source])
    number = np.concatenate([messages.seq, claims.seq]) >> RUN_BITS
    order = np.lexsort((number, source)) if len(claims.seq) else np.arange(len(source))
    source, number = source[order], number[order]
    changes = (source[1:] != source[:-1]) | (number[1:] != number[:-1])
    firsts = np.flatnonzero(np.concatenate([[len(source) > 0], changes]))
    run_of = np.empty(len(order), np.int64)
    run_of[order] = np.cumsum(np.concatenate([[0], changes])) if len(source) else 0
    every = np.arange(len(firsts) + 1)
    starts = np.searchsorted(run_of[: len(messages.seq)], every)
    claim_starts = np.searchsorted(run_of[len(messages.seq) :], every)
    runs = Runs(
        source[firsts], number[firsts], np.diff(starts), *(np.empty(len(firsts), np.int64) for _ in range(7))
    )
    sum_runs(messages.seq, messages.stable, messages.sent, starts, runs)
    return runs, starts, claim_starts


@kernel
def sum_runs(seq: Longs, stable: Longs, sent: Longs, starts: Longs, runs: Runs) -> None:
    """Fill in what takes a look at each message."""
    for run in range(starts.size - 1):
        stables, latest, earliest = 0, EVER, NEVER
        for m in range(starts[run], starts[run + 1]):
            earliest = min(earliest, sent[m])
            if stable[m] < NEVER:
                stables += 1
                latest = max(latest, stable[m])
        runs.stables[run] = stables
        runs.latest[run] = latest
        runs.earliest_sent[run] = earliest
        if runs.messages[run] > 0:
            first, last = starts[run], starts[run + 1] - 1
            runs.first_seq[run] = seq[first]
            runs.first_stable[run] = stable[first]
            runs.last_seq[run] = seq[last]
            runs.last_sent[run] = sent[last]


def put_in_line(runs: Runs, first_seq: FirstSeq, start: Start) -> Before:
    """Tell each run what is around it; runs are those of whole sources, in order."""
    count = len(runs.source)
    before = Before(*(np.empty(count, np.int64) for _ in Before._fields))
    tell_upwards(runs, start, before)
    tell_downwards(runs, start, before, EVER if first_seq == EARLIEST else int(first_seq))
    return before


@kernel
def tell_upwards(runs: Runs, start: Start, before: Before) -> None:
    """Go through the runs upwards: what was before."""
    messages, waiting, latest, seq, sent = 0, 0, EVER, EVER, EVER
    for k in range(runs.source.size):
        source = runs.source[k]
        if k == 0 or source != runs.source[k - 1]:
            messages, waiting, latest = start.messages[source], 0, start.latest[source]
            seq, sent = start.last_seq[source], start.last_sent[source]
        before.messages[k] = messages
        before.open[k] = waiting
        before.latest[k] = latest
        before.seq[k] = seq
        before.sent[k] = sent
        messages += runs.messages[k]
        waiting += runs.messages[k] - runs.stables[k]
        latest = max(latest, runs.latest[k])
        if runs.messages[k] > 0:
            seq, sent = runs.last_seq[k], runs.last_sent[k]


@kernel
def tell_downwards(runs: Runs, start: Start, before: Before, first_seq: int) -> None:
    """Go through the runs downwards: what comes after, and where the source begins and ends."""
    last, earliest, next_seq, next_stable = EVER, NEVER, NEVER, NEVER
    for k in range(runs.source.size - 1, -1, -1):
        source = runs.source[k]
        if k == runs.source.size - 1 or source != runs.source[k + 1]:
            last, earliest, next_seq, next_stable = start.last_seq[source], NEVER, NEVER, NEVER
        before.next_seq[k] = next_seq
        before.next_stable[k] = next_stable
        if runs.messages[k] > 0:
            last = max(last, runs.last_seq[k])
            next_seq, next_stable = runs.first_seq[k], runs.first_stable[k]
        earliest = min(earliest, runs.earliest_sent[k])
        before.source_last[k] = last
        before.earliest_sent[k] = earliest
        before.origin[k] = min(next_seq, start.first_seq[source])
    for k in range(1, runs.source.size):
        if runs.source[k] == runs.source[k - 1]:
            before.origin[k] = before.origin[k - 1]
            before.source_last[k] = before.source_last[k - 1]
    if first_seq != EVER:
        for k in range(runs.source.size):
            before.origin[k] = first_seq


def walk(
    messages: Messages, starts: Ints, before: Before, first_stay: Ints
) -> tuple[Line, Frontiers, Violations]:
    """Find prefixes, their changes, and what is out of line."""
    count = len(messages.seq)
    line = Line(np.empty(count, np.int64), np.empty(count, np.int8))
    frontiers = Frontiers(np.empty(count, np.int32), np.empty(count, np.int64), np.empty(count, np.int64))
    changes = walk_runs(messages, starts, before, line, frontiers)
    found = violations_by(
        lambda count, found: look_at_neighbours(messages, starts, before, first_stay, count, found),
        64 + count // 64,
    )
    return line, shortened(frontiers, changes), found


@kernel
def walk_runs(messages: Messages, starts: Longs, before: Before, line: Line, frontiers: Frontiers) -> int:
    """Fill in prefixes; return how often they changed."""
    changes = 0
    for run in range(starts.size - 1):
        latest, waiting, place = before.latest[run], before.open[run], before.messages[run]
        for m in range(starts[run], starts[run + 1]):
            place += 1
            if messages.stable[m] == NEVER:
                waiting += 1
            else:
                latest = max(latest, messages.stable[m])
            line.prefix[m] = NEVER if waiting > 0 else latest
            line.whole[m] = place == messages.seq[m] - before.origin[run] + 1
        for m in range(starts[run], starts[run + 1]):
            if line.prefix[m] == NEVER or not line.whole[m]:
                continue
            if m + 1 < starts[run + 1]:
                goes_on = line.whole[m + 1] and line.prefix[m + 1] == line.prefix[m]
            else:
                follows = before.next_seq[run] == messages.seq[m] + 1
                goes_on = follows and before.next_stable[run] <= line.prefix[m]
            if not goes_on:
                frontiers.source[changes] = messages.source[m]
                frontiers.time[changes] = line.prefix[m]
                frontiers.stable[changes] = messages.seq[m]
                changes += 1
    return changes


@kernel
def look_at_neighbours(
    messages: Messages, starts: Longs, before: Before, first_stay: Ints, count: Longs, found: Violations
) -> None:
    """Note missing numbers, the first of each gap, and messages that were sent before their predecessor."""
    for run in range(starts.size - 1):
        seq, sent = before.seq[run], before.sent[run]
        for m in range(starts[run], starts[run + 1]):
            expected = before.origin[run] if seq == EVER else seq + 1
            source, stay = messages.source[m], first_stay[messages.source[m]]
            if messages.seq[m] > expected:
                accuse(found, count, GAP, source, expected, stay, messages.sent[m])
            if seq != EVER and messages.sent[m] < sent:
                accuse(found, count, SEND_OUT_OF_ORDER, source, messages.seq[m], stay, messages.sent[m])
            seq, sent = messages.seq[m], messages.sent[m]


def with_start(frontiers: Frontiers, start: Start) -> Frontiers:
    """Add the last change of each line's start, if messages at hand did not make the prefix grow further.

    Where the prefix ends before the start does, it cannot grow any more, and its last change is known.
    """
    names = np.flatnonzero((start.stable_us == start.latest) & (start.stable_us > EVER))
    if not len(names):
        return frontiers
    source = np.concatenate([names.astype(np.int32), frontiers.source])
    time = np.concatenate([start.stable_us[names], frontiers.time])
    stable = np.concatenate([start.stable_seq[names], frontiers.stable])
    order = np.lexsort((stable, time, source))
    source, time = source[order], time[order]
    grows = np.append((source[1:] == source[:-1]) & (time[1:] == time[:-1]), False)
    return Frontiers(source[~grows], time[~grows], stable[order][~grows])


def sent_by(
    times: Longs, sources: Ints, source: Ints, seq: Longs, sent: Longs, before: Longs | None = None
) -> Longs:
    """Return the largest number that sources had sent by some times; EVER if none.

    Times are by source and do not go back; messages are by source.  ``before`` is for each source what it had
    sent before all of these times.
    """
    if bool(((sent[1:] < sent[:-1]) & (source[1:] == source[:-1])).any()) or (source[1:] < source[:-1]).any():
        order = np.lexsort((sent, source))
        source, seq, sent = source[order], seq[order], sent[order]
    found = np.empty(len(times), np.int64)
    if before is None:
        before = np.full(int(sources.max(initial=-1)) + 1, EVER)
    find_sent(times, sources, sent, seq, source, before, found)
    return found


@kernel
def find_sent(
    times: Longs, sources: Ints, at: Longs, seq: Longs, source: Ints, before: Longs, found: Longs
) -> None:
    """Go along times and sendings together; times of a source do not go back, nor do its sendings."""
    k = 0
    most = EVER
    for t in range(times.size):
        if t == 0 or sources[t] != sources[t - 1]:
            while k < at.size and source[k] < sources[t]:
                k += 1
            most = before[sources[t]]
        while k < at.size and source[k] == sources[t] and at[k] <= times[t]:
            most = max(most, seq[k])
            k += 1
        found[t] = most


def last_runs_by(times: Longs, sources: Ints, runs: Runs, before: Before) -> Ints:
    """Return the run that has the largest number that each source had sent by some times.

    It is the last run in which anything was sent by then; the first of the source if nothing was.  Runs are
    those of whole sources, in order.
    """
    first, after = (np.searchsorted(runs.source, sources, side) for side in ("left", "right"))
    found = np.empty(len(times), np.int64)
    find_last_runs(times, first, after, before.earliest_sent, found)
    return found


@kernel
def find_last_runs(times: Longs, first: Longs, after: Longs, earliest: Longs, found: Longs) -> None:
    """Search in halves: the first sending in a run or any later one does not go back."""
    for t in range(times.size):
        low, high = first[t], after[t]
        while high - low > 1:
            middle = (low + high) >> 1
            if earliest[middle] <= times[t]:
                low = middle
            else:
                high = middle
        found[t] = low
