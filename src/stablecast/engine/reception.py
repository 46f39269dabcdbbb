"""Takes in what has come: each frame goes to the piece of the process that it is for.

Frames of a session that is not trusted do not come here, but for introductions.  A frame of a view counts
only in that view; one of a view that this process has agreed to shows that it has begun.
"""

from __future__ import annotations

from stablecast.engine.host import Host
from stablecast.engine.in_view import InView
from stablecast.engine.mail import Introduction
from stablecast.engine.process import Process
from stablecast.engine.views import Views
from stablecast.engine.wire import PassOn, Stability, Step, Welcome, WholeFrame, mark_of
from stablecast.membership.messages import Alive, Join, Refuse
from stablecast.membership.view import Address
from stablecast.multicast.frames import (
    AskHistory,
    AskMulticast,
    Data,
    Digest,
    Forward,
    Fragment,
    Gossip,
    History,
    Messages,
    Nak,
    Progress,
    SentSoFar,
)

LOSSES_STEPS = 4
"""Steps for which losses are counted together at least; a round trip if that is longer."""

Control = Stability | Step | Nak | SentSoFar | Progress | Alive | Gossip


class Reception:
    """Takes in frames."""

    def __init__(self, process: Process, host: Host, views: Views) -> None:
        self._process = process
        self._mail, self._care, self._trips = process.mail, process.care, process.trips
        self._counters = process.counters
        self._host = host
        self._views, self._agreement = views, views.agreement

    def receive(self, batch: list[tuple[bytes, Address]], now: float) -> None:
        """Take in datagrams that came together, each with its sender's address."""
        for datagram, address in batch:
            session, frames = self._mail.open(datagram, address, now)
            passed_on, is_direct = None, True
            for number, frame in enumerate(frames):
                if number == 0 and isinstance(frame, PassOn):
                    passed_on, came_from, address = frame, address, self._address_of(session, address)
                    is_direct = came_from == address
                else:
                    self._take(frame, session, address, now, is_direct=is_direct)
            if passed_on is not None:
                self._pass_on(passed_on, datagram, session)

    def _address_of(self, session: int, address: Address) -> Address:
        """Return where the sender of a datagram is that another member has sent on from an address."""
        here = self._host.in_view
        rank = None if here is None else here.ranks.get(session)
        return address if here is None or rank is None else here.addresses[rank]

    def _pass_on(self, frame: PassOn, datagram: bytes, session: int) -> None:
        """Hand a datagram on to those below this member; its other frames may have begun the view."""
        here = self._host.in_view
        rank = None if here is None else here.ranks.get(session)
        if here is None or rank is None or mark_of(here.view.id) != frame.mark:
            return
        to = here.fan_out.onward(rank, frame)
        if to:
            self._mail.out.pass_on(datagram, to)

    def _take(
        self, frame: WholeFrame, session: int, address: Address, now: float, *, is_direct: bool = True
    ) -> None:
        """Take in a frame of a trusted session, or an introduction of any."""
        if isinstance(frame, (Data, Fragment)):
            here = self._in_view_of(frame.view, now)
            rank = -1 if here is None else here.ranks.get(session, -1)
            if here is not None and rank >= 0:
                here.take(frame, now)
                here.detector.heard(rank, now, is_direct=is_direct)
        elif isinstance(frame, Control):
            here = self._in_view_of(frame.view, now)
            rank = -1 if here is None else here.ranks.get(session, -1)
            if here is not None and rank >= 0:
                here.detector.heard(rank, now, is_direct=is_direct)
                self._take_control(here, frame, rank, now)
        elif isinstance(frame, Introduction):
            if self._mail.introduce(frame, session, address, now):
                is_answer = isinstance(frame, Welcome)
                self._views.do(self._agreement.met(address, now, is_answer=is_answer), now)
        elif isinstance(frame, PassOn):  # it means something as the first frame alone
            self._counters.malformed += 1
        elif isinstance(frame, AskHistory):
            for answer in self._process.archive.answers(frame):
                self._mail.out.to_address(answer, address, session)
        elif isinstance(frame, History):
            self._take_history(frame, session, now)
        elif isinstance(frame, Join) and (why_not := self._care.why_not_let_in(frame.member.name, now)):
            self._mail.refuse(Refuse(why_not), address, session)
        else:
            self._views.do(self._agreement.receive(frame, session, address, now), now)

    def _in_view_of(self, view: int, now: float) -> InView | None:
        """Return the view that a frame is for, beginning it if the frame shows that it has begun."""
        here = self._host.in_view
        if here is not None and here.view.id == view:
            return here
        self._views.do(self._agreement.saw_frame_of(view, now), now)
        here = self._host.in_view
        return here if here is not None and here.view.id == view else None

    def _take_control(self, here: InView, frame: Control, rank: int, now: float) -> None:
        match frame:
            case Stability():
                if here.data.limit is None and not here.take_stability(frame, rank, now):
                    self._counters.malformed += 1
            case Step():
                here.take_step(frame, rank)
            case Nak():
                lost = here.data.answer(frame, rank, now)
                if lost and self._trips.knows(here.view.members[rank].session):  # before, it may just be late
                    pause = max(LOSSES_STEPS * here.pace.step, self._trips.longest())
                    self._process.own.window.was_lost(lost, rank, now, pause)
            case SentSoFar():
                here.data.take_sent_so_far(frame, rank, now)
            case Digest() | Forward() | AskMulticast() | Messages():
                if not here.data.take_gossip(frame, rank, now):
                    self._counters.malformed += 1
            case Progress():
                here.take_progress(frame, rank, now)
                self._host.went_on = True
            case Alive():
                here.signs.take(frame, rank, now)
                self._host.went_on = True

    def _take_history(self, frame: History, session: int, now: float) -> None:
        here = self._host.in_view
        if here is not None:
            self._process.fetches.take(frame, here, session, now)
            self._host.went_on = True
