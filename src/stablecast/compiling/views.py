"""What a protocol declares, as compiled kernels see it: members, messages and the outbox by their fields' names.

Theory
    A group's numbers lie in a few arrays with a row for each member.  One *block* of 64-bit words, the same for
    all members, says where: addresses, distances between rows, and for each declared array its place in a row
    and its length.  A member is the address of the block and its own number; ``me.W`` is a load of W's place,
    an addition, and no copy.  Which word belongs to which name is part of the member's type (its
    :class:`Layout`), so a name costs nothing when the kernel runs, and a wrong one is an error when it is
    compiled.
What is true
    Python writes the block between calls only, so compiled code may load a word once and keep it.  All arrays
    outlive the call: the :class:`Rows` object holds them.  The rows of a single member (a live group's) lie at
    distance 0, so that its number need not be 0.
Messages
    A message is a named tuple.  ``send`` copies its numbers and arrays into the outbox, where a driver finds
    them; ``read`` makes the same tuple of what has come in, its arrays being views.  A message whose only array
    is the sender's own ``received`` is sent without a copy; the driver makes one where that can change.
What can go wrong
    Neither views nor tables check bounds.  With ``NUMBA_DISABLE_JIT=1`` the same kernels run as plain Python on
    NumPy's arrays, which do.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling.dispatch import kernel as _named_first  # noqa: F401  # numba comes second
from stablecast.compiling.structs import Record
from stablecast.compiling.tables import TableType

import numba  # isort: skip
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_global, signature
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_builtin,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np import arrayobj

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
    timer: int
    """When the timer is to go off, -1 if it was not touched."""
    changes: int
    """Members admitted or removed."""
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
        "array_room",
    )
    AT = {name: number for number, name in enumerate(NAMES)}
    COUNT = len(NAMES)


class Slot(NamedTuple):
    """Where a field of a member lies."""

    storage: str
    """``number`` (a word of the member's row), ``sequences`` or ``longs`` (an array in it), ``place`` (a number
    of the overlay), ``list`` (several)."""
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


_MESSAGES: dict[type, MessageLayout] = {}


def register_message(message: type, layout: MessageLayout) -> None:
    """Say how a message is laid out, before the first kernel that sends or reads it is compiled."""
    if _MESSAGES.setdefault(message, layout) != layout:
        raise TypeError(f"{message.__name__} belongs to two protocols that number it differently")


# As Python sees it ------------------------------------------------------------------------------------------


class Params:
    """A protocol's parameters by name, as whole numbers; the same for all members."""

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
        laid, sent, marks = _MESSAGES[type(message)], self.rows, self.marks
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
        rows.set("array_room", self.slot.size)


class Arrived:
    """A message that has come in, before it is read as what it is; written anew for each one."""

    def __init__(self, rows: Rows, numbers: NDArray[np.int64], array: IntArray) -> None:
        self.kind = self.source = 0
        self.numbers, self.array, self.block = numbers, array, rows.block
        self.address, self.layout = rows.address, rows.layout
        self.numbers_address, self.array_address = int(numbers.ctypes.data), int(array.ctypes.data)


FIRST_NUMBER = "execution"
"""The field of a record of the simulator's at which the numbers of a message begin."""


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
    laid = _MESSAGES[message]
    fields: dict[str, Any] = {name: int(letter.numbers[place]) for name, place in laid.numbers.items()}
    for name, word in laid.arrays.items():
        begin, length = int(letter.block[word]) // letter.array.itemsize, int(letter.block[word + 1])
        fields[name] = letter.array[begin : begin + length]
    return message(**fields)


# As compiled code sees it -----------------------------------------------------------------------------------


class _GroupType(types.Type):
    """A type that follows from a layout."""

    what = ""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        super().__init__(name=f"{self.what}[{layout.name}]")


class RowsType(_GroupType):
    """The compiled type of :class:`Rows`: the block's address."""

    what = "Rows"


class MemberType(_GroupType):
    """The compiled type of :class:`MemberView`."""

    what = "Member"


class ParamsType(_GroupType):
    """The compiled type of a member's parameters."""

    what = "Params"


class OutboxType(types.Type):
    """The compiled type of :class:`OutboxView`."""

    def __init__(self, wide: bool) -> None:
        self.wide = wide
        super().__init__(name=f"Outbox[{64 if wide else 32}]")


class LetterType(types.Type):
    """The compiled type of :class:`Arrived`, and of a message on the simulator's network."""

    def __init__(self, wide: bool) -> None:
        self.wide = wide
        super().__init__(name=f"Letter[{64 if wide else 32}]")


def _sequence(wide: bool) -> Any:
    return types.int64 if wide else types.int32


_BLOCK = types.CPointer(types.int64)


@register_model(RowsType)
@register_model(ParamsType)
class _BlockModel(models.StructModel):
    def __init__(self, manager: Any, typ: Any) -> None:
        super().__init__(manager, typ, [("block", _BLOCK)])


@register_model(MemberType)
@register_model(OutboxType)
class _MemberModel(models.StructModel):
    def __init__(self, manager: Any, typ: Any) -> None:
        super().__init__(manager, typ, [("block", _BLOCK), ("number", types.int64)])


@register_model(LetterType)
class _LetterModel(models.StructModel):
    def __init__(self, manager: Any, typ: Any) -> None:
        fields = [
            ("kind", types.int64),
            ("source", types.int64),
            ("numbers", _BLOCK),
            ("array", types.CPointer(_sequence(typ.wide))),
            ("block", _BLOCK),
        ]
        super().__init__(manager, typ, fields)


@typeof_impl.register(Rows)
def _typeof_rows(value: Any, context: Any) -> Any:
    return RowsType(value.layout)


@typeof_impl.register(MemberView)
def _typeof_member(value: Any, context: Any) -> Any:
    return MemberType(value.layout)


@typeof_impl.register(OutboxView)
def _typeof_outbox(value: Any, context: Any) -> Any:
    return OutboxType(value.layout.wide)


@typeof_impl.register(Arrived)
def _typeof_arrived(value: Any, context: Any) -> Any:
    return LetterType(value.layout.wide)


@unbox(LetterType)
def _unbox_letter(typ: Any, obj: Any, c: Any) -> Any:
    proxy = cgutils.create_struct_proxy(typ)(c.context, c.builder)
    _unboxed_block(typ, obj, c, proxy)
    for name in ("kind", "source"):
        value = c.pyapi.object_getattr_string(obj, name)
        setattr(proxy, name, c.pyapi.long_as_longlong(value))
        c.pyapi.decref(value)
    for name in ("numbers", "array"):
        value = c.pyapi.object_getattr_string(obj, f"{name}_address")
        pointer = c.pyapi.long_as_voidptr(value)
        c.pyapi.decref(value)
        setattr(proxy, name, c.builder.bitcast(pointer, getattr(proxy, name).type))
    return NativeValue(proxy._getvalue(), is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


def _unboxed_block(typ: Any, obj: Any, c: Any, proxy: Any) -> None:
    address = c.pyapi.object_getattr_string(obj, "address")
    pointer = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    proxy.block = c.builder.bitcast(pointer, proxy.block.type)


@unbox(RowsType)
def _unbox_rows(typ: Any, obj: Any, c: Any) -> Any:
    proxy = cgutils.create_struct_proxy(typ)(c.context, c.builder)
    _unboxed_block(typ, obj, c, proxy)
    return NativeValue(proxy._getvalue(), is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


@unbox(MemberType)
@unbox(OutboxType)
def _unbox_member(typ: Any, obj: Any, c: Any) -> Any:
    proxy = cgutils.create_struct_proxy(typ)(c.context, c.builder)
    _unboxed_block(typ, obj, c, proxy)
    number = c.pyapi.object_getattr_string(obj, "number")
    proxy.number = c.pyapi.long_as_longlong(number)
    c.pyapi.decref(number)
    return NativeValue(proxy._getvalue(), is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


class _Builder:
    """Writes the code for one access."""

    def __init__(self, context: Any, builder: Any, typ: Any, value: Any) -> None:
        self.context, self.builder = context, builder
        self.proxy = cgutils.create_struct_proxy(typ)(context, builder, value)
        self.word_type = ir.IntType(64)

    def word(self, number: int | str) -> Any:
        """Load a word of the block; Python rewrites it only between calls."""
        at = Words.AT[number] if isinstance(number, str) else number
        place = self.builder.gep(self.proxy.block, [ir.Constant(self.word_type, at)])
        value = self.builder.load(place)
        value.set_metadata("invariant.load", self.builder.module.add_metadata([]))
        return value

    def pointer(self, number: int | str, item: Any, offset: Any = None) -> Any:
        """Return the address that a word holds, some bytes further on, as one of items of a type."""
        address = self.word(number)
        if offset is not None:
            address = self.builder.add(address, offset)
        return self.builder.inttoptr(address, ir.PointerType(item))

    def row(self, base: str, step: str, number: Any) -> Any:
        """Return how many bytes after an array's beginning a member's row begins."""
        return self.builder.mul(number, self.word(step))

    def array(self, typ: Any, data: Any, shape: list[Any]) -> Any:
        """Return a view of an array."""
        builder, item = self.builder, ir.Constant(self.word_type, _item_bytes(typ.dtype))
        strides = [item]
        for length in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], length))
        made = arrayobj.make_array(typ)(self.context, builder)
        arrayobj.populate_array(made, data=data, shape=shape, strides=strides, itemsize=item, meminfo=None)
        return made._getvalue()

    def item_type(self, typ: Any) -> Any:
        return self.context.get_data_type(typ)


def _item_bytes(typ: Any) -> int:
    return int(typ.bitwidth) // 8


def _field_type(layout: Layout, slot: Slot) -> Any:
    if slot.storage in ("number", "place"):
        return types.int64
    if slot.storage == "list":
        return types.Array(types.int32, 1, "C")
    dtype = types.int64 if slot.storage == "longs" else _sequence(layout.wide)
    return types.Array(dtype, 2 if slot.has_rows else 1, "C")


@infer_getattr
class _MemberAttributes(AttributeTemplate):
    key = MemberType

    def generic_resolve(self, typ: Any, attr: str) -> Any:
        if attr in ("number", "group_size", "seed", "guarded"):
            return types.int64
        if attr in ("received", "stable"):
            return types.Array(_sequence(typ.layout.wide), 1, "C")
        if attr == "attached":
            return types.Array(types.int64, 3, "C")
        if attr == "params":
            return ParamsType(typ.layout)
        slot = dict(typ.layout.fields).get(attr)
        return None if slot is None else _field_type(typ.layout, slot)


@infer_getattr
class _ParamsAttributes(AttributeTemplate):
    key = ParamsType

    def generic_resolve(self, typ: Any, attr: str) -> Any:
        return types.int64 if attr in dict(typ.layout.params) else None


@lower_getattr_generic(ParamsType)
def _get_parameter(context: Any, builder: Any, typ: Any, value: Any, attr: str) -> Any:
    return _Builder(context, builder, typ, value).word(dict(typ.layout.params)[attr])


@lower_getattr_generic(MemberType)
def _get_member_field(context: Any, builder: Any, typ: Any, value: Any, attr: str) -> Any:
    b = _Builder(context, builder, typ, value)
    if attr == "number":
        return b.proxy.number
    if attr in ("group_size", "seed", "guarded"):
        return b.word(attr)
    if attr == "params":
        params = cgutils.create_struct_proxy(ParamsType(typ.layout))(context, builder)
        params.block = b.proxy.block
        return params._getvalue()
    sequence = _sequence(typ.layout.wide)
    if attr in ("received", "stable"):
        offset = b.row(attr, "frontier_step", b.proxy.number)
        data = b.pointer(attr, b.item_type(sequence), offset)
        return b.array(types.Array(sequence, 1, "C"), data, [b.word("columns")])
    if attr == "attached":
        shape = [b.word(f"attached_{name}") for name in ("columns", "length", "width")]
        data = b.pointer("attached", b.item_type(types.int64))
        return b.array(types.Array(types.int64, 3, "C"), data, shape)
    return _get_declared(b, typ, dict(typ.layout.fields)[attr])


def _get_declared(b: _Builder, typ: Any, slot: Slot) -> Any:
    builder, number = b.builder, b.proxy.number
    if slot.storage == "number":
        return builder.load(_number_address(b, slot))
    if slot.storage == "place":
        at = builder.mul(number, b.word("place_step"))
        place = builder.gep(b.pointer(slot.at, ir.IntType(32)), [at])
        return builder.sext(builder.load(place), b.word_type)
    if slot.storage == "list":
        at = builder.mul(number, b.word("place_step"))
        starts = b.pointer(slot.at + 1, b.word_type)
        begin = builder.load(builder.gep(starts, [at]))
        end = builder.load(builder.gep(starts, [builder.add(at, ir.Constant(b.word_type, 1))]))
        data = builder.gep(b.pointer(slot.at, ir.IntType(32)), [begin])
        return b.array(types.Array(types.int32, 1, "C"), data, [builder.sub(end, begin)])
    base = "sequences" if slot.storage == "sequences" else "numbers"
    kind = _field_type(typ.layout, slot)
    offset = builder.add(b.row(base, f"{base}_step", number), b.word(slot.at))
    data = b.pointer(base, b.item_type(kind.dtype), offset)
    shape = [b.word(slot.at + 1)]
    if slot.has_rows:
        shape.insert(0, b.word(slot.at + 2))
    return b.array(kind, data, shape)


def _number_address(b: _Builder, slot: Slot) -> Any:
    offset = b.row("numbers", "numbers_step", b.proxy.number)
    return b.builder.gep(b.pointer("numbers", b.word_type, offset), [ir.Constant(b.word_type, slot.at)])


@lower_setattr_generic(MemberType)
def _set_member_field(context: Any, builder: Any, sig: Any, args: Any, attr: str) -> None:
    typ, value_type = sig.args
    slot = dict(typ.layout.fields).get(attr)
    if slot is None or slot.storage != "number":
        raise NotImplementedError(f"{attr} is not a number that can be set")
    b = _Builder(context, builder, typ, args[0])
    value = context.cast(builder, args[1], value_type, types.int64)
    builder.store(value, _number_address(b, slot))


@infer_getattr
class _OutboxAttributes(AttributeTemplate):
    key = OutboxType

    def generic_resolve(self, typ: Any, attr: str) -> Any:
        if attr == "marks":
            return numba.from_dtype(MARKS)
        return TableType(types.int64) if attr in ("dest", "changes", "payload") else None


@lower_getattr_generic(OutboxType)
def _get_outbox_field(context: Any, builder: Any, typ: Any, value: Any, attr: str) -> Any:
    b = _Builder(context, builder, typ, value)
    if attr == "marks":
        record = context.get_value_type(numba.from_dtype(MARKS))
        return builder.inttoptr(b.word("marks"), record)
    table = cgutils.create_struct_proxy(TableType(types.int64))(context, builder)
    table.data = b.pointer(attr, b.word_type)
    table.size = b.word("room")
    return table._getvalue()


@infer_getattr
class _LetterAttributes(AttributeTemplate):
    key = LetterType

    def generic_resolve(self, typ: Any, attr: str) -> Any:
        return types.int64 if attr in ("kind", "source") else None


@lower_getattr_generic(LetterType)
def _get_letter_field(context: Any, builder: Any, typ: Any, value: Any, attr: str) -> Any:
    return getattr(cgutils.create_struct_proxy(typ)(context, builder, value), attr)


@infer_global(operator.getitem)
class _RowsGetItem(AbstractTemplate):
    def generic(self, args: Any, kwargs: Any) -> Any:
        if isinstance(args[0], RowsType) and isinstance(args[1], types.Integer):
            return signature(MemberType(args[0].layout), args[0], types.int64)
        return None


@lower_builtin(operator.getitem, RowsType, types.int64)
def _get_member(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _at_number(context, builder, sig.return_type, sig.args[0], args)


def _at_number(context: Any, builder: Any, made: Any, given: Any, args: Any) -> Any:
    rows = cgutils.create_struct_proxy(given)(context, builder, args[0])
    member = cgutils.create_struct_proxy(made)(context, builder)
    member.block, member.number = rows.block, args[1]
    return member._getvalue()


@infer_global(outbox_of)
class _OutboxOf(AbstractTemplate):
    def generic(self, args: Any, kwargs: Any) -> Any:
        rows, _ = args
        return signature(OutboxType(rows.layout.wide), rows, types.int64)


@lower_builtin(outbox_of, RowsType, types.int64)
def _outbox_of(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _at_number(context, builder, sig.return_type, sig.args[0], args)


@infer_global(letter_of)
class _LetterOf(AbstractTemplate):
    def generic(self, args: Any, kwargs: Any) -> Any:
        rows, _, _, record, array = args
        return signature(LetterType(rows.layout.wide), rows, types.int64, types.int64, record, array)


@lower_builtin(letter_of, RowsType, types.int64, types.int64, types.Record, types.Array)
def _letter_of(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    made = cgutils.create_struct_proxy(sig.return_type)(context, builder)
    given = cgutils.create_struct_proxy(sig.args[0])(context, builder, args[0])
    made.block, made.kind, made.source = given.block, args[1], args[2]
    offset = sig.args[3].offset(FIRST_NUMBER)
    made.numbers = cgutils.pointer_add(builder, args[3], offset, made.numbers.type)
    made.array = arrayobj.make_array(sig.args[4])(context, builder, args[4]).data
    return made._getvalue()


@infer_global(read)
class _Read(AbstractTemplate):
    def generic(self, args: Any, kwargs: Any) -> Any:
        letter, message = args
        if not (isinstance(letter, LetterType) and isinstance(message, types.NamedTupleClass)):
            return None
        laid = _MESSAGES[message.instance_class]
        array = types.Array(_sequence(letter.wide), 1, "C")
        kinds = [types.int64 if name in laid.numbers else array for name in message.instance_class._fields]
        return signature(types.BaseTuple.from_types(kinds, message.instance_class), letter, message)


@lower_builtin(read, LetterType, types.NamedTupleClass)
def _read(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    b = _Builder(context, builder, sig.args[0], args[0])
    laid = _MESSAGES[sig.return_type.instance_class]
    values = []
    for name, kind in zip(sig.return_type.instance_class._fields, sig.return_type, strict=True):
        if name in laid.numbers:
            place = builder.gep(b.proxy.numbers, [ir.Constant(b.word_type, laid.numbers[name])])
            values.append(builder.load(place))
        else:
            word = laid.arrays[name]
            data = cgutils.pointer_add(builder, b.proxy.array, b.word(word), b.proxy.array.type)
            values.append(b.array(kind, data, [b.word(word + 1)]))
    return context.make_tuple(builder, sig.return_type, values)


@infer_global(send)
class _Send(AbstractTemplate):
    def generic(self, args: Any, kwargs: Any) -> Any:
        out, dest, message = args
        if isinstance(out, OutboxType) and isinstance(message, types.BaseNamedTuple):
            return signature(types.none, out, types.int64, message)
        return None


@infer_global(send_again)
class _SendAgain(AbstractTemplate):
    def generic(self, args: Any, kwargs: Any) -> Any:
        return signature(types.none, args[0], types.int64) if isinstance(args[0], OutboxType) else None


class _SendBuilder(_Builder):
    """Writes the code of one send."""

    def mark(self, name: str) -> Any:
        """Return the address of a mark."""
        offset = MARKS.fields[name][1] // WORD  # type: ignore[index]
        return self.builder.gep(self.pointer("marks", self.word_type), [ir.Constant(self.word_type, offset)])

    def entry(self, name: str, k: Any, value: Any) -> None:
        """Set an entry of one of the outbox's arrays."""
        value = ir.Constant(self.word_type, value) if isinstance(value, int) else value
        self.builder.store(value, self.builder.gep(self.pointer(name, self.word_type), [k]))

    def load(self, name: str, k: Any) -> Any:
        """Load such an entry."""
        return self.builder.load(self.builder.gep(self.pointer(name, self.word_type), [k]))

    def add_one(self, name: str) -> None:
        """Count a mark up."""
        place = self.mark(name)
        self.builder.store(self.builder.add(self.builder.load(place), ir.Constant(self.word_type, 1)), place)


@lower_builtin(send, OutboxType, types.int64, types.BaseNamedTuple)
def _send(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    out_type, _, message_type = sig.args
    b = _SendBuilder(context, builder, out_type, args[0])
    laid = _MESSAGES[message_type.instance_class]
    values = cgutils.unpack_tuple(builder, args[2], len(message_type))
    by_name = dict(
        zip(message_type.instance_class._fields, zip(values, message_type, strict=True), strict=True)
    )
    k = builder.load(b.mark("sends"))
    with builder.if_else(builder.icmp_signed("<", k, b.word("room"))) as (fits, not_):
        with fits:
            b.entry("kind", k, laid.kind)
            b.entry("dest", k, args[1])
            b.entry("payload", k, BY_KIND)
            for name, place in laid.numbers.items():
                value, kind = by_name[name]
                at = builder.add(
                    builder.mul(k, ir.Constant(b.word_type, NUMBERS_MAX)), ir.Constant(b.word_type, place)
                )
                b.entry("sent_numbers", at, context.cast(builder, value, kind, types.int64))
            _send_arrays(b, k, laid, by_name)
            b.add_one("sends")
        with not_:
            b.add_one("overflow")
    return context.get_dummy_value()


def _send_arrays(b: _SendBuilder, k: Any, laid: MessageLayout, by_name: Mapping[str, Any]) -> None:
    builder = b.builder
    if not laid.arrays:
        b.entry("carries", k, NOTHING)
        return
    arrays = {
        name: arrayobj.make_array(kind)(b.context, builder, value)
        for name, (value, kind) in by_name.items()
        if name in laid.arrays
    }
    if len(arrays) > 1:
        _copy_arrays(b, k, laid, arrays)
        return
    (only,) = arrays.values()
    offset = b.row("received", "frontier_step", b.proxy.number)
    own = builder.add(b.word("received"), offset)
    is_own = builder.icmp_unsigned("==", builder.ptrtoint(only.data, b.word_type), own)
    with builder.if_else(is_own) as (as_it_is, otherwise):
        with as_it_is:
            b.entry("carries", k, RECEIVED)
        with otherwise:
            _copy_arrays(b, k, laid, arrays)


def _copy_arrays(b: _SendBuilder, k: Any, laid: MessageLayout, arrays: Mapping[str, Any]) -> None:
    builder, made = b.builder, b.builder.load(b.mark("arrays"))
    with builder.if_else(builder.icmp_signed("<", made, b.word("array_room"))) as (fits, not_):
        with fits:
            b.entry("carries", k, ARRAY)
            slot = b.load("slot", made)
            row = builder.add(b.word("arrays"), builder.mul(slot, b.word("arrays_step")))
            for name, word in laid.arrays.items():
                data = arrays[name].data
                item = ir.Constant(b.word_type, 8 if data.type.pointee.width == 64 else 4)
                place = builder.inttoptr(builder.add(row, b.word(word)), data.type)
                cgutils.raw_memcpy(builder, place, data, b.word(word + 1), item)
            b.add_one("arrays")
        with not_:
            b.entry("carries", k, NOTHING)
            b.add_one("overflow")


@lower_builtin(send_again, OutboxType, types.int64)
def _send_again(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    b = _SendBuilder(context, builder, sig.args[0], args[0])
    k, one = builder.load(b.mark("sends")), ir.Constant(b.word_type, 1)
    before = builder.sub(k, one)
    # Without a sign, what is before the first send is above everything.
    there = builder.icmp_unsigned("<", before, builder.sub(b.word("room"), one))
    with builder.if_else(there) as (fits, not_):
        with fits:
            for name in ("kind", "payload"):
                b.entry(name, k, b.load(name, before))
            b.entry("dest", k, args[1])
            width = ir.Constant(b.word_type, NUMBERS_MAX)
            for place in range(NUMBERS_MAX):
                at = ir.Constant(b.word_type, place)
                value = b.load("sent_numbers", builder.add(builder.mul(before, width), at))
                b.entry("sent_numbers", builder.add(builder.mul(k, width), at), value)
            carried = b.load("carries", before)
            is_array = builder.icmp_signed("==", carried, ir.Constant(b.word_type, ARRAY))
            b.entry("carries", k, builder.select(is_array, ir.Constant(b.word_type, SAME), carried))
            b.add_one("sends")
        with not_:
            b.add_one("overflow")
    return context.get_dummy_value()
