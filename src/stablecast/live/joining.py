"""Joining a group: checks, key, socket, engine; then waiting for a view.

Nothing here stops the event loop for long.  What takes its time is done in a thread: names of hosts are
resolved there, and all that a member is made of is imported and compiled there.  So this module imports none
of it.
"""

from __future__ import annotations

import errno
import random
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from stablecast.engine.keys import Keyring
from stablecast.engine.options import Options
from stablecast.engine.pace import PaceOptions
from stablecast.errors import BindFailed, InvalidInput, JoinFailed
from stablecast.live.access import checked_token
from stablecast.live.apart import apart
from stablecast.live.transport import (
    Transport,
    family_of,
    is_loopback,
    numeric_address,
    parse_address,
)
from stablecast.live.udp import UdpTransport, who_listens
from stablecast.membership.actions import Timing
from stablecast.membership.slow_members import SlowPolicy
from stablecast.membership.view import Address, format_address
from stablecast.multicast.delivery import Bimodal

if TYPE_CHECKING:
    from stablecast.engine.rows import Log
    from stablecast.live.driver import Driver
    from stablecast.live.group import Group, GroupListener
    from stablecast.protocols.contract import Protocol

WILDCARDS = ("0.0.0.0", "::")
LISTENS_S = 0.2
IPV4 = family_of(("", 0))


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
    metrics_token: str | None = None,
    member: str = Options.member,
    zone: str = Options.zone,
    sends: bool = Options.sends,
    receives: bool | Sequence[str] = Options.receives,
    protocol: str | Protocol = Options.protocol,
    protocol_options: Mapping[str, Any] | None = None,
    goal: str = Options.goal,
    delivery: str | Bimodal = Options.delivery,
    deliver: Literal["received", "stable", "nothing"] = "received",
    buffer_bytes: int = Options.buffer_bytes,
    on_full: Literal["block", "error"] = "block",
    queue_messages: int = Options.queue_messages,
    policy: Literal["until-stable", "two-buffers"] = "until-stable",
    copies: int = Options.copies,
    short_s: float = Options.short_s,
    history_bytes: int = Options.history_bytes,
    fail_after: float = Options.fail_after,
    alive_every: float = Options.alive_every,
    rate_bytes_per_s: float = Options.rate_bytes_per_s,
    fan_out: str | int = Options.fan_out,
    pace: PaceOptions | None = None,
    timing: Timing | None = None,
    slow: SlowPolicy | None = None,
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
        Address to serve Prometheus metrics, JSON status and what observers show on.
    metrics_token
        What who asks there has to know.  Without one, off loopback only metrics and status are served.
    member, zone
        This member's name, by default its address; and where it is, for levels by zone.
    sends, receives
        Whether this member sends messages, and whose it receives: all, none (``False``), or those of senders
        whose names are listed, or match a pattern that is, such as ``["orders", "prices-*"]``.
    protocol, protocol_options
        The stability protocol: its name, the path of a file that defines one, or itself; and its options,
        with the names and units of ``stablecast simulate``.  All members of a group have the same.  With
        ``auto`` the group decides at view changes, by what it has measured.
    goal
        What a group with protocol ``auto`` looks for: ``soonest``, or ``least-bytes``.
    delivery
        ``reliable``, or ``bimodal``: gossip repairs what was lost, for a while, and a message is missing
        somewhere with a small, known probability; with values as text, ``bimodal:p_fail=0.0001``, or as a
        :class:`stablecast.Bimodal`.  All members of a group have the same.
    deliver
        Deliver what has come, only what everyone has (``stable``), or nothing.
    buffer_bytes, on_full
        Most bytes of unstable messages, of all senders together; what ``send`` does while this member's share
        is used up.
    queue_messages
        Deliveries of others' messages that wait for the application before no more is taken in.
    policy, copies, short_s
        Who keeps what: everyone until it is stable, or, with ``two-buffers``, so many members, and the others
        for so many seconds.
    history_bytes
        Bytes of stable messages that this member keeps for newcomers.
    fail_after, alive_every
        Seconds of silence after which a member counts as failed, and between two rounds of signs of life.
    rate_bytes_per_s
        Most bytes a second that leave this member, all copies counted.
    fan_out
        Who sends the copies of what goes to all: this member (``direct``), this one so many, and those who
        get them the rest (a number), or one or the other by the size of the group (``auto``).
    pace, timing, slow
        How often stability is looked for, times of view changes, and what is done about slow members.
    """
    options = Options(
        group=group,
        protocol=protocol,
        protocol_options={} if protocol_options is None else protocol_options,
        goal=goal,
        member=member,
        zone=zone,
        sends=sends,
        receives=receives,
        buffer_bytes=buffer_bytes,
        on_full=on_full,
        delivery=delivery,
        deliver=deliver,
        policy=policy,
        copies=copies,
        short_s=short_s,
        queue_messages=queue_messages,
        history_bytes=history_bytes,
        fail_after=fail_after,
        alive_every=alive_every,
        rate_bytes_per_s=rate_bytes_per_s,
        fan_out=fan_out,
        pace=PaceOptions() if pace is None else pace,
        timing=Timing() if timing is None else timing,
        slow=SlowPolicy() if slow is None else slow,
    )
    settings = Settings(
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
        metrics_token=metrics_token,
    )
    return Joining(options, settings)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Where a member is and what it has, beside its options."""

    bind: str
    seeds: Sequence[str]
    keyring: Keyring | None
    insecure: bool
    advertise: str | None
    multicast: str | None
    largest: int | None
    transport: Transport | None
    trace: Log | None
    trace_offset_s: float | None
    metrics: str | None
    metrics_token: str | None


class Joining:
    """A group that is about to be joined: to be awaited, or used with ``async with``."""

    def __init__(self, options: Options, settings: Settings) -> None:
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
        settings, transport = self._settings, self._settings.transport
        _check_token(settings)
        here = await _resolved(settings.bind) if transport is None else transport.address
        if transport is None:
            self._check_bind(here)
        contacts = await _contacts(settings.seeds, here)
        advertised = await self._advertised(here)
        await apart(self._prepare)
        opened = await self._open(here) if transport is None else transport
        from stablecast.live.group import Group  # it was imported in a thread just now

        try:
            group = Group(lambda listener: self._driver(listener, opened, advertised))
        except BaseException:
            opened.close()
            raise
        try:
            if settings.metrics is not None:
                await _serve_metrics(group, settings.metrics, settings.metrics_token)
            group._driver.start(contacts)
            await group._joined
        except JoinFailed as error:
            group._shut()
            raise await self._explained(error, contacts, group._driver) from None
        except BaseException:
            group._shut()
            raise
        return group

    def _prepare(self) -> None:
        """Import what a member is made of, and have the kernels of its protocol compiled."""
        import_module("stablecast.live.group")
        if self._settings.metrics is not None:
            _import_metrics()
        from stablecast.engine.warm import warm

        for choice in self._options.choices or (None,):
            warm(choice)

    def _check_bind(self, here: Address) -> None:
        settings = self._settings
        if settings.keyring is None and not settings.insecure and not is_loopback(here):
            raise InvalidInput(
                f"bind '{settings.bind}' needs a key: without one anyone could join "
                "(accepted: a key, a loopback address, or insecure=True)"
            )
        if here[0] in WILDCARDS and settings.advertise is None:
            raise InvalidInput(f"bind '{settings.bind}' needs advertise: the address that others send to")

    async def _advertised(self, here: Address) -> Address | None:
        advertise = self._settings.advertise
        if advertise is None:
            return None
        address = await _resolved(advertise, like=here)
        _check_family("advertise", advertise, address, here)
        return address

    async def _open(self, here: Address) -> UdpTransport:
        multicast = self._settings.multicast
        return await UdpTransport.open(
            here,
            multicast=None if multicast is None else await _resolved(multicast),
            largest=self._settings.largest,
        )

    def _driver(self, listener: GroupListener, transport: Transport, advertised: Address | None) -> Driver:
        from stablecast.engine.engine import Engine
        from stablecast.live.driver import Driver
        from stablecast.live.trace_file import TraceFile

        settings = self._settings
        host, port = transport.address if advertised is None else advertised
        offset = settings.trace_offset_s
        if offset is None:
            offset = 0.0 if transport.seed is not None else time.time() - time.monotonic()
        engine = Engine(
            self._options,
            address=(host, port or transport.address[1]),
            largest=transport.largest,
            rng=random.SystemRandom() if transport.seed is None else random.Random(transport.seed),
            now=transport.now(),
            keyring=settings.keyring,
            traces=settings.trace is not None,
            wire=getattr(settings.trace, "wire", False),
            time_offset_s=offset,
            ip_multicast=transport.has_ip_multicast,
        )
        trace = None if settings.trace is None else TraceFile(settings.trace)
        return Driver(engine, transport, listener, trace=trace)

    async def _explained(self, error: JoinFailed, contacts: list[Address], driver: Driver) -> JoinFailed:
        """Add what can be found out about contacts that did not answer."""
        silent = [contact for contact in contacts if not driver.engine.mail.has_met(contact)]
        if self._settings.transport is not None or not silent:
            return error
        here = driver.transport.address
        found = [f"{format_address(contact)}: {await _found_at(contact, here)}" for contact in silent]
        return JoinFailed(f"{error} ({'; '.join(found)})")


def _check_token(settings: Settings) -> None:
    if settings.metrics_token is None:
        return
    if settings.metrics is None:
        raise InvalidInput("metrics_token needs metrics: the address that it is for")
    checked_token(settings.metrics_token, "of metrics_token")


def _import_metrics() -> None:
    try:
        import_module("stablecast.live.metrics")
    except ModuleNotFoundError as error:
        if error.name != "aiohttp":
            raise
        raise InvalidInput(
            "metrics need aiohttp, which is not installed (pip install 'stablecast[live]')"
        ) from None


async def _found_at(contact: Address, here: Address) -> str:
    """Tell why a contact may not have answered."""
    match await who_listens(contact, LISTENS_S, here=here):
        case "nobody":
            return "nobody listens there"
        case "silent":
            return "somebody listens there and refuses us: another key, another group, or no node at all"
        case "unreachable":
            why = ", which reaches this machine only" if is_loopback(here) else ""
            return f"nothing can be sent there from {here[0]}{why}"


async def _resolved(text: str, *, like: Address | None = None) -> Address:
    """Return the address that a text names, one of the family of another if there is a choice."""
    family = IPV4 if like is None else family_of(like)
    numeric = numeric_address(text)
    return numeric if numeric is not None else await apart(lambda: parse_address(text, family))


async def _contacts(seeds: Sequence[str], here: Address) -> list[Address]:
    if isinstance(seeds, str):
        raise InvalidInput(f"seeds is the text '{seeds}' (accepted: a list of addresses, ['{seeds}'])")
    if not isinstance(seeds, Sequence):
        raise InvalidInput(f"seeds is {seeds!r} (accepted: a list of addresses, ['127.0.0.1:7001'])")
    contacts = [await _resolved(seed, like=here) for seed in seeds]
    for seed, contact in zip(seeds, contacts, strict=True):
        if contact[1] == 0:
            raise InvalidInput(f"seed '{seed}' has no port (accepted: 1 to 65535)")
        _check_family("seed", seed, contact, here)
    return contacts


def _check_family(what: str, text: str, address: Address, here: Address) -> None:
    """Refuse an address that cannot be reached from here, nor reach it."""
    if family_of(address) != family_of(here):
        kinds = ("IPv4", "IPv6") if family_of(here) == IPV4 else ("IPv6", "IPv4")
        raise InvalidInput(
            f"{what} '{text}' is an address of {kinds[1]}, and bind '{format_address(here)}' one of "
            f"{kinds[0]}: they cannot reach each other (accepted: addresses of one kind)"
        )


async def _serve_metrics(group: Group, address: str, token: str | None) -> None:
    from stablecast.live.metrics import serve

    host, port = await _resolved(address)
    try:
        group._on_close.append(await serve(group, host, port, token=token))
    except OSError as error:
        reason = "it is in use" if error.errno == errno.EADDRINUSE else error.strerror or str(error)
        raise BindFailed(f"cannot serve metrics on {address}: {reason}") from None
