"""Small tools over Arrow arrays: numbers with nulls as NumPy's, text whatever its type, each value once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

NAME = pa.dictionary(pa.int32(), pa.string())
"""The type of names: each name once, and its place for each row."""


def valid_mask(values: pa.Array) -> Mask | None:
    """Tell where values are; None where all are."""
    if values.null_count == 0:
        return None
    mask: Mask = values.is_valid().to_numpy(zero_copy_only=False)
    return mask


def numbers_of(values: pa.Array, missing: int = 0) -> NDArray[Any]:
    """Return numbers with ``missing`` where there is none, without a copy where all are there."""
    if values.null_count:
        values = values.fill_null(missing)
    numbers: NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return numbers


def ints(values: NDArray[Any], valid: Mask | None) -> pa.Array:
    """Return 64-bit numbers, null where they are not valid."""
    if valid is None or bool(valid.all()):
        return pa.array(values, pa.int64())
    return pa.array(values, pa.int64(), mask=~valid)


def no_ints(count: int) -> pa.Array:
    """Return that many nulls."""
    return pa.nulls(count, pa.int64())


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
        return pa.array([None if one is None else one.decode(errors="replace") for one in raw], pa.string())
    return text


def each_once(values: pa.Array, meaning: Callable[[Any], int | None]) -> pa.Array:
    """Return what each value means as a 64-bit number, asking once for every different value."""
    coded = as_array(values.dictionary_encode())
    meant = [None if one is None else meaning(one) for one in coded.dictionary.to_pylist()]
    return pa.array(meant, pa.int64()).take(coded.indices)


def unscaled(values: pa.Array) -> tuple[Ints, Mask]:
    """Return decimals as whole numbers of their last digit, and where these fit into 64 bits."""
    if values.type.bit_width != 128:
        values = values.cast(pa.decimal128(min(values.type.precision, 38), values.type.scale))
    count = len(values)
    words = np.frombuffer(values.buffers()[1], np.int64)[2 * values.offset :][: 2 * count].reshape(count, 2)
    low, high = words[:, 0], words[:, 1]
    return low, high == (low >> 63)


def merged(first: pa.Array, chosen: pa.Array, second: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Replace ``first`` where ``chosen`` by what ``second`` makes of the chosen places."""
    places = pc.indices_nonzero(chosen)
    if len(places) == 0:
        return first
    return pc.replace_with_mask(first, chosen, second(places))
