"""Repair: asking for parts that are missing, and sending what others lack.

Who is asked is for ``keepers`` to say, and when, for ``gaps`` and round trips: a request that is not answered
is repeated after longer and longer times, each to the next who may keep it.  At what rate an answer
leaves is for ``answering``: no faster than it comes through.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stablecast.membership.actions import Randomness
from stablecast.multicast.answering import NEVER, Answers
from stablecast.multicast.around import Surroundings
from stablecast.multicast.frames import Nak
from stablecast.multicast.keepers import Keepers
from stablecast.multicast.round_trips import RoundTrips
from stablecast.multicast.streams import Streams, size_of

NAK_MOST_S = 0.5
"""Seconds between two requests at most, unless two round trips are longer."""
NAK_GROWTH = 1.5
NAK_JITTER = 0.25
NAK_RANGES = 64
WAITING_MOST = 1 << 14
"""Runs that wait for one member at most; it asks again for the rest."""
LOST_AFTER_S = 0.01
"""A message of one's own that somebody asks for is lost if it is older than this; otherwise just late."""


class Repair:
    """One member's requests and answers in one view.

    Parameters
    ----------
    view, rank, sessions, streams
        The view's number, which of the members this is, all of them by rank, and what has come of each.
    keepers
        Who may keep what is missing.
    around
        Sends.
    trips, rng
        How long a way takes, and chance.
    suspects
        Returns the ranks of those that are not heard of, at a time.
    """

    def __init__(
        self,
        view: int,
        rank: int,
        *,
        sessions: Sequence[int],
        streams: Streams,
        keepers: Keepers,
        around: Surroundings,
        trips: RoundTrips,
        rng: Randomness,
        suspects: Callable[[float], frozenset[int]],
    ) -> None:
        self.asked = 0
        """Requests so far, and runs sent because of others' requests."""
        self.sent = 0
        self._view = view
        self._rank = rank
        self._sessions = sessions
        self._streams = streams
        self._keepers = keepers
        self._around = around
        self._trips = trips
        self._rng = rng
        self._suspects = suspects
        self._answers: dict[int, Answers] = {}
        """To those who have asked, by rank; and those of them for whom something waits."""
        self._unanswered: dict[int, Answers] = {}

    def whom_to_ask(self, source: int, part: int, tries: int, now: float) -> int:
        """Return the rank of whom to ask for parts from this one on, after so many requests for them."""
        return self._keepers.whom_to_ask(source, part, tries=tries, suspects=self._suspects(now))

    def ask(self, source: int, end: int, now: float) -> None:
        """Ask those who may keep it for what is missing of a source up to a part, as far as that is due."""
        gaps = self._streams[source].gaps
        suspects = self._suspects(now)
        asked: dict[int, list[tuple[int, int]]] = {}
        for gap in gaps.due(now):
            if gap.first > end:
                gap.due = now + NAK_MOST_S
                continue
            rank = self._keepers.whom_to_ask(source, gap.first, tries=gap.tries, suspects=suspects)
            asked.setdefault(rank, []).append((gap.first, min(gap.last, end)))
            gap.due = now + self._answer_within(rank, gap.tries)
            gap.tries, gap.asked = gap.tries + 1, now
        gaps.rescheduled()
        for rank, ranges in asked.items():
            for at in range(0, len(ranges), NAK_RANGES):
                self.request(Nak(self._view, source, ranges[at : at + NAK_RANGES]), rank)

    def request(self, nak: Nak, rank: int) -> None:
        """Ask a member for parts."""
        self.asked += 1
        self._around.to_rank(nak, rank)

    def _answer_within(self, rank: int, tries: int) -> float:
        """Return after how long a request that was not answered is repeated; longer each time."""
        once = self._trips.answer_within(self._sessions[rank])
        wait = min(once * NAK_GROWTH ** min(tries, 12), max(NAK_MOST_S, 2 * once))
        return wait * (1 + NAK_JITTER * self._rng.random())

    def answer(self, nak: Nak, rank: int, now: float) -> int:
        """Send a member what it lacks and this one keeps; return the bytes of one's own that were lost."""
        if not 0 <= nak.source < len(self._streams):
            return 0
        stream, lost = self._streams[nak.source], 0
        answers, trip_s = self._answers_to(rank, now), self._trips.mean(self._sessions[rank])
        for first, last in nak.ranges[:NAK_RANGES]:
            for run in stream.runs_between(first, last):
                if len(answers.waiting) >= WAITING_MOST:
                    break
                is_new = answers.ask((nak.source, run.part), now, trip_s)
                if is_new and nak.source == self._rank and now - stream.kept[run.part].at > LOST_AFTER_S:
                    lost += size_of(run)
        self._send_answers(rank, answers, now)
        return lost

    def _answers_to(self, rank: int, now: float) -> Answers:
        while_s = self._trips.answer_within(self._sessions[rank])
        answers = self._answers.get(rank)
        if answers is None:
            answers = self._answers[rank] = Answers(now, while_s)
        answers.while_s = while_s
        answers.look(now)
        return answers

    def _send_answers(self, rank: int, answers: Answers, now: float) -> None:
        """Send a member what may leave now of what it asked for."""
        for source, part in answers.leaving(now):
            run = self._streams[source].run_at(part)
            if run is not None:
                self._around.to_rank(run, rank)
                self.sent += 1
        if answers.waiting:
            self._unanswered[rank] = answers
        else:
            self._unanswered.pop(rank, None)

    def next_timer(self) -> float:
        """Return when something leaves that was asked for before."""
        unanswered = self._unanswered
        return min(answers.next_at() for answers in unanswered.values()) if unanswered else NEVER

    def handle_timer(self, now: float) -> None:
        """Send what may leave by now of what was asked for before."""
        for rank, answers in list(self._unanswered.items()):
            if answers.next_at() <= now:
                answers.look(now)
                self._send_answers(rank, answers, now)
