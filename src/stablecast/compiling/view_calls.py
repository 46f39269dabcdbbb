"""What compiled kernels call: a member of a group, its outbox, and messages that are sent and read."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin
from numba.np import arrayobj

from stablecast.compiling.view_types import (
    Access,
    LayoutType,
    LetterType,
    MemberType,
    OutboxType,
    RowsType,
    sequence_type,
)
from stablecast.compiling.views import (
    ARRAY,
    BY_KIND,
    FIRST_NUMBER,
    MARKS,
    MESSAGES,
    NOTHING,
    NUMBERS_MAX,
    RECEIVED,
    SAME,
    WORD,
    MessageLayout,
    letter_at,
    letter_of,
    member_at,
    outbox_at,
    outbox_of,
    read,
    send,
    send_again,
)

__all__ = [
    "letter_at",
    "letter_of",
    "member_at",
    "outbox_at",
    "outbox_of",
    "read",
    "send",
    "send_again",
]


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


@infer_global(member_at)
class _MemberAt(AbstractTemplate):
    def generic(self, args: Any, kwargs: Any) -> Any:
        return signature(MemberType(args[0].layout), args[0], types.int64, types.int64)


@infer_global(outbox_at)
class _OutboxAt(AbstractTemplate):
    def generic(self, args: Any, kwargs: Any) -> Any:
        return signature(OutboxType(args[0].layout.wide), args[0], types.int64, types.int64)


@lower_builtin(member_at, LayoutType, types.int64, types.int64)
@lower_builtin(outbox_at, LayoutType, types.int64, types.int64)
def _made_at(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    made = cgutils.create_struct_proxy(sig.return_type)(context, builder)
    made.block, made.number = builder.inttoptr(args[1], made.block.type), args[2]
    return made._getvalue()


@infer_global(letter_at)
class _LetterAt(AbstractTemplate):
    def generic(self, args: Any, kwargs: Any) -> Any:
        return signature(LetterType(args[0].layout.wide), args[0], *[types.int64] * 5)


@lower_builtin(letter_at, LayoutType, *[types.int64] * 5)
def _letter_made_at(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    made = cgutils.create_struct_proxy(sig.return_type)(context, builder)
    _, address, made.kind, made.source, numbers, array = args
    made.block = builder.inttoptr(address, made.block.type)
    made.numbers = builder.inttoptr(numbers, made.numbers.type)
    made.array = builder.inttoptr(array, made.array.type)
    return made._getvalue()


@infer_global(read)
class _Read(AbstractTemplate):
    def generic(self, args: Any, kwargs: Any) -> Any:
        letter, message = args
        if not (isinstance(letter, LetterType) and isinstance(message, types.NamedTupleClass)):
            return None
        laid = MESSAGES[message.instance_class]
        array = types.Array(sequence_type(letter.wide), 1, "C")
        kinds = [types.int64 if name in laid.numbers else array for name in message.instance_class._fields]
        return signature(types.BaseTuple.from_types(kinds, message.instance_class), letter, message)


@lower_builtin(read, LetterType, types.NamedTupleClass)
def _read(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    b = Access(context, builder, sig.args[0], args[0])
    laid = MESSAGES[sig.return_type.instance_class]
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
        out, _, message = args
        if isinstance(out, OutboxType) and isinstance(message, types.BaseNamedTuple):
            return signature(types.none, out, types.int64, message)
        return None


@infer_global(send_again)
class _SendAgain(AbstractTemplate):
    def generic(self, args: Any, kwargs: Any) -> Any:
        return signature(types.none, args[0], types.int64) if isinstance(args[0], OutboxType) else None


class _Sending(Access):
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
    b = _Sending(context, builder, out_type, args[0])
    laid = MESSAGES[message_type.instance_class]
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


def _send_arrays(b: _Sending, k: Any, laid: MessageLayout, by_name: Mapping[str, Any]) -> None:
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


def _copy_arrays(b: _Sending, k: Any, laid: MessageLayout, arrays: Mapping[str, Any]) -> None:
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
    b = _Sending(context, builder, sig.args[0], args[0])
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
