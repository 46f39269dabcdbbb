"""Streams of Redis: consumer groups are readers, entries' names are numbers.

Theory
    ``XINFO STREAM key FULL`` tells in one command, and so of one moment, a stream's length, its first and
    last names, and of each group the last entry that it was delivered and the first that it was delivered and
    has not acknowledged (the first of its *pending* entries).  A group needs its pending entries and
    everything after the last that it was delivered.  So it has everything before

        n = the smaller of its first pending entry and the first entry after its last delivered one,

    and its position is the number just before n; if there is no n, it is the head.
Why a second look
    The first entry after a name has to be asked for.  Between two commands entries may be trimmed, and a
    group may read on.  Were the entry trimmed that a group reads next, the next one that is left would give
    a position that is too high.  So the second look takes ``XINFO STREAM FULL`` and these entries in one
    transaction, and only what both tell alike is used.  A group that has moved in between keeps the position
    that the transaction itself tells (``exact`` is false), which is lower or equal.
Pending entries that are gone
    Trimming and XDEL leave names of deleted entries pending.  The group never had them, so its position stays
    below.  Redis cannot say which of its pending entries is the first that still exists: not exact either.
What is lost
    ``lag`` counts what was added after the last entry that a group read.  If that is more than all that is
    kept, the rest went before it was delivered.
Counts
    Redis counts what was not delivered to a group (``lag``), except after some deletions.  Entries between
    the first pending and the last delivered one are counted by reading them, for a group up to ``COUNTED`` or
    ``COUNTED_BYTES``; beyond that the number is estimated, as if names were spread evenly.  Bytes are a
    group's share of entries times MEMORY USAGE, which Redis estimates from samples.
Times
    Redis names entries by its clock.  Where an application chooses names that are no times, times are
    unknown.
Rights
    ``+@connection +scan +time +xinfo|stream +xrange +multi +exec`` and the keys; ``+memory|usage`` for bytes,
    ``+info`` for the room.  The last two may be missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, NoPermissionError, RedisError, ResponseError
from redis.retry import Retry

from stablecast.errors import InvalidInput
from stablecast.holdback.addresses import Address
from stablecast.holdback.model import Amount, Log, Room, Snapshot
from stablecast.holdback.numbering import Numbering, parse_stream_id
from stablecast.holdback.sources.base import TIMEOUT_S, CannotAsk, Closing, Refused
from stablecast.holdback.sources.redis_logs import Counts, Nexts, Seen, log_of, shown
from stablecast.holdback.sources.redis_replies import Group, Stream, parse_stream

AT_ONCE = 100
"""Streams that are asked for together."""
COUNTED, COUNTED_BYTES = 1_000, 1 << 20
OPTIONS = ("stream", "match", "timeout_s")


def open_source(address: Address, timeout_s: float | None) -> RedisSource:
    """Return the source of an address such as ``redis://host:6379/0?match=orders:*``."""
    address.check_options(OPTIONS)
    return RedisSource(address, timeout_s or address.seconds("timeout_s", TIMEOUT_S))


class RedisSource(Closing):
    """The streams of one database of one server."""

    def __init__(self, address: Address, timeout_s: float) -> None:
        self.address = address
        self.client = connect(address, timeout_s)
        self.names = [name.encode() for name in address.options.get("stream", "").split(",") if name]
        self.match = address.options.get("match")

    def close(self) -> None:
        """Let the connection go."""
        self.client.close()

    def take(self) -> Snapshot:
        """Return all streams, or those that the address names."""
        problems: list[str] = []
        with telling(self.address):
            seconds, micros = self.client.execute_command("TIME")
            room = self._room()
            keys = iter(self.names) if self.names else self._scan()
            logs: list[Log] = []
            now_us = int(seconds) * 1_000_000 + int(micros)
            try:
                while some := list(islice(keys, AT_ONCE)):
                    logs += self._logs(some, now_us, problems)
            except RedisError as error:
                if not logs:
                    raise
                problems.append(
                    f"{self.address.server} stopped answering after {len(logs):,} streams: {reason(error)}"
                )
        return Snapshot(self.address.server, "redis", now_us, tuple(logs), room, tuple(problems))

    def _scan(self) -> Iterator[bytes]:
        found: Iterator[bytes] = self.client.scan_iter(match=self.match, count=1000, _type="stream")
        seen: set[bytes] = set()  # a scan may give a key twice
        for key in found:
            if key not in seen:
                seen.add(key)
                yield key

    def _room(self) -> Room | None:
        try:
            text = self.client.execute_command("INFO", "memory").decode()
        except ResponseError:
            return None
        told = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        limit, used = int(told.get("maxmemory", 0)), int(told.get("used_memory", 0))
        if not limit:
            return None
        policy = told.get("maxmemory_policy", "")
        then = "writes are refused" if policy == "noeviction" else f"keys are evicted ({policy})"
        return Room(Amount(bytes=max(0, limit - used)), then)

    def _logs(self, keys: Sequence[bytes], now_us: int, problems: list[str]) -> list[Log]:
        seen = self._first_look(keys, problems)
        refused: set[str] = set()
        second = self._second_look([one for one in seen if one.stream.behind], refused)
        looked = [(one, *second.get(one.key, (one.stream, {}))) for one in seen]
        counts = self._counts([(one, stream) for one, stream, _ in looked if stream.behind], refused)
        problems += [
            line
            for why in sorted(refused)
            if (line := f"{self.address.server}: counts and next entries are not known: {why}")
            not in problems
        ]
        logs = [
            log_of(self.address, one, stream, nexts, counts.get(one.key, {}), now_us)
            for one, stream, nexts in looked
        ]
        why_not = "its entries could not be read" if refused else None
        return [replace(log, untrimmable=why_not) for log in logs] if why_not else logs

    def _first_look(self, keys: Sequence[bytes], problems: list[str]) -> list[Seen]:
        pipe = self.client.pipeline(transaction=False)
        for key in keys:
            pipe.execute_command("XINFO", "STREAM", key, "FULL", "COUNT", 1)
            pipe.execute_command("MEMORY", "USAGE", key)
        replies = pipe.execute(raise_on_error=False)
        seen = []
        for key, told, size in zip(keys, replies[::2], replies[1::2], strict=True):
            if isinstance(told, Exception):
                if "no such key" not in str(told) or self.names:
                    problems.append(f"stream '{shown(key)}' of {self.address.server}: {reason(told)}")
                continue
            seen.append(Seen(key, parse_stream(told), size if isinstance(size, int) else None))
        return seen

    def _second_look(self, seen: Sequence[Seen], refused: set[str]) -> dict[bytes, tuple[Stream, Nexts]]:
        """Return streams once more, with the first entry from each name on, of the same moment.

        Transactions are written out, one for each stream, since a cluster's node refuses one over several.
        A group may have been delivered a name that is beyond all entries; after the largest there is none.
        """
        pipe = self.client.pipeline(transaction=False)
        starts = [_starts(one.stream) for one in seen]
        for one, names in zip(seen, starts, strict=True):
            pipe.execute_command("MULTI")
            pipe.execute_command("XINFO", "STREAM", one.key, "FULL", "COUNT", 1)
            for name in names:
                pipe.execute_command("XRANGE", one.key, Numbering.STREAM_ID.text(name), "+", "COUNT", 1)
            pipe.execute_command("EXEC")
        replies = iter(pipe.execute(raise_on_error=False))
        found = {}
        for one, names in zip(seen, starts, strict=True):
            answers = list(islice(replies, len(names) + 3))
            done = answers[-1]
            refused |= {reason(each) for each in answers[:-1] if isinstance(each, Exception)}
            if isinstance(done, list) and not isinstance(done[0], Exception):
                refused |= {reason(each) for each in done[1:] if isinstance(each, Exception)}
                pairs = zip(names, done[1:], strict=True)
                nexts = {
                    name: _first_name(reply) for name, reply in pairs if not isinstance(reply, Exception)
                }
                found[one.key] = parse_stream(done[0]), nexts
            elif isinstance(done, Exception) and not refused:
                refused.add(reason(done))
        return found

    def _counts(self, looked: Sequence[tuple[Seen, Stream]], refused: set[str]) -> dict[bytes, Counts]:
        """Count the entries from names on that Redis does not count itself; and whether there are more."""
        asked: list[tuple[bytes, int, int]] = []
        pipe = self.client.pipeline(transaction=False)
        text = Numbering.STREAM_ID.text
        for one, stream in looked:
            spans = {group.needs_from: last for group in stream.groups if (last := _uncounted(group, stream))}
            each = max(1, (one.bytes or 0) // max(1, stream.length))
            most = max(10, min(COUNTED, COUNTED_BYTES // each))
            for name, last in spans.items():
                pipe.execute_command("XRANGE", one.key, text(name), text(last), "COUNT", most)
                asked.append((one.key, name, most))
        counts: dict[bytes, Counts] = {}
        for (key, name, most), reply in zip(asked, pipe.execute(raise_on_error=False), strict=True):
            if isinstance(reply, list):
                counts.setdefault(key, {})[name] = len(reply), len(reply) >= most
            else:
                counts.setdefault(key, {})[name] = None
                refused.add(reason(reply))
        return counts


def connect(address: Address, timeout_s: float) -> Any:
    """Return a client whose replies are as the server sends them."""
    if len(address.path) > 1 or not all(part.isdecimal() for part in address.path):
        raise InvalidInput(f"{address.shown} (accepted: the number of a database behind the host)")
    client = redis.Redis(
        host=address.host,
        port=address.port or 6379,
        db=int(address.path[0]) if address.path else 0,
        username=address.user,
        password=address.password,
        ssl=address.scheme == "rediss",
        protocol=2,
        socket_timeout=timeout_s,
        socket_connect_timeout=timeout_s,
        retry=Retry(NoBackoff(), 0),
        client_name="stablecast",
    )
    client.response_callbacks.clear()
    client.set_response_callback("SCAN", _scanned)
    return client


def _scanned(reply: Any, **_: Any) -> tuple[int, list[bytes]]:
    return int(reply[0]), reply[1]


class telling:  # noqa: N801 - used as a function, like contextlib's own
    """Turns what goes wrong with a server into one line."""

    def __init__(self, address: Address) -> None:
        self.address = address

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, where: object) -> None:
        if isinstance(error, RedisError):
            kind = Refused if isinstance(error, ResponseError) else CannotAsk
            raise kind(f"cannot ask {self.address.server}: {reason(error)}") from None


def reason(error: BaseException) -> str:
    """Return what the server or the network said, without what the client adds."""
    text = " ".join(str(error).split())
    if isinstance(error, AuthenticationError) or text.startswith(("WRONGPASS", "NOAUTH")):
        return "user or password is wrong, or missing (accepted: redis://USER:PASSWORD@HOST:PORT)"
    if isinstance(error, NoPermissionError) or text.startswith("NOPERM"):
        return f"no rights: {text.removeprefix('NOPERM').strip()}"
    return text.rstrip(".") or type(error).__name__


def _starts(stream: Stream) -> list[int]:
    """Return the names that entries are asked from."""
    return sorted({group.needs_from for group in stream.groups if group.needs_from <= stream.last})


def _first_name(entries: Any) -> int | None:
    return parse_stream_id(entries[0][0].decode()) if entries else None


def _uncounted(group: Group, stream: Stream) -> int | None:
    """Return up to which name entries have to be counted for a group; None if Redis tells."""
    if group.needs_from <= stream.first or group.needs_from > stream.last:
        return None
    if group.lag is None:
        return stream.last
    return group.delivered if group.pending else None
