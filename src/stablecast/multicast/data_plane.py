"""The payloads of one view at one member: what has come of each source, what is asked for, kept and let go.

Everything here ends with the view.  At its end all members that go on together have the same of every source
that they receive, the cut, so all of that is stable, and the next view begins with empty buffers.

Of a source that it does not receive (``membership/audiences``) a member takes in, asks for and keeps nothing,
and nobody waits for it: where members report what they have, it counts as having everything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import compress
from operator import gt

from stablecast.membership.actions import Randomness
from stablecast.membership.audiences import Audiences
from stablecast.membership.links import Links
from stablecast.multicast.announcing import Announcing
from stablecast.multicast.around import Counts, Stability, Surroundings
from stablecast.multicast.frames import Data, Gossip, Nak, Progress, Run, SentSoFar
from stablecast.multicast.heard import Heard
from stablecast.multicast.keepers import Keepers
from stablecast.multicast.repair import NAK_MOST_S, Repair
from stablecast.multicast.round_trips import RoundTrips
from stablecast.multicast.streams import Kept, Stream, Streams, last_part

LATE_WITHIN = 0.5
"""Of a round trip: what comes so soon after a request is no repair."""
EVERYTHING = 1 << 62
"""What a member reports to have of a source that it does not receive."""


class DataPlane:
    """One member's payloads in one view.

    Parameters
    ----------
    view
        The view's number, which goes into every frame.
    rank, sessions, labels
        Which of the members this is, and all of them by rank.
    numbers
        For each source its parts and messages before the view, which everyone has.
    audiences
        Who receives whom.
    policy, copies, short_s
        Who keeps what until it is stable (``keepers``), and for how long everyone does.
    first_s
        Returns the seconds in which messages become stable at the earliest.
    stability, around
        What is told, and what is done for the data plane.
    links, trips, rng
        Who is heard directly, how long a way takes, and chance.
    suspects
        Returns the ranks of those that are not heard of, at a time.
    above
        Returns by way of whom a source's data comes here, the nearest first and the source last; nobody if it
        comes directly.
    """

    def __init__(
        self,
        view: int,
        rank: int,
        *,
        sessions: Sequence[int],
        labels: Sequence[str],
        numbers: Sequence[tuple[int, int]],
        audiences: Audiences,
        policy: str,
        copies: float,
        short_s: float,
        first_s: Callable[[], float],
        stability: Stability,
        around: Surroundings,
        links: Links,
        trips: RoundTrips,
        rng: Randomness,
        suspects: Callable[[float], frozenset[int]],
        above: Callable[[int], tuple[int, ...]] = lambda source: (),
    ) -> None:
        self.streams = Streams(labels, numbers)
        self.own = self.streams[rank]
        self.busy: dict[int, Stream] = {}
        """Sources of which something is kept or missing; the others cost nothing."""
        self.settled: dict[int, None] = {}
        """Sources of which that was so until lately; whoever tells others of it empties it."""
        bases = [parts for parts, _ in numbers]
        self.has = Heard(bases)
        """For each member, its last part of each source that was heard of."""
        self.limit: list[int] | None = None
        """While the view ends, the last part of each source that may be taken in."""
        self.took_in = False
        """Whether something was added to what is kept; whoever looks how much that is sets it back."""
        self._view = view
        self._rank = rank
        self._size = len(labels)
        self._sessions = sessions
        self._drops = policy == "two-buffers"
        self._short_s = short_s
        self._stability = stability
        self._around = around
        self._links = links
        self._trips = trips
        self._rng = rng
        self._prefixes = list(bases)
        self._above = above
        self._not_cut: set[int] = set()
        """While the view ends, sources of which something up to the cut is missing."""
        self._audiences = audiences
        self._unheard = frozenset(audiences.unheard_by(rank))
        self._lacking: dict[int, Stream] = {}
        """Sources of which something may be missing: all that have gaps, and some that had."""
        self._keepers = Keepers(
            sessions,
            rank,
            audiences=audiences,
            policy=policy,
            copies=copies,
            has=self.has,
            links=links,
            above=above,
        )
        self._repair = Repair(
            view,
            rank,
            sessions=sessions,
            streams=self.streams,
            keepers=self._keepers,
            around=around,
            trips=trips,
            rng=rng,
            suspects=suspects,
        )
        starter = stability.starter
        self._announcing = Announcing(
            view,
            rank,
            self.own,
            first_s=first_s,
            stability=stability,
            around=around,
            far_starter=None if starter is None or audiences.hears(starter, rank) else starter,
        )

    def counts(self) -> Counts:
        """Return what has happened so far."""
        return Counts(self._repair.asked, self._repair.sent)

    # What has come

    def kept_bytes(self) -> int:
        """Return what all copies that are kept take."""
        return self.streams.held.bytes

    def prefixes(self) -> tuple[int, ...]:
        """Return each source's last part before the first gap."""
        return tuple(self._prefixes)

    def reported(self, source: int) -> int:
        """Return the last part of a source that nobody has to wait for here."""
        return EVERYTHING if source in self._unheard else self._prefixes[source]

    def is_to_have(self, rank: int, source: int) -> bool:
        """Tell whether a member is to have a source's messages."""
        return self._audiences.hears(rank, source)

    def lacking(self, source: int, part: int) -> list[int]:
        """Return the ranks of those who are to have a source's part, and are not known to."""
        has = self.has
        return [rank for rank in self._audiences.with_source(source) if has.of(rank, source) < part]

    def add_own(self, run: Run, now: float) -> int:
        """Take a run that this member is about to send; return its size."""
        rank = self._rank
        size = self.own.append(run, now)
        self.took_in = True
        self.busy[rank] = self.own
        self._prefixes[rank] = self.own.prefix
        self.has.take(rank, rank, self.own.prefix)
        self._around.took(rank, self.own, run, now)
        self._stability.has_received(rank, self.own.prefix, now)
        self._announcing.sent(now)
        return size

    def take(self, run: Run, now: float) -> bool:
        """Take in a run of another member, from itself or from who keeps a copy.

        Tells whether its source's prefix has grown.
        """
        source, stability = run.source, self._stability
        if not 0 <= source < self._size or source == self._rank or source in self._unheard:
            return False
        if not _is_sound(run, stability.width):
            return False
        stream = self.busy[source] = self.streams[source]
        self.took_in = True
        if run.stable > stream.stable:
            self._let_go(source, stream, run.stable, now)
        if self.limit is not None and last_part(run) > self.limit[source]:
            return False
        if not stability.holds(source, last_part(run)):
            return False
        if stream.highest > stream.prefix:
            self._observe_late(source, stream, run, now)
        if run.part != stream.prefix + 1:
            if run.part > stream.prefix and not self._around.is_full:
                due = now + self._trips.late_by(self._sessions[source])
                self._lacking[source] = stream
                if stream.put_ahead(run, due, now) and stability.attaches:
                    stability.put_attached(source, run.part, run.attached)
            return False
        if self._around.is_full and self.limit is None:
            stream.hear_of(last_part(run), now + NAK_MOST_S)
            self._lacking[source] = stream
            return False
        if stability.attaches:
            stability.put_attached(source, run.part, run.attached)
        self._append(source, stream, run, now)
        return True

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
        self._stability.take_stable(source, part)
        self._release(source, stream, min(part, stream.prefix), now)

    def _append(self, source: int, stream: Stream, run: Run, now: float) -> None:
        taken: Run | None = run
        while taken is not None:
            self._joins(source, stream, taken, now)
            taken = self._pop_next(source, stream)
        self._note_prefix(source, stream, now)

    def _joins(self, source: int, stream: Stream, run: Run, now: float) -> None:
        """Add the next run to its source's prefix."""
        stream.append(run, now)
        self._around.took(source, stream, run, now)

    def _note_prefix(self, source: int, stream: Stream, now: float) -> None:
        self._prefixes[source] = stream.prefix
        if source in self._not_cut and self.limit is not None and stream.prefix >= self.limit[source]:
            self._not_cut.remove(source)
        self.has.take(self._rank, source, stream.prefix)
        self._stability.has_received(source, stream.prefix, now)

    def _pop_next(self, source: int, stream: Stream) -> Run | None:
        """Take out the run that is next now, if it has come and may be taken in."""
        if self.limit is not None:
            run = stream.ahead.get(stream.prefix + 1)
            if run is None or last_part(run) > self.limit[source]:
                return None
        return stream.pop_next()

    # What is known of others

    def hear_of(self, source: int, part: int, by: int, now: float) -> None:
        """Take note that a source has sent up to a part, as it says itself or another member does.

        What another member has may still be on its way here: it is given a round trip to the source, or as
        many as there are members that pass it on.
        """
        if source in self._unheard:
            self._stability.exists(source, part)
            return
        if source == self._rank or part <= self._prefixes[source]:
            return
        stream = self.streams[source]
        if part <= stream.highest:
            return
        session = self._sessions[source]
        wait = self._trips.late_by(session)
        if by != source:
            wait = max(wait, self._trips.mean(session) * max(1, len(self._above(source))))
        stream.hear_of(part, now + wait)
        self.busy[source] = self._lacking[source] = stream

    def told_with_signs(self, sources: Iterable[int]) -> Gossip | None:
        """Return what goes out with signs of life that are about these sources: nothing."""
        return None

    def take_sent_so_far(self, frame: SentSoFar, rank: int, now: float) -> None:
        """Hear how much a member has sent, and what it knows of that."""
        self.hear_of(rank, frame.parts, rank, now)
        self._stability.take_stable(rank, frame.stable)
        self.has.take(rank, rank, frame.parts)
        if frame.ask and rank not in self._unheard:
            self._around.to_rank(Progress(self._view, rank, self._prefixes[rank]), rank)

    # Repair

    def take_gossip(self, frame: Gossip, rank: int, now: float) -> bool:
        """Tell whether there is gossip about payloads: in reliable delivery there is none."""
        return False

    def ask_again(self, now: float) -> None:
        """Ask at once for everything that is missing: there is room for it again."""
        for source, stream in self.streams.known():
            if stream.lacks:
                self.busy[source] = stream
                stream.gaps.ask_all(now)

    def answer(self, nak: Nak, rank: int, now: float) -> int:
        """Send a member what it lacks and this one keeps; return the bytes of one's own that were lost."""
        return self._repair.answer(nak, rank, now)

    # Letting go

    def sweep(self, now: float) -> None:
        """Let go of what has become stable."""
        stability = self._stability
        if not stability.rose:
            return
        stability.rose = False
        for source, stream in list(self.busy.items()):
            part = stability.stable[source]
            if part > stream.stable:
                self._release(source, stream, min(part, stream.prefix), now)
                if source == self._rank:
                    self._announcing.became_stable = True
            if not stream.kept and not stream.ahead and not stream.gaps:
                del self.busy[source]
                self.settled[source] = None

    def _release(self, source: int, stream: Stream, part: int, now: float) -> None:
        released = stream.release(part)
        if released:
            self._around.released(source, stream, released, now)

    def drop_what_others_keep(self, now: float) -> None:
        """With two buffers, let go of what is kept elsewhere and was here for a while."""
        if not self._drops or self.limit is not None:
            return
        before = now - self._short_s
        for source, stream in list(self.busy.items()):
            if source != self._rank:
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
        hears = self._audiences.hears
        unheard = (
            self.has.of(to, source)
            for sender, to in self._links.known()
            if sender == source and hears(to, source)
        )
        return min(unheard, default=self._prefixes[source])

    def oldest_unstable(self) -> tuple[float, int, int] | None:
        """Return when the oldest unstable run came, its source and its last part; None if there is none."""
        return min(((kept.at, source, kept.last) for source, kept in self.awaited()), default=None)

    def awaited(self) -> list[tuple[int, Kept]]:
        """Return for each source the oldest run that is unstable, which somebody is waited for with."""
        return [(source, oldest) for source, s in self.busy.items() if (oldest := s.oldest) is not None]

    # The end of the view

    def stop(self) -> None:
        """Take in nothing beyond what there is."""
        self.limit = list(self._prefixes)
        self._not_cut.clear()
        self._keepers.holders = None

    def get_up_to(self, cut: Sequence[int], holders: Sequence[int], now: float) -> None:
        """Take in everything up to the cut, and ask its holders for it."""
        self.limit, self._keepers.holders = list(cut), holders
        ahead = compress(range(self._size), map(gt, cut, self._prefixes))
        self._not_cut = {source for source in ahead if source not in self._unheard}
        for source in sorted(self._not_cut):
            stream, part = self.streams[source], cut[source]
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
        """Tell whether everything up to the cut is here, of what this member receives."""
        return self.limit is not None and not self._not_cut

    def settle(self, now: float) -> None:
        """Call everything stable: the view is over, and everyone who goes on has the same."""
        for source, stream in self.streams.known():
            self._release(source, stream, stream.prefix, now)

    # Time

    def next_timer(self) -> float:
        """Return when ``handle_timer`` is to be called."""
        at = min(self._announcing.due, self._repair.next_timer())
        for stream in self._lacking.values():
            due = stream.gaps.next_at
            if due < at:
                at = due
        return at

    def timers(self) -> dict[str, float]:
        """Return when each of its timers is due: requests, repairs that wait, telling what was sent."""
        asks = min((stream.gaps.next_at for stream in self._lacking.values()), default=math.inf)
        return {"nak": asks, "repair": self._repair.next_timer(), "sent": self._announcing.due}

    def handle_timer(self, now: float) -> None:
        """Ask for what is missing, and say how much was sent, if it is time to."""
        self._ask_what_is_due(now)
        self._repair.handle_timer(now)
        if self._announcing.due <= now or self._announcing.became_stable:
            self._announcing.handle_timer(now)

    def _ask_what_is_due(self, now: float) -> None:
        if self._lacking:
            for source, stream in self.busy.items():
                if stream.gaps.next_at <= now:
                    self._repair.ask(source, self._wanted_up_to(source, stream), now)
            self._lacking = {source: stream for source, stream in self._lacking.items() if stream.gaps}

    def _wanted_up_to(self, source: int, stream: Stream) -> int:
        """Return the last part to ask for: none while the application takes nothing."""
        if self.limit is not None:
            return self.limit[source]
        return 0 if self._around.is_full else stream.highest

    def ask_progress(self) -> None:
        """Ask the audience how far they have come with one's own messages."""
        self._announcing.ask_progress()


def _is_sound(run: Run, width: int) -> bool:
    """Tell whether a run's numbers make sense, where ``width`` numbers are attached to each part."""
    if width and len(run.attached) != width * (last_part(run) - run.part + 1):
        return False
    if isinstance(run, Data):
        return bool(run.payloads)
    return 0 <= run.index < run.count
