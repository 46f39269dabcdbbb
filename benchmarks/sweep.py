"""A sweep on Spark against a process pool: the same points, both warm, in one run."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from stablecast.compiling import sources_digest
from stablecast.pipeline.point import Point, simulation
from stablecast.pipeline.schema import WALL_COLUMNS, Row, table_of
from stablecast.pipeline.session import spark_session
from stablecast.pipeline.store import read_rows
from stablecast.pipeline.sweep import Again, sweep
from stablecast.pipeline.tasks import Terms, run_point

CORES = 2


@dataclass(frozen=True)
class SweepTimes:
    points: int
    point_ms: float
    pool_s: list[float]
    spark_s: list[float]
    equal: bool

    @property
    def ratio(self) -> float:
        """Spark's best time over the pool's best."""
        return min(self.spark_s) / min(self.pool_s)


def points_of_about_50_ms(count: int) -> list[Point]:
    return [simulation(protocol="coordp", degree=4, height=5, executions=15, seed=n) for n in range(count)]


def compare(count: int = 400, rounds: int = 3) -> SweepTimes:
    points = points_of_about_50_ms(count)
    terms = Terms(sources=sources_digest())
    pool_s, spark_s = [], []
    with (
        multiprocessing.get_context("fork").Pool(CORES) as pool,
        spark_session(master=f"local[{CORES},4]", protocols=["coordp"]),
        tempfile.TemporaryDirectory() as folder,
    ):
        run = partial(run_point, terms=terms)
        pool.map(run, points[:8], chunksize=1)
        sweep(points[:8], Path(folder))
        for _ in range(rounds):
            began = time.perf_counter()
            by_pool = list(pool.imap_unordered(run, points, chunksize=1))
            pool_s.append(time.perf_counter() - began)
            began = time.perf_counter()
            file = sweep(points, Path(folder), again=Again(force=True)).file
            spark_s.append(time.perf_counter() - began)
        equal = _same(by_pool, read_rows(file))
    each = sum(row["point_wall_s"] for row in by_pool) / count
    return SweepTimes(count, 1000 * each, pool_s, spark_s, equal)


def _same(by_pool: list[Row], by_spark: list[Row]) -> bool:
    def plain(rows: list[Row]) -> dict[str, Row]:
        return {
            row["key"]: {name: value for name, value in row.items() if name not in WALL_COLUMNS}
            for row in rows
        }

    return plain(table_of(by_pool).to_pylist()) == plain(by_spark)
