"""What a protocol declares, as kernels see it: members, messages and the outbox, by their fields' names.

Theory
    A group's numbers lie in a few arrays with a row for each member.  One *block* of 64-bit words, the same
    for all members, says where: addresses, distances between rows, and for each declared array its place in
    a row and its length.  A member is the address of the block and its own number; ``me.W`` is a load of W's
    place, an addition, and no copy.  Which word belongs to which name is part of the member's type (its
    :class:`Layout`), so a name costs nothing when the kernel runs, and a wrong one is an error when it is
    compiled.
What is true
    Python writes the block between calls only, so compiled code may load a word once and keep it.  All
    arrays outlive the call: the :class:`Rows` object holds them.  The rows of a single member (a live
    group's) lie at distance 0, so that its number need not be 0.
Messages
    A message is a named tuple.  ``send`` copies its numbers and arrays into the outbox, where a driver finds
    them, each array in its declared length; ``read`` makes the same tuple of what has come in, its arrays
    being views.  A message whose only array is the sender's own ``received`` is sent without a copy; the
    driver makes one where that can change.
Where it is
    This file has the Python side: kernels run on it as plain functions where compilation is off, and drivers
    always.  ``view_types`` and ``view_calls`` have what compiled code sees of the same classes and functions.
What can go wrong
    Neither views nor tables check bounds.  With ``NUMBA_DISABLE_JIT=1`` the same kernels run as plain Python
    on NumPy's arrays, which do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling.structs import Record

IntArray = NDArray[np.integer[Any]]
WORD = 8
NUMBERS_MAX = 5
"""Whole numbers that a message may have."""

NOTHING, ARRAY, RECEIVED, SAME = 0, 1, 2, 3
"""What a send carries: no array, arrays of its own, the sender's received array, those of the send before."""
BY_KIND = -1
"""In place of a send's bytes: what its type and the arrays that it carries come to."""


class Marks(Record):
    """What one call of a kernel did."""

    sends: int
    """Messages of this call."""
    arrays: int
    """Rows of arrays among them."""
    learned: int
    """The execution whose result became known, 0 for none."""
    rose: int
    """Whether ``stable`` rose."""
    finished: int
    """The execution that has nothing more to do here, 0 for none."""
    begun: int
    """The execution that this member has begun by itself, 0 for none."""
    timer: int
    """When the timer is to go off, -1 if it was not touched."""
    changes: int
    """Members admitted or removed."""
    counted: int
    """1 + the member that this one, as a sender, counts as a receiver from now on, 0 for none."""
    opened: int
    """1 + the column whose messages this member takes from now on, 0 for none."""
    after: int
    """Of either: the last message of the sender that does not count."""
    overflow: int
    """Sends, or arrays of sends, for which there was no room, or that repeat nothing."""


MARKS = Marks.dtype


class Words:
    """Words of the block that every group has."""

    NAMES = (
        "group_size",
        "seed",
        "guarded",
        "numbers",
        "numbers_step",
        "sequences",
        "sequences_step",
        "received",
        "stable",
        "frontier_step",
        "columns",
        "place_step",
        "attached",
        "attached_columns",
        "attached_length",
        "attached_width",
        "marks",
        "kind",
        "dest",
        "sent_numbers",
        "carries",
        "slot",
        "payload",
        "changes",
        "arrays",
        "arrays_step",
        "room",
        "changes_room",
        "array_room",
    )
    AT: ClassVar = {name: number for number, name in enumerate(NAMES)}
    COUNT = len(NAMES)


EVERY_MEMBER = ("number", "group_size", "received", "stable", "seed", "guarded", "params", "attached")
"""What every member has, whatever its protocol declares."""


class Slot(NamedTuple):
    """Where a field of a member lies."""

    storage: str
    """``number`` (a word of the member's row), ``sequences`` or ``longs`` (an array in it), ``place`` (a
    number of the overlay), ``list`` (several), ``shared`` (several, the same for all members)."""
    at: int
    """The number's index in the row, or the block's first word for the field: an array has its place there,
    then its length, then the number of its rows if it has two dimensions."""
    has_rows: bool = False
    """Whether an array has two dimensions."""


@dataclass(frozen=True)
class Layout:
    """Where compiled code finds the fields of a protocol's members, and its parameters."""

    name: str
    """Short and unique; two layouts of the same name are the same."""
    wide: bool
    """Whether sequence numbers have 64 bits; else 32."""
    fields: tuple[tuple[str, Slot], ...]
    params: tuple[tuple[str, int], ...]
    """Each parameter's word of the block."""

    @property
    def dtype(self) -> type[np.integer[Any]]:
        """The type of sequence numbers."""
        return np.int64 if self.wide else np.int32


class MessageLayout(NamedTuple):
    """Where the outbox and a row of arrays have a message's fields."""

    kind: int
    numbers: Mapping[str, int]
    """For each number, which it is."""
    arrays: Mapping[str, int]
    """For each array, the block's word that says where it begins; the next word says how long it is."""


MESSAGES: dict[type, MessageLayout] = {}
"""How each message is laid out."""


def register_message(message: type, layout: MessageLayout) -> None:
    """Say how a message is laid out, before the first kernel that sends or reads it is compiled."""
    if MESSAGES.setdefault(message, layout) != layout:
        raise TypeError(f"{message.__name__} belongs to two protocols that number it differently")


class Params:
    """A protocol's parameters by name, as whole numbers; the same for all members."""

    _at: tuple[NDArray[np.int64], dict[str, int]]

    def __init__(self, block: NDArray[np.int64], layout: Layout) -> None:
        object.__setattr__(self, "_at", (block, dict(layout.params)))

    def __getattr__(self, name: str) -> int:
        block, words = self._at
        if name not in words:
            raise AttributeError(f"no parameter {name}")
        return int(block[words[name]])

    def __setattr__(self, name: str, value: int) -> None:
        block, words = self._at
        block[words[name]] = value


class MemberView:
    """One member, as kernels see it; compiled ones get its group's block and its number."""

    _numbers: tuple[NDArray[np.int64], dict[str, int]]

    def __init__(self, rows: Rows, number: int) -> None:
        set_ = object.__setattr__
        set_(self, "address", rows.address)
        set_(self, "layout", rows.layout)
        set_(self, "number", number)
        set_(self, "params", rows.params)
        set_(self, "attached", rows.attached)
        row = 0 if rows.single else number
        set_(self, "received", rows.received[row])
        set_(self, "stable", rows.stable[row])
        set_(self, "_numbers", (rows.numbers[row], rows.index))
        for name in ("group_size", "seed", "guarded"):
            set_(self, name, int(rows.block[Words.AT[name]]))
        for name, slot in rows.layout.fields:
            if slot.storage != "number":
                set_(self, name, rows.field(row, name, slot))

    def __getattr__(self, name: str) -> int:
        numbers, index = self._numbers
        if name not in index:
            raise AttributeError(f"no field {name}")
        return int(numbers[index[name]])

    def __setattr__(self, name: str, value: int) -> None:
        numbers, index = self._numbers
        if name not in index:
            raise AttributeError(f"{name} is not a number that can be set")
        numbers[index[name]] = value


_AT: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""Rows by the addresses of their blocks, and messages that have come in by those of their numbers."""


class Rows:
    """The arrays of a group's members, or of one; ``rows[i]`` is a member."""

    def __init__(
        self,
        layout: Layout,
        *,
        words: int,
        single: bool,
        received: IntArray,
        stable: IntArray,
        numbers: NDArray[np.int64],
        sequences: IntArray,
        attached: NDArray[np.int64],
    ) -> None:
        self.layout, self.single = layout, single
        self.block = np.zeros(Words.COUNT + words, np.int64)
        self.address = int(self.block.ctypes.data)
        _AT[self.address] = self
        self.received, self.stable, self.numbers, self.sequences = received, stable, numbers, sequences
        self.attached = attached
        self.index = {name: slot.at for name, slot in layout.fields if slot.storage == "number"}
        self.params = Params(self.block, layout)
        self.outbox: Any = None
        self._kept: dict[str, Any] = {}
        self.point("received", received)
        self.point("stable", stable)
        self.point("numbers", numbers)
        self.point("sequences", sequences)
        self.point("attached", attached)
        step = 0 if single else 1
        self.set("numbers_step", step * numbers.strides[0])
        self.set("sequences_step", step * sequences.strides[0])
        self.set("frontier_step", step * received.strides[0])
        self.set("place_step", step)
        self.set("columns", received.shape[1])
        for name, length in zip(("columns", "length", "width"), attached.shape, strict=True):
            self.set(f"attached_{name}", length)

    def set(self, name: str, value: int) -> None:
        """Set one of the words that every group has."""
        self.block[Words.AT[name]] = value

    def point(self, name: str, array: Any) -> None:
        """Let such a word be an array's address; the array is kept."""
        self._kept[name] = array
        self.block[Words.AT[name]] = array.ctypes.data

    def keep_at(self, word: int, array: Any) -> None:
        """Let a declared field's word be an array's address."""
        self._kept[f"word {word}"] = array
        self.block[word] = array.ctypes.data

    def kept_at(self, word: int) -> Any:
        """Return the array whose address a word is."""
        return self._kept[f"word {word}"]

    def field(self, row: int, name: str, slot: Slot) -> Any:
        """Return a member's array, or its place in the overlay."""
        if slot.storage == "place":
            return int(self.kept_at(slot.at)[row])
        if slot.storage == "list":
            start = self.kept_at(slot.at + 1)
            return self.kept_at(slot.at)[start[row] : start[row + 1]]
        if slot.storage == "shared":
            return self.kept_at(slot.at)
        array = self._entries(slot)[row]
        return array.reshape(int(self.block[slot.at + 2]), -1) if slot.has_rows else array

    def _entries(self, slot: Slot) -> IntArray:
        """Return an array of all members; one of two dimensions has its rows one behind the other."""
        whole: IntArray = self.sequences if slot.storage == "sequences" else self.numbers
        begin, length = int(self.block[slot.at]) // whole.itemsize, int(self.block[slot.at + 1])
        rows = int(self.block[slot.at + 2]) if slot.has_rows else 1
        return whole[:, begin : begin + rows * length]

    def column(self, name: str) -> NDArray[np.int64]:
        """Return a number of all members."""
        return self.numbers[:, self.index[name]]

    def array(self, name: str) -> IntArray:
        """Return an array of all members, with a row for each."""
        return self._entries(dict(self.layout.fields)[name])

    def __getitem__(self, number: int) -> MemberView:
        return MemberView(self, number)

    def __len__(self) -> int:
        return len(self.received)


class OutboxView:
    """What a call sends and tells, and whose call it is."""

    def __init__(self, rows: Rows, outbox: SentRows, number: int) -> None:
        self.address, self.layout, self.number = rows.address, rows.layout, number
        self.rows, self.marks = outbox, outbox.marks[0]
        self.dest, self.changes, self.payload = outbox.dest, outbox.changes, outbox.payload
        self._received = rows.received[0 if rows.single else number]
        self._block = rows.block

    def take(self, dest: int, message: Any) -> None:
        """Put a message into the outbox, as compiled ``send`` does."""
        laid, sent, marks = MESSAGES[type(message)], self.rows, self.marks
        k = int(marks["sends"])
        if k >= sent.kind.size:
            marks["overflow"] += 1
            return
        sent.kind[k], sent.dest[k], sent.payload[k] = laid.kind, dest, BY_KIND
        for name, place in laid.numbers.items():
            sent.numbers[k, place] = getattr(message, name)
        arrays = [getattr(message, name) for name in laid.arrays]
        if not arrays:
            sent.carries[k] = NOTHING
        elif len(arrays) == 1 and arrays[0].ctypes.data == self._received.ctypes.data:
            sent.carries[k] = RECEIVED
        elif marks["arrays"] >= sent.slot.size:
            sent.carries[k] = NOTHING
            marks["overflow"] += 1
        else:
            sent.carries[k] = ARRAY
            row = sent.arrays[sent.slot[marks["arrays"]]]
            for array, word in zip(arrays, laid.arrays.values(), strict=True):
                begin, length = int(self._block[word]) // row.itemsize, int(self._block[word + 1])
                row[begin : begin + length] = array[:length]
            marks["arrays"] += 1
        marks["sends"] = k + 1

    def take_again(self, dest: int) -> None:
        """Send what was sent last to another member too."""
        sent, marks = self.rows, self.marks
        k = int(marks["sends"])
        if not 0 < k < sent.kind.size:
            marks["overflow"] += 1
            return
        sent.kind[k], sent.dest[k], sent.payload[k] = sent.kind[k - 1], dest, sent.payload[k - 1]
        sent.numbers[k] = sent.numbers[k - 1]
        sent.carries[k] = SAME if sent.carries[k - 1] == ARRAY else sent.carries[k - 1]
        marks["sends"] = k + 1


class SentRows(NamedTuple):
    """The arrays of an outbox: a row for each message of one call."""

    marks: Any
    kind: NDArray[np.int64]
    dest: NDArray[np.int64]
    numbers: NDArray[np.int64]
    carries: NDArray[np.int64]
    slot: NDArray[np.int64]
    """The rows of ``arrays`` that are free for this call, in order."""
    payload: NDArray[np.int64]
    """Bytes of each beyond its header; ``BY_KIND`` for what its type comes to."""
    changes: NDArray[np.int64]
    arrays: IntArray

    def share(self, rows: Rows) -> None:
        """Tell a group's block where these are; called again when one of them was replaced."""
        for name, array in self._asdict().items():
            rows.point("sent_numbers" if name == "numbers" else name, array)
        rows.outbox = self
        rows.set("arrays_step", self.arrays.strides[0])
        rows.set("room", self.kind.size)
        rows.set("changes_room", self.changes.size)
        rows.set("array_room", self.slot.size)


class Arrived:
    """A message that has come in, before it is read as what it is; written anew for each one."""

    def __init__(self, rows: Rows, numbers: NDArray[np.int64], array: IntArray) -> None:
        self.kind = self.source = 0
        self.numbers, self.array, self.block = numbers, array, rows.block
        self.address, self.layout = rows.address, rows.layout
        self.numbers_address, self.array_address = int(numbers.ctypes.data), int(array.ctypes.data)
        _AT[self.numbers_address] = self


FIRST_NUMBER = "execution"
"""The field of a record of the simulator's at which the numbers of a message begin."""


def member_at(layout: Any, address: int, number: int) -> Any:
    """Return a member, given the address of its group's block: whole numbers come from Python soonest."""
    return _AT[address][number]


def outbox_at(layout: Any, address: int, number: int) -> Any:
    """Return the outbox of one member's call likewise."""
    return outbox_of(_AT[address], number)


def letter_at(layout: Any, address: int, kind: int, source: int, numbers: int, array: int) -> Any:
    """Return a message that has come in likewise, given the addresses of its numbers and arrays."""
    letter = _AT[numbers]
    letter.kind, letter.source = kind, source
    return letter


def outbox_of(rows: Any, number: int) -> Any:
    """Return the outbox of one member's call."""
    return OutboxView(rows, rows.outbox, number)


def letter_of(rows: Any, kind: int, source: int, record: Any, array: Any) -> Any:
    """Return a message of the simulator's network: its numbers lie in a record, and it carries an array."""
    first = record.dtype.names.index(FIRST_NUMBER)
    numbers = [record[name] for name in record.dtype.names[first : first + NUMBERS_MAX]]
    letter = Arrived(rows, np.array(numbers, np.int64), array)
    letter.kind, letter.source = kind, source
    return letter


def send(out: Any, dest: int, message: Any) -> None:
    """Send a message to a member, or to all with ``GROUP``; its arrays are copied as they are now."""
    out.take(dest, message)


def send_again(out: Any, dest: int) -> None:
    """Send what was sent last in this call to another member too; its arrays are kept once."""
    out.take_again(dest)


def read(letter: Any, message: Any) -> Any:
    """Return what has come in as the message that it is; its arrays are views."""
    laid = MESSAGES[message]
    fields: dict[str, Any] = {name: int(letter.numbers[place]) for name, place in laid.numbers.items()}
    for name, word in laid.arrays.items():
        begin, length = int(letter.block[word]) // letter.array.itemsize, int(letter.block[word + 1])
        fields[name] = letter.array[begin : begin + length]
    return message(**fields)
