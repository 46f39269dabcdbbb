"""Joining a group: checks, key, socket, engine; then waiting for a view."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import threading
import time
from collections.abc import Generator, Sequence
from typing import Any

from stablecast.errors import BindFailed, InvalidInput, JoinFailed
from stablecast.live.choice import Choice
from stablecast.live.engine import Engine
from stablecast.live.group import Group
from stablecast.live.keys import Keyring
from stablecast.live.options import Options
from stablecast.live.sides import Log
from stablecast.live.transport import Transport, format_address, is_loopback, parse_address
from stablecast.live.udp import UdpTransport, who_listens
from stablecast.live.warm import warm
from stablecast.membership.view import Address

WILDCARDS = ("0.0.0.0", "::")
LISTENS_S = 0.2


def join(
    group: str,
    *,
    bind: str = "127.0.0.1:0",
    seeds: Sequence[str] = (),
    key: Keyring | bytes | str | None = None,
    insecure: bool = False,
    advertise: str | None = None,
    multicast: str | None = None,
    largest: int | None = None,
    transport: Transport | None = None,
    trace: Log | None = None,
    trace_offset_s: float | None = None,
    metrics: str | None = None,
    **options: Any,
) -> Joining:
    """Join a group: ``async with join(...) as group`` or ``group = await join(...)``.

    Parameters
    ----------
    group
        The group's name.
    bind
        Address to receive on; port 0 for any that is free.
    seeds
        Addresses of members to join through.  Without any, or if this member's own address is among them and
        nobody else answers, it begins the group alone.
    key
        The group's key.  Without one only loopback addresses are bound, unless ``insecure``.
    advertise
        Address that others reach this member at, if that is not the bound one.
    multicast
        An IP multicast group and port for what goes to all; otherwise each member gets its own copy.
    largest
        Most bytes of a datagram: by default 1,400, on loopback 16,000.
    transport
        In place of UDP, for instance of :class:`stablecast.testing.Network`.
    trace
        Where events of the trace schema go.
    trace_offset_s
        Added to the monotonic clock in traces; by default what makes it the time of day.
    metrics
        Address to serve Prometheus metrics and JSON status on.
    options
        Further options, see :class:`stablecast.live.options.Options`.
    """
    try:
        checked = Options(group=group, **options)
    except TypeError as error:
        raise InvalidInput(str(error).replace("Options.__init__()", "join()")) from None
    return Joining(
        checked,
        bind=bind,
        seeds=seeds,
        keyring=None if key is None else Keyring.of(key),
        insecure=insecure,
        advertise=advertise,
        multicast=multicast,
        largest=largest,
        transport=transport,
        trace=trace,
        trace_offset_s=trace_offset_s,
        metrics=metrics,
    )


class Joining:
    """A group that is about to be joined: to be awaited, or used with ``async with``."""

    def __init__(self, options: Options, **settings: Any) -> None:
        self._options = options
        self._settings = settings
        self._group: Group | None = None

    def __await__(self) -> Generator[Any, None, Group]:
        return self._join().__await__()

    async def __aenter__(self) -> Group:
        self._group = await self._join()
        return self._group

    async def __aexit__(self, *_: object) -> None:
        if self._group is not None:
            await self._group.close()

    async def _join(self) -> Group:
        settings = self._settings
        contacts = _contacts(settings["seeds"])
        if settings["advertise"] is not None:
            parse_address(settings["advertise"])
        transport: Transport | None = settings["transport"]
        if transport is None:
            await _warm_apart(self._options.choice)
            transport = await self._open()
        else:
            warm(self._options.choice)
        group = Group()
        try:
            engine = self._engine(group, transport)
        except BaseException:
            transport.close()
            raise
        group._attach(engine)
        try:
            if settings["metrics"] is not None:
                await _serve_metrics(group, settings["metrics"])
            engine.start(contacts)
            await group._joined
        except JoinFailed as error:
            group._shut()
            raise await self._explained(error, contacts) from None
        except BaseException:
            group._shut()
            raise
        return group

    async def _open(self) -> UdpTransport:
        settings = self._settings
        bind = parse_address(settings["bind"])
        if settings["keyring"] is None and not settings["insecure"] and not is_loopback(bind):
            raise InvalidInput(
                f"bind '{settings['bind']}' needs a key: without one anyone could join "
                "(accepted: a key, a loopback address, or insecure=True)"
            )
        if bind[0] in WILDCARDS and settings["advertise"] is None:
            raise InvalidInput(f"bind '{settings['bind']}' needs advertise: the address that others send to")
        multicast = settings["multicast"]
        return await UdpTransport.open(
            bind,
            multicast=None if multicast is None else parse_address(multicast),
            largest=settings["largest"],
        )

    def _engine(self, group: Group, transport: Transport) -> Engine:
        settings = self._settings
        advertise = settings["advertise"]
        address = transport.address if advertise is None else parse_address(advertise)
        if address[1] == 0:
            address = (address[0], transport.address[1])
        offset = settings["trace_offset_s"]
        if offset is None:
            offset = 0.0 if transport.seed is not None else time.time() - time.monotonic()
        return Engine(
            self._options,
            transport,
            group,
            address=address,
            keyring=settings["keyring"],
            log=settings["trace"],
            time_offset_s=offset,
        )

    async def _explained(self, error: JoinFailed, contacts: list[Address]) -> JoinFailed:
        """Add what can be found out about contacts that did not answer."""
        if self._settings["transport"] is not None:
            return error
        found = []
        for contact in contacts:
            listens = await who_listens(contact, LISTENS_S)
            what = (
                "nobody listens there"
                if listens == "nobody"
                else "somebody listens there and refuses us: another key, another group, or no node at all"
            )
            found.append(f"{format_address(contact)}: {what}")
        return JoinFailed(f"{error} ({'; '.join(found)})")


def _contacts(seeds: Sequence[str]) -> list[Address]:
    if isinstance(seeds, str):
        raise InvalidInput(f"seeds is the text '{seeds}' (accepted: a list of addresses, ['{seeds}'])")
    contacts = [parse_address(seed) for seed in seeds]
    for seed, (_, port) in zip(seeds, contacts, strict=True):
        if port == 0:
            raise InvalidInput(f"seed '{seed}' has no port (accepted: 1 to 65535)")
    return contacts


async def _warm_apart(choice: Choice) -> None:
    """Have the kernels compiled in a thread of its own, which ends, so that the loop goes on meanwhile."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            warm(choice)
        except BaseException as error:
            errors.append(error)
        with contextlib.suppress(RuntimeError):  # the loop may be closed by now
            loop.call_soon_threadsafe(finish)

    def finish() -> None:
        if not done.done():
            done.set_result(None)

    thread = threading.Thread(target=work, name="stablecast-warm", daemon=True)
    thread.start()
    await done  # if this is cancelled, the thread ends by itself
    thread.join()
    if errors:
        raise errors[0]


async def _serve_metrics(group: Group, address: str) -> None:
    from stablecast.live.metrics import serve

    host, port = parse_address(address)
    try:
        group._on_close.append(await serve(group, host, port))
    except OSError as error:
        reason = "it is in use" if error.errno == errno.EADDRINUSE else error.strerror or str(error)
        raise BindFailed(f"cannot serve metrics on {address}: {reason}") from None
