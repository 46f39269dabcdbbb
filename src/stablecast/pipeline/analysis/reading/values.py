"""Values of a log as the schema's names, whole numbers and microseconds: null where they are none.

Every function takes a column of Spark and what it is, and never raises for a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from stablecast.analysis.reading.foreign import TIMESTAMP
from stablecast.analysis.reading.heads import Column

if TYPE_CHECKING:
    from pyspark.sql import Column as Values

EXACT = "decimal(38,18)"
"""Holds any long, and any second with more digits than clocks have."""
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_PER_UNIT = {"us": 1, "ms": 1_000, "s": 1_000_000}
NANOS_PER_MICRO = 1_000
# Without it, '12:00' would be a time of today, and 'now' one too.
_DATE = r"^\s*[+-]?\d{4,6}-\d"


def name_of(value: Values, column: Column) -> Values:
    """Return names; numbers are named by their digits, 3.0 like 3."""
    if column.type in (*_WHOLE, "string", "void", "binary"):
        return value.cast("string")
    return F.coalesce(whole_number(value, column).cast("string"), value.cast("string"))


def whole_number(value: Values, column: Column) -> Values:
    """Return whole numbers as longs; 3.0 is one, 3.5 is none."""
    if column.type in (*_WHOLE, "void"):
        return value.cast("bigint")
    if column.type in ("float", "double"):
        whole = value.try_cast("bigint")
        # The double next to the largest long is one more than that, and would be cast to it.
        return F.when((whole.cast("double") == value) & (value < 2.0**63), whole)
    exact = value.try_cast(EXACT)
    exactly_whole = F.when(exact == F.floor(exact), exact.try_cast("bigint"))
    return F.coalesce(value.try_cast("bigint"), exactly_whole) if column.type == "string" else exactly_whole


def microseconds(value: Values, column: Column, unit: str) -> Values:
    """Return times as microseconds, rounded down."""
    if column.type == TIMESTAMP and column.unit is not None:
        return _scaled_whole(value, column.unit)
    if column.type in (TIMESTAMP, "timestamp_ntz"):
        return F.unix_micros(value.cast(TIMESTAMP))
    if unit == TIMESTAMP:
        dated = F.when(value.cast("string").rlike(_DATE), value.cast("string"))
        return F.unix_micros(dated.try_cast(TIMESTAMP))
    if column.type in (*_WHOLE, "void"):
        return _scaled_whole(value.cast("bigint"), unit)
    exact = _scaled_exact(value.try_cast(EXACT), unit)
    if column.type != "string":
        return exact
    return F.coalesce(_scaled_whole(value.try_cast("bigint"), unit), exact)


def _scaled_whole(value: Values, unit: str) -> Values:
    if unit == "ns":
        # Division of longs rounds towards zero.
        down = F.when(value % NANOS_PER_MICRO < 0, 1).otherwise(0)
        return F.call_function("div", value, F.lit(NANOS_PER_MICRO)) - down
    times = _PER_UNIT[unit]
    return value if times == 1 else F.try_multiply(value, F.lit(times).cast("bigint"))


def _scaled_exact(value: Values, unit: str) -> Values:
    if unit == "ns":
        return F.floor(value * F.lit("0.001").cast("decimal(3,3)")).try_cast("bigint")
    return F.floor(value * F.lit(_PER_UNIT[unit]).cast("decimal(7,0)")).try_cast("bigint")
