"""The compiled types of a group's members, parameters, outbox and messages, and how their fields are read.

Every access is a few loads from the block (see :mod:`stablecast.compiling.views`) and an addition; the loads
are invariant within a call, so the optimiser shares them.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import lower_constant
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np import arrayobj

from stablecast.compiling.dispatch import ATTRIBUTES
from stablecast.compiling.tables import TableType
from stablecast.compiling.views import (
    EVERY_MEMBER,
    MARKS,
    Arrived,
    Layout,
    MemberView,
    OutboxView,
    Rows,
    Slot,
    Words,
)


class _GroupType(types.Type):
    """A type that follows from a layout."""

    what = ""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        super().__init__(name=f"{self.what}[{layout.name}]")
        ATTRIBUTES[self.name] = self.attributes()

    def attributes(self) -> tuple[str, ...]:
        """Return the names that kernels may read, for errors."""
        return ()


class RowsType(_GroupType):
    """The compiled type of :class:`Rows`: the block's address."""

    what = "Rows"


class MemberType(_GroupType):
    """The compiled type of :class:`MemberView`."""

    what = "Member"

    def attributes(self) -> tuple[str, ...]:
        """Return the declared fields, and those that every member has."""
        return (*(name for name, _ in self.layout.fields), *EVERY_MEMBER)


class ParamsType(_GroupType):
    """The compiled type of a member's parameters."""

    what = "Params"

    def attributes(self) -> tuple[str, ...]:
        """Return the parameters."""
        return tuple(name for name, _ in self.layout.params)


class LayoutType(_GroupType):
    """The compiled type of :class:`Layout`, which is nothing but its type."""

    what = "Layout"


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


def sequence_type(wide: bool) -> Any:
    """Return the type of a sequence number."""
    return types.int64 if wide else types.int32


_BLOCK = types.CPointer(types.int64)


register_model(LayoutType)(models.OpaqueModel)


@typeof_impl.register(Layout)
def _typeof_layout(value: Any, context: Any) -> Any:
    return LayoutType(value)


@lower_constant(LayoutType)
def _constant_layout(context: Any, builder: Any, typ: Any, value: Any) -> Any:
    return context.get_dummy_value()


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
            ("array", types.CPointer(sequence_type(typ.wide))),
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


class Access:
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
        builder, item = self.builder, ir.Constant(self.word_type, item_bytes(typ.dtype))
        strides = [item]
        for length in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], length))
        made = arrayobj.make_array(typ)(self.context, builder)
        arrayobj.populate_array(made, data=data, shape=shape, strides=strides, itemsize=item, meminfo=None)
        return made._getvalue()

    def item_type(self, typ: Any) -> Any:
        """Return how a number lies in memory."""
        return self.context.get_data_type(typ)


def item_bytes(typ: Any) -> int:
    """Return the bytes of a number."""
    return int(typ.bitwidth) // 8


def _field_type(layout: Layout, slot: Slot) -> Any:
    if slot.storage in ("number", "place"):
        return types.int64
    if slot.storage in ("list", "shared"):
        return types.Array(types.int32, 1, "C")
    dtype = types.int64 if slot.storage == "longs" else sequence_type(layout.wide)
    return types.Array(dtype, 2 if slot.has_rows else 1, "C")


@infer_getattr
class _MemberAttributes(AttributeTemplate):
    key = MemberType

    def generic_resolve(self, typ: Any, attr: str) -> Any:
        if attr in ("number", "group_size", "seed", "guarded"):
            return types.int64
        if attr in ("received", "stable"):
            return types.Array(sequence_type(typ.layout.wide), 1, "C")
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
    return Access(context, builder, typ, value).word(dict(typ.layout.params)[attr])


@lower_getattr_generic(MemberType)
def _get_member_field(context: Any, builder: Any, typ: Any, value: Any, attr: str) -> Any:
    b = Access(context, builder, typ, value)
    if attr == "number":
        return b.proxy.number
    if attr in ("group_size", "seed", "guarded"):
        return b.word(attr)
    if attr == "params":
        params = cgutils.create_struct_proxy(ParamsType(typ.layout))(context, builder)
        params.block = b.proxy.block
        return params._getvalue()
    sequence = sequence_type(typ.layout.wide)
    if attr in ("received", "stable"):
        offset = b.row(attr, "frontier_step", b.proxy.number)
        data = b.pointer(attr, b.item_type(sequence), offset)
        return b.array(types.Array(sequence, 1, "C"), data, [b.word("columns")])
    if attr == "attached":
        shape = [b.word(f"attached_{name}") for name in ("columns", "length", "width")]
        data = b.pointer("attached", b.item_type(types.int64))
        return b.array(types.Array(types.int64, 3, "C"), data, shape)
    return _get_declared(b, typ, dict(typ.layout.fields)[attr])


def _get_declared(b: Access, typ: Any, slot: Slot) -> Any:
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
    if slot.storage == "shared":
        data = b.pointer(slot.at, ir.IntType(32))
        return b.array(types.Array(types.int32, 1, "C"), data, [b.word(slot.at + 1)])
    base = "sequences" if slot.storage == "sequences" else "numbers"
    kind = _field_type(typ.layout, slot)
    offset = builder.add(b.row(base, f"{base}_step", number), b.word(slot.at))
    data = b.pointer(base, b.item_type(kind.dtype), offset)
    shape = [b.word(slot.at + 1)]
    if slot.has_rows:
        shape.insert(0, b.word(slot.at + 2))
    return b.array(kind, data, shape)


def _number_address(b: Access, slot: Slot) -> Any:
    offset = b.row("numbers", "numbers_step", b.proxy.number)
    return b.builder.gep(b.pointer("numbers", b.word_type, offset), [ir.Constant(b.word_type, slot.at)])


@lower_setattr_generic(MemberType)
def _set_member_field(context: Any, builder: Any, sig: Any, args: Any, attr: str) -> None:
    typ, value_type = sig.args
    slot = dict(typ.layout.fields).get(attr)
    if slot is None or slot.storage != "number":
        raise NotImplementedError(f"{attr} is not a number that can be set")
    b = Access(context, builder, typ, args[0])
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
    b = Access(context, builder, typ, value)
    if attr == "marks":
        record = context.get_value_type(numba.from_dtype(MARKS))
        return builder.inttoptr(b.word("marks"), record)
    table = cgutils.create_struct_proxy(TableType(types.int64))(context, builder)
    table.data = b.pointer(attr, b.word_type)
    table.size = b.word("changes_room" if attr == "changes" else "room")
    return table._getvalue()


@infer_getattr
class _LetterAttributes(AttributeTemplate):
    key = LetterType

    def generic_resolve(self, typ: Any, attr: str) -> Any:
        return types.int64 if attr in ("kind", "source") else None


@lower_getattr_generic(LetterType)
def _get_letter_field(context: Any, builder: Any, typ: Any, value: Any, attr: str) -> Any:
    return getattr(cgutils.create_struct_proxy(typ)(context, builder, value), attr)
