"""Which columns of the files are the schema's, with one line for all that are missing or cannot fit."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from stablecast.analysis.reading.foreign import MAP, NUMBERS, SET, TIME_UNITS, TIMESTAMP, Foreign
from stablecast.analysis.reading.heads import CSV, JSON, Column, Head
from stablecast.analysis.reading.inputs import Input, Inputs
from stablecast.errors import InvalidInput
from stablecast.trace.schema import COLUMNS, WIRE_COLUMNS

OPTIONAL = ("bytes",)
SHOWN = 12
NUMERIC = ("tinyint", "smallint", "int", "bigint", "float", "double")
TIMESTAMPS = (TIMESTAMP, "timestamp_ntz")
_OFTEN_CALLED = {
    "group": ("topic", "cluster", "channel", "room"),
    "kind": ("event", "type", "action", "op"),
    "member": ("consumer", "receiver", "replica", "node", "host", "subscriber"),
    "source": ("sender", "producer", "partition", "origin", "publisher"),
    "seq": ("sequence", "offset", "number", "id", "lsn"),
    "time_us": ("timestamp", "time", "ts", "at", "date"),
    "bytes": ("size", "length"),
}


@dataclass(frozen=True)
class Part:
    """Files that are read together: of one format, with the needed columns in the same places."""

    format: str
    paths: tuple[str, ...]
    name: str
    """One of the files, as the user knows it."""
    local: bool
    columns: Mapping[str, Column]
    """Column of the schema -> where it is; constants, and ``bytes`` where it is absent, are left out."""
    width: int = 0
    """How many columns a line of CSV has."""
    separator: str = ","
    cut: tuple[str, ...] = ()
    """Lines that their writers did not finish."""
    unseen: tuple[str, ...] = ()
    """Columns of the schema that no line of JSON had among those that were looked at."""
    seen: tuple[str, ...] = ()
    """Columns of the files that were."""
    wire: bool = False
    """Whether these are wire traces, whose rows of further kinds are left out."""


def plan_parts(inputs: Inputs, foreign: Foreign) -> list[Part]:
    """Say what is read together, and refuse files that lack a column or have one that can never fit.

    Every input has its head; only JSON Lines may still lack a column, which shows when all are read.
    """
    lines = [file for file in inputs.files if file.format == JSON and not _head(file).empty]
    parts = _json_parts(lines, foreign)
    groups: dict[object, tuple[Part, list[Input]]] = {}
    matched: dict[tuple[Column, ...], Mapping[str, Column]] = {}
    for file in inputs.files:
        head = _head(file)
        if file.format == JSON or head.empty:
            continue
        if head.columns not in matched:
            matched[head.columns] = _match(head.columns, foreign, file.name)
        columns = matched[head.columns]
        width = len(head.columns) if file.format == CSV else 0
        wire = _is_wire(column.name for column in head.columns)
        part = Part(file.format, (), file.name, _is_local(file), columns, width, head.separator, wire=wire)
        key = (file.format, part.local, tuple(columns.items()), width, head.separator, wire)
        groups.setdefault(key, (part, []))[1].append(file)
    return parts + [_of_files(part, files) for part, files in groups.values()]


def missing_line(missing: Iterable[str], foreign: Foreign, present: Sequence[str], name: str) -> str:
    """Say which columns are missing in a file, what it has, and what would help."""
    words, hints = [], []
    for column in missing:
        wanted = foreign.column(column)
        near = nearest(column if wanted == column else wanted, present)
        words.append(f"'{wanted}'{'' if wanted == column else f' for {column!r}'}")
        words[-1] += f" (nearest: '{near}')" if near else ""
        hints.append(f"{column}={near or 'NAME'}")
    has = ", ".join(present[:SHOWN]) + (", …" if len(present) > SHOWN else "") or "nothing"
    options = " ".join(f"{MAP} {hint}" for hint in hints)
    return (
        f"no column{'s' if len(words) > 1 else ''} {', '.join(words)} in '{name}' (has: {has});"
        f" use {options}, or {SET} for one value in all rows"
    )


def nearest(column: str, present: Sequence[str]) -> str | None:
    """Return the column that is most likely meant: by its spelling, or because it is often called so."""
    plain = {name.lower().rpartition(".")[2]: name for name in reversed(present)}
    near = difflib.get_close_matches(column.lower().rpartition(".")[2], plain, n=1, cutoff=0.6)
    if near:
        return plain[near[0]]
    often = [word for word in _OFTEN_CALLED.get(column, ()) if word in plain]
    parts = [name for word in _OFTEN_CALLED.get(column, ()) for name in plain if word in name.split("_")]
    return plain[(often or parts)[0]] if often or parts else None


def _head(file: Input) -> Head:
    assert file.head is not None
    return file.head


def _is_wire(columns: Iterable[str]) -> bool:
    """Tell wire traces by a column; in another log a kind of the same name is unknown, as it was."""
    return WIRE_COLUMNS[0] in columns


def _is_local(file: Input) -> bool:
    return file.path.startswith("file:")


def _of_files(part: Part, files: Sequence[Input], cut: Sequence[str] = ()) -> Part:
    return replace(part, paths=tuple(file.path for file in files), name=files[0].name, cut=tuple(cut))


def _json_parts(files: Sequence[Input], foreign: Foreign) -> list[Part]:
    """Return the parts of JSON Lines: all have the same columns, as any line may have or lack any."""
    if not files:
        return []
    seen = {column.name: column for file in reversed(files) for column in _head(file).columns}
    columns, unseen = {}, []
    for name in COLUMNS:
        if name in foreign.constants:
            continue
        wanted = foreign.column(name)
        columns[name] = seen.get(wanted) or Column(wanted, tuple(wanted.split(".")))
        if wanted not in seen and _is_needed(name, foreign):
            unseen.append(name)
    _check_nesting(columns)
    # Where no line could be read, it is better told that they are no JSON.
    part = Part(
        JSON,
        (),
        files[0].name,
        True,
        columns,
        unseen=tuple(unseen) if seen else (),
        seen=tuple(seen),
        wire=_is_wire(seen),
    )
    parts = []
    for local in (True, False):
        chosen = [file for file in files if _is_local(file) == local]
        whole = [file for file in chosen if not _head(file).cut]
        cut = [file for file in chosen if _head(file).cut]
        base = replace(part, local=local)
        parts += [_of_files(base, whole)] if whole else []
        parts += [_of_files(base, cut, [_head(file).cut for file in cut])] if cut else []
    return parts


def _check_nesting(columns: Mapping[str, Column]) -> None:
    places = {column.place: column.name for column in columns.values()}
    for place, name in places.items():
        for depth in range(1, len(place)):
            if place[:depth] in places:
                raise InvalidInput(
                    f"{MAP} cannot take both '{places[place[:depth]]}' and '{name}', which is inside of it"
                )


def _is_needed(name: str, foreign: Foreign) -> bool:
    return name not in OPTIONAL or name in foreign.columns


def _match(present: Sequence[Column], foreign: Foreign, name: str) -> Mapping[str, Column]:
    found: dict[str, list[Column]] = {}
    for column in present:
        found.setdefault(column.name, []).append(column)
    wanted = [column for column in COLUMNS if column not in foreign.constants]
    missing = [c for c in wanted if foreign.column(c) not in found and _is_needed(c, foreign)]
    if missing:
        raise InvalidInput(missing_line(missing, foreign, list(found), name))
    columns = {c: found[foreign.column(c)] for c in wanted if foreign.column(c) in found}
    for choices in columns.values():
        if len(choices) > 1:
            raise InvalidInput(f"'{name}' has {len(choices)} columns named '{choices[0].name}'")
    matched = {c: choices[0] for c, choices in columns.items()}
    for schema_column, column in matched.items():
        _check_type(schema_column, column, foreign, name)
    return matched


def _check_type(schema_column: str, column: Column, foreign: Foreign, name: str) -> None:
    """Refuse a column that can never fit, whatever its values are."""
    what = f"column '{column.name}' of '{name}' is {column.type}"
    is_number = column.type in NUMERIC or _is_decimal(column.type)
    if schema_column == "time_us" and foreign.time_unit == TIMESTAMP and is_number:
        units = ", ".join(unit for unit in TIME_UNITS if unit != TIMESTAMP)
        raise InvalidInput(f"{what}, not timestamps (accepted: --time-unit {units})")
    if is_number or column.type in ("string", "void"):
        return
    if schema_column == "time_us":
        fits, accepted = column.type in TIMESTAMPS, "numbers, timestamps, or text of them"
    elif schema_column in NUMBERS:
        fits, accepted = False, "whole numbers, or text of them"
    else:
        fits, accepted = column.type == "binary", "text or numbers"
    if not fits:
        raise InvalidInput(f"{what}, which cannot be '{schema_column}' (accepted: {accepted})")


def _is_decimal(type: str) -> bool:
    """Tell decimals that Spark can read."""
    return type.startswith("decimal(") and int(type[8:].split(",")[0]) <= 38
