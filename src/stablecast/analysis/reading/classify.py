"""What each row of a log is in the schema, and what is wrong with it.

The rules: ``group``, ``kind``, ``member`` and ``time_us`` are there, and the kind is known; an event of a
message or a position has a source and a number that is not too low; a size is not negative.  A send happens
at its source, whatever the log says, and a head without a member too; a change of the membership has no
source and no number, whatever the log says.  What members transmit, handle and do by timers, of which wire
traces tell, is left out.

A batch is judged in two steps.  The first asks whether anything is wrong at all, by as few passes over
numbers as possible; names stay places in dictionaries.  The second says what is wrong, and only looks at the
rows that the first found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from stablecast.analysis.reading.arrays import Ints, Mask, array_of, flags, numbers_of, strings, valid_mask
from stablecast.analysis.reading.foreign import SKIPPED, Foreign
from stablecast.analysis.reading.heads import JSON
from stablecast.analysis.reading.mapping import Part
from stablecast.analysis.reading.problems import BYTES_MAX, FARTHEST, reasons
from stablecast.analysis.reading.raw import UNREAD, row_text, value_of
from stablecast.analysis.reading.values import microseconds, name_of, whole_number
from stablecast.delivery.kinds import EARLIEST, FAIL, HEAD, JOIN, KINDS, LEAVE, POSITION, SEND, STABLE
from stablecast.delivery.schema import EVENTS
from stablecast.trace.schema import WIRE_KINDS

CHANGES = (JOIN, LEAVE, FAIL)
"""Kinds that are about the membership; all others are about a message or a position."""
CUMULATIVE = (STABLE, HEAD, POSITION)
"""Kinds that may have the number before the first, for nothing yet."""
_ABSENT, _UNKNOWN, _LEFT_OUT = -1, -2, -3
_NO_NUMBER = -(2**63)
"""Stands for a number that is absent or none: it is below any that is accepted."""
Codes = NDArray[np.int8]
Places = NDArray[np.int32]


@dataclass(frozen=True)
class Classified:
    """Rows of a log: the events among them, and what is wrong with the others."""

    events: pa.Table
    """The good rows, with the columns of :data:`EVENTS`."""
    problems: dict[str, int] = field(default_factory=dict)
    """How many rows are bad for each reason."""
    examples: dict[str, str] = field(default_factory=dict)
    """Reason -> the text of one such row."""
    seen: frozenset[str] = frozenset()
    """Those of the part's ``unseen`` columns that a row has a value in."""
    file: str = ""
    """Where the rows are from, where that is known."""


def classify(
    raw: pa.RecordBatch | pa.Table, part: Part, foreign: Foreign, first_seq: int | str = 1
) -> Classified:
    """Say what rows are, as they are in a log.

    Parameters
    ----------
    raw
        The columns that ``part`` names, under their own names or where their places say, of any type; one
        that is absent is null.  Lines that are no rows have their text in the column :data:`UNREAD`.
    part
        Which column is which.
    foreign
        How the log says what the schema says.
    first_seq
        The number that sources begin with, or ``earliest`` for any from 0.
    """
    batches = raw.to_batches() if isinstance(raw, pa.Table) else [raw]
    found = [_Batch(batch, part, foreign, first_seq).classified() for batch in batches if batch.num_rows]
    if len(found) == 1:
        return found[0]
    events = pa.concat_tables([one.events for one in found]) if found else EVENTS.empty_table()
    problems: dict[str, int] = {}
    examples: dict[str, str] = {}
    for one in found:
        for reason, count in one.problems.items():
            problems[reason] = problems.get(reason, 0) + count
        examples = one.examples | examples
    return Classified(events, problems, examples, frozenset().union(*(one.seen for one in found)))


@dataclass(frozen=True)
class _Names:
    """Names of rows as places in a list; absent ones have the place after the last."""

    places: Places
    names: pa.Array

    @property
    def absent(self) -> int:
        return len(self.names)

    @property
    def some_absent(self) -> bool:
        return bool(self.places.size) and int(self.places.max()) == self.absent

    def array(self, chosen: Mask | None) -> pa.Array:
        """Return the names of the chosen rows."""
        places = self.places if chosen is None else self.places[chosen]
        there = places != self.absent if self.some_absent else None
        return pa.DictionaryArray.from_arrays(array_of(places, there), self.names)


@dataclass(frozen=True)
class _Numbers:
    """Numbers of rows; those that are absent or none are :data:`_NO_NUMBER`."""

    values: Ints
    valid: Mask | None = None
    """Where they are numbers; None where all are."""

    def array(self, kind: type, chosen: Mask | None, there: Mask | None) -> pa.Array:
        """Return the numbers of the chosen rows, null where there is none."""
        values = self.values if chosen is None else self.values[chosen]
        if there is not None and chosen is not None:
            there = there[chosen]
        return array_of(values.astype(kind, copy=False), there)


@dataclass(frozen=True)
class _Columns:
    """Rows of a log in the schema's words, good and bad."""

    kind: Codes
    group: _Names
    member: _Names
    source: _Names
    seq: _Numbers
    time: _Numbers
    size: _Numbers
    about_message: Mask

    def events(self, chosen: Mask | None) -> pa.Table:
        """Return the chosen rows as events."""
        places = self.source.places
        if not bool(self.about_message.all()):
            places = np.where(self.about_message, places, np.int32(self.source.absent))
        columns = [
            self.group.array(chosen),
            array_of(self.kind if chosen is None else self.kind[chosen]),
            self.member.array(chosen),
            _Names(places, self.source.names).array(chosen),
            self.seq.array(np.int64, chosen, self.about_message),
            self.time.array(np.int64, chosen, None),
            self.size.array(np.int32, chosen, self.size.valid),
        ]
        return pa.Table.from_arrays(columns, schema=EVENTS)


class _Batch:
    """Rows of a log that are judged together."""

    def __init__(self, raw: pa.RecordBatch, part: Part, foreign: Foreign, first_seq: int | str) -> None:
        self._raw, self._part, self._foreign, self._first_seq = raw, part, foreign, first_seq
        self._rows = raw.num_rows
        self._lowest = _lowest(first_seq)

    def classified(self) -> Classified:
        """Judge all rows."""
        columns = self._columns()
        unread = self._unread()
        good = self._good(columns, unread)
        events = columns.events(None if bool(good.all()) else good)
        bad = ~good
        if self._foreign.skipped or self._part.wire:
            bad &= columns.kind != _LEFT_OUT
        if not bool(bad.any()):
            return Classified(events, seen=self._seen())
        problems, examples = self._explained(np.flatnonzero(bad), columns, unread)
        return Classified(events, problems, examples, self._seen())

    def _columns(self) -> _Columns:
        kind, source = self._kinds(), self._names("source")
        return _Columns(
            kind,
            self._names("group"),
            _members(self._names("member"), source, kind),
            source,
            self._numbers("seq"),
            self._times(),
            self._numbers("bytes"),
            _ABOUT_MESSAGE[kind],
        )

    def _good(self, rows: _Columns, unread: Mask | None) -> Mask:
        """Tell the rows with which nothing is wrong."""
        seq, time, size = rows.seq.values, rows.time.values, rows.size.values
        good: Mask = (seq >= self._lowest[rows.kind]) & (seq < FARTHEST)
        if rows.source.some_absent:
            good &= rows.source.places != rows.source.absent
        good |= ~rows.about_message
        good &= rows.kind >= 0
        good &= (time > -FARTHEST) & (time < FARTHEST)
        for names in (rows.group, rows.member):
            if names.some_absent:
                good &= names.places != names.absent
        sized = (size >= 0) & (size <= BYTES_MAX)
        good &= sized if rows.size.valid is None else sized | self._absent("bytes")
        return good if unread is None else good & ~unread

    def _explained(
        self, bad: NDArray[np.intp], rows: _Columns, unread: Mask | None
    ) -> tuple[dict[str, int], dict[str, str]]:
        """Say how many of the bad rows have which problem, with one of each."""
        texts = reasons(self._part.format, self._foreign, self._first_seq)
        holds = self._problems(bad, rows, unread)
        first = np.select(list(holds.values()), range(len(holds)))
        problems, examples = {}, {}
        for code, at, count in zip(*np.unique(first, return_index=True, return_counts=True), strict=True):
            reason = texts[list(holds)[code]]
            problems[reason] = int(count)
            examples[reason] = row_text(self._raw, int(bad[at]), self._part)
        return problems, examples

    def _problems(self, bad: NDArray[np.intp], rows: _Columns, unread: Mask | None) -> dict[str, Mask]:
        """Tell for each problem which of the bad rows have it; the first that a row has is the one it has."""
        kind, message = rows.kind[bad], rows.about_message[bad]
        seq, time, size = rows.seq.values[bad], rows.time.values[bad], rows.size.values[bad]
        none = np.zeros(len(bad), np.bool_)

        def no_number(numbers: _Numbers) -> Mask:
            return none if numbers.valid is None else ~numbers.valid[bad]

        return {
            "unread": none if unread is None else unread[bad],
            "group": rows.group.places[bad] == rows.group.absent,
            "kind": kind == _ABSENT,
            "unknown": kind == _UNKNOWN,
            "source": message & (rows.source.places[bad] == rows.source.absent),
            "member": rows.member.places[bad] == rows.member.absent,
            "seq_absent": message & self._absent("seq")[bad],
            "seq": message & no_number(rows.seq),
            "seq_low": message & (seq < self._lowest[kind]),
            "time_absent": self._absent("time_us")[bad],
            "time": no_number(rows.time),
            "time_far": (time <= -FARTHEST) | (time >= FARTHEST),
            "seq_far": message & (seq >= FARTHEST),
            "bytes": no_number(rows.size),
            "bytes_low": size < 0,
            "bytes_far": ~none,
        }

    def _value(self, name: str) -> pa.Array | None:
        """Return a column of the log for one of the schema; None where it is absent."""
        column = self._part.columns.get(name)
        return None if column is None else value_of(self._raw, column)

    def _names(self, name: str) -> _Names:
        constant = self._foreign.constants.get(name)
        values = self._value(name)
        if constant is not None or values is None:
            names = strings([] if constant is None else [constant])
            return _Names(np.zeros(self._rows, np.int32), names)
        coded = name_of(values)
        return _Names(numbers_of(coded.indices, len(coded.dictionary)), coded.dictionary)

    def _kinds(self) -> Codes:
        """Return the code of each row's kind, or what else it is."""
        written = self._names("kind")
        meanings = {} if "kind" in self._foreign.constants else self._foreign.kinds
        if self._part.wire:
            meanings = dict.fromkeys(WIRE_KINDS, SKIPPED) | dict(meanings)
        codes = [_kind_code(name, meanings) for name in written.names.to_pylist()]
        found: Codes = np.array([*codes, _ABSENT], np.int8)[written.places]
        return found

    def _numbers(self, name: str) -> _Numbers:
        constant = self._foreign.constants.get(name)
        if constant is not None:
            return _Numbers(np.full(self._rows, int(constant), np.int64))
        values = self._value(name)
        return _numbers(None if values is None else whole_number(values), self._rows)

    def _times(self) -> _Numbers:
        values = self._value("time_us")
        if values is None:
            return self._numbers("time_us")
        unit = self._part.columns["time_us"].unit
        return _numbers(microseconds(values, self._foreign.time_unit, unit), self._rows)

    def _absent(self, name: str) -> Mask:
        """Tell where a row has nothing in a column; a constant is there."""
        values = self._value(name)
        if name in self._foreign.constants or (values is not None and values.null_count == 0):
            return np.zeros(self._rows, np.bool_)
        if values is None:
            return np.ones(self._rows, np.bool_)
        return _is_null(values)

    def _unread(self) -> Mask | None:
        """Tell lines that are no rows; None if there is none."""
        if UNREAD not in self._raw.schema.names or self._raw.column(UNREAD).null_count == self._rows:
            return None
        unread = ~_is_null(self._raw.column(UNREAD))
        if self._part.format != JSON:
            return unread
        # A line with something else where an object should be is a row that lacks what is in the object.
        for name, column in zip(self._raw.schema.names, self._raw.columns, strict=True):
            if name != UNREAD:
                unread &= _is_null(column)
        return unread

    def _seen(self) -> frozenset[str]:
        """Return the columns that were not in the first lines, and have a value here."""
        values = {name: self._value(name) for name in self._part.unseen}
        return frozenset(
            name for name, found in values.items() if found is not None and found.null_count < self._rows
        )


def _members(member: _Names, source: _Names, kind: Codes) -> _Names:
    """Return where events happen: a send at its source, and a head too if nothing else is said."""
    at_source = (kind == SEND) & (source.places != source.absent)
    if member.some_absent:
        at_source |= (kind == HEAD) & (member.places == member.absent)
    if not bool(at_source.any()):
        return member
    # Sources get the places that they have, or would have, among the members.
    places = numbers_of(pc.index_in(source.names, value_set=member.names), -1).astype(np.int32)
    new = places < 0
    names = pa.concat_arrays([member.names, source.names.filter(flags(new))])
    places[new] = np.arange(member.absent, len(names), dtype=np.int32)
    absent = np.int32(len(names))
    elsewhere = member.places
    if member.some_absent:
        elsewhere = np.where(elsewhere == member.absent, absent, elsewhere)
    return _Names(np.where(at_source, np.append(places, absent)[source.places], elsewhere), names)


def _is_null(values: pa.Array) -> Mask:
    valid = valid_mask(values)
    return np.zeros(len(values), np.bool_) if valid is None else ~valid


def _kind_code(name: str, meanings: Mapping[str, str]) -> int:
    meaning = meanings.get(name, name)
    if meaning == SKIPPED and name in meanings:
        return _LEFT_OUT
    return KINDS.index(meaning) if meaning in KINDS else _UNKNOWN


def _by_code(of_kinds: Sequence[int]) -> Ints:
    """Return a table by code of kind; what is no kind has a negative code, and a zero of the end."""
    return np.array([*of_kinds, *[0] * -_LEFT_OUT], np.int64)


_ABOUT_MESSAGE = _by_code([code not in CHANGES for code in range(len(KINDS))]).astype(np.bool_)


def _lowest(first_seq: int | str) -> Ints:
    """Return the lowest number that each kind may have."""
    if first_seq == EARLIEST:
        return _by_code([0] * len(KINDS))
    first = int(first_seq)
    return _by_code([first - (code in CUMULATIVE) for code in range(len(KINDS))])


def _numbers(values: pa.Array | None, rows: int) -> _Numbers:
    if values is None:
        return _Numbers(np.full(rows, _NO_NUMBER, np.int64), np.zeros(rows, np.bool_))
    return _Numbers(numbers_of(values, _NO_NUMBER), valid_mask(values))
