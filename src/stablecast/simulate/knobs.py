"""Knobs of a run, each declared once: as a field of the dataclass that it belongs to.

``knob`` makes such a field: with its default, what is accepted, its help and the panel of the help page.  The
options of the command line, the keys of a sweep, the columns of its results and the rows of the docs are made
from these fields (:mod:`stablecast.simulate.options`), together with the parameters of the protocol.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from stablecast.errors import InvalidInput, unknown_name
from stablecast.protocols.contract.parameters import Bounds, Parameter

NETWORK, STRUCTURE, COSTS, FAULTS = "Network", "Logical structure", "Costs", "Losses and faults"
TRAFFIC, TRIGGER, RUN = "Data traffic", "Trigger", "Run"
PANELS = (NETWORK, STRUCTURE, COSTS, FAULTS, TRAFFIC, TRIGGER, RUN)
"""Panels of the help page, in its order."""

Words = Callable[[], Iterable[str]]


@dataclass(frozen=True)
class Knob:
    """What a field says about itself."""

    help: str
    panel: str
    option: str
    """The option's name where it is not the field's."""
    words: Words | None
    """What is accepted, for a word that is one of several."""
    bounds: Bounds
    implied: str
    """What holds if the option is not given, where that depends on other options."""
    file: Callable[[object], bool] | None
    """Tells whether a word is the path of a file that is accepted in place of the words."""


def knob(
    default: Any,
    help: str,
    *,
    panel: str,
    option: str = "",
    words: Words | None = None,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
    implied: str = "",
    file: Callable[[object], bool] | None = None,
) -> Any:
    """Declare a field of a dataclass that is an option of a run; see :class:`Knob`."""
    told = Knob(help, panel, option, words, Bounds(least, above, most, below), implied, file)
    return dataclasses.field(default=default, metadata={"knob": told})


@dataclass(frozen=True)
class Option:
    """An option of a run, whatever declares it."""

    name: str
    """With underscores; on the command line with hyphens."""
    type: type
    """``int``, ``float``, ``str`` or ``bool``."""
    default: Any
    """None if the option has none, or if it follows from other options."""
    help: str
    panel: str
    shown: str
    """The default, in words; empty for none."""
    words: Words | None = None
    """What is accepted, for a word that is one of several."""
    file: Callable[[object], bool] | None = None
    """Tells whether a word is the path of a file that is accepted in their place."""
    check: Callable[[Any], object] = dataclasses.field(default=lambda value: None, compare=False)
    """Called with a value; raises :class:`InvalidInput` if it is out of the declared range."""

    @property
    def flag(self) -> str:
        """The option as the command line writes it."""
        return f"--{self.name.replace('_', '-')}"


def knobs_of(declaring: type) -> dict[str, tuple[str, Knob]]:
    """Return the options that a dataclass declares: for each its field and what the field says."""
    found = {}
    for field in dataclasses.fields(declaring):
        told = field.metadata.get("knob")
        if told is not None:
            found[told.option or field.name] = (field.name, told)
    return found


def options_of(declaring: type) -> dict[str, Option]:
    """Return the options that a dataclass declares, by name."""
    hints = typing.get_type_hints(declaring)
    defaults = {field.name: field.default for field in dataclasses.fields(declaring)}
    return {
        name: Option(
            name,
            plain_type(hints[field]),
            None if told.implied else defaults[field],
            told.help,
            told.panel,
            told.implied or _shown(defaults[field]),
            told.words,
            told.file,
            partial(_check_knob, name, told),
        )
        for name, (field, told) in knobs_of(declaring).items()
    }


def option_of(parameter: Parameter, panel: str) -> Option:
    """Return the option of a protocol's parameter."""
    words = tuple(parameter.choices)
    return Option(
        parameter.option_name,
        parameter.kind.type,
        parameter.kind.absent,
        parameter.help,
        panel,
        parameter.default_words or _shown(parameter.default),
        (lambda: words) if words and parameter.kind.type is str and parameter.bounds == Bounds() else None,
        None,
        parameter.encode,
    )


def plain_type(hint: Any) -> type:
    """Return the type of an option that may be None."""
    if isinstance(hint, types.UnionType):
        hint = next(kind for kind in typing.get_args(hint) if kind is not type(None))
    found: type = hint
    return found


def check_knobs(declared: Any) -> None:
    """Refuse a value of a dataclass's knobs that is out of its range."""
    for name, (field, told) in knobs_of(type(declared)).items():
        value = getattr(declared, field)
        if value is not None:
            _check_knob(name, told, value)


def _check_knob(name: str, told: Knob, value: Any) -> None:
    if isinstance(value, str):
        if told.file is not None and told.file(value):
            return
        if told.words is not None and value not in (accepted := tuple(told.words())):
            raise unknown_name(name, value, accepted)
    elif not told.bounds.hold(value):
        raise InvalidInput(f"{name} {value} is not accepted (accepted: {_accepted(told, value)})")


def _accepted(told: Knob, value: Any) -> str:
    return told.bounds.words("a whole number" if isinstance(value, int) else "a finite number")


def _shown(default: Any) -> str:
    """Return a default in words; a flag that is off has none."""
    if default is None or default is False or default == "":
        return ""
    return f"{default:,g}" if isinstance(default, float) else str(default)


__all__ = ["PANELS", "Knob", "Option", "check_knobs", "knob", "knobs_of", "option_of", "options_of"]
