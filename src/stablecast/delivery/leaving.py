"""Which messages leave the state of a stream, and what comes too late for that.

Theory
    The *watermark* of a group is its newest event's time less the delay; what is before it is taken to be
    known.  A message leaves when it was stable and all that was done with it happened before the watermark,
    nobody who left at or after the watermark still held it, and whoever claims or releases messages of its
    source at all has claimed and released it, or has had long enough.  Its row is then final: new events are
    not before the watermark, so they neither change who had to have it nor when they had it, and its claims
    are known because every claimer that had to have it has claimed it before the watermark.
    A line's start takes in messages that have left up to the first that stays.  Everything in it was sent no
    later than its last message was stable, so that all of it counts as sent at every later change of the
    prefix; a message that was sent after its sender was gone waits until that is true.
What comes too late
    Everything for which this does not hold: an event before the watermark; one of a message that has left; a
    claim by somebody who has not claimed all that has left and may have had to receive it; in a group without
    joins a new member, or a first join; a first join of one that had left before the watermark without having
    joined.  Each of them makes the past another one, and everything has to be computed anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from stablecast.compiling import kernel
from stablecast.delivery.coded import Coded
from stablecast.delivery.columns import Ints, Longs, chosen, joined
from stablecast.delivery.happened import Events
from stablecast.delivery.kinds import EVER, NEVER, STABLE
from stablecast.delivery.line import Line, Start
from stablecast.delivery.membership import Membership, Stays, is_required
from stablecast.delivery.messages import Messages
from stablecast.delivery.part import Part, Thin
from stablecast.delivery.scan import ACTIVE, Scan
from stablecast.errors import InvalidInput, StablecastError


class Untimely(StablecastError):
    """Something arrived that does not fit what has left the state; everything is to be computed anew."""


@dataclass(frozen=True)
class Patience:
    """How long a stream waits, in microseconds of the events' own time."""

    delay_us: int = 60_000_000
    """How much older than the newest event of its group an event may be."""
    linger_us: int = 600_000_000
    """How long after a message was stable its claims and releases are waited for."""

    def __post_init__(self) -> None:
        if self.delay_us < 0 or self.linger_us < 0:
            raise InvalidInput(f"{self} is no time to wait (accepted: microseconds, at least 0)")

    def doubled(self) -> Patience:
        """Return twice the patience."""
        return Patience(max(self.delay_us * 2, 1), max(self.linger_us * 2, 1))


class Marks(NamedTuple):
    """The watermark of each group."""

    before: Longs
    """After the parts before; EVER if the group is new."""
    now: Longs


class Tellers(NamedTuple):
    """Who claimed, or released, anything of a source, by source and incarnation."""

    source: Ints
    stay: Ints
    covered: Longs
    """The largest number."""
    first: Longs
    last: Longs
    """When it did so first and last."""


def marks_of(before: Scan, membership: Membership, patience: Patience) -> Marks:
    """Return the watermarks of all groups."""
    old = _watermarks(before, patience)
    was = np.array([old.get(group, EVER) for group in membership.group_names.to_pylist()], np.int64)
    return Marks(was, membership.groups.last_us - patience.delay_us)


def _watermarks(scan: Scan, patience: Patience) -> dict[str, int]:
    groups, last = scan.groups["group"].to_pylist(), scan.groups["last_us"].to_pylist()
    return {group: time - patience.delay_us for group, time in zip(groups, last, strict=True)}


def refuse_old_events(arrived: pa.Table, before: Scan, patience: Patience) -> None:
    """Refuse events that are older than the watermark was after the parts before."""
    old = _watermarks(before, patience)
    group = Coded.of(arrived["group"])
    mark = np.array([old.get(name, EVER) for name in group.values.to_pylist()], np.int64)
    late = arrived["time_us"].to_numpy() < mark[group.codes] if len(mark) else np.zeros(0, bool)
    if late.any():
        raise Untimely(f"{int(late.sum()):,} events are older than the watermark of their group")


def refuse_other_past(before: Scan, found: Scan, left: set[str], patience: Patience) -> None:
    """Refuse what gives groups that messages have left other members before the watermark."""
    joined = _joined(before)
    marks = _watermarks(before, patience)
    departed = {
        (row["group"], row["name"])
        for row in before.changes.to_pylist()
        if not row["joins"] and row["time_us"] < marks[row["group"]]
    }
    for group, name in sorted(_names_joined(found) - _names_joined(before)):
        if group in left and (group not in joined or (group, name) in departed):
            raise Untimely(f"'{name}' joined group '{group}', which messages have left, for the first time")
    for group, name in sorted(_active(found) - _active(before)):
        if group in left and group not in joined:
            raise Untimely(f"'{name}' is a new member of group '{group}', which messages have left")


def _names_joined(scan: Scan) -> set[tuple[str, str]]:
    return {(row["group"], row["name"]) for row in scan.changes.to_pylist() if row["joins"]}


def _joined(scan: Scan) -> set[str]:
    return {group for group, _ in _names_joined(scan)}


def _active(scan: Scan) -> set[tuple[str, str]]:
    columns = (scan.names[name].to_pylist() for name in scan.names.column_names)
    return {(group, name) for group, name, roles in zip(*columns, strict=True) if roles & ACTIVE}


def refuse_events_of_left(
    new: Events, start: Start, thin: Thin, claimers: Tellers, membership: Membership
) -> None:
    """Refuse events of messages that have left, and claims that change when these were known to be stable."""
    left_to, most_sent = start.last_seq.copy(), start.most_sent.copy()
    claim = new.kind == STABLE
    of_left = ~claim & (new.seq <= left_to[new.source])
    if len(thin.seq):
        of_left |= ~claim & (places_of(thin.source, thin.seq, new.source, new.seq) >= 0)
        np.maximum.at(left_to, thin.source, thin.seq)
        np.maximum.at(most_sent, thin.source, thin.sent)
    if of_left.any():
        raise Untimely(f"{int(of_left.sum()):,} events are of messages that have left the state")
    source, stay = new.source[claim], new.stay[claim]
    covered = np.append(claimers.covered, EVER)[places_of(claimers.source, claimers.stay, source, stay)]
    stays = membership.stays
    was_there = (stays.belongs[stay] > 0) & (stays.start[stay] <= most_sent[source])
    behind = (covered < left_to[source]) & (was_there | (stays.name[stay] == source))
    if behind.any():
        raise Untimely(f"{int(behind.sum()):,} claims are by members that were no longer waited for")


def places_of(first: Ints, second: Longs, asked: Ints, asked_second: Longs) -> Ints:
    """Return where pairs of numbers are among pairs in order; -1 for those that are not."""
    found = np.empty(len(asked), np.int64)
    find_places(first, second, asked, asked_second, found)
    return found


@kernel
def find_places(first: Ints, second: Longs, asked: Ints, asked_second: Longs, found: Longs) -> None:
    """Halve the places for each pair; the place of the pair before is tried first."""
    place = 0
    for k in range(asked.size):
        one, two = asked[k], asked_second[k]
        if place >= first.size or first[place] != one or second[place] != two:
            low, high = 0, first.size
            while low < high:
                middle = (low + high) >> 1
                if first[middle] < one or (first[middle] == one and second[middle] < two):
                    low = middle + 1
                else:
                    high = middle
            place = low
        there = place < first.size and first[place] == one and second[place] == two
        found[k] = place if there else -1


def tellers_with(old: Tellers, source: Ints, stay: Ints, seq: Longs, time: Longs) -> Tellers:
    """Add claims or releases to those that are known."""
    both = joined([old, Tellers(source, stay, seq, time, time)])
    if not len(both.source):
        return both
    order = np.lexsort((both.stay, both.source))
    both = chosen(both, order)
    changes = (both.source[1:] != both.source[:-1]) | (both.stay[1:] != both.stay[:-1])
    firsts = np.flatnonzero(np.concatenate([[True], changes]))
    return Tellers(
        both.source[firsts],
        both.stay[firsts],
        np.maximum.reduceat(both.covered, firsts),
        np.minimum.reduceat(both.first, firsts),
        np.maximum.reduceat(both.last, firsts),
    )


def leaving_now(part: Part, marks: Marks, claimers: Tellers, releasers: Tellers, linger_us: int) -> Ints:
    """Tell for each message at hand whether it leaves now."""
    membership = part.membership
    names = np.arange(membership.name_count + 1)
    leaves = np.zeros(len(part.messages.seq), bool)
    last = np.full(len(leaves), NEVER) if part.known is None else part.known.last
    claiming, releasing = (_staying(tellers, membership.stays) for tellers in (claimers, releasers))
    claimers_at, releasers_at = (np.searchsorted(tellers.source, names) for tellers in (claiming, releasing))
    now = marks.now[membership.name_group]
    waited = (claiming, releasing, claimers_at, releasers_at)
    find_leaving(part.messages, last, now, linger_us, *waited, membership.stays, leaves)
    return leaves


def _staying(tellers: Tellers, stays: Stays) -> Tellers:
    """Return those that are members still."""
    there = (stays.end[tellers.stay] == NEVER) & (stays.belongs[tellers.stay] > 0)
    return chosen(tellers, there)


@kernel
def find_leaving(
    messages: Messages,
    known: Longs,
    now: Longs,
    linger: int,
    claimers: Tellers,
    releasers: Tellers,
    claimer_starts: Longs,
    releaser_starts: Longs,
    stays: Stays,
    leaves: Ints,
) -> None:
    """Look at each message; see the module."""
    for m in range(messages.seq.size):
        source, sent, mark = messages.source[m], messages.sent[m], now[messages.source[m]]
        if sent >= mark or messages.stable[m] >= mark or messages.until[m] >= mark:
            continue
        if known[m] < NEVER and known[m] >= mark:
            continue
        waits = False
        if messages.stable[m] >= mark - linger:
            for k in range(claimer_starts[source], claimer_starts[source + 1]):
                behind = claimers.covered[k] < messages.seq[m]
                waits |= behind and is_required(stays, claimers.stay[k], sent)
            expected = 0
            for k in range(releaser_starts[source], releaser_starts[source + 1]):
                expected += is_required(stays, releasers.stay[k], sent)
            waits |= messages.let_go[m] < expected
        leaves[m] = not waits


def absorbed(lined: Messages, gone: Ints, line: Line, start: Start) -> tuple[Start, Ints]:
    """Let the start of each line take in messages that have left; return it, and which ones remain thin."""
    after = Start(*(column.copy() for column in start))
    thin = gone.copy()
    absorb(lined, gone, line, after, thin)
    return after, thin


@kernel
def absorb(lined: Messages, gone: Ints, line: Line, start: Start, thin: Ints) -> None:
    """Go along the messages of each source to the first that stays."""
    m = 0
    while m < lined.seq.size:
        source = lined.source[m]
        most_sent, latest, taken = start.most_sent[source], start.latest[source], m
        while m < lined.seq.size and lined.source[m] == source and gone[m]:
            most_sent, latest = max(most_sent, lined.sent[m]), max(latest, lined.stable[m])
            m += 1
            if most_sent > latest:
                continue
            for k in range(taken, m):
                take_in(lined, line, start, k)
                thin[k] = False
            taken = m
        while m < lined.seq.size and lined.source[m] == source:
            m += 1


@kernel
def take_in(lined: Messages, line: Line, start: Start, m: int) -> None:
    """Add one message to the start of its line."""
    source = lined.source[m]
    if start.messages[source] == 0:
        start.first_seq[source] = lined.seq[m]
    start.messages[source] += 1
    start.last_seq[source] = lined.seq[m]
    start.last_sent[source] = lined.sent[m]
    start.most_sent[source] = max(start.most_sent[source], lined.sent[m])
    start.latest[source] = max(start.latest[source], lined.stable[m])
    if line.whole[m] and line.prefix[m] < NEVER:
        start.stable_seq[source] = lined.seq[m]
        start.stable_us[source] = line.prefix[m]
