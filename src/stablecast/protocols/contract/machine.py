"""A thin machine around the kernels: one member of one group, with time as an argument.

    machine = Machine(protocol, index=3, group_size=8, place=place.of(3), columns=8)
    for sent in machine.receive(message, now): ...   # also start(now), handle_timer(now)
    machine.next_timer()

It holds the member's arrays and turns the outbox into values; it decides nothing.  The live runtime and the
plain driver of the simulator both use it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast._jit import compile_for
from stablecast.protocols.contract.kernels import (
    ARRAY,
    AS_IT_IS,
    BY_KIND,
    CHANGE_STATUS,
    CHANGES,
    FINISHED,
    GONE,
    LEARNED,
    NEVER,
    NOTHING,
    RECEIVED,
    SENDS,
    TIMER,
    Member,
    Message,
    clear,
    make_outbox,
)
from stablecast.protocols.contract.protocol import Protocol, Sizes

IntArray = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Sent:
    """A message that a machine wants sent."""

    kind: int
    """Index into the protocol's message types."""
    dest: int
    """A member, or ``GROUP``."""
    execution: int
    """The execution that it belongs to."""
    array: IntArray | None
    """A copy of the numbers that it carries, if it carries any."""
    first: int = 0
    """The two numbers of 64 bits that it carries, of a kind that does."""
    second: int = 0
    payload: int = BY_KIND
    """Its bytes beyond the header, ``BY_KIND`` for what kind and array come to."""


@dataclass(frozen=True, eq=False)
class Received:
    """A message as it reaches a machine."""

    kind: int
    """Index into the protocol's message types."""
    source: int
    """The member that sent it."""
    execution: int
    """The execution that it belongs to."""
    array: IntArray | None
    """The numbers that it carries, if it carries any."""
    first: int = 0
    """The two numbers of 64 bits that it carries, of a kind that does."""
    second: int = 0


@dataclass(frozen=True)
class Change:
    """A member that was admitted or struck off."""

    member: int
    status: int
    """Its status number: it grows each time that it comes back."""
    admitted: bool

    @classmethod
    def of(cls, value: int) -> Change:
        """Read an entry of ``Outbox.changes``."""
        status, member = divmod(abs(value) - 1, CHANGE_STATUS)
        return cls(member, status, value > 0)


class Machine:
    """One member's protocol state, driven by calls."""

    def __init__(
        self,
        protocol: Protocol,
        *,
        index: int,
        group_size: int,
        place: NDArray[np.int32],
        columns: int,
        dtype: type[np.integer[Any]] = np.int64,
        params: Mapping[str, int] | None = None,
        seed: int = 0,
        guarded: bool = True,
        leaders: tuple[int, ...] = (),
        audiences: tuple[tuple[int, ...], ...] = (),
        attached: NDArray[np.int64] | None = None,
    ) -> None:
        """Set up a member; ``guarded`` against messages that come twice and members that fail.

        ``attached`` is what goes with data messages; drivers of whole groups share one between machines.
        """
        self.protocol = protocol
        values = protocol.parameter_values(params or {}, group_size)
        sizes = Sizes(group_size, columns, columns, 4, values, guarded, leaders, audiences)
        width = columns + protocol.side(sizes)
        self.me = Member(
            number=index,
            group_size=group_size,
            received=np.zeros(columns, dtype),
            gathered=np.zeros((protocol.slots, columns), dtype),
            stable=np.zeros(columns, dtype),
            reg=np.zeros(protocol.register_count(sizes), np.int64),
            place=place,
            own=np.zeros(max(protocol.own(sizes), 1), dtype),
            params=np.array(values or (0,), np.int64),
            seed=seed,
            attached=np.zeros((1, 1, 1), np.int64) if attached is None else attached,
        )
        changes = group_size + 1 if protocol.autonomous else 0
        self._out = make_outbox(
            protocol.most_sends(sizes),
            width,
            dtype,
            arrays_max=protocol.most_arrays(sizes),
            changes_max=changes,
        )
        self._no_array = np.zeros(width, dtype)
        self._timer = NEVER

    def compile(self) -> None:
        """Compile the kernels now, and not when each is called for the first time."""
        me, out, found = self.me, self._out, self.protocol
        for kernel in (found.init, found.start, found.handle_timer):
            compile_for(kernel, me, 0, out)
        compile_for(found.receive, me, Message(0, 0, 0, self._no_array), 0, out)
        compile_for(found.attach, me, 0, 0, 0)
        compile_for(found.take, me, 0, 0, 0, 0, out)

    @property
    def learned(self) -> int:
        """The execution whose result the last call brought, 0 if none."""
        return int(self._out.marks[LEARNED])

    @property
    def finished(self) -> int:
        """The execution that the last call finished at this member, 0 if none."""
        return int(self._out.marks[FINISHED])

    @property
    def changes(self) -> list[Change]:
        """Members that the last call admitted or struck off."""
        told = self._out.changes[: int(self._out.marks[CHANGES])]
        return [Change.of(int(value)) for value in told]

    def init(self, now: int) -> list[Sent]:
        """Begin to take part, at the start of the group or when this member joins it."""
        clear(self._out.marks)
        self.protocol.init(self.me, now, self._out)
        return self._sent()

    def start(self, now: int) -> list[Sent]:
        """Begin the next execution; only member 0 is asked to."""
        clear(self._out.marks)
        self.protocol.start(self.me, now, self._out)
        return self._sent()

    def receive(self, message: Received, now: int) -> list[Sent]:
        """Handle a message and return what it makes this member send."""
        clear(self._out.marks)
        array = self._no_array if message.array is None else message.array
        kernel_message = Message(
            message.kind, message.source, message.execution, array, message.first, message.second
        )
        self.protocol.receive(self.me, kernel_message, now, self._out)
        return self._sent()

    def attach(self, column: int, number: int, now: int) -> int:
        """Note what goes with a data message that this member is about to send; return its bytes."""
        return int(self.protocol.attach(self.me, column, number, now))

    def take(self, column: int, source: int, before: int, now: int) -> list[Sent]:
        """Hear that the prefix of a column, whose sender is ``source``, has grown beyond ``before``."""
        clear(self._out.marks)
        self.protocol.take(self.me, column, source, before, now, self._out)
        return self._sent()

    def next_timer(self) -> int | None:
        """Return when ``handle_timer`` is to be called, None for not at all."""
        return None if self._timer == NEVER else self._timer

    def ring_at(self, at: int) -> None:
        """Have the timer go off at a time, whatever the kernels set it to."""
        self._timer = at

    def handle_timer(self, now: int) -> list[Sent]:
        """Let the timer that was due go off."""
        self._timer = NEVER
        clear(self._out.marks)
        self.protocol.handle_timer(self.me, now, self._out)
        return self._sent()

    def _sent(self) -> list[Sent]:
        out = self._out
        if out.marks[TIMER] != AS_IT_IS:
            self._timer = int(out.marks[TIMER])
        arrays = self._arrays()
        return [
            Sent(
                kind=int(out.kind[k]),
                dest=int(out.dest[k]),
                execution=int(out.execution[k]),
                array=next(arrays),
                first=int(out.first[k]),
                second=int(out.second[k]),
                payload=int(out.payload[k]),
            )
            for k in range(int(out.marks[SENDS]))
        ]

    def _arrays(self) -> Iterator[IntArray | None]:
        """Return what each send of the last call carries."""
        made, out = -1, self._out
        for k in range(int(out.marks[SENDS])):
            carries = int(out.carries[k])
            made += carries == ARRAY
            if carries == NOTHING:
                yield None
            elif carries == RECEIVED:
                yield self.me.received.copy()
            else:
                yield out.arrays[made].copy()

    def told_gone(self, member: int, now: int, column: int = -1) -> list[Sent]:
        """Hear from a failure detector that a member is gone, and which column it led, if any."""
        return self.receive(Received(GONE, member, 0, None, column), now)
