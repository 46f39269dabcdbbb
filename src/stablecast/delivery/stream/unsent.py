"""Messages that somebody received or released and that nobody sent: which of them leave the state, and when.

Theory
    Of such a message the tables have what is wrong with it, and that members held it.  Both follow from its
    own events and from the stays of those at which they happened, so they are final when all of these are
    before the watermark and no more events of it are accepted.  It leaves when that has been so for the time
    that a stream lingers; from then on a sending of it, or anything else, comes too late.
    One thing in the tables does not follow from its own events alone: that its sending is missing is told
    once, by whoever said so first, and a claim that exceeds all that its source sent says so too.  A message
    therefore stays while a claim of its very number is earlier than all of its own events.  A later claim is
    not told any more once the message has left.
What is kept
    The numbers that have left, as ranges, because whoever collects the traces of a group may lack all that
    one member sent.  Ranges that the start of the source's line has passed are let go: everything up to there
    is refused.
    Where ranges go on from the start of a line without a gap, nothing can be sent any more up to their end,
    the *floor* of the source.  Claims up to the floor say nothing about messages to come, and are let go.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stablecast.compiling import kernel
from stablecast.delivery.columns import Ints, Longs, chosen, joined
from stablecast.delivery.kinds import NEVER, STABLE, FirstSeq
from stablecast.delivery.line import Start
from stablecast.delivery.part import Part
from stablecast.delivery.stream.patience import Marks
from stablecast.delivery.stream.places import places_of
from stablecast.delivery.violations import MISSING_SEND, Violations


class Unsent(NamedTuple):
    """Numbers of messages that have left and that nobody sent, as ranges by source."""

    source: Ints
    first_seq: Longs
    last_seq: Longs


def unsent_of(part: Part) -> Violations:
    """Return the messages at hand that nobody sent, by source and number, each as it was first told of."""
    found = part.judged.violations
    return chosen(found, found.kind == MISSING_SEND)


def unsent_leaving(part: Part, unsent: Violations, marks: Marks, linger_us: int) -> Ints:
    """Tell for each message that nobody sent whether it leaves now."""
    if not len(unsent.seq):
        return np.zeros(0, bool)
    mark = marks.now[part.membership.name_group[unsent.source]]
    return (_last_events(part, unsent) < mark - linger_us) & ~_claimed_before(part, unsent)


def _last_events(part: Part, unsent: Violations) -> Longs:
    """Return when the last was done with each message, claims apart, or the last that held it was gone."""
    happened, holdings, until = part.happened, part.judged.holdings, unsent.time.copy()
    place = places_of(unsent.source, unsent.seq, happened.source, happened.seq)
    own = (place >= 0) & (happened.kind != STABLE)
    np.maximum.at(until, place[own], happened.time[own])
    held = holdings.message - len(part.messages.seq)
    ended = (held >= 0) & (holdings.end < NEVER)
    np.maximum.at(until, held[ended], holdings.end[ended])
    return until


def _claimed_before(part: Part, unsent: Violations) -> Ints:
    """Tell of which messages somebody claimed the very number before anybody had them."""
    claims, found = part.claims, np.zeros(len(unsent.seq), bool)
    place = places_of(unsent.source, unsent.seq, claims.source, claims.seq)
    of_these = chosen(claims, place >= 0)
    place = place[place >= 0]
    first, who = unsent.time[place], unsent.stay[place]
    found[place[(of_these.time < first) | ((of_these.time == first) & (of_these.stay < who))]] = True
    return found


def unsent_with(old: Unsent, left: Violations, start: Start) -> Unsent:
    """Add messages that leave now, and let go of what the starts of lines have passed."""
    both = joined([old, Unsent(left.source, left.seq, left.seq)])
    both = chosen(both, both.last_seq > start.last_seq[both.source])
    both = chosen(both, np.lexsort((both.first_seq, both.source)))
    apart = (both.source[1:] != both.source[:-1]) | (both.first_seq[1:] != both.last_seq[:-1] + 1)
    begins, ends = np.append(True, apart)[: len(both.source)], np.append(apart, True)[: len(both.source)]
    return Unsent(both.source[begins], both.first_seq[begins], both.last_seq[ends])


def floors_of(start: Start, unsent: Unsent, first_seq: FirstSeq) -> Longs:
    """Return the number up to which nothing of each source can be sent any more."""
    lowest = first_seq if isinstance(first_seq, int) else 0
    floor: Longs = np.maximum(start.last_seq, lowest - 1)
    # Of each source only the first range may go on from there: others have a gap before them.
    goes_on = unsent.first_seq <= floor[unsent.source] + 1
    np.maximum.at(floor, unsent.source[goes_on], unsent.last_seq[goes_on])
    return floor


def is_among(unsent: Unsent, source: Ints, seq: Longs) -> Ints:
    """Tell which messages have left unsent."""
    found = np.zeros(len(source), bool)
    if len(unsent.source):
        find_among(unsent, source, seq, found)
    return found


@kernel
def find_among(unsent: Unsent, source: Ints, seq: Longs, found: Ints) -> None:
    """Halve the ranges for each number, to the first that does not end before it."""
    for k in range(source.size):
        low, high = 0, unsent.source.size
        while low < high:
            middle = (low + high) >> 1
            of = unsent.source[middle]
            if of < source[k] or (of == source[k] and unsent.last_seq[middle] < seq[k]):
                low = middle + 1
            else:
                high = middle
        if low < unsent.source.size and unsent.source[low] == source[k]:
            found[k] = unsent.first_seq[low] <= seq[k]
