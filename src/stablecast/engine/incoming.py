"""From datagrams to frames: opened, decoded, put together from pieces; nothing is done about them here."""

from __future__ import annotations

import logging

import msgspec

from stablecast.engine.pieces import Pieces
from stablecast.engine.sealing import AnySeal, Unpack
from stablecast.engine.stats import Counters
from stablecast.engine.wire import EVERYONE, AnyFrame, Piece, WholeFrame, decode
from stablecast.engine.wire_tracing import WireTracing
from stablecast.membership.view import Address, format_address

MILESTONES = frozenset(10**digits for digits in range(19))

_log = logging.getLogger(__name__)


class Incoming:
    """The way in.

    Parameters
    ----------
    seal
        Opens datagrams.
    counters
        Count what is refused.
    who
        Whose way in it is, for the log.
    unpack
        Decodes what is inside a datagram.
    """

    def __init__(self, seal: AnySeal, counters: Counters, who: str, *, unpack: Unpack) -> None:
        self._seal = seal
        self._unpack = unpack
        self._counters = counters
        self._who = who
        self._pieces = Pieces()
        self.wire: WireTracing | None = None
        """Who writes down what comes, if anybody does."""

    def open(self, datagram: bytes, address: Address) -> tuple[int, list[AnyFrame]] | None:
        """Return who sealed a datagram, and its frames; None if it is refused or for somebody else."""
        opened = self._seal.open(datagram)
        if opened is None:
            self._log_refusal(address)
            return None
        try:
            to, frames = self._unpack(opened.inside)
        except msgspec.DecodeError:
            self._counters.malformed += 1
            return None
        if to not in (EVERYONE, self._seal.session):
            self._counters.misdirected += 1
            return None
        if self.wire is not None:
            self.wire.came(opened.session, to, frames, datagram, address)
        return opened.session, frames

    def whole(self, frames: list[AnyFrame], session: int) -> list[WholeFrame]:
        """Return frames of a trusted session; pieces are kept until a frame is complete."""
        found: list[WholeFrame] = []
        for frame in frames:
            if not isinstance(frame, Piece):
                found.append(frame)
            elif (packed := self._pieces.add(frame, session)) is not None:
                try:
                    found.append(decode(packed))
                except msgspec.DecodeError:
                    self._counters.malformed += 1
        return found

    def _log_refusal(self, address: Address) -> None:
        """Log the first datagram that is refused for a reason, the tenth, the hundredth and so on."""
        reason = self._seal.last_refusal
        count = self._seal.refused[reason]
        if count in MILESTONES:
            what = "%s: refused %d datagrams so far (%s), the last one from %s"
            _log.info(what, self._who, count, reason, format_address(address))
