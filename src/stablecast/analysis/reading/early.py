"""What can be told of a log by its first rows, within a second or two and before anything else starts.

Columns that are missing, kinds that nobody knows and times in another unit are refused with one line each.
What only looks wrong, and may be meant, is a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from stablecast.analysis.reading.arrays import Ints, array_of, as_array, numbers_of
from stablecast.analysis.reading.bad_rows import KNOWN_KINDS, LEAVE_OUT
from stablecast.analysis.reading.classify import classify
from stablecast.analysis.reading.events import FAIL
from stablecast.analysis.reading.files import Piece, first_rows, pieces
from stablecast.analysis.reading.foreign import SKIPPED, TIME_UNITS, Foreign, check_first_seq
from stablecast.analysis.reading.inputs import Inputs
from stablecast.analysis.reading.mapping import plan_parts
from stablecast.analysis.reading.raw import value_of
from stablecast.analysis.reading.values import microseconds, name_of
from stablecast.delivery.kinds import HEAD, KINDS, POSITION, RECEIVE, SEND
from stablecast.errors import InvalidInput
from stablecast.trace.schema import WIRE_KINDS

ROWS_LOOKED_AT = 1_000
"""Of each file."""
FILES_LOOKED_AT = 64
NAMES_SHOWN = 3
NO_SENDS = "sends are missing: frontier among readers only"
ALL_EARLY = "every receipt is earlier than its send: clocks differ, or kinds are mixed up"
_MONTH_US = 31 * 24 * 3_600 * 1_000_000
_YEAR_2000, _YEAR_2100 = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (2000, 2100))
_PER_SECOND = {"ms": 10**3, "s": 1, "ns": 10**9}


def check_early(
    inputs: Inputs,
    foreign: Foreign,
    *,
    first_seq: int | str = 1,
    on_bad_rows: str = FAIL,
    unit_given: bool = False,
) -> tuple[str, ...]:
    """Refuse a log that cannot be meant as it is; return warnings about one that may be.

    Only files of this machine are looked at.

    Parameters
    ----------
    inputs, foreign, first_seq, on_bad_rows
        As for :func:`~stablecast.analysis.reading.events.read_events`.
    unit_given
        The user has said what the unit of times is, so it is not doubted.
    """
    check_first_seq(first_seq)
    here = Inputs(tuple(file for file in inputs.files if file.head is not None))
    plan_parts(here, foreign)
    samples = list(_samples(here, foreign))
    if on_bad_rows == FAIL:
        for piece, rows in samples:
            _check_kinds(piece, rows, foreign)
    if foreign.time_unit == "us" and not unit_given:
        _check_unit(samples)
    events = [classify(rows, piece.part, foreign, first_seq).events for piece, rows in samples]
    return tuple(_warnings(pa.concat_tables(events))) if events else ()


def _samples(inputs: Inputs, foreign: Foreign) -> Iterable[tuple[Piece, pa.RecordBatch]]:
    """Yield the first rows of each file, or of files that are spread over all."""
    step = max(1, -(-len(inputs.files) // FILES_LOOKED_AT))
    chosen = Inputs(inputs.files[::step])
    for piece in pieces(chosen, foreign):
        rows = first_rows(piece, ROWS_LOOKED_AT) if piece.start == 0 else None
        if rows is not None:
            yield piece, rows


def _check_kinds(piece: Piece, rows: pa.RecordBatch, foreign: Foreign) -> None:
    column = piece.part.columns.get("kind")
    values = None if column is None else value_of(rows, column)
    if values is None:
        return
    coded = name_of(values)
    written = coded.dictionary.take(coded.indices.unique().drop_null()).to_pylist()
    known = (*KINDS, SKIPPED, *(WIRE_KINDS if piece.part.wire else ()))
    unknown = sorted(name for name in written if foreign.kinds.get(name, name) not in known)
    unknown = [name for name in unknown if name not in foreign.kinds]
    if unknown:
        names = ", ".join(f"'{name}'" for name in unknown[:NAMES_SHOWN])
        more = f" and {len(unknown) - NAMES_SHOWN:,} more" if len(unknown) > NAMES_SHOWN else ""
        raise InvalidInput(
            f"unknown kind{'s' if len(unknown) > 1 else ''} {names}{more} in '{piece.name}';"
            f" {KNOWN_KINDS} {LEAVE_OUT}"
        )


def _check_unit(samples: Sequence[tuple[Piece, pa.RecordBatch]]) -> None:
    """Refuse numbers that make no sense as microseconds since 1970, and do in another unit.

    A clock that begins at 0 is as good as any: only if all times lie within the first month of 1970, or
    thousands of years ahead, and within this century in another unit, that unit is meant.
    """
    found = [(piece, times) for piece, rows in samples if (times := _numbers_of_time(piece, rows)).size]
    if not found:
        return
    low, high = min(int(times.min()) for _, times in found), max(int(times.max()) for _, times in found)
    for unit, per_second in _PER_SECOND.items():
        fits = _YEAR_2000 * per_second <= low and high < _YEAR_2100 * per_second
        if fits and (unit == "ns" or high < _MONTH_US):
            raise InvalidInput(_unit_line(found[0][0].name, low, unit, per_second))


def _unit_line(name: str, time: int, unit: str, per_second: int) -> str:
    meant = datetime.fromtimestamp(time // per_second, UTC)
    return (
        f"times in '{name}' look like {TIME_UNITS[unit]} since 1970, not microseconds: {time} would be"
        f" {meant:%Y-%m-%d}; use --time-unit {unit} (or --time-unit us if they are microseconds)"
    )


def _numbers_of_time(piece: Piece, rows: pa.RecordBatch) -> Ints:
    """Return the times of rows that are numbers, in the log's own unit, rounded down."""
    column = piece.part.columns.get("time_us")
    values = None if column is None else value_of(rows, column)
    if column is None or values is None or column.unit is not None or pa.types.is_timestamp(values.type):
        return np.empty(0, np.int64)
    numbers = microseconds(values, "us").drop_null()
    return numbers_of(as_array(numbers))


def _warnings(events: pa.Table) -> Iterable[str]:
    kinds = set(events.column("kind").unique().to_pylist())
    if kinds & {RECEIVE, POSITION} and not kinds & {SEND, HEAD}:
        yield NO_SENDS
    if _all_receipts_early(events):
        yield ALL_EARLY


def _all_receipts_early(events: pa.Table) -> bool:
    """Tell whether there are receipts of messages whose sends are here too, all of them earlier."""
    sent = dict(_times(events, SEND))
    early = [time < sent[message] for message, time in _times(events, RECEIVE) if message in sent]
    return bool(early) and all(early)


def _times(events: pa.Table, kind: int) -> Iterable[tuple[tuple[str, str, int], int]]:
    """Return the messages of events of a kind, with their times, the last row first."""
    chosen = np.flatnonzero(numbers_of(as_array(events.column("kind"))) == kind)[::-1]
    rows = events.take(array_of(chosen))
    group, source, seq, time = (
        rows.column(name).to_pylist() for name in ("group", "source", "seq", "time_us")
    )
    return zip(zip(group, source, seq, strict=True), time, strict=True)
