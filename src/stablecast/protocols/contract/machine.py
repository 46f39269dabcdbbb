"""A thin machine around the kernels: one member of one group, with time as an argument.

    machine = Machine(protocol, index=3, sizes=sizes, places=places)
    for sent in machine.receive(message, now): ...   # also start(now), handle_timer(now)
    machine.next_timer()

It holds the member's arrays and turns the outbox into values; it decides nothing.  The live runtime and the
plain driver of the simulator both use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import compile_for
from stablecast.compiling.views import (
    ARRAY,
    BY_KIND,
    MARKS,
    NOTHING,
    NUMBERS_MAX,
    RECEIVED,
    SAME,
    Arrived,
)
from stablecast.errors import StablecastError
from stablecast.overlays import Tree
from stablecast.protocols.contract.bound import bind
from stablecast.protocols.contract.fields import Sizes
from stablecast.protocols.contract.kernels import AS_IT_IS, CHANGE_STATUS, NEVER, make_outbox
from stablecast.protocols.contract.layout import Placement
from stablecast.protocols.contract.limits import Limits
from stablecast.protocols.contract.protocol import Protocol, Surroundings

IntArray = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Sent:
    """A message that a machine wants sent."""

    kind: int
    """Index into the protocol's messages."""
    dest: int
    """A member, or ``GROUP``."""
    numbers: tuple[int, ...]
    """Its whole numbers, in the order of their declaration."""
    array: IntArray | None
    """A copy of its arrays, one behind the other, if it has any; what is sent again has the same copy."""
    payload: int = BY_KIND
    """Its bytes beyond the header, ``BY_KIND`` for what the message's fields come to."""


@dataclass(frozen=True, eq=False)
class Received:
    """A message as it reaches a machine."""

    kind: int
    """Index into the protocol's messages."""
    source: int
    """The member that sent it."""
    numbers: tuple[int, ...]
    array: IntArray | None


@dataclass(frozen=True)
class Change:
    """A member that was admitted or removed."""

    member: int
    status: int
    """Its status number: it grows each time that it comes back."""
    admitted: bool

    @classmethod
    def of(cls, value: int) -> Change:
        """Read an entry of the outbox's changes."""
        status, member = divmod(abs(value) - 1, CHANGE_STATUS)
        return cls(member, status, value > 0)


class Machine:
    """One member's protocol state, driven by calls."""

    def __init__(
        self,
        protocol: Protocol,
        *,
        index: int,
        sizes: Sizes,
        places: Placement,
        dtype: type[np.integer[Any]] = np.int64,
        seed: int = 0,
        attached: NDArray[np.int64] | None = None,
    ) -> None:
        self.protocol, self.sizes = protocol, sizes
        protocol.check_sizes(sizes)
        declaration = protocol.declaration
        self.rows = declaration.make_rows(
            sizes,
            received=np.zeros((1, sizes.tracked), dtype),
            stable=np.zeros((1, sizes.tracked), dtype),
            attached=np.zeros((1, 1, 1), np.int64) if attached is None else attached,
            seed=seed,
            places=places,
            only=index,
        )
        self.me: Any = self.rows[index]
        width = declaration.row_width(sizes)
        self._sent = make_outbox(
            protocol.most_sends(sizes),
            arrays=np.zeros((protocol.most_arrays(sizes), width), dtype),
            array_count=protocol.most_arrays(sizes),
            changes=sizes.group + 1 if protocol.runs.by_timers else 0,
        )
        self._sent.share(self.rows)
        self._marks: memoryview = self._sent.marks.view(np.int64).data
        self._arrived = Arrived(self.rows, np.zeros(NUMBERS_MAX, np.int64), np.zeros(width, dtype))
        self._arrived_numbers: memoryview = self._arrived.numbers.data
        self._numbers = [declaration.number_count(message) for message in protocol.messages]
        self._widths = [declaration.message_width(message, sizes) for message in protocol.messages]
        self._calls: Any = bind(protocol, wide=np.dtype(dtype) == np.int64)
        self._at = (self.rows.address, index)
        self._timer = NEVER

    def compile(self) -> None:
        """Compile the entry points now, and not when each is called for the first time."""
        calls = self._calls
        for call, numbers in COMPILED.items():
            compile_for(getattr(calls, call), *[0] * numbers)

    @property
    def learned(self) -> int:
        """The execution whose result the last call brought, 0 if none."""
        return self._marks[_LEARNED]

    @property
    def finished(self) -> int:
        """The execution that the last call finished at this member, 0 if none."""
        return self._marks[_FINISHED]

    @property
    def begun(self) -> int:
        """The execution that the last call began, where members run by timers, 0 if none."""
        return self._marks[_BEGUN]

    @property
    def counted(self) -> tuple[int, int] | None:
        """The receiver that the last call counted in, and the last message before those that count for it."""
        member = self._marks[_COUNTED]
        return (member - 1, self._marks[_AFTER]) if member else None

    @property
    def opened(self) -> tuple[int, int] | None:
        """The column whose messages the last call began to take, and the last message before those."""
        column = self._marks[_OPENED]
        return (column - 1, self._marks[_AFTER]) if column else None

    @property
    def changes(self) -> list[Change]:
        """Members that the last call admitted or removed."""
        told = self._sent.changes[: self._marks[_CHANGES]]
        return [Change.of(int(value)) for value in told]

    def width(self, kind: int) -> int:
        """Return how many entries the arrays of a message have."""
        return self._widths[kind]

    def number_count(self, kind: int) -> int:
        """Return how many whole numbers a message has."""
        return self._numbers[kind]

    def accepts(self, message: Received) -> bool:
        """Tell whether a message fits what the protocol declares; kernels must not see one that does not."""
        limits = self._limits
        return 0 <= message.kind < len(limits) and limits[message.kind].hold(message.numbers, message.array)

    @cached_property
    def _limits(self) -> list[Limits]:
        fields = self.protocol.declaration.fields
        return [Limits(fields[message], self.sizes) for message in self.protocol.messages]

    def init(self, now: int) -> list[Sent]:
        """Begin to take part, at the start of the group or when this member joins it."""
        return self._call(self._calls.init, now)

    def start(self, now: int) -> list[Sent]:
        """Begin the next execution; only member 0 is asked to, or a successor where there are any."""
        return self._call(self._calls.start, now)

    def leave(self, now: int) -> list[Sent]:
        """Ask the member to leave."""
        return self._call(self._calls.leave, now)

    def receive(self, message: Received, now: int) -> list[Sent]:
        """Handle a message and return what it makes this member send."""
        arrived = self._arrived
        for k, number in enumerate(message.numbers):
            self._arrived_numbers[k] = number
        if message.array is not None:
            arrived.array[: message.array.size] = message.array
        self._marks[:] = _CLEARED
        where = (arrived.numbers_address, arrived.array_address)
        self._calls.receive(*self._at, message.kind, message.source, *where, now)
        return self._sends()

    def attach(self, column: int, number: int, now: int) -> int:
        """Note what goes with a data message that this member is about to send; return its bytes."""
        return int(self._calls.attach(*self._at, column, number, now))

    def take(self, column: int, source: int, before: int, now: int) -> list[Sent]:
        """Hear that the prefix of a column, whose sender is ``source``, has grown beyond ``before``."""
        self._marks[:] = _CLEARED
        self._calls.take(*self._at, column, source, before, now)
        return self._sends()

    def hear(self, source: int, now: int) -> None:
        """Take a message of the data traffic for a sign of life of its sender."""
        self._calls.hear(*self._at, source, now)

    def gone(self, member: int, now: int, column: int = -1) -> list[Sent]:
        """Hear from a failure detector that a member is gone, and which column it led, if any."""
        self._marks[:] = _CLEARED
        self._calls.gone(*self._at, member, column, now)
        return self._sends()

    def joined(self, member: int, now: int) -> list[Sent]:
        """Hear from a membership service that a member has joined."""
        self._marks[:] = _CLEARED
        self._calls.joined(*self._at, member, now)
        return self._sends()

    def channel(self, what: int, member: int, column: int, connection: int, now: int) -> list[Sent]:
        """Hear that it is to connect to a sender, or that a connection is closed."""
        self._marks[:] = _CLEARED
        self._calls.channel(*self._at, what, member, column, connection, now)
        return self._sends()

    def next_timer(self) -> int | None:
        """Return when ``handle_timer`` is to be called, None for not at all."""
        return None if self._timer == NEVER else self._timer

    def ring_at(self, at: int) -> None:
        """Have the timer go off at a time, whatever the kernels set it to."""
        self._timer = at

    def handle_timer(self, now: int) -> list[Sent]:
        """Let the timer that was due go off."""
        self._timer = NEVER
        return self._call(self._calls.timer, now)

    def _call(self, call: Any, now: int) -> list[Sent]:
        self._marks[:] = _CLEARED
        call(*self._at, now)
        return self._sends()

    def _sends(self) -> list[Sent]:
        marks, sent = self._marks, self._sent
        if marks[_TIMER] != AS_IT_IS:
            self._timer = marks[_TIMER]
        if marks[_OVERFLOW]:
            raise StablecastError(
                f"{self.protocol.name}: a call sends more than {sent.kind.size} messages or {sent.slot.size}"
                " arrays (raise the 'sends' or 'arrays' of its kernels), or sends again before it has sent"
            )
        count = marks[_SENDS]
        if not count:
            return []
        made: list[Sent] = []
        row = -1
        columns = (sent.kind, sent.dest, sent.carries, sent.payload, sent.numbers)
        for kind, dest, carries, payload, numbers in zip(*(c[:count].tolist() for c in columns), strict=True):
            row += carries == ARRAY
            if carries == SAME:
                array = made[-1].array
            else:
                array = None if carries == NOTHING else self._carried(carries, kind, row)
            made.append(Sent(kind, dest, tuple(numbers[: self._numbers[kind]]), array, payload))
        return made

    def _carried(self, carries: int, kind: int, row: int) -> IntArray:
        """Return a copy of the arrays of a send."""
        array: IntArray = self.me.received if carries == RECEIVED else self._sent.arrays[row]
        return array[: self._widths[kind]].copy()


def lone_machine(protocol: Protocol) -> Machine:
    """Return the machine of a group of one, to compile its entry points."""
    sizes = Sizes(1, 1, 1, 8, protocol.parameter_values({}, 1), leaders=(0,))
    around = Surroundings(Tree(np.array([-1])), sizes, 0, lambda: np.zeros((1, 1)))
    return Machine(protocol, index=0, sizes=sizes, places=protocol.places(around))


COMPILED = {
    "init": 3,
    "start": 3,
    "timer": 3,
    "leave": 3,
    "receive": 7,
    "gone": 5,
    "joined": 4,
    "channel": 7,
    "attach": 5,
    "take": 6,
    "hear": 4,
}
"""The entry points, and how many whole numbers each takes."""
_PLACE = {name: number for number, name in enumerate(MARKS.names or ())}
_SENDS, _LEARNED, _FINISHED = _PLACE["sends"], _PLACE["learned"], _PLACE["finished"]
_BEGUN = _PLACE["begun"]
_COUNTED, _OPENED, _AFTER = _PLACE["counted"], _PLACE["opened"], _PLACE["after"]
_TIMER, _CHANGES, _OVERFLOW = _PLACE["timer"], _PLACE["changes"], _PLACE["overflow"]
_CLEARED = np.array([AS_IT_IS if name == "timer" else 0 for name in _PLACE], np.int64).data
