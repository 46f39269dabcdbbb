"""Lines of JSON as rows: fast where all is well, line by line where something is not.

Arrow reads a block of lines at once if every value has the type that is expected of its column.  If one has
not, the types that the block's beginning has are tried; if that fails too, the block is cut into small ones,
and those in which something is not as expected are read line by line, every value as text, so that a value
of a wrong type is told instead of lost, and a line that is no JSON is a bad row.  Arrow takes two objects in
a line for two rows, and one object in two lines for one; a block in which rows and lines differ in number is
read line by line as well.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.json as pj

from stablecast.analysis.reading.arrays import strings
from stablecast.analysis.reading.foreign import NUMBERS, TIMESTAMP
from stablecast.analysis.reading.heads import Column
from stablecast.analysis.reading.line_blocks import line_blocks
from stablecast.analysis.reading.raw import UNREAD

SAMPLE_BYTES = 64 << 10
"""At the beginning of a block, for the types of its values."""
SMALL_BYTES = 256 << 10
"""Of a block that is read line by line if something in it is not as expected."""
EXACT = pa.decimal128(38, 9)
"""For numbers with a point, and numbers that are text: Arrow reads both."""
_NULL_ROW = re.compile(rb"\}\s*null")
_SCANNER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)
_DECODER = msgspec.json.Decoder(float_hook=str)


class JsonReader:
    """Reads blocks of lines with the same columns."""

    def __init__(self, columns: Mapping[str, Column], time_unit: str) -> None:
        self._columns = columns
        self._time_unit = time_unit
        self._types = {name: self._expected(name) for name in columns}

    def batches(self, block: bytes) -> Iterator[pa.RecordBatch]:
        """Yield the rows of whole lines."""
        found = self._regular(block)
        if found is not None:
            yield found
            return
        # Most lines are as expected even then, so they are tried again in small blocks.
        for few in line_blocks(io.BytesIO(block), size=SMALL_BYTES):
            found = self._at_once(few.data, self._types)
            yield self._by_line(few.data.splitlines()) if found is None else found

    def _regular(self, block: bytes) -> pa.RecordBatch | None:
        """Return the rows of a block in which all values of a column have one type."""
        found = self._at_once(block, self._types)
        if found is not None:
            return found
        types = self._types_of(block)
        if types is None or types == self._types:
            return None
        found = self._at_once(block, types)
        if found is not None:
            self._types = types
        return found

    def _expected(self, name: str) -> pa.DataType:
        text = name not in NUMBERS or (name == "time_us" and self._time_unit == TIMESTAMP)
        return pa.string() if text else pa.int64()

    def _at_once(self, block: bytes, types: Mapping[str, pa.DataType]) -> pa.RecordBatch | None:
        """Return the rows of a block, or None if something in it is not as expected."""
        if not _is_fit_for_arrow(block):
            return None
        parse = pj.ParseOptions(
            explicit_schema=_schema(self._columns, types), unexpected_field_behavior="ignore"
        )
        table = _read(block, parse)
        if table is None or not _is_one_row_a_line(table.num_rows, block):
            return None
        batches = table.combine_chunks().to_batches()
        return batches[0] if batches else None

    def _types_of(self, block: bytes) -> dict[str, pa.DataType] | None:
        """Return the types that the first lines have; None where they can only be read line by line."""
        end = block.find(b"\n", min(SAMPLE_BYTES, len(block)))
        sample = block[: end + 1] if end >= 0 else block
        table = _read(sample, pj.ParseOptions()) if _is_fit_for_arrow(sample) else None
        if table is None:
            return None
        found = {name: _type_at(table.schema, column.place) for name, column in self._columns.items()}
        types = {name: self._readable(name, kind) for name, kind in found.items()}
        if any(kind is None for kind in types.values()):
            return None
        return types

    def _readable(self, name: str, found: pa.DataType | None) -> pa.DataType | None:
        expected = self._expected(name)
        if found is None or pa.types.is_null(found):
            return expected
        is_text = pa.types.is_string(found) or pa.types.is_timestamp(found)
        if pa.types.is_integer(found):
            return pa.int64()
        if expected == pa.string():
            return expected if is_text else None
        return EXACT if is_text or pa.types.is_floating(found) else None

    def _by_line(self, lines: Sequence[bytes]) -> pa.RecordBatch:
        """Return the rows of lines, every value as text."""
        values: list[list[str | None]] = [[] for _ in self._columns]
        unread: list[str | None] = []
        places = [column.place for column in self._columns.values()]
        for line in lines:
            # Files with marks of their byte order may have been put together.
            text = line.decode(errors="replace").lstrip("\ufeff").strip()
            rows = _objects(text) if text else []
            for row in [None] if rows is None else rows:
                unread.append(text if row is None else None)
                for column, place in zip(values, places, strict=True):
                    column.append(None if row is None else _text_at(row, place))
        names = [*(column.name for column in self._columns.values()), UNREAD]
        arrays = [strings(column) for column in [*values, unread]]
        return pa.RecordBatch.from_arrays(arrays, names)


def _read(block: bytes, parse: pj.ParseOptions) -> pa.Table | None:
    read = pj.ReadOptions(use_threads=False, block_size=len(block) + 1)
    try:
        return pj.read_json(pa.BufferReader(block), read_options=read, parse_options=parse)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _is_fit_for_arrow(block: bytes) -> bool:
    """Tell lines that Arrow can be given.

    It does not check that text is UTF-8.  Where ``null`` stands in place of an object, it reads memory that
    is not its own.  Such a ``null`` is the first thing in a block, or comes after the end of an object.
    """
    if not block.lstrip().startswith(b"{") or _NULL_ROW.search(block):
        return False
    if block.isascii():
        return True
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_one_row_a_line(rows: int, block: bytes) -> bool:
    if rows == block.count(b"\n") + (not block.endswith(b"\n")):
        return True
    return rows == sum(1 for line in block.splitlines() if line.strip())


def _schema(columns: Mapping[str, Column], types: Mapping[str, pa.DataType]) -> pa.Schema:
    tree: dict[str, Any] = {}
    for name, column in columns.items():
        inner = tree
        for step in column.place[:-1]:
            inner = inner.setdefault(step, {})
        inner[column.place[-1]] = types[name]
    return pa.schema(_fields(tree))


def _fields(tree: Mapping[str, Any]) -> list[pa.Field]:
    return [
        pa.field(name, pa.struct(_fields(kind)) if isinstance(kind, dict) else kind)
        for name, kind in tree.items()
    ]


def _type_at(schema: pa.Schema, place: Sequence[str]) -> pa.DataType | None:
    if place[0] not in schema.names:
        return None
    kind = schema.field(place[0]).type
    for name in place[1:]:
        if not pa.types.is_struct(kind) or kind.get_field_index(name) < 0:
            return None
        kind = kind.field(name).type
    return kind


def _objects(text: str) -> list[dict[str, Any]] | None:
    """Return the rows of a line: one, or those of a list; None if it is neither.

    What follows a whole object in its line is not looked at.
    """
    try:
        value = _DECODER.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        try:
            value = _SCANNER.raw_decode(text)[0]
        except (ValueError, RecursionError):
            return None
    rows = value if isinstance(value, list) else [value]
    return rows if all(isinstance(row, dict) for row in rows) else None


def _text_at(row: Mapping[str, Any], place: Sequence[str]) -> str | None:
    value: Any = row
    for name in place:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    if value is None or isinstance(value, str):
        return value
    return str(msgspec.json.encode(value), "utf-8")
