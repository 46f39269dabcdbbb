"""What a demo's members and its conductor tell each other, one JSON object at a time."""

from __future__ import annotations

import msgspec


class Told(msgspec.Struct, frozen=True, tag=True):
    """Anything told."""


class Joined(Told, frozen=True):
    """A member is in the group."""

    address: str
    """Where others may join through it."""


class Status(Told, frozen=True):
    """How a member is doing."""

    me: str
    """Its label; another one than its name if it was left out and came back."""
    state: str
    members: tuple[str, ...]
    sent: int
    """Messages, of all its incarnations."""
    frontier: dict[str, int]
    received: dict[str, int]
    """The last message of each source that the application has."""
    waiting: int
    """Deliveries on their way to the application."""
    unstable_messages: int
    unstable_bytes: int
    peak_bytes: int
    repairs_asked: int
    repairs_sent: int
    wrong: int
    """Deliveries that were not what their source sent next."""
    lost: int
    """Messages of others that it gave up, in bimodal delivery."""
    p_fail: float
    """What it expects that to be, as a share; 0 in reliable delivery."""


class Stopped(Told, frozen=True):
    """A member's trace is complete."""

    status: Status


class Failed(Told, frozen=True):
    """A member cannot go on."""

    reason: str


class SendUpTo(Told, frozen=True):
    """Send, up to this many messages in all."""

    count: int


class StopTrace(Told, frozen=True):
    """Write nothing into the trace any more; answered by ``Stopped``."""


class Leave(Told, frozen=True):
    """Leave the group and end."""


Report = Joined | Status | Stopped | Failed
Order = SendUpTo | StopTrace | Leave

encode = msgspec.json.Encoder().encode
decode_report = msgspec.json.Decoder(Report).decode
decode_order = msgspec.json.Decoder(Order).decode
