"""Metrics: bounded labels, and a dead reader's series stays."""

import urllib.error
import urllib.request
from dataclasses import replace

import pytest
from logs import log_of, snapshot_of
from prometheus_client.parser import text_string_to_metric_families

from stablecast.errors import BindFailed, InvalidInput
from stablecast.holdback.metrics import (
    _OF_LOG,
    _OF_READER,
    _OF_SERVER,
    HoldbackCollector,
    MetricsServer,
    parse_place,
)

NOW_US = 10**15


def get(server, path="/metrics"):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=5) as answer:
        return answer.read().decode()


def samples(text):
    found = {}
    for family in text_string_to_metric_families(text):
        for one in family.samples:
            labels = tuple(value for name, value in sorted(one.labels.items()) if name != "group")
            found[one.name.removeprefix("stablecast_holdback_"), *labels] = one.value
    return found


@pytest.fixture
def serving():
    collector = HoldbackCollector(most=5)
    with MetricsServer(("127.0.0.1", 0), collector) as server:
        server.collector = collector
        yield server


def test_every_metric_is_there(serving):
    log = log_of(100, {"archive": 20, "billing": 100})
    late = replace(log.readers[0], behind_since_us=NOW_US - 60_000_000, connected=False)
    serving.collector.show([snapshot_of(replace(log, readers=(late, log.readers[1])))], 300.0)
    found = samples(get(serving))
    assert {name for name, *_ in found} == {*_OF_SERVER, *_OF_LOG, *_OF_READER, "left_out"} - {"full_seconds"}
    assert found["held_bytes", "s"] == 800
    assert found["held_seconds", "s"] == 60
    assert found["reader_held_items", "archive", "s"] == 80
    assert (found["reader_blocks", "archive", "s"], found["reader_gone", "archive", "s"]) == (1, 1)
    assert (found["reader_blocks", "billing", "s"], found["reader_behind_seconds", "billing", "s"]) == (0, 0)


def test_a_system_that_does_not_answer_keeps_its_series(serving):
    serving.collector.show([snapshot_of(log_of(100, {"archive": 20}))], 300.0)
    before = samples(get(serving))
    serving.collector.show([], 300.0)
    after = samples(get(serving))
    assert (before.pop(("up", "test://here")), after.pop(("up", "test://here"))) == (1, 0)
    assert after == before


def test_two_addresses_of_one_server_are_shown_apart_and_no_series_twice(serving):
    one = replace(snapshot_of(log_of(100, {"archive": 20})), asked="test://here/0")
    two = replace(snapshot_of(log_of(100, {"archive": 20})), asked="test://here?stream=s")
    serving.collector.show([one, two], 300.0, ["test://here/0", "test://here?stream=s", "test://there"])
    text = get(serving)
    found = samples(text)
    assert [found["up", name] for name in ("test://here/0", "test://here?stream=s", "test://there")] == [
        1,
        1,
        0,
    ]
    lines = [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(lines) == len(set(lines))


def test_control_characters_of_names_are_written_out(serving):
    serving.collector.show([snapshot_of(log_of(100, {"a\x1b[2J\nb": 20}))], 300.0)
    found = samples(get(serving))
    assert found["reader_blocks", "a\\x1b[2J\\nb", "s"] == 1


def test_a_reader_that_was_removed_has_no_series(serving):
    serving.collector.show([snapshot_of(log_of(100, {"archive": 20, "billing": 30}))], 300.0)
    serving.collector.show([snapshot_of(log_of(100, {"billing": 30}))], 300.0)
    assert {labels[0] for name, *labels in samples(get(serving)) if name == "reader_blocks"} == {"billing"}


def test_series_are_bounded_and_the_largest_stay(serving):
    logs = [replace(log_of(100, {"a": k, "b": 100}), source=f"s{k:02}") for k in range(20)]
    serving.collector.show([snapshot_of(*logs)], 300.0)
    found = samples(get(serving))
    assert sorted(labels[1] for name, *labels in found if name == "reader_blocks") == [
        f"s{k:02}" for k in range(5)
    ]
    assert (found["left_out", "logs"], found["left_out", "readers"]) == (15, 35)


def test_any_other_path_is_not_found(serving):
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(serving, "/status")


def test_an_address_that_is_in_use_is_one_line(serving):
    with pytest.raises(BindFailed, match="in use"):
        MetricsServer(("127.0.0.1", serving.port), HoldbackCollector())


@pytest.mark.parametrize("text", ["9187", ":9187", "here:", "here:http", "here:70000"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(InvalidInput, match="HOST:PORT"):
        parse_place(text)
