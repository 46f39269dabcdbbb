"""Simulated live groups for tests: small, and short."""

from stablecast.engine.options import Options
from stablecast.simulate import costs, topology
from stablecast.simulate.live.run import simulate_live
from stablecast.simulate.live.setup import LiveSetup, Membership


def live(*, members=8, shape=None, changes=None, told=None, preset="lan", **fields):
    """Return the set-up of a group that sends for two seconds."""
    fields.setdefault("protocol", Options.protocol)
    fields.setdefault("seconds", 2.0)
    return LiveSetup(
        topology=shape or topology("star", members=members),
        costs=costs(preset, **changes or {}),
        membership=Membership(**told or {}),
        **fields,
    )


def run(**fields):
    return simulate_live(live(**fields))
