"""What goes into a member's wire trace: steps, datagrams with their frames, and timers.

Steps
    A step is one call of the engine, or, of a call with several datagrams, what one of them leads to.  A step
    has a number as soon as the one before is over.  So what the application does between two calls, such as
    sending messages that wait for more, belongs to the step of the call that follows, if that is its own; a
    datagram or a timer that comes first begins another one.
    What datagrams that come together lead to is sent at the end of the call.  So a frame carries the step in
    which it was made, and for each source it is noted in which step more of it came or became stable.  Rows
    are handed over by step; those of a call have the same time.  What is let go of is so at the end of the
    call, in its last step.  A frame that leaves after the rows of its step were handed over, such as data
    that waits for its turn under the rate, belongs to the step that sends it.
Datagrams
    Who seals a datagram counts it, in its header.  So it is known by that number among those of its
    transmitter, on both sides and with nothing added to it.  A datagram that is passed on has the header of
    who sealed it.  The transmission of who passes it on has a number that follows from that header, below
    zero, where no sealed datagram has its own: both sides can make it, and a member passes on a datagram
    once.  Two of them are the same only if sessions, which are random, lie as close together as a session
    has datagrams.
    A datagram with several frames is a row for each of them, with the same number, and with sizes that are
    the datagram's together; frames that are in pieces are told piece by piece.
Who is who
    Sessions become names when a view says so.  Until then, who joins or lets in is named by its address.
Timers
    After each step the times are noted at which timers are due.  Those that are due when the engine is called
    for its timers have gone off, and each was set in the step after which its time was first noted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

from stablecast.engine.in_view import InView
from stablecast.engine.options import Options
from stablecast.engine.rows import ChangeRow, Row, StepRow
from stablecast.engine.seal import number_in
from stablecast.engine.tracing import Tracing
from stablecast.engine.wire import EVERYONE, AnyFrame, unpack
from stablecast.engine.wire_frames import Frames, Told
from stablecast.membership.actions import Begin
from stablecast.membership.messages import Admission, Join
from stablecast.membership.view import Address, MemberInfo, format_address
from stablecast.multicast.frames import Run
from stablecast.multicast.streams import Kept, Stream
from stablecast.trace.wire_event import WireEvent

EARLY_S = {"protocol": 1e-6}
"""By how much timers may be early; the others go off when they are due, and an earlier call does nothing."""
PASSED_ON_BITS = 52
"""Numbers of datagrams that are passed on have so many, which every reader of JSON takes."""


class Made(bytes):
    """A packed frame."""

    step: int
    """The step in which it was made."""


class WireTracing(Tracing):
    """Makes rows of a wire trace.

    Parameters
    ----------
    time_offset_s
        What makes the engine's time the time of day.
    options, me
        What the process was told, and who it is.
    """

    def __init__(self, time_offset_s: float, options: Options, me: MemberInfo) -> None:
        super().__init__(time_offset_s)
        self.now = 0.0
        """The time of the call of the engine that is under way."""
        self.header_bytes = 0
        """What a datagram takes beside itself, where that is counted."""
        self._frames = Frames(options)
        self._group, self._me, self._session = options.group, me.label, me.session
        self._labels = {me.session: me.label}
        self._at_address: dict[Address, str] = {me.address: me.label}
        self._way_us: dict[bytes, tuple[int | None, int | None]] = {}
        """Of datagrams that come next, where that is known: how long each has waited, and was served."""
        self._came: tuple[int, list[Told]] = (0, [])
        self._set_at: dict[str, tuple[float, int]] = {}
        self._step = 0
        self._by_step: dict[int, list[Row]] = {0: self.rows}
        """The rows of each step that were not handed over yet; those of the present one are ``rows``."""
        self._stable: list[int] = []
        """For each source, what was stable when the step began, and the step in which that came about."""
        self._rose_in: dict[int, int] = {}
        self._took_in: dict[int, int] = {}
        """For each source, the step in which something of it joined its prefix."""

    # Steps

    def begin_step(self) -> None:
        """Let what follows belong to another step than what was before."""
        self._see_what_rose()
        if self.rows:
            self._step += 1
            self.rows = self._by_step[self._step] = []

    def take(self) -> list[Row]:
        """Return the rows since the last call, by step, each step announced."""
        self.begin_step()
        done = [(step, rows) for step, rows in self._by_step.items() if rows]
        self._by_step = {self._step: self.rows}
        return [row for step, rows in done for row in (StepRow(step), *rows)]

    def end_call(self, due: dict[str, float]) -> None:
        """End a call of the engine, after which these timers are set, each due at a time."""
        self.begin_step()
        self._rose_in.clear()
        self._took_in.clear()
        self._way_us.clear()
        self._set_timers(due)

    def _see_what_rose(self) -> None:
        """Note of which sources more has become stable in this step."""
        here = self._frames.here
        if here is None or self._stable == here.tracker.stable:
            return
        for source, (before, now) in enumerate(zip(self._stable, here.tracker.stable, strict=True)):
            if now > before:
                self._rose_in[source] = self._step
        self._stable = list(here.tracker.stable)

    def took(self, here: InView, source: int, stream: Stream, run: Run, now: float) -> None:
        """Write down messages that were sent or have come, and note in which step."""
        self._took_in[source] = self._step
        super().took(here, source, stream, run, now)

    def released(self, here: InView, source: int, runs: list[Kept], now: float) -> None:
        """Write down what is stable, in the step that led to it or that brought the last of it."""
        self._see_what_rose()
        steps = [had[source] for had in (self._rose_in, self._took_in) if source in had]
        self.rows = self._by_step.get(max(steps, default=self._step), self.rows)
        super().released(here, source, runs, now)
        self.rows = self._by_step[self._step]

    def dropped(self, here: InView, source: int, runs: list[Kept], now: float) -> None:
        """Write down copies that are let go, at the end of the call: they were kept until then."""
        self.rows = self._by_step[self._step]
        super().dropped(here, source, runs, now)

    def _change(self, kind: str, line: str, labels: list[str], at: int) -> None:
        """Write down changes; a step is one of the member in its row, so another member's has none."""
        for label in labels:
            row = ChangeRow(line, kind, label, at)
            if label == self._me:
                self.rows.append(row)
            else:
                self.rows += [StepRow(None), row, StepRow(self._step)]

    # Who is who

    def began(self, begin: Begin, here: InView, now: float) -> None:
        """Learn what the members of a view are called, and write down who came and went."""
        self._frames.here = here
        self._group, self._me = here.view.line, here.agreed[here.rank]
        self._stable = list(here.tracker.stable)
        self._rose_in.clear()
        self._took_in.clear()
        self._meet(here.view.members)
        super().began(begin, here, now)

    def _meet(self, members: Iterable[MemberInfo]) -> None:
        for member in members:
            self._labels[member.session] = member.label
            self._at_address[member.address] = member.label

    def _name(self, session: int, address: Address) -> str:
        """Return what a process is called: its label, that of who was last at its address, or the address."""
        label = self._labels.get(session)
        if label is None and session == EVERYONE:
            label = self._at_address.get(address)
        return format_address(address) if label is None else label

    # Datagrams

    def was_under_way(self, datagram: bytes, queue_us: int, service_us: int) -> None:
        """Be told how long a datagram, which is handed over next, has waited and was served on its way."""
        self._way_us.setdefault(datagram, (queue_us, service_us))

    def came(
        self, session: int, to: int, frames: Sequence[AnyFrame], datagram: bytes, address: Address
    ) -> None:
        """Write down a datagram that was opened, and the session that it is for."""
        self.begin_step()
        self._meet_newcomers(frames, session)
        number, peer = number_in(datagram), self._name(session, address)
        onward, size = passed_on_number(session, number), len(datagram) + self.header_bytes
        told = self._frames.of_datagram(frames, session, to, size)
        self._came = (onward, told)
        if len(told) < len(frames) and self._is_passed_on(peer, address):
            number, peer = onward, self._at_address[address]
        queue_us, service_us = self._way_us.get(datagram, (None, None))
        at = self.time_us(self.now)
        for each in told:
            self.rows.append(
                WireEvent(
                    kind="arrive",
                    group=each.line or self._group,
                    member=self._me,
                    source=each.source,
                    seq=each.seq,
                    time_us=at,
                    bytes=each.size,
                    step=self._step,
                    peer=peer,
                    message=each.message,
                    number=number,
                    execution=each.execution,
                    first_seq=each.first_seq,
                    queue_us=queue_us,
                    service_us=service_us,
                )
            )

    def _meet_newcomers(self, frames: Sequence[AnyFrame], session: int) -> None:
        """Learn who it is that joins, and who they are whom this process joins."""
        for frame in frames:
            if isinstance(frame, Admission):
                self._meet(frame.view.members)
            elif isinstance(frame, Join) and frame.member.session == session not in self._labels:
                self._meet([frame.member])

    def _is_passed_on(self, peer: str, address: Address) -> bool:
        """Tell whether a datagram that may be passed on comes from another member than who sealed it."""
        return self._at_address.get(address, peer) != peer

    def made(self, packed: bytes) -> Made:
        """Return a packed frame that remembers in which step it was made."""
        made = Made(packed)
        made.step = self._step
        return made

    def sent(self, datagram: bytes, inside: bytes, packed: Sequence[bytes], to: Address | None) -> None:
        """Write down a datagram of one's own and its packed frames, for one process, or for several."""
        session, frames = unpack(inside)
        peer = None if to is None else self._name(session, to)
        number, size = number_in(datagram), len(datagram) + self.header_bytes
        told = self._frames.of_datagram(frames, self._session, session, size)
        for each, frame in zip(told, packed, strict=True):
            step = frame.step if isinstance(frame, Made) else self._step
            self._transmit(each, step, number, peer)

    def passed_on(self) -> None:
        """Write down that the datagram that came last is passed on."""
        number, told = self._came
        for each in told:
            self._transmit(each, self._step, number, None)

    def _transmit(self, told: Told, step: int, number: int, peer: str | None) -> None:
        step = step if step in self._by_step else self._step
        self._by_step[step].append(
            WireEvent(
                kind="transmit",
                group=told.line or self._group,
                member=self._me,
                source=told.source,
                seq=told.seq,
                time_us=self.time_us(self.now),
                bytes=told.size,
                step=step,
                peer=peer,
                message=told.message,
                number=number,
                execution=told.execution,
                first_seq=told.first_seq,
            )
        )

    # Timers

    def _set_timers(self, due: dict[str, float]) -> None:
        at, before = self.time_us(self.now), self._set_at
        self._set_at = {
            name: before[name] if name in before and before[name][0] == time else (time, at)
            for name, time in due.items()
            if time < inf
        }

    def go_off(self) -> None:
        """Begin the step of the timers that are due, and write them down."""
        self.begin_step()
        at = self.time_us(self.now)
        for name, (due, since_us) in self._set_at.items():
            if due <= self.now + EARLY_S.get(name, 0.0):
                self.rows.append(
                    WireEvent(
                        kind="timer",
                        group=self._group,
                        member=self._me,
                        time_us=at,
                        step=self._step,
                        message=name,
                        since_us=since_us,
                    )
                )


def passed_on_number(session: int, number: int) -> int:
    """Return the number of the transmission of who passes on a datagram that another session has sealed."""
    return -1 - (session + number) % (1 << PASSED_ON_BITS)
