"""Rows of every format, good and bad: many of them in one file, and the whole answer compared."""

import gzip
import json
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stablecast.pipeline.analysis.reading.events import Foreign, classified_events, find_inputs

NAMES = ("group", "kind", "member", "source", "seq", "time_us", "bytes")
GOOD = {"group": "g", "kind": "receive", "member": "b", "source": "a", "seq": 1, "time_us": 5, "bytes": 7}
CHANGED = {"source": None, "seq": None, "bytes": None}


def event(**changes):
    return {name: value for name, value in (GOOD | changes).items() if value is not ...}


def read(spark, *paths, foreign=None, **options):
    """Return what each row is, and what is wrong with it."""
    inputs = find_inputs([str(path) for path in paths])
    rows = classified_events(spark, inputs, foreign or Foreign(), **options).collect()
    return [(tuple(row)[:-1], row["problem"]) for row in rows]


def values(*rows):
    return [tuple(row[name] for name in NAMES) for row in rows]


def problems(rows):
    return [problem for _, problem in rows]


def write_lines(file, rows):
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file


# A row as the log has it, what is wrong with it, and what it is if nothing is.
ROWS = [
    (event(), None, event()),
    (event(extra={"x": [1]}), None, event()),
    (event(bytes=...), None, event(bytes=None)),
    (event(bytes=None), None, event(bytes=None)),
    (event(bytes=0), None, event(bytes=0)),
    (event(kind="send", member=None), None, event(kind="send", member="a")),
    (event(kind="send", member=...), None, event(kind="send", member="a")),
    (event(kind="stable", seq=0), None, event(kind="stable", seq=0)),
    (event(kind="join"), None, event(kind="join", source=None, seq=None)),
    (event(kind="leave", seq="none", bytes=None), None, event(kind="leave", **CHANGED)),
    (event(kind="fail", source=..., seq=..., bytes=...), None, event(kind="fail", **CHANGED)),
    (event(seq="12", time_us=" -3 ", bytes="8"), None, event(seq=12, time_us=-3, bytes=8)),
    (event(seq=3.0, time_us=1.5e3, bytes=2e1), None, event(seq=3, time_us=1500, bytes=20)),
    (event(seq=2**60 - 1, time_us=1 - 2**60), None, event(seq=2**60 - 1, time_us=1 - 2**60)),
    (event(seq=2**63 - 1), "seq is out of range", None),
    (event(time_us=-(2**63)), "time_us is out of range", None),
    (event(member=17, source=4), None, event(member="17", source="4")),
    (event(member="", group=""), None, event(member="", group="")),
    (event(member="{x} ünï\ncode"), None, event(member="{x} ünï\ncode")),
    (f"[{json.dumps(event(seq=8))}]", None, event(seq=8)),
    (event(group=None), "no group", None),
    (event(group=...), "no group", None),
    (event(kind=None), "no kind", None),
    (event(kind="Receive"), "unknown kind", None),
    (event(kind=""), "unknown kind", None),
    (event(member=None), "no member", None),
    (event(kind="join", member=...), "no member", None),
    (event(source=None), "no source", None),
    (event(kind="send", source=..., member="a"), "no source", None),
    (event(kind="release", seq=None), "no seq", None),
    (event(kind="stable", seq=...), "no seq", None),
    (event(seq="x"), "seq is not a whole number", None),
    (event(seq=1.5), "seq is not a whole number", None),
    (event(seq=True), "seq is not a whole number", None),
    (event(seq=[1]), "seq is not a whole number", None),
    (event(seq={"n": 1}), "seq is not a whole number", None),
    (event(seq=""), "seq is not a whole number", None),
    (event(seq=2**63), "seq is not a whole number", None),
    (event(seq=1e300), "seq is not a whole number", None),
    (event(seq=0), "seq below 1", None),
    (event(kind="send", seq=-1), "seq below 1", None),
    (event(kind="stable", seq=-1), "seq below 1", None),
    (event(time_us=None), "no time_us", None),
    (event(kind="leave", time_us=...), "no time_us", None),
    (event(time_us="2024-05-01"), "time_us is not a number of microseconds", None),
    (event(time_us=10**30), "time_us is not a number of microseconds", None),
    (event(bytes="big"), "bytes is not a whole number", None),
    (event(bytes=1.5), "bytes is not a whole number", None),
    (event(bytes=-1), "negative bytes", None),
    (event(kind="join", bytes=-1), "negative bytes", None),
    (event(bytes=2**31), "bytes above 2147483647", None),
    ("{}", "no group", None),
    ("hello", "not JSON", None),
    ("5", "not JSON", None),
    ("null", "not JSON", None),
    ('{"group": "g", "kind": "re', "not JSON", None),
]


def test_every_rule_on_rows_of_json(spark, tmp_path):
    rows = ROWS
    file = write_lines(tmp_path / "rows.jsonl", [row for row, _, _ in rows])
    found = read(spark, file)
    assert problems(found) == [problem for _, problem, _ in rows]
    good = [row for row, problem in found if problem is None]
    assert good == values(*(event for _, _, event in rows if event is not None))


def test_the_first_number_decides_which_ones_are_too_low(spark, tmp_path):
    kinds = ("send", "receive", "stable", "release")
    rows = [event(kind=kind, seq=seq) for kind in kinds for seq in (-1, 0, 9, 10)]
    file = write_lines(tmp_path / "rows.jsonl", rows)

    def accepted(first_seq):
        found = read(spark, file, first_seq=first_seq)
        assert {problem for _, problem in found} == {
            None,
            f"seq below {0 if first_seq == 'earliest' else 10}",
        }
        return [row[4] for row, problem in found if problem is None]

    assert accepted(10) == [10, 10, 9, 10, 10]
    assert accepted("earliest") == [0, 9, 10] * 4


def test_lines_of_csv(spark, tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text(
        'note, seq,kind,group,member,source,time_us,"bytes"\n'
        "x,1,receive,g,b,a,5,7\n"
        '"say ""hi"", twice",1,receive,"g,h", b ,a,5,\n'
        '"",2,"join","g","b","","5",""\n'
        ",3,send,g,,a,5,0\n"
        "\n"
        "x,,receive,g,b,a,5,7\n"
        "x,1,receive,g,b,,5,7\n"
        "x,1,receive,g,b,a,5\n"
        "x,1,receive,g,b,a,5,7,8\n"
        "x,1e0,receive,g,b,a,5.0,7.5\n"
        "x,1,receive,g,b,a,,7\n",
        encoding="utf-8",
    )
    found = read(spark, file)
    assert problems(found) == [
        *[None] * 4,
        "no seq",
        "no source",
        "wrong number of columns",
        "wrong number of columns",
        "bytes is not a whole number",
        "no time_us",
    ]
    assert [row for row, problem in found if problem is None] == values(
        event(),
        event(group="g,h", bytes=None),
        event(kind="join", **CHANGED),
        event(kind="send", member="a", seq=3, bytes=0),
    )


def test_files_of_csv_may_have_their_columns_in_any_order_and_other_separators(spark, tmp_path):
    names = list(NAMES)
    for place, (separator, ending) in enumerate([(",", "csv"), (";", "csv"), ("\t", "tsv"), ("|", "csv.gz")]):
        names = names[1:] + names[:1]
        text = separator.join(names) + "\r\n" + separator.join(str(event(seq=place + 1)[n]) for n in names)
        data = b"\xef\xbb\xbf" + text.encode()
        file = tmp_path / f"{place}.{ending}"
        file.write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
    found = read(spark, tmp_path)
    assert problems(found) == [None] * 4
    assert sorted(row for row, _ in found) == values(*(event(seq=seq) for seq in (1, 2, 3, 4)))


def table(rows=1, **columns):
    """Return a table whose columns are those of the schema but for the ones given."""
    plain = {name: pa.array([value] * rows) for name, value in GOOD.items()}
    return pa.table(plain | {name: column for name, column in columns.items() if column is not None})


def test_columns_of_parquet_may_have_any_type_that_fits(spark, tmp_path):
    five = pa.array([5, None])
    types = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
    numbers = [five.cast(kind) for kind in [*types, pa.float32(), pa.float64()]]
    numbers += [pa.array([Decimal(5), None], pa.decimal128(*shape)) for shape in [(9, 0), (18, 3), (38, 0)]]
    texts = [pa.array(["5", None]), pa.array(["5.0", None], pa.large_string())]
    texts += [pa.array(["5", None]).dictionary_encode(), pa.array(["5", None]).cast(pa.binary())]
    every = numbers + texts + [five.cast(pa.duration("us"))]
    wanted, count = values(event(member="5", source="5", seq=5, time_us=5, bytes=5))[0], 0
    # Each type is that of every number in a file, and those that can be are that of the names in one too.
    for start in range(0, len(every), 3):
        seq, time_us, size = (every + every)[start : start + 3]
        member, source = (numbers[(start + more) % len(numbers)] for more in (0, 1))
        columns = {"member": member, "source": source, "seq": seq, "time_us": time_us, "bytes": size}
        pq.write_table(table(2, **columns), tmp_path / f"{start}.parquet")
        count += 1
    found = read(spark, tmp_path)
    assert sorted(found, key=str) == sorted(
        [(wanted, None), (("g", "receive", *[None] * 5), "no source")] * count, key=str
    )


def test_values_of_parquet_that_do_not_fit_are_told(spark, tmp_path):
    seqs = {
        "double": pa.array([1.5, float("nan"), 2.0**63, 1e300, -0.0, 4.0]),
        "text": pa.array(["x", "1.5", "", "9" * 30, "0", "4"]),
        "decimal": pa.array(
            [Decimal("1.5"), Decimal(10**25), Decimal("0.001"), None, Decimal(0), Decimal(4)]
        ),
        "unsigned": pa.array([2**64 - 1, 2**63, 2**63, None, 0, 4], pa.uint64()),
    }
    for name, seq in seqs.items():
        pq.write_table(table(6, seq=seq), tmp_path / f"{name}.parquet")
    no, low = "seq is not a whole number", "seq below 1"
    wanted = {
        "double": [no, no, no, no, low, None],
        "text": [no, no, no, no, low, None],
        "decimal": [no, no, no, "no seq", low, None],
        "unsigned": [no, no, no, "no seq", low, None],
    }
    found = problems(read(spark, tmp_path))
    assert sorted(map(str, found)) == sorted(str(problem) for each in wanted.values() for problem in each)
    assert problems(read(spark, tmp_path / "double.parquet")) == wanted["double"]


def test_a_column_of_parquet_without_a_type_is_empty(spark, tmp_path):
    joins = {
        "kind": pa.array(["join", "send"]),
        "source": pa.nulls(2),
        "seq": pa.nulls(2),
        "bytes": pa.nulls(2),
    }
    pq.write_table(table(2, **joins), tmp_path / "joins.parquet")
    found = read(spark, tmp_path)
    assert problems(found) == [None, "no source"]
    assert found[0][0] == values(event(kind="join", **CHANGED))[0]


MOMENT = 1_700_000_000_123_456
"""Microseconds; a double of seconds has no more digits."""


def test_timestamps_of_parquet_need_no_unit(spark, tmp_path):
    columns = {
        "ns": pa.array([MOMENT * 1000 + 789, -1], pa.timestamp("ns")),
        "ns_utc": pa.array([MOMENT * 1000, -1000], pa.timestamp("ns", "UTC")),
        "us": pa.array([MOMENT, -1], pa.timestamp("us")),
        "us_zone": pa.array([MOMENT, -1], pa.timestamp("us", "Europe/Paris")),
    }
    for name, column in columns.items():
        pq.write_table(table(2, time_us=column), tmp_path / f"{name}.parquet")
    old = table(2, time_us=columns["ns_utc"])
    pq.write_table(old, tmp_path / "int96.parquet", use_deprecated_int96_timestamps=True)
    assert {row[5] for row, _ in read(spark, tmp_path)} == {MOMENT, -1}
    pq.write_table(table(1, time_us=pa.array([MOMENT // 1000], pa.timestamp("ms"))), tmp_path / "ms.parquet")
    for unit in ("s", "timestamp"):
        found = read(spark, tmp_path / "ms.parquet", foreign=Foreign(time_unit=unit))
        assert [row[5] for row, _ in found] == [MOMENT // 1000 * 1000]


@pytest.mark.parametrize(
    ("unit", "written", "wanted"),
    [
        ("ns", ["1700000000123456789", "-1", "-1000", "1.5e3"], [MOMENT, -1, -1, 1]),
        ("us", ["1700000000123456", "-1.5", "0.9"], [MOMENT, -2, 0]),
        ("ms", ["1700000000123.456", "-0.0001", "7"], [MOMENT, -1, 7000]),
        (
            "s",
            ["1700000000.123456", "1700000000.1234569", "1.700000000123456e9", "9"],
            [MOMENT] * 3 + [9_000_000],
        ),
        ("s", ["9223372036854.775807", "9223372036855", "x"], [2**63 - 1, None, None]),
        (
            "timestamp",
            [
                datetime.fromtimestamp(1_700_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S.123456Z"),
                "2023-11-15 00:13:20.123456789+02:00",
                "2023-11-14 22:13:20.123456",
                "1969-12-31T23:59:59.999999Z",
                "1970-01-01",
                "12:00",
                "now",
                "1700000000",
                "2023-13-01",
            ],
            [MOMENT] * 3 + [-1, 0] + [None] * 4,
        ),
    ],
)
def test_times_are_exact_to_the_microsecond(spark, tmp_path, unit, written, wanted):
    write_lines(tmp_path / "text.jsonl", [event(time_us=text) for text in written])
    found = read(spark, tmp_path, foreign=Foreign(time_unit=unit))
    assert [row[5] for row, _ in found] == wanted
    bad = "a timestamp" if unit == "timestamp" else "a number of seconds"
    assert {problem for _, problem in found} <= {None, f"time_us is not {bad}", "time_us is out of range"}


def test_numbers_of_seconds_in_parquet_are_as_exact_as_they_are(spark, tmp_path):
    seconds = MOMENT / 1_000_000
    columns = [
        pa.array([seconds, float("inf"), -1e-7]),
        pa.array([Decimal("1700000000.1234561"), Decimal(10**20), Decimal("-0.0000001")]),
    ]
    for place, column in enumerate(columns):
        pq.write_table(table(3, time_us=column), tmp_path / f"{place}.parquet")
    found = read(spark, tmp_path, foreign=Foreign(time_unit="s"))
    assert [row[5] for row, _ in found] == [MOMENT, None, -1] * 2
    pq.write_table(table(2, time_us=pa.array([1, 2**62])), tmp_path / "0.parquet")
    found = read(spark, tmp_path / "0.parquet", foreign=Foreign(time_unit="ms"))
    assert [(row[5], problem) for row, problem in found] == [
        (1000, None),
        (None, "time_us is not a number of milliseconds"),
    ]


def test_a_foreign_log_is_read_with_its_own_names_kinds_and_constants(spark, tmp_path):
    foreign = Foreign(
        columns={
            "kind": "op",
            "member": "who.name",
            "time_us": "at.ms",
            "source": "topic.part",
            "seq": "offset",
        },
        constants={"group": "orders", "bytes": "12"},
        kinds={"produce": "send", "commit": "receive", "2": "stable", "heartbeat": "-"},
        time_unit="ms",
    )
    write_lines(
        tmp_path / "log.jsonl",
        [
            {"op": "produce", "topic.part": "p0", "offset": 1, "at": {"ms": 3, "zone": "x"}, "who": {}},
            {"op": "heartbeat", "who": {"name": "c"}},
            {"op": "commit", "topic.part": "p0", "offset": 1, "at": {"ms": 4.5}, "who": {"name": "c"}},
            {"op": 2, "topic.part": "p0", "offset": 1, "at": {"ms": 5}, "who": {"name": "c", "id": 7}},
            {"op": "release", "topic.part": "p0", "offset": 1, "at": {"ms": 6}, "who": {"name": "c"}},
            {"op": "commit", "topic.part": "p0", "offset": 1, "at": 7, "who": {"name": "c"}},
            {"op": None, "topic.part": "p0", "offset": 1, "at": {"ms": 6}, "who": {"name": "c"}},
            {"op": "-", "topic.part": "p0", "offset": 1, "at": {"ms": 6}, "who": {"name": "c"}},
        ],
    )
    found = read(spark, tmp_path, foreign=foreign)
    assert problems(found) == [None, None, None, None, "no time_us", "no kind", "unknown kind"]
    assert [row for row, problem in found if problem is None] == [
        ("orders", "send", "p0", "p0", 1, 3000, 12),
        ("orders", "receive", "c", "p0", 1, 4500, 12),
        ("orders", "stable", "c", "p0", 1, 5000, 12),
        ("orders", "release", "c", "p0", 1, 6000, 12),
    ]


def test_parquet_with_objects_and_names_with_dots_is_mapped_too(spark, tmp_path):
    log = table(1).drop_columns(["time_us", "member"])
    log = log.append_column("at", pa.array([{"zone": "x", "ms": 3}])).append_column("a.`b", pa.array(["m"]))
    pq.write_table(log, tmp_path / "log.parquet")
    foreign = Foreign(columns={"time_us": "at.ms", "member": "a.`b"}, constants={"seq": "9"}, time_unit="ms")
    assert read(spark, tmp_path, foreign=foreign) == [(("g", "receive", "m", "a", 9, 3000, 7), None)]


def test_formats_are_read_together_and_files_that_lack_bytes_too(spark, tmp_path):
    write_lines(tmp_path / "a.jsonl", [event(seq=1)])
    (tmp_path / "b.ndjson.gz").write_bytes(gzip.compress(json.dumps(event(seq=2)).encode()))
    pq.write_table(table(1, seq=pa.array([3])), tmp_path / "c.parquet")
    pq.write_table(table(1, seq=pa.array([4])).drop_columns(["bytes"]), tmp_path / "d.parquet")
    (tmp_path / "e.csv").write_text("group,kind,member,source,seq,time_us\ng,receive,b,a,5,5\n")
    for name in ("f.jsonl", "g.csv", "h.csv"):
        (tmp_path / name).write_text("\n" if name == "h.csv" else "")
    with pa.CompressedOutputStream(str(tmp_path / "i.jsonl.zst"), "zstd") as compressed:
        compressed.write(json.dumps(event(seq=6)).encode())
    found = read(spark, tmp_path)
    assert problems(found) == [None] * 6
    assert sorted((row[4], row[6]) for row, _ in found) == [
        (1, 7),
        (2, 7),
        (3, 7),
        (4, None),
        (5, None),
        (6, 7),
    ]


def test_files_without_a_row_give_an_empty_answer_of_the_same_columns(spark, tmp_path):
    (tmp_path / "a.csv").write_text("\n")
    pq.write_table(table(1).slice(1), tmp_path / "b.parquet")
    pq.write_table(pa.table({name: pa.nulls(0) for name in NAMES}), tmp_path / "c.parquet")
    for path in (tmp_path / "a.csv", tmp_path):
        frame = classified_events(spark, find_inputs([str(path)]), Foreign())
        assert frame.columns == [*NAMES, "problem"]
        types = [field.dataType.simpleString() for field in frame.schema]
        assert types == ["string"] * 4 + ["bigint", "bigint", "int", "string"]
        assert frame.isEmpty()
