"""Ways to acknowledge, the groups in which they are run, and what section 5's closed forms give them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from stablecast.papers.timestamp.steady import (
    ENTRY_BYTES,
    HEADER_BYTES,
    T_ACK_MS,
    Steady,
    is_made,
    pair,
    steady,
)
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.theory.timestamp import ack_bytes

GROUP = 64
"""Members while the number of senders changes."""
FEW = 8
"""Senders while the number of members changes."""
QUICK_SENDERS, FULL_SENDERS = (1, 4, 8, 16, 50, 64), (1, 2, 4, 8, 16, 32, 50, 64)
QUICK_MEMBERS, FULL_MEMBERS = (16, 32, 64, 128), (16, 32, 64, 128, 256)
QUICK_ALL, FULL_ALL = (8, 16, 32, 64), (8, 16, 32, 64, 128)
"""Members that all send."""


@dataclass(frozen=True)
class Scheme:
    """A way to acknowledge, and the messages and bytes that the closed forms give it in one t_ack."""

    name: str
    protocol: str
    options: tuple[tuple[str, Any], ...] = ()
    entry_bytes: int = ENTRY_BYTES
    """What an acknowledgement has for each of its numbers."""
    one_to_one: bool = False
    """Whether each sender is told by a message of its own."""

    def riding(self) -> Scheme:
        """Return the same with acknowledgements that wait for their sender's next data message."""
        options = (*self.options, ("piggyback_ms", T_ACK_MS))
        return dataclasses.replace(self, name=f"{self.name}, riding", options=options)

    def runs_of(self, senders: int, members: int, **options: Any) -> tuple[Point, Point]:
        """Return its short and its long run."""
        return pair(self.protocol, senders, members, **dict(self.options), **options)

    def messages(self, senders: int, members: int) -> int:
        """Return the acknowledgements in one t_ack; nobody acknowledges to itself by a message."""
        return (members - 1) * senders if self.one_to_one else members

    def bytes(self, senders: int, members: int, header_bytes: int = HEADER_BYTES) -> float:
        """Return the bytes of these acknowledgements, by section 5's closed forms."""
        receivers = members - 1 if self.one_to_one else members
        return float(
            ack_bytes(
                self.protocol,
                senders,
                receivers,
                header_bytes=header_bytes,
                entry_bytes=self.entry_bytes,
                unicast=self.one_to_one,
            )
        )


TIMESTAMP = Scheme("timestamp", "timestamp")
VECTOR = Scheme("vector", "vector")
WIDE = Scheme("timestamp of 8 B", "timestamp", (("stamp_bytes", 8),), entry_bytes=8)
LOGICAL = Scheme("timestamp, logical clocks", "timestamp", (("clock", "logical"),), entry_bytes=8)
TIMESTAMP_EACH = Scheme("timestamp to each", "timestamp", (("ack_to", "senders"),), one_to_one=True)
VECTOR_EACH = Scheme("vector to each", "vector", (("ack_to", "senders"),), one_to_one=True)
EXPLICIT = Scheme("explicit", "explicit", one_to_one=True)
TRANSITIVE = Scheme("transitive", "transitive")
COMPUTED = (TIMESTAMP, WIDE, LOGICAL, VECTOR, TIMESTAMP_EACH, VECTOR_EACH, EXPLICIT)
"""Schemes whose bytes follow from the numbers of members and senders alone."""
SCHEMES = (*COMPUTED, TRANSITIVE)
COMPARED = (TIMESTAMP, VECTOR, EXPLICIT, TRANSITIVE)
"""Schemes that the paper compares."""
RIDING = (TIMESTAMP, VECTOR, EXPLICIT)
"""Of these, those whose acknowledgements can do what transitive ones always do: travel in data."""

Size = tuple[int, int]
"""Senders and members."""


def sizes(full: bool) -> dict[str, list[Size]]:
    """Return the sizes of each axis: against senders, against receivers, and all members both."""
    return {
        "senders": [(senders, GROUP) for senders in (FULL_SENDERS if full else QUICK_SENDERS)],
        "members": [(FEW, members) for members in (FULL_MEMBERS if full else QUICK_MEMBERS)],
        "all": [(members, members) for members in (FULL_ALL if full else QUICK_ALL)],
    }


def points(full: bool) -> list[Point]:
    """Return a short and a long run of every scheme and size; two schemes again without headers."""
    asked = [scheme.runs_of(*size) for scheme in SCHEMES for axis in sizes(full).values() for size in axis]
    asked += [scheme.riding().runs_of(*size) for scheme in RIDING for size in sizes(full)["all"]]
    asked += [
        scheme.runs_of(*size, header_bytes=0)
        for scheme in (TIMESTAMP, VECTOR)
        for size in sizes(full)["senders"]
    ]
    return list({point.key: point for each in asked for point in each}.values())


def judged_points(full: bool) -> list[Point]:
    """Return what other readings need: the schemes that claims compare."""
    asked = [
        scheme.runs_of(*size, **options)
        for scheme in COMPARED
        for axis, at in sizes(full).items()
        for size in at
        for options in _with_and_without_headers(scheme, axis)
    ]
    return list({point.key: point for each in asked for point in each}.values())


def _with_and_without_headers(scheme: Scheme, axis: str) -> list[dict[str, Any]]:
    return [{}, {"header_bytes": 0}] if scheme in (TIMESTAMP, VECTOR) and axis == "senders" else [{}]


def measured(runs: Runs, scheme: Scheme, size: Size, **options: Any) -> Steady:
    """Return what a scheme spends in one t_ack."""
    return steady(runs, scheme.runs_of(*size, **options))


def made(runs: Runs, axis: str) -> list[Size]:
    """Return the sizes of an axis that were run."""
    found = [size for size in sizes(True)[axis] if is_made(runs, TIMESTAMP.runs_of(*size))]
    if not found:
        raise MissingRun(f"this run was not made: {TIMESTAMP.runs_of(FEW, GROUP)[0].replay}")
    return found


def all_made(runs: Runs) -> list[Size]:
    """Return the sizes of all axes that were run, each once."""
    return sorted({size for axis in sizes(True) for size in made(runs, axis)}, key=lambda size: size[::-1])
