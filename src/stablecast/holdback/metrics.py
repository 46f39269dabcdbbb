"""Answers for Prometheus, with a bounded number of series.

A series belongs to a reader's name, so that of a reader which is gone stays for as long as its system waits
for it.  When a system does not answer, its last series stay, ``stablecast_holdback_up`` is 0, and
``stablecast_holdback_snapshot_timestamp_seconds`` says how old they are.

Labels are group, source and member, with control characters written out.  At most so many logs and readers
are shown, those that hold the most; ``stablecast_holdback_left_out`` counts the others.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric

from stablecast.errors import BindFailed, InvalidInput
from stablecast.holdback.answer import Answer, Row, answer_of
from stablecast.holdback.frontier import Standing
from stablecast.holdback.model import Snapshot
from stablecast.words import printable

MOST = 1000
PREFIX = "stablecast_holdback"
_OF_SERVER = {
    "up": "Whether the last question was answered",
    "snapshot_timestamp_seconds": "When the last answer was given",
    "problems": "Parts of the last answer that are missing",
    "logs": "Logs that the system has",
}
_OF_LOG = {
    "held_items": "Entries that are kept for readers",
    "held_bytes": "Bytes that are kept for readers",
    "held_seconds": "Age of the oldest entry that a reader lacks",
    "deletable_items": "Entries that every reader has",
    "deletable_bytes": "Bytes that every reader has",
    "readers": "Readers that the system waits for",
    "full_seconds": "Time until there is no room, at the present rate",
}
_OF_READER = {
    "reader_held_items": "Entries that are kept from the first that the reader lacks",
    "reader_held_bytes": "Bytes that are kept from the first that the reader lacks",
    "reader_behind_seconds": "Age of the oldest entry that the reader lacks",
    "reader_blocks": "Whether the log waits for this reader now",
    "reader_gone": "Whether nobody reads under this name any more",
    "reader_frees_bytes": "Bytes that would go free without this reader",
}


class Shown(NamedTuple):
    """What the last questions gave."""

    snapshots: Mapping[str, Snapshot]
    """By scope; of one that does not answer the last."""
    before: Mapping[str, Snapshot]
    answering: frozenset[str]
    gone_after_s: float
    asked: tuple[str, ...] = ()


class HoldbackCollector:
    """Turns the last answer into metrics whenever they are asked for."""

    def __init__(self, *, most: int = MOST) -> None:
        self._most = most
        self._shown = Shown({}, {}, frozenset(), 0.0)

    def show(self, snapshots: Sequence[Snapshot], gone_after_s: float, asked: Sequence[str] = ()) -> None:
        """Take new snapshots; what a system told before stays if it is not among them.

        ``asked`` has the scopes of all systems, of those too that have never answered.
        """
        told = {one.scope: one for one in snapshots}
        before = {name: one for name, one in self._shown.snapshots.items() if name in told}
        after = {**self._shown.snapshots, **told}
        self._shown = Shown(after, before, frozenset(told), gone_after_s, tuple(asked))

    def collect(self) -> Iterator[Metric]:
        """Yield every metric."""
        shown = self._shown
        answer = answer_of(
            list(shown.snapshots.values()), before=shown.before, gone_after_s=shown.gone_after_s
        )
        yield from _of_servers(shown)
        rows = answer.rows[: self._most]
        yield from _gauges(_OF_LOG, ("group", "source"), [(_place(row), _of_log(row)) for row in rows])
        readers = [(row, one) for row in answer.rows for one in row.frontier.standings]
        readers.sort(key=lambda pair: _most_held(pair[1]))
        some = [((*_place(row), one.reader.member), _of_reader(answer, row, one)) for row, one in readers]
        yield from _gauges(_OF_READER, ("group", "source", "member"), some[: self._most])
        left = GaugeMetricFamily(f"{PREFIX}_left_out", "Logs and readers that are not shown", labels=["what"])
        left.add_metric(["logs"], max(0, len(answer.rows) - self._most))
        left.add_metric(["readers"], max(0, len(readers) - self._most))
        yield left


def _of_servers(shown: Shown) -> Iterator[Metric]:
    rows: list[tuple[tuple[str, ...], tuple[float | None, ...]]] = []
    for name, one in sorted(shown.snapshots.items()):
        up = float(name in shown.answering)
        rows.append(((name,), (up, one.time_us / 1e6, len(one.problems), len(one.logs))))
    silent = sorted(set(shown.asked) - shown.snapshots.keys())
    rows += [((name,), (0.0, None, None, None)) for name in silent]
    yield from _gauges(_OF_SERVER, ("server",), rows)


def _gauges(
    names: Mapping[str, str],
    labels: Sequence[str],
    rows: Sequence[tuple[tuple[str, ...], tuple[float | None, ...]]],
) -> Iterator[Metric]:
    """Yield a gauge for each name, with the values that are known."""
    for k, (name, text) in enumerate(names.items()):
        gauge = GaugeMetricFamily(f"{PREFIX}_{name}", text, labels=list(labels))
        for values, numbers in dict(reversed(rows)).items():  # two addresses may tell the same log
            number = numbers[k]
            if number is not None:
                gauge.add_metric([printable(value) for value in values], number)
        yield gauge


def _place(row: Row) -> tuple[str, str]:
    return row.frontier.log.group, row.frontier.log.source


def _of_log(row: Row) -> tuple[float | None, ...]:
    found = row.frontier
    return (
        found.held.items,
        found.held.bytes,
        row.age_s if found.waiting_for else 0.0,
        found.deletable.items,
        found.deletable.bytes,
        sum(one.reader.holds for one in found.standings),
        row.full.in_s if row.full else None,
    )


def _of_reader(answer: Answer, row: Row, one: Standing) -> tuple[float | None, ...]:
    reader, since = one.reader, one.reader.behind_since_us
    behind_s = None if since is None else max(0.0, (row.snapshot.time_us - since) / 1e6)
    return (
        reader.behind.items,
        reader.behind.bytes,
        behind_s if one.lag else 0.0,
        float(one.blocks),
        float(answer.is_gone(row, reader)),
        one.frees.bytes,
    )


def _most_held(one: Standing) -> tuple[int, int]:
    return -(one.reader.behind.bytes or 0), -(one.reader.behind.items or 0)


def parse_place(text: str) -> tuple[str, int]:
    """Return host and port of an address to serve at."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise InvalidInput(f"--metrics '{text}' (accepted: HOST:PORT, such as 127.0.0.1:9187)")
    return host.strip("[]"), int(port)


class MetricsServer:
    """Serves ``/metrics`` by HTTP until the end of a ``with``."""

    def __init__(self, place: tuple[str, int], collector: HoldbackCollector) -> None:
        registry = CollectorRegistry()
        registry.register(collector)

        class Answering(BaseHTTPRequestHandler):
            timeout = 5

            def do_GET(self) -> None:
                known = self.path in ("/", "/metrics")
                body = generate_latest(registry) if known else b"there is /metrics\n"
                self.send_response(200 if known else 404)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        try:
            self._server = ThreadingHTTPServer(place, Answering)
        except OSError as error:
            raise BindFailed(
                f"cannot serve metrics at {place[0]}:{place[1]}: {error.strerror or error}"
            ) from None
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="stablecast-metrics", daemon=True
        )

    @property
    def port(self) -> int:
        """The port, which the system chose if 0 was asked for."""
        return int(self._server.server_port)

    def __enter__(self) -> MetricsServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
