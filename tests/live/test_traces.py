"""Traces that cannot be written: the group goes on, and tells it once."""

import errno
import logging

import pytest
from live_groups import Reader, Watcher, joined, play

import stablecast
from stablecast.engine.results import TraceFailed
from stablecast.testing import Network
from stablecast.trace import log as logging_of_events
from stablecast.trace.log import EventLog

ROOM = 20_000


class SmallDisk:
    """Has room for some bytes, and writes part of what goes beyond it first, as disks do."""

    def __init__(self, real):
        self._real = real
        self.room = ROOM

    def __call__(self, file, data):
        if self.room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = self._real(file, data[: self.room])
        self.room -= written
        return written


@pytest.fixture
def small_disk(monkeypatch):
    disk = SmallDisk(logging_of_events.os.write)
    monkeypatch.setattr(logging_of_events.os, "write", disk)
    return disk


def test_a_group_goes_on_when_its_trace_cannot_be_written_any_more(tmp_path, small_disk, caplog):
    async def scenario():
        each = {"a": {"trace": EventLog(tmp_path / "a.jsonl")}}
        async with joined(Network(seed=1), "a", "b", each=each) as (a, b):
            events, reader = Watcher(a), Reader(b)
            Reader(a)
            receipts = [await a.send(b"x") for _ in range(1_000)]
            assert isinstance(await receipts[-1].stable(timeout=5.0), stablecast.Stable)
            await reader.has(1_000)
            assert [delivery.seq for delivery in reader.found] == list(range(1, 1_001))
            [event] = events.of(TraceFailed)
            assert event.reason == a.trace_error
            assert (
                a.trace_error == f"cannot write the trace '{tmp_path / 'a.jsonl'}': No space left on device"
            )
            assert b.trace_error == ""

    with caplog.at_level(logging.ERROR, "stablecast"):
        play(scenario)
    [record] = caplog.records
    assert record.message.startswith("orders/a: no trace any more: cannot write the trace")


def test_a_trace_that_could_not_be_written_to_its_end_ends_with_a_whole_line(tmp_path, small_disk):
    log = EventLog(tmp_path / "a.jsonl")

    def write():
        for seq in range(1, 1_000):
            log.send("orders", "a", seq, seq, 1)
            log.flush()

    with pytest.raises(logging_of_events.CannotTrace):
        write()
    log.close()
    text = (tmp_path / "a.jsonl").read_text()
    assert ROOM - 200 < len(text) <= ROOM
    assert text.endswith("}\n")


def test_a_disk_that_is_full_from_the_start_keeps_nobody_from_joining(tmp_path, small_disk):
    small_disk.room = 0

    async def scenario():
        async with joined(Network(seed=1), "a", trace=EventLog(tmp_path / "a.jsonl")) as (a,):
            assert "No space left" in a.trace_error

    play(scenario)
