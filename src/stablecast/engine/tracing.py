"""What goes into a member's trace: a subscriber of what happens in its views.

Lines
    The schema's group is a set of members that are all to have every message.  While everyone receives from
    everyone who sends, that is the view, and its line is the group of its rows.  From the first view on that
    is not so (``View.is_apart``) the messages of each source are a group of their own, ``LINE/SOURCE``: its
    members are the source and those who receive from it.  So a trace is judged by the same rules, and names
    as required those alone who are to have a message.
Departures
    Who goes on under another name departs from this one: the group's other part need not have everything.  So
    its last rows under the old name end with its own leave, and what it calls stable after that is not told.
    So does who stops receiving from a source that is still there.
"""

from __future__ import annotations

from stablecast.engine.in_view import InView
from stablecast.engine.rows import ChangeRow, ReceiveRow, ReleaseRow, Row, SendRow, StableRow
from stablecast.membership.actions import Begin
from stablecast.membership.roster import roster_of
from stablecast.membership.view import View
from stablecast.multicast.frames import Data, Run
from stablecast.multicast.streams import Kept, Stream


class Tracing:
    """Makes rows.

    Parameters
    ----------
    time_offset_s
        What makes the engine's time the time of day.
    """

    def __init__(self, time_offset_s: float) -> None:
        self.rows: list[Row] = []
        """What is to be written."""
        self._lines: dict[str, tuple[str, ...]] = {}
        """The groups of the present view, each with its members."""
        self._departed: frozenset[str] = frozenset()
        """The groups that this process has left with the view that is about to be settled."""
        self._time_offset_s = time_offset_s

    def take(self) -> list[Row]:
        """Return the rows since the last call."""
        if not self.rows:  # who watches each row puts its own list there, which keeps none
            return []
        rows, self.rows = self.rows, []
        return rows

    def time_us(self, now: float) -> int:
        """Return a time as traces have it."""
        return round((now + self._time_offset_s) * 1e6)

    def ends(self, here: InView, following: View | None, now: float) -> None:
        """Take note that a view is about to be settled, and of the next one."""
        me = here.agreed[here.rank]
        mine = [line for line, who in self._lines.items() if me in who]
        ahead = _lines_ahead(here, following)
        departed = [line for line in mine if ahead is None or me not in ahead.get(line, (me,))]
        self._leave(departed, me, now)
        self._departed = frozenset(departed)
        if following is None:
            self._lines = {}

    def began(self, begin: Begin, here: InView, now: float) -> None:
        """Write down who came and went, if this process is the first to know."""
        before, self._lines = self._lines, roster_of(begin.view).lines
        self._departed = frozenset()
        if not begin.led:
            return
        at = self.time_us(now)
        gone = {member.label for member in begin.gone}
        away = gone | {member.label for member in begin.left}
        for line, who in self._lines.items():
            was = before.get(line, ())
            self._change("join", line, [label for label in who if label not in was], at)
        for line, who in before.items():
            if line.partition("/")[0] == begin.view.line:
                self._change("leave", line, [label for label in who if label in away - gone], at)
                self._change("fail", line, [label for label in who if label in gone], at)

    def left(self, here: InView, now: float) -> None:
        """Write down that this process is out of the group: there may be nobody else to tell."""
        me = here.agreed[here.rank]
        self._leave([line for line, who in self._lines.items() if me in who], me, now)

    def _leave(self, lines: list[str], me: str, now: float) -> None:
        for line in lines:
            self._change("leave", line, [me], self.time_us(now))

    def _change(self, kind: str, line: str, labels: list[str], at: int) -> None:
        for label in labels:
            self.rows.append(ChangeRow(line, kind, label, at))

    def took(self, here: InView, source: int, stream: Stream, run: Run, now: float) -> None:
        """Write down messages that were sent or have come."""
        me, line, at = here.agreed[here.rank], here.view.line_of(source), self.time_us(now)
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
        me, line, at = here.agreed[here.rank], here.view.line_of(source), self.time_us(now)
        if line not in self._departed:
            if here.options.bimodal is None:  # otherwise it is let go, and may be missing elsewhere
                stable_seq = here.data.streams[source].stable_seq
                self.rows.append(StableRow(line, me, here.agreed[source], stable_seq, at))
            self.dropped(here, source, [kept for kept in runs if kept.run is not None], now)

    def dropped(self, here: InView, source: int, runs: list[Kept], now: float) -> None:
        """Write down copies that are let go."""
        me, line, at = here.agreed[here.rank], here.view.line_of(source), self.time_us(now)
        for kept in runs:
            sizes = _sizes(kept)
            if sizes:
                first = kept.seq - len(sizes) + 1
                self.rows.append(ReleaseRow(line, me, here.agreed[source], first, kept.seq, sizes, at))


def _lines_ahead(here: InView, following: View | None) -> dict[str, tuple[str, ...]] | None:
    """Return the groups of the next view, None if no group of this view goes on.

    A group that is not among them has lost its source, and its members stay in it.
    """
    if following is None or following.line != here.view.line or following.is_apart != here.view.is_apart:
        return None
    return roster_of(following).lines


def _sizes(kept: Kept) -> list[int]:
    """Return the sizes of the messages that end in a run; a large one counts with its last part."""
    run = kept.run
    if isinstance(run, Data):
        return [len(payload) for payload in run.payloads]
    if run is None or run.index < run.count - 1:
        return []
    return [kept.large]
