"""A stream folded part by part gives what the analysis of the whole trace gives, and carries little on."""

import gzip
import json
import os
import random
import shutil
import threading

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from analysis_compare import differences
from analysis_random_trace import Rates, random_trace
from analysis_traces import SCHEMA

from stablecast.analysis.options import Options
from stablecast.analysis.output import locked
from stablecast.analysis.stored import stored
from stablecast.analysis.version import HIDDEN
from stablecast.delivery.stream.fold import Patience
from stablecast.delivery.tables import TABLES
from stablecast.errors import InvalidInput
from stablecast.pipeline.analysis.analyze import analyze
from stablecast.pipeline.analysis.stream.versions import Versions
from stablecast.pipeline.analysis.stream.watch import Watch, Watching

SEED = 1 if os.environ.get("CI") else random.randrange(1 << 32)
PARTS = 3
MESSAGES_A_PART = 200
GAP_US = 1000
MEMBERS = ("a", "b", "c")
PATIENCE = Patience(delay_us=20_000, linger_us=1_000_000)
EVENTS_A_MESSAGE = 1 + 3 * len(MEMBERS)
NOT_COMPARED = {"wall_s", "inputs"}


def healthy_group():
    """A group in which everybody claims and releases every message soon."""
    rows = [("join", member, None, None, 0, None) for member in MEMBERS]
    for seq in range(1, PARTS * MESSAGES_A_PART + 1):
        sent = seq * GAP_US
        rows.append(("send", "a", "a", seq, sent, 100))
        for k, member in enumerate(MEMBERS):
            rows.append(("receive", member, "a", seq, sent + 100 * k, None))
            rows.append(("stable", member, "a", seq, sent + 300 + k, None))
            rows.append(("release", member, "a", seq, sent + 400 + k, None))
    columns = zip(*[("healthy", *row) for row in rows], strict=True)
    return pa.table(
        [pa.array(column, type) for column, type in zip(columns, SCHEMA.types, strict=True)], SCHEMA
    )


def changed(table, group, scale):
    """Return the events of a group under another name, at another speed."""
    times = pc.cast(pc.multiply(pc.cast(table["time_us"], pa.float64()), scale), pa.int64(), safe=False)
    table = table.set_column(table.schema.get_field_index("time_us"), "time_us", times)
    return table.set_column(0, "group", pa.array([group] * len(table)))


def of_time(table, number):
    """Return one of the parts of a trace, cut by time."""
    table = table.sort_by("time_us")
    begin, end = (len(table) * k // PARTS for k in (number, number + 1))
    return table.slice(begin, end - begin)


def of_member(table, number):
    """Return what one member wrote; the senders' are the first."""
    members = sorted(set(table["member"].to_pylist()))
    return table.filter(pc.equal(table["member"], members[number]))


def traces():
    """Return the parts of a stream: two groups by time, one member by member; something is late by a part."""
    rates = Rates(after_departure=0.0)
    odd = random_trace(
        SEED, groups=1, members=4, sources=2, messages=60, releases=0.9, claims=1.0, rates=rates
    )
    odd = changed(odd, "odd", 4.0)
    apart = random_trace(SEED, groups=2, members=PARTS, sources=2, messages=40)
    # The group without joins, all of it within the patience.
    apart = changed(apart.filter(pc.equal(apart["group"], "group1")), "apart", 0.1)
    parts = []
    for number in range(PARTS):
        pieces = [of_time(healthy_group(), number), of_time(odd, number), of_member(apart, number)]
        parts.append(pa.concat_tables(pieces))
    seq = MESSAGES_A_PART - 2 * PATIENCE.delay_us // GAP_US
    late = pc.and_(pc.equal(parts[0]["group"], "healthy"), pc.equal(parts[0]["seq"], seq))
    late = pc.fill_null(pc.and_(late, pc.equal(parts[0]["member"], "b")), False)
    parts[1] = pa.concat_tables([parts[1], parts[0].filter(late)])
    parts[0] = parts[0].filter(pc.invert(late))
    return parts


class Watched:
    """A folder that files arrive in, its tables, and what was told of each part."""

    def __init__(self, spark, folder):
        self.spark, self.folder, self.out = spark, folder / "in +é%20", folder / "out"
        self.folder.mkdir()
        self.told, self.lines = [], []

    def arrive(self, name, part):
        file = self.folder / name
        if name.endswith(".parquet"):
            pq.write_table(part, file)
        else:
            lines = [json.dumps(row) for row in part.to_pylist()]
            file.write_text("\n".join([*lines, '{"group": "healthy"}', ""]))

    def run(self, out=None, stopped=None, **changes):
        """Read what is there, one file at a time; return what is said of all of it."""
        options = Options(on_bad_rows="count", **changes)
        watching = Watching(options=options, patience=PATIENCE, once=True, files_per_part=1)
        watch = Watch(self.folder, out or self.out, self.spark, watching, self.lines.append, self.told.append)
        watch.run(stopped or threading.Event())
        return watch.summary


@pytest.fixture(scope="module")
def watched(spark, tmp_path_factory):
    """Three parts, the second of them with something late, the third in a run of its own."""
    print(f"seed {SEED}")
    watched = Watched(spark, tmp_path_factory.mktemp("watch"))
    parts = traces()
    watched.arrive("a.parquet", parts[0])
    (watched.folder / "a empty.csv").touch()
    watched.run()
    watched.arrive("b.jsonl", parts[1])
    watched.run()
    watched.arrive("c.parquet", parts[2])
    watched.run()
    return watched


@pytest.fixture(scope="module")
def whole(spark, watched, tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "out"
    return analyze([watched.folder], out, spark=spark, options=Options(on_bad_rows="count"))


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_that_of_the_whole_trace(watched, whole, name):
    ours, theirs = pq.read_table(watched.out / name), pq.read_table(whole.out / name)
    assert ours.schema.names == theirs.schema.names
    assert len(theirs)
    assert not differences(ours, theirs), f"seed {SEED}, left is watch"


def test_the_summary_is_that_of_the_whole_trace(watched, whole):
    told = json.loads((watched.out / "summary.json").read_text(encoding="utf-8"))
    assert told == watched.told[-1]
    assert told["bad_rows"] == 1
    for name in whole.summary.keys() - NOT_COMPARED:
        assert told[name] == whole.summary[name], f"seed {SEED}: {name}"


def test_what_came_too_late_had_everything_computed_anew_with_twice_the_patience(watched):
    rebuilt = [told["rebuilt"] for told in watched.told]
    # What is late by a part is so in any trace; the random group may have something late in the last part.
    assert rebuilt[:2] == [0, 1], f"seed {SEED}"
    assert rebuilt[2] in (1, 2), f"seed {SEED}"
    assert [told["delay_us"] for told in watched.told] == [PATIENCE.delay_us << k for k in rebuilt]
    assert sum("computing everything anew" in line for line in watched.lines) == rebuilt[-1]


def test_what_is_stable_leaves_the_state(watched):
    events, carried = ([told[name] for told in watched.told] for name in ("events", "carried_rows"))
    assert events[2] > 2.5 * events[0]
    # Of the healthy group only what is newer than the watermark; of the others, less than all.
    newer = EVENTS_A_MESSAGE * (watched.told[-1]["delay_us"] // GAP_US + 5)
    assert max(carried) < newer + 1200, f"seed {SEED}"
    events = pq.read_table(watched.out / stored(watched.out).version.kept["events"])
    healthy = events.filter(pc.equal(events["group"].cast(pa.string()), "healthy"))
    assert len(healthy) <= newer


def test_other_settings_and_an_output_in_use_are_refused(watched):
    for name in ("cumulative", "next_offset", "numbers_are_bytes"):
        with pytest.raises(InvalidInput, match=f"begun with another {name.replace('_', ' ')}: False"):
            watched.run(**{name: True})
    with pytest.raises(InvalidInput) as caught:
        watched.run(first_seq=0)
    assert str(caught.value) == (
        f"'{watched.out}' was begun with another first seq: 1 instead of 0 (accepted: the same, or another"
        " output folder)"
    )
    with (
        locked(watched.out / HIDDEN / "lock", watched.out),
        pytest.raises(InvalidInput, match="is in use by another run"),
    ):
        watched.run()
    assert len(watched.told) == PARTS


def test_a_run_with_nothing_new_says_what_is_known(watched):
    assert watched.run() == watched.told[-1]
    assert len(watched.told) == PARTS


def test_what_is_late_and_cannot_be_computed_anew_is_told_in_one_line(watched, tmp_path):
    """In a copy of the output, which another run may go on from as well."""
    out = tmp_path / "out"
    shutil.copytree(watched.out, out, symlinks=True)
    before = (out / "summary.json").read_text(encoding="utf-8")
    gone = watched.folder / "b.jsonl"
    gone.rename(tmp_path / "b.jsonl")
    watched.arrive("d.parquet", healthy_group().slice(10, 5))
    with pytest.raises(InvalidInput) as caught:
        watched.run(out)
    assert str(caught.value) == (
        "something came too late, and what was read before is not all there to be read again:"
        f" '{gone}' does not exist (accepted: files, folders and patterns)"
        " (accepted: files that stay, or another output folder and more patience with --delay-s)"
    )
    assert (out / "summary.json").read_text(encoding="utf-8") == before


def test_told_to_stop_it_leaves_a_part_undone_or_whole(spark, tmp_path, monkeypatch):
    watched = Watched(spark, tmp_path)
    watched.arrive("a.parquet", healthy_group())
    stopped = threading.Event()
    published = Versions.publish

    def stop_before(*arguments):
        stopped.set()
        return published(*arguments)

    monkeypatch.setattr(Versions, "publish", stop_before)
    told = watched.run(stopped=stopped)
    assert told is None or told["messages"] == PARTS * MESSAGES_A_PART
    assert watched.run()["messages"] == PARTS * MESSAGES_A_PART
    assert len(watched.told) == 1


def test_a_file_that_cannot_be_read_ends_it_with_one_line(spark, tmp_path):
    watched = Watched(spark, tmp_path)
    text = "".join(json.dumps(row) + "\n" for row in healthy_group().to_pylist())
    (watched.folder / "cut.jsonl.gz").write_bytes(gzip.compress(text.encode())[:-1000])
    with pytest.raises(InvalidInput) as caught:
        watched.run()
    assert str(caught.value) == (
        f"cannot read '{watched.folder}/cut.jsonl.gz': Truncated compressed stream (it is damaged or cut"
        " short)"
    )
    assert [file.name for file in watched.out.iterdir()] == [HIDDEN]


def test_positions_that_arrive_in_parts_are_followed_from_the_first_on(spark, tmp_path):
    def part(*rows):
        columns = ("group", "kind", "member", "source", "seq", "time_us")
        return pa.Table.from_pylist([dict(zip(columns, ("g", *row), strict=True)) for row in rows])

    watched = Watched(spark, tmp_path)
    watched.arrive("a.parquet", part(("head", None, "p", 9, 1), ("position", "a", "p", 4, 2)))
    watched.arrive("b.parquet", part(("head", None, "q", 5, 3), ("position", "a", "q", 5, 4)))
    first = watched.run()
    assert (first["open"], first["carried_rows"]) == (1, 4)
    watched.arrive("c.parquet", part(("position", "a", "p", 9, 0)))
    second = watched.run()
    assert (second["open"], second["carried_rows"], second["rebuilt"]) == (0, 5, 0)
    [row] = pq.read_table(watched.out / "readers", filters=[("source", "=", "p")]).to_pylist()
    assert (row["position"], row["lag"]) == (9, 0)


def test_a_run_that_was_killed_before_spark_noted_its_first_part_does_not_stop_the_next(spark, tmp_path):
    watched = Watched(spark, tmp_path)
    watched.arrive("a.parquet", healthy_group())
    notes = watched.out / HIDDEN / "checkpoint" / "offsets"
    notes.mkdir(parents=True)
    (notes / ".0.4f1d.tmp").write_text("v1\n")
    assert watched.run()["messages"] == PARTS * MESSAGES_A_PART
    assert not (notes / ".0.4f1d.tmp").exists()
    watched.arrive("b.parquet", changed(healthy_group(), "another", 1.0))
    assert watched.run()["events"] == 2 * len(healthy_group())
