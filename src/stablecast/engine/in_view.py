"""One member in one view: its payloads, its signs of life and its stability protocol, put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from stablecast.engine.auto import Traffic
from stablecast.engine.degrees import degree_for
from stablecast.engine.fan_out import FanOut
from stablecast.engine.options import Options
from stablecast.engine.pace import Pace
from stablecast.engine.signs_of_life import SignsOfLife
from stablecast.engine.tracker import Tracker
from stablecast.engine.untracked import Untracked
from stablecast.engine.wire import STEP_MOST_US, AnyFrame, Stability, Step
from stablecast.membership.actions import Randomness
from stablecast.membership.detector import Detector
from stablecast.membership.links import Links
from stablecast.membership.roster import roster_of
from stablecast.membership.view import View
from stablecast.multicast.around import Surroundings as DataSurroundings
from stablecast.multicast.bimodal_plane import BimodalPlane
from stablecast.multicast.data_plane import DataPlane
from stablecast.multicast.frames import Progress, Run
from stablecast.multicast.round_trips import RoundTrips
from stablecast.multicast.terms import terms_of

TELL_AGAIN_S = 1.0
"""Seconds after which the step to take is told again, in case it was lost."""


class Surroundings(DataSurroundings, Protocol):
    """What the engine does for a view: what a data plane needs, and any frame to anyone."""

    def to_rank(self, frame: AnyFrame, rank: int) -> None:
        """Send a frame to one member."""

    def to_all(self, frame: AnyFrame) -> None:
        """Send a frame to all other members."""


class InView:
    """One member in one view."""

    def __init__(
        self,
        view: View,
        session: int,
        numbers: Sequence[tuple[int, int]],
        *,
        labels: tuple[str, ...],
        options: Options,
        around: Surroundings,
        rng: Randomness,
        trips: RoundTrips,
        now: float,
        time_offset_s: float = 0.0,
        ip_multicast: bool = False,
    ) -> None:
        roster = roster_of(view)
        self.view = roster.view
        self.rank = roster.ranks[session]
        self.since = now
        """When it began here; and the latest time that it knows of."""
        self.latest = now
        self._begun = [parts for parts, _ in numbers]
        self.size = roster.size
        self.agreed = roster.labels
        """What all call the members, in traces, by rank."""
        self.labels = labels
        """What they are called here."""
        self.ranks = roster.ranks
        self.addresses = roster.addresses
        self.audiences = roster.audiences
        """Who receives whom."""
        degree = None if ip_multicast else degree_for(options.fan_out, self.size)
        self.fan_out = FanOut(roster, self.rank, degree=degree)
        """Where goes what this member sends to many, and what it passes on."""
        me = view.members[self.rank]
        self.delivers_own = me.receives_from(me)
        """Whether its own messages are delivered to this member."""
        self.options = options
        self.choice = choice = options.choice_in(view.id)
        """The protocol that this view runs; None in bimodal delivery."""
        row = options.row_of(view.id)
        self.pace = Pace(
            options.pace,
            self.size,
            relays=choice is not None and choice.relays,
            takes_late=choice is not None and choice.takes_late,
            steps=1.0 if row is None else row.steps,
            trips=trips,
            steers=self.rank == 0 < self.size - 1,
        )
        self._step_number = 0
        """Of the newest step that was told, or heard of."""
        self._tell_again_at = now
        self.detector = Detector(
            view, session, fail_after=options.fail_after, every=options.alive_every, rng=rng, now=now
        )
        self.links = Links(self.rank, self.size, every=options.alive_every)
        self._around = around
        self._pressed_at = 0.0
        bases = [parts for parts, _ in numbers]
        self.tracker = self._tracker(bases, time_offset_s, now)
        self.data = self._data_plane()(
            view.id,
            self.rank,
            sessions=roster.sessions,
            labels=self.labels,
            numbers=numbers,
            audiences=self.audiences,
            first_s=self.pace.first_stable,
            stability=self.tracker,
            around=around,
            links=self.links,
            trips=trips,
            rng=rng,
            suspects=self.detector.suspects,
            above=self.fan_out.above,
        )
        self.signs = SignsOfLife(
            view,
            self.rank,
            detector=self.detector,
            links=self.links,
            data=self.data,
            stability=self.tracker,
            around=around,
            trips=trips,
            now=now,
        )

    def _tracker(self, bases: list[int], time_offset_s: float, now: float) -> Tracker | Untracked:
        choice = self.choice
        if choice is None:
            return Untracked(bases)
        return Tracker(
            choice,
            view=self.view.id,
            rank=self.rank,
            bases=bases,
            pace=self.pace,
            send=self._send_stability,
            now=now,
            zones=roster_of(self.view).zones,
            time_offset_s=time_offset_s,
            audiences=self.audiences,
        )

    def _data_plane(self) -> Callable[..., DataPlane]:
        options = self.options
        if options.bimodal is not None:
            terms = terms_of(options.bimodal, self.size)
            return partial(BimodalPlane, terms=terms, heard_all_at=self.detector.heard_all_at)
        return partial(DataPlane, policy=options.policy, copies=options.copies, short_s=options.short_s)

    def _send_stability(self, frame: Stability, rank: int) -> None:
        if rank < 0:
            self._around.to_all(frame)
        else:
            self._around.to_rank(frame, rank)

    @property
    def me(self) -> str:
        """What this member is called."""
        return self.labels[self.rank]

    def for_whom(self, source: int) -> tuple[str, ...]:
        """Return what those are called who are to have a source's messages, itself among them."""
        return tuple(self.labels[rank] for rank in self.audiences.with_source(source))

    def traffic(self) -> Traffic:
        """Return what was measured here since the view began."""
        came = [here - begun for here, begun in zip(self.data.prefixes(), self._begun, strict=True)]
        return Traffic(
            members=self.size,
            sources=sum(parts > 0 for parts in came),
            parts=sum(came),
            seconds=self.latest - self.since,
        )

    # Data

    def add_own(self, run: Run, now: float) -> int:
        """Take a run that this member is about to send; return its size."""
        size = self.data.add_own(run, now)
        self._press(now)
        return size

    def take(self, run: Run, now: float) -> None:
        """Take in a run of another member, from itself or from who keeps a copy."""
        if self.data.take(run, now):
            self._press(now)

    def _press(self, now: float) -> None:
        """Look for stability before its time where much is unstable."""
        if now - self._pressed_at < self.pace.step / 2:
            return
        self._pressed_at = now
        kept = self.data.kept_bytes()
        if self.pace.is_pressed(kept, kept / self.options.buffer_bytes):
            self.tracker.press(now)

    # Stability

    def take_stability(self, frame: Stability, rank: int, now: float) -> bool:
        """Take in a message of the stability protocol; tell whether it is one."""
        is_one = self.tracker.receive(frame, rank, now)
        self._tell_step(now)
        return is_one

    def take_step(self, frame: Step, rank: int) -> None:
        """Follow the member that searches for a good step."""
        if rank == 0 and self.options.pace.adaptive and frame.number > self._step_number:
            self._step_number = frame.number
            self.pace.follow(frame.step_us / 1e6)

    def _tell_step(self, now: float) -> None:
        """Tell the others which step to take: when it has changed, and while it matters, if that was lost."""
        steering = self.pace.steering
        if steering is None:
            return
        again = now >= self._tell_again_at and steering.is_measuring
        if steering.number == self._step_number and not again:
            return
        self._step_number, self._tell_again_at = steering.number, now + TELL_AGAIN_S
        step_us = min(max(round(steering.step_s * 1e6), 1), STEP_MOST_US)
        self._around.to_all(Step(self.view.id, steering.number, step_us))

    def take_progress(self, frame: Progress, rank: int, now: float) -> None:
        """Hear how far a member has come with a source."""
        if 0 <= frame.source < self.size:
            self.signs.hear_progress(rank, now)
            self.data.has.take(rank, frame.source, frame.part)

    def age_of_unstable(self, now: float) -> float:
        """Return the age of the oldest unstable message; 0 if there is none."""
        oldest = self.data.oldest_unstable()
        return 0.0 if oldest is None else now - oldest[0]

    def lacking_oldest(self) -> tuple[str, ...]:
        """Return who has not said to have the oldest unstable message, of those who can be heard."""
        oldest = self.data.oldest_unstable()
        if oldest is None:
            return ()
        at, source, last = oldest
        lacking = self.lacking(source, last, since=at)
        return tuple(self.labels[rank] for rank in lacking if self.links.hears(rank))

    def lacking(self, source: int, part: int, *, since: float) -> list[int]:
        """Return the ranks of those who are to have a part that came at a time, and are known not to say so.

        In a large group this member hears from a few others what they have.  Of the rest nothing is known.
        """
        lacking = self.data.lacking(source, part)
        return [rank for rank in lacking if self.signs.is_known(rank, since)]

    # Time

    def next_timer(self) -> float:
        """Return when ``handle_timer`` is to be called."""
        at = min(self.detector.next_tick, self.detector.passing_on.at, self.data.next_timer())
        tracked = None if self.data.limit is not None else self.tracker.next_timer()
        return at if tracked is None else min(at, tracked)

    def handle_timer(self, now: float) -> None:
        """Do what is due."""
        self.latest = now
        if self.data.limit is None:
            self.tracker.handle_timer(now)
            self._tell_step(now)
        self.data.handle_timer(now)
        if now >= self.detector.next_tick:
            self.signs.tell(now)
            self.fan_out.take_out_of_reach(self._out_of_reach(now))
            self.data.drop_what_others_keep(now)
        if now >= self.detector.passing_on.at:
            self.signs.pass_on(now)

    def _out_of_reach(self, now: float) -> frozenset[int]:
        """Return whom what is sent may not come to: those who are not heard of, or do not hear this one."""
        deaf = (receiver for sender, receiver in self.links.known() if sender == self.rank)
        return self.detector.suspects(now).union(deaf)
