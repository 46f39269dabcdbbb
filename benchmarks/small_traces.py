"""Measure analyses of a few hundred messages, and parts of a stream of them: what Spark itself costs.

`python -m benchmarks.small_traces` prints the seconds, and Java's processor time, of each; nothing is judged.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import pyarrow.parquet as pq

from stablecast.delivery.stream.fold import Patience
from stablecast.pipeline.analysis.analyze import analyze
from stablecast.pipeline.analysis.stream.watch import Watch, Watching
from stablecast.pipeline.session import build_session

TRACES = Path(__file__).parents[1] / "tests" / "analysis"
ANALYSES, PARTS = 4, 5


def java_seconds() -> float:
    """Return the processor time of the Java that this process started."""
    total = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        name, _, rest = stat.read_text().partition("(")[2].rpartition(")")
        fields = rest.split()
        if name == "java" and int(fields[1]) == os.getpid():
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def main() -> int:
    """Analyse a small trace again and again, then another one part by part."""
    sys.path.append(str(TRACES))
    from analysis_random_trace import random_trace

    conf = {"spark.buffer.pageSize": "1m"}
    spark = build_session(master="local[2]", conf=conf)
    last = [time.perf_counter(), java_seconds()]
    print(f"start: Java {last[1]:.1f} s")

    def tell(what: str) -> None:
        now = [time.perf_counter(), java_seconds()]
        print(f"{what}: {now[0] - last[0]:.1f} s, Java {now[1] - last[1]:.1f} s", flush=True)
        last[:] = now

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pq.write_table(random_trace(1, groups=2, members=4, sources=2, messages=60), folder / "a.parquet")
        for number in range(ANALYSES):
            analyze([folder / "a.parquet"], folder / f"out{number}", spark=spark)
            tell("analysis")
        trace = random_trace(1, groups=1, members=4, sources=2, messages=200).sort_by("time_us")
        (folder / "in").mkdir()
        size = len(trace) // PARTS
        for number in range(PARTS):
            file = folder / "in" / f"{number}.parquet"
            pq.write_table(trace.slice(number * size, size), file)
            os.utime(file, (number + 1, number + 1))
        watching = Watching(once=True, files_per_part=1, patience=Patience(20_000, 200_000))
        watch = Watch(folder / "in", folder / "out", spark, watching, tell=lambda summary: tell("part"))
        watch.run(threading.Event())
    print(f"all: Java {java_seconds():.1f} s")
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
