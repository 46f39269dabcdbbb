"""A reading: one way to understand a paper's model where its text leaves a choice.

A paper tells what was simulated in a few sentences, and some of them can be understood in several ways:
whether hosts take time, whether a message is cut into packets, how dense a graph is.  A reading is a named
set of such choices for the whole paper, each with what it rests on in the paper.  One reading is the main
one: its runs are in the tables and figures, and a claim holds if it holds there.  Every trend and every
factor is judged under all readings, and the report shows which claim holds where.

Readings change the options of runs and nothing else.  Experiments ask for the points of the main reading;
:meth:`Reading.of` gives them a table in which each of these points stands for the same run under another
reading.  The code of a claim, a table or a figure is therefore the same for all readings.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from stablecast.errors import unknown_name
from stablecast.pipeline.point import SIMULATE, Point, simulation
from stablecast.pipeline.runs import Runs
from stablecast.simulate.options import PROTOCOL, all_options, known_options

Options = Mapping[str, Any]


@dataclass(frozen=True)
class Choice:
    """One decision of a reading."""

    decision: str
    """What the model does: ``hosts take 40 µs for a message``."""
    rests_on: str
    """The section, and what it says in our words."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Reading:
    """A named set of choices."""

    name: str
    """A few words, which head a column of the matrix."""
    about: str
    """What distinguishes it, in a sentence."""
    choices: tuple[Choice, ...]
    options: Options = field(default_factory=dict)
    """Options of runs that differ from the main reading's; a protocol that lacks one runs without it."""
    change: Callable[[Options], Options] | None = None
    """Further options that depend on the run: given a run's options, those that differ."""

    tasks: tuple[str, ...] = ()
    """Tasks that are one simulation each, by its options, and keep more of it than a table of runs has."""

    def point(self, point: Point) -> Point:
        """Return the run of this reading that a run of the main reading stands for.

        Tasks that are not one simulation are the same under all readings.
        """
        return self._changed(point) if point.task in (SIMULATE, *self.tasks) else point

    @cache  # noqa: B019 (readings are constants of modules)
    def _changed(self, point: Point) -> Point:
        further = {} if self.change is None else self.change(point.options)
        known = known_options(str(point.options[PROTOCOL]))
        wanted = {**self.options, **further}
        for name in wanted:
            if name not in all_options():
                raise unknown_name(f"option of the reading '{self.name}'", name, all_options())
        changes = {name: value for name, value in wanted.items() if name in known}
        if not changes:
            return point
        changed = simulation(**{**point.options, **changes})
        return dataclasses.replace(changed, task=point.task)

    def of(self, runs: Runs) -> Runs:
        """Return the runs as experiments see them under this reading."""
        return runs.seen_as(self.point)


PLAIN = Reading(name="main", about="The model as the paper's page in the docs describes it.", choices=())
"""The only reading of a paper that leaves no choice."""
