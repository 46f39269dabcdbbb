"""One process's own messages: whether they may go, how they are packed, and what became of them."""

from __future__ import annotations

from stablecast.engine.attached import UNSTABLE_MOST
from stablecast.engine.in_view import InView
from stablecast.engine.outcomes import Outcomes
from stablecast.engine.outgoing import Outgoing
from stablecast.engine.sealing import room_in
from stablecast.engine.stats import Counters, TimeHistogram
from stablecast.errors import InvalidInput
from stablecast.multicast.flow import Window
from stablecast.multicast.frames import Run
from stablecast.multicast.packing import OpenRun, Packer
from stablecast.multicast.round_trips import RoundTrips
from stablecast.multicast.streams import Kept, messages_in

PAST_INCARNATIONS = 8
USUAL_STEPS, USUAL_TRIPS = 1, 4
"""Steps of the protocol and round trips within which messages become stable where none has to queue: a step
until the next execution begins, and the ways of that."""


class Own:
    """What a process sends, through all its incarnations.

    Parameters
    ----------
    label
        What it is called before it is in a view.
    sends
        Whether it sends at all.
    buffer_bytes
        What all members together may have unstable.
    largest
        The most bytes of a datagram.
    out
        Where runs go.
    counters
        Count messages.
    """

    def __init__(
        self,
        label: str,
        *,
        sends: bool,
        buffer_bytes: int,
        largest: int,
        out: Outgoing,
        counters: Counters,
    ) -> None:
        self.outcomes = Outcomes(label)
        """What became of the messages of this incarnation."""
        self.past: dict[str, Outcomes] = {}
        """What became of those of the last ones before, by label."""
        self.times = TimeHistogram()
        """How long messages took to be stable."""
        self.window = Window(buffer_bytes, largest)
        self.sends = sends
        """Whether it sends at all."""
        self.open_run = OpenRun()
        """The run under construction, in all views."""
        self._buffer_bytes = buffer_bytes
        self._largest = largest
        self._out = out
        self._counters = counters
        self._is_first = True
        self._here: InView | None = None
        self._packer: Packer | None = None
        self._is_open = False

    @property
    def sent(self) -> int:
        """Last message of this incarnation; 0 while there is no view."""
        return 0 if self._packer is None else self._packer.messages

    @property
    def is_settled(self) -> bool:
        """Whether all messages are known to be everywhere."""
        return self._packer is not None and self.outcomes.stable_seq >= self._packer.messages

    @property
    def waiting(self) -> int:
        """Messages in the run under construction."""
        return len(self.open_run.payloads)

    def numbers(self) -> tuple[int, int]:
        """Return how many parts and messages were sent in all."""
        packer = self._packer
        return (0, 0) if packer is None else (packer.parts, packer.messages)

    # Sending

    def check_sends(self) -> None:
        """Refuse to send for a member that said at joining that it does not."""
        if not self.sends:
            raise InvalidInput(
                f"'{self.outcomes.label}' joined with sends=False: it only receives (accepted: to join with"
                " sends=True)"
            )

    def may_send(self, size: int) -> bool:
        """Tell whether a message of this size may be sent now."""
        here, packer = self._here, self._packer
        if not self._is_open or here is None or packer is None:
            return False
        if here.tracker.attaches and self._parts_with(here, packer, size) > UNSTABLE_MOST:
            return False
        return self.window.takes(size, here.data.own.kept_bytes + packer.waiting)

    def why_not(self, size: int) -> str:
        """Say why a message of this size may not be sent now."""
        here, packer = self._here, self._packer
        if not self._is_open or here is None or packer is None:
            return "a view change is under way"
        if here.tracker.attaches and (parts := self._parts_with(here, packer, size)) > UNSTABLE_MOST:
            return f"{parts} parts would be unstable (accepted: {UNSTABLE_MOST})"
        unstable, most = here.data.own.kept_bytes, int(self.window.size)
        return f"{unstable} bytes are not stable yet (accepted at present: {most})"

    @staticmethod
    def _parts_with(here: InView, packer: Packer, size: int) -> int:
        """Return the unstable parts with those of a message of this size."""
        return packer.parts - here.data.own.stable + packer.parts_of(size)

    def send(self, payload: bytes, now: float) -> int:
        """Send a message, to be called when ``may_send``; return its number.

        It may wait for more to go with it: ``flush`` is to follow.
        """
        packer = self._packer
        assert packer is not None
        runs = packer.add(payload, now)
        if runs:
            self._put_out(runs, now)
        return packer.messages

    def grant(self) -> None:
        """Let messages be put into ``open_run`` without a call, as many as may go for sure."""
        here, packer = self._here, self._packer
        if self._is_open and here is not None and packer is not None and not here.tracker.attaches:
            packer.grant(self.window.room(here.data.own.kept_bytes + packer.waiting))

    def withdraw(self) -> None:
        """Undo ``grant``."""
        if self._packer is not None:
            self._packer.grant(0)

    def flush(self, now: float) -> None:
        """Have what waits sent without more company."""
        if self._packer is not None and self._is_open:
            self._put_out(self._packer.flush(now), now)

    def _put_out(self, runs: list[Run], now: float) -> None:
        here = self._here
        if here is not None:
            for run in runs:
                self._counters.sent += messages_in(run)
                self.window.was_sent(here.add_own(run, now))
                self._out.data(run)

    def let_go(self, runs: list[Kept], trip_s: float) -> None:
        """Take note of runs that others keep, over round trips of so many seconds."""
        self.window.became_stable(sum(kept.size for kept in runs), trip_s)

    def became_stable(
        self,
        runs: list[Kept],
        there: tuple[str, ...],
        trips: RoundTrips,
        now: float,
        *,
        p_fail: float | None = None,
    ) -> None:
        """Take note of runs that these members have, or lack with a probability in bimodal delivery."""
        here = self._here
        assert here is not None
        size, before = 0, self.outcomes.stable_seq
        for kept in runs:
            size += kept.size
            if kept.seq > before:
                self.times.observe(now - kept.at, kept.seq - before)
                before = kept.seq
        usual_s = USUAL_STEPS * here.pace.least + USUAL_TRIPS * trips.least()
        if not self.window.is_slow(now - runs[len(runs) // 2].at, usual_s, now):
            self.window.became_stable(size, trips.longest())
        self.outcomes.became_stable(here.data.own.stable_seq, there, now, p_fail)

    # Views

    def begin(self, here: InView, parts: int, messages: int) -> None:
        """Take note that a view begins, and what was sent before it."""
        if here.me != self.outcomes.label or self._is_first:
            self._new_incarnation(here.me)
        tracker, rank = here.tracker, here.rank
        self._here, self._is_open = here, self.sends
        self._packer = Packer(
            here.view.id,
            rank,
            parts=parts,
            messages=messages,
            room=room_in(self._largest),
            attach=tracker.attach if tracker.attaches else None,
            width=tracker.width,
            stable=lambda: tracker.stable[rank],
            open_run=self.open_run,
        )
        self.window = Window(self._buffer_bytes // max(here.audiences.senders, 1), self._largest)
        self.outcomes.begin_view(messages, here.for_whom(rank))

    def _new_incarnation(self, label: str) -> None:
        if not self._is_first:
            self.past[self.outcomes.label] = self.outcomes
            while len(self.past) > PAST_INCARNATIONS:
                del self.past[next(iter(self.past))]
        self._is_first = False
        self.outcomes = Outcomes(label)

    def stop(self, now: float) -> None:
        """Have sent what was numbered, then nothing more in this view."""
        self.flush(now)
        self._is_open = False

    def end(self) -> None:
        """Take note that the view is over."""
        self.withdraw()
        self._here, self._packer, self._is_open = None, None, False
