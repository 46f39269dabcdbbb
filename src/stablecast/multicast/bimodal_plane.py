"""The payloads of one view in bimodal delivery: gossip of what has come, repair on request, and an end to it.

What is true
    A part lives at a member for ``rounds`` rounds of that member's gossip, from the first that follows its
    knowing of the part.  While it lives, it has come or is asked for.  When its time is over, it is let go
    if it has come, and given up if it has not: then the application is told, and its source's later messages
    are delivered.  So a member never waits for a part longer than that, and nobody waits for a member.
Buffers
    Everyone keeps what has come for ``short_rounds`` rounds, first in, first out.  Those whom the hash of run
    and member chooses keep it for its whole life (``keepers``).  Of the rest its place alone is remembered,
    so that requests for it can be passed on.
Repair
    Once a round a member tells one other, drawn evenly, which parts it has (``digests``).  Who lacks some of
    them asks for them.  Who is asked answers with what it keeps, and passes requests for the rest on to one
    of those who keep it, who answers to the one that asked.
Catastrophic omission
    Two members that gossip and lack the same part take it that many do: the one that hears of the other's
    hole asks the source to multicast it again, and after two requests in vain those who keep it.  With k
    members lacking it about k²/n find each other in a round, so a few losses cause no such requests.  Who is
    asked does so once in ``AGAIN_ROUNDS`` rounds, however many ask.
When one's own message is settled
    Its rounds are over, and each other member has given a sign of life since: one that was out of reach for
    all of its rounds is not said to have it.  If such a member fails, the message is settled without it when
    the view ends.
At the end of a view
    The cut is the largest prefix that a survivor reports, where a prefix holds what has come or was given up.
    Who lacks something of it asks for it as in reliable delivery, for ``END_ROUNDS`` rounds at most, and then
    gives it up.
Paper
    Efficient Buffering in Reliable Multicast Protocols, sections 2 to 5; ``docs/papers/buffering.md``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from stablecast.multicast.announcing import NEVER
from stablecast.multicast.around import Counts
from stablecast.multicast.data_plane import DataPlane
from stablecast.multicast.digests import Range, Told, lacked_by_both, to_be_had, told_of
from stablecast.multicast.frames import AskMulticast, Data, Digest, Forward, Gossip, Messages, Nak, Run
from stablecast.multicast.repair import NAK_RANGES
from stablecast.multicast.streams import Kept, Stream, last_part, last_seq, size_of
from stablecast.multicast.terms import Terms

AGAIN_BYTES = 256 << 10
"""Most bytes that are multicast again because of one request."""
AGAIN_ROUNDS = 2
"""Rounds between two requests for the same parts, and between two multicasts of the same run."""
END_ROUNDS = 10
"""Rounds for which what is missing at the end of a view is asked for, unless a message lives shorter."""
JITTER = 0.1
"""Share by which rounds are longer or shorter, so that members do not go in step."""
MEASURED_LEAST = 1000
"""Parts from which on the measured loss says something."""


class BimodalPlane(DataPlane):
    """One member's payloads in one view, in bimodal delivery.

    Parameters
    ----------
    terms
        Copies, rounds and probabilities for the view's size.
    heard_all_at
        Returns a time since when each other member has given a sign of life, the latest such time.
    args, kwargs
        As for a :class:`DataPlane`, but who keeps what, which the terms tell.
    """

    def __init__(self, *args: Any, terms: Terms, heard_all_at: Callable[[], float], **kwargs: Any) -> None:
        super().__init__(*args, policy="bimodal", copies=terms.copies, short_s=0.0, **kwargs)
        self.terms = terms
        self._lost = 0
        self._multicasts_again = 0
        self._bases = list(self.prefixes())
        self._first_seqs = [self.streams.seq(source) for source in range(self._size)]
        self._seqs = list(self._first_seqs)
        """For each source, the last message that ends up to the last part that is known to exist."""
        self._marks: dict[int, deque[int]] = {}
        """For each source of which something lives, the last part that was known at each of its rounds."""
        self._began: deque[float] = deque(maxlen=terms.short_rounds + 1)
        """When the last rounds began."""
        self._round = 0
        self._round_at = NEVER
        self._give_up_at = NEVER
        self._over: deque[tuple[float, int]] = deque()
        """Of one's own parts whose rounds are over: since when, and the last of them."""
        self._heard_all_at = heard_all_at
        self._again: dict[tuple[int, int], int] = {}
        """Runs that were multicast again, with the round."""
        self._missed = 0
        """Parts that had to be asked for, or were given up."""

    # What is known

    @property
    def loss(self) -> float | None:
        """The share of first multicasts that did not come here, None while too little has come to tell."""
        known = sum(stream.prefix - self._bases[source] for source, stream in self.streams.known())
        known -= self.own.prefix - self._bases[self._rank]
        return self._missed / known if known >= MEASURED_LEAST else None

    def p_fail(self, *, failed: int = 0) -> float:
        """Return P_fail for the loss that was assumed, or the measured one if that is larger.

        If some members have failed meanwhile, what they kept is gone with them.
        """
        loss = max(self.terms.loss, self.loss or 0.0)
        return self.terms.p_fail(loss=loss, crash=failed / self._size)

    def counts(self) -> Counts:
        """Return what has happened so far."""
        first, others = self._first_seqs, self.streams.known()
        come_or_lost = sum(s.seq - first[source] for source, s in others if s is not self.own)
        return (
            super()
            .counts()
            ._replace(multicasts_again=self._multicasts_again, lost=self._lost, come_or_lost=come_or_lost)
        )

    def oldest_unstable(self) -> None:
        """Return nothing: nobody is waited for."""

    def awaited(self) -> list[tuple[int, Kept]]:
        """Return nothing: nobody is waited for."""
        return []

    # What has come

    def add_own(self, run: Run, now: float) -> int:
        """Take a run that this member is about to send; return its size."""
        size = super().add_own(run, now)
        self._seqs[self._rank] = last_seq(run)
        self._announcing.due = NEVER
        self._live(self._rank, now)
        return size

    def take(self, run: Run, now: float) -> bool:
        """Take in a run of another member; tell whether its source's prefix has grown."""
        source = run.source
        if not 0 <= source < self._size or source == self._rank:
            return False
        stream = self.streams[source]
        if last_part(run) >= stream.highest:
            self._seqs[source] = max(self._seqs[source], last_seq(run))
        gap = stream.gaps.holding(run.part)
        was_asked_for = gap is not None and gap.tries > 0
        grew = super().take(run, now)
        if was_asked_for and stream.gaps.holding(run.part) is None:
            self._missed += last_part(run) - run.part + 1
        if stream.highest > stream.stable:
            self._live(source, now)
        return grew

    def hear_of(self, source: int, part: int, by: int, now: float) -> None:
        """Take note that a source has sent up to a part, as it says itself or another member does."""
        super().hear_of(source, part, by, now)
        stream = self.streams[source]
        if stream.highest > stream.stable:
            self._live(source, now)

    def told_with_signs(self, sources: Iterable[int]) -> Gossip | None:
        """Return which messages this member has of these sources, or has given up."""
        streams = ((source, self.streams[source]) for source in sources)
        told = tuple((source, stream.prefix, stream.seq) for source, stream in streams)
        return Messages(self._view, told) if told else None

    def _take_messages(self, frame: Messages, now: float) -> bool:
        """Hear which messages end up to parts of each source, so that those given up can be told."""
        if not all(source < self._size for source, _, _ in frame.told):
            return False
        for source, part, seq in frame.told:
            if seq > self._seqs[source]:
                self._hear_of_message(source, part, seq, now)
        return True

    def _hear_of_message(self, source: int, part: int, seq: int, now: float) -> None:
        stream = self.streams[source]
        if source == self._rank or part < stream.highest:
            return
        self._seqs[source] = max(self._seqs[source], seq)
        if stream.prefix == part and self._seqs[source] > stream.seq:  # its parts were given up before
            self._tell_lost(source, stream, self._seqs[source], now)

    def _live(self, source: int, now: float) -> None:
        """Count rounds for a source of which something has come, or is known."""
        self._marks.setdefault(source, deque())
        if self._round_at == NEVER:
            self._round_at = now + self.terms.gossip_s * self._rng.random()

    def _joins(self, source: int, stream: Stream, run: Run, now: float) -> None:
        """Add a run to its source's prefix, and tell which messages are lost before it, or with it."""
        if run.seq > stream.seq + 1:
            self._tell_lost(source, stream, run.seq - 1, now)
        super()._joins(source, stream, run, now)
        if not isinstance(run, Data) and run.index == run.count - 1 and not stream.is_whole:
            self._lost += 1
            self._around.lost(source, stream, run.seq, run.seq, now)

    def tell_lost(self, sent: Mapping[int, int], now: float) -> None:
        """Tell which of the last messages of sources are lost, by how many these have sent, at the end."""
        for source, seq in sent.items():
            stream = self.streams[source]
            if source != self._rank and seq > stream.seq:
                self._tell_lost(source, stream, seq, now)

    def _tell_lost(self, source: int, stream: Stream, seq: int, now: float) -> None:
        first, stream.seq = stream.seq + 1, seq
        self._lost += seq - first + 1
        self._around.lost(source, stream, first, seq, now)

    # Rounds

    def next_timer(self) -> float:
        """Return when ``handle_timer`` is to be called."""
        answers = self._repair.next_timer()
        if self.limit is None:
            return min(self._round_at, answers)
        due = min((stream.gaps.next_at for stream in self._lacking.values()), default=NEVER)
        return min(due, self._give_up_at, answers)

    def timers(self) -> dict[str, float]:
        """Return when each of its timers is due: the next round, repairs that wait, the end of the view."""
        return {"round": self.next_timer(), "repair": self._repair.next_timer()}

    def handle_timer(self, now: float) -> None:
        """Begin a round; while the view ends, ask for what is missing, or give it up."""
        self._repair.handle_timer(now)
        if self.limit is None:
            if now >= self._round_at:
                self._begin_round(now)
            return
        self._ask_what_is_due(now)
        if now >= self._give_up_at:
            self._give_up_at = NEVER
            for source in sorted(self._not_cut):
                self._give_up(source, self.streams[source], self.limit[source], now)

    def _begin_round(self, now: float) -> None:
        """Let go of what has lived long enough, give up what is missing of it, and gossip."""
        self._round += 1
        self._round_at = now + self.terms.gossip_s * (1 + JITTER * (2 * self._rng.random() - 1))
        self._began.append(now)
        for source, marks in list(self._marks.items()):
            stream = self.streams[source]
            marks.append(stream.highest)
            if len(marks) > self.terms.rounds:
                part = marks.popleft()
                self._give_up(source, stream, part, now)
                if source == self._rank:
                    self._over.append((now, part))
                    part = self._settled()
                self._release(source, stream, min(part, stream.prefix), now)
            self._drop_others(source, stream, now)
            if stream.stable == stream.highest:
                del self._marks[source]
                self.busy.pop(source, None)
                self.settled[source] = None
        last = self._round - AGAIN_ROUNDS
        self._again = {run: at for run, at in self._again.items() if at > last}
        if self._marks:
            self._gossip()
        else:
            self._round_at = NEVER

    def _settled(self) -> int:
        """Return the last own part whose rounds were over before everyone last gave a sign of life."""
        part, heard_at = self.own.stable, self._heard_all_at()
        while self._over and self._over[0][0] <= heard_at:
            part = self._over.popleft()[1]
        return part

    def _drop_others(self, source: int, stream: Stream, now: float) -> None:
        """Let go of what has been here for the short time, and is for others to keep."""
        if len(self._began) > self.terms.short_rounds:
            dropped = stream.drop(self._began[0], partial(self._keepers.keeps, source))
            if dropped:
                self._around.dropped(source, dropped, now)

    def _give_up(self, source: int, stream: Stream, part: int, now: float) -> None:
        """Go on without what is missing up to a part, which is the last of a run."""
        while stream.prefix < part:
            gap = stream.gaps.holding(stream.prefix + 1)
            if gap is None:  # a run that is here, and may not be taken in: it goes beyond the cut
                break
            end = min(gap.last, part)
            self._missed += end - stream.prefix
            stream.skip(end)
            if end == stream.highest and self._seqs[source] > stream.seq:
                self._tell_lost(source, stream, self._seqs[source], now)
            run = self._pop_next(source, stream)
            if run is not None:
                self._append(source, stream, run, now)
        self._note_prefix(source, stream, now)

    def _gossip(self) -> None:
        """Tell one other member what has come here."""
        others = self._size - 1
        if others == 0:
            return
        rank = int(self._rng.random() * others)
        rank += rank >= self._rank
        told = [told_of(source, self.streams[source], self._seqs[source]) for source in self._marks]
        self._around.to_rank(Digest(self._view, list(told)), rank)

    # Gossip

    def take_gossip(self, frame: Gossip, rank: int, now: float) -> bool:
        """Take in what members say in bimodal delivery alone; tell whether it makes sense."""
        if isinstance(frame, Digest):
            told = [Told(*each) for each in frame.sources]
            if not all(0 <= each.source < self._size and each.is_sound for each in told):
                return False
            if self.limit is None and not self._around.is_full:
                for each in told:
                    if each.source != self._rank:
                        self._compare(each, rank, now)
            return True
        if isinstance(frame, Messages):
            return self._take_messages(frame, now)
        if not 0 <= frame.source < self._size:
            return False
        if isinstance(frame, AskMulticast):
            self._multicast_again(frame, now)
            return True
        if not 0 <= frame.to < self._size or frame.to == self._rank:
            return False
        self._repair.answer(Nak(self._view, frame.source, frame.ranges), frame.to, now)
        return True

    def _compare(self, told: Told, rank: int, now: float) -> None:
        """Ask for what is missing here: its sender for what it has, the source for what it lacks too."""
        source = told.source
        stream = self.streams[source]
        self._hear_of_message(source, told.highest, told.seq, now)
        self.hear_of(source, told.highest, rank, now)
        wanted: list[Range] = []
        shared: dict[int, list[Range]] = {}
        for gap in reversed(stream.gaps.due(now)):
            had, lacked = list(to_be_had(gap, told)), list(lacked_by_both(gap, told))
            if not had and not lacked:
                continue
            wanted += had
            if lacked:
                whom = self._repair.whom_to_ask(source, lacked[0][0], gap.tries, now)
                shared.setdefault(whom, []).extend(lacked)
            gap.due = now + AGAIN_ROUNDS * self.terms.gossip_s
            gap.tries, gap.asked = gap.tries + 1, now
        stream.gaps.rescheduled()
        if wanted:
            self._repair.request(Nak(self._view, source, wanted[:NAK_RANGES]), rank)
        for whom, ranges in shared.items():
            self._repair.asked += 1
            self._around.to_rank(AskMulticast(self._view, source, ranges[:NAK_RANGES]), whom)

    def answer(self, nak: Nak, rank: int, now: float) -> int:
        """Send a member what it lacks and this one keeps, and have others send the rest.

        Returns the bytes of one's own that were lost.
        """
        lost = super().answer(nak, rank, now)
        if 0 <= nak.source < self._size:
            self._pass_on(nak, rank)
        return lost

    def _pass_on(self, nak: Nak, rank: int) -> None:
        """Pass requests for what is not kept here on, each to one of those who keep it."""
        stream, asked = self.streams[nak.source], dict[int, list[Range]]()
        for first, last in nak.ranges[:NAK_RANGES]:
            for run in stream.dropped_between(first, last):
                whom = self._keepers.draw(nak.source, run.first, but=rank, draw=self._rng.random())
                if whom is not None:
                    asked.setdefault(whom, []).append((run.first, run.last))
        for whom, ranges in asked.items():
            for at in range(0, len(ranges), NAK_RANGES):
                part = ranges[at : at + NAK_RANGES]
                self._around.to_rank(Forward(self._view, nak.source, part, rank), whom)

    def _multicast_again(self, frame: AskMulticast, now: float) -> None:
        """Multicast what many lack and is kept here, unless that was done a short while ago."""
        stream, sent = self.streams[frame.source], 0
        for first, last in frame.ranges[:NAK_RANGES]:
            for run in stream.runs_between(first, last):
                if (frame.source, run.part) in self._again or sent > AGAIN_BYTES:
                    continue
                self._again[frame.source, run.part] = self._round
                self._multicasts_again += 1
                self._repair.sent += 1
                sent += size_of(run)
                self._around.to_audience(run)

    # The end of the view

    def stop(self) -> None:
        """Take in nothing beyond what there is."""
        super().stop()
        self._give_up_at = NEVER

    def get_up_to(self, cut: Sequence[int], holders: Sequence[int], now: float) -> None:
        """Take in everything up to the cut that can be had, and give up the rest after a while."""
        super().get_up_to(cut, holders, now)
        self._give_up_at = now + min(self.terms.rounds, END_ROUNDS) * self.terms.gossip_s
