"""What each row of a log is in the schema, and what is wrong with it.

The rules: ``group``, ``kind``, ``member`` and ``time_us`` are there, and the kind is known; an event of a
message has a source and a number that is not too low; a size is not negative.  A send without a member
happened at its source; a change of the membership has no source and no number, whatever the log says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from stablecast.analysis.reading.foreign import EARLIEST, SKIPPED, TIME_UNITS, TIMESTAMP, Foreign
from stablecast.analysis.reading.heads import CSV
from stablecast.pipeline.analysis.reading.raw_rows import RawRows
from stablecast.pipeline.analysis.reading.values import microseconds, name_of, whole_number
from stablecast.trace.schema import COLUMNS, KINDS

if TYPE_CHECKING:
    from pyspark.sql import Column as Values
    from pyspark.sql import DataFrame

MESSAGES = ("send", "receive", "stable", "release")
"""Kinds of events that are about a message."""
CHANGES = ("join", "leave", "fail")
"""Kinds that are about the membership."""
PROBLEM = "problem"
FARTHEST = 2**60
"""Times, in microseconds, and numbers from here on could not be added up; it is the year 38,000."""
BYTES_MAX = 2**31 - 1
UNKNOWN_KIND = "unknown kind"


def classify(
    rows: RawRows, foreign: Foreign, first_seq: int | str = 1, *, evidence: bool = False
) -> DataFrame:
    """Return the rows of some files as events; with ``evidence``, also ``file`` and ``text`` of each row."""
    frame = rows.frame
    if foreign.skipped and "kind" in rows.part.columns:
        skipped = _name("kind", rows, foreign).isin(list(foreign.skipped))
        frame = frame.where(~F.coalesce(skipped, F.lit(False)))
    events = _events(rows, foreign)
    columns = [events[name].alias(name) for name in COLUMNS]
    columns.append(_problem(rows, foreign, events, first_seq).alias(PROBLEM))
    if evidence:
        columns += [rows.file.alias("file"), rows.text.alias("text")]
    return frame.select(*columns)


def _events(rows: RawRows, foreign: Foreign) -> dict[str, Values]:
    kind = _kind(rows, foreign)
    of_message = kind.isin(list(MESSAGES))
    member, source = _name("member", rows, foreign), _name("source", rows, foreign)
    number = _number("bytes", rows, foreign)
    return {
        "group": _name("group", rows, foreign),
        "kind": kind,
        "member": F.coalesce(member, F.when(kind == "send", source)),
        "source": F.when(of_message, source),
        "seq": F.when(of_message, _number("seq", rows, foreign)),
        "time_us": _time(rows, foreign),
        "bytes": number.try_cast("int"),
    }


def _name(column: str, rows: RawRows, foreign: Foreign) -> Values:
    if column in foreign.constants:
        return F.lit(foreign.constants[column])
    return name_of(rows.value(column), rows.part.columns[column])


def _kind(rows: RawRows, foreign: Foreign) -> Values:
    written = _name("kind", rows, foreign)
    meanings = {key: kind for key, kind in foreign.kinds.items() if kind != SKIPPED}
    if not meanings or "kind" in foreign.constants:
        return written
    kind = written
    for key, meaning in meanings.items():
        kind = F.when(written == key, meaning).otherwise(kind)
    return kind


def _number(column: str, rows: RawRows, foreign: Foreign) -> Values:
    if column in foreign.constants:
        return F.lit(int(foreign.constants[column])).cast("bigint")
    if column not in rows.part.columns:
        return F.lit(None).cast("bigint")
    return whole_number(rows.value(column), rows.part.columns[column])


def _time(rows: RawRows, foreign: Foreign) -> Values:
    if "time_us" in foreign.constants:
        return _number("time_us", rows, foreign)
    return microseconds(rows.value("time_us"), rows.part.columns["time_us"], foreign.time_unit)


def _problem(rows: RawRows, foreign: Foreign, events: dict[str, Values], first_seq: int | str) -> Values:
    """Return the first thing that is wrong with a row, or null.

    Whether anything is wrong is decided first, by as little as possible; what it is, for few rows.
    """
    kind = events["kind"]
    of_message = kind.isin(list(MESSAGES))
    source, seq = _name("source", rows, foreign), _number("seq", rows, foreign)
    size, lowest = _number("bytes", rows, foreign), _lowest(kind, first_seq)
    sized = F.coalesce(events["bytes"] >= 0, _absent("bytes", rows))
    numbered = source.isNotNull() & (seq >= lowest) & (seq < FARTHEST)
    named = events["group"].isNotNull() & events["member"].isNotNull()
    in_time = (events["time_us"] > -FARTHEST) & (events["time_us"] < FARTHEST)
    fine = ~rows.unreadable & named & F.coalesce(in_time, F.lit(False)) & sized
    fine &= kind.isin(list(CHANGES)) | (of_message & numbered)
    first = 0 if first_seq == EARLIEST else first_seq
    time = "a timestamp" if foreign.time_unit == TIMESTAMP else f"a number of {TIME_UNITS[foreign.time_unit]}"
    unread = "wrong number of columns" if rows.part.format == CSV else "not JSON"
    return F.when(fine, F.lit(None).cast("string")).otherwise(
        F.when(rows.unreadable, unread)
        .when(events["group"].isNull(), "no group")
        .when(kind.isNull(), "no kind")
        .when(~kind.isin(list(KINDS)), UNKNOWN_KIND)
        .when(of_message & source.isNull(), "no source")
        .when(events["member"].isNull(), "no member")
        .when(of_message & _absent("seq", rows), "no seq")
        .when(of_message & seq.isNull(), "seq is not a whole number")
        .when(of_message & (seq < lowest), f"seq below {first}")
        .when(_absent("time_us", rows), "no time_us")
        .when(events["time_us"].isNull(), f"time_us is not {time}")
        .when(~in_time, "time_us is out of range")
        .when(of_message & (seq >= FARTHEST), "seq is out of range")
        .when(size.isNull(), "bytes is not a whole number")
        .when(size < 0, "negative bytes")
        .otherwise(f"bytes above {BYTES_MAX}")
    )


def _absent(column: str, rows: RawRows) -> Values:
    """Tell where a row has nothing in a column; a constant is there."""
    return rows.value(column).isNull() if column in rows.part.columns else F.lit(column == "bytes")


def _lowest(kind: Values, first_seq: int | str) -> Values:
    if first_seq == EARLIEST:
        return F.lit(0)
    # Who knows nothing of a source to be stable may say so with the number before its first.
    return F.when(kind == "stable", int(first_seq) - 1).otherwise(int(first_seq))
