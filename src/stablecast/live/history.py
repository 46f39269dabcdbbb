"""Late-join handlers: stable messages that are kept for newcomers, and the answer that they are gone."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from stablecast.live.results import Delivery, HistoryGone
from stablecast.live.streams import Kept
from stablecast.live.wire import AskHistory, Data, History
from stablecast.membership.view import Address

ANSWER_BYTES = 900
"""Most bytes of payloads in one answer, so that it fits a datagram; a larger message goes alone."""

Reply = Callable[[History, Address, int], None]


@dataclass
class Wanted:
    """What a newcomer waits for."""

    source: str
    next: int
    last: int
    found: list[Delivery] = field(default_factory=list)
    gone: HistoryGone | None = None

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

    def _put(self, label: str, seq: int, payload: bytes) -> None:
        self._kept.setdefault(label, {})[seq] = payload
        self._order.append((label, seq))
        self._bytes += len(payload)

    def take(self, frame: AskHistory | History, session: int, address: Address) -> None:
        """Answer a newcomer, or take in an answer."""
        if isinstance(frame, AskHistory):
            self._reply(self._answer(frame), address, session)
        else:
            self._take_answer(frame)

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

    def _take_answer(self, frame: History) -> None:
        wanted = self.wanted
        if wanted is None or frame.source != wanted.source or frame.first != wanted.next:
            return
        if frame.gone:
            wanted.gone = HistoryGone(wanted.source, wanted.next, wanted.last)
        for payload in frame.payloads:
            wanted.found.append(Delivery(wanted.source, wanted.next, payload))
            wanted.next += 1
        self._done()
