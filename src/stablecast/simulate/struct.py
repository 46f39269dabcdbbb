"""The run as the compiled loop sees it: one structure in memory, passed by its address.

A :class:`Sim` has every array and constant of a run as an attribute.  Python code, and kernels where
compilation is off, just read the attributes.  Compiled kernels get the address of a block in which each
constant is one word, and each array the address of its data and its lengths: a field access is a load, as
in C.  Arrays are borrowed, never counted; the ``Sim`` keeps them alive.  Records, and whole numbers in one
dimension, become tables (see :mod:`stablecast.simulate.tables`).
"""

from __future__ import annotations

from typing import Any, get_type_hints

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np import arrayobj

from stablecast.simulate.network import LINK, NODE, Network
from stablecast.simulate.queues import ENTRY, MESSAGE, PACKET, SERVER
from stablecast.simulate.state import COLUMN, FAULT, MEMBER, Arrays, Plan
from stablecast.simulate.tables import TableType

WORD = 8

_RECORDS = {
    "links": LINK,
    "nodes": NODE,
    "servers": SERVER,
    "packets": PACKET,
    "messages": MESSAGE,
    "heap": ENTRY,
    "members": MEMBER,
    "columns": COLUMN,
    "faults": FAULT,
}
_SEQS = {"received": 2, "gathered": 3, "stable": 2, "arrays": 2, "declared": 2, "truth": 1, "last_sent": 3}
_SEQS |= {"highest": 2, "own": 2, "base": 2, "constructed": 1}
_INTS = {
    "cast_link": 1,
    "member_node": 1,
    "slot_next": 1,
    "slot_uses": 1,
    "ctl": 1,
    "reg": 2,
    "place_start": 1,
}
_INTS |= {"counts": 1, "hops": 1, "hop_bytes": 1, "sent": 1, "first_learned": 1, "last_learned": 1}
_INTS |= {"started_at": 1, "root_rtt": 1, "tts": 1, "trace": 2, "sent_at": 2, "asked_at": 2, "own_stable": 1}
_INTS |= {"out_marks": 1, "out_kind": 1, "out_dest": 1, "out_execution": 1, "out_carries": 1, "out_slot": 1}
_INTS |= {"out_first": 1, "out_second": 1, "out_payload": 1, "attached": 3, "audience": 2, "sent_bytes": 1}
_INTS |= {"out_changes": 1, "params": 2, "kind_bytes": 1, "way_start": 1, "way_link": 1}
_SCALARS = {"int": types.int64, "bool": types.int64, "float": types.float64}


def _field_types() -> dict[str, Any]:
    """Return the compiled type of every field, in the order of the block."""
    fields: dict[str, Any] = {}
    for part in (Plan, Network):
        for name, kind in get_type_hints(part).items():
            if kind in (int, bool, float):
                fields[name] = _SCALARS[kind.__name__]
    for name, dtype in _RECORDS.items():
        fields[name] = TableType(numba.from_dtype(dtype))
    for name, dimensions in _SEQS.items():
        fields[name] = types.Array(types.int32, dimensions, "C")
    for name, dimensions in _INTS.items():
        array = types.Array(types.int64, dimensions, "C")
        fields[name] = TableType(types.int64) if dimensions == 1 else array
    fields["place_flat"] = types.Array(types.int32, 1, "C")
    fields["routes"] = types.Array(types.uint16, 2, "C")
    fields["ahead"] = types.Array(types.boolean, 3, "C")
    return fields


FIELDS = _field_types()


def _offsets() -> dict[str, int]:
    offsets, position = {}, 0
    for name, kind in FIELDS.items():
        offsets[name] = position
        position += WORD * _words(kind)
    return offsets


def _words(kind: Any) -> int:
    return 1 + kind.ndim if isinstance(kind, types.Array | TableType) else 1


OFFSETS = _offsets()
WORDS = sum(_words(kind) for kind in FIELDS.values())


class Sim:
    """A run: the fields of ``Plan``, ``Network``, ``Queues``, ``Group``, ``Meters``, ``Feed``, ``Outbox``."""

    def __init__(self, arrays: Arrays) -> None:
        self._block = np.zeros(WORDS, np.int64)
        self.address = int(self._block.ctypes.data)
        self.share(arrays)

    def share(self, arrays: Arrays) -> None:
        """Point to these arrays; called again whenever one of them was replaced."""
        for part in (arrays.plan, arrays.net, arrays.q, arrays.group, arrays.meters, arrays.feed):
            for name, value in part._asdict().items():
                self._set(name, value)
        for name, value in arrays.out._asdict().items():
            if name != "arrays":
                self._set(f"out_{name}", value)

    def _set(self, name: str, value: Any) -> None:
        setattr(self, name, value)
        kind, place = FIELDS[name], OFFSETS[name] // WORD
        if isinstance(kind, types.Array | TableType):
            if value.ndim != kind.ndim or not value.flags.c_contiguous or value.itemsize != _itemsize(kind):
                raise TypeError(
                    f"field {name} does not have the shape or type that the loop was compiled for"
                )
            self._block[place] = value.ctypes.data
            self._block[place + 1 : place + 1 + kind.ndim] = value.shape
        elif kind is types.float64:
            self._block[place : place + 1].view(np.float64)[0] = value
        else:
            self._block[place] = int(value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def _itemsize(kind: Any) -> int:
    return int(numba.np.numpy_support.as_dtype(kind.dtype).itemsize)


class SimType(types.Type):
    """The compiled type of :class:`Sim`."""

    def __init__(self) -> None:
        super().__init__(name="stablecast.Sim")


_SIM = SimType()
register_model(SimType)(models.OpaqueModel)


@typeof_impl.register(Sim)
def _typeof_sim(value: Any, context: Any) -> SimType:
    return _SIM


@unbox(SimType)
def _unbox_sim(typ: Any, obj: Any, c: Any) -> Any:
    address = c.pyapi.object_getattr_string(obj, "address")
    pointer = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    return NativeValue(pointer, is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


@infer_getattr
class _SimAttributes(AttributeTemplate):
    key = SimType

    def generic_resolve(self, typ: Any, attr: str) -> Any:
        return FIELDS.get(attr)


@lower_getattr_generic(SimType)
def _load_field(context: Any, builder: Any, typ: Any, block: Any, attr: str) -> Any:
    kind = FIELDS[attr]
    word = context.get_value_type(types.int64)

    def load(index: int, llvm_type: Any) -> Any:
        place = cgutils.pointer_add(builder, block, OFFSETS[attr] + WORD * index, llvm_type.as_pointer())
        value = builder.load(place)
        # Python rewrites the block only between calls, so a load may be shared across any store.
        value.set_metadata("invariant.load", builder.module.add_metadata([]))
        return value

    if isinstance(kind, TableType):
        table = cgutils.create_struct_proxy(kind)(context, builder)
        table.data, table.size = load(0, table.data.type), load(1, word)
        return table._getvalue()
    if not isinstance(kind, types.Array):
        return load(0, context.get_value_type(kind))
    lengths = [load(1 + axis, word) for axis in range(kind.ndim)]
    itemsize = ir.Constant(word, _itemsize(kind))
    strides = [itemsize]
    for length in reversed(lengths[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    array = arrayobj.make_array(kind)(context, builder)
    data = load(0, array.data.type)
    arrayobj.populate_array(array, data=data, shape=lengths, strides=strides, itemsize=itemsize, meminfo=None)
    return array._getvalue()
