"""The options of one run, flat: what the command line, a sweep's grid and a row of results all speak.

They are declared elsewhere, each once: what belongs to the run in the dataclasses of ``DECLARED``, what
belongs to a protocol in the protocol's file.  This module puts them together.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from stablecast.errors import InvalidInput, unknown_name
from stablecast.protocols import declared_at, protocol_names
from stablecast.protocols import protocol as find_protocol
from stablecast.protocols.contract import Protocol, Role
from stablecast.simulate.cost_file import is_cost_file, with_figures
from stablecast.simulate.costs import PRESETS, Costs
from stablecast.simulate.costs import costs as make_costs
from stablecast.simulate.faults import Failing
from stablecast.simulate.knobs import (
    COSTS,
    NETWORK,
    PANELS,
    Option,
    check_knobs,
    knob,
    knobs_of,
    option_of,
    options_of,
)
from stablecast.simulate.setup import Setup, Traffic, Trigger
from stablecast.simulate.topologies.registry import PAPER_COSTS, TOPOLOGIES, Shape
from stablecast.simulate.topologies.registry import topology as make_topology

PROTOCOL = "protocol"
RESERVED = {PROTOCOL, "help", "json", "trace", "wire"}
"""Names of what else the command line takes."""
PRESET = "lan1997"


@dataclass(frozen=True, kw_only=True)
class Named:
    """What is chosen by name from a registry, beside the protocol."""

    topology: str = knob(
        "tree", f"How the network is made: {', '.join(TOPOLOGIES)}.", panel=NETWORK, words=lambda: TOPOLOGIES
    )
    costs: str | None = knob(
        None,
        f"The preset of costs: {', '.join(PRESETS)}, or a file of 'stablecast calibrate'; further options"
        " change its figures.",
        panel=COSTS,
        words=lambda: PRESETS,
        file=is_cost_file,
        implied="; ".join([PRESET, *(f"{cost} on {name}" for name, cost in PAPER_COSTS.items())]),
    )

    def __post_init__(self) -> None:
        check_knobs(self)


DECLARED = (Named, Shape, Setup, Costs, Traffic, Trigger, Failing)
"""The dataclasses whose knobs are the options of a run."""


@cache
def run_options() -> dict[str, Option]:
    """Return the options of every run, by name, in the order of the help page."""
    found = [option for declaring in DECLARED for option in options_of(declaring).values()]
    found.sort(key=lambda option: PANELS.index(option.panel))
    return {option.name: option for option in found}


def protocol_options(protocol: str | Protocol) -> dict[str, Option]:
    """Return the options of one protocol, by name."""
    return _protocol_options(find_protocol(protocol))


@cache
def _protocol_options(found: Protocol) -> dict[str, Option]:
    panel = f"Options of {found.name}"
    return {name: option_of(parameter, panel) for name, parameter in found.options.items()}


def known_options(protocol: str | Protocol) -> dict[str, Option]:
    """Return the options that a run of a protocol has, by name, in the order of the help page."""
    return _known_options(find_protocol(protocol))


@cache
def _known_options(found: Protocol) -> dict[str, Option]:
    own = protocol_options(found)
    taken = sorted(own.keys() & (run_options().keys() | RESERVED))
    if taken:
        where = declared_at(found, found.options[taken[0]].name)
        raise InvalidInput(
            f"{where}{found.name} declares the parameter {taken[0]}, an option of every run (accepted:"
            " another name)"
        )
    return run_options() | own


@cache
def all_options() -> dict[str, Option]:
    """Return the options of every run and of all protocols of the package, by name."""
    found = dict(run_options())
    for name in protocol_names():
        for option in protocol_options(name).values():
            found.setdefault(option.name, option)
    return found


class Options:
    """One run by the names of ``stablecast simulate``; values that are not given have their defaults.

    An option that neither the run nor the chosen protocol has is refused.  ``None`` is the same as not given.
    """

    __slots__ = ("_given", "protocol")

    protocol: str | Protocol

    def __init__(self, *, protocol: str | Protocol, **given: Any) -> None:
        object.__setattr__(self, PROTOCOL, protocol)
        object.__setattr__(self, "_given", dict(self._wanted(with_figures(given, live=False))))

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Options:
        """Return the options of a mapping that names a protocol."""
        return cls(**given)

    def _wanted(self, given: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        """Return, in the order of their declarations, the values that are not the defaults."""
        known = known_options(self.protocol)
        for name in given:
            if name not in known:
                raise self._unknown(name)
        for name in known:
            if name in given and given[name] is not None and given[name] != known[name].default:
                yield name, given[name]

    def _unknown(self, name: str) -> InvalidInput:
        protocol = find_protocol(self.protocol)
        if name in all_options():
            own = ", ".join(protocol.options) or "none of its own"
            return InvalidInput(
                f"{protocol.name} has no option {name} (accepted: {own}; and those of the run)"
            )
        return unknown_name("option", name, known_options(self.protocol))

    def __getattr__(self, name: str) -> Any:
        """Return an option's value, or its default."""
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._given:
            return self._given[name]
        known = known_options(self.protocol)
        if name not in known:
            raise AttributeError(f"{find_protocol(self.protocol).name} has no option {name}")
        return known[name].default

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse to change: options are a value."""
        raise AttributeError(f"options are not changed; make others to set {name}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Options.of, (self.given(),)

    def __eq__(self, other: object) -> bool:
        return self.given() == other.given() if isinstance(other, Options) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(sorted((name, str(value)) for name, value in self.given().items())))

    def __repr__(self) -> str:
        return f"Options({', '.join(f'{name}={value!r}' for name, value in self.given().items())})"

    def given(self) -> dict[str, Any]:
        """Return what differs from the defaults, the protocol first."""
        return {PROTOCOL: self.protocol, **self._given}

    def value(self, name: str) -> Any:
        """Return an option's value, None if neither the run nor the protocol has such an option."""
        return getattr(self, name, None)

    def by_role(self, role: Role) -> Any:
        """Return what was given for the parameter of a role, None if nothing was."""
        having = find_protocol(self.protocol).having(role)
        return self.value(having[0].option_name) if having else None

    def command(self) -> str:
        """Return the command that runs exactly this."""
        words = ["stablecast", "simulate", str(self.protocol)]
        for name, value in self._given.items():
            flag = f"--{name.replace('_', '-')}"
            words += [flag] if value is True else [flag, str(value)]
        return shlex.join(words)

    def setup(self) -> Setup:
        """Build the set-up; what does not fit together is refused there."""
        protocol, named = find_protocol(self.protocol), self._made(Named)
        shape = {name: self._given[name] for name in knobs_of(Shape) if name in self._given}
        topology = make_topology(named.topology, **shape, seed=self.seed)
        preset = named.costs or PAPER_COSTS.get(named.topology, PRESET)
        changes = {name: self._given[name] for name in knobs_of(Costs) if name in self._given}
        messages = self.messages or protocol.runs.data_messages
        timed = messages and self.executions is None and not protocol.runs.by_timers
        traffic = self._made(Traffic, messages=messages)
        run = {field: self.value(name) for name, (field, _) in knobs_of(Setup).items()}
        run["faults"] = self._made(Failing).added_to(self.faults, topology.member_count, self.seed)
        run["senders"] = self.senders or (1 if protocol.runs.delivers else None)
        return Setup(
            protocol=self.protocol,
            topology=topology,
            costs=make_costs(preset, **changes),
            traffic=self._made(Traffic, messages=0) if protocol.runs.delivers else traffic,
            delivery=traffic if protocol.runs.delivers else None,
            trigger=self._made(Trigger, kind=self.trigger or ("periodic" if timed else "immediate")),
            params={name: self._given[name] for name in protocol.options if name in self._given},
            **run,
        )

    def _made(self, declaring: type, **instead: Any) -> Any:
        """Return one of the dataclasses of ``DECLARED`` with these options."""
        values = {field: self.value(name) for name, (field, _) in knobs_of(declaring).items()}
        return declaring(**(values | instead))
