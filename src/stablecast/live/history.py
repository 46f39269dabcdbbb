"""Late-join handlers: stable messages that are kept for newcomers, and the answer that they are gone."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stablecast.errors import InvalidInput
from stablecast.live.results import Delivery, HistoryGone
from stablecast.live.streams import Kept
from stablecast.live.wire import AskHistory, Data, History
from stablecast.membership.view import Address

if TYPE_CHECKING:
    from stablecast.live.engine import Engine
    from stablecast.live.in_view import InView

ANSWER_BYTES = 900
"""Most bytes of payloads in one answer, so that it fits a datagram; a larger message goes alone."""
ASK_S = 0.1
"""Seconds after which the first request is repeated at least, and then after twice as long each time."""
ASK_TRIES = 5
"""Requests without an answer after which the next member is asked."""
VIEWS_MOST = 10
"""View changes after which it is given up."""

Reply = Callable[[History, Address, int], None]


@dataclass
class Wanted:
    """What a newcomer waits for."""

    source: str
    next: int
    last: int
    me: str
    """The label of who asks."""
    found: list[Delivery] = field(default_factory=list)
    asked: int = 0
    """Session of the member that is asked at present."""
    gone: HistoryGone | None = None
    """Its word that it does not keep what comes next."""

    @classmethod
    def checked(cls, source: str, first: int, last: int, *, me: str) -> Wanted:
        """Return what is wanted, if it can be."""
        for number in (first, last):
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise InvalidInput(f"message number {number!r} is not accepted (accepted: from 1)")
        return cls(source, first, last, me)

    @property
    def is_done(self) -> bool:
        """Whether everything has come, or is known to be gone."""
        return self.gone is not None or self.next > self.last


class Archive:
    """Keeps stable messages up to a number of bytes, and asks others for theirs."""

    def __init__(self, budget: int, reply: Reply, done: Callable[[], None], largest: int) -> None:
        self._budget = budget
        self._reply = reply
        self._done = done
        self._answer_bytes = max(largest - 200, ANSWER_BYTES // 2)
        self._kept: dict[str, dict[int, bytes]] = {}
        self._order: deque[tuple[str, int]] = deque()
        self._bytes = 0
        self.wanted: Wanted | None = None

    def keep(self, label: str, runs: list[Kept]) -> None:
        """Keep messages that have become stable; the oldest go first."""
        if not self._budget:
            return
        for kept in runs:
            if isinstance(kept.run, Data):
                for k, payload in enumerate(kept.run.payloads):
                    self._put(label, kept.run.seq + k, payload)
        while self._bytes > self._budget:
            old, seq = self._order.popleft()
            self._bytes -= len(self._kept[old].pop(seq))
            if not self._kept[old]:
                del self._kept[old]

    def _put(self, label: str, seq: int, payload: bytes) -> None:
        self._kept.setdefault(label, {})[seq] = payload
        self._order.append((label, seq))
        self._bytes += len(payload)

    def take(self, frame: AskHistory | History, session: int, address: Address) -> None:
        """Answer a newcomer, or take in an answer."""
        if isinstance(frame, AskHistory):
            self._reply(self._answer(frame), address, session)
        else:
            self._take_answer(frame, session)

    def _answer(self, ask: AskHistory) -> History:
        kept = self._kept.get(ask.source, {})
        payloads: list[bytes] = []
        seq, size = ask.first, 0
        while (
            seq <= ask.last and seq in kept and (not payloads or size + len(kept[seq]) < self._answer_bytes)
        ):
            payloads.append(kept[seq])
            size += len(kept[seq]) + 3
            seq += 1
        return History(ask.view, ask.source, ask.first, payloads, not payloads, min(kept, default=0))

    def _take_answer(self, frame: History, session: int) -> None:
        """Take messages from anyone, and the word that they are gone from who is asked at present only.

        An answer may come late, when another member is asked: that one may keep what the first does not.
        """
        wanted = self.wanted
        if wanted is None or frame.source != wanted.source or frame.first != wanted.next:
            return
        if frame.gone and session == wanted.asked:
            wanted.gone = HistoryGone(wanted.source, wanted.next, wanted.last, frame.kept_from)
        for payload in frame.payloads:
            wanted.found.append(Delivery(wanted.source, wanted.next, payload, wanted.me))
            wanted.next += 1
        self._done()


Wait = Callable[[float], Awaitable[None]]
"""Waits for news of any kind, or for so many seconds."""


async def fetch(engine: Engine, wanted: Wanted, wait: Wait) -> list[Delivery] | HistoryGone:
    """Ask the members in turn until everything has come, or all have said what they keep."""
    engine.history.wanted = wanted
    gone: HistoryGone | None = None
    for _ in range(VIEWS_MOST):
        here = engine.in_view
        for rank in range(0 if here is None else here.size):
            if here is not None and rank != here.rank and not wanted.next > wanted.last:
                wanted.gone = None
                await _ask(engine, here, wanted, rank, wait)
                gone = wanted.gone or gone
        if wanted.next > wanted.last:
            return wanted.found
        if here is not None and engine.in_view is here:
            break
        await wait(ASK_S)
    return HistoryGone(wanted.source, wanted.next, wanted.last, 0 if gone is None else gone.kept_from)


async def _ask(engine: Engine, here: InView, wanted: Wanted, rank: int, wait: Wait) -> None:
    """Ask one member until it has sent everything, keeps no more, or does not answer."""
    tries, wanted.asked = 0, here.view.members[rank].session
    once = max(ASK_S, engine.trips.answer_within(wanted.asked))
    while tries < ASK_TRIES and not wanted.is_done and engine.in_view is here:
        before = wanted.next
        engine.ask_history(AskHistory(here.view.id, wanted.source, before, wanted.last), rank)
        end = engine.transport.now() + once * 2**tries
        while not wanted.is_done and wanted.next == before and (left := end - engine.transport.now()) > 0:
            await wait(left)
        tries = 0 if wanted.next > before else tries + 1
