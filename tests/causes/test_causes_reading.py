"""One run from files: Parquet, JSON lines, folders of logs, traces of messages alone, logs from elsewhere."""

import json
from dataclasses import fields

import numpy as np
import pyarrow.parquet as pq
import pytest
from causes_runs import random_rows, run_from, table_of

from stablecast.analysis.options import Options
from stablecast.analysis.reading.foreign import Foreign
from stablecast.causes import critical_path, life, read, recompute, slowest
from stablecast.errors import InvalidInput
from stablecast.trace.schema import COLUMNS, KINDS


def write_lines(file, rows, *, only=None):
    names = only or table_of([]).column_names
    lines = [json.dumps({name: {"group": "g", **row}.get(name) for name in names}) for row in rows]
    file.write_text("".join(line + "\n" for line in lines))


def assert_same(one, other):
    assert (one.group, one.members, one.messages) == (other.group, other.members, other.messages)
    for column in fields(one.rows):
        left, right = getattr(one.rows, column.name), getattr(other.rows, column.name)
        assert np.array_equal(left, right), column.name


def test_parquet_json_lines_and_a_folder_of_logs_are_the_same_run(tmp_path):
    rows = random_rows(4)
    wanted = run_from(rows)
    pq.write_table(table_of(rows), tmp_path / "run.parquet")
    write_lines(tmp_path / "run.jsonl", rows)
    folder = tmp_path / "logs"
    folder.mkdir()
    for name in {row["member"] for row in rows}:
        write_lines(folder / f"log-of-{name}.jsonl", [row for row in rows if row["member"] == name])
    for path in (tmp_path / "run.parquet", tmp_path / "run.jsonl", folder):
        assert_same(read([path]), wanted)


def test_a_line_that_its_killed_writer_did_not_finish_is_left_out(tmp_path):
    rows = random_rows(4)
    write_lines(tmp_path / "run.jsonl", rows)
    with (tmp_path / "run.jsonl").open("a") as file:
        file.write('{"group":"g","kind":"tran')
    assert_same(read([tmp_path / "run.jsonl"]), run_from(rows))


def test_a_trace_of_messages_alone_is_read(tmp_path):
    rows = [row for row in random_rows(4) if row["kind"] in KINDS]
    write_lines(tmp_path / "run.jsonl", rows, only=COLUMNS)
    run = read([tmp_path / "run.jsonl"])
    assert not run.has_wire
    slow = slowest(run, 1)[0]
    path = critical_path(run, slow.source, slow.seq)
    assert sum(segment.length_us for segment in path.segments) == path.length_us > 0
    assert np.array_equal(recompute(run.graph, {}), run.graph.time_us)


def test_a_log_from_elsewhere_is_read_by_its_own_names(tmp_path):
    lines = ["event,node,from,offset,ms", "w,a,a,1,10", "r,b,a,1,30", "r,c,a,1,20"]
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    foreign = Foreign(
        columns={"kind": "event", "member": "node", "source": "from", "seq": "offset", "time_us": "ms"},
        constants={"group": "orders"},
        kinds={"w": "send", "r": "receive"},
        time_unit="ms",
    )
    run = read([tmp_path / "log.csv"], options=Options(foreign=foreign))
    told = life(run, "a", 1)
    assert (run.group, told.stable_us, told.last_member) == ("orders", 30_000, "b")
    assert [segment.text for segment in told.way] == ["DATA from a to b"]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('{"group":"g","kind":"sing","member":"a","time_us":1}\n', "a row of kind 'sing'"),
        ('{"group":"g","kind":"head","member":"a","source":"a","seq":1,"time_us":1}\n', "positions"),
        ('{"group":"g","kind":"send","member":"a","time_us":1}\n', "no source or no seq"),
        ('{"group":"g","kind":"send","member":"a","time_us":"x"}\n', "not in the event schema"),
        ('{"group":"g","kind":"send","member":null,"time_us":1}\n', "no 'member'"),
        ("", "is empty"),
        ("not a trace\n", "."),
    ],
)
def test_a_file_that_is_no_trace_is_refused_in_one_line(tmp_path, content, line):
    (tmp_path / "run.jsonl").write_text(content)
    with pytest.raises(InvalidInput, match=line) as refused:
        read([tmp_path / "run.jsonl"])
    assert "\n" not in str(refused.value)


def test_no_file_is_said_in_one_line(tmp_path):
    with pytest.raises(InvalidInput, match="does not exist"):
        read([tmp_path / "none.parquet"])
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and nothing more PAR1")
    with pytest.raises(InvalidInput) as refused:
        read([tmp_path / "bad.parquet"])
    assert "\n" not in str(refused.value)


def test_of_several_groups_one_is_chosen(tmp_path):
    rows = random_rows(4)
    write_lines(tmp_path / "run.jsonl", [row | {"group": "g"} for row in rows] + [rows[0] | {"group": "h"}])
    with pytest.raises(InvalidInput, match="tells of 2 groups: 'g', 'h'"):
        read([tmp_path / "run.jsonl"])
    with pytest.raises(InvalidInput, match="no group 'z'"):
        read([tmp_path / "run.jsonl"], group="z")
    assert_same(read([tmp_path / "run.jsonl"], group="g"), run_from(rows))


def test_a_name_of_any_sort_is_kept(tmp_path):
    rows = [{"kind": "send", "member": "</script>", "source": "</script>", "seq": 1, "time_us": 1, "step": 1}]
    write_lines(tmp_path / "run.jsonl", rows)
    assert read([tmp_path / "run.jsonl"]).members == ("</script>",)


def test_addresses_that_only_transmitted_stand_behind_the_members(tmp_path):
    rows = [
        {"kind": "arrive", "member": "b", "peer": "127.0.0.1:9", "number": 1, "time_us": 5, "step": 1},
        {"kind": "send", "member": "b", "source": "b", "seq": 1, "time_us": 6, "step": 2},
        {"kind": "receive", "member": "b", "source": "c", "seq": 1, "time_us": 6, "step": 2},
    ]
    write_lines(tmp_path / "run.jsonl", rows)
    run = read([tmp_path / "run.jsonl"])
    assert (run.members, run.told) == (("b", "c", "127.0.0.1:9"), 2)
    assert run.remarks == ("The transmissions of 1 arrival are not in the trace: chains end there.",)
