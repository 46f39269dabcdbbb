"""Say in one line which rows are bad, and show one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from stablecast.analysis.reading.foreign import KIND, Foreign
from stablecast.analysis.reading.inputs import Inputs
from stablecast.pipeline.analysis.reading.classify import PROBLEM, UNKNOWN_KIND, classify
from stablecast.pipeline.analysis.reading.raw_rows import raw_rows
from stablecast.trace.schema import KINDS

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

NO_EVENTS = "no events: the files hold no rows"
REASONS_SHOWN = 5
TEXT_SHOWN = 160


def explain_bad_rows(
    spark: SparkSession,
    inputs: Inputs,
    foreign: Foreign,
    bad: Mapping[str, int],
    *,
    first_seq: int | str = 1,
) -> str:
    """Return one line about bad rows: how many for which reasons, and a row of the most frequent one.

    Parameters
    ----------
    spark, inputs, foreign, first_seq
        As :func:`classified_events` was given them.
    bad
        How many rows have each problem.
    """
    reasons = sorted(bad, key=lambda reason: (-bad[reason], reason))
    told = ", ".join(f"{bad[reason]:,} × {reason}" for reason in reasons[:REASONS_SHOWN])
    if len(reasons) > REASONS_SHOWN:
        told += f", and {len(reasons) - REASONS_SHOWN} more reasons"
    rows = sum(bad.values())
    line = f"{rows:,} {'row is' if rows == 1 else 'rows are'} bad: {told}"
    row = _example(spark, inputs, foreign, reasons[0], first_seq)
    if row is not None:
        line += f"; for example in '{row['file']}': {_short(row['text'])}"
    if UNKNOWN_KIND in bad:
        line += f"; known kinds are {', '.join(KINDS)}, and {KIND} says what others mean"
    return f"{line} (--on-bad-rows count leaves them out)"


def _example(
    spark: SparkSession, inputs: Inputs, foreign: Foreign, reason: str, first_seq: int | str
) -> Row | None:
    for part in raw_rows(spark, inputs, foreign):
        events = classify(part, foreign, first_seq, evidence=True)
        found = events.where(F.col(PROBLEM) == reason).select("file", "text").limit(1).collect()
        if found:
            return found[0]
    return None


def _short(text: str | None) -> str:
    """Return a row's text as one line that is not long."""
    words = " ".join((text or "").split())
    plain = "".join(sign if sign.isprintable() else "\ufffd" for sign in words[:TEXT_SHOWN])
    return plain if len(words) <= TEXT_SHOWN else f"{plain[:-1]}…"
