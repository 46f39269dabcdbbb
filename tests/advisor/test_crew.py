"""Processes that simulate end with the one that asked, however it ends, in the middle of their runs."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "crew_of_long_runs.py"
PATIENCE_S = 60.0


def is_there(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def cpu_s(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def until(holds):
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.02)


@pytest.fixture
def asker():
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    workers = [int(pid) for pid in process.stdout.readline().split()]
    # They are in the middle of a run: each has worked since it was forked.
    until(lambda: all(is_there(pid) and cpu_s(pid) > 0.2 for pid in workers))
    yield process, workers
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def test_they_end_when_the_one_that_asked_is_killed(asker):
    process, workers = asker
    assert len(workers) == 2
    process.kill()
    until(lambda: not any(map(is_there, workers)))


def test_they_end_with_the_crew_and_say_nothing_of_an_interrupt(asker):
    process, workers = asker
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_S)
    until(lambda: not any(map(is_there, workers)))
    assert (process.returncode, said) == (0, "")
