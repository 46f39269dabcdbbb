"""What wire traces tell of a frame: its name, and which messages or which execution it is about.

Transmitter and receiver find that by the same rules, from what is in the datagram.  A message of the
stability protocol has the name that the protocol declares.  A run of messages is DATA if its source sends
it to all who receive from it, and REPAIR otherwise.  A request names parts, which are messages where none
is too large for a datagram; behind a larger one their numbers are told as far as this member can tell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from stablecast.engine.in_view import InView
from stablecast.engine.options import Options
from stablecast.engine.wire import EVERYONE, AnyFrame, PassOn, Stability, encode
from stablecast.multicast.frames import AskMulticast, Data, Forward, Fragment, Nak, Run, SentSoFar
from stablecast.multicast.streams import last_seq

NAMES: dict[type, str] = {SentSoFar: "SENT"}
"""Names of frames that are not those of their types in capital letters; others are added when they come."""

_WORD_BEGINS = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Told(NamedTuple):
    """What is told of a frame."""

    message: str
    execution: int | None = None
    line: str | None = None
    """The group that the source's messages belong to."""
    source: str | None = None
    first_seq: int | None = None
    seq: int | None = None
    size: int = 0
    """Bytes of the datagram that are this frame's; the first one has what is around frames as well."""


class Frames:
    """Tells of frames, to one process.

    Parameters
    ----------
    options
        What the process was told: which protocol a view runs follows from them.
    """

    def __init__(self, options: Options) -> None:
        self.here: InView | None = None
        """The process in its view, or in the last one."""
        self._options = options

    def of_datagram(self, frames: Sequence[AnyFrame], session: int, to: int, size: int) -> list[Told]:
        """Return what is told of a datagram of so many bytes that a session has sealed, frame by frame.

        The sizes are the same on both sides, and together the datagram's: frames have one way to be packed.
        """
        frames = [frame for frame in frames if not isinstance(frame, PassOn)]
        others = [len(encode(frame)) for frame in frames[1:]]
        sizes = (size - sum(others), *others)  # one more than frames if there are none
        return [
            self.told(frame, session, to)._replace(size=own)
            for frame, own in zip(frames, sizes, strict=False)
        ]

    def told(self, frame: AnyFrame, session: int, to: int) -> Told:
        """Return what is told of a frame that a session has sealed, for another session or for all."""
        if isinstance(frame, Data | Fragment):
            return self._run(frame, session, to)
        if isinstance(frame, Nak | Forward | AskMulticast):
            return self._request(frame)
        if isinstance(frame, Stability):
            return self._stability(frame)
        if isinstance(frame, SentSoFar):
            return self._sent(frame, session)
        return Told(name_of(type(frame)))

    def _run(self, run: Run, session: int, to: int) -> Told:
        here = self._in_view(run.view, run.source)
        if here is None:
            return Told("DATA" if to == EVERYONE else "REPAIR")
        is_first = to == EVERYONE and here.ranks.get(session) == run.source
        last = last_seq(run) if isinstance(run, Data) else run.seq
        return self._about(here, run.source, "DATA" if is_first else "REPAIR", run.seq, last)

    def _request(self, frame: Nak | Forward | AskMulticast) -> Told:
        name, here = name_of(type(frame)), self._in_view(frame.view, frame.source)
        if here is None or not frame.ranges:
            return Told(name)
        ahead = _parts_ahead(here, frame.source)
        first, last = min(frame.ranges)[0], max(last for _, last in frame.ranges)
        return self._about(here, frame.source, name, first - ahead, last - ahead)

    def _sent(self, frame: SentSoFar, session: int) -> Told:
        here = self.here
        rank = None if here is None or here.view.id != frame.view else here.ranks.get(session)
        if here is None or rank is None:
            return Told("SENT")
        last = frame.parts - _parts_ahead(here, rank)
        return Told("SENT", None, here.view.line_of(rank), here.agreed[rank], None, last)

    def _stability(self, frame: Stability) -> Told:
        choice = self._options.choice_in(frame.view)
        kinds = () if choice is None else choice.protocol.kinds
        if choice is None or not frame.kind < len(kinds):
            return Told("STABILITY")
        has_execution = choice.protocol.runs.in_rounds and bool(frame.numbers)
        return Told(kinds[frame.kind], frame.numbers[0] if has_execution else None)

    def _in_view(self, view: int, source: int) -> InView | None:
        """Return the present view if a frame is of it, and about one of its members."""
        here = self.here
        return None if here is None or here.view.id != view or not 0 <= source < here.size else here

    @staticmethod
    def _about(here: InView, source: int, name: str, first: int, last: int) -> Told:
        return Told(name, None, here.view.line_of(source), here.agreed[source], first, last)


def name_of(kind: type) -> str:
    """Return what frames of a type are called: ASK_HISTORY for ``AskHistory``."""
    name = NAMES.get(kind)
    if name is None:
        name = NAMES[kind] = _WORD_BEGINS.sub("_", kind.__name__).upper()
    return name


def _parts_ahead(here: InView, source: int) -> int:
    """Return by how much a source's parts are ahead of its messages, as far as they have come here."""
    streams = here.data.streams
    return streams.prefix(source) - streams.seq(source)
