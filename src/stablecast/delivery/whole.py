"""All tables of a trace in one process, from events in memory."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from stablecast.delivery import claims as claiming
from stablecast.delivery import tables
from stablecast.delivery.happened import events_of, ordered
from stablecast.delivery.holding import anything_ends, changes_of, levels_of, summed, totals_of
from stablecast.delivery.judge import Violations, judge
from stablecast.delivery.kinds import FirstSeq
from stablecast.delivery.laggards import laggards_of
from stablecast.delivery.line import put_in_line, runs_of, sent_by, walk
from stablecast.delivery.membership import membership_of
from stablecast.delivery.scan import Scan, scan_of
from stablecast.delivery.sources import ends_of, sources_table, waiting_in


def tables_of(
    events: pa.Table, *, first_seq: FirstSeq = 1, scan: Scan | None = None
) -> Mapping[str, pa.Table]:
    """Return every table of a trace, by name; ``events`` has the columns of the schema, kinds as numbers."""
    scan = scan or scan_of(events)
    membership = membership_of(scan)
    names = tables.Names(membership)
    happened = events_of(events, membership)
    order = ordered(happened)
    judged = judge(happened, order, membership)
    messages, stay_count = judged.messages, len(membership.stays.start)
    claims = claiming.claims_of(happened, order)
    runs, starts, claim_starts = runs_of(messages, claims)
    before = put_in_line(runs, first_seq)
    line, frontiers, out_of_line = walk(messages, starts, before, membership.first_stay)
    violations = [judged.violations, out_of_line]
    known = None
    if len(claims.seq):
        later = claiming.claimed_later(claiming.cells_of(claims, stay_count), runs, stay_count)
        known = claiming.known_when(messages, starts, claims, claim_starts, later, membership)
        violations.append(claiming.early_claims(claims, claim_starts, messages, starts, line, before))
    ends = ends_of(starts, messages, line, waiting_in(runs, order, judged.waiting))
    changes = summed(changes_of(judged.holdings, membership, ends=anything_ends(scan, membership)))
    peaks, occupancy = levels_of(changes, membership.name_group, membership.groups)
    every = Violations(*(np.concatenate(columns) for columns in zip(*violations, strict=True)))
    sent = sent_by(frontiers.time, frontiers.source, messages.source, messages.seq, messages.sent)
    return {
        "messages": tables.messages_table(messages, known, names),
        "frontiers": tables.frontiers_table(frontiers, sent, names),
        "buffers": tables.buffers_table(totals_of(judged.holdings, membership), peaks, names),
        "laggards": tables.laggards_table(laggards_of(messages, membership), names),
        "violations": tables.violations_table(every, names),
        "sources": sources_table(runs, before.open, ends, names),
        "occupancy": tables.occupancy_table(occupancy, names),
    }
