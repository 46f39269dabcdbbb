"""Servers of tests end with the process of tests, also if that is killed."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

DEADLINE_S = 30
STARTING = """
import sys
from pathlib import Path
import servers

kind, folder = sys.argv[1:]
with getattr(servers, kind)(Path(folder) / "server") as server:
    print(server.port, flush=True)
    sys.stdin.read()
"""


def answers(port):
    with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def await_silence(port):
    end = time.monotonic() + DEADLINE_S
    while answers(port):
        assert time.monotonic() < end, f"a server still answers at port {port} after {DEADLINE_S} s"
        signal.sigtimedwait([], 0.02)


@pytest.mark.parametrize("kind", ["redis_server", "nats_server", "postgres_server"])
def test_a_server_is_gone_soon_after_the_process_of_tests_was_killed(kind):
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    with tempfile.TemporaryDirectory(prefix="stablecast-server-", ignore_cleanup_errors=True) as folder:
        command = [sys.executable, "-c", STARTING, kind, folder]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(command, env=environment, text=True, **pipes) as process:
            port = int(process.stdout.readline())
            assert answers(port)
            process.kill()
        await_silence(port)
