"""A sweep's specification: a TOML file with grids of options.

    name = "gain"
    time_limit_s = 60

    [[grid]]
    protocol = ["coordp", "s_coordp"]      # a value, or a list of values
    degree = 4
    height = { from = 3, to = 6 }          # both ends included, with an optional step; also of fractions
    seed = { from = 0, to = 9 }

    [[grid]]
    protocol = "train"
    cases = [                              # options that go together
        { topology = "tree", degree = 3, height = 5 },
        { topology = "random-tree", degree = 3, height = 5, members = 364 },
    ]

    [[grid]]
    live = true                            # live groups: the options of 'stablecast simulate live'
    protocol = "gsgc"
    members = [8, 16]
    link_loss = 0.01

The points of a grid are all combinations of its values; equal points of several grids are run once.

Keys are the declared options: those of the run, and those of every protocol that the grid names.  A point
whose protocol lacks one of its options is refused.  A protocol may be a file, ``protocol = "mine.py"``, whose
path is relative to the specification's folder.
"""

from __future__ import annotations

import itertools
import math
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from stablecast.errors import InvalidInput, unknown_name
from stablecast.pipeline.point import Point, live_simulation, simulation
from stablecast.protocols import is_path
from stablecast.simulate.knobs import Option
from stablecast.simulate.live.options import live_options, live_run_options
from stablecast.simulate.options import PROTOCOL, all_options, known_options, run_options

POINTS_MAX = 1_000_000
LIVE = "live"
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
        self.options: dict[str, Option] = {}
        """The options that the grid which is read may have."""
        self.is_live = False
        """Whether that grid is of simulated live groups."""

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
            grid = dict(grid)
            self.is_live = self._is_live(grid, index)
            self.options = self._options(grid, index)
            choices = self._choices(grid, index)
            counted += math.prod(len(values) for values in choices)
            if counted > POINTS_MAX:
                raise self.refuse("grid", index, "", f"more than {POINTS_MAX:,} points")
            for combination in itertools.product(*choices):
                yield self._point(combination, index)

    def _is_live(self, grid: dict[str, Any], index: int) -> bool:
        """Tell whether a grid is of simulated live groups."""
        value = grid.pop(LIVE, False)
        if type(value) is not bool:
            raise self.refuse("grid", index, LIVE, f"{value!r} is not accepted (accepted: {_WORDS[bool]})")
        return value

    def _run_options(self) -> dict[str, Option]:
        return live_run_options() if self.is_live else run_options()

    def _known_options(self, protocol: str) -> dict[str, Option]:
        return live_options(protocol) if self.is_live else known_options(protocol)

    def _options(self, grid: dict[str, Any], index: int) -> dict[str, Option]:
        """Return the options of the run and of every protocol that a grid names."""
        cases = grid.get("cases")
        tables = [grid, *(cases if isinstance(cases, list) else [])]
        named = [table[PROTOCOL] for table in tables if isinstance(table, dict) and PROTOCOL in table]
        found = dict(self._run_options())
        for name in itertools.chain.from_iterable(n if isinstance(n, list) else [n] for n in named):
            if type(name) is not str:
                raise self.refuse("grid", index, PROTOCOL, f"{name!r} is not accepted (accepted: a word)")
            try:
                found |= self._known_options(self._located(name))
            except InvalidInput as error:
                raise self.refuse("grid", index, PROTOCOL, str(error)) from None
        return found

    def _located(self, name: str) -> str:
        """Return the path of a protocol's file as seen from anywhere; a name is returned as it is."""
        return str((self.file.parent / name).resolve()) if is_path(name) else name

    def _point(self, combination: tuple[dict[str, Any], ...], index: int) -> Point:
        options: dict[str, Any] = {}
        for part in combination:
            for key in part:
                if key in options:
                    raise self.refuse("grid", index, key, "given in the grid and in a case")
            options |= part
        if PROTOCOL not in options:
            raise self.refuse("grid", index, "", "no protocol")
        known = self._known_options(options[PROTOCOL])
        for key in options:
            if key != PROTOCOL and key not in known:
                own = ", ".join(name for name in known if name not in self._run_options())
                raise self.refuse(
                    "grid",
                    index,
                    key,
                    f"{options[PROTOCOL]} has no such option (accepted: {own}; and those of the run)",
                )
        return live_simulation(**options) if self.is_live else simulation(**options)

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
        """Return the values of a range, in decimal, so that three steps of 0.1 are 0.3."""
        self._value(key, value.get("from"), index)
        given = [value.get("from"), value.get("to"), value.get("step", 1)]
        numbers = all(type(number) in (int, float) and math.isfinite(number) for number in given)
        if not numbers or set(value) - {"from", "to", "step"} or given[2] <= 0:
            raise self.refuse(
                "grid",
                index,
                key,
                "not accepted (accepted: {from = a, to = b, step = c}, numbers, c above 0)",
            )
        low, high, step = (Decimal(repr(number)) for number in given)
        if high < low:
            raise self.refuse("grid", index, key, f"the range from {low} to {high} is empty")
        count = int((high - low) / step) + 1
        if count > POINTS_MAX:
            raise self.refuse("grid", index, key, f"more than {POINTS_MAX:,} values")
        whole = all(type(number) is int for number in given)
        values = [low + k * step for k in range(count)]
        return [self._value(key, int(each) if whole else float(each), index) for each in values]

    def _value(self, key: str, value: Any, index: int) -> Any:
        """Check one value of an option, and make a whole number a real one where those are asked for."""
        if key == PROTOCOL:
            return self._located(value)
        if key not in self.options:
            raise self.refuse("grid", index, key, self._unknown_key(key))
        option = self.options[key]
        kind = option.type
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise self.refuse("grid", index, key, f"{value!r} is not accepted (accepted: {_WORDS[kind]})")
        if isinstance(value, float) and not math.isfinite(value):
            raise self.refuse("grid", index, key, f"{value} is not accepted (accepted: a finite number)")
        if option.file is not None and option.file(value):
            return str((self.file.parent / str(value)).resolve())
        if option.words is not None and value not in (accepted := tuple(option.words())):
            raise self.refuse("grid", index, key, str(unknown_name(key, str(value), accepted)))
        try:
            option.check(value)
        except InvalidInput as error:
            raise self.refuse("grid", index, key, str(error)) from None
        return value

    def _unknown_key(self, key: str) -> str:
        if key in all_options():
            return "no protocol of this grid has such an option"
        return str(unknown_name("key", key, (PROTOCOL, *self.options, "cases")))


def read_spec(file: Path) -> Spec:
    """Read a specification, refusing what it does not understand with the line and the key."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read '{file}': {getattr(error, 'strerror', None) or error}") from None
    return _Reader(file, text).spec()


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
