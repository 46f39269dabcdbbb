"""The second step: what is true of the messages of a bucket, and the sums that the driver puts in line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from stablecast.delivery.claims import Cells, cells_of, claims_of
from stablecast.delivery.columns import Ints, Longs, chosen
from stablecast.delivery.happened import events_of, ordered
from stablecast.delivery.holding import Changes, Totals, changes_of, totals_of
from stablecast.delivery.judge import judge
from stablecast.delivery.kinds import NEVER
from stablecast.delivery.laggards import Laggards, laggards_of
from stablecast.delivery.line import Claims, Runs, runs_of
from stablecast.delivery.membership import Membership
from stablecast.delivery.messages import Messages, Waiting
from stablecast.delivery.sources import waiting_in
from stablecast.delivery.violations import Violations
from stablecast.pipeline.analysis.spread.pack import NOWHERE, events_in
from stablecast.pipeline.analysis.spread.rows import Row, by_bucket, packed

JUDGED, SUMS, CHANGES = "judged", "sums", "changes"


class Judged(NamedTuple):
    """What is known of a bucket's messages from their events alone."""

    messages: Messages
    starts: Longs
    claims: Claims
    claim_starts: Longs
    violations: Violations
    waiting: Waiting


class Sums(NamedTuple):
    """What the driver needs of a bucket."""

    bucket: int
    runs: Runs
    cells: Cells
    names: Ints
    """The names that the next two are about."""
    laggards: Laggards
    totals: Totals
    parts: Ints
    """Name and slab of time in one number, that the next two are about."""
    came: Longs
    came_bytes: Longs
    """What a name came to hold, less what it let go, in a slab."""


@dataclass(frozen=True, eq=False)
class Judging:
    """How buckets are judged."""

    membership: Membership
    slabs: int
    """So many slabs of time does each group's time have."""
    keys: int
    """So many buckets do changes of holdings go to."""
    ends: bool
    """Whether anybody lets go of anything, or is gone."""

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Judge each bucket."""
        for bucket, together in by_bucket(rows):
            yield from self._judged(bucket, [row.data for row in together])

    def _judged(self, bucket: int, parts: list[bytes]) -> Iterator[Row]:
        membership = self.membership
        events = events_of(events_in(parts), membership)
        order = ordered(events)
        found = judge(events, order, membership)
        claims = claims_of(events, order)
        runs, starts, claim_starts = runs_of(found.messages, claims)
        waiting = waiting_in(runs, order, found.waiting)
        judged = Judged(found.messages, starts, claims, claim_starts, found.violations, waiting)
        yield Row(bucket, JUDGED, packed(judged))
        changes = changes_of(found.holdings, membership, ends=self.ends)
        part = parts_of(changes, membership, self.slabs)
        yield from self._changes(changes, part)
        laggards, totals = laggards_of(found.messages, membership), totals_of(found.holdings, membership)
        names = np.flatnonzero((totals.holdings > 0) | (laggards.completed > 0)).astype(np.int32)
        seen, came, came_bytes = _by_part(changes, part)
        sums = Sums(
            bucket=bucket,
            runs=runs,
            cells=cells_of(claims, len(membership.stays.start)),
            names=names,
            laggards=chosen(laggards, names),
            totals=chosen(totals, names),
            parts=seen,
            came=came,
            came_bytes=came_bytes,
        )
        yield Row(NOWHERE, SUMS, packed(sums))

    def _changes(self, changes: Changes, part: Ints) -> Iterator[Row]:
        """Yield changes by the key of their part, in as few bytes as they need."""
        every = np.arange(self.membership.name_count * self.slabs, dtype=np.uint64)
        keys = ((every * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(33)) % np.uint64(self.keys)).astype(
            np.uint16
        )
        key = keys[part]
        order = np.argsort(key, kind="stable")
        since = int(changes.time.min(initial=NEVER))
        narrow = Changes(
            _narrowed(part[order]),
            _narrowed(changes.time[order] - since),
            _narrowed(changes.messages[order]),
            _narrowed(changes.size[order]),
        )
        bounds = np.searchsorted(key[order], np.arange(self.keys + 1))
        for number in np.flatnonzero(np.diff(bounds)).tolist():
            few = chosen(narrow, slice(bounds[number], bounds[number + 1]))
            yield Row(number, CHANGES, packed(Packed(since, few)))


class Packed(NamedTuple):
    """Changes in as few bytes as they need."""

    since: int
    """Times are counted from then on."""
    changes: Changes

    def widened(self) -> Changes:
        """Return them as they were."""
        part, time, messages, size = (column.astype(np.int64) for column in self.changes)
        return Changes(part, time + self.since, messages, size)


def _by_part(changes: Changes, part: Ints) -> tuple[Ints, Longs, Longs]:
    """Return the parts that there are, and what came to be held in each, less what was let go."""
    seen = np.flatnonzero(np.bincount(part))
    sums = [np.zeros(int(part.max(initial=-1)) + 1, np.int64) for _ in range(2)]
    for total, column in zip(sums, (changes.messages, changes.size), strict=True):
        np.add.at(total, part, column)
    return seen, sums[0][seen], sums[1][seen]


def _narrowed(values: Longs) -> Longs:
    """Return whole numbers in the narrowest type that holds them."""
    least, most = int(values.min(initial=0)), int(values.max(initial=0))
    kept: Longs = values.astype(np.min_scalar_type(most if least >= 0 else min(least, -most - 1)))
    return kept


def parts_of(changes: Changes, membership: Membership, slabs: int) -> Ints:
    """Return name and slab of time of each change in one number; a span of the course is in one slab."""
    if slabs == 1:
        return changes.name.astype(np.int64)
    groups = membership.groups
    group = membership.name_group[changes.name]
    bits = groups.span_bits[group]
    first, last = groups.first_us[group] >> bits, groups.last_us[group] >> bits
    slab = np.clip(((changes.time >> bits) - first) * slabs // (last - first + 1), 0, slabs - 1)
    part: Ints = changes.name.astype(np.int64) * slabs + slab
    return part
