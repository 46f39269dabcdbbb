"""The options of one simulated live group, flat, as the command line and a sweep's grid speak.

What a simulation of a protocol has too is declared there; what belongs to live members, in ``setup``.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from stablecast.engine.auto import AUTO
from stablecast.engine.choice import live_protocol, settable
from stablecast.engine.options import Options as EngineOptions
from stablecast.errors import unknown_name
from stablecast.protocols.contract import Protocol
from stablecast.simulate.cost_file import is_cost_file, with_figures
from stablecast.simulate.costs import PRESETS, Costs
from stablecast.simulate.costs import costs as make_costs
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
from stablecast.simulate.live.setup import LIVE, LiveSetup, Membership
from stablecast.simulate.setup import Setup, Traffic
from stablecast.simulate.topologies.registry import TOPOLOGIES, Shape
from stablecast.simulate.topologies.registry import topology as make_topology

PROTOCOL = "protocol"
COMMAND = ("stablecast", "simulate", "live")
SHARED = {
    Setup: ("senders", "receivers", "seed", "faults", "loss_until_ms", "routes", "multicast_tree"),
    Traffic: ("rate_per_s", "data_bytes"),
}
"""Options of a simulated protocol that a simulated live group has too."""


@dataclass(frozen=True, kw_only=True)
class Named:
    """What is chosen by name from a registry, beside the protocol."""

    topology: str = knob(
        "star", f"How the network is made: {', '.join(TOPOLOGIES)}.", panel=NETWORK, words=lambda: TOPOLOGIES
    )
    costs: str = knob(
        "lan",
        f"The preset of costs: {', '.join(PRESETS)}, or a file of 'stablecast calibrate'; further options"
        " change its figures.",
        panel=COSTS,
        words=lambda: PRESETS,
        file=is_cost_file,
    )

    def __post_init__(self) -> None:
        check_knobs(self)


@cache
def live_run_options() -> dict[str, Option]:
    """Return the options of every simulated live group, by name, in the order of the help page."""
    found = [
        option
        for declaring in (Named, Shape, Costs, Membership, LiveSetup)
        for option in options_of(declaring).values()
    ]
    for declaring, names in SHARED.items():
        found += [options_of(declaring)[name] for name in names]
    panels = (*PANELS, LIVE)
    found.sort(key=lambda option: panels.index(option.panel))
    return {option.name: option for option in found}


def live_options(protocol: str | Protocol) -> dict[str, Option]:
    """Return the options of a simulated live group of a protocol, by name; ``auto`` has none of its own."""
    if protocol == AUTO:
        return live_run_options()
    found = live_protocol(protocol)
    panel = f"Options of {found.name}"
    own = {name: option_of(parameter, panel) for name, parameter in settable(found).items()}
    return live_run_options() | own


def live_command(options: Mapping[str, Any]) -> str:
    """Return the command that runs exactly these options."""
    words = list(COMMAND)
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        words += [flag] if value is True else [flag, str(value)]
    return shlex.join(words)


def given_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some options that differ from the defaults, the protocol first; refuse unknown ones."""
    given = with_figures(given, live=True)
    protocol = given.get(PROTOCOL) or EngineOptions.protocol
    known = live_options(protocol)
    for name in given:
        if name != PROTOCOL and name not in known:
            raise unknown_name("option", name, known)
    wanted = {
        name: given[name]
        for name, option in known.items()
        if given.get(name) is not None and given[name] != option.default
    }
    return {PROTOCOL: protocol, **wanted}


def live_setup(given: Mapping[str, Any]) -> LiveSetup:
    """Build the set-up of some options; those that are not given have their defaults."""
    wanted = given_options(given)
    protocol = wanted[PROTOCOL]
    named: Named = _made(Named, wanted)
    shape = {name: wanted[name] for name in knobs_of(Shape) if name in wanted}
    changes = {name: wanted[name] for name in knobs_of(Costs) if name in wanted}
    shared = {name for names in SHARED.values() for name in names}
    own = {*knobs_of(LiveSetup), *shared}
    settings = () if protocol == AUTO else live_protocol(protocol).options
    params = {name: wanted[name] for name in settings if name in wanted}
    return LiveSetup(
        protocol=protocol,
        topology=make_topology(named.topology, **shape, seed=wanted.get("seed", 0)),
        costs=make_costs(named.costs, **changes),
        membership=_made(Membership, wanted),
        params=params,
        **{name: wanted[name] for name in own if name in wanted},
    )


def _made(declaring: type, wanted: Mapping[str, Any]) -> Any:
    return declaring(**{name: wanted[name] for name in knobs_of(declaring) if name in wanted})
