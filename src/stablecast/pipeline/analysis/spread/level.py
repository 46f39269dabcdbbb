"""The fourth step: what members held, by member and slab of time, for peaks and the course."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from stablecast.delivery import tables
from stablecast.delivery.columns import Ints, Longs, joined
from stablecast.delivery.holding import Changes, Occupancy, Peaks, levels_of, summed
from stablecast.delivery.membership import Membership
from stablecast.pipeline.analysis.spread.judge import Sums
from stablecast.pipeline.analysis.spread.pack import NOWHERE, as_bytes
from stablecast.pipeline.analysis.spread.rows import Row, by_bucket, packed, unpacked

OCCUPANCY, PEAKS = "occupancy", "peaks"


class Bases(NamedTuple):
    """What names held before slabs of time; by name and slab in one number."""

    part: Ints
    messages: Longs
    size: Longs


def bases(sums: Iterable[Sums], slabs: int) -> Bases:
    """Add up what each name came to hold in earlier slabs."""
    every = list(sums)
    part = np.concatenate([one.parts for one in every] or [np.zeros(0, np.int64)])
    came = [
        np.concatenate([getattr(one, name) for one in every] or [part]) for name in ("came", "came_bytes")
    ]
    seen, place = np.unique(part, return_inverse=True)
    name = seen // slabs
    first = np.searchsorted(name, name)
    before = []
    for column in came:
        total = np.zeros(len(seen), np.int64)
        np.add.at(total, place, column)
        so_far = np.concatenate([[0], np.cumsum(total)])
        before.append(so_far[np.arange(len(seen))] - so_far[first])
    return Bases(seen, before[0], before[1])


@dataclass(frozen=True, eq=False)
class Leveling:
    """How changes become levels."""

    membership: Membership
    slabs: int
    bases: Bases

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Add up the changes of each key."""
        names = tables.Names(self.membership)
        for key, together in by_bucket(rows):
            parts: list[Changes] = [unpacked(row.data).widened() for row in together]
            changes = joined(parts)
            peaks, occupancy = self._levels(summed(changes))
            if len(occupancy.name):
                yield Row(key, OCCUPANCY, as_bytes(tables.occupancy_table(occupancy, names)))
            yield Row(NOWHERE, PEAKS, packed(peaks))

    def _levels(self, changes: Changes) -> tuple[tuple[Ints, Peaks], Occupancy]:
        """Return peaks by name, and the course, of parts that may be any slabs of any names."""
        seen, place = np.unique(changes.name, return_inverse=True)
        base = np.searchsorted(self.bases.part, seen)
        name = (seen // self.slabs).astype(np.int32)
        peaks, course = levels_of(
            changes._replace(name=place.astype(np.int32)),
            self.membership.name_group[name],
            self.membership.groups,
            (self.bases.messages[base], self.bases.size[base]),
        )
        return (name, peaks), course._replace(name=name[course.name])
