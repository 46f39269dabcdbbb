"""Traces of simulated runs, analysed: TTS = D + Δ + RTT of the hierarchical paper, message by message (H10).

A message is sent at s.  At A everything of its source up to it is everywhere, which is what the protocols'
arrays tell of, so D = A - s.  Its sender knows at T, so TTS = T - s.  The execution that told it started at
S, so RTT = T - S, and Δ = S - A is what passed between delivery and that start.

Δ is at most the time between two starts: who starts at A or later finds the message in every array.

Δ may be below 0, because a member's array is read after the start: when START has come to it (``coordp``),
when it answers the first member's INFO (``fulldist``), when the last report that it waits for is in
(``s_coordp``, ``s_train``), when the train comes by on its first tour (``train``).  A message that arrives in
between is told by an execution that started before.  But what was read last still has to be told: an array
is sent and received after that, which takes (1 + 1.1) t_s(32 + 4m) on the hosts alone (sections 3, 4 and 5.1
of the paper; each protocol's ``receive``).  Only in ``train`` the first member may read last, and knows at
once.  So T - A is at least that, and Δ at least that minus RTT.

Times in traces are cut to whole microseconds: the difference of two is less than 1 µs off, either way.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import analysis_oracle
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from analysis_compare import differing_groups
from analysis_plain import TABLES

from stablecast.papers.hierarchical.theory import PROTOCOLS
from stablecast.pipeline.analysis.analyze import analyze
from stablecast.simulate import Setup, Traffic, Trigger, costs, topology
from stablecast.simulate.tracing import simulate_with_trace
from stablecast.theory import time_to_stable_bound

MEMBERS, SENDERS, MESSAGES = 13, 5, 30
PERIOD_US = 100_000
HURRIED = {"train": "hurried train", "s_train": "hurried s_train"}
"""Runs whose executions take longer than the period, so that each starts when the one before is over."""
HURRIED_MS = 10.0
OWN = " as senders know"
"""Behind a group's name: the same trace with the claims of each message's sender alone."""


def setup(protocol, period_ms):
    return Setup(
        protocol=protocol,
        topology=topology("tree", degree=3, height=2),
        senders=SENDERS,
        traffic=Traffic(messages=MESSAGES, rate_per_s=30, data_bytes=500, buffer=200, data_loss=0.02),
        trigger=Trigger(kind="periodic", period_ms=period_ms),
        seed=4,
    )


def write_as_senders_know(file, group):
    """Write a trace again as a group of its own in which only senders say what is stable."""
    events = pq.read_table(file)
    own = pc.or_kleene(pc.not_equal(events["kind"], "stable"), pc.equal(events["member"], events["source"]))
    events = events.filter(own)
    renamed = events.set_column(0, "group", pa.array([group] * len(events))).cast(events.schema)
    pq.write_table(renamed, file.with_name(f"{group}.parquet"))


@dataclass(frozen=True)
class Analysed:
    runs: dict[str, Any]
    traces: Path
    tables: dict[str, pa.Table]
    summary: Any

    @cached_property
    def messages(self):
        return self.tables["messages"].to_pandas()

    def of(self, group):
        return self.messages[self.messages["group"] == group]

    def times(self, run):
        """Return sent, everywhere, and known by the sender, of each message of a run."""
        own = self.of(run + OWN).sort_values(["source", "seq"])
        everywhere = own.groupby("source")["stable_us"].cummax()
        return own["sent_us"].to_numpy(), everywhere.to_numpy(), own["detected_first_us"].to_numpy()


@pytest.fixture(scope="module")
def analysed(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulated")
    traces, out = folder / "traces", folder / "out"
    traces.mkdir()
    runs = {}
    asked = [(name, name, PERIOD_US / 1000) for name in PROTOCOLS]
    for run, protocol, period_ms in asked + [(run, name, HURRIED_MS) for name, run in HURRIED.items()]:
        file = traces / f"{run}.parquet"
        runs[run] = simulate_with_trace(setup(protocol, period_ms), file, group=run)
        write_as_senders_know(file, run + OWN)
    summary = analyze([traces], out, spark=spark).summary
    tables = {name: pq.read_table(out / name) for name in TABLES}
    return Analysed(runs, traces, tables, summary)


ALL = [*PROTOCOLS, *HURRIED.values()]


def test_everything_is_stable_and_nothing_is_wrong(analysed):
    assert not any(analysed.summary["violations"].values()), analysed.summary["violations"]
    told = (analysed.summary["groups"], analysed.summary["messages"], analysed.summary["unstable"])
    assert told == (2 * len(ALL), 2 * len(ALL) * SENDERS * MESSAGES, 0)
    assert (analysed.messages["required"] == MEMBERS).all()
    assert (analysed.messages["received"] == MEMBERS).all()


def test_the_tables_are_those_of_the_independent_computation(analysed):
    events = pa.concat_tables(pq.read_table(file) for file in analysed.traces.glob("*.parquet"))
    assert not differing_groups(analysed.tables, analysis_oracle.analyse(events))


@pytest.mark.parametrize("run", ALL)
def test_what_the_tables_say_of_a_run_is_what_it_measured_itself(analysed, run):
    measured = analysed.runs[run].traffic
    messages = analysed.of(run + OWN)
    assert (messages["detected_first_us"] == messages["detected_last_us"]).all()
    took = messages["detected_first_us"] - messages["sent_us"]
    assert abs(took.mean() - measured.tts_mean_us) < 1
    assert abs(took.quantile(0.5) - measured.tts_p50_us) < 1
    assert abs(took.quantile(0.99) - measured.tts_p99_us) < 1
    assert abs(took.max() - measured.tts_max_us) < 1
    delivered = analysed.of(run)["stable_us"] - analysed.of(run)["sent_us"]
    assert abs(delivered.max() - measured.delivery_max_us) < 1
    buffers = analysed.tables["buffers"].filter(pc.field("group") == run)
    assert pc.max(buffers["messages_max"]).as_py() == measured.held_max


def test_the_summary_has_the_same_times_within_the_width_of_its_bins(analysed):
    took = analysed.messages["detected_last_us"] - analysed.messages["sent_us"]
    told = analysed.summary["time_to_detect_us"]
    assert (told["count"], told["max"]) == (len(took), took.max())
    assert told["mean"] == pytest.approx(took.mean())
    for share in (50, 90, 99):
        exact = took.quantile(share / 100, interpolation="lower")
        assert told[f"p{share}"] == pytest.approx(exact, rel=1 / 180)


@pytest.mark.parametrize("run", PROTOCOLS)
def test_round_trips_are_those_that_the_run_measured(analysed, run):
    measured, messages = analysed.runs[run], analysed.of(run)
    assert measured.traffic.start_gap_max_us == PERIOD_US  # so it started at every multiple, and only then
    first = messages.groupby(messages["detected_first_us"] // PERIOD_US)["detected_first_us"].min()
    last = messages.groupby(messages["detected_last_us"] // PERIOD_US)["detected_last_us"].max()
    first, last = first - first.index * PERIOD_US, last - last.index * PERIOD_US
    assert len(first) == len(last) == measured.executions
    assert 0 <= measured.rtt_first_us - first.mean() < 1
    assert 0 <= measured.rtt_last_us - last.mean() < 1
    assert 0 <= measured.rtt_last_max_us - last.max() < 1


def telling_us(run):
    """Return the least time from reading the last array to a sender's knowing."""
    model = costs("lan1997")
    wire = model.header_bytes + model.entry_bytes * SENDERS
    once = model.send_us + model.send_us_per_byte * wire
    return 0 if run.endswith("train") and "s_" not in run else once * (1 + model.receive_factor)


@pytest.mark.parametrize("run", PROTOCOLS)
def test_time_to_stable_is_delivery_a_wait_and_a_round_trip(analysed, run):
    sent, everywhere, known = analysed.times(run)
    started = known // PERIOD_US * PERIOD_US
    delivery, wait, round_trip = everywhere - sent, started - everywhere, known - started
    assert (known - sent == delivery + wait + round_trip).all()
    assert (delivery > 0).all()
    assert (round_trip <= analysed.runs[run].rtt_last_max_us).all()
    assert (wait <= PERIOD_US).all()
    assert (wait > telling_us(run) - round_trip - 1).all()
    assert wait.min() < 0 < wait.max()


@pytest.mark.parametrize("run", ALL)
def test_time_to_stable_is_within_the_bound_of_its_own_delivery(analysed, run):
    measured = analysed.runs[run]
    between = max(measured.traffic.start_gap_max_us, measured.round_trip_max_us)
    sent, everywhere, known = analysed.times(run)
    assert (run in PROTOCOLS) == (between == PERIOD_US)
    assert (known - everywhere > telling_us(run) - 1).all()
    for delivery, took in zip(everywhere - sent, known - sent, strict=True):
        assert took < time_to_stable_bound(delivery, between, measured.rtt_last_max_us) + 1
