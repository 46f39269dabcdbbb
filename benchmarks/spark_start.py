"""Measure how long Spark takes to start and to answer a first query, with the archive of classes and without.

`python -m benchmarks.spark_start` makes the archive if it is not there.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

from stablecast.pipeline.class_archive import archive_place, make_archive

TIMES = 5
START = """
import sys, time
began = time.perf_counter()
from stablecast.pipeline import session
if sys.argv[1] == "without":
    session.archive_options = lambda: ""
with session.spark_session(master="local[2]") as spark:
    spark.range(10).selectExpr("sum(id)").collect()
    print(time.perf_counter() - began)
"""


def main() -> int:
    """Start Spark with and without, by turns."""
    place = archive_place()
    if place is not None and not place.exists():
        print("# making the archive", file=sys.stderr)
        make_archive()
    found: dict[str, list[float]] = {"without": [], "with": []}
    for _ in range(TIMES):
        for how, seconds in found.items():
            command = [sys.executable, "-c", START, how]
            seconds.append(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    middle = {how: statistics.median(seconds) for how, seconds in found.items()}
    print(
        f"without {middle['without']:.1f} s, with {middle['with']:.1f} s, medians of {TIMES} each;", end=" "
    )
    print(f"ratio {middle['without'] / middle['with']:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
