"""A file of costs: what datagrams take on one machine and network, measured there or written by hand.

    [costs]                    # figures of 'stablecast simulate'; those that are left out are the preset's
    send_us = 21.5
    receive_factor = 0.93
    link_loss = 0.001

    [members]                  # of simulated live groups alone
    timer_us = 1000.0
    cores = 2

    [checks]                   # real times to stable, as multiples of simulated ones; the advisor reads them
    p50_low = 0.9
    p50_mid = 1.1
    p50_high = 1.4

    [measured]                 # how the figures came about: read by people

A file stands for the preset ``lan`` with the figures that it has.  So wherever a preset is named, a file may
be, and what it says is put in place of its name before anything else looks: a run that was given a file is
the same as one that was given its figures, also on another machine.  Options that are given beside it win.
"""

from __future__ import annotations

import dataclasses
import math
import tomllib
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

from stablecast.errors import InvalidInput, unknown_name
from stablecast.simulate.costs import PRESETS, Costs

BASE = "lan"
"""The preset that figures are taken from that a file leaves out."""
COSTS, MEMBERS, CHECKS, MEASURED = "costs", "members", "checks", "measured"
TABLES = (COSTS, MEMBERS, CHECKS, MEASURED)
OF_MEMBERS: dict[str, type] = {"timer_us": float, "cores": int}
"""What a file may say of the members of simulated live groups."""
OF_CHECKS: dict[str, type] = {
    f"{time}_{which}": float for time in ("p50", "p99") for which in ("low", "mid", "high")
}
"""By which factor real groups took longer than simulated ones: the mean, and where a further one will be."""
SUFFIX = ".toml"
BYTES_MOST = 1 << 20
"""More than any file of costs has."""


@dataclass(frozen=True, kw_only=True)
class CostFile:
    """What a file says."""

    costs: Costs
    figures: Mapping[str, float | int | str]
    """The costs that it names itself."""
    members: Mapping[str, float | int]
    checks: Mapping[str, float] = field(default_factory=dict)
    measured: Mapping[str, Any] = field(default_factory=dict)

    def options(self, *, live: bool) -> dict[str, float | int | str]:
        """Return its figures as options of ``simulate``, or of ``simulate live``."""
        return {**self.figures, **(self.members if live else {})}


def is_cost_file(name: object) -> TypeGuard[str]:
    """Tell whether what stands for a preset is the path of a file."""
    return isinstance(name, str) and (name.endswith(SUFFIX) or "/" in name)


def read_cost_file(path: str | Path) -> CostFile:
    """Read a file, and check every figure in it."""
    content = _content(Path(path))
    for key, value in content.items():
        if key not in TABLES:
            raise InvalidInput(f"costs '{path}': {unknown_name('table', key, TABLES)}")
        if not isinstance(value, dict):
            raise InvalidInput(f"costs '{path}': {key} is not a table (accepted: [{key}])")
    hints = typing.get_type_hints(Costs)
    known = {each.name: hints[each.name] for each in dataclasses.fields(Costs)}
    figures = _checked(path, content.get(COSTS, {}), known)
    members = _checked(path, content.get(MEMBERS, {}), OF_MEMBERS)
    checks = _checked(path, content.get(CHECKS, {}), OF_CHECKS)
    for name, value in checks.items():
        if value <= 0:
            raise InvalidInput(f"costs '{path}': {name} {value} is not accepted (accepted: above 0)")
    for name, value in members.items():
        if value < 0:
            raise InvalidInput(f"costs '{path}': {name} {value} is not accepted (accepted: 0 or more)")
    try:
        costs = dataclasses.replace(PRESETS[BASE][0], **figures)
    except InvalidInput as error:
        raise InvalidInput(f"costs '{path}': {error}") from None
    return CostFile(
        costs=costs,
        figures=figures,
        members=members,
        checks=checks,
        measured=dict(content.get(MEASURED, {})),
    )


def with_figures(given: Mapping[str, Any], *, live: bool) -> dict[str, Any]:
    """Return options in which a file of costs is replaced by its figures; others that are given win."""
    named = given.get(COSTS)
    if not is_cost_file(named):
        return dict(given)
    others = {name: value for name, value in given.items() if value is not None and name != COSTS}
    return {COSTS: BASE, **read_cost_file(named).options(live=live), **others}


def write_cost_file(
    path: Path,
    figures: Mapping[str, float | int | str],
    members: Mapping[str, float | int],
    measured: Mapping[str, Any],
    checks: Mapping[str, float] | None = None,
) -> None:
    """Write a file, whole or not at all."""
    lines = []
    tables = {COSTS: figures, MEMBERS: members, CHECKS: checks or {}, MEASURED: measured}
    for name, table in tables.items():
        if table:
            lines += [f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in table.items()), ""]
    beside = path.with_name(f".{path.name}.part")
    try:
        beside.write_text("\n".join(lines), encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        raise InvalidInput(f"costs '{path}' cannot be written: {error.strerror}") from None
    finally:
        beside.unlink(missing_ok=True)


def _content(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            text = file.read(BYTES_MOST)
    except OSError as error:
        raise InvalidInput(f"costs '{path}' cannot be read: {error.strerror}") from None
    try:
        return tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"costs '{path}' is not TOML: {error}") from None


def _checked(path: object, table: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a table with the types that are declared."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        if name not in known:
            raise InvalidInput(f"costs '{path}': {unknown_name('figure', name, known)}")
        kind = known[name]
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind or (kind is float and not math.isfinite(value)):
            words = {float: "a finite number", int: "a whole number", str: "a word"}[kind]
            raise InvalidInput(f"costs '{path}': {name} {value!r} is not accepted (accepted: {words})")
        found[name] = value
    return found


def _toml(value: Any) -> str:
    """Write a value; words have no quotation marks of their own."""
    if isinstance(value, str):
        cleaned = value.replace("\\", "/").replace('"', "'").replace("\n", " ")
        return f'"{cleaned}"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return repr(value)
