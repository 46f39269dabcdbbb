"""A sweep's specification: a TOML file with grids of options.

    name = "gain"
    time_limit_s = 60

    [[grid]]
    protocol = ["coordp", "s_coordp"]      # a value, or a list of values
    degree = 4
    height = { from = 3, to = 6 }          # whole numbers, both ends included, with an optional step
    seed = { from = 0, to = 9 }

    [[grid]]
    protocol = "train"
    cases = [                              # options that go together
        { topology = "tree", degree = 3, height = 5 },
        { topology = "random-tree", degree = 3, height = 5, members = 364 },
    ]

The points of a grid are all combinations of its values; equal points of several grids are run once.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
import tomllib
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stablecast.errors import InvalidInput, unknown_name
from stablecast.pipeline.point import Point, simulation
from stablecast.protocols import protocol_names
from stablecast.simulate import PRESETS, TOPOLOGIES
from stablecast.simulate.options import Options
from stablecast.simulate.setup import TRIGGERS

POINTS_MAX = 1_000_000
_FIELDS = {field.name: typing.get_type_hints(Options)[field.name] for field in dataclasses.fields(Options)}
_CHOICES: dict[str, Callable[[], typing.Iterable[str]]] = {
    "protocol": protocol_names,
    "topology": lambda: TOPOLOGIES,
    "costs": lambda: PRESETS,
    "trigger": lambda: TRIGGERS,
}
_WORDS = {int: "a whole number", float: "a number", str: "a word", bool: "true or false"}


@dataclass(frozen=True, kw_only=True)
class Spec:
    """What a specification asks for."""

    name: str
    points: tuple[Point, ...]
    time_limit_s: float | None
    traces: bool
    analyze: bool


class _Reader:
    """Reads one file; every complaint names the file, the line and the key."""

    def __init__(self, file: Path, text: str) -> None:
        self.file = file
        self.text = text

    def refuse(self, table: str, index: int, key: str, what: str) -> InvalidInput:
        line = line_of(self.text, table, index, key)
        where = f"{self.file}, line {line}" if line else str(self.file)
        path = f"{table}.{key}" if table and key else table or key
        return InvalidInput(f"{where}: {path}: {what}" if path else f"{where}: {what}")

    def spec(self) -> Spec:
        try:
            content = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            raise InvalidInput(f"{self.file}: not TOML: {_toml_error(error)}") from None
        known = ("name", "time_limit_s", "traces", "analyze", "grid")
        for key in content:
            if key not in known:
                raise self.refuse("", 0, key, f"unknown key (accepted: {', '.join(known)})")
        points = {point.key: point for point in self._points(content.get("grid"))}
        return Spec(
            name=self._plain(content, "name", str, self.file.stem),
            points=tuple(points.values()),
            time_limit_s=self._time_limit(content),
            traces=self._plain(content, "traces", bool, False),
            analyze=self._plain(content, "analyze", bool, False),
        )

    def _plain(self, content: dict[str, Any], key: str, kind: type, default: Any) -> Any:
        value = content.get(key, default)
        if type(value) is not kind:
            raise self.refuse("", 0, key, f"{value!r} is not accepted (accepted: {_WORDS[kind]})")
        return value

    def _time_limit(self, content: dict[str, Any]) -> float | None:
        value = content.get("time_limit_s")
        if value is None:
            return None
        if type(value) not in (int, float) or not (math.isfinite(value) and value > 0):
            raise self.refuse("", 0, "time_limit_s", f"{value!r} is not accepted (accepted: seconds above 0)")
        return float(value)

    def _points(self, grids: Any) -> Iterator[Point]:
        listed = [grids] if isinstance(grids, dict) else grids
        if not isinstance(listed, list) or not listed or not all(isinstance(grid, dict) for grid in listed):
            raise self.refuse("", 0, "grid", "no grid (accepted: a table [grid], or several [[grid]])")
        counted = 0
        for index, grid in enumerate(listed):
            choices = self._choices(grid, index)
            counted += math.prod(len(values) for values in choices)
            if counted > POINTS_MAX:
                raise self.refuse("grid", index, "", f"more than {POINTS_MAX:,} points")
            for combination in itertools.product(*choices):
                yield self._point(combination, index)

    def _point(self, combination: tuple[dict[str, Any], ...], index: int) -> Point:
        options: dict[str, Any] = {}
        for part in combination:
            for key in part:
                if key in options:
                    raise self.refuse("grid", index, key, "given in the grid and in a case")
            options |= part
        if "protocol" not in options:
            raise self.refuse("grid", index, "", "no protocol")
        return simulation(**options)

    def _choices(self, grid: dict[str, Any], index: int) -> list[list[dict[str, Any]]]:
        """Return, for each key, the alternatives that it stands for."""
        if not grid:
            raise self.refuse("grid", index, "", "the grid is empty")
        return [
            self._cases(value, index)
            if key == "cases"
            else [{key: each} for each in self._values(key, value, index)]
            for key, value in grid.items()
        ]

    def _cases(self, cases: Any, index: int) -> list[dict[str, Any]]:
        if not isinstance(cases, list) or not cases or not all(isinstance(case, dict) for case in cases):
            raise self.refuse("grid", index, "cases", "not accepted (accepted: a list of tables, not empty)")
        return [{key: self._value(key, value, index) for key, value in case.items()} for case in cases]

    def _values(self, key: str, value: Any, index: int) -> list[Any]:
        if isinstance(value, dict):
            return self._range(key, value, index)
        if isinstance(value, list):
            if not value:
                raise self.refuse("grid", index, key, "the list is empty")
            return [self._value(key, each, index) for each in value]
        return [self._value(key, value, index)]

    def _range(self, key: str, value: dict[str, Any], index: int) -> list[Any]:
        self._value(key, value.get("from"), index)
        low: Any = value.get("from")
        high: Any = value.get("to")
        step: Any = value.get("step", 1)
        whole = all(type(number) is int for number in (low, high, step))
        if not whole or set(value) - {"from", "to", "step"} or step < 1:
            raise self.refuse(
                "grid", index, key, "not accepted (accepted: {from = a, to = b, step = c}, whole numbers)"
            )
        if high < low:
            raise self.refuse("grid", index, key, f"the range from {low} to {high} is empty")
        if (high - low) // step >= POINTS_MAX:
            raise self.refuse("grid", index, key, f"more than {POINTS_MAX:,} values")
        return [self._value(key, each, index) for each in range(low, high + 1, step)]

    def _value(self, key: str, value: Any, index: int) -> Any:
        """Check one value of an option, and make a whole number a real one where those are asked for."""
        if key not in _FIELDS:
            raise self.refuse("grid", index, key, _unknown_key(key))
        hint = _FIELDS[key]
        kinds = [kind for kind in typing.get_args(hint) if kind is not type(None)]
        kind = kinds[0] if isinstance(hint, types.UnionType) else hint
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise self.refuse("grid", index, key, f"{value!r} is not accepted (accepted: {_WORDS[kind]})")
        if kind is float and not math.isfinite(value):
            raise self.refuse("grid", index, key, f"{value} is not accepted (accepted: a finite number)")
        if key in _CHOICES and value not in (accepted := tuple(_CHOICES[key]())):
            raise self.refuse("grid", index, key, str(unknown_name(key, value, accepted)))
        return value


def read_spec(file: Path) -> Spec:
    """Read a specification, refusing what it does not understand with the line and the key."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read '{file}': {getattr(error, 'strerror', None) or error}") from None
    return _Reader(file, text).spec()


def _unknown_key(key: str) -> str:
    return str(unknown_name("key", key, (*_FIELDS, "cases")))


def _toml_error(error: tomllib.TOMLDecodeError) -> str:
    return re.sub(r"\(at line (\d+), column (\d+)\)", r"(line \1, column \2)", str(error))


def line_of(text: str, table: str, index: int, key: str) -> int | None:
    """Return the line of a key in the ``index``-th table of that name, or of the table where key is empty.

    tomllib does not tell; keys that are written in another way than ``key = value`` are not found.
    """
    current, count = "", {"": 0}
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[\[?\s*([\w.-]+)\s*\]?\]", line)
        if header:
            current = header[1]
            count[current] = count.get(current, -1) + 1
        here = current == table and count[current] == index
        if here and not key and header:
            return number
        if here and key and re.search(rf"(^|[{{,\s])[\"']?{re.escape(key)}[\"']?\s*=", line):
            return number
        if not table and header and header[1] == key:
            return number
    return None
