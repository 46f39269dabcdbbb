"""Which messages leave the state of a stream, and how the lines of their sources begin from then on.

Theory
    What is before the watermark is taken to be known.  A message leaves when it was stable and all that was
    done with it happened before the watermark, nobody who left at or after the watermark still held it, and
    whoever claims or releases messages of its source at all has claimed and released it, or has had long
    enough.  Its row is then final: new events are not before the watermark, so they neither change who had to
    have it nor when they had it, and its claims are known because every claimer that had to have it has
    claimed it before the watermark.  Messages that nobody sent leave too (:mod:`.unsent`).
    A line's start takes in messages that have left up to the first that stays.  Everything in it was sent no
    later than its last message was stable, so that all of it counts as sent at every later change of the
    prefix; a message that was sent after its sender was gone waits until that is true.
    Everything for which this does not hold comes too late (:mod:`.late`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from stablecast.compiling import kernel
from stablecast.delivery.columns import Ints, Longs, chosen, joined
from stablecast.delivery.kinds import NEVER, FirstSeq
from stablecast.delivery.line import Line, Start
from stablecast.delivery.membership import Stays, is_required
from stablecast.delivery.messages import Messages
from stablecast.delivery.part import Part, Thin
from stablecast.delivery.stream.patience import Marks
from stablecast.delivery.stream.places import places_of
from stablecast.delivery.stream.unsent import Unsent, floors_of, unsent_leaving, unsent_of, unsent_with
from stablecast.delivery.violations import Violations


class Tellers(NamedTuple):
    """Who claimed, or released, anything of a source, by source and incarnation."""

    source: Ints
    stay: Ints
    covered: Longs
    """The largest number."""
    first: Longs
    last: Longs
    """When it did so first and last."""


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


@dataclass(frozen=True, eq=False)
class Left:
    """What leaves now, and what is known from now on of all that has left."""

    messages: Ints
    """Whether it leaves, of each message at hand."""
    unsent_messages: Violations
    """Messages at hand that nobody sent, each as it was first told of."""
    unsent_leave: Ints
    """Whether it leaves, of each of these."""
    start: Start
    """How lines begin."""
    thin: Thin
    unsent: Unsent
    floor: Longs
    """Of each name: the number up to which it can send nothing any more."""

    @property
    def of_holdings(self) -> Ints:
        """Whether it leaves, of all messages that holdings are of: those that nobody sent come last."""
        return np.concatenate([self.messages, self.unsent_leave])

    def has(self, part: Part, source: Ints, seq: Longs) -> Ints:
        """Tell which messages are among those that leave."""
        sent = places_of(part.messages.source, part.messages.seq, source, seq)
        unsent = places_of(self.unsent_messages.source, self.unsent_messages.seq, source, seq)
        leaves: Ints = np.append(self.messages, False)[sent] | np.append(self.unsent_leave, False)[unsent]
        return leaves


def left_by(
    part: Part,
    left_unsent: Unsent,
    marks: Marks,
    claimers: Tellers,
    releasers: Tellers,
    linger_us: int,
    first_seq: FirstSeq,
) -> Left:
    """Find what leaves now."""
    leaves = _leaving(part, marks, claimers, releasers, linger_us)
    gone = np.ones(len(part.lined.seq), bool)
    gone[part.place] = leaves
    start, still_thin = _absorbed(part.lined, gone, part.line, part.start)
    lined = chosen(part.lined, still_thin)
    messages = unsent_of(part)
    unsent_leave = unsent_leaving(part, messages, marks, linger_us)
    unsent = unsent_with(left_unsent, chosen(messages, unsent_leave), start)
    return Left(
        messages=leaves,
        unsent_messages=messages,
        unsent_leave=unsent_leave,
        start=start,
        thin=Thin(lined.source, lined.seq, lined.sent, lined.stable),
        unsent=unsent,
        floor=floors_of(start, unsent, first_seq),
    )


def _leaving(part: Part, marks: Marks, claimers: Tellers, releasers: Tellers, linger_us: int) -> Ints:
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


def _absorbed(lined: Messages, gone: Ints, line: Line, start: Start) -> tuple[Start, Ints]:
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
