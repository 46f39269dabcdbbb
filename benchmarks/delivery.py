"""Measure the analysis of delivery traces: against DuckDB, as events grow, at ten times that, as a stream.

`python -m benchmarks.delivery FOLDER duckdb|releases|foreign|shapes|local|growth|large|stream` makes the
traces that it needs in FOLDER, once.  Times are printed and never judged; what is compared was measured in
one run, on the same files.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.delivery_trace import big_trace

MEMBERS = 40
STREAM_FILES = 40
ORACLE = Path(__file__).parents[1] / "tests" / "analysis"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.delivery", description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "what", choices=("duckdb", "releases", "foreign", "shapes", "local", "growth", "large", "stream")
    )
    parser.add_argument(
        "--receives", type=int, help="instead of 20, 80 (growth: the most), 200 or 50 million"
    )
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--memory", default="4g", help="of the driver")
    parser.add_argument("--parts", type=int, default=10, help="of the stream, of 40 files")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    parts: dict[str, Callable[[Any], bool]] = {
        "duckdb": against_duckdb,
        "releases": with_releases,
        "foreign": foreign_logs,
        "shapes": shapes,
        "local": without_spark,
        "growth": growth,
        "large": large,
        "stream": stream,
    }
    return 0 if parts[options.what](options) else 1


def _trace(folder: Path, receives: int, files: int = 8, members: int = MEMBERS, **how: int) -> Path:
    shape = {"members": members} if members != MEMBERS else {}
    words = [key if value is True else f"{value}-{key}" for key, value in (shape | how).items() if value]
    place = folder / "-".join(["events", str(receives), *words])
    if not place.exists():
        print(f"# making {place}", file=sys.stderr)
        big_trace(place, receives, members, files=files, **how)  # type: ignore[arg-type]
    size = sum(file.stat().st_size for file in place.glob("*.parquet"))
    rows = sum(pq.read_metadata(file).num_rows for file in place.glob("*.parquet"))
    print(f"{place.name}: {rows:,} events, {size / 1e6:,.0f} MB")
    return place


def _session(options: Any) -> Any:
    from stablecast.pipeline.session import build_session, data_conf

    local = str(options.folder.absolute() / "spark")
    conf = data_conf({"spark.driver.memory": options.memory, "spark.local.dir": local})
    return build_session(master=options.master, conf=conf)


def _analysed(spark: Any, events: Path, out: Path, options: Any = None) -> float:
    from stablecast.pipeline.analysis.analyze import analyze

    shutil.rmtree(out, ignore_errors=True)
    began = time.perf_counter()

    def say(step: str) -> None:
        print(f"# {time.perf_counter() - began:6.1f} s: {step}", file=sys.stderr)

    analyze([events], out, spark=spark, options=options, say=say)
    print(f"# the largest worker of Python had {_worker_gib():.2f} GiB", file=sys.stderr)
    return time.perf_counter() - began


def _worker_gib() -> float:
    """Return the most memory that a worker of Spark had so far, of those that are there."""
    most = 0
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode().split("\0")
            status = (entry / "status").read_text()
        except OSError:
            continue
        if any("pyspark" in word or "stablecast.pipeline.daemon" in word for word in words):
            facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
            if "python" in facts.get("Name", ""):
                most = max(most, int(facts["VmHWM"].split()[0]))
    return most / 2**20


def _peak_gib() -> float:
    """Return the most memory that the Java of this process had so far."""
    most = 0
    for entry in Path("/proc").iterdir():
        try:
            status = (entry / "status").read_text()
        except (OSError, ValueError):
            continue
        facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        if facts.get("Name", "").strip() == "java" and int(facts["PPid"]) == os.getpid():
            most = max(most, int(facts["VmHWM"].split()[0]))
    return most / 2**20


def without_spark(options: Any) -> bool:
    """Print the time of one process, twice."""
    events = _trace(options.folder, options.receives or 20_000_000, claims=True)
    for _ in range(2):
        print(f"one process {_analysed(None, events, options.folder / 'local-tables'):.1f} s", flush=True)
    return True


def with_releases(options: Any) -> bool:
    """Do the same with a trace in which everybody lets go of everything."""
    return against_duckdb(options, releases=True)


def against_duckdb(options: Any, *, releases: bool = False) -> bool:
    """Print Spark's time beside DuckDB's, both warm, and tell whether their tables agree."""
    how = {"claims": True} | ({"releases": True} if releases else {})
    events = _trace(options.folder, options.receives or 20_000_000, **how)
    files = [str(file) for file in sorted(events.glob("*.parquet"))]
    return _beside_duckdb(options, _session(options), events, files)


def _beside_duckdb(
    options: Any, spark: Any, events: Path, source: str | list[str], asked: Any = None
) -> bool:
    """Analyse twice with Spark and twice with DuckDB, which reads files or what a query gives."""
    sys.path.insert(0, str(ORACLE))
    import analysis_oracle

    out = options.folder / "spark-tables"
    first = _analysed(spark, events, out, asked)
    warm = _analysed(spark, events, out, asked)
    print(f"Spark {first:.1f} s, warm {warm:.1f} s, Java's peak {_peak_gib():.1f} GiB", flush=True)
    duck = options.folder / "duck-tables"
    times = []
    for _ in range(2):
        shutil.rmtree(duck, ignore_errors=True)
        duck.mkdir()
        began = time.perf_counter()
        analysis_oracle.write(source, str(duck))
        times.append(time.perf_counter() - began)
    print(f"DuckDB {times[0]:.1f} s, warm {times[1]:.1f} s; ratio of the warm ones {warm / times[1]:.2f}")
    return _same_counts(out, duck)


def foreign_logs(options: Any) -> bool:
    """Print Spark's time beside DuckDB's for JSON Lines and CSV with other columns, kinds and times."""
    from benchmarks import foreign_logs as logs

    events = _trace(options.folder, options.receives or 20_000_000, claims=True)
    spark = _session(options)
    same = True
    for log in (logs.JSON, logs.CSV):
        folder = log.made_of(events)
        same &= _beside_duckdb(options, spark, folder, log.query(folder), log.options())
    return same


def shapes(options: Any) -> bool:
    """Print the time of as many receipts of one source, of forty, of many members, of many groups."""
    spark = _session(options)
    receives = options.receives or 20_000_000
    kinds: list[dict[str, int]] = [
        {},
        {"sources": 1},
        {"sources": 40},
        {"members": 5_000},
        {"groups": 1_000, "members": 20},
    ]
    traces = [_trace(options.folder, receives, **kind, claims=True) for kind in kinds]
    out = options.folder / "shaped"
    _analysed(spark, traces[0], out)
    times = [_analysed(spark, events, out) for events in traces]
    for events, took in zip(traces, times, strict=True):
        print(f"{events.name}: {took:.1f} s, {took / times[0]:.2f} of the first")
    return True


def _same_counts(one: Path, other: Path) -> bool:
    same = True
    for table in ("messages", "frontiers", "buffers", "laggards", "violations"):
        rows = pq.read_table(one / table).num_rows
        others = pq.read_table(
            other / table if (other / table).exists() else other / f"{table}.parquet"
        ).num_rows
        print(f"  {table}: {rows:,} rows, DuckDB {others:,}")
        same &= rows == others
    return same


def growth(options: Any) -> bool:
    """Print the time for one, two and four times as many events."""
    most = options.receives or 80_000_000
    spark = _session(options)
    traces = [_trace(options.folder, most // part, claims=True) for part in (4, 2, 1)]
    out = options.folder / "grown"
    for events in traces[:2]:  # so that Java has compiled all that it is going to compile
        _analysed(spark, events, out)
    times = [_analysed(spark, events, out) for events in traces]
    for part, took in zip((4, 2, 1), times, strict=True):
        print(f"{most // part:,} receipts: {took:.1f} s, {took / times[0] / (4 // part):.2f} of proportional")
    return True


def large(options: Any) -> bool:
    """Print the time and memory for ten times as many."""
    events = _trace(options.folder, options.receives or 200_000_000, claims=True)
    spark = _session(options)
    took = _analysed(spark, events, options.folder / "large")
    print(f"{took:.1f} s with {options.memory} for the driver, Java's peak {_peak_gib():.1f} GiB")
    return True


def stream(options: Any) -> bool:
    """Print how much is carried on after each part of a stream of a healthy group."""
    from stablecast.delivery.stream.fold import Patience
    from stablecast.pipeline.analysis.stream.watch import Watch, Watching

    receives = options.receives or 50_000_000  # and as many releases
    events = _trace(options.folder, receives, files=STREAM_FILES, claims=True, releases=True)
    spark = _session(options)
    out = options.folder / "streamed"
    shutil.rmtree(out, ignore_errors=True)
    rows: list[dict[str, Any]] = []

    def tell(summary: dict[str, Any]) -> None:
        rows.append({key: summary[key] for key in ("events", "open", "carried_rows", "wall_s", "rebuilt")})
        print(json.dumps(rows[-1]), flush=True)

    watching = Watching(
        once=True, files_per_part=STREAM_FILES // options.parts, patience=Patience(2_000_000, 60_000_000)
    )
    Watch(events, out, spark, watching, tell=tell).run(threading.Event())
    (options.folder / "stream.json").write_text(json.dumps(rows), encoding="utf-8")
    draw_stream(rows, options.folder / "stream.png")
    return True


def draw_stream(rows: list[dict[str, Any]], file: Path) -> None:
    """Draw what is carried on after each part of a stream, beside all events so far and from zero."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import StrMethodFormatter

    events = [row["events"] / 1e6 for row in rows]
    carried = [row["carried_rows"] / 1e6 for row in rows]
    canvas = Figure(figsize=(8, 4.8), layout="constrained")
    beside, alone = canvas.subplots(2, 1, sharex=True)
    beside.plot(
        events, events, color="#777777", linestyle="--", marker="s", markersize=4, label="events so far"
    )
    beside.plot(events, carried, color="#0072b2", marker="o", markersize=4, label="rows of state carried on")
    beside.set(
        yscale="log",
        ylim=(0.05, 300),
        ylabel="millions",
        title="What watch carries on of a healthy group of 40 members",
    )
    beside.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    beside.legend(loc="center right")
    alone.plot(events, [row * 1000 for row in carried], color="#0072b2", marker="o", markersize=4)
    alone.set(
        ylabel="thousand rows of state",
        xlabel="events so far, millions",
        xlim=(0, None),
        ylim=(0, 1200 * max(carried)),
    )
    for plot in (beside, alone):
        plot.grid(axis="y", alpha=0.3)
        plot.spines[["top", "right"]].set_visible(False)
    canvas.savefig(file, dpi=110)


if __name__ == "__main__":
    sys.exit(main())
