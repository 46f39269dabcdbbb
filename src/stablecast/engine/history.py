"""Late-join handlers: stable messages that are kept for newcomers, and newcomers that ask for them.

Whose messages
    A label stands for one member at each process (``names``), but not at all of them for the same.  So a
    request names the session as well, if who asks knows it.  If not, the first who answers knows it, and only
    that member's messages are taken from then on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import msgspec

from stablecast.engine.in_view import InView
from stablecast.engine.names import Key, Names
from stablecast.engine.results import Delivery, HistoryGone
from stablecast.errors import InvalidInput
from stablecast.multicast.frames import AskHistory, Data, History
from stablecast.multicast.round_trips import RoundTrips
from stablecast.multicast.streams import Kept

ANSWER_BYTES = 900
"""Most bytes of payloads in one answer, so that it fits a datagram; a larger message goes alone."""
ASK_S = 0.1
"""Seconds after which the first request is repeated at least, and then after twice as long each time."""
ASK_TRIES = 5
"""Requests without an answer after which the next member is asked."""
MESSAGE_COST = 64
"""Bytes that a message is charged with beside its payload."""
ANSWERS_MOST = 32
"""Frames that one request is answered with at most."""
VIEWS_MOST = 10
"""View changes after which it is given up."""
NEVER = float("inf")


class Archive:
    """Keeps stable messages up to a number of bytes; the oldest go first."""

    def __init__(self, budget: int, names: Names, largest: int) -> None:
        self._budget = budget
        self._names = names
        self._answer_bytes = max(largest - 200, ANSWER_BYTES // 2)
        self._kept: dict[Key, dict[int, bytes]] = {}
        self._order: deque[tuple[Key, int]] = deque()
        self._bytes = 0

    def keep(self, key: Key, runs: list[Kept]) -> None:
        """Keep messages of a member that have become stable."""
        if not self._budget:
            return
        for kept in runs:
            if isinstance(kept.run, Data):
                for k, payload in enumerate(kept.run.payloads):
                    self._put(key, kept.run.seq + k, payload)
        while self._bytes > self._budget:
            old, seq = self._order.popleft()
            self._bytes -= len(self._kept[old].pop(seq)) + MESSAGE_COST
            if not self._kept[old]:
                del self._kept[old]

    def _put(self, key: Key, seq: int, payload: bytes) -> None:
        of_key = self._kept.setdefault(key, {})
        if seq not in of_key:
            of_key[seq] = payload
            self._order.append((key, seq))
            self._bytes += len(payload) + MESSAGE_COST

    def answers(self, ask: AskHistory) -> list[History]:
        """Return what is kept of what a newcomer asks for, in several frames if there is much."""
        answers = [self._answer(ask)]
        while answers[-1].payloads and len(answers) < ANSWERS_MOST:
            following = answers[-1].first + len(answers[-1].payloads)
            if following > ask.last:
                break
            answer = self._answer(msgspec.structs.replace(ask, first=following))
            if answer.gone:
                break
            answers[-1] = msgspec.structs.replace(answers[-1], more=True)
            answers.append(answer)
        return answers

    def _answer(self, ask: AskHistory) -> History:
        key = (ask.source, ask.session) if ask.session else self._names.key_of(ask.source)
        kept = {} if key is None else self._kept.get(key, {})
        payloads: list[bytes] = []
        seq, size = ask.first, 0
        while (
            seq <= ask.last and seq in kept and (not payloads or size + len(kept[seq]) < self._answer_bytes)
        ):
            payloads.append(kept[seq])
            size += len(kept[seq]) + 3
            seq += 1
        session = key[1] if key is not None and kept else 0
        return History(ask.view, ask.source, ask.first, payloads, not payloads, next(iter(kept), 0), session)


class Fetch:
    """What a newcomer wants: it asks the members in turn, each until it does not answer or has no more.

    Parameters
    ----------
    source, first, last
        The member's label here, and its messages, both included.
    me
        The label of who asks.
    names
        Who is called what here.
    """

    def __init__(self, source: str, first: int, last: int, *, me: str, names: Names) -> None:
        for number in (first, last):
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise InvalidInput(f"message number {number!r} is not accepted (accepted: from 1)")
        self.found: list[Delivery] = []
        self.gone: HistoryGone | None = None
        """That not all can be had, once that is known."""
        self._label = source
        self._source, self._session = names.key_of(source) or (source, 0)
        self._next = first
        self._last = last
        self._me = me
        self._kept_from = 0
        self._view = 0
        self._views = 0
        self._ranks: deque[int] = deque()
        self._tries = 0
        self._due = 0.0
        self._patience = ASK_S

    @property
    def is_done(self) -> bool:
        """Whether everything has come, or is known to be gone."""
        return self.gone is not None or self._next > self._last

    def next_timer(self) -> float:
        """Return when ``ask`` is to be called."""
        return NEVER if self.is_done else self._due

    def ask(
        self, here: InView, trips: RoundTrips, send: Callable[[AskHistory, int], None], now: float
    ) -> None:
        """Ask the member whose turn it is, if it is time to; give up if nobody is left."""
        if here.view.id != self._view:
            self._view = here.view.id
            self._views += 1
            self._ranks = deque(self._in_turn(here))
            self._tries = 0
            self._due = now
        if self.is_done or now < self._due:
            return
        if self._ranks and self._tries >= ASK_TRIES:
            self._ask_next()
        if not self._ranks or self._views > VIEWS_MOST:
            self.gone = HistoryGone(self._label, self._next, self._last, self._kept_from)
            return
        rank = self._ranks[0]
        self._patience = max(ASK_S, trips.answer_within(here.view.members[rank].session))
        self._due = now + self._patience * 2**self._tries
        self._tries += 1
        send(AskHistory(self._view, self._source, self._next, self._last, self._session), rank)

    def _in_turn(self, here: InView) -> list[int]:
        """Return the ranks of the others, first those who receive from the member that is asked about."""
        others = [rank for rank in range(here.size) if rank != here.rank]
        if self._label not in here.labels:
            return others
        source = here.labels.index(self._label)
        return sorted(others, key=lambda rank: not here.audiences.hears(rank, source))

    def take(self, frame: History, here: InView, session: int, now: float) -> None:
        """Take messages from anyone, and the word that they are gone from who is asked at present only.

        An answer may come late, when another member is asked: that one may keep what the first does not.
        """
        is_other = frame.session and self._session and frame.session != self._session
        if self.is_done or frame.source != self._source or frame.first != self._next or is_other:
            return
        for payload in frame.payloads:
            self.found.append(Delivery(self._label, self._next, payload, self._me))
            self._next += 1
        if frame.payloads:
            self._session = frame.session
            self._tries = 0
            self._due = now + self._patience if frame.more else now
        elif (
            self._ranks
            and here.view.members[self._ranks[0]].session == session
            and here.view.id == self._view
        ):
            self._kept_from = frame.kept_from or self._kept_from
            self._ask_next()
            self._due = now

    def _ask_next(self) -> None:
        self._ranks.popleft()
        self._tries = 0


class Fetches:
    """What newcomers want that is under way at one process.

    Parameters
    ----------
    trips
        How long the way to each member takes.
    send
        Sends a question to a member of the view.
    """

    def __init__(self, trips: RoundTrips, send: Callable[[AskHistory, int], None]) -> None:
        self._trips = trips
        self._send = send
        self._fetches: list[Fetch] = []

    def __len__(self) -> int:
        return len(self._fetches)

    def add(self, fetch: Fetch) -> None:
        """Ask for this too from now on."""
        self._fetches.append(fetch)

    def remove(self, fetch: Fetch) -> None:
        """Ask for it no more."""
        self._fetches.remove(fetch)

    def ask(self, here: InView, now: float) -> bool:
        """Ask for what is due; tell whether it has turned out that something cannot be had."""
        is_over = False
        for fetch in self._fetches:
            if not fetch.is_done:
                fetch.ask(here, self._trips, self._send, now)
                is_over |= fetch.is_done
        return is_over

    def take(self, frame: History, here: InView, session: int, now: float) -> None:
        """Take in an answer."""
        for fetch in self._fetches:
            fetch.take(frame, here, session, now)

    def next_timer(self) -> float:
        """Return when ``ask`` is to be called."""
        return min((fetch.next_timer() for fetch in self._fetches), default=NEVER)
