"""Spark reads traces that grow, and running groups, each event once, whatever stops in between."""

import json

import pytest
from loopback_members import DEADLINE_S, loopback_members
from pyspark.errors import AnalysisException, StreamingQueryException

from stablecast.errors import InvalidInput
from stablecast.pipeline.event_source import EventStreamReader, StablecastSource, event_schema, register
from stablecast.pipeline.source_options import read_options


@pytest.fixture(scope="module")
def session(spark):
    register(spark)
    return spark


@pytest.fixture
def members():
    with loopback_members() as members:
        yield members


def line(seq, *, member="a"):
    event = {"group": "g", "kind": "receive", "member": member, "source": "s", "seq": seq}
    return json.dumps(event | {"time_us": 1_000 + seq, "bytes": None}) + "\n"


def append(file, text):
    with file.open("a") as opened:
        opened.write(text)


class Batches:
    """Takes micro-batches, and keeps the numbers in them; fails at one if told to."""

    def __init__(self):
        self.found = {}
        self.fail_at = None

    def take(self, frame, number):
        self.found[number] = sorted((row.member, row.seq) for row in frame.collect())
        if number == self.fail_at:
            raise RuntimeError("told to fail")

    def numbers(self, member="a"):
        return [seq for rows in self.found.values() for name, seq in rows if name == member]


def read_on(session, folder, checkpoint, batches, **options):
    """Read what there is, as a job that is started again and again does."""
    stream = session.readStream.format("stablecast").options(**options).load(str(folder))
    writer = stream.writeStream.foreachBatch(batches.take).option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination(DEADLINE_S)


def test_a_folder_is_read_once(session, tmp_path):
    append(tmp_path / "a.jsonl", line(1) + line(2) + line(3)[:-5])
    append(tmp_path / "b.jsonl", line(1, member="ö"))
    frame = session.read.format("stablecast").load(str(tmp_path))
    assert frame.schema == event_schema()
    found = sorted(tuple(row) for row in frame.collect())
    assert found == [
        ("g", "receive", member, "s", seq, 1_000 + seq, None)
        for member, seq in [("a", 1), ("a", 2), ("ö", 1)]
    ]


def test_each_line_comes_once_over_restarts_and_a_batch_that_failed_comes_again_as_it_was(session, tmp_path):
    traces, checkpoint, batches = tmp_path / "traces", tmp_path / "checkpoint", Batches()
    traces.mkdir()
    append(traces / "a.jsonl", line(1) + line(2)[:30])
    read_on(session, traces, checkpoint, batches)
    assert batches.found == {0: [("a", 1)]}

    append(traces / "a.jsonl", line(2)[30:])
    append(traces / "b.jsonl", line(1, member="b"))
    batches.fail_at = 1
    with pytest.raises(StreamingQueryException, match="told to fail"):
        read_on(session, traces, checkpoint, batches)
    before, batches.fail_at = batches.found.pop(1), None
    assert before == [("a", 2), ("b", 1)]

    append(traces / "a.jsonl", line(3))
    append(traces / "c.jsonl", line(1, member="c"))
    read_on(session, traces, checkpoint, batches)
    assert batches.found == {0: [("a", 1)], 1: before, 2: [("a", 3), ("c", 1)]}


def test_a_query_follows_files_that_grow_in_bounded_batches(session, tmp_path):
    stream = session.readStream.format("stablecast").option("maxBytesPerTrigger", 10 * len(line(10)))
    batches = Batches()
    query = stream.load(str(tmp_path)).writeStream.foreachBatch(batches.take).start()
    try:
        append(tmp_path / "a.jsonl", "".join(line(k) for k in range(10, 25)))
        query.processAllAvailable()
        assert batches.numbers() == list(range(10, 25))
        append(tmp_path / "a.jsonl", line(25))
        append(tmp_path / "b.jsonl", "".join(line(k, member="b") for k in range(10, 25)))
        query.processAllAvailable()
    finally:
        query.stop()
    assert batches.numbers() == list(range(10, 26))
    assert batches.numbers("b") == list(range(10, 25))
    assert max(map(len, batches.found.values())) <= 10


def test_a_running_group_is_read_through_a_member_of_it(session, members, tmp_path):
    ann, bob = members.join("ann"), members.join("bob")
    options = {"group": "orders", "seeds": f"{ann.address}, {bob.address}", "spool": str(tmp_path / "spool")}
    batches = {}

    def take(frame, number):
        batches[number] = frame.collect()  # one that was not committed comes again

    def told(kind, **values):
        rows = [row.asDict() for batch in list(batches.values()) for row in batch if row.kind == kind]
        return [row for row in rows if values.items() <= row.items()]

    def start(name):
        stream = session.readStream.format("stablecast").options(**options, member=name).load()
        writer = stream.writeStream.foreachBatch(take)
        return writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()

    def multicast(name, seqs):
        query = start(name)

        def until(condition):
            members.until(lambda: condition() or query.exception() is not None)
            assert query.exception() is None

        try:
            until(lambda: name in ann.members)
            for _ in seqs:
                receipt = members.do(ann.send(b"one pizza"))
            members.do(receipt.stable(timeout=DEADLINE_S))
            until(lambda: told("release", member=name, seq=seqs[-1]))
        finally:
            query.stop()
        members.until(lambda: name not in ann.members)

    multicast("first", range(1, 6))
    multicast("second", range(6, 11))
    receipts = [(row["member"], row["source"], row["seq"], row["bytes"]) for row in told("receive")]
    assert receipts == [("first", "ann", seq, 9) for seq in range(1, 6)] + [
        ("second", "ann", seq, 9) for seq in range(6, 11)
    ]
    assert {row["member"] for row in told("join")} == {"ann", "bob", "first", "second"}
    # The first one left by itself, which only a query that came later could read.
    assert [row["member"] for row in told("leave")] == ["first"]
    assert told("release", member="second", seq=10)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "there is nothing to read"),
        ({"path": "/no/such/folder"}, "'/no/such/folder' does not exist"),
        ({"path": __file__}, "is a file"),
        ({"path": "s3://bucket/traces"}, "a folder that is mounted here"),
        ({"path": "/", "paths": "[]"}, "several paths"),
        ({"path": "/", "group": "g"}, "both a path and a group"),
        ({"path": "/", "member": "m"}, "option 'member' needs the option 'group'"),
        ({"path": "/", "maxBytes": "7"}, "did you mean 'maxBytesPerTrigger'"),
        ({"path": "/", "maxBytesPerTrigger": "0"}, "maxBytesPerTrigger '0' is not accepted"),
        ({"path": "/", "onBadRows": "drop"}, "accepted: fail, count"),
        ({"group": "g", "spool": "/s"}, "needs 'seeds'"),
        ({"group": "g", "seeds": "h:1"}, "needs 'spool'"),
        (
            {"group": "g", "seeds": "h:1", "spool": "/s", "key": "k", "keyFile": "f"},
            "both a key and a keyFile",
        ),
        ({"group": "g", "seeds": "h:1", "spool": "/s", "insecure": "1"}, "accepted: true, false"),
    ],
)
def test_wrong_options_are_refused(options, reason):
    with pytest.raises(InvalidInput) as refused:
        StablecastSource(options).schema()
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


def test_options_of_a_group_reach_its_member(tmp_path):
    options = read_options(
        {
            "Group": "g",
            "seeds": "h:1, h:2,",
            "spool": f"file://{tmp_path}",
            "member": "m",
            "bind": "0.0.0.0:0",
            "insecure": "TRUE",
            "key": "ab" * 32,
        }
    )
    assert options.folder == tmp_path
    assert options.membership.seeds == ("h:1", "h:2")
    assert options.membership.settings == {"member": "m", "bind": "0.0.0.0:0", "insecure": True}
    assert "ab" * 32 not in repr(options)
    assert options.membership.keyring().keys[0].secret == b"\xab" * 32


def test_what_a_batch_or_a_schema_cannot_have_is_refused(tmp_path):
    group = {"group": "g", "seeds": "h:1", "spool": str(tmp_path)}
    with pytest.raises(InvalidInput, match="a group is read as a stream"):
        StablecastSource(group).reader(event_schema())
    with pytest.raises(InvalidInput, match="accepted: another trigger than availableNow"):
        StablecastSource(group).streamReader(event_schema()).prepareForTriggerAvailableNow()
    with pytest.raises(InvalidInput, match="maxBytesPerTrigger is for streams"):
        StablecastSource({"path": "/", "maxBytesPerTrigger": "1"}).reader(event_schema())
    with pytest.raises(InvalidInput, match="schema 'struct<group:string>' is not accepted"):
        StablecastSource({"path": "/"}).reader(event_schema()[:1])


def test_a_spark_that_gives_no_limit_is_told_the_ends(tmp_path):
    append(tmp_path / "a.jsonl", line(1))
    reader = StablecastSource({"path": str(tmp_path)}).streamReader(event_schema())
    assert isinstance(reader, EventStreamReader)
    assert reader.initialOffset() == {}
    assert reader.latestOffset() == {"a.jsonl": len(line(1))}


def test_wrong_usage_is_told_in_one_line_of_sparks_error(session):
    with pytest.raises(AnalysisException) as refused:
        session.read.format("stablecast").load("/no/such/folder")
    (told,) = [text for text in str(refused.value).splitlines() if "InvalidInput: " in text]
    assert "path '/no/such/folder' does not exist (accepted: a folder of traces, *.jsonl)" in told
