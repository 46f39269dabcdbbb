"""Where a group is looked at: the address of one of its members, or a folder with the members' traces."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol

import msgspec

from stablecast.engine.observed import Notes, Observed
from stablecast.errors import InvalidInput, StablecastError

ACCEPTED = "accepted: HOST:PORT of a member's --metrics, or a folder of traces"
_ADDRESS = re.compile(r"(?:(?:http|stablecast)://)?(\[[0-9A-Fa-f:.]+\]|[^\s/:@?#\[\]]+):(\d{1,5})/?")


class NoAnswer(StablecastError):
    """A place does not tell anything at present; the message says which one and why."""


class Lacking(msgspec.Struct, frozen=True, kw_only=True):
    """A member that a message waits for."""

    member: str
    has_up_to: int
    since: float
    last_heard: float


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """What keeps a message from being stable."""

    id: tuple[str, int]
    state: str
    laggards: tuple[Lacking, ...] = ()


class Place(Protocol):
    """Tells of a group whenever it is asked; raises ``NoAnswer`` where it cannot."""

    shown: str
    """Its name for people."""

    async def look(self) -> Observed:
        """Return the group as it is now."""

    def progress(self) -> str:
        """Return how far a look is that takes long; nothing if there is nothing to say."""

    async def notes(self, after: int, wait_s: int) -> Notes:
        """Return what has happened after a note, at once or as soon as something does."""

    async def explain(self, source: str, seq: int) -> Explained:
        """Tell who lacks a message."""

    async def close(self) -> None:
        """Ask no more."""


def open_place(text: str, *, token: str | None = None, group: str | None = None) -> Place:
    """Return the place that a command was given."""
    if text and Path(text).is_dir():
        from stablecast.observe.traces import TracesPlace

        return TracesPlace(Path(text), group=group)
    found = _ADDRESS.fullmatch(text)
    if found is None or not 0 < int(found[2]) <= 65_535:
        raise InvalidInput(f"'{text}' is neither an address nor a folder ({ACCEPTED})")
    if group is not None:
        raise InvalidInput("--group is for a folder of traces: a member tells of its own group")
    from stablecast.observe.member import MemberPlace

    return MemberPlace(f"{found[1]}:{found[2]}", token=token)
