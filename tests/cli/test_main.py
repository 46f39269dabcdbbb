"""The command line itself: no command, and outputs that nobody reads or that have no room."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stablecast.cli.main import main

LIMITED = """
import resource
from stablecast.cli.main import run
resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))
run()
"""


def start(*arguments, out, code="from stablecast.cli.main import run; run()", **variables):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(
        command, env=environment | variables, stdout=out, stderr=subprocess.PIPE, text=True, check=False
    )


def test_without_a_command_the_help_is_shown_and_nothing_is_complained_of(capsys):
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert "simulate" in out
    assert err == ""


@pytest.mark.parametrize("arguments", [["protocols", "--json"], ["--help"], ["--version"], []])
@pytest.mark.parametrize("variables", [{}, {"PYTHONUNBUFFERED": "1"}])
def test_an_output_without_room_is_told_in_one_line(arguments, variables):
    with Path("/dev/full").open("wb") as full:
        done = start(*arguments, out=full, **variables)
    (line,) = done.stderr.splitlines()
    assert line.startswith("stablecast: cannot write")
    assert line.endswith("No space left on device")
    assert done.returncode == 1


@pytest.mark.parametrize("arguments", [["protocols", "--json"], ["simulate", "s_coordp", "--json"]])
def test_a_command_that_is_done_when_its_reader_has_gone_ends_without_a_word(arguments):
    assert to_nobody(*arguments) == (0, "")


@pytest.mark.parametrize("arguments", [["protocols"], ["--help"], []])
def test_a_command_whose_reader_goes_before_it_is_done_ends_without_a_word(arguments):
    assert to_nobody(*arguments, PYTHONUNBUFFERED="1") == (1, "")


def to_nobody(*arguments, **variables):
    read, write = os.pipe()
    os.close(read)
    done = start(*arguments, out=write, **variables)
    os.close(write)
    return done.returncode, done.stderr


def test_a_trace_without_room_is_told_in_one_line_and_leaves_no_part(tmp_path):
    file = tmp_path / "events.parquet"
    shape = ["simulate", "s_coordp", "--degree", "3", "--height", "3", "--messages", "200"]
    done = start(*shape, "--trace", str(file), out=subprocess.DEVNULL, code=LIMITED)
    assert done.stderr == f"stablecast: cannot write the trace '{file}': File too large\n"
    assert done.returncode == 1
    assert list(tmp_path.iterdir()) == []
