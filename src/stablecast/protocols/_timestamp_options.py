"""The options of ``timestamp``: its clocks, how often members are heard of, and its rules."""

from __future__ import annotations

from collections.abc import Mapping

from stablecast.errors import InvalidInput
from stablecast.protocols._connections import CHANNELS, check_channels
from stablecast.protocols._receivers import ACK_EVERY, ACK_TO
from stablecast.protocols.contract import CHOICE, FLAG, REAL, TIME, WHOLE, Parameter, Role, hidden
from stablecast.protocols.contract.clocks import (
    DRIFT_MAX_PPM,
    HORIZON_MAX_PS,
    HYBRID,
    LOGICAL,
    PHYSICAL,
    PPB_OF_PPM,
    SKEW_MAX_PS,
    check_clocks,
    drifted_apart_ps,
)
from stablecast.protocols.contract.parameters import PS_PER

PARAMETERS = (
    Parameter(
        "send_every",
        TIME,
        100.0,
        "Longest silence of a sender; then it sends a NULL, which carries a timestamp and no data.",
        unit="ms",
        role=Role.EVERY,
        above=0,
    ),
    ACK_EVERY,
    Parameter(
        "clock",
        CHOICE,
        "physical",
        "What timestamps are read from: physical clocks, which differ by the skew; logical clocks, which"
        " count messages; or hybrid clocks, which are physical and never behind what was received.",
        choices={"physical": PHYSICAL, "logical": LOGICAL, "hybrid": HYBRID},
        role=Role.CLOCK,
    ),
    Parameter(
        "skew",
        TIME,
        0.0,
        "Most that two members' clocks differ at any time.",
        unit="us",
        role=Role.MODEL,
        least=0,
        most=SKEW_MAX_PS / PS_PER["us"],
    ),
    Parameter(
        "drift",
        REAL,
        0.0,
        "Most that the rate of a member's clock is off, in parts per million; the skew bounds what it"
        " comes to.",
        unit="ppm",
        role=Role.MODEL,
        least=0,
        most=DRIFT_MAX_PPM,
        scale=PPB_OF_PPM,
    ),
    Parameter(
        "sync",
        TIME,
        60.0,
        "Time between two moments at which all clocks are set right again.",
        unit="s",
        role=Role.MODEL,
        above=0,
        most=HORIZON_MAX_PS / PS_PER["s"],
    ),
    ACK_TO,
    Parameter(
        "no_rules",
        FLAG,
        False,
        "Leave out the rules for connections: a receiver counts the senders that it has heard, a sender"
        " the receivers that it has opened a channel to. Unsafe; what goes wrong is counted.",
        role=Role.UNSAFE,
    ),
    Parameter(
        "stamp_bytes",
        WHOLE,
        8,
        "Bytes of a timestamp on the wire.",
        role=Role.MODEL,
        least=1,
        most=64,
    ),
    hidden("offsets", Role.DERIVED),
    CHANNELS,
    hidden("ahead", Role.AHEAD),
)


def resolve(values: Mapping[str, int], group: int) -> dict[str, int]:
    """Set the range of the clocks' offsets: what drift leaves of the skew."""
    apart = drifted_apart_ps(values["drift"] / PPB_OF_PPM, values["sync"])
    return {"offsets": max(values["skew"] - apart, 0)}


def check(values: Mapping[str, int]) -> None:
    """Refuse clocks that cannot be, in the units of the command line."""
    skew, drift, sync = values["skew"], values["drift"] / PPB_OF_PPM, values["sync"]
    apart = drifted_apart_ps(drift, sync)
    if apart > skew:
        raise InvalidInput(
            f"skew_us {skew / 1e6:g} is too small: clocks that drift by {drift:g} ppm and are set right every"
            f" {sync / 1e12:g} s differ by up to {apart / 1e6:g} us (accepted: that or more, or a smaller"
            " drift_ppm or sync_s)"
        )
    check_clocks(skew, drift, sync)
    check_channels(values)
    if values["no_rules"] and not values[CHANNELS.name]:
        raise InvalidInput("no_rules changes nothing without connections (give connects_per_s, or faults)")
