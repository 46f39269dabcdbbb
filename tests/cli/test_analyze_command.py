"""Commands that read events: what they cannot accept is told in one line, and nothing is written."""

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stablecast.analysis.output import locked
from stablecast.cli.main import main
from stablecast.cli.watch import _stop_on_signals
from stablecast.pipeline import session
from stablecast.pipeline.session import QUICK_JAVA, java_options

GOOD = {"group": "g", "kind": "receive", "member": "b", "source": "a", "seq": 1, "time_us": 5, "bytes": 7}
DEADLINE_S = 120


def lines(*changes):
    return "".join(json.dumps(GOOD | change) + "\n" for change in changes)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with good events in ``in``, files that are not, and outputs that are not free."""
    monkeypatch.chdir(tmp_path)
    for folder in ("in", "empty", "other", "analysed/messages", "watched/.watch"):
        Path(folder).mkdir(parents=True)
    Path("in/a.jsonl").write_text(lines({}))
    Path("file.txt").write_text("x")
    Path("zero.jsonl").touch()
    Path("other/x").touch()
    Path("analysed/summary.json").write_text("{}")
    Path("odd.csv").write_text("grp,kind,member,source,seq,time\n")
    pq.write_table(pa.table({name: [value] for name, value in GOOD.items()}), "good.parquet")
    Path("cut.parquet").write_bytes(Path("good.parquet").read_bytes()[:-6])
    pq.write_table(
        pa.table({name: [value] for name, value in (GOOD | {"seq": True}).items()}), "bool.parquet"
    )
    Path("no.jsonl.gz").write_bytes(b"not compressed")
    return tmp_path


def everything(folder):
    return sorted(str(path) for path in folder.rglob("*"))


def complaint(capfd, *arguments):
    """Return the one line about arguments that are not accepted."""
    assert main(list(arguments)) == 2
    printed = capfd.readouterr()
    assert printed.out == ""
    told = [line for line in printed.err.splitlines() if not line.startswith("# ")]
    assert len(told) == 1, printed.err
    return told[0].removeprefix("stablecast: ")


WRONG_ANALYZE = {
    "": "Missing argument 'EVENTS...'",
    "in": "Missing option '--out'",
    "gone --out out": "'gone' does not exist (accepted: files, folders and patterns)",
    "in gone*.csv --out out": "nothing matches 'gone*.csv'",
    "empty --out out": "no events in 'empty': nothing there is named *.parquet",
    "zero.jsonl --out out": "no events: 'zero.jsonl' is empty",
    "file.txt --out out": "cannot tell the format of 'file.txt' by its name",
    "file.txt --format xml --out out": "unknown format 'xml' (accepted: csv, json, parquet)",
    "cut.parquet --out out": "'cut.parquet' is not Parquet, or is cut short",
    "no.jsonl.gz --out out": "cannot read 'no.jsonl.gz'",
    "odd.csv --out out": "no columns 'group' (nearest: 'grp'), 'time_us' (nearest: 'time') in 'odd.csv'",
    "bool.parquet --out out": "column 'seq' of 'bool.parquet' is boolean, which cannot be 'seq'",
    "in --map seq --out out": "--map 'seq' is not accepted (accepted: COLUMN=NAME",
    "in --map sequence=x --out out": "unknown column of the schema in --map 'sequence'",
    "in --set seq=x --out out": "--set seq=x: 'x' is not a whole number",
    "in --kind commit=recieve --out out": "unknown kind 'recieve'; did you mean 'receive'?",
    "in --time-unit m --out out": "unknown time unit 'm'",
    "in --first-seq -1 --out out": "--first-seq '-1' is not accepted (accepted: a whole number from 0",
    "in --on-bad-rows skip --out out": "unknown way with bad rows 'skip' (accepted: count, fail)",
    "in --conf x --out out": "--conf 'x' is not accepted (accepted: key=value)",
    "in --master here --out out": "master 'here' is not accepted",
    "in --out file.txt": "the output 'file.txt' is a file (accepted: a new or empty folder)",
    "in --out other": "the output folder 'other' holds something else",
    "in --out other --force": "the output folder 'other' holds something else",
    "in --out watched --force": "the output folder 'watched' holds something else",
    "in --out analysed": "the output folder 'analysed' holds an analysis (accepted: a new or empty",
    "in --engine local --out lake://a/b": "'lake://a/b' is an address, which only Spark can write to",
}
WRONG_WATCH = {
    "": "Missing argument 'DIR'",
    "in": "Missing option '--out'",
    "gone --out out": "the folder 'gone' does not exist (accepted: a folder that files arrive in)",
    "file.txt --out out": "the folder 'file.txt' does not exist",
    "in --out file.txt": "the output 'file.txt' is a file",
    "in --out other": "the output folder 'other' holds something else",
    "in --out analysed": "the output folder 'analysed' holds something else",
    "in --out in/out": "the output 'in/out' is inside the folder that is watched",
    "lake://a/in --out lake://a/in/out": "the output 'lake://a/in/out' is inside the folder that is watched",
    "in --out lake://a/b --follow": "'lake://a/b' is an address, where files cannot be read while they grow",
    "in --out out --max-files 0": "Invalid value for '--max-files'",
    "in --out out --every-s -1": "--every-s -1.0 is not accepted (accepted: seconds from 0)",
    "in --out out --delay-s nan": "--delay-s nan is not accepted",
    "in --out out --linger-s inf": "--linger-s inf is not accepted",
    "in --out out --first-seq last": "--first-seq 'last' is not accepted",
    "in --out out --on-bad-rows skip": "unknown way with bad rows 'skip'",
    "in --out out --time-unit m": "unknown time unit 'm'",
    "in --out out --set colour=red": "unknown column of the schema in --set 'colour'",
    "in --out out --master here": "master 'here' is not accepted",
}


@pytest.mark.parametrize(
    ("command", "arguments", "told"),
    [
        (command, *case)
        for command, cases in (("analyze", WRONG_ANALYZE), ("watch", WRONG_WATCH))
        for case in cases.items()
    ],
)
def test_what_is_not_accepted_is_told_in_one_line_before_spark_starts(
    here, capfd, monkeypatch, command, arguments, told
):
    def refuse(**settings):
        raise AssertionError("Spark was started")

    monkeypatch.setattr(session, "spark_session", refuse)
    before = everything(here)
    assert complaint(capfd, command, *arguments.split()).startswith(told)
    assert everything(here) == before


def cut_gzip(file):
    """Write a file of events whose end is missing; its beginning is whole."""
    rng = random.Random(1)
    text = lines(*({"seq": rng.randrange(1, 10**9), "time_us": rng.randrange(10**9)} for _ in range(9000)))
    file.write_bytes(gzip.compress(text.encode())[:-1000])


def test_what_only_spark_sees_is_told_in_one_line_as_well(here, spark, capfd):
    cut_gzip(here / "cut.jsonl.gz")
    Path("header.csv").write_text(",".join(GOOD) + "\n")
    bad = [{"seq": "x"}, {"seq": "x"}, {"member": None}, {"time_us": None}, {}]
    Path("bad.jsonl").write_text(lines(*bad))
    shown = json.dumps({name: str(value) for name, value in (GOOD | bad[0]).items()}, separators=(",", ":"))
    before = everything(here)
    assert complaint(capfd, "analyze", "bad.jsonl", "--out", "out") == (
        "4 rows are bad: 2 × seq is not a whole number, 1 × no member, 1 × no time_us;"
        f" for example in 'bad.jsonl': {shown} (--on-bad-rows count leaves them out)"
    )
    assert complaint(capfd, "analyze", "header.csv", "--out", "out") == "no events: the files hold no rows"
    assert complaint(capfd, "analyze", "cut.jsonl.gz", "--out", "out") == (
        "cannot read 'cut.jsonl.gz': Truncated compressed stream (it is damaged or cut short)"
    )
    with locked(here / ".out.lock", here / "out"):
        told = complaint(capfd, "analyze", "in", "--out", "out")
    assert told == (
        f"the output folder '{here}/out' is in use by another run (wait for it, or take another folder)"
    )
    assert everything(here) == sorted([*before, f"{here}/.out.lock"])


class Process:
    """A command in a process group of its own, and what it says."""

    def __init__(self, *arguments):
        quick = ["--conf", f"spark.driver.extraJavaOptions={java_options(QUICK_JAVA)}"]
        quick += ["--conf", "spark.buffer.pageSize=1m"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "stablecast.cli.main", *map(str, arguments), *quick],
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.told = []
        self.thread = threading.Thread(target=self._listen)
        self.thread.start()

    def _listen(self):
        for line in self.process.stderr:
            self.told.append(line.rstrip("\n"))

    def await_line(self, text):
        """Wait until it has said something."""
        await_true(lambda: any(text in line for line in self.told) or self.process.poll() is not None)
        assert self.process.poll() is None, self.told

    def end(self):
        """Return its exit code and what it said, once it and its Java are gone."""
        code = self.process.wait(DEADLINE_S)
        self.thread.join()
        await_true(lambda: not self._is_group_there())
        return code, [line for line in self.told if not line.startswith("# ")]

    def _is_group_there(self):
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self._is_group_there():
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.thread.join()


def await_true(condition):
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end
        signal.sigtimedwait([], 0.02)


def test_an_interruption_leaves_neither_files_nor_spark_behind(tmp_path):
    (tmp_path / "a.jsonl").write_text(lines({"kind": "send"}, {}, {"kind": "release", "time_us": 9}))
    with Process("analyze", tmp_path / "a.jsonl", "--out", tmp_path / "out") as command:
        command.await_line("reading and judging")
        command.process.send_signal(signal.SIGINT)
        assert command.end() == (130, ["stablecast: interrupted"])
    assert everything(tmp_path) == [str(tmp_path / "a.jsonl")]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_watch_is_told_to_stop_by_signals(number):
    before = signal.getsignal(number)
    with _stop_on_signals() as stopped:
        assert not stopped.is_set()
        os.kill(os.getpid(), number)
        await_true(stopped.is_set)
    assert signal.getsignal(number) is before
