"""``stablecast top`` and ``stablecast dashboard`` as commands: bad input, snapshots, lines, and their end."""

import contextlib
import json
import os
import pty
import select
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import pytest
from node_process import NodeProcess

from stablecast.cli import observing
from stablecast.cli.main import main
from stablecast.observe.rows import Tail
from stablecast.observe.traces import TracesPlace
from tests.holdback.servers import free_port

ROWS = (
    {"kind": "join", "member": "ann", "time_us": 1},
    {"kind": "join", "member": "bob", "time_us": 1},
    {"kind": "send", "member": "ann", "source": "ann", "seq": 1, "time_us": 2_000_000, "bytes": 10},
    {"kind": "send", "member": "bob", "source": "bob", "seq": 1, "time_us": 5_000_000, "bytes": 10},
)
COMMAND = [sys.executable, "-m", "stablecast.cli.main"]


@pytest.fixture
def traces(tmp_path):
    folder = tmp_path / "traces"
    folder.mkdir()
    write(folder / "ann.jsonl", ROWS)
    return folder


def write(file, rows):
    file.write_text("".join(json.dumps({"group": "orders", **row}) + "\n" for row in rows))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["top", "nowhere"], "'nowhere' is neither an address nor a folder (accepted: HOST:PORT"),
        (["top", "127.0.0.1:9", "--sort", "size"], "--sort 'size' is not accepted (accepted: state, lag"),
        (["top", "127.0.0.1:9", "--every", "0"], "--every 0 is not accepted"),
        (["top", "127.0.0.1:9", "--group", "orders"], "--group is for a folder of traces"),
        (["top", "127.0.0.1:9", "--token-file", "absent"], "cannot read the token file 'absent'"),
        (["top", "127.0.0.1:9"], "cannot ask 127.0.0.1:9: nobody listens there"),
        (["top", "127.0.0.1:9", "--once"], "cannot ask 127.0.0.1:9: nobody listens there"),
        (["dashboard", "127.0.0.1:9"], "cannot ask 127.0.0.1:9: nobody listens there"),
        (["dashboard", "127.0.0.1:9", "--every", "nan"], "--every nan is not accepted"),
        (["dashboard", "127.0.0.1:9", "--traces", "absent"], "--traces 'absent' is no folder"),
        (["dashboard", "127.0.0.1:9", "--bind", "8080"], "address '8080' is not HOST:PORT"),
        (["dashboard", "."], "there are no traces in '.'"),
    ],
    ids=" ".join,
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    assert said in line


def test_once_prints_how_a_group_is(traces, capsys):
    assert main(["top", str(traces), "--once"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "orders · 2 members · traces of before"
    assert "bob lacks ann/1 (10 B), for 3.0 s" in lines
    assert any(line.startswith("bob     behind") for line in lines)
    assert lines[-1].endswith("joined: bob")


def test_json_is_one_object_with_the_same(traces, capsys):
    assert main(["top", str(traces), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["group"], [one["name"] for one in told["members"]]) == ("orders", ["ann", "bob"])
    assert [one["text"] for one in told["notes"]] == ["joined: ann", "joined: bob"]
    assert told["holding"][0]["since_s"] == 3.0


def test_without_a_terminal_lines_say_what_happens_until_it_is_interrupted(traces):
    command = [*COMMAND, "top", str(traces), "--every", "0.05"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        first = {process.stdout.readline().split(" ", 1)[1] for _ in range(4)}
        assert {"bob: behind\n", "joined: ann\n", "joined: bob\n"} <= first
        with (traces / "ann.jsonl").open("a") as file:
            fail = {"group": "orders", "kind": "fail", "member": "bob", "time_us": 6_000_000}
            file.write(json.dumps(fail) + "\n")
        while "failed: bob" not in process.stdout.readline():
            pass
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.wait(20) == 130
        assert process.stderr.read() == "stablecast: interrupted\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_dashboard_serves_says_where_and_ends_at_a_signal(traces, number):
    command = [*COMMAND, "dashboard", str(traces), "--bind", "127.0.0.1:0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        url = json.loads(process.stdout.readline())["url"]
        with urllib.request.urlopen(url, timeout=20) as answer:
            assert b"stablecast dashboard" in answer.read()
        again = subprocess.run(
            [*COMMAND, "dashboard", str(traces), "--bind", url.split("/")[2]], capture_output=True, text=True
        )
        assert again.returncode == 2
        assert (
            again.stderr == f"stablecast: cannot serve the dashboard on {url.split('/')[2]}: it is in use\n"
        )
        process.send_signal(number)
        assert process.wait(20) == 0


def test_off_loopback_a_dashboard_draws_a_token_and_asks_for_it(traces):
    command = [*COMMAND, "dashboard", str(traces), "--bind", "0.0.0.0:0"]
    environment = {key: value for key, value in os.environ.items() if key != "STABLECAST_TOKEN"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        line = process.stdout.readline()
        assert line.startswith(f"dashboard of {traces}: http://0.0.0.0:")
        url = line.split()[3]
        port, token = url.split(":")[2].split("/?token=")
        assert len(token) >= 16
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=20)
        asked = urllib.request.Request(
            f"http://127.0.0.1:{port}/", headers={"Authorization": f"Bearer {token}"}
        )
        with urllib.request.urlopen(asked, timeout=20) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def test_on_a_terminal_it_is_a_screen_that_a_key_ends(traces):
    here, there = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}
    command = [*COMMAND, "top", str(traces)]
    with subprocess.Popen(command, stdin=there, stdout=there, stderr=there, env=environment) as process:
        os.close(there)
        shown = b""
        while b"bob lacks ann/1" not in shown:
            shown += read_within(here, 30)
        os.write(here, b"q")
        with contextlib.suppress(OSError):  # the terminal is gone with the process
            while read_within(here, 30):
                pass
        assert process.wait(20) == 0
    os.close(here)


def read_within(descriptor, seconds):
    ready, _, _ = select.select([descriptor], [], [], seconds)
    assert ready, "nothing comes"
    return os.read(descriptor, 65536)


def test_a_node_asks_for_the_token_of_a_file(tmp_path):
    token = "a-token-for-the-node"
    file = tmp_path / "token"
    file.write_text(token + "\n")
    metrics = f"127.0.0.1:{free_port()}"
    arguments = ["--group", "orders", "--member", "ann", "--stay", "--metrics", metrics]
    with NodeProcess(*arguments, "--metrics-token-file", str(file)) as node:
        node.expect("joined")
        asked = subprocess.run([*COMMAND, "top", metrics, "--once"], capture_output=True, text=True)
        assert asked.returncode == 2
        assert "this needs the token that was set here" in asked.stderr
        known = subprocess.run(
            [*COMMAND, "top", metrics, "--once", "--token-file", str(file)], capture_output=True, text=True
        )
        assert (known.returncode, known.stderr) == (0, "")
        assert known.stdout.startswith("orders · s_coord · 1 member · view 1 · seen by ann, member")


def test_a_long_first_look_says_how_far_it_is(traces, monkeypatch, capsys):
    slow = threading.Event()
    read = Tail.new_rows

    def slowly(tail):
        yield from read(tail)
        assert slow.wait(20)

    def say(place):
        slow.set()
        return "reading 'traces': 5 kB so far"

    monkeypatch.setattr(observing, "SAY_EVERY_S", 0.01)
    monkeypatch.setattr(Tail, "new_rows", slowly)
    monkeypatch.setattr(TracesPlace, "progress", say)
    assert main(["top", str(traces), "--once"]) == 0
    assert "# reading 'traces': 5 kB so far" in capsys.readouterr().err


def test_without_the_extra_one_line_says_what_to_install(traces, monkeypatch, capsys):
    from stablecast.cli import extras

    monkeypatch.setattr(extras, "_is_installed", lambda name: False)
    assert extras.line_of(ModuleNotFoundError(name="aiohttp")).endswith("(pip install 'stablecast[observe]')")
    assert extras.line_of(ModuleNotFoundError(name="textual.app")).endswith(
        "(pip install 'stablecast[observe]')"
    )
