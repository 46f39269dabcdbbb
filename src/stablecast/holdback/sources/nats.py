"""Streams of JetStream: consumers are readers, numbers are sequence numbers of the stream.

Theory
    A consumer's ``ack_floor.stream_seq`` is the number up to which it has acknowledged every message that it
    gets; with the policy ``all`` one acknowledgement stands for all before.  The consumer never asks for
    anything up to it again: it is its position.  With the policy ``none`` the number follows what the server
    has sent, which its reader may never have got: what it has is not known, and ``unsure`` says so.  A
    consumer with nothing pending, neither to be delivered (``num_pending``) nor to be acknowledged
    (``num_ack_pending``), has everything; with a filter its floor may stay at the last message of its own.
    Its position is then the last number that the stream had *before* it was asked.
Order
    A stream and its consumers are told by different replies.  Streams are asked first, then consumers, then
    streams again: ``first_seq`` is that of the first reply, the head that of the last.
Retention
    With retention ``interest`` or ``workqueue`` the server itself deletes what is acknowledged; with
    ``limits`` it deletes by age and size, whoever has read.  ``max_bytes`` and ``max_msgs`` are the room.
    Only a stream with ``limits`` may be trimmed: a work queue keeps what no consumer's filter covers, for
    workers that are not there yet.  Where no consumer gets all of a stream with ``limits``, the subjects are
    asked for, and those that nobody gets are told.
Mirrors and sources
    A mirror has the numbers of its stream, so its own last one is its position.  A stream that sources
    another one has numbers of its own, and its lag is as old as its connection: it is not known what it has.
    Those of other accounts and of other servers, leaf nodes for example, are not seen.
Counts
    Numbers of deleted messages stay, so an amount is at most the difference of numbers.  It is exact if
    nothing was deleted in the middle.  Bytes are a share of the stream's bytes.
Rights
    Publish to ``$JS.API.STREAM.LIST``, ``$JS.API.CONSUMER.LIST.*`` and, for times,
    ``$JS.API.STREAM.MSG.GET.*``; subscribe to ``_INBOX.>``.  Times are left out where the last is refused.
    Subjects need ``$JS.API.STREAM.INFO.*``.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError, NoServersError

from stablecast.errors import InvalidInput
from stablecast.holdback.addresses import Address
from stablecast.holdback.model import Log, Snapshot
from stablecast.holdback.sources.base import TIMEOUT_S, CannotAsk, Closing
from stablecast.holdback.sources.base import Refused as Certain
from stablecast.holdback.sources.nats_logs import (
    Copy,
    Told,
    copies_of,
    filters_of,
    floor_of,
    log_of,
    microseconds,
    unheard,
)

OPTIONS = ("stream", "creds", "nkey", "token", "timeout_s")
AT_ONCE = 32
TIMES = 10
"""For so many positions of a stream it is asked since when."""
Reply = Mapping[str, Any]


def open_source(address: Address, timeout_s: float | None) -> NatsSource:
    """Return the source of an address such as ``nats://user:password@host:4222/stream``."""
    address.check_options(OPTIONS)
    if len(address.path) > 1:
        raise InvalidInput(f"{address.shown} (accepted: the name of a stream behind the host)")
    return NatsSource(address, timeout_s or address.seconds("timeout_s", TIMEOUT_S))


class Refused(Exception):
    """JetStream answered with an error."""


class Replied(Refused):
    """JetStream itself has said no."""


class _Secure(Client):
    """A client that sends nothing before the connection is encrypted."""

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        if not (info.get("tls_required") or info.get("tls_available")):
            if self._transport:
                self._transport.close()  # type: ignore[no-untyped-call]
            raise NatsError("the server does not offer TLS (accepted: nats:// without)")
        info["tls_required"] = True
        await super()._process_info(info, initial_connection=initial_connection)


class NatsSource(Closing):
    """The streams of one account."""

    def __init__(self, address: Address, timeout_s: float) -> None:
        self.address = address
        self.timeout_s = timeout_s
        self.names = [*address.path, *filter(None, address.options.get("stream", "").split(","))]

    def take(self) -> Snapshot:
        """Return all streams, or those that the address names; every snapshot has a connection of its own."""
        try:
            return asyncio.run(self._take())
        except (NatsError, Refused, OSError, TimeoutError) as error:
            raise CannotAsk(f"cannot ask {self.address.server}: {reason(error)}") from None

    def purge(self, stream: str, first_kept: int) -> int:
        """Delete the messages of a stream before a number; return how many there were."""

        async def purging() -> int:
            async with self._asking() as asking:
                return int((await asking.ask(f"STREAM.PURGE.{stream}", seq=first_kept))["purged"])

        try:
            return asyncio.run(purging())
        except (NatsError, Refused, OSError, TimeoutError) as error:
            certain = isinstance(error, Replied) or "stream.purge" in str(error).lower()
            raise (Certain if certain else CannotAsk)(
                f"cannot purge {self.address.server}/{stream}: {reason(error)}"
            ) from None

    def look_again(self, stream: str) -> Log | None:
        """Return one stream as it is now, without its mirrors; None if it is gone."""

        async def looking() -> Log | None:
            async with self._asking() as asking:
                now_us = time.time_ns() // 1000
                try:
                    told = await asking.told(await asking.ask(f"STREAM.INFO.{stream}"))
                    state = (await asking.ask(f"STREAM.INFO.{stream}"))["state"]
                except Replied as error:
                    if "not found" in str(error):
                        return None
                    raise
                return log_of(self.address.server, told, state, now_us)

        try:
            return asyncio.run(looking())
        except (NatsError, Refused, OSError, TimeoutError) as error:
            raise Certain(f"cannot ask {self.address.server}/{stream}: {reason(error)}") from None

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[_Asking]:
        """Give a connection, which is closed at the end."""
        said: list[str] = []

        async def note(error: Exception) -> None:
            said.append(str(error))

        try:
            client = await self._connected(note)
        except NoServersError:
            raise Refused(said[-1] if said else "there is no server") from None
        try:
            yield _Asking(client, self.timeout_s, said)
        finally:
            if client.is_connected:
                await client.close()

    async def _take(self) -> Snapshot:
        async with self._asking() as asking:
            now_us = time.time_ns() // 1000
            first = [stream async for stream in asking.streams()]
            wanted = [one for one in first if not self.names or one["config"]["name"] in self.names]
            logs, problems = await self._logs(asking, wanted, copies_of(first), now_us)
            missing = set(self.names) - {one["config"]["name"] for one in first}
            if asking.missing:
                unheard = f"streams that do not answer: {', '.join(sorted(asking.missing))}"
                problems.append(f"{self.address.server}: {unheard}")
                logs = [replace(log, untrimmable=unheard) for log in logs]
            missing -= asking.missing
            problems += [f"{self.address.server} has no stream '{name}'" for name in sorted(missing)]
            return Snapshot(self.address.server, "jetstream", now_us, tuple(logs), problems=tuple(problems))

    async def _connected(self, note: Any) -> Any:
        address, options = self.address, self.address.options
        more: dict[str, Any] = {"token": options["token"]} if "token" in options else {}
        if "creds" in options:
            more["user_credentials"] = options["creds"]
        if "nkey" in options:
            more["nkeys_seed"] = options["nkey"]
        if address.scheme == "tls":
            more["tls"] = ssl.create_default_context()
        client = _Secure() if address.scheme == "tls" else Client()
        await asyncio.wait_for(
            client.connect(
                address.server if address.port else f"{address.server}:4222",
                name="stablecast",
                user=address.user,
                password=address.password,
                connect_timeout=max(1, round(self.timeout_s)),
                allow_reconnect=False,
                max_reconnect_attempts=1,  # 0 would be for ever
                reconnect_time_wait=0.05,  # type: ignore[arg-type]
                error_cb=note,
                **more,
            ),
            self.timeout_s,
        )
        return client

    async def _logs(
        self, asking: _Asking, streams: Sequence[Reply], copies: Mapping[str, Sequence[Copy]], now_us: int
    ) -> tuple[list[Log], list[str]]:
        """Ask for the consumers of each stream, then for the streams again."""
        gate, problems = asyncio.Semaphore(AT_ONCE), []

        async def told_of(stream: Reply) -> Told | None:
            async with gate:
                try:
                    return await asking.told(stream, copies.get(stream["config"]["name"], ()))
                except (NatsError, Refused, TimeoutError) as error:
                    problems.append(
                        f"stream '{stream['config']['name']}' of {self.address.server}: {reason(error)}"
                    )
                    return None

        told = [one for one in await asyncio.gather(*map(told_of, streams)) if one is not None]
        problems += [
            f"stream '{one.name}' of {self.address.server}: {unheard(one)}" for one in told if one.missing
        ]
        try:
            last = {one["config"]["name"]: one["state"] async for one in asking.streams()}
        except (NatsError, Refused, TimeoutError) as error:
            problems.append(f"{self.address.server} stopped answering: {reason(error)}")
            last = {}
        # A stream that is gone by now is told as it was.
        return [
            log_of(self.address.server, one, last.get(one.name, one.state), now_us) for one in told
        ], problems


@dataclass
class _Asking:
    """Requests of JetStream's interface, which pages its lists."""

    client: Any
    timeout_s: float
    said: list[str]
    """What the server said beside its replies: refused rights, for example."""
    missing: set[str] = field(default_factory=set)
    """Streams that a cluster has, and that do not answer."""

    async def ask(self, subject: str, **words: Any) -> Reply:
        """Return a reply, or raise what it says went wrong."""
        try:
            message = await self.client.request(
                f"$JS.API.{subject}", json.dumps(words).encode(), timeout=self.timeout_s
            )
        except NoRespondersError:
            raise Replied("there is no JetStream, or no right to ask it") from None
        except (NatsError, TimeoutError):
            if self.said:
                raise Refused(self.said[-1]) from None
            raise
        reply: Reply = json.loads(message.data)
        if "error" in reply:
            raise Replied(reply["error"].get("description", "error"))
        return reply

    async def streams(self) -> AsyncIterator[Reply]:
        """Yield all streams of the account."""
        offset, total = 0, 1
        while offset < total:
            page = await self.ask("STREAM.LIST", offset=offset)
            self.missing |= set(page.get("missing") or ())
            for one in page["streams"] or ():
                yield one
            offset, total = offset + page["limit"], page["total"]

    async def told(self, stream: Reply, copies: Sequence[Copy] = ()) -> Told:
        """Return a stream with its consumers."""
        name, offset, total = stream["config"]["name"], 0, 1
        consumers: list[Reply] = []
        missing: list[str] = []
        while offset < total:
            page = await self.ask(f"CONSUMER.LIST.{name}", offset=offset)
            consumers += page["consumers"] or []
            missing += page.get("missing") or []
            offset, total = offset + page["limit"], page["total"]
        state = stream["state"]
        floors = sorted(
            {floor_of(one, state["last_seq"]) for one in consumers}
            | {one.position for one in copies if one.position is not None}
        )
        times = await self._times(name, [one for one in floors if one < state["last_seq"]], state)
        named = {one for consumer in consumers for one in filters_of(consumer)}
        all_got = (
            copies
            or not all(map(filters_of, consumers))
            or named >= set(stream["config"].get("subjects") or [">"])
        )
        subjects = {} if all_got or not consumers else await self._subjects(name)
        return Told(name, stream["config"], state, consumers, times, copies, subjects, missing)

    async def _subjects(self, name: str) -> Reply | None:
        """Return how many messages are kept of each subject; None without the right, or if they are many."""
        try:
            page = await self.ask(f"STREAM.INFO.{name}", subjects_filter=">")
        except (NatsError, Refused, TimeoutError):
            return None
        found: Reply = page["state"].get("subjects") or {}
        return found if page.get("total", 0) <= len(found) else None

    async def _times(
        self, name: str, floors: Iterable[int], state: Reply
    ) -> dict[int, tuple[int, int | None]]:
        """Return for positions which message is the next that there is, and when it came."""
        times = {}
        for floor in list(floors)[:TIMES]:
            wanted = max(floor + 1, state["first_seq"])
            try:
                reply = await self.ask(f"STREAM.MSG.GET.{name}", seq=wanted, next_by_subj=">")
            except (NatsError, Refused, TimeoutError):
                break  # no right, or the message has gone
            times[floor] = reply["message"]["seq"], microseconds(reply["message"]["time"])
        return times


def reason(error: BaseException) -> str:
    """Return what the server or the network said, on one line."""
    text = " ".join(str(error).removeprefix("nats: ").split()).strip("'\"")
    if isinstance(error, TimeoutError) and text in ("", "timeout"):
        return "no answer in time"
    if "authorization violation" in text.lower():
        return "user or password is wrong, or missing (accepted: nats://USER:PASSWORD@HOST:PORT)"
    return text or type(error).__name__
