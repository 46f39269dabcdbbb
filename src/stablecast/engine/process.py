"""What one process has in any view: its way out and in, its own messages, and what it remembers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from stablecast.engine.attached import members_most
from stablecast.engine.backlog import Backlog
from stablecast.engine.care import Care
from stablecast.engine.history import Archive, Fetches
from stablecast.engine.keys import Keyring
from stablecast.engine.mail import Mail
from stablecast.engine.names import Names
from stablecast.engine.options import Options
from stablecast.engine.own import Own
from stablecast.engine.sealing import Sealing
from stablecast.engine.stats import Counters
from stablecast.engine.tracing import Tracing
from stablecast.engine.wire_tracing import WireTracing
from stablecast.membership.actions import Randomness
from stablecast.membership.view import Address, MemberInfo
from stablecast.multicast.round_trips import RoundTrips


@dataclass(frozen=True, slots=True)
class Process:
    """The pieces of one process that outlast its views."""

    options: Options
    me: MemberInfo
    counters: Counters
    mail: Mail
    """Opens what comes, and seals what goes."""
    own: Own
    """Its own messages."""
    backlog: Backlog
    """What the application has not read yet."""
    tracing: Tracing | None
    wire: WireTracing | None
    """The same, if it also tells datagrams and timers."""
    names: Names
    care: Care
    """Who is silent or slow, and what is done about it."""
    trips: RoundTrips
    archive: Archive
    fetches: Fetches
    rng: Randomness

    @classmethod
    def make(
        cls,
        options: Options,
        *,
        address: Address,
        largest: int,
        rng: Randomness,
        now: float,
        keyring: Keyring | None,
        traces: bool,
        wire: bool,
        time_offset_s: float,
        sealing: Sealing,
    ) -> Self:
        """Make the pieces; the arguments are those of ``Engine``."""
        counters, names, trips = Counters(), Names(), RoundTrips()
        session = rng.getrandbits(64) or 1
        host, port = address
        name = options.member or f"{host}:{port}"
        me = MemberInfo(
            session,
            name,
            1,
            host,
            port,
            options.zone,
            most=members_most(options.choice, largest),
            sends=options.sends,
            receives=options.patterns,
        )
        wired = WireTracing(time_offset_s, options, me) if wire else None
        mail = Mail(
            f"{options.group}/{name}",
            group=options.group,
            session=session,
            secret=rng.getrandbits(256).to_bytes(32, "big"),
            keyring=keyring,
            sealing=sealing,
            counters=counters,
            largest=largest,
            rate=options.rate_bytes_per_s,
            now=now,
            wire=wired,
        )
        own = Own(
            me.label,
            sends=options.sends,
            buffer_bytes=options.buffer_bytes,
            largest=largest,
            out=mail.out,
            counters=counters,
        )
        return cls(
            options,
            me,
            counters,
            mail,
            own,
            backlog=Backlog(options.queue_messages),
            tracing=Tracing(time_offset_s) if traces and not wire else wired,
            wire=wired,
            names=names,
            care=Care(options.group, options.slow),
            trips=trips,
            archive=Archive(options.history_bytes, names, largest),
            fetches=Fetches(trips, mail.out.to_rank),
            rng=rng,
        )
