"""One look at every message: how many are stable, how long it took, and what each source has sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from stablecast.report.analysis_gather import gather, integers
from stablecast.report.analysis_spread import Spread
from stablecast.report.analysis_tables import Tables

COLUMNS = ("group", "source", "seq", "sent_us", "stable_us", "detected_last_us", "released_first_us")


@dataclass
class Messages:
    """What all messages come to."""

    count: int = 0
    released: int = 0
    """Messages that somebody released."""
    first_us: int | None = None
    """The first sending."""
    last_us: int | None = None
    """The last sending, or the last message's becoming stable, known as such or released."""
    to_stable: Spread = field(default_factory=Spread)
    """From sending until every member had it."""
    to_known: Spread = field(default_factory=Spread)
    """From sending until the last member that claims it to be stable did so."""
    by_source: pa.Table | None = None
    """group, source, messages, first_seq, last_seq, stable, waited (times to stable added up)."""

    @property
    def stable(self) -> int:
        """How many are stable."""
        return self.to_stable.count

    def see(self, batch: pa.Table) -> pa.Table:
        """Count a batch, and return what its sources are counted by."""
        sent = integers(batch.column("sent_us"))
        waited = pc.subtract(batch.column("stable_us"), batch.column("sent_us"))
        known = pc.subtract(batch.column("detected_last_us"), batch.column("sent_us"))
        self.count += batch.num_rows
        self.released += batch.num_rows - batch.column("released_first_us").null_count
        self.to_stable.add(integers(pc.drop_null(waited)))
        self.to_known.add(integers(pc.drop_null(known)))
        self.first_us = _least(self.first_us, int(sent.min()))
        for name in ("sent_us", "stable_us", "detected_last_us", "released_first_us"):
            latest = pc.max(batch.column(name)).as_py()
            if latest is not None:
                self.last_us = latest if self.last_us is None else max(self.last_us, latest)
        columns = batch.select(["group", "source", "seq"])
        # The sum of many times may be more than 64 bits hold.
        return columns.append_column("waited", pc.cast(waited, pa.float64()))


def read_messages(tables: Tables) -> Messages:
    """Go through the table of messages once."""
    messages = Messages()

    def seen() -> Iterator[pa.Table]:
        for batch in tables.batches("messages", COLUMNS):
            yield messages.see(batch)

    messages.by_source = gather(
        seen(),
        ("group", "source"),
        {
            "messages": ("seq", "count"),
            "first_seq": ("seq", "min"),
            "last_seq": ("seq", "max"),
            "stable": ("waited", "count"),
            "waited": ("waited", "sum"),
        },
    )
    return messages


def _least(known: int | None, found: int) -> int:
    return found if known is None else min(known, found)
