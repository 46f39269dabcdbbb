"""The command `watch`, killed again and again, ends with the tables of the whole trace."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import analysis_oracle
import pyarrow.parquet as pq
from analysis_compare import differing_groups
from analysis_plain import TABLES
from analysis_random_trace import random_trace

from stablecast.pipeline.session import QUICK_JAVA, java_options

KILLS = 10
LONGEST_S = 7.0
SEED = 1 if os.environ.get("CI") else random.randrange(1 << 32)


def start(folder, out, *options):
    """Start the command in a process group of its own, so that its Java can be killed with it."""
    command = [Path(sys.executable).with_name("stablecast"), "watch", folder, "--out", out]
    quick = ["--conf", f"spark.driver.extraJavaOptions={java_options(QUICK_JAVA)}", "--master", "local[2]"]
    quick += ["--conf", "spark.buffer.pageSize=1m"]
    return subprocess.Popen(
        [*command, "--delay-s", "0.02", *quick, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def killed_after(process, seconds):
    """Kill a process and its Java at some moment; it must not have ended by itself."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return
    raise AssertionError(f"seed {SEED}: it ended by itself: {process.communicate()[1]}")


def test_killed_at_random_moments_the_tables_are_those_of_the_whole(tmp_path):
    chance = random.Random(SEED)
    trace = random_trace(SEED % 1000, groups=1, members=4, sources=2, messages=150).sort_by("time_us")
    incoming, out = tmp_path / "incoming", tmp_path / "out"
    incoming.mkdir()
    parts = KILLS + 2
    cuts = [len(trace) * k // parts for k in range(parts + 1)]

    def arrive(number):
        beside = tmp_path / "beside.parquet"
        pq.write_table(trace.slice(cuts[number], cuts[number + 1] - cuts[number]), beside)
        beside.rename(incoming / f"{number:02d}.parquet")

    arrive(0)
    finished = set()
    for number in range(KILLS):
        arrive(number + 1)
        killed_after(
            start(incoming, out, "--max-files", "1", "--every-s", "0"), chance.uniform(0.5, LONGEST_S)
        )
        finished |= {file.parent.name for file in (out / ".watch" / "state").glob("*/state.json")}
    arrive(KILLS + 1)
    last = start(incoming, out, "--once", "--json")
    told, errors = last.communicate()
    assert last.returncode in (0, 1), f"seed {SEED}: {errors}"
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert summary["events"] == len(trace), f"seed {SEED}: {told}"
    watched = {name: pq.read_table(out / name) for name in TABLES}
    found = differing_groups(watched, analysis_oracle.analyse(trace))
    assert not found, f"seed {SEED}, left is watch, {len(finished)} parts before the last run\n{found}"
