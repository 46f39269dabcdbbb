"""What a process does for the view that it is in, and what its application is to hear of that.

A view's data plane and stability protocol know nothing of datagrams, applications and traces.  They say what
is to be sent, what has joined its source's prefix, and what everyone has; here that becomes frames,
deliveries, events and rows.
"""

from __future__ import annotations

from stablecast.engine.in_view import InView
from stablecast.engine.names import key_of
from stablecast.engine.process import Process
from stablecast.engine.results import Event, MessagesLost, Released
from stablecast.engine.stats import Releases
from stablecast.engine.wire import AnyFrame
from stablecast.membership.actions import JoinFailed, Left
from stablecast.multicast.bimodal_plane import BimodalPlane
from stablecast.multicast.frames import Run
from stablecast.multicast.streams import Kept, Stream


class Host:
    """One process, as its view sees it."""

    def __init__(self, process: Process) -> None:
        self.in_view: InView | None = None
        """The process in its view, None while it has none."""
        self.gone: frozenset[int] = frozenset()
        """While a view is settled, the ranks of those who do not come along into the next one."""
        self.events: list[Event | JoinFailed | Left] = []
        """What the application is to be told."""
        self.went_on = False
        """Whether it is to look again: something became stable, or there is room to send."""
        self.tells_releases = False
        """Whether somebody wants to hear of each release."""
        self.releases = Releases()
        self._options, self._trips, self._archive = process.options, process.trips, process.archive
        self._out, self._own, self._backlog = process.mail.out, process.own, process.backlog
        self._tracing = process.tracing

    @property
    def is_full(self) -> bool:
        """Whether the application has too much of others waiting for it."""
        return self._backlog.is_full

    def to_rank(self, frame: AnyFrame, rank: int) -> None:
        """Send a frame to one member of the view."""
        self._out.to_rank(frame, rank)

    def to_all(self, frame: AnyFrame) -> None:
        """Send a frame to all other members of the view."""
        self._out.to_all(frame)

    def to_audience(self, frame: AnyFrame) -> None:
        """Send a frame to all members of the view that receive from this one."""
        here = self.in_view
        if here is None or here.audiences.is_whole:
            self._out.to_all(frame)
        else:
            self._out.to_audience(frame)

    def took(self, source: int, stream: Stream, run: Run, now: float) -> None:
        """Deliver a run that has joined its source's prefix, and write it down."""
        here = self.in_view
        if self._tracing is not None and here is not None:
            self._tracing.took(here, source, stream, run, now)
        if self._options.deliver == "received" and self._is_delivered(source):
            self._backlog.deliver(stream, run, self._own.outcomes.label)

    def _is_delivered(self, source: int) -> bool:
        """Tell whether the application gets a source's messages: all that come, but maybe not its own."""
        here = self.in_view
        return here is not None and (source != here.rank or here.delivers_own)

    def released(self, source: int, stream: Stream, runs: list[Kept], now: float) -> None:
        """Let go of runs that everyone has."""
        here = self.in_view
        assert here is not None
        self.releases.add(now - runs[0].at)
        if self._options.deliver == "stable" and self._is_delivered(source):
            for kept in runs:
                if kept.run is not None:
                    self._backlog.deliver(stream, kept.run, self._own.outcomes.label)
        if source == here.rank:
            self._own.became_stable(runs, self._survivors(here), self._trips, now, p_fail=self._p_fail(here))
            self.went_on = True
        if self._tracing is not None:
            self._tracing.released(here, source, runs, now)
        if self.tells_releases:
            self.events.append(Released(stream.label, stream.stable_seq))
        self._archive.keep(key_of(here.view.members[source]), runs)

    def _survivors(self, here: InView) -> tuple[str, ...]:
        """Return who has what becomes stable now of this member's own messages."""
        for_whom = here.audiences.with_source(here.rank)
        return tuple(here.labels[rank] for rank in for_whom if rank not in self.gone)

    def _p_fail(self, here: InView) -> float | None:
        """Return how probably what becomes stable now is not everywhere; None if it is known to be."""
        data = here.data
        return data.p_fail(failed=len(self.gone)) if isinstance(data, BimodalPlane) else None

    def dropped(self, source: int, runs: list[Kept], now: float) -> None:
        """Let go of runs that others keep."""
        here = self.in_view
        assert here is not None
        if source == here.rank:
            self._own.let_go(runs, self._trips.longest())
            self.went_on = True
        if self._tracing is not None:
            self._tracing.dropped(here, source, runs, now)

    def lost(self, source: int, stream: Stream, first: int, last: int, now: float) -> None:
        """Tell the application of messages that were given up."""
        self.events.append(MessagesLost(stream.label, first, last))
