"""Values of a log as the schema's names, whole numbers and microseconds: null where they are none.

Every function takes an Arrow array of any type and never raises for a value.  Dictionaries are worked on
value by value of the dictionary, not row by row; the rest a column at a time, and only what is irregular
(text with a point or an exponent, decimals beyond 64 bits) each different value once.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stablecast.analysis.reading import exact
from stablecast.analysis.reading.arrays import (
    Ints,
    array_of,
    as_array,
    each_once,
    flags_of,
    is_text,
    merged,
    no_ints,
    numbers_of,
    only_where,
    strings,
    text_of,
    unscaled,
    valid_mask,
)
from stablecast.analysis.reading.times import microseconds

__all__ = ["microseconds", "name_of", "whole_number"]
_PLAIN = r"^-?[0-9]{1,18}$"


def name_of(values: pa.Array) -> pa.DictionaryArray:
    """Return names as ``dictionary<int32, string>``; numbers are named by their digits, 3.0 like 3."""
    values = as_array(values)
    if not pa.types.is_dictionary(values.type):
        values = as_array(pc.dictionary_encode(_sortable(values)))
    if values.dictionary.null_count:
        values = as_array(pc.dictionary_encode(values.dictionary.take(values.indices)))
    named = _names(values.dictionary)
    indices = values.indices.cast(pa.int32())
    if named is not values.dictionary and len(pc.unique(named)) < len(named):
        distinct = as_array(pc.dictionary_encode(named))
        return pa.DictionaryArray.from_arrays(distinct.indices.take(indices), distinct.dictionary)
    return pa.DictionaryArray.from_arrays(indices, named)


def whole_number(values: pa.Array) -> pa.Array:
    """Return whole numbers as 64-bit ones; 3.0 is one, 3.5 is none."""
    values = as_array(values)
    kind = values.type
    if pa.types.is_dictionary(kind):
        return whole_number(values.dictionary).take(values.indices)
    if pa.types.is_duration(kind):
        return values.cast(pa.int64())
    if pa.types.is_integer(kind):
        return _long(values)
    if pa.types.is_floating(kind):
        return _whole_of_floats(values)
    if pa.types.is_decimal(kind):
        return _whole_of_decimals(values)
    if is_text(kind):
        return _whole_of_text(text_of(values))
    return no_ints(len(values))


def _sortable(values: pa.Array) -> pa.Array:
    """Return values that can be told apart; those of other types than the schema knows are no names."""
    kind = values.type
    if is_text(kind):
        return text_of(values)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return values
    try:
        return values.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(len(values), pa.string())


def _names(values: pa.Array) -> pa.Array:
    """Return the names of different values."""
    values = _sortable(values)
    if pa.types.is_string(values.type):
        return values
    if pa.types.is_integer(values.type):
        return values.cast(pa.string())
    whole = whole_number(values).to_pylist()
    named = [str(n) if n is not None else _spelled(v) for n, v in zip(whole, _scalars(values), strict=True)]
    return strings(named)


def _scalars(values: pa.Array) -> list[Any]:
    if pa.types.is_floating(values.type):
        return list(numbers_of(values))
    return list(values.to_pylist())


def _spelled(value: Any) -> str:
    """Return a number that is not whole as Java writes it, which wrote it before."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if not np.isfinite(value):
        return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    digits = np.format_float_scientific(value, trim="0")
    mantissa, _, exponent = digits.partition("e")
    power = int(exponent)
    if -3 <= power < 7:
        return np.format_float_positional(value, trim="0")
    return f"{mantissa}E{power}"


def _long(values: pa.Array) -> pa.Array:
    if values.type != pa.uint64():
        return values.cast(pa.int64())
    return only_where(numbers_of(values) < np.uint64(2**63), values).cast(pa.int64())


def _whole_of_floats(values: pa.Array) -> pa.Array:
    numbers = numbers_of(values).astype(np.float64)
    # The double next to the largest long is one more than that.
    fits = (numbers >= -(2.0**63)) & (numbers < 2.0**63)
    whole: Ints = np.where(fits, numbers, 0.0).astype(np.int64)
    fits &= whole == numbers
    present = valid_mask(values)
    return array_of(whole, fits if present is None else fits & present)


def _whole_of_decimals(values: pa.Array) -> pa.Array:
    scale = values.type.scale
    if not 0 <= scale <= exact.DIGITS_AFTER:
        return each_once(values, _whole_of_one)
    digits, short = unscaled(values)
    whole, after = np.divmod(digits, 10**scale)
    present = valid_mask(values)
    taken = short if present is None else short & present
    rest = ~short if present is None else ~short & present
    numbers = array_of(whole, taken & (after == 0))
    return merged(numbers, rest, lambda places: each_once(values.take(places), _whole_of_one))


def _whole_of_one(number: Decimal) -> int | None:
    return exact.whole(exact.rounded(number))


def _whole_of_text(text: pa.Array) -> pa.Array:
    trimmed = pc.ascii_trim(text, exact.BLANKS)
    # Not every text that Arrow takes for a number is one: 0x1f is not.
    plain = flags_of(pc.match_substring_regex(trimmed, _PLAIN))
    numbers = only_where(plain, trimmed).cast(pa.int64())
    present = valid_mask(trimmed)
    rest = ~plain if present is None else ~plain & present
    return merged(
        numbers,
        rest,
        lambda places: each_once(trimmed.take(places), lambda one: exact.whole(exact.number_of_text(one))),
    )
