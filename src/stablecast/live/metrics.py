"""What a member tells over HTTP, on request: metrics for Prometheus, its status, its group, and events.

| page | what it is |
|---|---|
| ``/metrics`` | the text format of Prometheus |
| ``/status`` | the numbers of this member, as JSON |
| ``/group`` | the group from this member's point of view (``engine/observed``), as JSON |
| ``/events?after=N&wait_s=S`` | notes after a number, at once or as soon as there is one |
| ``/explain?source=ann&seq=17`` | who lacks a message, and since when |

Who may read them is decided in ``access``.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import msgspec
from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from stablecast.engine import observed
from stablecast.engine.observe import observe
from stablecast.engine.results import MessageId
from stablecast.engine.stats import TIME_BOUNDS_S, Stats
from stablecast.live.access import Access
from stablecast.live.notes import Notes
from stablecast.live.transport import is_loopback
from stablecast.live.web import Server

if TYPE_CHECKING:
    from stablecast.live.group import Group

WAIT_S = 25.0
"""The longest that somebody waits for an event: proxies give up after 30 or 60 seconds."""
ALWAYS = ("/metrics", "/status", "/")
"""Pages that need a token only where one is set."""
PAGES = "/metrics, /status, /group, /events and /explain"


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


class Pages:
    """Answers requests about one member."""

    def __init__(self, group: Group, access: Access) -> None:
        self._group = group
        self._access = access
        self._registry = CollectorRegistry()
        self._registry.register(GroupCollector(group))
        self.notes = Notes(group._driver.now)

    async def answer(self, request: web.BaseRequest) -> web.Response:
        """Answer one request; a name of a page that there is not gets the names of those that there are."""
        if request.method not in ("GET", "HEAD"):
            return _line(405, f"everything here is read only: GET {PAGES}")
        if self._access.token is not None or request.path not in ALWAYS:
            refusal = self._access.refusal(request.headers)
            if refusal is not None:
                return _line(refusal.status, refusal.line)
        match request.path:
            case "/metrics":
                return web.Response(
                    body=generate_latest(self._registry),
                    headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"},
                )
            case "/status" | "/":
                return _json(json.dumps(self._group.stats().to_dict(), indent=1).encode() + b"\n")
            case "/group":
                return _json(self._observed())
            case "/events":
                return await self._events(request)
            case "/explain":
                return self._explain(request)
        return _line(404, f"there are {PAGES}")

    def _observed(self) -> bytes:
        group, notes = self._group, self.notes
        time_us = time.time_ns() // 1000
        found = observe(group._engine, group._driver.now(), time_us=time_us, last_note=notes.last)
        return msgspec.json.encode(msgspec.structs.replace(found, gone=notes.gone()))

    async def _events(self, request: web.BaseRequest) -> web.Response:
        after, wait_s = _whole(request, "after"), _whole(request, "wait_s")
        if after is None or wait_s is None:
            return _line(400, "accepted: /events?after=NUMBER&wait_s=SECONDS, whole numbers")
        await self.notes.wait(after, min(float(wait_s), WAIT_S))
        session = f"{self._group._engine.session:016x}"
        notes = observed.Notes(incarnation=session, last=self.notes.last, notes=self.notes.after(after))
        return _json(msgspec.json.encode(notes))

    def _explain(self, request: web.BaseRequest) -> web.Response:
        source, seq = request.query.get("source", ""), _whole(request, "seq")
        if not source or not seq:
            return _line(400, "accepted: /explain?source=NAME&seq=NUMBER, a number from 1")
        return _json(msgspec.json.encode(self._group.explain(MessageId(source, seq))))


def _whole(request: web.BaseRequest, name: str) -> int | None:
    """Return a whole number of a request, 0 if it is absent; None if it is none."""
    text = request.query.get(name, "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def _json(body: bytes) -> web.Response:
    return web.Response(body=body, headers={"Content-Type": "application/json", "Cache-Control": "no-store"})


def _line(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=text + "\n")


async def serve(group: Group, host: str, port: int, *, token: str | None = None) -> Callable[[], None]:
    """Serve a member's pages; returns what ends that."""
    access = Access(
        is_loopback((host, port)), token, how="join(metrics_token=...), or node --metrics-token-file FILE"
    )
    pages = Pages(group, access)
    server = Server(pages.answer)
    listening = await asyncio.get_running_loop().create_server(server, host, port)
    group.metrics_address = listening.sockets[0].getsockname()[:2]
    group._notes = pages.notes

    def close() -> None:
        listening.close()
        pages.notes.end()
        server.abort()

    return close
