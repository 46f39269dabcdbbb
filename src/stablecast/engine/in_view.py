"""One member in one view: what has come of each source, what is asked for, kept and let go.

Everything here ends with the view.  At its end all members that go on together have the same of every source,
the cut, so all of that is stable, and the next view begins with empty buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import compress
from operator import gt
from typing import Protocol

import msgspec

from stablecast.engine.heard import Heard
from stablecast.engine.keepers import Keepers
from stablecast.engine.options import Options
from stablecast.engine.pace import Pace
from stablecast.engine.reports import Rounds, Told, is_inside
from stablecast.engine.round_trips import NO_ECHO, RoundTrips, Stamps
from stablecast.engine.streams import Kept, Run, Stream, last_part, size_of
from stablecast.engine.tracker import Tracker
from stablecast.engine.wire import (
    AnyFrame,
    Data,
    Nak,
    Progress,
    SentSoFar,
    Stability,
)
from stablecast.membership.actions import Randomness
from stablecast.membership.detector import Detector
from stablecast.membership.links import Links
from stablecast.membership.messages import Alive
from stablecast.membership.view import View

NAK_MOST_S = 0.5
"""Seconds between two requests at most, unless two round trips are longer."""
LATE_WITHIN = 0.5
"""Of a round trip: what comes so soon after a request is no repair."""
NAK_GROWTH = 1.5
NAK_JITTER = 0.25
NAK_RANGES = 64
REPAIR_BYTES = 256 << 10
"""Most bytes that one request is answered with."""
LOST_AFTER_S = 0.01
"""A message of one's own that somebody asks for is lost if it is older than this; otherwise just late."""
ANNOUNCE_FIRST_S = 0.01
ANNOUNCE_MOST_S = 0.5
PATIENCE_S = 1.0
PATIENCE_TRIPS = 4
"""Age from which on an unstable message is overdue, in seconds and in round trips, whichever is longer."""


class Surroundings(Protocol):
    """What the engine does for a view."""

    def to_rank(self, frame: AnyFrame, rank: int) -> None:
        """Send a frame to one member."""

    def to_all(self, frame: AnyFrame) -> None:
        """Send a frame to all other members."""

    def took(self, source: int, stream: Stream, run: Run, now: float) -> None:
        """Take note of a run that has joined its source's prefix."""

    def released(self, source: int, stream: Stream, runs: list[Kept], now: float) -> None:
        """Take note of runs that everyone has."""

    def dropped(self, source: int, runs: list[Kept], now: float) -> None:
        """Take note of runs that are kept elsewhere."""

    @property
    def is_full(self) -> bool:
        """Whether the application has too much waiting for it."""


class InView:
    """One member in one view."""

    def __init__(
        self,
        view: View,
        session: int,
        numbers: Sequence[tuple[int, int]],
        *,
        labels: Sequence[str],
        options: Options,
        around: Surroundings,
        rng: Randomness,
        trips: RoundTrips,
        now: float,
    ) -> None:
        self.view = view
        self.rank = view.rank_of(session)
        self.size = len(view.members)
        self.labels = list(labels)
        """What the members are called here, by rank."""
        self.agreed = [member.label for member in view.members]
        """What all call them, in traces."""
        self.ranks = {member.session: rank for rank, member in enumerate(view.members)}
        self.addresses = [member.address for member in view.members]
        self.others = [a for rank, a in enumerate(self.addresses) if rank != self.rank]
        self.options = options
        self.streams = [
            Stream(label, parts=parts, messages=messages)
            for label, (parts, messages) in zip(self.labels, numbers, strict=True)
        ]
        self.own = self.streams[self.rank]
        self.busy: dict[int, Stream] = {}
        """Sources of which something is kept or missing; the others cost nothing."""
        self.pace = Pace(options.pace, self.size)
        self.detector = Detector(
            view, session, fail_after=options.fail_after, every=options.alive_every, rng=rng, now=now
        )
        self.links = Links(self.rank, self.size)
        self._rounds = Rounds(self.rank, self.size)
        bases = [parts for parts, _ in numbers]
        self.has = Heard(bases)
        """For each member, its last part of each source that was heard of."""
        self._prefixes = list(bases)
        self._told = list(bases)
        """For each source, the last part that a sign of life has told of."""
        self._told_stable: tuple[int, ...] = ()
        """What the last sign of life told to be stable; the same again is no news."""
        self._lacking: dict[int, Stream] = {}
        """Sources of which something may be missing: all that have gaps, and some that had."""
        self._reported = [now] * self.size
        self.limit: list[int] | None = None
        """While the view ends, the last part of each source that may be taken in."""
        self.took_in = False
        """Whether something was added to what is kept; whoever looks how much that is sets it back."""
        self.repairs_asked = 0
        self.repairs_sent = 0
        self._around = around
        self._rng = rng
        self._trips = trips
        self._sessions = view.sessions
        self._stamps = Stamps()
        self._announce_at = 0.0
        self._announce_wait = ANNOUNCE_FIRST_S
        self._tells_stable = False
        self._pressed_at = 0.0
        self._keepers = Keepers(
            view,
            self.rank,
            policy=options.policy,
            copies=options.copies,
            has=self.has,
            links=self.links,
        )
        self.tracker = Tracker(
            options.choice,
            view=view.id,
            rank=self.rank,
            bases=bases,
            pace=self.pace,
            send=self._send_stability,
            now=now,
        )

    def _send_stability(self, frame: Stability, rank: int) -> None:
        if rank < 0:
            self._around.to_all(frame)
        else:
            self._around.to_rank(frame, rank)

    @property
    def me(self) -> str:
        """What this member is called."""
        return self.labels[self.rank]

    # Data

    def kept_bytes(self) -> int:
        """Return what all copies that are kept take."""
        return sum(stream.kept_bytes + stream.ahead_bytes for stream in self.busy.values())

    def add_own(self, run: Run, now: float) -> int:
        """Take a run that this member is about to send; return its size."""
        size = self.own.append(run, now)
        self.took_in = True
        self.busy[self.rank] = self.own
        self._prefixes[self.rank] = self.own.prefix
        self.has.take(self.rank, self.rank, self.own.prefix)
        self._around.took(self.rank, self.own, run, now)
        self.tracker.has_received(self.rank, self.own.prefix, now)
        self._announce_wait = ANNOUNCE_FIRST_S
        self._announce_at = now + ANNOUNCE_FIRST_S
        self._press(now)
        return size

    def take(self, run: Run, now: float) -> None:
        """Take in a run of another member, from itself or from who keeps a copy."""
        source = run.source
        if not 0 <= source < self.size or source == self.rank:
            return
        if not _is_sound(run, self.tracker.width):
            return
        stream = self.busy[source] = self.streams[source]
        self.took_in = True
        if run.stable > stream.stable:
            self._let_go(source, stream, run.stable, now)
        if self.limit is not None and last_part(run) > self.limit[source]:
            return
        if not self.tracker.holds(source, last_part(run)):
            return
        if stream.highest > stream.prefix:
            self._observe_late(source, stream, run, now)
        if run.part != stream.prefix + 1:
            if run.part > stream.prefix and not self._around.is_full:
                due = now + self._trips.late_by(self._sessions[source])
                self._lacking[source] = stream
                if stream.put_ahead(run, due, now) and self.tracker.attaches:
                    self.tracker.put_attached(source, run.part, run.attached)
            return
        if self._around.is_full and self.limit is None:
            stream.hear_of(last_part(run), now + NAK_MOST_S)
            self._lacking[source] = stream
            return
        if self.tracker.attaches:
            self.tracker.put_attached(source, run.part, run.attached)
        self._append(source, stream, run, now)

    def _observe_late(self, source: int, stream: Stream, run: Run, now: float) -> None:
        """See by how much a run was overtaken by later ones."""
        gap, session = stream.gaps.holding(run.part), self._sessions[source]
        if gap is not None and self._trips.knows(session):
            late = gap.late_by(now, LATE_WITHIN * self._trips.mean(session))
            if late is not None:
                self._trips.was_late(session, late)

    def _let_go(self, source: int, stream: Stream, part: int, now: float) -> None:
        """Let go of what a source knows to be everywhere, before more of it is taken in.

        A source has no more unstable than its share, as far as it knows; so it is bounded here too.
        """
        self.tracker.take_stable(source, part)
        self._release(source, stream, min(part, stream.prefix), now)

    def _append(self, source: int, stream: Stream, run: Run, now: float) -> None:
        around = self._around
        taken: Run | None = run
        while taken is not None:
            stream.append(taken, now)
            around.took(source, stream, taken, now)
            taken = self._pop_next(source, stream)
        self._prefixes[source] = stream.prefix
        self.has.take(self.rank, source, stream.prefix)
        self.tracker.has_received(source, stream.prefix, now)
        self._press(now)

    def _pop_next(self, source: int, stream: Stream) -> Run | None:
        """Take out the run that is next now, if it has come and may be taken in."""
        if self.limit is not None:
            run = stream.ahead.get(stream.prefix + 1)
            if run is None or last_part(run) > self.limit[source]:
                return None
        return stream.pop_next()

    def _press(self, now: float) -> None:
        """Look for stability before its time where much is unstable."""
        if now - self._pressed_at < self.pace.step / 2:
            return
        self._pressed_at = now
        kept = self.kept_bytes()
        if self.pace.is_pressed(kept, kept / self.options.buffer_bytes):
            self.tracker.press(now)

    def hear_of(self, source: int, part: int, by: int, now: float) -> None:
        """Take note that a source has sent up to a part, as it says itself or another member does.

        What another member has may still be on its way here: it is given a round trip to the source.
        """
        stream = self.streams[source]
        if source == self.rank or part <= stream.highest:
            return
        session = self._sessions[source]
        wait = self._trips.late_by(session)
        if by != source:
            wait = max(wait, self._trips.mean(session))
        stream.hear_of(part, now + wait)
        self.busy[source] = self._lacking[source] = stream

    def ask_again(self, now: float) -> None:
        """Ask at once for everything that is missing: there is room for it again."""
        for source, stream in enumerate(self.streams):
            if stream.lacks:
                self.busy[source] = stream
                stream.gaps.ask_all(now)

    # Repair

    def _ask(self, source: int, stream: Stream, now: float) -> None:
        """Ask those who may keep it for what is missing."""
        end = stream.highest if self.limit is None else self.limit[source]
        takes_nothing = self._around.is_full and self.limit is None
        suspects = self.detector.suspects(now)
        asked: dict[int, list[tuple[int, int]]] = {}
        for gap in stream.gaps.due(now):
            if takes_nothing or gap.first > end:
                gap.due = now + NAK_MOST_S
                continue
            rank = self._keepers.whom_to_ask(source, gap.first, tries=gap.tries, suspects=suspects)
            asked.setdefault(rank, []).append((gap.first, min(gap.last, end)))
            gap.due = now + self._answer_within(rank, gap.tries)
            gap.tries, gap.asked = gap.tries + 1, now
        stream.gaps.rescheduled()
        for rank, ranges in asked.items():
            for at in range(0, len(ranges), NAK_RANGES):
                self._around.to_rank(Nak(self.view.id, source, ranges[at : at + NAK_RANGES]), rank)
                self.repairs_asked += 1

    def _answer_within(self, rank: int, tries: int) -> float:
        """Return after how long a request that was not answered is repeated; longer each time."""
        once = self._trips.answer_within(self._sessions[rank])
        wait = min(once * NAK_GROWTH ** min(tries, 12), max(NAK_MOST_S, 2 * once))
        return wait * (1 + NAK_JITTER * self._rng.random())

    def answer(self, nak: Nak, rank: int, now: float) -> int:
        """Send a member what it lacks and this one keeps; return the bytes of one's own that were lost."""
        if not 0 <= nak.source < self.size:
            return 0
        stream, sent, lost = self.streams[nak.source], 0, 0
        for first, last in nak.ranges[:NAK_RANGES]:
            for run in stream.runs_between(first, last):
                self._around.to_rank(run, rank)
                self.repairs_sent += 1
                size = size_of(run)
                sent += size
                if nak.source == self.rank and now - stream.kept[run.part].at > LOST_AFTER_S:
                    lost += size
                if sent > REPAIR_BYTES:
                    return lost
        return lost

    # The end of the view

    def prefixes(self) -> tuple[int, ...]:
        """Return each source's last part before the first gap."""
        return tuple(self._prefixes)

    def stop(self) -> None:
        """Take in nothing beyond what there is."""
        self.limit = [stream.prefix for stream in self.streams]
        self._keepers.holders = None

    def get_up_to(self, cut: Sequence[int], holders: Sequence[int], now: float) -> None:
        """Take in everything up to the cut, and ask its holders for it."""
        self.limit, self._keepers.holders = list(cut), holders
        for source, (stream, part) in enumerate(zip(self.streams, cut, strict=True)):
            stream.hear_of(part, now)
            self._lacking[source] = stream
            run = self._pop_next(source, stream)
            if run is not None:
                self.took_in = True
                self._append(source, stream, run, now)
            if stream.prefix < part:
                self.busy[source] = stream
                stream.gaps.ask_all(now)

    def has_cut(self) -> bool:
        """Tell whether everything up to the cut is here."""
        return self.limit is not None and all(
            s.prefix >= part for s, part in zip(self.streams, self.limit, strict=True)
        )

    def settle(self, now: float) -> None:
        """Call everything stable: the view is over, and everyone who goes on has the same."""
        for source, stream in enumerate(self.streams):
            self._release(source, stream, stream.prefix, now)

    # Stability

    def take_stability(self, frame: Stability, rank: int, now: float) -> bool:
        """Take in a message of the stability protocol; tell whether it is one."""
        return self.tracker.receive(frame, rank, now)

    def sweep(self, now: float) -> None:
        """Let go of what has become stable."""
        if not self.tracker.rose:
            return
        self.tracker.rose = False
        for source, stream in list(self.busy.items()):
            part = self.tracker.stable[source]
            if part > stream.stable:
                self._release(source, stream, min(part, stream.prefix), now)
                if source == self.rank:
                    self._tells_stable = True
            if not stream.kept and not stream.ahead and not stream.gaps:
                del self.busy[source]

    def _release(self, source: int, stream: Stream, part: int, now: float) -> None:
        released = stream.release(part)
        if released:
            self._around.released(source, stream, released, now)

    def take_sent_so_far(self, frame: SentSoFar, rank: int, now: float) -> None:
        """Hear how much a member has sent, and what it knows of that."""
        self.hear_of(rank, frame.parts, rank, now)
        self.tracker.take_stable(rank, frame.stable)
        self.has.take(rank, rank, frame.parts)
        if frame.ask:
            self._around.to_rank(Progress(self.view.id, rank, self.streams[rank].prefix), rank)

    def take_progress(self, frame: Progress, rank: int, now: float) -> None:
        """Hear how far a member has come with a source."""
        if 0 <= frame.source < self.size:
            self._reported[rank] = now
            self.has.take(rank, frame.source, frame.part)

    def take_alive(self, frame: Alive, rank: int, now: float) -> None:
        """Hear signs of life, how far a member has come, and what it knows to be stable."""
        if len(frame.received) != self.size or len(frame.stable) != self.size:
            return
        self.detector.merge(frame.counters, rank, now)
        self._stamps.take(rank, frame.stamp, now)
        seconds = self._stamps.round_trip(frame.echo, now)
        if seconds is not None:
            self._trips.sample(self._sessions[rank], seconds)
        elif frame.stamp and not self._trips.knows(self._sessions[rank]):
            self._send_alive([rank], now)
        self._reported[rank] = now
        self._hear_what_it_has(frame.received, rank, now)
        if frame.stable != self._told_stable:
            self._told_stable = frame.stable
            for source in self._above(frame.stable, self.tracker.stable):
                self.tracker.take_stable(source, frame.stable[source])
        self.links.take(frame.dead)
        if frame.round and len(frame.least) == self.size:
            self._take_round((frame.round, frame.least, frame.inside), now)

    def _hear_what_it_has(self, received: Sequence[int], rank: int, now: float) -> None:
        """Hear how far a member has come; what signs of life have told before needs no second look."""
        news = self._above(received, self._told)
        for source in news:
            self._told[source] = received[source]
            self.hear_of(source, received[source], rank, now)
        self.has.take_row(rank, received, news)

    def _above(self, told: Sequence[int], known: Sequence[int]) -> list[int]:
        """Return the sources of which more is told than is known, in their order."""
        return list(compress(range(self.size), map(gt, told, known)))

    def _take_round(self, told: Told, now: float) -> None:
        """Hear what everyone has that is in a round, and conclude what is stable if that is everyone."""
        for source, part in enumerate(self._rounds.take(told, self.prefixes(), now)):
            self.tracker.take_stable(source, part)
        _, least, inside = told
        for rank in self.links.unheard():
            if is_inside(inside, rank):
                self.has.take_row(rank, least, range(self.size))

    def has_had_its_turn(self, rank: int, since: float, now: float) -> bool:
        """Tell whether a member would have said by now that it has what was sent at a time."""
        said = self._reported[rank] >= since + self._trips.mean(self._sessions[rank])
        return said or now - self._reported[rank] > self._turns_s

    def may_have_had_turns(self, since: float, now: float) -> set[int]:
        """Return the ranks of all members for which that may be so, of what was sent then or later."""
        turns_s = self._turns_s
        return {rank for rank, at in enumerate(self._reported) if at >= since or now - at > turns_s}

    @property
    def _turns_s(self) -> float:
        """Seconds in which everyone has had a turn to report, with time to spare."""
        return 2 * self.detector.turn_s + self.detector.every

    @property
    def patience(self) -> float:
        """Seconds after which a message is overdue that is not stable."""
        return max(PATIENCE_S, PATIENCE_TRIPS * self._trips.longest())

    def _oldest_unstable(self) -> tuple[float, int, int] | None:
        """Return when the oldest unstable run came, its source and its last part; None if there is none."""
        found = [(o.at, source, o.last) for source, s in self.busy.items() if (o := s.oldest) is not None]
        return min(found, default=None)

    def age_of_unstable(self, now: float) -> float:
        """Return the age of the oldest unstable message; 0 if there is none."""
        oldest = self._oldest_unstable()
        return 0.0 if oldest is None else now - oldest[0]

    def lacking_oldest(self) -> tuple[str, ...]:
        """Return who has not said to have the oldest unstable message, of those who can be heard."""
        oldest = self._oldest_unstable()
        if oldest is None:
            return ()
        _, source, last = oldest
        lacking = [rank for rank, part in enumerate(self.has.column(source)) if part < last]
        return tuple(self.labels[rank] for rank in lacking if self.links.hears(rank))

    # Time

    def next_timer(self) -> float:
        """Return when ``handle_timer`` is to be called."""
        at = self.detector.next_tick
        tracked = None if self.limit is not None else self.tracker.next_timer()
        if tracked is not None and tracked < at:
            at = tracked
        if 0.0 < self._announce_at < at:
            at = self._announce_at
        for stream in self._lacking.values():
            due = stream.gaps.next_at
            if due < at:
                at = due
        return at

    def handle_timer(self, now: float) -> None:
        """Do what is due."""
        if self.limit is None:
            self.tracker.handle_timer(now)
        if self._lacking:
            for source, stream in self.busy.items():
                if stream.gaps.next_at <= now:
                    self._ask(source, stream, now)
            self._lacking = {source: stream for source, stream in self._lacking.items() if stream.gaps}
        if 0.0 < self._announce_at <= now or self._tells_stable:
            self._announce(now)
        if now >= self.detector.next_tick:
            self._tell_alive(now)
            if self.options.policy == "two-buffers" and self.limit is None:
                self._drop_what_others_keep(now)

    def _announce(self, now: float) -> None:
        """Say how much was sent, at doubling distances while something is unstable: the last may be lost."""
        due = 0.0 < self._announce_at <= now
        if due or (self._tells_stable and self.tracker.knows_own):
            self._around.to_all(SentSoFar(self.view.id, self.own.prefix, self.tracker.stable[self.rank]))
        self._tells_stable = False
        if due:
            self._announce_wait = min(2 * self._announce_wait, ANNOUNCE_MOST_S)
            self._announce_at = now + self._announce_wait if self.own.stable < self.own.prefix else 0.0

    def ask_progress(self) -> None:
        """Ask everyone how far they have come with one's own messages."""
        frame = SentSoFar(self.view.id, self.own.prefix, self.tracker.stable[self.rank], True)
        self._around.to_all(frame)

    def _tell_alive(self, now: float) -> None:
        ranks = self.detector.tick(now)
        self.links.look(self.detector.unheard(now), self.detector.counters())
        if self.limit is None and self.age_of_unstable(now) > self.patience:
            self._rounds.begin(self.prefixes(), now)
        self._send_alive(ranks, now)

    def _send_alive(self, ranks: list[int], now: float) -> None:
        frame = Alive(
            self.view.id,
            self.detector.counters(),
            self.prefixes(),
            tuple(self.tracker.stable),
            self._around.is_full,
            self._stamps.stamp(now),
            NO_ECHO,
            *self._rounds.to_tell(now),
            self.links.to_tell(),
        )
        for rank in ranks:
            self._around.to_rank(msgspec.structs.replace(frame, echo=self._stamps.echo(rank, now)), rank)

    def _drop_what_others_keep(self, now: float) -> None:
        before = now - self.options.short_s
        for source, stream in enumerate(self.streams):
            if source != self.rank:
                dropped = stream.drop(before, partial(self._keeps, source, self._come_to_all(source)))
                if dropped:
                    self._around.dropped(source, dropped, now)

    def _keeps(self, source: int, come: int, run: Run) -> bool:
        """Tell whether this member keeps a run of a source, of which so much has come to all far from it."""
        return last_part(run) > come or self._keepers.keeps(source, run)

    def _come_to_all(self, source: int) -> int:
        """Return what has come of a source to those who cannot hear it.

        They get the rest from others, who therefore keep it: the hash may choose nobody but the source.
        """
        unheard = (self.has[to][source] for sender, to in self.links.known() if sender == source)
        return min(unheard, default=self.streams[source].prefix)


def _is_sound(run: Run, width: int) -> bool:
    """Tell whether a run's numbers make sense, where ``width`` numbers are attached to each part."""
    if width and len(run.attached) != width * (last_part(run) - run.part + 1):
        return False
    if isinstance(run, Data):
        return bool(run.payloads)
    return 0 <= run.index < run.count
