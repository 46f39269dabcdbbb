"""Measure stablecast's engine: against SimPy, in large groups, and from a cold process.

`python -m benchmarks.run` takes about four minutes, most of them SimPy's; `--quick` takes one.  It ends with
exit code 1 when the two engines do not give the same results.  Times are printed and never judged.
"""

from __future__ import annotations

import argparse
import sys
import time

from benchmarks import compare, processes, sweep
from benchmarks.compare import Comparison
from benchmarks.processes import Process

PROTOCOLS = ("coordp", "s_coordp", "train", "s_train")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a smaller tree for fulldist, SimPy once each")
    parser.add_argument(
        "--only", choices=("simpy", "large", "start", "sweep"), help="one part of the measurements"
    )
    options = parser.parse_args()
    agree = True
    if options.only in (None, "simpy"):
        agree = against_simpy(quick=options.quick)
    if options.only in (None, "large"):
        large_groups()
    if options.only in (None, "start"):
        start_from_cache()
    if options.only in (None, "sweep"):
        agree &= sweep_on_spark(quick=options.quick)
    return 0 if agree else 1


def against_simpy(*, quick: bool) -> bool:
    """Print the comparison; tell whether all results are equal."""
    runs = 1 if quick else 3
    tree = (4, 4, 4) if quick else (4, 5, 4)
    progress("A: coordp on both engines")
    comparisons = [compare.compare_coordp((4, 5, 4), 20, reference_runs=runs)]
    progress("B: fulldist on both engines" + ("" if quick else " (SimPy takes about 90 s)"))
    comparisons.append(compare.compare_fulldist(tree, reference_runs=1))
    progress("C: unicasts on both engines")
    comparisons.append(compare.compare_unicast(100, reference_runs=runs))
    print("Against SimPy, hops of messages per second")
    heads = f"{'scenario':<40} {'hops':>9} {'stablecast':>11} {'SimPy':>8} {'ratio':>7}"
    print(f"  {heads}  {'completion, ps':>16}  results")
    for comparison in comparisons:
        print(f"  {comparison_row(comparison)}")
    print()
    return not any(comparison.differences for comparison in comparisons)


def comparison_row(row: Comparison) -> str:
    results = "equal" if not row.differences else "DIFFERENT: " + ", ".join(row.differences)
    ratio = row.own_speed / row.reference_speed
    return (
        f"{row.name:<40} {row.hops:>9,} {row.own_speed:>11,.0f} {row.reference_speed:>8,.0f} {ratio:>5.0f} x"
        f"  {row.completion_ps:>16}  {results}"
    )


def large_groups() -> None:
    print("Large groups, one execution each in a process of its own")
    print(f"  {'run':<40} {'members':>9} {'hops':>10} {'loop':>8} {'process':>9} {'memory':>9}")
    for protocol in PROTOCOLS:
        large_group(f"{protocol}, tree 4/7/4", protocol, *processes.LARGE_TREE)
    large_group("s_coordp, balanced, 50 senders", "s_coordp", *processes.MILLION)
    progress("routes of a graph of 16,384 nodes")
    processes.run_process("s_coord", *processes.GRAPH)  # leaves the table of routes on disk
    for protocol in ("coord", "s_coord", "cubefulldist"):
        large_group(f"{protocol}, random graph, 50 senders", protocol, *processes.GRAPH)
    print()


def large_group(label: str, protocol: str, *options: str) -> None:
    progress(label)
    processes.warm(protocol)
    run = processes.run_process(protocol, *options)
    note = "" if run.completed else "  NOT COMPLETED"
    print(
        f"  {label:<40} {run.members:>9,} {run.hops:>10,} {run.run_s:>6.2f} s {run.process_s:>7.2f} s"
        f" {run.peak_mib:>5,.0f} MiB{note}",
        flush=True,
    )


def start_from_cache() -> None:
    progress("start from the cache")
    processes.warm("s_coordp")
    start = processes.cached_start()
    print("Start from the cache: s_coordp, 364 members, in a fresh process")
    for label, value in start_rows(start):
        print(f"  {label:<40} {value:>6.2f} s")


def start_rows(start: Process) -> list[tuple[str, float]]:
    interpreter_s = start.process_s - start.import_s - start.prepare_s - start.run_s
    return [
        ("interpreter, start and end", interpreter_s),
        ("import", start.import_s),
        ("compiled code, topology, arrays", start.prepare_s),
        ("event loop", start.run_s),
        ("whole process", start.process_s),
        ("whole process, from the command line", processes.cached_command_s()),
    ]


_BEGAN = time.perf_counter()


def sweep_on_spark(*, quick: bool) -> bool:
    """Print a sweep's time on Spark and in a process pool; tell whether the rows are equal."""
    progress("a sweep on Spark and in a process pool, three times each")
    times = sweep.compare(100 if quick else 400)
    print(f"A sweep of {times.points} points of {times.point_ms:.0f} ms on {sweep.CORES} cores, seconds")
    print(f"  process pool  {'  '.join(f'{value:.2f}' for value in times.pool_s)}")
    print(f"  Spark         {'  '.join(f'{value:.2f}' for value in times.spark_s)}")
    print(f"  best to best  {times.ratio:.2f} x, rows {'equal' if times.equal else 'DIFFERENT'}")
    print()
    return times.equal


def progress(step: str) -> None:
    print(f"[{time.perf_counter() - _BEGAN:5.0f} s] {step}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
