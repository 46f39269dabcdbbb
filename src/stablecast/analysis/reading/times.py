"""Times of a log as microseconds, rounded down.

Numbers have the unit that the log is said to have; timestamps have their own.  A floating-point number
stands for the shortest decimal that is nearest to it, as it would be printed: 1700000000.123457 seconds are
...457 µs, although the double is a little less.  That decimal is found without printing it.  Let ``n`` be the
whole number of microseconds nearest to the double.  If ``n`` microseconds, as a double, are this very
double, then the shortest decimal is ``n``: all others near enough have more digits.  If not, no whole number
of microseconds is as near as the decimal: both lie between the same two, and comparing doubles tells which.
This holds while neighbouring doubles are less than a microsecond apart.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from stablecast.analysis.reading import exact
from stablecast.analysis.reading.arrays import (
    Ints,
    Mask,
    array_of,
    as_array,
    each_once,
    flags_of,
    is_text,
    merged,
    no_ints,
    numbers_of,
    only_where,
    text_of,
    unscaled,
    valid_mask,
)
from stablecast.analysis.reading.foreign import TIMESTAMP

NANOS_PER_MICRO = 1_000
MICROS = {"us": 1, "ms": 1_000, "s": 1_000_000}
_POWERS = {"ns": -3, "us": 0, "ms": 3, "s": 6}
"""Of ten: microseconds in each unit."""
_EXACT_FLOAT = 2.0**52
_NOTHING = 5e-19
"""Numbers nearer to 0 are 0, as those with more digits than are kept."""
_UNSIGNED = np.uint64(2**63)
"""Unsigned numbers from here on do not fit."""
_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1
_PLAIN = r"^-?[0-9]{1,18}$"
_DATED = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_ZONED = _DATED + r"(Z|[+-](0[0-9]|1[0-7]):[0-5][0-9])$"
_BEYOND_MICROS = r"(\.[0-9]{6})[0-9]+"


def microseconds(values: pa.Array, unit: str, stored_unit: str | None = None) -> pa.Array:
    """Return times as microseconds, rounded down.

    Parameters
    ----------
    values
        Numbers, timestamps, or text of them.
    unit
        What numbers count, or ``timestamp`` for text such as ``2024-05-01T12:00:00Z``.
    stored_unit
        What whole numbers count that are timestamps, whatever ``unit`` says.
    """
    values = as_array(values)
    kind = values.type
    if pa.types.is_dictionary(kind):
        return microseconds(values.dictionary, unit, stored_unit).take(values.indices)
    if pa.types.is_timestamp(kind):
        return _scaled_whole(values.cast(pa.int64()), kind.unit)
    if pa.types.is_duration(kind):
        values, kind = values.cast(pa.int64()), pa.int64()
    if pa.types.is_integer(kind):
        return _of_integers(values, stored_unit or unit)
    if unit == TIMESTAMP:
        return _of_moments(text_of(values)) if is_text(kind) else no_ints(len(values))
    if pa.types.is_floating(kind):
        return _of_floats(values, unit)
    if pa.types.is_decimal(kind):
        return _of_decimals(values, unit)
    return _of_text(text_of(values), unit) if is_text(kind) else no_ints(len(values))


def _of_integers(values: pa.Array, unit: str) -> pa.Array:
    if unit == TIMESTAMP:
        return no_ints(len(values))
    if values.type == pa.uint64():
        large = numbers_of(values) >= _UNSIGNED
        scaled = _scaled_whole(only_where(~large, values).cast(pa.int64()), unit)
        # What does not fit may fit once it is divided.
        return merged(
            scaled, large, lambda places: each_once(values.take(places), lambda n: _exactly(n, unit))
        )
    return _scaled_whole(values.cast(pa.int64()), unit)


def _exactly(number: int | Decimal, unit: str) -> int | None:
    return exact.micros(exact.rounded(Decimal(number)), unit)


def _scaled_whole(values: pa.Array, unit: str) -> pa.Array:
    if unit == "us":
        return values
    numbers, present = numbers_of(values), valid_mask(values)
    if unit == "ns":
        return array_of(np.floor_divide(numbers, NANOS_PER_MICRO), present)
    times = MICROS[unit]
    fits = (numbers >= -(-_LONG_MIN // times)) & (numbers <= _LONG_MAX // times)
    scaled = np.where(fits, numbers, 0) * times
    return array_of(scaled, fits if present is None else fits & present)


def _of_floats(values: pa.Array, unit: str) -> pa.Array:
    numbers = numbers_of(values).astype(np.float64)
    numbers = np.where(np.abs(numbers) < _NOTHING, 0.0, numbers)
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.rint(numbers / NANOS_PER_MICRO if unit == "ns" else numbers * MICROS[unit])
        sure = np.abs(near) < _EXACT_FLOAT
    nearest: Ints = np.where(sure, near, 0.0).astype(np.int64)
    down = nearest - (_as_written(nearest, unit) > numbers)
    present = valid_mask(values)
    taken = sure if present is None else sure & present
    rest: Mask = ~sure if present is None else ~sure & present
    times = array_of(down, taken)
    return merged(
        times,
        rest,
        lambda places: each_once(array_of(numbers).take(places), lambda one: _of_one_float(one, unit)),
    )


def _as_written(micros: Ints, unit: str) -> NDArray[np.float64]:
    """Return whole microseconds in the unit of a log, as the nearest doubles."""
    if unit == "ns":
        return (micros * NANOS_PER_MICRO).astype(np.float64)
    return micros / MICROS[unit]


def _of_one_float(number: float, unit: str) -> int | None:
    return exact.micros(exact.rounded(Decimal(repr(number))), unit)


def _of_decimals(values: pa.Array, unit: str) -> pa.Array:
    shift = _POWERS[unit] - values.type.scale
    if not (0 <= values.type.scale <= exact.DIGITS_AFTER and shift >= -exact.DIGITS_AFTER):
        return each_once(values, lambda number: _exactly(number, unit))
    digits, sure = unscaled(values)
    if shift < 0:
        times = np.floor_divide(digits, 10**-shift)
    else:
        sure = sure & (np.abs(digits) <= _LONG_MAX // 10**shift) & (digits != _LONG_MIN)
        times = np.where(sure, digits, 0) * 10**shift
    present = valid_mask(values)
    taken = sure if present is None else sure & present
    rest = ~sure if present is None else ~sure & present
    return merged(
        array_of(times, taken),
        rest,
        lambda places: each_once(values.take(places), lambda number: _exactly(number, unit)),
    )


def _of_text(text: pa.Array, unit: str) -> pa.Array:
    trimmed = pc.ascii_trim(text, exact.BLANKS)
    plain = flags_of(pc.match_substring_regex(trimmed, _PLAIN))
    times = _scaled_whole(only_where(plain, trimmed).cast(pa.int64()), unit)
    rest = _present(trimmed) & ~plain
    return merged(
        times,
        rest,
        lambda places: each_once(
            trimmed.take(places), lambda one: exact.micros(exact.number_of_text(one), unit)
        ),
    )


def _of_moments(text: pa.Array) -> pa.Array:
    trimmed = pc.ascii_trim(text, exact.BLANKS)
    regular = pc.replace_substring_regex(trimmed, _BEYOND_MICROS, r"\1")
    zoned = flags_of(pc.match_substring_regex(regular, _ZONED))
    plain = flags_of(pc.match_substring_regex(regular, _DATED + "$"))
    try:
        of_zone = only_where(zoned, regular).cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        of_none = only_where(plain, regular).cast(pa.timestamp("us")).cast(pa.int64())
    except pa.ArrowInvalid:
        # One of them is no moment, such as the 13th month.
        return each_once(trimmed, exact.moment)
    rest = _present(trimmed) & ~(zoned | plain)
    times = pc.coalesce(of_zone, of_none)
    return merged(times, rest, lambda places: each_once(trimmed.take(places), exact.moment))


def _present(values: pa.Array) -> Mask:
    valid = valid_mask(values)
    return np.ones(len(values), np.bool_) if valid is None else valid
