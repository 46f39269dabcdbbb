"""A group of JGroups on loopback: four Java processes, each a ``Member.java``, and what they measured."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from benchmarks.live.member import Load

JAR = Path("/usr/share/java/jgroups.jar")
"""Where Debian's ``libjgroups-java`` puts it."""
HERE = Path(__file__).parent
JOIN_S = 60
"""Seconds that four Java processes may take to find each other."""


def why_not(jar: Path) -> str:
    """Say what is missing to run JGroups; nothing if nothing is."""
    if not jar.exists():
        return f"there is no {jar} (accepted: --jar, or Debian's libjgroups-java)"
    missing = [tool for tool in ("java", "javac") if shutil.which(tool) is None]
    return f"there is no {missing[0]} (accepted: a JDK on the PATH)" if missing else ""


@contextmanager
def compiled(jar: Path) -> Iterator[Path]:
    """Compile the member, and yield the folder of its classes."""
    with tempfile.TemporaryDirectory() as folder:
        sources = [str(path) for path in sorted(HERE.glob("*.java"))]
        subprocess.run(["javac", "-cp", str(jar), "-d", folder, *sources], check=True)
        yield Path(folder)


def measure(load: Load, jar: Path, classes: Path) -> dict[str, Any]:
    """Start the processes, wait for what they counted, and put it together."""
    name, port = f"bench{os.getpid()}", random.randrange(40_000, 60_000)
    command = [
        "java",
        "-Djava.net.preferIPv4Stack=true",
        "-Djgroups.bind_addr=127.0.0.1",
        f"-Djgroups.udp.mcast_port={port}",
        "-cp",
        f"{jar}{os.pathsep}{classes}",
        "Member",
        *map(str, (name, load.members, load.size, load.rate, load.warm_s, load.measure_s)),
    ]
    processes = [_start(command) for _ in range(load.members)]
    try:
        patience = JOIN_S + load.warm_s + load.measure_s
        found = [_line(process, patience) for process in processes]
        for process in processes:
            _pipe(process.stdin).close()
        for process in processes:
            process.wait(10)
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
    return _together(found)


def _start(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


def _line(process: subprocess.Popen[str], patience: float) -> dict[str, Any]:
    """Return the line of JSON among what a process prints."""
    timer = threading.Timer(patience, process.kill)
    timer.start()
    try:
        for line in _pipe(process.stdout):
            if line.startswith("{"):
                found: dict[str, Any] = json.loads(line)
                return found
    finally:
        timer.cancel()
    raise SystemExit("a member of JGroups does not answer")


def _together(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Take the member that delivers least, and the one for which times are longest, as for a live group."""

    def longest(name: str) -> float | None:
        return max((f[name] for f in found if f[name] is not None), default=None)

    return {
        "delivered_per_s": round(min(f["delivered_per_s"] for f in found)),
        "sent_per_s": round(sum(f["sent_per_s"] for f in found)),
        "cpu": round(sum(f["cpu"] for f in found), 2),
        "stable_p50_ms": longest("stable_p50_ms"),
        "acks_p50_ms": longest("acks_p50_ms"),
        "views_whole": all(f["members"] == len(found) for f in found),
    }
