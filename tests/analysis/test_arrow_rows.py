"""Rows of every format, good and bad, read with Arrow: many in one file, and the whole answer compared."""

import gzip
import json
import random
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stablecast.analysis.reading.events import read_events
from stablecast.analysis.reading.foreign import TIME_UNITS, Foreign
from stablecast.analysis.reading.inputs import find_inputs
from stablecast.analysis.reading.json_lines import JsonReader
from stablecast.delivery.kinds import KINDS
from stablecast.delivery.schema import EVENTS

NAMES = ("group", "kind", "member", "source", "seq", "time_us", "bytes")
GOOD = {"group": "g", "kind": "receive", "member": "b", "source": "a", "seq": 1, "time_us": 5, "bytes": 7}
CHANGED = {"source": None, "seq": None, "bytes": None}


def event(**changes):
    return {name: value for name, value in (GOOD | changes).items() if value is not ...}


def read(*paths, foreign=None, first_seq=1):
    """Return the events, and how many rows are bad for which reason."""
    inputs = find_inputs([str(path) for path in paths])
    found = list(read_events(inputs, foreign or Foreign(), first_seq=first_seq, on_bad_rows="count"))
    rows = [row for one in found for row in one.events.to_pylist()]
    bad = Counter()
    for one in found:
        assert one.events.schema == EVENTS
        assert set(one.examples) == set(one.problems)
        bad.update(one.problems)
    return [tuple(KINDS[row[n]] if n == "kind" else row[n] for n in NAMES) for row in rows], bad


def values(*rows):
    return [tuple(row[name] for name in NAMES) for row in rows]


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


def test_every_rule_on_rows_of_json(tmp_path):
    rows = ROWS
    file = write_lines(tmp_path / "rows.jsonl", [row for row, _, _ in rows])
    good, bad = read(file)
    assert good == values(*(event for _, _, event in rows if event is not None))
    assert bad == Counter(problem for _, problem, _ in rows if problem is not None)
    # Each alone, as some blocks are read at once and others line by line.
    for row, problem, wanted in rows:
        good, bad = read(write_lines(tmp_path / "row.jsonl", [event(), row]))
        assert good == values(event(), *([] if problem else [wanted])), row
        assert bad == ({problem: 1} if problem else {}), row


def test_the_first_number_decides_which_ones_are_too_low(tmp_path):
    kinds = ("send", "receive", "stable", "release")
    rows = [event(kind=kind, seq=seq) for kind in kinds for seq in (-1, 0, 9, 10)]
    file = write_lines(tmp_path / "rows.jsonl", rows)

    def accepted(first_seq):
        good, bad = read(file, first_seq=first_seq)
        assert set(bad) == {f"seq below {0 if first_seq == 'earliest' else 10}"}
        return [row[4] for row in good]

    assert accepted(10) == [10, 10, 9, 10, 10]
    assert accepted("earliest") == [0, 9, 10] * 4


def test_lines_of_csv(tmp_path):
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
    good, bad = read(file)
    assert bad == {
        "no seq": 1,
        "no source": 1,
        "wrong number of columns": 2,
        "bytes is not a whole number": 1,
        "no time_us": 1,
    }
    assert good == values(
        event(),
        event(group="g,h", bytes=None),
        event(kind="join", **CHANGED),
        event(kind="send", member="a", seq=3, bytes=0),
    )


def test_files_of_csv_may_have_their_columns_in_any_order_and_other_separators(tmp_path):
    names = list(NAMES)
    for place, (separator, ending) in enumerate([(",", "csv"), (";", "csv"), ("\t", "tsv"), ("|", "csv.gz")]):
        names = names[1:] + names[:1]
        text = separator.join(names) + "\r\n" + separator.join(str(event(seq=place + 1)[n]) for n in names)
        data = b"\xef\xbb\xbf" + text.encode()
        file = tmp_path / f"{place}.{ending}"
        file.write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
    good, bad = read(tmp_path)
    assert not bad
    assert sorted(good) == values(*(event(seq=seq) for seq in (1, 2, 3, 4)))


def table(rows=1, **columns):
    """Return a table whose columns are those of the schema but for the ones given."""
    plain = {name: pa.array([value] * rows) for name, value in GOOD.items()}
    return pa.table(plain | {name: column for name, column in columns.items() if column is not None})


def test_columns_of_parquet_may_have_any_type_that_fits(tmp_path):
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
    assert read(tmp_path) == ([wanted] * count, {"no source": count})


def test_values_of_parquet_that_do_not_fit_are_told(tmp_path):
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
    for name, each in wanted.items():
        good, bad = read(tmp_path / f"{name}.parquet")
        assert bad == Counter(problem for problem in each if problem)
        assert [row[4] for row in good] == [4]


def test_a_column_of_parquet_without_a_type_is_empty(tmp_path):
    joins = {
        "kind": pa.array(["join", "send"]),
        "source": pa.nulls(2),
        "seq": pa.nulls(2),
        "bytes": pa.nulls(2),
    }
    pq.write_table(table(2, **joins), tmp_path / "joins.parquet")
    assert read(tmp_path) == (values(event(kind="join", **CHANGED)), {"no source": 1})


MOMENT = 1_700_000_000_123_456
"""Microseconds; a double of seconds has no more digits."""


def test_timestamps_of_parquet_need_no_unit(tmp_path):
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
    assert {row[5] for row in read(tmp_path)[0]} == {MOMENT, -1}
    pq.write_table(table(1, time_us=pa.array([MOMENT // 1000], pa.timestamp("ms"))), tmp_path / "ms.parquet")
    for unit in ("s", "timestamp"):
        good, _ = read(tmp_path / "ms.parquet", foreign=Foreign(time_unit=unit))
        assert [row[5] for row in good] == [MOMENT // 1000 * 1000]


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
def test_times_are_exact_to_the_microsecond(tmp_path, unit, written, wanted):
    write_lines(tmp_path / "text.jsonl", [event(time_us=text) for text in written])
    times, bad = read(tmp_path, foreign=Foreign(time_unit=unit))
    is_far = [time is not None and abs(time) >= 2**60 for time in wanted]
    assert [row[5] for row in times] == [
        time for time, far in zip(wanted, is_far, strict=True) if time is not None and not far
    ]
    none = "a timestamp" if unit == "timestamp" else f"a number of {TIME_UNITS[unit]}"
    told = {f"time_us is not {none}": wanted.count(None), "time_us is out of range": sum(is_far)}
    assert bad == {reason: count for reason, count in told.items() if count}


def test_numbers_of_seconds_in_parquet_are_as_exact_as_they_are(tmp_path):
    seconds = MOMENT / 1_000_000
    columns = [
        pa.array([seconds, float("inf"), -1e-7]),
        pa.array([Decimal("1700000000.1234561"), Decimal(10**20), Decimal("-0.0000001")]),
    ]
    for place, column in enumerate(columns):
        pq.write_table(table(3, time_us=column), tmp_path / f"{place}.parquet")
    good, bad = read(tmp_path, foreign=Foreign(time_unit="s"))
    assert [row[5] for row in good] == [MOMENT, -1] * 2
    assert bad == {"time_us is not a number of seconds": 2}
    pq.write_table(table(2, time_us=pa.array([1, 2**62])), tmp_path / "0.parquet")
    good, bad = read(tmp_path / "0.parquet", foreign=Foreign(time_unit="ms"))
    assert [row[5] for row in good] == [1000]
    assert bad == {"time_us is not a number of milliseconds": 1}


def test_a_foreign_log_is_read_with_its_own_names_kinds_and_constants(tmp_path):
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
    good, bad = read(tmp_path, foreign=foreign)
    assert bad == {"no time_us": 1, "no kind": 1, "unknown kind": 1}
    assert good == [
        ("orders", "send", "p0", "p0", 1, 3000, 12),
        ("orders", "receive", "c", "p0", 1, 4500, 12),
        ("orders", "stable", "c", "p0", 1, 5000, 12),
        ("orders", "release", "c", "p0", 1, 6000, 12),
    ]


def test_parquet_with_objects_and_names_with_dots_is_mapped_too(tmp_path):
    log = table(1).drop_columns(["time_us", "member"])
    log = log.append_column("at", pa.array([{"zone": "x", "ms": 3}])).append_column("a.`b", pa.array(["m"]))
    pq.write_table(log, tmp_path / "log.parquet")
    foreign = Foreign(columns={"time_us": "at.ms", "member": "a.`b"}, constants={"seq": "9"}, time_unit="ms")
    assert read(tmp_path, foreign=foreign) == ([("g", "receive", "m", "a", 9, 3000, 7)], {})


def test_formats_are_read_together_and_files_that_lack_bytes_too(tmp_path):
    write_lines(tmp_path / "a.jsonl", [event(seq=1)])
    (tmp_path / "b.ndjson.gz").write_bytes(gzip.compress(json.dumps(event(seq=2)).encode()))
    pq.write_table(table(1, seq=pa.array([3])), tmp_path / "c.parquet")
    pq.write_table(table(1, seq=pa.array([4])).drop_columns(["bytes"]), tmp_path / "d.parquet")
    (tmp_path / "e.csv").write_text("group,kind,member,source,seq,time_us\ng,receive,b,a,5,5\n")
    for name in ("f.jsonl", "g.csv", "h.csv"):
        (tmp_path / name).write_text("\n" if name == "h.csv" else "")
    with pa.CompressedOutputStream(str(tmp_path / "i.jsonl.zst"), "zstd") as compressed:
        compressed.write(json.dumps(event(seq=6)).encode())
    good, bad = read(tmp_path)
    assert not bad
    assert sorted((row[4], row[6]) for row in good) == [
        (1, 7),
        (2, 7),
        (3, 7),
        (4, None),
        (5, None),
        (6, 7),
    ]


def test_files_without_a_row_give_an_empty_answer_of_the_same_columns(tmp_path):
    (tmp_path / "a.csv").write_text("\n")
    pq.write_table(table(1).slice(1), tmp_path / "b.parquet")
    pq.write_table(pa.table({name: pa.nulls(0) for name in NAMES}), tmp_path / "c.parquet")
    for path in (tmp_path / "a.csv", tmp_path):
        assert read(path) == ([], {})


def test_positions_and_heads_need_a_source_and_a_number(tmp_path):
    rows = [
        event(kind="head", member=...),
        event(kind="head", member="store"),
        event(kind="position", seq=0),
        event(kind="head", seq=0, bytes=None),
        event(kind="position", source=None),
        event(kind="position", member=None),
        event(kind="head", seq=None),
        event(kind="head", seq=-1),
    ]
    good, bad = read(write_lines(tmp_path / "rows.jsonl", rows))
    assert good == values(
        event(kind="head", member="a"),
        event(kind="head", member="store"),
        event(kind="position", seq=0),
        event(kind="head", seq=0, bytes=None),
    )
    assert bad == {"no source": 1, "no member": 1, "no seq": 1, "seq below 1": 1}
    assert read(tmp_path / "rows.jsonl", first_seq="earliest")[1]["seq below 0"] == 1


def test_a_send_happens_at_its_source_whatever_its_member_is(tmp_path):
    rows = [event(kind="send", member="observer"), event(kind="send", source="z", member="z"), event()]
    good, bad = read(write_lines(tmp_path / "rows.jsonl", rows))
    assert [row[2:4] for row in good] == [("a", "a"), ("z", "z"), ("b", "a")]
    assert not bad


def test_a_log_that_numbers_its_members_is_read_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(JsonReader, "_by_line", None)
    rows = [event(member=k, seq=str(k + 1), time_us=k + 0.5) for k in range(3)]
    good, bad = read(write_lines(tmp_path / "rows.jsonl", rows))
    assert good == values(*(event(member=str(k), seq=k + 1, time_us=k) for k in range(3)))
    assert not bad


def test_lines_of_csv_that_arrow_would_read_otherwise(tmp_path):
    header = "group,kind,member,source,seq,time_us,bytes\n"

    def csv(text):
        (tmp_path / "rows.csv").write_bytes(header.encode() + text)
        return read(tmp_path / "rows.csv")

    assert csv(b"g,receive,b,a,0x1f,5,7\n") == ([], {"seq is not a whole number": 1})
    assert csv(b'g,receive," b ",a,1,5,7\ng, receive , c,a,1,5,7\n') == (
        values(event(member=" b "), event(member="c")),
        {},
    )
    # A line ends at its end, quotation marks or not.
    assert csv(b'"g\nh",receive,b,a,1,5,7\n') == (
        values(event(group='h"')),
        {"wrong number of columns": 1},
    )
    assert csv(b"g,receive,\xff,a,1,5,7\n") == (values(event(member="\ufffd")), {})
    assert csv(b"g,receive,b, ,1,5,7\n \n\r\n") == ([], {"no source": 1})
    assert csv(b"g,receive,b,a,1,5,7\rg,receive,c,a,1,5,7\r") == (values(event(), event(member="c")), {})
    assert csv(b'g, receive , "b,""c""" ,a,1,5,7') == (values(event(member='b,"c"')), {})


def test_lines_of_json_that_arrow_would_read_otherwise(tmp_path):
    def lines(text):
        (tmp_path / "rows.jsonl").write_bytes(text)
        return read(tmp_path / "rows.jsonl")

    line = json.dumps(event()).encode()
    assert lines(line + b" " + line + b"\n") == (values(event()), {})
    assert lines(line.replace(b", ", b",\n", 1) + b"\n") == ([], {"not JSON": 2})
    assert lines(line.replace(b'"b"', b'"\xff"') + b"\n") == (values(event(member="\ufffd")), {})
    assert lines(line.replace(b'"b"', b'"\\ud800"') + b"\n") == (values(event(member="?")), {})
    assert lines(b"\n \n" + line + b"\r\n\n" + line) == (values(event(), event()), {})
    assert lines(line.replace(b'"b"', b'"x", "member": "b"') + b"\n") == (values(event()), {})
    assert lines(b"[" + line + b", 5]\n[]\n" + b"[" * 100_000 + b"\n") == ([], {"not JSON": 2})
    nulls = b"null\n" + line + b"null {}\n" + line + b" null" + line + b"\n null \n"
    assert lines(nulls) == (values(event(), event()), {"not JSON": 2})
    assert lines(b"\xef\xbb\xbf" + line + b"\n\xef\xbb\xbf" + line) == (values(event(), event()), {})
    assert lines(line.replace(b'"b"', b"true") + b"\n") == (values(event(member="true")), {})


@pytest.mark.parametrize("encode", [False, True])
def test_text_and_parquet_of_the_same_rows_classify_the_same(tmp_path, encode):
    rng = random.Random(5)
    kinds = [*KINDS, "odd", None]
    rows = [
        {
            "group": rng.choice(["g", "h", None]),
            "kind": rng.choice(kinds),
            "member": rng.choice(["a", "b", "ü", None]),
            "source": rng.choice(["a", "c", None]),
            "seq": rng.choice([None, -1, 0, 1, 2, 2**60, 2**62]),
            "time_us": rng.choice([None, 1, -5, 2**60, 7]),
            "bytes": rng.choice([None, -1, 0, 9, 2**31]),
        }
        for _ in range(3_000)
    ]
    types = {name: pa.string() if name in NAMES[:4] else pa.int64() for name in NAMES}
    plain = pa.Table.from_pylist(rows, pa.schema(list(types.items())))
    if encode:
        for place, name in enumerate(NAMES):
            plain = plain.set_column(place, name, plain.column(name).dictionary_encode())
    pq.write_table(plain, tmp_path / "a.parquet", row_group_size=700)
    text = pa.table({name: plain.column(name).cast(pa.string()) for name in NAMES})
    pq.write_table(text, tmp_path / "b.parquet")
    write_lines(tmp_path / "c.jsonl", rows)
    write_lines(tmp_path / "d.jsonl", text.to_pylist())
    content = [",".join("" if row[n] is None else str(row[n]) for n in NAMES) for row in rows]
    write_lines(tmp_path / "e.csv", [",".join(NAMES), *content])
    wanted = read(tmp_path / "a.parquet")
    assert len(wanted[0]) > 50
    assert len(wanted[1]) > 10
    for name in ("b.parquet", "c.jsonl", "d.jsonl", "e.csv"):
        assert read(tmp_path / name) == wanted, name
