"""The events that a run writes, held against a straightforward reading of the schema."""

import pyarrow.parquet as pq
import pytest

from stablecast.errors import InvalidInput
from stablecast.simulate import Setup, Traffic, Trigger, topology
from stablecast.simulate.tracing import simulate_with_trace
from stablecast.trace import COLUMNS


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    file = tmp_path_factory.mktemp("trace") / "events.parquet"
    setup = Setup(
        protocol="s_coordp",
        topology=topology("tree", degree=2, height=3),
        senders=5,
        traffic=Traffic(messages=30, rate_per_s=50, data_loss=0.1, data_bytes=100),
        trigger=Trigger(kind="periodic", period_ms=40),
        seed=4,
    )
    return simulate_with_trace(setup, file), pq.read_table(file)


def test_the_columns_are_those_of_the_schema(run):
    assert tuple(run[1].column_names) == COLUMNS


def test_every_message_is_sent_once_and_received_once_by_every_other_member(run):
    _, table = run
    rows = table.to_pylist()
    sends = {(row["source"], row["seq"]) for row in rows if row["kind"] == "send"}
    receipts = [(row["member"], row["source"], row["seq"]) for row in rows if row["kind"] == "receive"]
    assert len(sends) == 5 * 30
    assert len(receipts) == len(set(receipts)) == 150 * 14
    assert all(row["bytes"] == 100 for row in rows if row["kind"] == "send")


def test_no_stable_or_release_comes_before_the_last_receipt(run):
    _, table = run
    rows = table.to_pylist()
    last: dict[tuple[str, int], int] = {}
    for row in rows:
        if row["kind"] in ("send", "receive"):
            key = (row["source"], row["seq"])
            last[key] = max(last.get(key, 0), row["time_us"])
    for row in rows:
        if row["kind"] == "stable":
            assert all(row["time_us"] >= last[row["source"], seq] for seq in range(1, row["seq"] + 1))
        if row["kind"] == "release":
            assert row["time_us"] >= last[row["source"], row["seq"]]


def test_every_member_joins_at_the_start_and_releases_everything(run):
    result, table = run
    rows = table.to_pylist()
    assert [row["time_us"] for row in rows if row["kind"] == "join"] == [0] * result.members
    assert sum(row["kind"] == "release" for row in rows) == 150 * result.members


def test_a_trace_that_cannot_be_written_is_refused_before_the_run(tmp_path):
    setup = Setup(
        protocol="s_coordp",
        topology=topology("tree", degree=2, height=1),
        traffic=Traffic(messages=1),
        trigger=Trigger(kind="periodic"),
    )
    with pytest.raises(InvalidInput, match="cannot write the trace"):
        simulate_with_trace(setup, tmp_path / "no" / "such" / "events.parquet")
    with pytest.raises(InvalidInput, match="it is a folder"):
        simulate_with_trace(setup, tmp_path)
    assert list(tmp_path.iterdir()) == []
