"""What became of one message at every member."""

from __future__ import annotations

from dataclasses import dataclass

from stablecast.causes.run import Run
from stablecast.causes.segments import Segment

SENT, COPY, REPAIRED, UNKNOWN = "sent", "copy", "repaired", "unknown"
"""How a member came to have a message: its own; a first copy; data that was sent again; not told."""


@dataclass(frozen=True)
class MemberLife:
    """One message at one member; times are None where the trace has none."""

    member: str
    required: bool
    """Whether the message had to reach it."""
    received_us: int | None
    known_us: int | None
    """Since when it has known the message to be stable."""
    released_us: int | None
    how: str
    origin: str | None
    """Who transmitted what it received."""


@dataclass(frozen=True)
class Life:
    """One message in the whole group."""

    source: str
    seq: int
    bytes: int | None
    sent_us: int | None
    stable_us: int | None
    """Since when every member that had to receive it has had it; None while one lacks it."""
    last_member: str | None
    """Who had it last (of equals, the smallest name)."""
    members: tuple[MemberLife, ...]
    """In the order of names."""
    way: tuple[Segment, ...]
    """How it came to the last member."""


def life(run: Run, source: str, seq: int) -> Life:
    """Return what became of a message; one line says what there is if there is no such message."""
    raise NotImplementedError
