"""Datagrams in and frames out: sealed, packed, and between processes that know each other.

From who has not answered a challenge nothing is taken but an introduction, and to who has not, nothing goes
but a challenge.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from stablecast.engine.incoming import Incoming
from stablecast.engine.introductions import Introductions
from stablecast.engine.keys import Keyring
from stablecast.engine.outgoing import Outgoing
from stablecast.engine.sealing import Sealing
from stablecast.engine.stats import Counters
from stablecast.engine.trust import TrustFrame
from stablecast.engine.wire import EVERYONE, AnyFrame, Hello, Thanks, Welcome, WholeFrame
from stablecast.engine.wire_tracing import WireTracing
from stablecast.membership.messages import Refuse
from stablecast.membership.view import Address, format_address

Introduction = Hello | Welcome | Thanks

_log = logging.getLogger(__name__)


class Mail:
    """One process's way to the others and back.

    Parameters
    ----------
    who
        Group and name of the process, for the log.
    group, session, secret, keyring, sealing
        What datagrams are sealed with, and how.
    counters
        Count bytes, and what is refused.
    largest, rate
        The most bytes of a datagram, and of data in a second.
    now
        The time.
    wire
        Who writes down what comes and goes, if anybody does.
    """

    def __init__(
        self,
        who: str,
        *,
        group: str,
        session: int,
        secret: bytes,
        keyring: Keyring | None,
        sealing: Sealing,
        counters: Counters,
        largest: int,
        rate: float,
        now: float,
        wire: WireTracing | None = None,
    ) -> None:
        self.seal = sealing.seal(group, session, keyring)
        self.out = Outgoing(self.seal, counters, largest=largest, rate=rate, now=now)
        self._in = Incoming(self.seal, counters, who, unpack=sealing.unpack)
        self._in.wire = self.out.wire = wire
        self._introductions = Introductions(session, secret, self.seal)
        self.known = self._introductions.known
        """Who is trusted, and whom this process gives up."""
        self._counters = counters
        self._who = who

    def has_met(self, address: Address) -> bool:
        """Tell whether a process of the group has answered from an address."""
        return self._introductions.session_at(address) != 0

    def open(self, datagram: bytes, address: Address, now: float) -> tuple[int, Iterable[WholeFrame]]:
        """Return who sealed a datagram, and the frames that are taken from it, if any.

        A stranger that answers a challenge is trusted from there on, so what it sends in the same datagram
        counts: the frames are to be taken one after the other.
        """
        opened = self._in.open(datagram, address)
        if opened is None:
            return 0, []
        session, frames = opened
        if not self._introductions.trusts(session):
            return session, self._of_stranger(frames, session, address, now)
        self.known.heard(session)
        return session, self._in.whole(frames, session)

    def _of_stranger(
        self, frames: list[AnyFrame], session: int, address: Address, now: float
    ) -> Iterator[WholeFrame]:
        for frame in frames:
            if self._introductions.trusts(session):
                yield from self._in.whole([frame], session)
            elif not isinstance(frame, Introduction):
                self._counters.untrusted += 1
            elif self._introductions.may_answer(frame, address, now):
                yield frame
            else:
                self._counters.unanswered += 1

    def introduce(self, frame: TrustFrame, session: int, address: Address, now: float) -> bool:
        """Answer an introduction; tell whether a process was met at this address that was not known there."""
        answers, is_new = self._introductions.take(frame, session, address, now)
        for answer in answers:
            self.out.to_address(answer, address, session)
        return is_new

    def send(self, frame: WholeFrame, address: Address, session: int, now: float) -> None:
        """Send a frame to a process; a session of 0 is whoever is known there.

        Who is not trusted gets a challenge instead.  Who is known by address only gets one as well: there may
        be another process by now, or one that our last THANKS has not come to.
        """
        known = session or self._introductions.session_at(address)
        is_trusted = bool(known) and self._introductions.trusts(known)
        if is_trusted and isinstance(frame, Refuse):
            self.refuse(frame, address, known)
        elif is_trusted:
            self.out.to_address(frame, address, known)
        if not session or not is_trusted:
            self.out.to_address(self._introductions.hello(now), address, EVERYONE)

    def refuse(self, frame: Refuse, address: Address, session: int) -> None:
        """Tell a process why it cannot join, and the log as well."""
        what = "%s: refused to let in the process at %s: %s"
        _log.warning(what, self._who, format_address(address), frame.reason)
        self.out.to_address(frame, address, session)
