"""One part of a trace: what follows from the events at hand, and from what is known of those before.

Theory
    A whole trace is a part before which there was nothing.  A later part of a stream has at hand the events
    of all messages that have not left the state, old and new ones, and judges these messages as a whole trace
    does.  Of messages that have left it knows how each source's line begins (:class:`~.line.Start`) and,
    where a message left before an earlier one of its source, its number, sending and truth (:class:`Thin`).
    Thin messages stand in the line beside those at hand, and in no other place.
What is true after
    ``messages``, ``holdings`` and ``of_messages`` are of messages at hand alone.  ``line``, ``frontiers`` and
    what is wrong in them are of all messages of the line after its start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from stablecast.delivery import claims as claiming
from stablecast.delivery.claims import Known
from stablecast.delivery.columns import Ints, Longs, chosen, joined
from stablecast.delivery.happened import Events, ordered
from stablecast.delivery.judge import Judged, judge
from stablecast.delivery.kinds import NEVER, FirstSeq
from stablecast.delivery.line import (
    Before,
    Claims,
    Frontiers,
    Line,
    Runs,
    Start,
    nothing_before,
    put_in_line,
    runs_of,
    sent_by,
    walk,
    with_start,
)
from stablecast.delivery.membership import Membership
from stablecast.delivery.messages import Messages
from stablecast.delivery.sources import Ends, ends_of, waiting_in
from stablecast.delivery.violations import Violations, no_violations


class Thin(NamedTuple):
    """Messages that left before an earlier one of their source; all of them are stable."""

    source: Ints
    seq: Longs
    sent: Longs
    stable: Longs


def no_thin() -> Thin:
    """Return none."""
    return Thin(np.zeros(0, np.int32), *(np.zeros(0, np.int64) for _ in range(3)))


@dataclass(frozen=True, eq=False)
class Part:
    """What is true of messages at hand, and of their sources' lines."""

    membership: Membership
    happened: Events
    judged: Judged
    known: Known | None
    """Of messages at hand; None without claims."""
    lined: Messages
    """All messages of the line, by source and number; thin ones have no more than their number and times."""
    place: Ints | slice
    """Where the messages at hand are among these."""
    claims: Claims
    start: Start
    runs: Runs
    before: Before
    line: Line
    frontiers: Frontiers
    sent: Longs
    """The largest number that had been sent by each change of a prefix."""
    ends: Ends
    out_of_line: Violations
    of_claims: Violations

    @property
    def messages(self) -> Messages:
        """Messages at hand that were sent."""
        return self.judged.messages


def part_of(
    happened: Events,
    membership: Membership,
    first_seq: FirstSeq,
    start: Start | None = None,
    thin: Thin | None = None,
) -> Part:
    """Compute all that follows from the events at hand."""
    start = start or nothing_before(membership.name_count)
    order = ordered(happened)
    judged = judge(happened, order, membership)
    lined, place = with_thin(judged.messages, thin or no_thin())
    claims = claiming.claims_of(happened, order)
    runs, starts, claim_starts = runs_of(lined, claims)
    before = put_in_line(runs, first_seq, start)
    line, frontiers, out_of_line = walk(lined, starts, before, membership.first_stay)
    frontiers = with_start(frontiers, start)
    known, of_claims = _told(claims, claim_starts, lined, starts, line, before, runs, membership)
    return Part(
        membership=membership,
        happened=happened,
        judged=judged,
        known=None if known is None else chosen(known, place),
        lined=lined,
        place=place,
        claims=claims,
        start=start,
        runs=runs,
        before=before,
        line=line,
        frontiers=frontiers,
        sent=sent_by(frontiers.time, frontiers.source, lined.source, lined.seq, lined.sent, start.last_seq),
        ends=ends_of(starts, lined, line, waiting_in(runs, order, judged.waiting)),
        out_of_line=out_of_line,
        of_claims=of_claims,
    )


def _told(
    claims: Claims,
    claim_starts: Longs,
    lined: Messages,
    starts: Longs,
    line: Line,
    before: Before,
    runs: Runs,
    membership: Membership,
) -> tuple[Known | None, Violations]:
    """Return when messages were known to be stable, and what is wrong with claims."""
    if not len(claims.seq):
        return None, no_violations(0)
    stays = len(membership.stays.start)
    later = claiming.claimed_later(claiming.cells_of(claims, stays), runs, stays)
    known = claiming.known_when(lined, starts, claims, claim_starts, later, membership)
    return known, claiming.early_claims(claims, claim_starts, lined, starts, line, before)


def with_thin(messages: Messages, thin: Thin) -> tuple[Messages, Ints | slice]:
    """Put thin messages between those at hand; return all of them, and where those at hand are."""
    if not len(thin.seq):
        return messages, slice(None)
    count = len(thin.seq)
    told = {"source": thin.source, "seq": thin.seq, "sent": thin.sent, "stable": thin.stable}
    empty = Messages(*(np.full(count, -1, column.dtype) for column in messages))._replace(
        released_first=np.full(count, NEVER), released_last=np.full(count, NEVER), **told
    )
    both = joined([messages, empty])
    order = np.lexsort((both.seq, both.source))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return chosen(both, order), place[: len(messages.seq)]
