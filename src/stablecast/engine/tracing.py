"""What goes into a member's trace: a subscriber of what happens in its views.

Who goes on under another name departs from this one: the group's other part need not have everything.  So
its last rows under the old name end with its own leave, and what it calls stable after that is not told.
"""

from __future__ import annotations

from stablecast.engine.in_view import InView
from stablecast.engine.rows import ChangeRow, ReceiveRow, ReleaseRow, Row, SendRow, StableRow
from stablecast.membership.actions import Begin
from stablecast.membership.view import MemberInfo
from stablecast.multicast.frames import Data, Run
from stablecast.multicast.streams import Kept, Stream


class Tracing:
    """Makes rows.

    Parameters
    ----------
    group
        Its name, that of the main line.
    time_offset_s
        What makes the engine's time the time of day.
    """

    def __init__(self, group: str, time_offset_s: float) -> None:
        self.rows: list[Row] = []
        """What is to be written."""
        self._line = group
        self._time_offset_s = time_offset_s
        self._departs = False

    def time_us(self, now: float) -> int:
        """Return a time as traces have it."""
        return round((now + self._time_offset_s) * 1e6)

    def ends(self, here: InView, next_line: str, now: float) -> None:
        """Take note that a view is about to be settled, and of the next one's name."""
        self._departs = next_line != here.view.line
        if self._departs:
            self.left(here, now)

    def began(self, begin: Begin, now: float) -> None:
        """Write down who came and went, if this process is the first to know."""
        before, self._line = self._line, begin.view.line
        self._departs = False
        if not begin.led:
            return
        if self._line != before:  # the group's other part tells who failed; this one begins a line of its own
            self._change("join", begin.view.members, now)
        else:
            self._change("join", begin.joined, now)
            self._change("leave", begin.left, now)
            self._change("fail", begin.gone, now)

    def left(self, here: InView, now: float) -> None:
        """Write down that this process is out of the group: there may be nobody else to tell."""
        self.rows.append(ChangeRow(here.view.line, "leave", here.agreed[here.rank], self.time_us(now)))

    def _change(self, kind: str, members: tuple[MemberInfo, ...], now: float) -> None:
        at = self.time_us(now)
        for member in members:
            self.rows.append(ChangeRow(self._line, kind, member.label, at))

    def took(self, here: InView, source: int, stream: Stream, run: Run, now: float) -> None:
        """Write down messages that were sent or have come."""
        me, line, at = here.agreed[here.rank], here.view.line, self.time_us(now)
        if isinstance(run, Data):
            first, sizes = run.seq, [len(payload) for payload in run.payloads]
        elif run.index < run.count - 1 or not stream.is_whole:
            return
        else:
            first, sizes = run.seq, [stream.large]
        if source != here.rank:
            self.rows.append(ReceiveRow(line, me, here.agreed[source], first, sizes, at))
            return
        for seq, size in enumerate(sizes, first):
            self.rows.append(SendRow(line, me, seq, at, size))

    def released(self, here: InView, source: int, runs: list[Kept], now: float) -> None:
        """Write down what is stable, and whose copies are let go."""
        if not self._departs:
            if here.options.bimodal is None:  # otherwise it is let go, and may be missing elsewhere
                me, line, at = here.agreed[here.rank], here.view.line, self.time_us(now)
                stable_seq = here.data.streams[source].stable_seq
                self.rows.append(StableRow(line, me, here.agreed[source], stable_seq, at))
            self.dropped(here, source, [kept for kept in runs if kept.run is not None], now)

    def dropped(self, here: InView, source: int, runs: list[Kept], now: float) -> None:
        """Write down copies that are let go."""
        me, line, at = here.agreed[here.rank], here.view.line, self.time_us(now)
        for kept in runs:
            sizes = _sizes(kept)
            if sizes:
                first = kept.seq - len(sizes) + 1
                self.rows.append(ReleaseRow(line, me, here.agreed[source], first, kept.seq, sizes, at))


def _sizes(kept: Kept) -> list[int]:
    """Return the sizes of the messages that end in a run; a large one counts with its last part."""
    run = kept.run
    if isinstance(run, Data):
        return [len(payload) for payload in run.payloads]
    if run is None or run.index < run.count - 1:
        return []
    return [kept.large]
