"""Real servers for tests: on loopback, at free ports, with folders of their own.

Each start waits for what the server says when it is ready.  Where a server is not installed the tests that
need it fail in CI; elsewhere they are skipped, and the end of the run says so.

A server ends with the process of tests that started it, however that ends.  Beside each runs a shell that
reads from a pipe, of which only the process of tests has the other end: the system closes that end when the
process is gone, also when it was killed and ran no code any more, and the shell then kills the server.
"""

import contextlib
import itertools
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

STOP_S = 10


# Below the ports that the system gives to clients, and others for each process of tests: nobody else takes a
# port between the look and the start of the server.
PORTS = itertools.count(20_000 + os.getpid() % 60 * 200)


def free_port():
    for port in PORTS:
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
    raise AssertionError("there is always another port")


def program(name, package, *places):
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *places]))
    if found is None:
        reason = f"NO SERVER: {name} is not installed (Debian: apt-get install {package})"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    return found


@contextlib.contextmanager
def ended_with_us(find_pid, *words):
    """End a server if this process ends before the block does; ``find_pid`` is shell that prints its pid."""
    script = f"read -r _; kill -QUIT $({find_pid}) 2>/dev/null"
    # A session of its own: an interrupt from the keyboard would end the shell before it has been of use.
    guard = subprocess.Popen(
        ["sh", "-c", script, "guard", *words], stdin=subprocess.PIPE, start_new_session=True
    )
    try:
        yield
    finally:
        guard.kill()
        guard.wait()
        guard.stdin.close()


@contextlib.contextmanager
def running(command, ready, **more):
    """Run a server until the end of the block; it is ready when it says so."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **more
    )
    try:
        said = []
        for line in process.stdout:
            said.append(line)
            if ready in line:
                break
        else:
            raise AssertionError(f"{command[0]} did not start: {''.join(said[-5:])}")
        drain = subprocess.Popen(["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL)
        with ended_with_us('echo "$1"', str(process.pid)):
            yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        with contextlib.suppress(UnboundLocalError):
            drain.wait(STOP_S)


@contextlib.contextmanager
def redis_server(folder, *options):
    folder.mkdir(exist_ok=True)
    port = free_port()
    command = [program("redis-server", "redis-server"), "--port", str(port), "--bind", "127.0.0.1"]
    with running([*command, "--save", "", "--dir", str(folder), *options], "Ready to accept") as process:
        process.port = port
        process.url = f"redis://127.0.0.1:{port}"
        yield process


@contextlib.contextmanager
def nats_server(folder, *options):
    port = free_port()
    binary = program("nats-server", "nats-server", str(Path(sys.executable).parent))
    command = [binary, "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(folder)]
    with running([*command, *options], "Server is ready") as process:
        process.port = port
        process.url = f"nats://127.0.0.1:{port}"
        yield process


class Postgres:
    """A server of PostgreSQL, run as its own user where tests are run as root."""

    def __init__(self, folder):
        self.folder, self.port = Path(folder), free_port()
        places = sorted(str(one) for one in Path("/usr/lib/postgresql").glob("*/bin"))
        self.places = places[::-1]
        self.user = "postgres" if os.geteuid() == 0 else None
        self.url = f"postgres://postgres:secret@127.0.0.1:{self.port}/postgres"

    def run(self, name, *words):
        command = [program(name, "postgresql", *self.places), *words]
        done = subprocess.run(command, user=self.user, cwd="/", capture_output=True, text=True)
        assert done.returncode == 0, f"{name}: {done.stdout[-500:]}{done.stderr[-500:]}"

    def start(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.user:
            shutil.chown(self.folder, self.user)
            self.folder.parent.chmod(0o755)  # a temporary folder is closed to others
        word = self.folder / "word"
        word.write_text("secret\n")
        word.chmod(0o644)
        options = "--auth=scram-sha-256", "--username=postgres", f"--pwfile={word}", "--no-sync"
        self.run("initdb", "-D", str(self.folder / "data"), *options)
        with (self.folder / "data" / "postgresql.conf").open("a") as file:
            file.write(
                f"port={self.port}\nlisten_addresses='127.0.0.1'\nunix_socket_directories=''\nfsync=off\n"
                "wal_level=logical\nmax_replication_slots=20\nmax_wal_senders=10\nshared_buffers=16MB\n"
                "max_slot_wal_keep_size=200MB\nautovacuum=off\n"
            )
        self.again()

    def again(self):
        log = str(self.folder / "log")
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-l", log, "-w", "start")

    def stop(self, how="fast"):
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-m", how, "-w", "stop")


@contextlib.contextmanager
def postgres_server(folder):
    server = Postgres(folder)
    with ended_with_us('head -n 1 "$1/data/postmaster.pid"', str(server.folder)):
        server.start()
        try:
            yield server
        finally:
            with contextlib.suppress(AssertionError):
                server.stop("immediate")


class KafkaMock:
    """The mock cluster of librdkafka, which ends with its producer."""

    def __init__(self):
        from confluent_kafka import Producer

        self.producer = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none", "log_level": 0})
        (broker,) = self.producer.list_topics(timeout=5).brokers.values()
        self.port = broker.port
        self.where = f"{broker.host}:{broker.port}"
        self.url = f"kafka://{self.where}"


@contextlib.contextmanager
def kafka_mock(_folder=None):
    mock = KafkaMock()  # it ends when nothing refers to it
    yield mock
    mock.producer.flush(1)
