"""Structures of constants, arrays and records that compiled code gets by their address.

A structure is a class.  Its annotations declare the fields, each of them once::

    class Counts(Record):
        served: int


    class Shop(Structure):
        counters: int
        waiting: Annotated[NDArray[np.int64], "counters"]
        queue: Annotated[NDArray[np.int32], "counters", "places"]
        counts: Counts

A constant is ``int``, ``bool`` or ``float``.  An array names its lengths, which also tells its number of
dimensions; an array of records adds the dtype of its records.  A record is a class of its own, whose numbers
compiled code may change.  A structure may inherit fields from several classes, which are its parts.

Python code, and kernels where compilation is off, read and set ordinary attributes.  Compiled code gets the
address of a block of memory: a constant is one word in it, an array the address of its data and its lengths,
a record the address of its numbers.  To read a field is a load, as in C.

What is true before and after a call of compiled code: every field is set, and the block agrees with the
attributes, because setting an attribute is the only way to change either.  The structure keeps a reference to
each array; compiled code borrows the data and counts no references.

What compiled code relies on:

- The block does not change during a call, so its words are loaded as invariant and shared across any store.
  This holds for the words alone.  What they point to, the entries of arrays and the numbers of records, does
  change.
- An array has the declared dtype and dimensions, and its data is contiguous.  Setting an attribute checks
  this, because the wrong array would make compiled code read foreign memory.  Lengths are not compared.
- Arrays of one dimension with records or 64-bit numbers are tables, which know no negative indices (see
  :mod:`stablecast.compiling.tables`).
- The compiled type is named by the class and by a digest of its fields.  Code on disk that was compiled for
  other fields is therefore never taken for this class.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeVar, get_args, get_origin, get_type_hints

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
from numpy.typing import NDArray

from stablecast.compiling.tables import TableType

P = TypeVar("P")
WORD = 8
_NUMBERS = {int: np.dtype(np.int64), bool: np.dtype(np.int64), float: np.dtype(np.float64)}


class Record:
    """Numbers with names, which Python and compiled code share; each is annotated as ``int`` or ``float``.

    An instance is in truth a NumPy record, which has the names as attributes.
    """

    dtype: ClassVar[np.dtype[Any]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        numbers = {name: kind for name, kind in _hints(cls).items() if kind in _NUMBERS}
        for name in numbers:
            if hasattr(np.void, name):
                raise TypeError(f"a number of record {cls.__name__} cannot be called {name}, as NumPy does")
        cls.dtype = np.dtype([(name, _NUMBERS[kind]) for name, kind in numbers.items()], align=True)

    @classmethod
    def zeros(cls) -> Self:
        """Return a record whose numbers are 0."""
        made: Any = np.zeros(1, cls.dtype).view(np.recarray)[0]
        return made  # type: ignore[no-any-return]


class Form(NamedTuple):
    """What an annotation declares: the type of the numbers or records, and the lengths of an array."""

    dtype: np.dtype[Any]
    lengths: tuple[str | int, ...] | None
    """None for what is not an array."""


class Field(NamedTuple):
    """A field of a structure as it lies in the block."""

    form: Form
    place: int
    """The number of its first word."""
    kind: Any
    """Its compiled type."""


_FORMS: dict[type, Mapping[str, Form]] = {}
"""Each run of the simulator asks for some ten classes, and to evaluate annotations takes milliseconds."""


def forms(part: type) -> Mapping[str, Form]:
    """Return what the annotations of a class and of those that it inherits from declare."""
    if part not in _FORMS:
        _FORMS[part] = {name: _form(hint) for name, hint in _hints(part).items()}
    return _FORMS[part]


def _hints(part: type) -> dict[str, Any]:
    hints = get_type_hints(part, include_extras=True)
    return {name: hint for name, hint in hints.items() if get_origin(hint) is not ClassVar}


def _form(hint: Any) -> Form:
    if hint in _NUMBERS:
        return Form(_NUMBERS[hint], None)
    if isinstance(hint, type) and issubclass(hint, Record):
        return Form(hint.dtype, None)
    if get_origin(hint) is not Annotated:
        raise TypeError(f"{hint} is not a number, a record, or an array annotated with its lengths")
    array, *notes = get_args(hint)
    dtypes = [note for note in notes if isinstance(note, np.dtype)]
    lengths = tuple(note for note in notes if not isinstance(note, np.dtype))
    return Form(dtypes[0] if dtypes else np.dtype(get_args(get_args(array)[1])[0]), lengths)


def allocate(part: type[P], lengths: Mapping[str, int], **given: Any) -> P:
    """Make a part of a structure: the fields given, and zeros in the declared lengths for all others."""
    made = {name: _zeros(form, lengths) for name, form in forms(part).items() if name not in given}
    return part(**made, **given)


def _zeros(form: Form, lengths: Mapping[str, int]) -> Any:
    if form.lengths is None:
        return np.zeros(1, form.dtype).view(np.recarray)[0] if form.dtype.names else 0
    shape = [length if isinstance(length, int) else lengths[length] for length in form.lengths]
    return zero_records(shape[0], form.dtype) if form.dtype.names else np.zeros(shape, form.dtype)


def zero_records(count: int, dtype: np.dtype[Any]) -> Any:
    """Return an array of records whose numbers are 0, with the names as attributes."""
    return np.zeros(count, dtype).view(np.recarray)


def _compiled(form: Form) -> Any:
    """Return the compiled type of a field."""
    element = numba.from_dtype(form.dtype)
    if form.lengths is None:
        return element
    if len(form.lengths) == 1 and (form.dtype.names or form.dtype == np.int64):
        return TableType(element)
    return types.Array(element, len(form.lengths), "C")


def _lay_out(structure: type) -> dict[str, Field]:
    """Give each field its words in the block."""
    fields, place = {}, 0
    for name, form in forms(structure).items():
        fields[name] = Field(form, place, _compiled(form))
        place += 1 + len(form.lengths or ())
    return fields


class Structure:
    """The base of structures; see the head of this file."""

    fields_: ClassVar[dict[str, Field]] = {}
    compiled_: ClassVar[StructureType]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.fields_ = _lay_out(cls)
        cls.compiled_ = StructureType(cls)

    def __init__(self, *parts: object) -> None:
        words = sum(1 + len(field.form.lengths or ()) for field in self.fields_.values())
        block = np.zeros(words, np.int64)
        self.__dict__.update(_block=block, address=int(block.ctypes.data))
        for part in parts:
            for name in forms(type(part)):
                setattr(self, name, getattr(part, name))
        missing = [name for name in self.fields_ if name not in self.__dict__]
        if missing:
            raise TypeError(f"{type(self).__name__} lacks {', '.join(missing)}")

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a field, in Python and in the block."""
        if name not in self.fields_:
            raise AttributeError(f"{type(self).__name__} declares no field {name}")
        _write(self.__dict__["_block"], name, self.fields_[name], value)
        self.__dict__[name] = value


def _write(block: NDArray[np.int64], name: str, field: Field, value: Any) -> None:
    dtype, lengths = field.form
    if lengths is None and not dtype.names:
        block[field.place : field.place + 1].view(dtype)[0] = value
        return
    array = np.asarray(value)
    dimensions = len(lengths or ())
    if array.ndim != dimensions or array.dtype != dtype or not array.flags.c_contiguous:
        raise TypeError(
            f"field {name} was declared as {dtype} in {dimensions} dimensions, contiguous, and was given"
            f" {array.dtype} in {array.ndim}"
        )
    block[field.place] = array.ctypes.data
    block[field.place + 1 : field.place + 1 + dimensions] = array.shape


class StructureType(types.Type):
    """The compiled type of a structure."""

    def __init__(self, structure: type[Structure]) -> None:
        self.structure = structure
        layout = repr([(name, field.kind) for name, field in structure.fields_.items()])
        digest = hashlib.blake2s(layout.encode(), digest_size=8).hexdigest()
        super().__init__(name=f"{structure.__module__}.{structure.__qualname__}({digest})")


register_model(StructureType)(models.OpaqueModel)


@typeof_impl.register(Structure)
def _typeof(value: Any, context: Any) -> StructureType:
    compiled: StructureType = value.compiled_
    return compiled


@unbox(StructureType)
def _unbox(typ: Any, obj: Any, c: Any) -> Any:
    address = c.pyapi.object_getattr_string(obj, "address")
    pointer = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    return NativeValue(pointer, is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


@infer_getattr
class _Attributes(AttributeTemplate):
    key = StructureType

    def generic_resolve(self, typ: Any, attr: str) -> Any:
        field = typ.structure.fields_.get(attr)
        return None if field is None else field.kind


@lower_getattr_generic(StructureType)
def _load_field(context: Any, builder: Any, typ: Any, block: Any, attr: str) -> Any:
    kind, first = typ.structure.fields_[attr].kind, typ.structure.fields_[attr].place
    word = context.get_value_type(types.int64)

    def load(index: int, llvm_type: Any) -> Any:
        place = cgutils.pointer_add(builder, block, WORD * (first + index), llvm_type.as_pointer())
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
    itemsize = ir.Constant(word, typ.structure.fields_[attr].form.dtype.itemsize)
    strides = [itemsize]
    for length in reversed(lengths[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    array = arrayobj.make_array(kind)(context, builder)
    data = load(0, array.data.type)
    arrayobj.populate_array(array, data=data, shape=lengths, strides=strides, itemsize=itemsize, meminfo=None)
    return array._getvalue()
