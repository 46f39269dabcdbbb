"""Small tools over Arrow arrays: numbers with nulls as NumPy's, text whatever its type, each value once.

Arrow's own functions from and to NumPy and lists import pandas wherever it is installed, which takes most of
a second; those here share memory instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


def valid_mask(values: pa.Array) -> Mask | None:
    """Tell where values are; None where all are."""
    if values.null_count == 0:
        return None
    bits = values.buffers()[0]
    if bits is None:
        # Of the type that has nothing but nulls.
        return np.zeros(len(values), np.bool_)
    return _unpacked(bits, values.offset, len(values))


def flags_of(values: pa.Array) -> Mask:
    """Return truth values, with nulls for untrue."""
    flags = _unpacked(values.buffers()[1], values.offset, len(values))
    valid = valid_mask(values)
    return flags if valid is None else flags & valid


def numbers_of(values: pa.Array, missing: int = 0) -> NDArray[Any]:
    """Return numbers with ``missing`` where there is none, without a copy where all are there."""
    dtype = values.type.to_pandas_dtype()
    if values.buffers()[1] is None:
        return np.full(len(values), missing, dtype)
    numbers = np.frombuffer(values.buffers()[1], dtype)[values.offset : values.offset + len(values)]
    valid = valid_mask(values)
    return numbers if valid is None else np.where(valid, numbers, np.array(missing, dtype))


def array_of(numbers: NDArray[Any], valid: Mask | None = None) -> pa.Array:
    """Return numbers as an array, null where they are not valid."""
    bits = None if valid is None or bool(valid.all()) else _packed(valid)
    numbers = np.ascontiguousarray(numbers)
    buffers = [bits, pa.py_buffer(numbers)]
    return pa.Array.from_buffers(pa.from_numpy_dtype(numbers.dtype), len(numbers), buffers)


def flags(mask: Mask) -> pa.Array:
    """Return truth values as an array."""
    return pa.Array.from_buffers(pa.bool_(), len(mask), [None, _packed(mask)])


def strings(texts: Sequence[str | None]) -> pa.Array:
    """Return texts as an array; halves of characters, which UTF-8 cannot write, become question marks."""
    encoded = [b"" if text is None else text.encode(errors="replace") for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    valid = np.array([text is not None for text in texts], np.bool_)
    buffers = [_packed(valid), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.large_string(), len(texts), buffers).cast(pa.string())


def no_ints(count: int) -> pa.Array:
    """Return that many nulls."""
    return pa.nulls(count, pa.int64())


def only_where(chosen: Mask, values: pa.Array) -> pa.Array:
    """Return the chosen values, and null for the others."""
    return pc.if_else(flags(chosen), values, pa.nulls(len(values), values.type))


def as_array(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return one array."""
    if isinstance(values, pa.ChunkedArray):
        return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
    return values


def is_text(kind: pa.DataType) -> bool:
    """Tell types that hold text, or bytes that stand for text."""
    types = pa.types
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_string_view(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_binary_view(kind)
        or types.is_fixed_size_binary(kind)
    )


def text_of(values: pa.Array) -> pa.Array:
    """Return text of any type as UTF-8; bytes that are none become U+FFFD."""
    try:
        text = values if pa.types.is_string(values.type) else values.cast(pa.string())
        text.validate(full=True)
    except pa.ArrowInvalid:
        raw = values.cast(pa.large_binary()).to_pylist()
        return strings([None if one is None else one.decode(errors="replace") for one in raw])
    return text


def each_once(values: pa.Array, meaning: Callable[[Any], int | None]) -> pa.Array:
    """Return what each value means as a 64-bit number, asking once for every different value."""
    coded = as_array(values.dictionary_encode())
    meant = [None if one is None else meaning(one) for one in coded.dictionary.to_pylist()]
    numbers = np.array([0 if one is None else one for one in meant], np.int64)
    valid = np.array([one is not None for one in meant], np.bool_)
    return array_of(numbers, valid).take(coded.indices)


def unscaled(values: pa.Array) -> tuple[Ints, Mask]:
    """Return decimals as whole numbers of their last digit, and where these fit into 64 bits."""
    if values.type.bit_width != 128:
        values = values.cast(pa.decimal128(min(values.type.precision, 38), values.type.scale))
    count = len(values)
    words = np.frombuffer(values.buffers()[1], np.int64)[2 * values.offset :][: 2 * count].reshape(count, 2)
    low, high = words[:, 0], words[:, 1]
    return low, high == (low >> 63)


def merged(first: pa.Array, chosen: Mask, second: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Replace 64-bit numbers where ``chosen`` by what ``second`` makes of the chosen places."""
    places = np.flatnonzero(chosen)
    if len(places) == 0:
        return first
    found = second(array_of(places))
    numbers, valid = numbers_of(first).copy(), valid_mask(first)
    valid = np.ones(len(first), np.bool_) if valid is None else valid
    numbers[places] = numbers_of(found)
    there = valid_mask(found)
    valid[places] = True if there is None else there
    return array_of(numbers, valid)


def _unpacked(bits: pa.Buffer, offset: int, count: int) -> Mask:
    packed = np.frombuffer(bits, np.uint8)
    return np.unpackbits(packed, count=offset + count, bitorder="little")[offset:].view(np.bool_)


def _packed(mask: Mask) -> pa.Buffer:
    return pa.py_buffer(np.packbits(mask, bitorder="little"))
