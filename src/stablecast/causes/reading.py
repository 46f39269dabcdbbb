"""Read a run from files: our own traces with all columns, logs from elsewhere as the analysis reads them.

A file is taken for a trace of ours if it has the schema's columns under their own names.  Its rows are read
at once, by Arrow, and keep their order, because the order of one member's rows is the order in which they
happened, also where times are equal.  A log from elsewhere makes no such promise, so the rows of one of its
members stand in the order of their times.

A member that was started again has several logs, or goes on in one; its steps then begin anew.  Files are
read in the order of their first rows' times, and steps of a later start are numbered behind those before it.

A member's joining and leaving is told by others, in their logs.  Such a row has no step; it is put among the
member's own rows by its time, and so are the rows of a member that wrote its log without transmissions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
import pyarrow.parquet as pq

from stablecast.causes.run import ABSENT, Ints, Mask, Rows, Run
from stablecast.errors import InvalidInput
from stablecast.trace.schema import COLUMNS, KINDS, POSITION_KINDS, WIRE_COLUMNS, WIRE_KINDS, arrow_schema

if TYPE_CHECKING:
    from stablecast.analysis.options import Options
    from stablecast.analysis.reading.inputs import Inputs

ALL_COLUMNS = (*COLUMNS, *WIRE_COLUMNS)
TRACE_KINDS = (*KINDS, *WIRE_KINDS)
JSON_BLOCK_BYTES = 16 << 20
_SCHEMA = arrow_schema(wire=True)


def read(paths: Iterable[Path | str], *, group: str | None = None, options: Options | None = None) -> Run:
    """Read one run: Parquet, JSON lines, or folders of members' logs, whose clocks are one machine's.

    Parameters
    ----------
    paths
        Files and folders.
    group
        Which group, if the files tell of several.
    options
        How a delivery log from elsewhere says what the schema says.
    """
    from stablecast.analysis.options import Options
    from stablecast.analysis.reading.inputs import find_inputs

    chosen = options or Options()
    inputs = find_inputs([str(path) for path in paths], format=chosen.format)
    ours = options is None and all(_is_ours(file.head) for file in inputs.files)
    return run_of(_our_rows(inputs) if ours else _foreign_rows(inputs, chosen), group=group)


def run_of(table: pa.Table, *, group: str | None = None) -> Run:
    """Return the run that rows of the schema tell; the additional columns of wire traces may be absent."""
    if not table.num_rows:
        raise InvalidInput("the trace has no rows (accepted: a trace of a run)")
    table = _of_one_group(_completed(table), group)
    kinds = _codes(table["kind"], TRACE_KINDS)
    told = _distinct(table, ("member", "source"))
    names = sorted(told) + sorted(_distinct(table, ("peer",)) - told)
    messages = sorted(_distinct(table, ("message",)))
    lists = {"kind": TRACE_KINDS, "member": names, "source": names, "peer": names, "message": messages}
    columns = [
        kinds
        if name == "kind"
        else _codes(table[name], lists[name])
        if name in lists
        else _numbers(table[name])
        for name in ALL_COLUMNS
        if name != "group"
    ]
    has_wire = bool(np.isin(kinds, [TRACE_KINDS.index(kind) for kind in WIRE_KINDS]).any())
    rows = _by_member(Rows(*columns), has_wire)
    group = table["group"][0].as_py()
    return Run(group, tuple(names), TRACE_KINDS, tuple(messages), rows, has_wire, len(told))


def _is_ours(head: object) -> bool:
    columns = {column.name for column in getattr(head, "columns", ())}
    return set(COLUMNS) - {"source", "seq", "bytes"} <= columns


def _our_rows(inputs: Inputs) -> pa.Table:
    tables = []
    for file in inputs.files:
        try:
            table = _parquet(file.name) if file.format == "parquet" else _json_lines(file.name)
            _check(table)
        except OSError as error:
            raise InvalidInput(f"cannot read the trace '{file.name}': {error.strerror or error}") from None
        except pa.ArrowException as error:
            why = " ".join(str(error).split())
            raise InvalidInput(f"the trace '{file.name}' is not in the event schema: {why}") from None
        except InvalidInput as error:
            raise InvalidInput(f"the trace '{file.name}': {error}") from None
        tables.append(table)
    tables.sort(key=lambda table: table["time_us"][0].as_py() if table.num_rows else 0)
    return pa.concat_tables(tables)


def _parquet(file: str) -> pa.Table:
    there = pq.read_schema(file).names
    table = pq.read_table(file, columns=[name for name in ALL_COLUMNS if name in there], partitioning=None)
    return _completed(table)


def _json_lines(file: str) -> pa.Table:
    """Read whole lines: one without an end was being written when its member was killed."""
    with pa.input_stream(file, compression="detect") as content:
        lines = content.read()
    lines = lines[: lines.rfind(b"\n") + 1]
    if not lines:
        return _SCHEMA.empty_table()
    options = pj.ParseOptions(explicit_schema=_nullable(), unexpected_field_behavior="ignore")
    return _completed(
        pj.read_json(pa.BufferReader(lines), pj.ReadOptions(block_size=JSON_BLOCK_BYTES), options)
    )


def _nullable() -> pa.Schema:
    return pa.schema([field.with_nullable(True) for field in _SCHEMA])


def _completed(table: pa.Table) -> pa.Table:
    columns = [
        table[field.name].cast(field.type) if field.name in table.column_names else _nulls(table, field)
        for field in _nullable()
    ]
    return pa.table(columns, schema=_nullable())


def _nulls(table: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    return pa.chunked_array([pa.nulls(table.num_rows, field.type)])


def _check(table: pa.Table) -> None:
    """Refuse rows that lack what every row has, and kinds that lens does not show."""
    for name in ("group", "kind", "member", "time_us"):
        if table[name].null_count:
            raise InvalidInput(f"a row has no '{name}', which every row has")
    _check_kinds(pc.unique(table["kind"]).to_pylist())
    messages = pc.is_in(table["kind"], value_set=pa.array(["send", "receive", "stable", "release"]))
    nothing = pc.or_(pc.is_null(table["source"]), pc.is_null(table["seq"]))
    if pc.any(pc.and_(messages, nothing)).as_py():
        raise InvalidInput("a row of a message has no source or no seq (accepted: a name, and a number)")


def _check_kinds(kinds: Sequence[str]) -> None:
    if set(kinds) & set(POSITION_KINDS):
        raise InvalidInput("it has positions, which tell of no single message (accepted: traces of messages)")
    unknown = set(kinds) - set(TRACE_KINDS)
    if unknown:
        raise InvalidInput(f"a row of kind '{min(unknown)}' (accepted: {', '.join(TRACE_KINDS)})")


def _foreign_rows(inputs: Inputs, options: Options) -> pa.Table:
    from stablecast.analysis.reading.bad_rows import BadRows
    from stablecast.analysis.reading.events import read_events
    from stablecast.delivery.kinds import KINDS as EVENT_KINDS

    bad, tables = BadRows(), []
    for found in read_events(
        inputs, options.foreign, first_seq=options.first_seq, on_bad_rows=options.on_bad_rows
    ):
        bad.add(found)
        kinds = pa.array(EVENT_KINDS).take(found.events["kind"])
        events = found.events.set_column(1, "kind", kinds)
        tables.append(_completed(events))
    table = pa.concat_tables([_nullable().empty_table(), *tables])
    _check_kinds(pc.unique(table["kind"]).to_pylist())
    return table


def _of_one_group(table: pa.Table, group: str | None) -> pa.Table:
    groups = sorted(pc.unique(table["group"]).to_pylist())
    if group is None and len(groups) > 1:
        shown = ", ".join(f"'{name}'" for name in groups[:5]) + (", ..." if len(groups) > 5 else "")
        raise InvalidInput(f"the trace tells of {len(groups)} groups: {shown} (accepted: one of them)")
    if group is not None and group not in groups:
        raise InvalidInput(f"the trace has no group '{group}' (accepted: {', '.join(groups[:5])})")
    return table if len(groups) == 1 else table.filter(pc.equal(table["group"], group))


def _distinct(table: pa.Table, columns: Sequence[str]) -> set[str]:
    return {name for column in columns for name in pc.unique(table[column]).to_pylist() if name is not None}


def _codes(column: pa.ChunkedArray, names: Sequence[str]) -> Ints:
    return _numbers(pc.index_in(column, value_set=pa.array(names, pa.string())))


def _numbers(column: pa.ChunkedArray) -> Ints:
    found: Ints = pc.fill_null(column.cast(pa.int64()), ABSENT).to_numpy()
    return found


def _by_member(rows: Rows, has_wire: bool) -> Rows:
    """Return rows by member, in the order in which they happened, with steps that only grow."""
    if not has_wire:
        rows = rows.take(np.lexsort((rows.time_us, rows.member)))
        rows.step[:] = np.arange(len(rows))
        return rows
    rows = rows.take(np.argsort(rows.member, kind="stable"))
    stepped = rows.step != ABSENT
    rows.step[stepped] = _growing(rows.member[stepped], rows.step[stepped])
    return rows.take(np.lexsort((~stepped, _places(rows, stepped), rows.member)))


def _growing(member: Ints, step: Ints) -> Ints:
    """Number the steps of a member that was started again behind those before it."""
    begins = _changes(member)
    rises = np.diff(step, prepend=step[:1])
    rises[begins] = 0
    # Where the number falls, the next start's first step follows the last one of the start before.
    rises[rises < 0] = 1
    total = np.cumsum(rises)
    lengths = np.diff(np.append(np.flatnonzero(begins), step.size))
    numbered: Ints = total + np.repeat((step - total)[begins], lengths)
    return numbered


def _places(rows: Rows, stepped: Mask) -> Ints:
    """Return times by which rows without a step, which others may have written, are put among the others.

    Rows with a step have the time at which it begins, or the latest one before it if the clock was set back:
    they keep their order, and nothing comes between the rows of a step.
    """
    places = rows.time_us.copy()
    member, step, time_us = rows.member[stepped], rows.step[stepped], rows.time_us[stepped]
    begins = _changes(member) | _changes(step)
    width = int(time_us.max(initial=0)) - int(time_us.min(initial=0)) + 1
    latest = np.maximum.accumulate(time_us[begins] + member[begins] * width) - member[begins] * width
    places[stepped] = np.repeat(latest, np.diff(np.append(np.flatnonzero(begins), step.size)))
    return places


def _changes(column: Ints) -> Mask:
    """Tell where another value begins."""
    return np.concatenate((np.ones(min(column.size, 1), np.bool_), column[1:] != column[:-1]))
