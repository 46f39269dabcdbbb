"""The command `watch`, killed again and again, ends with the tables of the whole trace."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import analysis_oracle
import pyarrow.parquet as pq
import pytest
from analysis_compare import differing_groups
from analysis_plain import TABLES
from analysis_random_trace import random_trace

from stablecast.pipeline.session import QUICK_JAVA, java_options

SEED = 1 if os.environ.get("CI") else random.randrange(1 << 32)
DEADLINE_S = 120


@dataclass(frozen=True)
class Stage:
    """A part of a run's life: it begins when a new file of this kind is there, and lasts about so long."""

    files: str | None
    seconds: float


STARTING = Stage(None, 7.0)
FOLDING = Stage("checkpoint/offsets/*", 1.5)
PUBLISHING = Stage("files/*", 0.05)
PUBLISHED = Stage("versions/*.json", 0.5)
KILLS = {
    "while a part is folded and after it counts": [FOLDING, FOLDING, PUBLISHED],
    "in every stage": [STARTING, *[FOLDING] * 3, PUBLISHED],
    "mostly while it starts": [*[STARTING] * 6, *[FOLDING] * 3, PUBLISHED],
    "at the end of parts": [*[FOLDING] * 2, *[PUBLISHING] * 5, *[PUBLISHED] * 3],
}
"""At any moment of a run it would mostly be Spark's start, where nothing can be broken; `make soak` does.

Each kill is a start of Spark, so `make test` has those where most can be broken, and `make soak` has all.
"""
SOAKED = [pytest.param(where, marks=pytest.mark.soak) for where in list(KILLS)[1:]]


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


def seen(out, stage):
    """Return the files that tell that a stage has begun."""
    return set((out / ".watch").glob(stage.files)) if stage.files else set()


def await_stage(process, out, stage, known):
    """Wait until a file is there that was not, or that was removed since."""
    end = time.monotonic() + DEADLINE_S
    while stage.files and process.poll() is None:
        now = seen(out, stage)
        if now - known:
            return
        known &= now
        assert time.monotonic() < end, f"seed {SEED}: no {stage.files} within {DEADLINE_S} s"
        signal.sigtimedwait([], 0.005)


def kill_in(process, out, stage, known, chance):
    """Kill a process and its Java at a random moment of a stage; it must not have ended by itself."""
    try:
        await_stage(process, out, stage, known)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(chance.uniform(0, stage.seconds))
        ended = process.poll() is not None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        errors = process.communicate()[1]
    assert not ended, f"seed {SEED}: it ended by itself: {errors}"


@pytest.mark.parametrize("where", [*list(KILLS)[:1], *SOAKED])
def test_killed_at_random_moments_the_tables_are_those_of_the_whole(tmp_path, where):
    chance = random.Random(SEED)
    trace = random_trace(SEED % 1000, groups=1, members=4, sources=2, messages=150).sort_by("time_us")
    incoming, out = tmp_path / "incoming", tmp_path / "out"
    incoming.mkdir()
    stages = chance.sample(KILLS[where], len(KILLS[where]))
    parts = len(stages) + 2
    cuts = [len(trace) * k // parts for k in range(parts + 1)]

    def arrive(number):
        beside = tmp_path / "beside.parquet"
        pq.write_table(trace.slice(cuts[number], cuts[number + 1] - cuts[number]), beside)
        beside.rename(incoming / f"{number:02d}.parquet")

    arrive(0)
    counted = set()
    for number, stage in enumerate(stages):
        arrive(number + 1)
        known = seen(out, stage)
        process = start(incoming, out, "--max-files", "1", "--every-s", "0")
        kill_in(process, out, stage, known, chance)
        counted |= {file.name for file in seen(out, PUBLISHED)}
    assert counted, f"seed {SEED}: no part counted before the last run"
    arrive(parts - 1)
    last = start(incoming, out, "--once", "--json")
    told, errors = last.communicate()
    assert last.returncode in (0, 1), f"seed {SEED}: {errors}"
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert summary["events"] == len(trace), f"seed {SEED}: {told}"
    watched = {name: pq.read_table(out / name) for name in TABLES}
    found = differing_groups(watched, analysis_oracle.analyse(trace))
    assert not found, f"seed {SEED}, left is watch, {len(counted)} parts before the last run\n{found}"
