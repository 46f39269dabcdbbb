"""Lines of CSV as rows: fast where all is well, line by line where something is not.

Arrow reads a block of lines at once, with numbers as numbers; if one is none, with numbers as text, which is
judged later.  Lines with a wrong number of columns are bad rows.  A line always ends at its end, in
quotation marks or not: a block in which rows and lines differ in number is read line by line.  Blanks around
a value do not count, unless they are inside of quotation marks; a value without a sign is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv

from stablecast.analysis.reading.arrays import as_array, numbers_of, only_where, strings
from stablecast.analysis.reading.exact import BLANKS
from stablecast.analysis.reading.foreign import NUMBERS, TIMESTAMP
from stablecast.analysis.reading.heads import Column
from stablecast.analysis.reading.raw import UNREAD
from stablecast.delivery.schema import NAME

_FIRST_LINE = re.compile(rb"[ \t\r\n]*[^\r\n]*(\r\n|\n|\r|$)")


class CsvReader:
    """Reads blocks of lines with the same columns."""

    def __init__(self, columns: Mapping[str, Column], width: int, separator: str, time_unit: str) -> None:
        self._names = [f"c{place}" for place in range(width)]
        self._separator = separator
        self._numbers: dict[str, pa.DataType] = {}
        self._texts: dict[str, pa.DataType] = {}
        for name, column in columns.items():
            text = name not in NUMBERS
            number = not text and not (name == "time_us" and time_unit == TIMESTAMP)
            self._texts[column.place[0]] = NAME if text else pa.string()
            self._numbers[column.place[0]] = pa.int64() if number else self._texts[column.place[0]]

    def batches(self, block: bytes, *, header: bool) -> Iterator[pa.RecordBatch]:
        """Yield the rows of whole lines; with a header, the first that is not blank is none."""
        first = _FIRST_LINE.match(block) if header else None
        block = block[first.end() :] if first else block
        if block.strip():
            found = self._regular(block)
            yield self._by_line(block.splitlines()) if found is None else found

    def _regular(self, block: bytes) -> pa.RecordBatch | None:
        """Return the rows of a block, with numbers as numbers or as text."""
        # Arrow takes 0x1f for a number.
        types = [self._texts] if b"0x" in block or b"0X" in block else [self._numbers, self._texts]
        for columns in types:
            found = self._at_once(block, columns)
            if found is not None:
                return found
        return None

    def _at_once(self, block: bytes, types: Mapping[str, pa.DataType]) -> pa.RecordBatch | None:
        """Return the rows of a block, or None if something in it is not as expected."""
        unread: list[str] = []

        def refuse(row: pv.InvalidRow) -> str:
            unread.append(row.text)
            return "skip"

        options = pv.ReadOptions(column_names=self._names, use_threads=False, block_size=len(block) + 1)
        parse = pv.ParseOptions(delimiter=self._separator, invalid_row_handler=refuse)
        convert = pv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        )
        try:
            table = pv.read_csv(pa.BufferReader(block), options, parse, convert)
        except (pa.ArrowInvalid, pa.ArrowKeyError):
            return None
        # Blanks before a quotation mark hide it from Arrow.
        hidden = any('"' in text for text in unread)
        if hidden or not _is_one_row_a_line(table.num_rows + len(unread), block):
            return None
        columns = [_trimmed(as_array(column), quoted=b'"' in block) for column in table.columns]
        if any(column is None for column in columns):
            return None
        return _with_unread(table.column_names, columns, [text for text in unread if text.strip()])

    def _by_line(self, lines: Sequence[bytes]) -> pa.RecordBatch:
        """Return the rows of lines, every value as text."""
        rows: list[list[str | None]] = []
        unread: list[str] = []
        for line in lines:
            text = line.decode(errors="replace")
            if not text.strip():
                continue
            fields = fields_of(text, self._separator)
            if len(fields) == len(self._names):
                rows.append(fields)
            else:
                unread.append(text)
        places = [self._names.index(name) for name in self._texts]
        columns = [strings([row[place] for row in rows]) for place in places]
        return _with_unread(list(self._texts), columns, unread)


def fields_of(line: str, separator: str) -> list[str | None]:
    """Return the values of a line of CSV."""
    if '"' not in line:
        return [field.strip(BLANKS) or None for field in line.split(separator)]
    sign = re.escape(separator)
    pattern = re.compile(rf' *"(?P<quoted>(?:[^"]|"")*)" *(?={sign}|$)|(?P<plain>[^{sign}]*)')
    fields: list[str | None] = []
    place = 0
    while True:
        found = pattern.match(line, place)
        assert found is not None, "a plain value may be empty"
        quoted = found["quoted"]
        plain = (found["plain"] or "").strip(BLANKS)
        fields.append((plain if quoted is None else quoted.replace('""', '"')) or None)
        if found.end() >= len(line):
            return fields
        place = found.end() + 1


def _is_one_row_a_line(rows: int, block: bytes) -> bool:
    if rows == block.count(b"\n") + (not block.endswith(b"\n")):
        return True
    return rows == sum(1 for line in block.splitlines() if line)


def _trimmed(values: pa.Array, *, quoted: bool) -> pa.Array | None:
    """Return names without blanks around them; None if only quotation marks can tell which blanks count."""
    if not pa.types.is_dictionary(values.type):
        return values
    trimmed = pc.ascii_trim(values.dictionary, BLANKS)
    if trimmed.equals(values.dictionary):
        return values
    if quoted:
        return None
    named = only_where(numbers_of(pc.binary_length(trimmed)) > 0, trimmed)
    return pa.DictionaryArray.from_arrays(values.indices, named)


def _with_unread(names: Sequence[str], columns: Sequence[pa.Array], unread: Sequence[str]) -> pa.RecordBatch:
    """Return rows, and after them the lines that are none."""
    if not unread:
        return pa.RecordBatch.from_arrays(list(columns), list(names))
    rows = len(columns[0]) if columns else 0
    more = [pa.concat_arrays([column, pa.nulls(len(unread), column.type)]) for column in columns]
    texts = pa.concat_arrays([pa.nulls(rows, pa.string()), strings(unread)])
    return pa.RecordBatch.from_arrays([*more, texts], [*names, UNREAD])
