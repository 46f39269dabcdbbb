"""What follows from a view's life beside its data: events for the application, the trace, slow members."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from stablecast.live.in_view import InView
from stablecast.live.results import (
    MemberEvicted,
    MemberExcluded,
    MemberFailed,
    MemberLagging,
    MemberRecovered,
    Released,
    ViewChanged,
)
from stablecast.live.stalls import Stalls
from stablecast.live.streams import Kept, Run, Stream
from stablecast.live.wire import Data
from stablecast.membership.actions import Begin
from stablecast.membership.slow_members import Evict, Exclude, Lagging, Recovered, Step
from stablecast.membership.view import MemberInfo

if TYPE_CHECKING:
    from stablecast.live.engine import Engine

_log = logging.getLogger(__name__)


def changed(begin: Begin, me: str, group: str) -> ViewChanged:
    """Return the event of a view that begins."""
    return ViewChanged(
        members=tuple(member.label for member in begin.view.members),
        joined=tuple(member.label for member in begin.joined),
        left=tuple(member.label for member in begin.left),
        failed=tuple(member.label for member in begin.gone),
        reason=begin.reason,
        me=me,
        main=begin.view.line == group,
    )


class ViewEvents:
    """The engine's other duties in a view."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._suspected: frozenset[int] = frozenset()
        self._gone: frozenset[str] = frozenset()
        self._departs = False
        self.tells_releases = False
        self._stalls = Stalls()
        self._line = engine.options.group

    def survivors(self, here: InView) -> tuple[str, ...]:
        """Return who has what becomes stable now."""
        return tuple(label for label in here.labels if label not in self._gone)

    # Views and members

    def ends(self, here: InView, gone: tuple[MemberInfo, ...], next_line: str, now: float) -> None:
        """Take note that a view is about to be settled, and who does not come along into the next one.

        Who goes on under another name departs from this one: the group's other part need not have everything.
        """
        self._gone = frozenset(member.label for member in gone)
        self._departs = next_line != here.view.line
        if self._departs:
            self._log_own_leave(here, now)

    def ended(self) -> None:
        """Take note that it is settled."""
        self._gone, self._departs = frozenset(), False

    def began(self, begin: Begin, now: float) -> None:
        """Tell who failed, and write down who came and went."""
        engine = self._engine
        self._suspected = frozenset()
        before, self._line = self._line, begin.view.line
        for member in begin.gone:
            engine.tell(MemberFailed(member.label))
        resumed = self._stalls.over(now)
        if resumed is not None:
            engine.tell(resumed)
        log = engine.log
        if log is None or not begin.led:
            return
        line, at = begin.view.line, engine.time_us(now)
        if line != before:  # the group's other part tells who failed; this one begins a line of its own
            self._log_change("join", begin.view.members, line, at)
        else:
            self._log_change("join", begin.joined, line, at)
            self._log_change("leave", begin.left, line, at)
            self._log_change("fail", begin.gone, line, at)
        log.flush()

    def left(self, now: float) -> None:
        """Write down that this process is out of the group: there may be nobody else to tell."""
        if self._engine.in_view is not None:
            self._log_own_leave(self._engine.in_view, now)

    def _log_own_leave(self, here: InView, now: float) -> None:
        if self._engine.log is not None:
            self._log_change(
                "leave", (here.view.members[here.rank],), here.view.line, self._engine.time_us(now)
            )

    def _log_change(self, kind: str, members: tuple[MemberInfo, ...], line: str, at: int) -> None:
        log = self._engine.log
        assert log is not None
        for member in members:
            log.change(line, kind, member.label, at)

    def look_after(self, here: InView, now: float) -> None:
        """Find out who is silent and who is slow."""
        engine = self._engine
        suspected = frozenset(here.view.members[rank].session for rank in here.detector.suspects(now))
        if suspected != self._suspected:
            self._log_suspects(here, suspected - self._suspected)
            self._suspected = suspected
            engine.do(engine.agreement.suspect(suspected, now), now)
        if here is engine.in_view and here.limit is None:
            news = self._stalls.look(here, now)
            if news is not None:
                engine.tell(news)
            for rank, member in enumerate(here.view.members):
                if rank != here.rank:
                    since = held_since(here, rank, now)
                    for step in engine.slow.holding(member.session, since, now, key=member.name):
                        self._take_step(here, step, now)

    def _log_suspects(self, here: InView, sessions: frozenset[int]) -> None:
        options = self._engine.options
        for member in here.view.members:
            if member.session in sessions:
                what = "%s/%s: suspects %s, which was not heard of for %g s"
                _log.info(what, options.group, self._engine.label, member.label, options.fail_after)

    def _take_step(self, here: InView, step: Step, now: float) -> None:
        engine = self._engine
        member = here.view.member(step.session)
        assert member is not None
        match step:
            case Lagging(_, seconds):
                engine.tell(MemberLagging(member.label, seconds))
            case Recovered():
                engine.tell(MemberRecovered(member.label))
            case Exclude(_, seconds):
                engine.tell(MemberExcluded(member.label, seconds))
                engine.do(engine.agreement.leave_out(step.session, "too slow", now), now)
            case Evict(_, until):
                engine.tell(MemberEvicted(member.label, until - now))
                engine.do(engine.agreement.leave_out(step.session, "too slow too often", now), now)

    # Messages

    def log_run(self, here: InView, stream: Stream, run: Run, now: float) -> None:
        """Write down messages that were sent or have come."""
        log, me, line = self._engine.log, here.labels[here.rank], here.view.line
        assert log is not None
        at = self._engine.time_us(now)
        if isinstance(run, Data):
            first, sizes = run.seq, [len(payload) for payload in run.payloads]
        elif run.index < run.count - 1:
            return
        else:
            first, sizes = run.seq, [stream.large]
        if stream is not here.own:
            log.receive(line, me, stream.label, first, sizes, at)
            return
        for k, size in enumerate(sizes):
            log.send(line, me, first + k, at, size)

    def released(self, here: InView, stream: Stream, runs: list[Kept], now: float) -> None:
        """Write down what is stable, tell of it, and keep some for newcomers."""
        engine = self._engine
        if engine.log is not None and not self._departs:
            me, line, at = here.labels[here.rank], here.view.line, engine.time_us(now)
            engine.log.stable(line, me, stream.label, stream.stable_seq, at)
            self._log_release(here, stream, [kept for kept in runs if kept.run is not None], at)
        if self.tells_releases:
            engine.tell(Released(stream.label, stream.stable_seq))
        engine.history.keep(stream.label, runs)

    def dropped(self, here: InView, stream: Stream, runs: list[Kept], now: float) -> None:
        """Write down copies that were let go while others keep them."""
        if self._engine.log is not None:
            self._log_release(here, stream, runs, self._engine.time_us(now))

    def _log_release(self, here: InView, stream: Stream, runs: list[Kept], at: int) -> None:
        log = self._engine.log
        assert log is not None
        for kept in runs:
            sizes = _sizes(kept)
            if sizes:
                first = kept.seq - len(sizes) + 1
                log.release(here.view.line, here.labels[here.rank], stream.label, first, kept.seq, sizes, at)


def _sizes(kept: Kept) -> list[int]:
    """Return the sizes of the messages that end in a run; a large one counts with its last part."""
    run = kept.run
    if isinstance(run, Data):
        return [len(payload) for payload in run.payloads]
    if run is None or run.index < run.count - 1:
        return []
    return [kept.large]


def held_since(here: InView, rank: int, now: float) -> float | None:
    """Return since when a member holds back the oldest message that it is not known to have.

    A member that may have it by now, and has just not had its turn to say so, holds nothing back.  Of one
    that cannot be heard, what it has is known by way of others, later.
    """
    times = [
        oldest.at
        for source, stream in enumerate(here.streams)
        if (oldest := stream.oldest) is not None and here.has[rank][source] < oldest.last
    ]
    if not times or not here.has_had_its_turn(rank, min(times), now):
        return None
    return min(times) + (0.0 if here.links.hears(rank) else 2 * here.patience)
