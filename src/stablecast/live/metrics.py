"""Metrics: Prometheus text and JSON status of a member, over HTTP, on request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from stablecast.engine.stats import TIME_BOUNDS_S, Stats

if TYPE_CHECKING:
    from stablecast.live.group import Group

REQUEST_BYTES = 8192
REQUEST_S = 5.0


class GroupCollector:
    """Turns a member's stats into metrics whenever they are asked for."""

    def __init__(self, group: Group) -> None:
        self._group = group

    def collect(self) -> Iterator[Metric]:
        """Yield every metric."""
        stats, times = self._group.stats(), self._group._engine.own.times
        is_bimodal = self._group._engine.options.bimodal is not None
        names = ["group", "member"]
        values = [stats.group, stats.me]
        for name, text, value in (
            ("unstable_messages", "Messages that are not known to be everywhere", stats.unstable_messages),
            ("unstable_bytes", "Bytes that are kept for them", stats.unstable_bytes),
            ("oldest_unstable_seconds", "Age of the oldest unstable message", stats.oldest_unstable_s),
            ("members", "Members of the present view", len(stats.members)),
            ("view_epoch", "Number of the present view", stats.view_epoch),
            ("waiting_deliveries", "Deliveries that the application has not taken", stats.waiting),
            ("step_seconds", "Time between two steps of the stability protocol", stats.step_s),
            ("window_bytes", "Bytes that this member may have unstable", stats.window_bytes),
            ("control_bytes_per_data_byte", "Control bytes sent for each byte of data", _ratio(stats)),
            *(_gauges_of_bimodal(stats) if is_bimodal else ()),
        ):
            gauge = GaugeMetricFamily(f"stablecast_{name}", text, labels=names)
            gauge.add_metric(values, value)
            yield gauge
        for name, text, value in (
            ("sent_messages", "Own messages", stats.sent),
            ("stable_messages", "Own messages known to be everywhere", stats.stable),
            ("delivered_messages", "Messages handed to the application", stats.delivered),
            ("repairs_asked", "Requests for missing messages", stats.repairs_asked),
            ("repairs_sent", "Runs of messages sent again", stats.repairs_sent),
            ("data_bytes", "Bytes of data sent, one copy each", stats.data_bytes),
            ("control_bytes", "Bytes of everything else sent, one copy each", stats.control_bytes),
            ("views", "Views so far", stats.views),
            *(_counters_of_bimodal(stats) if is_bimodal else ()),
        ):
            counter = CounterMetricFamily(f"stablecast_{name}", text, labels=names)
            counter.add_metric(values, value)
            yield counter
        held = GaugeMetricFamily(
            "stablecast_oldest_held_by", "1 for members that hold the oldest one back", labels=[*names, "by"]
        )
        for label in stats.held_by:
            held.add_metric([*values, label], 1)
        yield held
        refused = CounterMetricFamily(
            "stablecast_refused_datagrams", "Datagrams refused", labels=[*names, "reason"]
        )
        for reason, count in stats.refused.items():
            refused.add_metric([*values, reason], count)
        yield refused
        histogram = HistogramMetricFamily(
            "stablecast_time_to_stable_seconds", "From sending until known to be everywhere", labels=names
        )
        total, buckets = 0, []
        for bound, count in zip([*map(str, TIME_BOUNDS_S), "+Inf"], times.counts, strict=True):
            total += count
            buckets.append((bound, total))
        histogram.add_metric(values, buckets, times.sum)
        yield histogram


def _gauges_of_bimodal(stats: Stats) -> tuple[tuple[str, str, float], ...]:
    return (
        ("p_fail", "Share of messages that may come to some members only, by theory", stats.p_fail),
        ("lost_share", "Share of others' messages that were given up here", stats.lost_share),
        ("loss", "Share of first multicasts that did not come here", stats.loss),
    )


def _counters_of_bimodal(stats: Stats) -> tuple[tuple[str, str, int], ...]:
    return (
        ("lost_messages", "Messages of others that were given up", stats.lost_messages),
        ("multicasts_again", "Runs multicast again, as many lacked them", stats.multicasts_again),
    )


def _ratio(stats: Stats) -> float:
    return stats.control_bytes / stats.data_bytes if stats.data_bytes else 0.0


async def serve(group: Group, host: str, port: int) -> Callable[[], None]:
    """Serve ``/metrics`` and ``/status``; returns what closes the server."""
    registry = CollectorRegistry()
    registry.register(GroupCollector(group))
    open_writers: dict[asyncio.StreamWriter, asyncio.Task[None] | None] = {}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_writers[writer] = asyncio.current_task()
        try:
            async with asyncio.timeout(REQUEST_S):
                line = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n", 1)[0]
            writer.write(_respond(line, group, registry))
            await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            open_writers.pop(writer, None)
            writer.close()

    server = await asyncio.start_server(answer, host, port, limit=REQUEST_BYTES)
    group.metrics_address = server.sockets[0].getsockname()[:2]

    def close() -> None:
        server.close()
        for writer, task in list(open_writers.items()):
            writer.transport.abort()
            if task is not None:
                task.cancel()

    return close


def _respond(line: bytes, group: Group, registry: CollectorRegistry) -> bytes:
    words = line.split()
    path = words[1] if len(words) >= 2 and words[0] == b"GET" else b""
    if path == b"/metrics":
        return _http("200 OK", "text/plain; version=0.0.4; charset=utf-8", generate_latest(registry))
    if path in (b"/status", b"/"):
        body = json.dumps(group.stats().to_dict(), indent=1).encode() + b"\n"
        return _http("200 OK", "application/json", body)
    return _http("404 Not Found", "text/plain", b"there are /metrics and /status\n")


def _http(status: str, kind: str, body: bytes) -> bytes:
    head = (
        f"HTTP/1.1 {status}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        "Connection: close",
    )
    return "\r\n".join((*head, "", "")).encode() + body
