"""The first look at events: who is in them, who came and went when, and how many there are of each kind.

What a scan finds of parts of a trace can be put together (:func:`merged`), so that parts can be looked at in
any order and by any number of processes.  It is small: a row for each name, for each change of the membership
and for each group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from stablecast.delivery.coded import Coded, combinations
from stablecast.delivery.columns import Ints
from stablecast.delivery.kinds import FAIL, HEAD, JOIN, KINDS, NEVER, POSITION, RECEIVE, SEND

HAPPENED, ACTIVE, SENT, NAMED, READS = 1, 2, 4, 8, 16
"""Roles of a name: an event happened there; it sent or received; it is the source of a send or a head; it is
the source of anything; it has a position."""
NAMES = pa.schema([("group", pa.string()), ("name", pa.string()), ("roles", pa.int8())])
CHANGES = pa.schema(
    [("group", pa.string()), ("name", pa.string()), ("joins", pa.bool_()), ("time_us", pa.int64())]
)
GROUPS = pa.schema(
    [("group", pa.string()), ("first_us", pa.int64()), ("last_us", pa.int64()), ("first_send_us", pa.int64())]
)
COUNTS = pa.schema([("kind", pa.int8()), ("events", pa.int64())])


@dataclass(frozen=True)
class Scan:
    """What is in some events."""

    names: pa.Table
    changes: pa.Table
    """Joins and departures, each time once."""
    groups: pa.Table
    """``first_send_us`` is :data:`~stablecast.delivery.kinds.NEVER` where nothing was sent."""
    counts: pa.Table

    def tables(self) -> Mapping[str, pa.Table]:
        """Return the tables by name."""
        return {"names": self.names, "changes": self.changes, "groups": self.groups, "counts": self.counts}

    @property
    def events(self) -> int:
        """How many there are."""
        return sum(self.counts["events"].to_pylist())

    @property
    def kinds(self) -> Mapping[str, int]:
        """How many there are of each kind, by name."""
        rows = zip(self.counts["kind"].to_pylist(), self.counts["events"].to_pylist(), strict=True)
        return dict(sorted((KINDS[kind], count) for kind, count in rows))

    def has(self, *kinds: int) -> bool:
        """Tell whether there is any event of these kinds."""
        return any(kind in kinds for kind in self.counts["kind"].to_pylist())


def scan_of(events: pa.Table) -> Scan:
    """Look at events with columns group, kind (a number), member, source and time_us."""
    group, member, source = (Coded.of(events[name]) for name in ("group", "member", "source"))
    kind = events["kind"].to_numpy()
    time = events["time_us"].to_numpy()
    return Scan(
        names=_merged_names([_members(group, member, kind), _sources(group, source, kind)]),
        changes=_changes(group, member, kind, time),
        groups=_groups(group, kind, time),
        counts=_counts(kind),
    )


def merged(scans: Iterable[Scan]) -> Scan:
    """Put together what was found of several parts."""
    every = list(scans)
    changes = pa.concat_tables([CHANGES.empty_table(), *(scan.changes for scan in every)])
    groups = pa.concat_tables([GROUPS.empty_table(), *(scan.groups for scan in every)])
    counts = pa.concat_tables([COUNTS.empty_table(), *(scan.counts for scan in every)])
    spans = [("first_us", "min"), ("last_us", "max"), ("first_send_us", "min")]
    return Scan(
        names=_merged_names([scan.names for scan in every]),
        changes=changes.group_by(CHANGES.names).aggregate([]).select(CHANGES.names),
        groups=groups.group_by("group").aggregate(spans).rename_columns(GROUPS.names),
        counts=counts.group_by("kind").aggregate([("events", "sum")]).rename_columns(COUNTS.names),
    )


def _merged_names(parts: list[pa.Table]) -> pa.Table:
    """Put together the roles that names have in several parts."""
    names = pa.concat_tables([NAMES.empty_table(), *parts])
    roles = names["roles"].to_numpy()
    bits = [str(bit) for bit in range(int(roles.max(initial=0)).bit_length())]
    told = pa.table(
        [names["group"], names["name"], *(roles >> int(bit) & 1 for bit in bits)], ["group", "name", *bits]
    )
    most = told.group_by(["group", "name"]).aggregate([(bit, "max") for bit in bits])
    every = sum((most[f"{bit}_max"].to_numpy() << int(bit) for bit in bits), np.zeros(most.num_rows, np.int8))
    return pa.table([most["group"], most["name"], every.astype(np.int8)], schema=NAMES)


def _members(group: Coded, member: Coded, kind: Ints) -> pa.Table:
    """Return the names that events happened at."""
    width = len(KINDS)
    found = combinations((group.codes, member.codes, kind), (len(group.values), len(member.values), width))
    roles = np.full(len(found[2]), HAPPENED)
    roles[np.isin(found[2], (SEND, RECEIVE))] |= ACTIVE
    roles[found[2] == POSITION] |= READS
    return _named(group, member, found[0], found[1], roles)


def _sources(group: Coded, source: Coded, kind: Ints) -> pa.Table:
    """Return the names that messages are said to be from."""
    told = source.codes >= 0
    does = (kind[told] == SEND) + 2 * (kind[told] == HEAD).astype(np.int8)
    columns = (group.codes[told], source.codes[told], does)
    found = combinations(columns, (len(group.values), len(source.values), 3))
    roles = np.array([NAMED, NAMED | SENT | ACTIVE, NAMED | SENT])[found[2]]
    return _named(group, source, found[0], found[1], roles)


def _named(group: Coded, name: Coded, groups: Ints, names: Ints, roles: Ints) -> pa.Table:
    return pa.table([group.names(groups), name.names(names), roles.astype(np.int8)], schema=NAMES)


def _changes(group: Coded, member: Coded, kind: Ints, time: Ints) -> pa.Table:
    rows = np.flatnonzero((kind >= JOIN) & (kind <= FAIL))
    columns = [
        group.names(group.codes[rows]),
        member.names(member.codes[rows]),
        kind[rows] == JOIN,
        time[rows],
    ]
    return pa.table(columns, schema=CHANGES).group_by(CHANGES.names).aggregate([]).select(CHANGES.names)


def _groups(group: Coded, kind: Ints, time: Ints) -> pa.Table:
    count = len(group.values)
    first, last = np.full(count, NEVER), np.full(count, -NEVER)
    first_send = np.full(count, NEVER)
    sends = kind == SEND
    np.minimum.at(first, group.codes, time)
    np.maximum.at(last, group.codes, time)
    np.minimum.at(first_send, group.codes[sends], time[sends])
    there = first < NEVER
    table = pa.table([group.values, first, last, first_send], schema=GROUPS)
    return table.filter(pa.array(there))


def _counts(kind: Ints) -> pa.Table:
    counts = np.bincount(kind, minlength=len(KINDS))
    there = np.flatnonzero(counts)
    return pa.table([there.astype(np.int8), counts[there]], schema=COUNTS)
