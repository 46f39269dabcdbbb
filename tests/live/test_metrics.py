import asyncio
import contextlib
import dataclasses
import json
import re
from pathlib import Path

import pytest
from live_groups import first_deliveries, joined, play
from prometheus_client.parser import text_string_to_metric_families

import stablecast
from stablecast.engine.stats import TIME_BOUNDS_S, Stats, TimeHistogram
from stablecast.errors import BindFailed
from stablecast.testing import Network

METRICS = {
    "control_bytes",
    "control_bytes_per_data_byte",
    "data_bytes",
    "delivered_messages",
    "members",
    "oldest_held_by",
    "oldest_unstable_seconds",
    "refused_datagrams",
    "repairs_asked",
    "repairs_sent",
    "sent_messages",
    "stable_messages",
    "step_seconds",
    "time_to_stable_seconds",
    "unstable_bytes",
    "unstable_messages",
    "view_epoch",
    "views",
    "waiting_deliveries",
    "window_bytes",
}

OF_BIMODAL = {"p_fail", "lost_messages", "lost_share", "loss", "multicasts_again"}


async def ask(address, request):
    """Return status line, headers and body of an answer."""
    reader, writer = await asyncio.open_connection(*address)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *headers = head.decode().split("\r\n")
    return status, dict(header.split(": ", 1) for header in headers), body


def get(address, path):
    return ask(address, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())


@contextlib.asynccontextmanager
async def pair():
    """Yield two members over real sockets, the first of which serves metrics."""
    async with (
        asyncio.timeout(20),
        stablecast.join("orders", member="a", metrics="127.0.0.1:0") as a,
        stablecast.join("orders", member="b", seeds=[a.address]) as b,
    ):
        receipts = [await a.send(b"x" * 100) for _ in range(50)]
        await receipts[-1].stable()
        await first_deliveries(b, 50)
        yield a, b


def test_the_endpoint_answers_in_the_text_format_of_prometheus():
    async def scenario():
        async with pair() as (a, _):
            status, headers, body = await get(a.metrics_address, "/metrics")
            assert status == "HTTP/1.1 200 OK"
            assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert int(headers["Content-Length"]) == len(body)
            return {family.name: family for family in text_string_to_metric_families(body.decode())}

    families = asyncio.run(scenario())
    assert {name.removeprefix("stablecast_") for name in families} == METRICS
    values = {sample.name: sample for family in families.values() for sample in family.samples}
    assert values["stablecast_sent_messages_total"].value == 50
    assert values["stablecast_stable_messages_total"].value == 50
    assert values["stablecast_members"].value == 2
    assert values["stablecast_members"].labels == {"group": "orders", "member": "a"}
    assert values["stablecast_time_to_stable_seconds_count"].value == 50
    assert values["stablecast_control_bytes_per_data_byte"].value > 0
    buckets = families["stablecast_time_to_stable_seconds"].samples
    counts = [sample.value for sample in buckets if sample.name.endswith("_bucket")]
    assert counts == sorted(counts)
    assert counts[-1] == 50
    reasons = {sample.labels["reason"] for sample in families["stablecast_refused_datagrams"].samples}
    assert {"replay", "authentication", "version", "untrusted", "malformed"} <= reasons


def test_p_fail_and_what_was_measured_beside_it_are_metrics_of_bimodal_delivery():
    async def scenario():
        async with (
            asyncio.timeout(20),
            stablecast.join("orders", member="a", delivery="bimodal", metrics="127.0.0.1:0") as a,
            stablecast.join("orders", member="b", delivery="bimodal", seeds=[a.address]) as b,
        ):
            receipts = [await b.send(bytes(100)) for _ in range(50)]
            outcome = await receipts[-1].stable()
            _, _, text = await get(a.metrics_address, "/metrics")
            _, _, status = await get(a.metrics_address, "/status")
            return outcome, text.decode(), json.loads(status)

    outcome, text, status = asyncio.run(scenario())
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert {name.removeprefix("stablecast_") for name in families} == METRICS | OF_BIMODAL
    values = {sample.name: sample.value for family in families.values() for sample in family.samples}
    assert 0 < values["stablecast_p_fail"] <= 0.001
    assert values["stablecast_p_fail"] == status["p_fail"] == outcome.p_fail
    assert values["stablecast_lost_messages_total"] == status["lost_messages"] == 0
    assert values["stablecast_lost_share"] == status["lost_share"] == 0
    assert status["loss"] is None  # too little has come to tell
    assert status["protocol"] == "bimodal"


def test_every_metric_and_every_field_of_the_status_is_on_its_page():
    page = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
    fields = [field.name for field in dataclasses.fields(Stats)]
    names = [f"stablecast_{name}" for name in METRICS | OF_BIMODAL]
    assert not [name for name in (*names, *fields) if not re.search(rf"`{name}(_total)?`", page)]


def test_the_status_is_json_that_says_the_same_as_stats():
    async def scenario():
        async with pair() as (a, _):
            for path in ("/status", "/"):
                status, headers, body = await get(a.metrics_address, path)
                assert status == "HTTP/1.1 200 OK"
                assert headers["Content-Type"] == "application/json"
                found = json.loads(body)
                assert found["me"] == "a"
                assert found["members"] == ["a", "b"]
                assert found["frontier"] == {"a": 50, "b": 0}
                assert found["unstable_messages"] == 0
                assert set(found) == set(a.stats().to_dict())

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("first_line", "status", "said"),
    [
        (b"GET /other HTTP/1.1", "404 Not Found", b"there are /metrics, /status, /group"),
        (b"POST /metrics HTTP/1.1", "405 Method Not Allowed", b"read only"),
        (b"GET /events?after=x HTTP/1.1", "400 Bad Request", b"/events?after=NUMBER"),
        (b"GET /events?after=-1 HTTP/1.1", "400 Bad Request", b"/events?after=NUMBER"),
        (b"GET /explain?source=a HTTP/1.1", "400 Bad Request", b"a number from 1"),
        (b"GET", "400 Bad Request", b""),
        (b"", "400 Bad Request", b""),
    ],
)
def test_other_requests_are_told_what_there_is(first_line, status, said):
    async def scenario():
        async with pair() as (a, _):
            request = first_line + b"\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            found, _, body = await ask(a.metrics_address, request)
            assert found.endswith(status)
            assert said in body

    asyncio.run(scenario())


def test_an_endless_request_is_cut_off_and_harms_nobody():
    async def scenario():
        async with pair() as (a, _):
            with contextlib.suppress(ConnectionError):
                status, _, _ = await ask(a.metrics_address, b"x" * 100_000)
                assert status.endswith("400 Bad Request")
            assert (await get(a.metrics_address, "/status"))[0] == "HTTP/1.1 200 OK"

    asyncio.run(scenario())


def test_a_port_for_metrics_that_is_in_use_is_a_clear_error():
    async def scenario():
        async with pair() as (a, _):
            host, port = a.metrics_address
            with pytest.raises(BindFailed, match=rf"cannot serve metrics on {host}:{port}: it is in use"):
                await stablecast.join("orders", metrics=f"{host}:{port}")

    asyncio.run(scenario())


def test_stats_tell_what_is_unstable_and_who_holds_it_back():
    async def scenario():
        network = Network(seed=1)
        async with joined(network, "a", "b", "c", fail_after=60.0) as (a, _, _):
            network.pause("c")
            for _ in range(10):
                await a.send(bytes(1_000))
            await asyncio.sleep(3.0)
            stats = a.stats()
            assert stats.unstable_messages == 10
            assert stats.unstable_bytes >= 10_000
            assert stats.peak_bytes >= stats.unstable_bytes
            assert stats.oldest_unstable_s == pytest.approx(3.0, abs=0.1)
            assert stats.held_by == ("c",)
            assert stats.state == "member"
            assert stats.time_to_stable_p50 != stats.time_to_stable_p50  # nothing is known yet
            assert stats.to_dict()["time_to_stable_p50"] is None
            network.resume("c")
            await (await a.send(b"x")).stable()
            assert a.stats().unstable_messages == 0
            assert a.stats().oldest_unstable_s == 0.0
            assert a.stats().held_by == ()
            assert a.stats().time_to_stable_p50 == pytest.approx(3.0, abs=0.2)

    play(scenario)


def test_times_are_counted_by_their_bound_and_recent_ones_give_percentiles():
    times = TimeHistogram()
    assert times.percentile(0.5) != times.percentile(0.5)
    for k in range(1, 101):
        times.observe(k / 1_000)
    times.observe(1_000.0, weight=2)
    assert times.count == sum(times.counts) == 102
    assert times.counts[TIME_BOUNDS_S.index(0.001)] == 1
    assert times.counts[-1] == 2
    assert times.percentile(0.5) == pytest.approx(0.051, abs=0.002)
    assert times.percentile(1.0) == 1_000.0
