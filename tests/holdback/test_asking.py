"""Asking several systems: none keeps the others waiting."""

import threading
import time
from dataclasses import replace

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
