"""The analysis in one process, without Spark: the same computation on Arrow tables in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from stablecast.analysis.options import Options, check_kinds
from stablecast.analysis.reading.bad_rows import NO_EVENTS, BadRows
from stablecast.analysis.reading.classify import Classified
from stablecast.analysis.reading.events import read_events
from stablecast.analysis.reading.inputs import Inputs
from stablecast.analysis.recast import as_positions
from stablecast.analysis.summary import counted, counted_positions, is_of_positions, summary_of
from stablecast.delivery.positions.tables import position_tables
from stablecast.delivery.scan import Scan, scan_of
from stablecast.delivery.schema import EVENTS
from stablecast.delivery.whole import tables_of
from stablecast.errors import InvalidInput


@dataclass(frozen=True)
class Local:
    """What an analysis in one process found."""

    tables: Mapping[str, pa.Table]
    summary: Mapping[str, Any] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        from stablecast.analysis.showing import card_of_analysis

        return card_of_analysis(self.summary, self.tables).html()


def analyze_files(inputs: Inputs, options: Options) -> Local:
    """Read files and analyse what is in them."""
    bad = BadRows()
    read = read_events(inputs, options.foreign, first_seq=options.first_seq, on_bad_rows=options.on_bad_rows)
    return analyze_events(_good(read, bad), options, bad)


def _good(read: Iterable[Classified], bad: BadRows) -> pa.Table:
    tables = []
    for found in read:
        bad.add(found)
        tables.append(found.events)
    return pa.concat_tables([EVENTS.empty_table(), *tables]).unify_dictionaries()


def analyze_events(events: pa.Table, options: Options, bad: BadRows | None = None) -> Local:
    """Analyse classified events."""
    if not events.num_rows:
        raise InvalidInput(NO_EVENTS)
    if options.cumulative:
        events = as_positions(events)
    scan = scan_of(events)
    check_kinds(set(scan.kinds))
    tables = tables_for(events, scan, options)
    counts = counted_positions(tables) if is_of_positions(scan.kinds) else counted(tables)
    return Local(tables, summary_of(scan, bad.problems if bad else {}, counts))


def tables_for(events: pa.Table, scan: Scan, options: Options) -> Mapping[str, pa.Table]:
    """Return all tables of classified events of messages or of positions."""
    if not is_of_positions(scan.kinds):
        return tables_of(events, first_seq=options.first_seq, scan=scan)
    return position_tables(
        events,
        scan=scan,
        first_seq=options.first_seq,
        next_offset=options.next_offset,
        bytes_are_numbers=options.numbers_are_bytes,
    )
