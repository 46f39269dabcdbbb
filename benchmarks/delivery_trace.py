"""A large delivery trace of a healthy group, as Parquet files: what the analysis is measured on.

Everybody receives every message once, after a log-normal delay; the first few members send.  The trace is
made and written in order of time, a row group at a time, so memory does not grow with its length.

`python -m benchmarks.delivery_trace FOLDER --receives 20000000` makes one.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from stablecast.trace.schema import KINDS, arrow_schema

Ints = NDArray[np.int64]

SEND, RECEIVE, STABLE, RELEASE = (KINDS.index(kind) for kind in ("send", "receive", "stable", "release"))
ROWS_AT_ONCE = 1_000_000
PAYLOAD_BYTES = (100, 1500)
CLAIM_EVERY = 50


@dataclass(frozen=True)
class Group:
    """What a healthy group is like."""

    groups: int
    """As many groups of this kind, side by side."""
    members: int
    sources: int
    mean_gap_us: float
    """Between one message and the next, of all sources of all groups together."""
    delay_us: float
    """Median of the delays to the fastest member; the slowest takes three times as long."""
    claims: bool
    releases: bool
    seed: int


@dataclass(frozen=True)
class Rows:
    """Events as columns of numbers, a row each; an absent size is -1."""

    group: Ints
    kind: Ints
    member: Ints
    source: Ints
    seq: Ints
    time_us: Ints
    size: Ints

    def taken(self, places: NDArray[np.generic]) -> Rows:
        return Rows(*(column[places] for column in self.columns()))

    def columns(self) -> tuple[Ints, ...]:
        return (self.group, self.kind, self.member, self.source, self.seq, self.time_us, self.size)


class Names(NamedTuple):
    """What groups and members are called."""

    groups: list[str]
    members: list[str]


def big_trace(
    folder: Path,
    receives: int,
    members: int = 40,
    *,
    groups: int = 1,
    sources: int = 4,
    claims: bool = False,
    releases: bool = False,
    files: int = 8,
    mean_gap_us: float = 500.0,
    delay_us: float = 2000.0,
    seed: int = 1,
) -> list[Path]:
    """Write a trace with about so many receive events; return its files, earliest first.

    ``claims`` lets every member claim stability of every ``CLAIM_EVERY``-th message of each source, once that
    is true; ``releases`` lets it release every message, once that is safe.
    """
    folder.mkdir(parents=True, exist_ok=True)
    group = Group(groups, members, sources, mean_gap_us, delay_us, claims, releases, seed)
    messages = max(1, receives // members)
    names = Names(
        ["group"] if groups == 1 else [f"g{number:04d}" for number in range(groups)],
        [f"m{number:03d}" for number in range(members)],
    )
    paths = [folder / f"part-{number:03d}.parquet" for number in range(files)]
    batches = _batches(group, messages, -(-messages // files))
    for number, path in enumerate(paths):
        end = (number + 1) * messages // files
        with pq.ParquetWriter(path, arrow_schema()) as writer:
            for rows, done in batches:
                writer.write_table(_table(rows, names), row_group_size=ROWS_AT_ONCE)
                if done >= end:
                    break
    return paths


def _batches(group: Group, messages: int, most: int) -> Iterator[tuple[Rows, int]]:
    """Yield rows in order of time, and how many messages were sent so far; not more than ``most`` at once."""
    random = np.random.default_rng(group.seed)
    at_once = min(most, max(1, ROWS_AT_ONCE // (group.members * (2 if group.releases else 1))))
    streams = group.groups * group.sources
    numbers, prefix_us = np.zeros(streams, np.int64), np.zeros(streams, np.int64)
    waiting, clock_us = _nothing(), 0
    for first in range(0, messages, at_once):
        count = min(at_once, messages - first)
        sent_us = clock_us + np.cumsum(random.exponential(group.mean_gap_us, count)).astype(np.int64)
        clock_us = int(sent_us[-1])
        rows = _joined([waiting, *_events(group, random, sent_us, numbers, prefix_us)])
        rows = rows.taken(np.argsort(rows.time_us, kind="stable"))
        # Nothing of the later messages is earlier than the last of these is sent.
        ready = np.searchsorted(rows.time_us, clock_us) if first + count < messages else rows.time_us.size
        waiting = rows.taken(np.arange(ready, rows.time_us.size))
        yield rows.taken(np.arange(ready)), first + count


def _events(
    group: Group, random: np.random.Generator, sent_us: Ints, numbers: Ints, prefix_us: Ints
) -> Iterator[Rows]:
    """Yield what happens to messages sent at these times; advance each source's number and stable prefix."""
    stream = random.integers(group.groups * group.sources, size=sent_us.size)
    its_group, source = np.divmod(stream, group.sources)
    seq = np.empty_like(sent_us)
    by_stream = np.split(
        np.argsort(stream, kind="stable"), np.cumsum(np.bincount(stream, minlength=numbers.size))[:-1]
    )
    for one, own in enumerate(by_stream):
        seq[own] = numbers[one] + np.arange(1, own.size + 1)
        numbers[one] += own.size
    size = random.integers(*PAYLOAD_BYTES, size=sent_us.size)
    yield _rows(its_group, SEND, source, source, seq, sent_us, size)
    shape = (sent_us.size, group.members)
    got_us = sent_us[:, None] + _delays(group, random, shape)
    got_us[np.arange(sent_us.size), source] = sent_us
    everyone = np.broadcast_to(np.arange(group.members), shape)
    message = (its_group[:, None], source[:, None], seq[:, None])
    yield _rows(message[0], RECEIVE, everyone, *message[1:], got_us, size[:, None])
    stable_us = got_us.max(axis=1)
    for one, own in enumerate(by_stream):
        stable_us[own] = np.maximum(np.maximum.accumulate(stable_us[own]), prefix_us[one])
        prefix_us[one] = stable_us[own].max(initial=prefix_us[one])
    if group.claims:
        claiming = (seq[:, None] + np.arange(group.members)) % CLAIM_EVERY == 0
        known_us = stable_us[:, None] + _delays(group, random, shape)
        yield _rows(message[0], STABLE, everyone, *message[1:], known_us).taken(claiming.ravel())
    if group.releases:
        gone_us = stable_us[:, None] + _delays(group, random, shape)
        yield _rows(message[0], RELEASE, everyone, *message[1:], gone_us)


def _delays(group: Group, random: np.random.Generator, shape: tuple[int, int]) -> Ints:
    slowness = np.linspace(1.0, 3.0, group.members)
    delays: Ints = (random.lognormal(np.log(group.delay_us), 0.5, shape) * slowness).astype(np.int64)
    return delays


def _rows(
    group: Ints, kind: int, member: Ints, source: Ints, seq: Ints, time_us: Ints, size: Ints | None = None
) -> Rows:
    columns = (group, np.int64(kind), member, source, seq, time_us, np.int64(-1) if size is None else size)
    return Rows(*(np.broadcast_to(column, time_us.shape).ravel() for column in columns))


def _nothing() -> Rows:
    return Rows(*(np.empty(0, np.int64) for _ in range(7)))


def _joined(parts: list[Rows]) -> Rows:
    return Rows(
        *(np.concatenate(columns) for columns in zip(*(part.columns() for part in parts), strict=True))
    )


def _table(rows: Rows, names: Names) -> pa.Table:
    columns = [
        pa.array(names.groups).take(pa.array(rows.group)),
        pa.array(KINDS).take(pa.array(rows.kind)),
        pa.array(names.members).take(pa.array(rows.member)),
        pa.array(names.members).take(pa.array(rows.source)),
        pa.array(rows.seq),
        pa.array(rows.time_us),
        pa.array(rows.size.astype(np.int32), mask=rows.size < 0),
    ]
    return pa.table(columns, schema=arrow_schema())


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.delivery_trace", description=__doc__.split("\n")[0]
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--receives", type=int, default=20_000_000)
    parser.add_argument("--members", type=int, default=40)
    parser.add_argument("--claims", action="store_true", help="members claim stability")
    parser.add_argument("--releases", action="store_true", help="members release every message")
    parser.add_argument("--files", type=int, default=8)
    options = parser.parse_args()
    paths = big_trace(
        options.folder,
        options.receives,
        options.members,
        claims=options.claims,
        releases=options.releases,
        files=options.files,
    )
    print(
        f"{len(paths)} files, {sum(path.stat().st_size for path in paths) / 1e6:.0f} MB in {options.folder}"
    )


if __name__ == "__main__":
    main()
