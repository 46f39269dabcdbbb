"""Asking several systems: none keeps the others waiting."""

import contextlib
import os
import signal
import socketserver
import subprocess
import sys
import threading
import time
from dataclasses import replace

import psycopg
import pytest
from logs import log_of, snapshot_of

from stablecast.holdback import asking as module
from stablecast.holdback.addresses import parse_address
from stablecast.holdback.asking import Asking


class Fake:
    """A system that answers when it may."""

    def __init__(self, may_answer=True):
        self.may, self.asked = threading.Event(), 0
        if may_answer:
            self.may.set()

    def take(self):
        self.asked += 1
        self.may.wait()
        return snapshot_of(log_of(10, {"a": 3}))

    def close(self):
        pass


@pytest.fixture
def fakes(monkeypatch):
    """Systems by the host of their address."""
    found = {}
    monkeypatch.setattr(module, "open_source", lambda address, **_: found[address.host])
    yield found
    for one in found.values():
        one.may.set()


def test_a_system_that_is_stopped_does_not_stop_the_others(fakes):
    fakes |= {"good": Fake(), "stopped": Fake(may_answer=False)}
    with Asking(["redis://good", "redis://stopped"], timeout_s=0.1) as asking:
        begun = time.monotonic()
        for _ in range(3):
            snapshots, problems = asking.ask()
            assert [one.scope for one in snapshots] == ["redis://good"]
            assert problems == ["cannot ask redis://stopped: no answer within 0.3 s"]
        assert time.monotonic() - begun < 5
        assert (fakes["good"].asked, fakes["stopped"].asked) == (3, 1)
        fakes["stopped"].may.set()
        assert asking._systems[1].under_way.answered.wait(5)
        snapshots, problems = asking.ask()
        assert (len(snapshots), problems) == (2, [])


def test_who_wants_to_stop_waits_for_nobody(fakes):
    fakes["stopped"] = Fake(may_answer=False)
    with Asking(["redis://stopped"], timeout_s=600) as asking:
        assert asking.ask(lambda: True)[0] == []


def test_snapshots_are_of_what_was_asked_for(fakes):
    fakes["h"] = Fake()
    addresses = [
        "redis://u:secret@h/0",
        "redis://u:secret@h/1",
        "redis://u:other@h/1",
        "redis://h/1?stream=a",
    ]
    with Asking(addresses, timeout_s=1) as asking:
        scopes = ["redis://u@h/0", "redis://u@h/1", "redis://h/1?stream=a"]
        assert asking.scopes == [one.scope for one in asking.ask()[0]] == scopes


def test_no_secret_is_part_of_a_scope():
    assert parse_address("nats://u:secret@h/s?token=word&timeout_s=3").scope == "nats://u@h/s"


def test_rates_of_two_addresses_of_one_server_are_their_own(fakes):
    from stablecast.holdback.answer import answer_of

    def at(scope, time_us, sent):
        log = replace(log_of(sent, {"a": 3}), sent=replace(log_of(1, {}).kept, items=sent))
        return replace(snapshot_of(log), time_us=time_us, asked=scope)

    before = {one.scope: one for one in (at("t://h/0", 0, 10), at("t://h/1", 0, 500))}
    answer = answer_of([at("t://h/0", 10**6, 20), at("t://h/1", 10**6, 501)], before=before)
    assert sorted(row.rate.items_per_s for row in answer.rows) == [1, 10]


@pytest.fixture
def dribbling():
    """A server that takes a question, and answers with a byte now and then for ever."""
    ended = threading.Event()

    class Answering(socketserver.BaseRequestHandler):
        def handle(self):
            with contextlib.suppress(OSError):
                while not ended.wait(0.05):
                    self.request.sendall(b"H")

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Answering) as server:
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        yield f"stablecast://127.0.0.1:{server.server_address[1]}"
        ended.set()
        server.shutdown()


def test_a_server_that_sends_a_byte_now_and_then_is_a_line_at_last(dribbling, redis):
    with Asking([dribbling, redis.url], timeout_s=0.2) as asking:
        snapshots, problems = asking.ask()
    assert [one.scope for one in snapshots] == [redis.url]
    assert problems == [f"cannot ask {dribbling}: no answer within 0.6 s"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_collection_ends_at_a_signal_while_a_system_keeps_it_waiting(dribbling, redis, tmp_path, number):
    redis.xadd("s", {"a": 1})
    words = ["collect", dribbling, redis.url, "--out", str(tmp_path / "out"), "--timeout-s", "600"]
    process = subprocess.Popen([sys.executable, "-m", "stablecast.cli.main", *words])
    while not list((tmp_path / "out").glob(".journal-*.jsonl") if (tmp_path / "out").exists() else []):
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(0.5)
    process.send_signal(number)
    assert process.wait(20) == 0
    assert list((tmp_path / "out" / "positions").glob("*.parquet"))


@pytest.mark.xdist_group("postgres")
def test_a_backend_of_postgresql_that_is_stopped_keeps_nobody_waiting(postgres_process, redis):
    url = postgres_process.url
    with Asking([url, redis.url], timeout_s=0.3) as asking, psycopg.connect(url) as server:
        while len(asking.ask()[0]) < 2:
            pass
        ((pid,),) = server.execute("SELECT pid FROM pg_stat_activity WHERE application_name = 'stablecast'")
        os.kill(pid, signal.SIGSTOP)
        try:
            snapshots, (problem,) = asking.ask()
        finally:
            os.kill(pid, signal.SIGCONT)
        assert [one.scope for one in snapshots] == [redis.url]
        assert problem.endswith("no answer within 0.9 s")
        deadline = time.monotonic() + 30
        while len(asking.ask()[0]) < 2:
            assert time.monotonic() < deadline
