"""A demo's trace, with a member killed, analysed: Spark finds what the verdict on one machine finds."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import analysis_oracle
import numpy as np
import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq
import pytest
from analysis_compare import differing_groups
from analysis_plain import TABLES

from stablecast.cli.main import main
from stablecast.trace.schema import arrow_schema
from stablecast.trace.verdict import Verdict, judge_files

DEMO = ["--members", "3", "--messages", "60", "--kill", "1", "--seed", "7"]
PATIENCE_S = 180


@dataclass(frozen=True)
class Live:
    traces: Path
    out: Path
    exit_code: int
    killed: str
    verdict: Verdict
    tables: dict[str, pa.Table]
    summary: Any

    @property
    def files(self):
        return sorted(self.traces.glob("*.jsonl"))


@pytest.fixture(scope="module")
def live(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("live")
    traces, out = folder / "traces", folder / "out"
    command = [sys.executable, "-m", "stablecast.cli.main", "demo", *DEMO, "--json", "--out", str(traces)]
    demo = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert demo.returncode == 0, (demo.stdout, demo.stderr)
    (killed,) = json.loads(demo.stdout)["killed"]
    exit_code = main(["analyze", str(traces), "--out", str(out)])
    return Live(
        traces=traces,
        out=out,
        exit_code=exit_code,
        killed=killed,
        verdict=judge_files(sorted(traces.glob("*.jsonl"))),
        tables={name: pq.read_table(out / name) for name in TABLES},
        summary=json.loads((out / "summary.json").read_text()),
    )


def test_a_group_that_lost_a_member_broke_no_promise(live):
    assert live.exit_code == 0
    assert not any(live.summary["violations"].values()), live.summary["violations"]
    assert (live.summary["unstable"], live.summary["kinds"]["fail"]) == (0, 1)


def test_messages_deliveries_and_violations_are_those_of_the_verdict(live):
    verdict, messages = live.verdict, live.tables["messages"].to_pandas()
    assert verdict.departed == (live.killed,)
    assert live.summary["members"] == len(verdict.members)
    assert live.summary["messages"] == verdict.messages >= 40
    assert (messages["received"] - 1).sum() == verdict.deliveries
    shared = verdict.counts.keys() & live.summary["violations"].keys()
    assert len(shared) == 5
    for kind in shared:
        assert live.summary["violations"][kind] == verdict.counts[kind], kind


def test_times_are_those_of_the_verdict(live):
    verdict, messages = live.verdict, live.tables["messages"].to_pandas()
    took = (messages["stable_us"] - messages["sent_us"]).to_numpy()
    truth = verdict.time_to_truth
    assert truth.count == took.size
    told = (truth.p50_ms, truth.p90_ms, truth.p99_ms, truth.max_ms)
    assert told == pytest.approx(np.percentile(took, [50, 90, 99, 100]) / 1000)
    stayed = messages[messages["source"] != live.killed]
    assert stayed["detected_last_us"].isna().sum() == verdict.undetected == 0
    # The verdict asks when senders knew, the table when the last member did.
    assert (messages["detected_last_us"] - messages["sent_us"]).max() >= verdict.time_to_stable.max_ms * 1000


def test_buffers_are_those_of_the_verdict_but_for_what_happened_in_one_instant(live):
    # The verdict takes events one by one; the table takes together what has the same time, as receiving
    # several messages and letting others go often has.
    buffers = live.tables["buffers"].to_pandas().set_index("member")
    assert sorted(buffers.index) == sorted(live.verdict.peaks)
    for member, peak in live.verdict.peaks.items():
        assert 0 < buffers["messages_max"][member] <= peak.messages
        assert 0 < buffers["bytes_max"][member] <= peak.bytes


def test_the_one_that_was_killed_held_the_others_back_most(live):
    laggards = live.tables["laggards"].to_pandas().set_index("member")
    assert laggards["held_us"].idxmax() == live.killed


def test_the_tables_are_those_of_the_independent_computation(live):
    # A line without an end was being written when its member was killed.
    whole = b"".join(text[: text.rfind(b"\n") + 1] for text in (file.read_bytes() for file in live.files))
    options = pj.ParseOptions(explicit_schema=arrow_schema())
    events = pj.read_json(pa.BufferReader(whole), parse_options=options)
    assert not differing_groups(live.tables, analysis_oracle.analyse(events))


def test_its_report_is_made(live, capsys):
    assert main(["report", str(live.out)]) == 0
    told = capsys.readouterr().out
    assert f"held back most by  {live.killed}" in told
    assert (live.out / "report" / "index.html").exists()
