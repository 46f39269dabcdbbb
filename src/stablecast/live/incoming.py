"""What reaches a member: datagrams are opened, strangers introduced, frames handed to who they are for."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from stablecast.live.answers import Answers
from stablecast.live.in_view import InView
from stablecast.live.pieces import Pieces
from stablecast.live.transport import format_address
from stablecast.live.wire import (
    EVERYONE,
    AnyFrame,
    AskHistory,
    Data,
    Fragment,
    Hello,
    History,
    Nak,
    Piece,
    Progress,
    SentSoFar,
    Stability,
    Thanks,
    Welcome,
    WholeFrame,
    decode,
    unpack,
)
from stablecast.membership.messages import Alive, Join, Refuse
from stablecast.membership.view import Address

if TYPE_CHECKING:
    from stablecast.live.engine import Engine

MET_MOST = 1024
LOSSES_STEPS = 4
"""Steps for which losses are counted together at least; a round trip if that is longer."""
MILESTONES = frozenset(10**digits for digits in range(19))

_log = logging.getLogger(__name__)

Introduction = Hello | Welcome | Thanks
Control = Stability | Nak | SentSoFar | Progress | Alive


class Incoming:
    """The way in."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.met: dict[Address, int] = {}
        """Sessions that have answered a challenge, by address."""
        self._pieces = Pieces()
        self._answers = Answers()

    def take(self, datagram: bytes, address: Address, now: float) -> None:
        """Take in a datagram."""
        engine = self._engine
        opened = engine.seal.open(datagram)
        if opened is None:
            self._log_refusal(address)
            return
        try:
            to, frames = unpack(opened.inside)
        except msgspec.DecodeError:
            engine.counters.malformed += 1
            return
        if to not in (EVERYONE, engine.session):
            engine.counters.misdirected += 1
        elif engine.trust.trusted(opened.session):
            engine.acquaintances.heard(opened.session)
            for frame in frames:
                if isinstance(frame, Piece):
                    self._take_piece(frame, opened.session, address, now)
                else:
                    self._take(frame, opened.session, address, now)
        else:
            self._take_of_stranger(frames, opened.session, address, now)

    def _log_refusal(self, address: Address) -> None:
        """Log the first datagram that is refused for a reason, the tenth, the hundredth and so on."""
        engine = self._engine
        reason = engine.seal.last_refusal
        count = engine.seal.refused[reason]
        if count in MILESTONES:
            what = "%s/%s: refused %d datagrams so far (%s), the last one from %s"
            _log.info(what, engine.options.group, engine.label, count, reason, format_address(address))

    def _take_of_stranger(self, frames: list[AnyFrame], session: int, address: Address, now: float) -> None:
        """From who has not answered a challenge nothing is taken but an introduction."""
        for frame in frames:
            if isinstance(frame, Hello) and not self._answers.may_answer(address, now):
                self._engine.counters.unanswered += 1
            elif isinstance(frame, Introduction):
                self._introduce(frame, session, address, now)
            else:
                self._engine.counters.untrusted += 1

    def _introduce(self, frame: Introduction, session: int, address: Address, now: float) -> None:
        engine = self._engine
        for answer in engine.trust.receive(frame, session, now):
            engine.outgoing.to_address(answer, address, session)
        if engine.trust.trusted(session) and self.met.get(address) != session:
            engine.acquaintances.met(session)
            if len(self.met) >= MET_MOST:
                self.met.clear()
            self.met[address] = session
            is_answer = isinstance(frame, Welcome)
            engine.do(engine.agreement.met(address, now, is_answer=is_answer), now)

    def _take_piece(self, piece: Piece, session: int, address: Address, now: float) -> None:
        packed = self._pieces.add(piece, session)
        if packed is None:
            return
        try:
            self._take(decode(packed), session, address, now)
        except msgspec.DecodeError:
            self._engine.counters.malformed += 1

    def _take(self, frame: WholeFrame, session: int, address: Address, now: float) -> None:
        engine = self._engine
        if isinstance(frame, Data | Fragment):
            here = self._in_view_of(frame.view, now)
            rank = -1 if here is None else here.ranks.get(session, -1)
            if here is not None and rank >= 0:
                here.take(frame, now)
                here.detector.heard(rank, now)
        elif isinstance(frame, Control):
            here = self._in_view_of(frame.view, now)
            rank = -1 if here is None else here.ranks.get(session, -1)
            if here is not None and rank >= 0:
                self._take_control(here, frame, rank, now)
        elif isinstance(frame, Introduction):
            self._introduce(frame, session, address, now)
        elif isinstance(frame, AskHistory | History):
            engine.history.take(frame, session, address)
        elif isinstance(frame, Join) and not engine.slow.may_join(frame.member.name, now):
            engine.refuse(Refuse(self._ban_of(frame.member.name, now)), address, session)
        else:
            engine.do(engine.agreement.receive(frame, session, address, now), now)

    def _ban_of(self, name: str, now: float) -> str:
        until = self._engine.slow.banned_until(name, now) or now
        return f"'{name}' was too slow too often, and may come back in {until - now:.0f} s"

    def _in_view_of(self, view: int, now: float) -> InView | None:
        """Return the view that a frame is for, beginning it if the frame shows that it has begun."""
        engine = self._engine
        here = engine.in_view
        if here is not None and here.view.id == view:
            return here
        engine.do(engine.agreement.saw_frame_of(view, now), now)
        here = engine.in_view
        return here if here is not None and here.view.id == view else None

    def _take_control(self, here: InView, frame: Control, rank: int, now: float) -> None:
        engine = self._engine
        here.detector.heard(rank, now)
        if isinstance(frame, Stability):
            if here.limit is None and not here.take_stability(frame, rank, now):
                engine.counters.malformed += 1
        elif isinstance(frame, Nak):
            lost = here.answer(frame, rank, now)
            if lost and engine.trips.knows(here.view.members[rank].session):  # before, it may just be late
                pause = max(LOSSES_STEPS * here.pace.step, engine.trips.longest())
                engine.window.was_lost(lost, rank, now, pause)
        elif isinstance(frame, SentSoFar):
            here.take_sent_so_far(frame, rank, now)
        elif isinstance(frame, Progress):
            here.take_progress(frame, rank, now)
            engine.note_progress()
        else:
            here.take_alive(frame, rank, now)
            engine.note_progress()
