"""A point of a sweep: one run, told whole by its task's name and its options."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from stablecast.protocols import is_path, source_digest, text_of
from stablecast.simulate.live.options import given_options, live_command
from stablecast.simulate.options import PROTOCOL, Options

SIMULATE = "simulate"
SIMULATE_LIVE = "simulate live"
OF_PROTOCOLS = (SIMULATE, SIMULATE_LIVE)
"""Tasks whose points name a protocol."""
Value = str | int | float | bool


@dataclass(frozen=True)
class Point:
    """What to run; equal points are the same run, wherever and whenever it happens."""

    options: Mapping[str, Value]
    """For ``simulate``, those of its :class:`Options` that differ from the defaults."""
    task: str = SIMULATE
    """``simulate``, ``simulate live``, or ``package.module:function`` for a task of its own."""
    source: str = ""
    """Digest of the source of a protocol from outside the package, so that an edited one is another point."""

    def __hash__(self) -> int:
        return hash(self.key)

    @cached_property
    def key(self) -> str:
        """A digest of the task and the options; of a protocol's file the name and the text count."""
        told = dict(self.options)
        if self.source:
            told |= {PROTOCOL: Path(str(told[PROTOCOL])).name, "source": self.source}
        text = json.dumps([self.task, told], sort_keys=True)
        return hashlib.blake2s(text.encode(), digest_size=12).hexdigest()

    @property
    def replay(self) -> str:
        """The command that runs this point alone."""
        if self.task == SIMULATE:
            return Options.of(self.options).command()
        if self.task == SIMULATE_LIVE:
            return live_command(self.options)
        words = ["python", "-m", "stablecast.pipeline.replay", self.task]
        return shlex.join([*words, json.dumps(dict(self.options), sort_keys=True)])


def simulation(options: Options | None = None, /, **fields: Any) -> Point:
    """Return the point of one simulation, by its options or by their fields."""
    given = (options or Options(**fields)).given()
    return Point(given, source=source_digest(str(given[PROTOCOL])))


def live_simulation(**fields: Any) -> Point:
    """Return the point of one simulated live group, by its options."""
    given = given_options(fields)
    return Point(given, SIMULATE_LIVE, source_digest(str(given[PROTOCOL])))


def protocol_files(points: Iterable[Point]) -> dict[str, str]:
    """Return the texts of the files that define the points' protocols, by their paths."""
    named = {str(point.options[PROTOCOL]) for point in points if point.task in OF_PROTOCOLS}
    return {name: text_of(name) for name in sorted(named) if is_path(name)}


def task_point(task: str, /, **options: Value) -> Point:
    """Return a point of another task."""
    return Point(options, task)
