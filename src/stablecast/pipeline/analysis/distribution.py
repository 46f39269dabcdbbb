"""How long things took, as counts in narrow bins, from which percentiles follow within one part in 180.

Counts add up, so that a stream of parts gives the same numbers as the whole at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

BINS_PER_DOUBLING = 128
SHOWN_PER_DOUBLING = 4
"""Of the bins that a report shows."""


def bin_of(took: Column) -> Column:
    """Return the bin of a duration: -1 for less than a microsecond."""
    return (
        F.when(took < 1, -1).otherwise(F.floor(F.log2(took.cast("double")) * BINS_PER_DOUBLING)).cast("int")
    )


def counts_of(messages: DataFrame) -> DataFrame:
    """Return what, bin, count, total and most: of sent messages, by times to stable and to known."""
    took = F.explode(
        F.array(
            F.struct(F.lit("sent").alias("what"), F.lit(0).cast("long").alias("took")),
            F.struct(F.lit("time_to_stable").alias("what"), F.expr("stable_us - sent_us").alias("took")),
            F.struct(
                F.lit("time_to_detect").alias("what"), F.expr("detected_last_us - sent_us").alias("took")
            ),
        )
    )
    taken = messages.select(took.alias("one")).select("one.*").where("took is not null")
    return taken.groupBy("what", bin_of(F.col("took")).alias("bin")).agg(
        F.count("*").alias("count"),
        F.sum("took").cast("decimal(38, 0)").alias("total"),
        F.max("took").alias("most"),
    )


def summed(counts: DataFrame) -> DataFrame:
    """Add up the counts of several parts."""
    return counts.groupBy("what", "bin").agg(
        F.sum("count").alias("count"),
        F.sum("total").cast("decimal(38, 0)").alias("total"),
        F.max("most").alias("most"),
    )


def described(bins: Mapping[int, int], total: int, most: int) -> dict[str, Any] | None:
    """Return count, mean, percentiles and maximum in microseconds; None for nothing."""
    count = sum(bins.values())
    if not count:
        return None
    told: dict[str, Any] = {"count": count, "mean": total / count}
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        told[name] = min(_middle(_bin_at(bins, share * count)), float(most))
    return told | {"max": most}


def histogram(bins: Mapping[int, int]) -> list[list[float]]:
    """Return [low, high, count] of wider bins, as a report shows them."""
    step = BINS_PER_DOUBLING // SHOWN_PER_DOUBLING
    wide: dict[int, int] = {}
    for one, count in bins.items():
        wide[one // step] = wide.get(one // step, 0) + count
    edge = SHOWN_PER_DOUBLING
    return [[0.0 if k < 0 else 2 ** (k / edge), 2 ** ((k + 1) / edge), wide[k]] for k in sorted(wide)]


def _bin_at(bins: Mapping[int, int], rank: float) -> int:
    so_far = 0
    for one in sorted(bins):
        so_far += bins[one]
        if so_far >= rank:
            return one
    return max(bins)


def _middle(one: int) -> float:
    return 0.0 if one < 0 else round(math.exp2((one + 0.5) / BINS_PER_DOUBLING), 1)
