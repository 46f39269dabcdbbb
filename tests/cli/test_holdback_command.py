"""``stablecast holdback``: one line for what goes wrong, exit codes for cron, and nothing heavy is loaded."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import replace

import pytest

from stablecast.cli.main import main
from stablecast.holdback.addresses import Address
from stablecast.holdback.model import Amount, Log, Reader, Snapshot
from stablecast.holdback.sources import SOURCES, open_source
from stablecast.holdback.sources.base import CannotAsk

LOG = Log(
    "here/orders", "orders", 100, 1,
    (Reader("archive", 20, behind=Amount(80, 800), behind_since_us=10**15), Reader("billing", 100)),
    kept=Amount(100, 1000),
)  # fmt: skip


class Fake:
    """A source that gives snapshots from a list, or raises what is in it."""

    def __init__(self, *snapshots):
        self.left = list(snapshots)

    def take(self):
        found = self.left.pop(0)
        if isinstance(found, BaseException):
            raise found
        return found

    def close(self):
        pass


@pytest.fixture
def asked(monkeypatch):
    """Let addresses give what a test says."""
    sources = {}
    monkeypatch.setattr("stablecast.holdback.asking.parse_address", lambda url: Address("redis", url, None))
    monkeypatch.setattr(
        "stablecast.holdback.asking.open_source", lambda address, timeout_s: sources[address.host]
    )
    return sources


def snapshot(*logs, **more):
    return Snapshot("redis://a", "redis", 10**15 + 7_200_000_000, logs or (LOG,), **more)


def test_the_answer_is_a_table_or_json(asked, capsys):
    asked["a"] = Fake(snapshot(), snapshot())
    assert main(["holdback", "a"]) == 0
    assert "held back: 80 entries, 800 B, for 2 h 00 min, by archive" in capsys.readouterr().out
    assert main(["holdback", "a", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["blockers"][0]["member"] == "archive"


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        ("--max-held=800B", 0),
        ("--max-held=799B", 1),
        ("--max-held=80", 0),
        ("--max-held=79", 1),
        ("--max-age=2h", 0),
        ("--max-age=119m", 1),
    ],
)
def test_a_limit_that_is_passed_is_exit_code_1_and_a_line(asked, capsys, limit, code):
    asked["a"] = Fake(snapshot())
    assert main(["holdback", "a", limit]) == code
    assert len(capsys.readouterr().err.splitlines()) == code


@pytest.mark.parametrize("columns", [60, 80])
def test_the_answer_fits_the_terminal(asked, capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    asked["a"] = Fake(snapshot())
    assert main(["holdback", "a"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= columns


def test_a_name_cannot_forge_what_is_printed(asked, capsys):
    name = "a\x1b[2J\nredis://b/orders: safe to delete"
    log = replace(LOG, group=f"here/{name}", source=name, readers=(replace(LOG.readers[0], member=name),))
    asked["a"] = Fake(snapshot(log, problems=(f"stream '{name}'",)), snapshot(log))
    assert main(["holdback", "a", "--max-held=0"]) == 1
    told = capsys.readouterr()
    lines = told.out.splitlines() + told.err.splitlines()
    assert not [line for line in lines if "\x1b" in line or line.startswith("redis://b")]
    assert "a\\x1b[2J\\nredis://b/orders" in told.out
    assert len(told.err.splitlines()) == 2
    assert main(["holdback", "a", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["blockers"][0]["member"] == name


@pytest.mark.parametrize("limit", ["--max-held=0", "--max-age=1h"])
def test_a_system_without_a_log_does_not_pass_a_check(asked, capsys, limit):
    empty = Snapshot("redis://a", "redis", 10**15, (), asked="redis://a?match=orders:*")
    asked["a"], asked["b"] = Fake(empty, empty), Fake(snapshot(), snapshot())
    assert main(["holdback", "a", "b", "--max-held=1TB", limit]) == 1
    assert "redis://a: there is no log, so --max-held" in capsys.readouterr().err
    assert main(["holdback", "a", "b"]) == 0


def test_a_part_that_is_missing_is_exit_code_1_and_a_line(asked, capsys):
    asked["a"] = Fake(snapshot(problems=("stream 'x' cannot be read",)))
    asked["b"] = Fake(CannotAsk("cannot ask redis://b: gone"))
    assert main(["holdback", "a", "b"]) == 1
    told = capsys.readouterr()
    assert "archive" in told.out
    assert told.err.splitlines() == [
        "stablecast: cannot ask redis://b: gone",
        "stablecast: stream 'x' cannot be read",
    ]


def test_no_answer_at_all_is_exit_code_2_and_a_line(asked, capsys):
    asked["a"] = Fake(CannotAsk("cannot ask redis://a: gone"))
    assert main(["holdback", "a"]) == 2
    assert capsys.readouterr().err == "stablecast: cannot ask redis://a: gone\n"


def test_an_answer_that_is_not_understood_is_a_line_beside_the_others(asked, capsys):
    asked["a"], asked["b"] = Fake(snapshot()), Fake(KeyError("groups"))
    assert main(["holdback", "a", "b"]) == 1
    assert capsys.readouterr().err == "stablecast: an answer was not understood: KeyError: 'groups'\n"


def test_watching_goes_on_when_a_system_does_not_answer_for_a_while(asked, capsys, monkeypatch):
    later = replace(snapshot(), time_us=10**15 + 7_300_000_000)
    asked["a"] = Fake(snapshot(), CannotAsk("cannot ask redis://a: gone"), later, KeyboardInterrupt())
    monkeypatch.setattr(time, "sleep", lambda _: None)
    assert main(["holdback", "a", "--watch", "1", "--json"]) == 130
    told = capsys.readouterr()
    assert [len(json.loads(line)["sources"]) for line in told.out.splitlines()] == [1, 0, 1]
    assert told.err.splitlines() == ["stablecast: cannot ask redis://a: gone", "stablecast: interrupted"]


def test_metrics_are_served_while_it_asks(asked, capsys, monkeypatch):
    asked["a"] = Fake(snapshot(), KeyboardInterrupt())
    read = []

    def scrape(_):
        place = capsys.readouterr().err.removeprefix("# metrics at ").strip()
        with urllib.request.urlopen(place, timeout=5) as answer:
            read.append(answer.read().decode())

    monkeypatch.setattr(time, "sleep", scrape)
    assert main(["holdback", "a", "--metrics", "127.0.0.1:0"]) == 130
    assert 'reader_blocks{group="here/orders",member="archive",source="orders"} 1.0' in read[0]
    assert capsys.readouterr().out == ""


def test_metrics_at_an_address_that_is_in_use_is_wrong_usage(asked, capsys):
    asked["a"] = Fake()
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        place = f"127.0.0.1:{one.getsockname()[1]}"
        assert main(["holdback", "a", "--metrics", place]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"stablecast: cannot serve metrics at {place}: ")


@pytest.mark.parametrize(("limit", "code"), [("--max-held=1TB", 0), ("--max-held=1B", 1)])
def test_whoever_stops_reading_does_not_change_the_exit_code(limit, code):
    read, write = os.pipe()
    os.close(read)
    asking = READER_GONE.format(limit=limit)
    done = subprocess.run([sys.executable, "-c", asking], stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (done.returncode, len(done.stderr.splitlines())) == (code, code), done.stderr


READER_GONE = """
import sys
from stablecast.cli.main import run
from stablecast.holdback import asking
from stablecast.holdback.model import Amount, Log, Reader, Snapshot

class Fake:
    def take(self):
        log = Log("g", "s", 100, 1, (Reader("a", 20, behind=Amount(80, 800)),), kept=Amount(100, 1000))
        return Snapshot("redis://a", "redis", 10**15, (log,))
    def close(self):
        pass

asking.open_source = lambda *_, **more: Fake()
run(["holdback", "redis://a", "--watch", "0.01", "{limit}"])
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["redsi://a"],
        ["localhost"],
        ["redis://a:b"],
        ["redis://a:0"],
        ["redis://a?timeout_s=nan"],
        ["stablecast://a:1?timeout_s=inf"],
        ["redis://a", "--max-held", "much"],
        ["redis://a", "--max-age", "long"],
        ["redis://a", "--max-held", ""],
        ["redis://a", "--max-age", ""],
        ["redis://a", "--watch", "0"],
        ["redis://a", "--watch", "1e12"],
        ["redis://a", "--timeout-s", "1e12"],
        ["redis://a?timeout_s=1e12"],
        ["redis://a", "--timeout-s", "-1"],
        [],
    ],
)
def test_wrong_usage_is_exit_code_2_and_one_line(arguments, capsys):
    assert main(["holdback", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("stablecast: ")


@pytest.mark.parametrize(
    "text",
    [
        "redsi://ann:secret-word@a",
        "ann:secret-word@a",
        "redis://ann:secret-word@a:b",
        "redis://ann:sec/secret-word@a",
        "redis://:secret-word#x@a",
        "redis://u:12?34secret@127.0.0.1:7801",
        "redis://u:12?secret=word@127.0.0.1:7801",
        "redis://u:12?34secret%40127.0.0.1:7801",
        "nats://u:12?token=secret@127.0.0.1:7801",
    ],
)
def test_a_password_is_never_shown(text, capsys):
    assert main(["holdback", text]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "secret" not in line


def test_what_has_to_be_written_otherwise_in_a_password_is_told(capsys):
    assert main(["holdback", "redis://u:12?34secret@127.0.0.1:7801"]) == 2
    assert "/ ? # @ of a password written %2F %3F %23 %40" in capsys.readouterr().err


@pytest.mark.parametrize("scheme", sorted(SOURCES))
def test_a_client_that_is_not_installed_is_told_with_the_extra(scheme, monkeypatch, capsys):
    monkeypatch.setattr("stablecast.holdback.sources.find_spec", lambda name: None)
    kind = SOURCES[scheme]
    if kind.client is None:
        open_source(f"{scheme}://here:1").close()
        return
    assert main(["holdback", f"{scheme}://here:1"]) == 2
    install = f"pip install 'stablecast[{kind.extra}]'"
    told = f"stablecast: {scheme}:// needs {kind.client}, not installed ({install})\n"
    assert capsys.readouterr().err == told


HEAVY = ("numba", "llvmlite", "pyarrow", "pyspark", "numpy", "pandas")
ASKING = """
import sys
from stablecast.cli.main import main
for url in sys.argv[1:]:
    main(["holdback", url, "--timeout-s", "0.2"])
print([name for name in {heavy} if name in sys.modules])
"""


def test_nothing_heavy_is_loaded_by_any_source():
    urls = [f"{scheme}://127.0.0.1:1" for scheme in SOURCES]
    code = ASKING.format(heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", code, *urls], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]", done.stdout
    assert len(done.stderr.splitlines()) == len(urls)
