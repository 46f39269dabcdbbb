"""Files, folders, patterns and options: what is found, and one line for each thing that is not accepted."""

import bz2
import errno
import gzip
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stablecast.analysis.reading.foreign import Foreign, check_first_seq, parse_pairs
from stablecast.analysis.reading.inputs import find_inputs
from stablecast.analysis.reading.mapping import nearest, plan_parts
from stablecast.errors import InvalidInput

EVENT = '{"group":"g","kind":"join","member":"a","source":null,"seq":null,"time_us":1,"bytes":null}\n'
HEADER = "group,kind,member,source,seq,time_us,bytes\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(*names, content=EVENT):
    for name in names:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def found(*paths, **options):
    return [file.name for file in find_inputs(paths, **options).files]


def refusal(*paths, **options):
    with pytest.raises(InvalidInput) as caught:
        find_inputs(paths, **options)
    line = str(caught.value)
    assert "\n" not in line
    return line


def test_folders_are_searched_for_what_is_named_like_events(here):
    put(
        "t/a.jsonl",
        "t/deep/b.ndjson",
        "t/verdict.json",
        "t/notes.txt",
        "t/_x.jsonl",
        "t/.y.jsonl",
        "t/README",
    )
    put("t/_temporary/c.jsonl", "t/.hidden/d.jsonl", "t/e.parquet.gz", "t/odd [x]*?/f.jsonl")
    put("t/g.csv", "t/h.TSV", content=HEADER)
    put("t/i.csv.gz", content=gzip.compress(HEADER.encode()))
    put("t/j.jsonl.bz2", content=bz2.compress(EVENT.encode()))
    expected = ["a.jsonl", "deep/b.ndjson", "g.csv", "h.TSV", "i.csv.gz", "j.jsonl.bz2", "odd [x]*?/f.jsonl"]
    expected = [f"t/{name}" for name in expected]
    assert found("t") == expected
    assert [file.format for file in find_inputs(["t"]).files] == [
        "json",
        "json",
        *["csv"] * 3,
        "json",
        "json",
    ]
    # The same files by several ways are read once.
    Path("again.jsonl").symlink_to(here / "t" / "a.jsonl")
    ways = ["t", "t/", "./t", str(here / "t"), "t/*.jsonl", f"file://{here}/t", "again.jsonl"]
    assert found(*ways) == expected
    assert found("t", without=["t/deep", "t/odd [x]*?"]) == [
        n for n in expected if "/deep" not in n and "odd" not in n
    ]


def test_patterns_and_single_files(here):
    put("t/a.jsonl", "t/b.jsonl", "t/verdict.json", "u/c.jsonl", "u/d.json", "x.log")
    assert found("t/*") == ["t/a.jsonl", "t/b.jsonl"]
    assert found("*/[ac].jsonl") == ["t/a.jsonl", "u/c.jsonl"]
    assert found("**/*.jsonl") == ["t/a.jsonl", "t/b.jsonl", "u/c.jsonl"]
    assert found("[tu]") == ["t/a.jsonl", "t/b.jsonl", "u/c.jsonl"]
    assert found(f"{here}/t/?.jsonl") == [f"{here}/t/a.jsonl", f"{here}/t/b.jsonl"]
    assert found("u/*.json") == found("u/d.json") == ["u/d.json"]
    assert found("x.log", format="jsonl") == ["x.log"]
    assert find_inputs(["x.log"], format="json").files[0].format == "json"
    put("a[1].jsonl", "with space.jsonl", "100%20.jsonl")
    assert found("a[1].jsonl") == ["a[1].jsonl"]
    assert found(f"file://{here}/with%20space.jsonl") == [f"{here}/with space.jsonl"]
    assert found(f"file:{here}/100%20.jsonl") == [f"{here}/100%20.jsonl"]


def test_other_addresses_are_left_to_spark():
    inputs = find_inputs(["hdfs://host/x/*.parquet", "s3a://bucket/y.jsonl.gz", "s3a://bucket/z.csv"])
    assert [(file.path, file.format, file.head) for file in inputs.files] == [
        ("hdfs://host/x/*.parquet", "parquet", None),
        ("s3a://bucket/y.jsonl.gz", "json", None),
        ("s3a://bucket/z.csv", "csv", None),
    ]
    assert found("hdfs://host/folder", format="parquet") == ["hdfs://host/folder"]
    assert "cannot tell the format of 'hdfs://host/folder/'" in refusal("hdfs://host/folder/")


def test_what_cannot_be_found_or_read_is_told_in_one_line(here):
    put("t/notes.txt", "t/verdict.json", "_a.jsonl", "b:c.jsonl", "x.log", "d.parquet.gz", "empty/.keep")
    put("zero.jsonl", "zeros/a.jsonl", "zeros/b.csv", content="")
    Path("lost.jsonl").symlink_to("nowhere")
    os.mkfifo("pipe.jsonl")
    assert refusal() == "no events were given (accepted: files, folders and patterns)"
    assert refusal("gone.jsonl") == "'gone.jsonl' does not exist (accepted: files, folders and patterns)"
    assert refusal("file:///gone.jsonl").startswith("'/gone.jsonl' does not exist")
    assert refusal("gone*.jsonl") == "nothing matches 'gone*.jsonl'"
    assert refusal("**x").startswith("pattern '**x' is not accepted: Invalid pattern")
    assert refusal("lost.jsonl").startswith("'lost.jsonl' is a link to nothing")
    assert refusal("pipe.jsonl").startswith("'pipe.jsonl' is not a file")
    assert refusal("_a.jsonl") == "'_a.jsonl' would be passed over by Spark: its name begins with '_'"
    assert refusal("b:c.jsonl") == "'b:c.jsonl' cannot be read by Spark: there is a ':' in its name"
    put("e:f/g[1].jsonl", os.fsdecode(b"\xff.jsonl"))
    assert refusal("e:f/g[1].jsonl").endswith(" cannot be read by Spark: there is a ':' in its name")
    line = r"'\udcff.jsonl' cannot be read by Spark: its name is not UTF-8"
    assert refusal(os.fsdecode(b"\xff.jsonl")) == line
    assert refusal("x.log").startswith("cannot tell the format of 'x.log' by its name (accepted: *.parquet, ")
    assert (
        refusal("d.parquet.gz")
        == "'d.parquet.gz' is Parquet compressed once more (accepted: Parquet as it is)"
    )
    assert refusal("x.log", format="xml") == "unknown format 'xml' (accepted: csv, json, parquet)"
    assert refusal("empty").startswith("no events in 'empty': nothing there is named *.parquet, *.jsonl")
    line = refusal("t")
    assert line.startswith("no events in 't' (has: 'notes.txt', 'verdict.json'): nothing there is named")
    assert line.endswith("; files named *.json are read when they are given themselves")
    assert refusal("zero.jsonl") == "no events: 'zero.jsonl' is empty"
    assert refusal("zeros") == "no events: 'zeros/a.jsonl', 'zeros/b.csv' are empty"


def test_files_that_are_not_what_they_say_are_told_in_one_line(here):
    pq.write_table(pa.table({"group": ["g"]}), "good.parquet")
    whole = Path("good.parquet").read_bytes()
    put("text.parquet")
    put("cut.parquet", content=whole[:-6])
    put("zero.parquet", content="")
    put("parquet.jsonl", "parquet.csv", content=whole)
    put("zipped.jsonl", "short.jsonl.gz", content=gzip.compress(EVENT.encode()))
    put("plain.jsonl.gz", "plain.csv.zst")
    put("wide.csv", content=HEADER.encode("utf-16"))
    put("latin.csv", content="gr\xfcppe,kind\n".encode("latin-1"))
    put("document.json", content='{\n "group": "g"\n}\n')
    put("array.json", content="[\n" + EVENT + "]\n")
    for name in ("text.parquet", "cut.parquet"):
        assert refusal(name).startswith(
            f"'{name}' is not Parquet, or is cut short: Parquet magic bytes not found"
        )
    assert refusal("zero.parquet") == "no events: 'zero.parquet' is empty"
    line = "'zero.parquet' is not Parquet, or is cut short: Parquet file size is 0 bytes"
    assert refusal("zero.parquet", "good.parquet") == line
    for name in ("parquet.jsonl", "parquet.csv"):
        assert refusal(name).startswith(f"'{name}' is Parquet, which its name does not say")
    assert refusal("zipped.jsonl").startswith(
        "'zipped.jsonl' is compressed with gzip, which its name does not"
    )
    assert refusal("plain.jsonl.gz").startswith("cannot read 'plain.jsonl.gz': zlib inflate failed")
    assert refusal("plain.csv.zst").startswith("cannot read 'plain.csv.zst': ")
    assert refusal("wide.csv").startswith("'wide.csv' is not UTF-8")
    assert refusal("latin.csv") == "'latin.csv' is not CSV: its first line is not UTF-8 text"
    for name in ("document.json", "array.json"):
        assert refusal(name) == f"'{name}' is one JSON document (accepted: JSON Lines, one object a line)"


def test_what_may_not_be_read_is_told(here, monkeypatch):
    put("secret.jsonl", "folder/a.jsonl")

    def refuse(*arguments, **options):
        raise PermissionError(errno.EACCES, "Permission denied")

    # The superuser, as whom tests may run, is refused nothing.
    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(Path, "iterdir", refuse)
    assert refusal("secret.jsonl") == "cannot read 'secret.jsonl': Permission denied"
    assert refusal("folder") == "cannot read 'folder': Permission denied"


def planned(foreign=None, *paths):
    return plan_parts(find_inputs(paths or ["."]), foreign or Foreign())


def column_refusal(foreign=None, *paths):
    with pytest.raises(InvalidInput) as caught:
        planned(foreign, *paths)
    line = str(caught.value)
    assert "\n" not in line
    return line


def test_missing_columns_are_all_named_with_the_nearest_that_are_there(here):
    put("x.csv", content="grp,kind,member,source,seq,time\n")
    assert column_refusal() == (
        "no columns 'group' (nearest: 'grp'), 'time_us' (nearest: 'time') in 'x.csv' (has: grp, kind, member,"
        " source, seq, time); use --map group=grp --map time_us=time, or --set for one value in all rows"
    )
    given = Foreign(constants={"group": "g"}, columns={"time_us": "tim", "bytes": "size"})
    assert column_refusal(given) == (
        "no columns 'tim' for 'time_us' (nearest: 'time'), 'size' for 'bytes' in 'x.csv' (has: grp, kind,"
        " member, source, seq, time); use --map time_us=time --map bytes=NAME, or --set for one value in all"
        " rows"
    )
    assert planned(Foreign(columns={"group": "grp", "time_us": "time"}))[0].columns["group"].place == ("c0",)
    put("x.csv", content=HEADER.replace("bytes", "seq"))
    assert column_refusal() == "'x.csv' has 2 columns named 'seq'"


def test_the_file_that_differs_is_named(here):
    whole = {name: pa.array([1]) for name in HEADER.strip().split(",")}
    for name in "abc":
        pq.write_table(pa.table(whole), f"{name}.parquet")
    pq.write_table(pa.table({k: v for k, v in whole.items() if k != "seq"}), "b.parquet")
    assert column_refusal().startswith(
        "no column 'seq' in 'b.parquet' (has: group, kind, member, source, time_us"
    )
    pq.write_table(pa.table(whole | {"seq": pa.array([1], pa.int16()), "more": pa.array([[1]])}), "b.parquet")
    parts = [(part.paths, part.columns["seq"].type) for part in planned()]
    assert [(len(paths), kind) for paths, kind in parts] == [(2, "bigint"), (1, "int")]
    assert parts[1][0] == (f"file://{here}/b.parquet",)


@pytest.mark.parametrize(
    ("column", "values", "line"),
    [
        (
            "seq",
            pa.array([True]),
            "is boolean, which cannot be 'seq' (accepted: whole numbers, or text of them)",
        ),
        ("seq", pa.array([[1]]), "is list, which cannot be 'seq'"),
        ("bytes", pa.array([{"n": 1}]), "is struct, which cannot be 'bytes'"),
        ("seq", pa.array([1], pa.timestamp("us")), "is timestamp, which cannot be 'seq'"),
        ("seq", pa.array([1], pa.date32()), "is date, which cannot be 'seq'"),
        ("seq", pa.array([1], pa.decimal256(40, 0)), "is decimal(40,0), which cannot be 'seq'"),
        ("seq", pa.array([b"1234"], pa.binary(4)), "is fixed_len_byte_array, which cannot be 'seq'"),
        (
            "time_us",
            pa.array([1], pa.date32()),
            "is date, which cannot be 'time_us' (accepted: numbers, timestamps",
        ),
        ("time_us", pa.array([1], pa.time64("us")), "is time, which cannot be 'time_us'"),
        ("member", pa.array([True]), "is boolean, which cannot be 'member' (accepted: text or numbers)"),
        (
            "group",
            pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
            "is map, which cannot be 'group'",
        ),
    ],
)
def test_columns_of_parquet_that_can_never_fit_are_refused(here, column, values, line):
    whole = {name: pa.array([1]) for name in HEADER.strip().split(",")}
    pq.write_table(pa.table(whole | {column: values}), "x.parquet")
    assert column_refusal().startswith(f"column '{column}' of 'x.parquet' {line}")


def test_numbers_are_no_timestamps(here):
    pq.write_table(pa.table({name: pa.array([1]) for name in HEADER.strip().split(",")}), "x.parquet")
    assert column_refusal(Foreign(time_unit="timestamp")) == (
        "column 'time_us' of 'x.parquet' is bigint, not timestamps (accepted: --time-unit ns, us, ms, s)"
    )


def test_a_column_and_what_is_inside_of_it_cannot_both_be_taken(here):
    put("x.jsonl")
    foreign = Foreign(columns={"member": "who", "source": "who.name"})
    assert column_refusal(foreign) == "--map cannot take both 'who' and 'who.name', which is inside of it"


@pytest.mark.parametrize(
    ("column", "present", "near"),
    [
        ("time_us", ["ts", "x"], "ts"),
        ("time_us", ["Time_US"], "Time_US"),
        ("seq", ["offset", "x"], "offset"),
        ("source", ["producer_id", "x"], "producer_id"),
        ("member", ["meta.membr"], "meta.membr"),
        ("group", ["x", "y"], None),
        ("group", [], None),
    ],
)
def test_the_nearest_column(column, present, near):
    assert nearest(column, present) == near


def test_pairs_of_options():
    assert parse_pairs(["time_us=ts", " seq = a=b "], "--map") == {"time_us": "ts", "seq": "a=b"}
    assert parse_pairs(["group=orders", "seq=3"], "--set") == {"group": "orders", "seq": "3"}
    assert parse_pairs(["a=b=send", "x=-"], "--kind") == {"a=b": "send", "x": "-"}
    assert parse_pairs([], "--map") == {}
    assert Foreign(kinds={"a": "-", "b": "send", "c": "-"}).skipped == ("a", "c")


@pytest.mark.parametrize(
    ("option", "words", "line"),
    [
        ("--map", ["ts"], "--map 'ts' is not accepted (accepted: COLUMN=NAME, such as time_us=ts)"),
        ("--map", ["=ts"], "--map '=ts' is not accepted"),
        ("--map", ["seq="], "--map 'seq=' is not accepted"),
        (
            "--map",
            ["tme_us=ts"],
            "unknown column of the schema in --map 'tme_us'; did you mean 'time_us'? (accepted: ",
        ),
        ("--map", ["seq=a", "seq=b"], "--map says both 'seq=a' and 'seq=b' (accepted: one of them)"),
        ("--set", ["x=1"], "unknown column of the schema in --set 'x'"),
        ("--set", ["seq=1.5"], "--set seq=1.5: '1.5' is not a whole number"),
        ("--set", ["bytes=-1"], "--set bytes=-1 is not accepted (accepted: from 0 to 2147483647)"),
        ("--set", ["kind=sent"], "unknown kind 'sent'; did you mean 'send'? (accepted: "),
        ("--kind", ["send"], "--kind 'send' is not accepted (accepted: VALUE=KIND, such as produce=send)"),
        ("--kind", ["x=recieve"], "unknown kind 'recieve'; did you mean 'receive'? (accepted: -, fail, "),
    ],
)
def test_wrong_pairs_are_told_in_one_line(option, words, line):
    with pytest.raises(InvalidInput) as caught:
        parse_pairs(words, option)
    assert str(caught.value).startswith(line)


def test_other_wrong_options_are_told_in_one_line():
    with pytest.raises(
        InvalidInput, match=r"column 'seq' has both --map and --set \(accepted: one of them\)"
    ):
        Foreign(columns={"seq": "a"}, constants={"seq": "1"})
    with pytest.raises(InvalidInput, match="unknown time unit 'µs'"):
        Foreign(time_unit="µs")
    for wrong in (-1, "first", "1"):
        with pytest.raises(InvalidInput, match=r"\(accepted: a whole number from 0, or 'earliest'\)"):
            check_first_seq(wrong)
    for right in (0, 1, 10, "earliest"):
        check_first_seq(right)
