"""Events of any origin in the schema, each row with what is wrong with it, in one pass."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from stablecast.analysis.reading.foreign import Foreign, check_first_seq, parse_pairs
from stablecast.analysis.reading.inputs import Inputs, find_inputs
from stablecast.pipeline.analysis.reading.bad_rows import NO_EVENTS, explain_bad_rows
from stablecast.pipeline.analysis.reading.classify import PROBLEM, classify
from stablecast.pipeline.analysis.reading.failures import readable_error
from stablecast.pipeline.analysis.reading.raw_rows import raw_rows
from stablecast.trace.schema import COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "NO_EVENTS",
    "Foreign",
    "Inputs",
    "classified_events",
    "explain_bad_rows",
    "find_inputs",
    "parse_pairs",
    "readable_error",
]
TYPES = {"seq": "bigint", "time_us": "bigint", "bytes": "int"}
"""Of the columns that are no text."""


def classified_events(
    spark: SparkSession, inputs: Inputs, foreign: Foreign, *, first_seq: int | str = 1
) -> DataFrame:
    """Return all rows as events, with ``problem`` null where there is none.

    Nothing is read yet, but for the first lines of what is not on this machine.  The values of a row with a
    problem are those that could be read.

    Parameters
    ----------
    spark
        Where to read.
    inputs
        What to read.
    foreign
        How it says what the schema says.
    first_seq
        The number that sources begin with, or ``earliest`` for any from 0.
    """
    check_first_seq(first_seq)
    frames = [classify(rows, foreign, first_seq) for rows in raw_rows(spark, inputs, foreign)]
    return functools.reduce(DataFrame.union, frames) if frames else _no_events(spark)


def _no_events(spark: SparkSession) -> DataFrame:
    columns = [F.lit(None).cast(TYPES.get(name, "string")).alias(name) for name in (*COLUMNS, PROBLEM)]
    return spark.range(0).select(*columns)
