"""``stablecast node`` in real processes: lines in, deliveries and stability out, kills and bad input."""

import resource
import signal
import socket
import subprocess
import sys

import pytest
from node_process import PATIENCE_S, NodeProcess
from wire_traces import rows_of

from stablecast.cli.main import main
from stablecast.engine.keys import new_key_text
from stablecast.trace.schema import COLUMNS, WIRE_COLUMNS
from stablecast.trace.verdict import judge_files


def address_of(node):
    return node.expect("joined")["address"]


def test_three_nodes_share_lines_and_go_on_when_one_is_killed():
    with NodeProcess("--group", "g", "--member", "a") as a:
        seed = address_of(a)
        with (
            NodeProcess("--group", "g", "--member", "b", "--seed", seed) as b,
            NodeProcess("--group", "g", "--member", "c", "--seed", seed) as c,
        ):
            for node in (b, c):
                address_of(node)
            b.type("hello from b")
            for node in (a, b, c):
                assert node.expect("delivery", source="b", seq=1)["text"] == "hello from b"
            assert set(b.expect("stable", seq=1)["members"]) == {"a", "b", "c"}
            c.signal(signal.SIGKILL)
            b.type("and on")
            assert a.expect("delivery", source="b", seq=2)["text"] == "and on"
            told = b.expect("stable", seq=2)
            assert (set(told["members"]), told["gone"]) == ({"a", "b"}, ["c"])
            a.expect("member_failed", member="c")


def test_the_end_of_input_drains_and_leaves():
    with NodeProcess("--group", "g", "--member", "a") as a:
        joined = a.expect("joined")
        assert joined["join"] == f"stablecast node --group g --seed {joined['address']}"
        a.type("one")
        a.type("two")
        a.end_input()
        a.expect("stable", seq=2)
        a.expect("left", member="a")
        assert a.exit_code() == 0


def test_options_of_the_protocol_are_part_of_how_others_join():
    options = ["--protocol", "s_coordp", "--set", "tree_degree=2"]
    with NodeProcess("--group", "g", "--member", "a", *options) as a:
        joined = a.expect("joined")
        assert "--protocol s_coordp --set tree_degree=2 --seed" in joined["join"]
        with NodeProcess("--group", "g", "--seed", joined["address"], *options) as b:
            b.expect("joined")
        with NodeProcess("--group", "g", "--seed", joined["address"], *options[:2]) as c:
            assert c.exit_code() == 2
            told = c.process.stderr.read()
    assert told.count("\n") == 1
    assert "protocol 's_coordp' with tree_degree=2, not with its default options" in told


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_cleanly_and_others_are_told(number):
    with (
        NodeProcess("--group", "g", "--member", "a") as a,
        NodeProcess("--group", "g", "--member", "b", "--seed", address_of(a)) as b,
    ):
        b.expect("joined")
        a.expect("view_changed", members=["a", "b"])
        b.signal(number)
        b.expect("left")
        assert b.exit_code() == 0
        assert a.expect("view_changed", members=["a"])["left"] == ["b"]


def test_input_from_a_file_is_multicast_and_the_last_line_needs_no_end(tmp_path):
    (tmp_path / "lines").write_bytes(b"first\n\xff\xfe\nlast")
    with (tmp_path / "lines").open("rb") as lines, NodeProcess("--group", "g", stdin=lines) as a:
        assert a.expect("delivery", seq=1)["text"] == "first"
        assert a.expect("delivery", seq=2)["base64"] == "//4="
        assert a.expect("delivery", seq=3)["text"] == "last"
        a.expect("left")
        assert a.exit_code() == 0


def test_with_stay_a_node_without_input_stays_until_a_signal():
    with NodeProcess("--group", "g", "--member", "a", "--stay", stdin=subprocess.DEVNULL) as a:
        with NodeProcess("--group", "g", "--member", "b", "--seed", address_of(a)) as b:
            b.type("x")
            a.expect("delivery", source="b")
        a.signal()
        assert a.exit_code() == 0


@pytest.mark.parametrize("more", [(), ("--wire",)])
def test_a_trace_in_the_event_schema_is_written(tmp_path, more):
    trace = tmp_path / "a.jsonl"
    with NodeProcess("--group", "g", "--member", "a", "--trace", str(trace), *more) as a:
        a.type("x")
        a.end_input()
        assert a.exit_code() == 0
    verdict = judge_files([trace])
    assert verdict.ok
    assert verdict.messages == 1
    columns = {tuple(row) for row in rows_of(trace)}
    assert columns == {COLUMNS + WIRE_COLUMNS if more else COLUMNS}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_trace_on_a_full_disk_is_told_once_and_the_node_goes_on(tmp_path, number):
    trace = tmp_path / "a.jsonl"
    with NodeProcess("--group", "g", "--member", "a", "--trace", str(trace)) as a:
        a.expect("joined")
        resource.prlimit(a.process.pid, resource.RLIMIT_FSIZE, (10_000, 10_000))
        for number_of_line in range(500):
            a.type(f"line {number_of_line}")
        a.expect("trace_failed")
        assert a.expect("stable", seq=500)["members"] == ["a"]
        assert sum(line["event"] == "delivery" for line in a.seen) == 500
        a.signal(number)
        a.expect("left")
        assert a.exit_code() == 1
        told = a.process.stderr.read()
    assert told == f"stablecast: cannot write the trace '{trace}': File too large; going on without a trace\n"
    assert trace.read_text().endswith("}\n")


def test_a_key_is_shared_by_file_or_variable_and_a_wrong_one_is_told(tmp_path):
    key = new_key_text()
    file = tmp_path / "group.key"
    file.write_text(key)
    file.chmod(0o600)
    with NodeProcess("--group", "g", "--member", "a", "--key-file", str(file)) as a:
        joined = a.expect("joined")
        assert f"--key-file {file}" in joined["join"]
        seed = joined["address"]
        with NodeProcess("--group", "g", "--seed", seed, env={"STABLECAST_KEY": key}) as b:
            b.expect("joined")
        with NodeProcess("--group", "g", "--seed", seed, env={"STABLECAST_KEY": new_key_text()}) as c:
            assert c.exit_code() == 2
            told = c.process.stderr.read()
    assert told.count("\n") == 1
    assert "another key" in told


def test_people_get_plain_lines():
    command = [sys.executable, "-m", "stablecast.cli.main", "node", "--group", "g", "--member", "a"]
    done = subprocess.run(command, input="one\x1b[2J\n", capture_output=True, text=True, timeout=PATIENCE_S)
    first, *rest = done.stdout.splitlines()
    assert first.startswith("a is in group g at 127.0.0.1:")
    assert "others join with: stablecast node --group g --seed 127.0.0.1:" in first
    assert "a/1: one\\x1b[2J" in rest
    assert any(line.startswith("stable: a/1 at a after") for line in rest)
    assert rest[-1] == "a has left group g"
    assert (done.returncode, done.stderr) == (0, "")


def test_a_reader_that_goes_away_ends_the_node_quietly():
    command = [sys.executable, "-m", "stablecast.cli.main", "node", "--group", "g", "--member", "a"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as node:
        node.stdout.readline()
        node.stdout.close()
        node.stdin.write("x\n")
        node.stdin.flush()
        assert node.wait(PATIENCE_S) == 0
        assert node.stderr.read() == ""


def test_a_line_that_is_too_long_is_refused(tmp_path):
    (tmp_path / "lines").write_bytes(b"short\n" + b"x" * (1 << 20) + b"y\n")
    with (tmp_path / "lines").open("rb") as lines, NodeProcess("--group", "g", stdin=lines) as a:
        assert a.exit_code() == 2
        assert "line 2 of standard input is too long" in a.process.stderr.read()


BAD = {
    "an unknown value of bimodal delivery": (
        ["--delivery", "bimodal:los=0.1"],
        "'los=0.1' is not accepted in bimodal delivery",
    ),
    "a protocol that delivers": (["--protocol", "bimodal"], "live groups cannot run it"),
    "an option of the group": (["--set", "resend-ms=1"], "it follows the group's pace"),
    "an unknown option of the protocol": (["--set", "x=1"], "unknown option of s_coord 'x'"),
    "an address without a port": (["--bind", "here"], "not HOST:PORT"),
    "a name with a space": (["--member", "a b"], "member name 'a b'"),
    "another address without a key": (["--bind", "0.0.0.0:0"], "needs a key"),
    "an address of another machine": (
        ["--bind", "192.0.2.1:7000", "--insecure"],
        "cannot bind 192.0.2.1:7000",
    ),
    "nobody at the seed": (["--seed", "127.0.0.1:9"], "127.0.0.1:9"),
    "a key file that is not there": (["--key-file", "/no/such"], "'/no/such' cannot be read"),
    "an unknown protocol": (["--protocol", "gsgx"], "did you mean 'gsgc'"),
    "a trace that cannot be written": (["--trace", "/no/such/trace"], "cannot write the trace"),
    "datagrams of no trace": (["--wire"], "--wire is about a trace, and none is kept"),
    "metrics on no address": (["--metrics", "here"], "not HOST:PORT"),
    "an unknown option": (["--colour"], "No such option"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_exit_code_2(case, capsys, monkeypatch):
    monkeypatch.delenv("STABLECAST_KEY", raising=False)
    arguments, why = BAD[case]
    assert main(["node", "--group", "g", *arguments]) == 2
    err = capsys.readouterr().err
    assert why in err
    assert err.count("\n") == 1


def test_a_port_in_use_is_one_line_and_exit_code_2(capsys):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        assert main(["node", "--group", "g", "--bind", f"127.0.0.1:{port}"]) == 2
    assert "it is in use" in capsys.readouterr().err


def test_a_group_is_needed(capsys):
    assert main(["node"]) == 2
    assert "--group" in capsys.readouterr().err


def test_a_key_is_printed_that_groups_take(capsys):
    assert main(["key"]) == 0
    first = capsys.readouterr().out
    assert main(["key"]) == 0
    assert first != capsys.readouterr().out
    assert len(bytes.fromhex(first.strip())) == 32
