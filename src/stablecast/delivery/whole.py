"""All tables of a trace in one process, from events in memory."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from stablecast.delivery import tables
from stablecast.delivery.columns import joined
from stablecast.delivery.happened import events_of
from stablecast.delivery.holding import anything_ends, changes_of, levels_of, summed, totals_of
from stablecast.delivery.kinds import FirstSeq
from stablecast.delivery.laggards import laggards_of
from stablecast.delivery.membership import membership_of
from stablecast.delivery.part import part_of
from stablecast.delivery.scan import Scan, scan_of
from stablecast.delivery.sources import sources_table


def tables_of(
    events: pa.Table, *, first_seq: FirstSeq = 1, scan: Scan | None = None
) -> Mapping[str, pa.Table]:
    """Return every table of a trace, by name; ``events`` has the columns of the schema, kinds as numbers."""
    scan = scan or scan_of(events)
    membership = membership_of(scan)
    names = tables.Names(membership)
    part = part_of(events_of(events, membership), membership, first_seq)
    messages, holdings = part.messages, part.judged.holdings
    changes = summed(changes_of(holdings, membership, ends=anything_ends(scan, membership)))
    peaks, occupancy = levels_of(changes, membership.name_group, membership.groups)
    violations = [part.judged.violations, part.out_of_line, part.of_claims]
    every = joined(violations)
    return {
        "messages": tables.messages_table(messages, part.known, names),
        "frontiers": tables.frontiers_table(part.frontiers, part.sent, names),
        "buffers": tables.buffers_table(totals_of(holdings, membership), peaks, names),
        "laggards": tables.laggards_table(laggards_of(messages, membership), names),
        "violations": tables.violations_table(every, names),
        "sources": sources_table(part.runs, part.before.open, part.ends, part.start, names),
        "occupancy": tables.occupancy_table(occupancy, names),
    }
