"""Views: agreed lists of members, in an order that all share."""

from __future__ import annotations

from enum import IntEnum
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Annotated

import msgspec

from stablecast.errors import InvalidInput

Whole = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
"""A number of parts, messages or views: never negative, and 64 bits hold it."""
Word = Annotated[int, msgspec.Meta(ge=0)]
"""A random number of 64 bits."""

Address = tuple[str, int]

PATTERNS_MOST = 64
"""Patterns that a member can say what it receives by."""
PATTERN_LONGEST = 64
"""Characters of one of them; no name is longer."""
Pattern = Annotated[str, msgspec.Meta(max_length=PATTERN_LONGEST)]
"""A sender's name, or a pattern: ``*`` for any characters, ``?`` for one, ``[ab]`` for one of some."""
Patterns = Annotated[tuple[Pattern, ...], msgspec.Meta(max_length=PATTERNS_MOST)]
FROM_ALL: Patterns = ("*",)
"""What a member receives that does not say otherwise."""


def format_address(address: Address) -> str:
    """Return an address as text: host:port, with brackets around an address of IPv6."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def bits_of(session: int) -> str:
    """Return the bits of a session that tell members of one name apart, as text."""
    return f"{session:016x}"[:8]


class Labels(IntEnum):
    """How a view calls those who join it; :mod:`stablecast.membership.labels` has why."""

    PLAIN = 0
    """By their names and incarnations."""
    REMEMBERED = 1
    """So as well, if it remembers their names; others with bits of their session."""
    MARKED = 2
    """All with bits of their session."""


class MemberInfo(msgspec.Struct, frozen=True, array_like=True):
    """One member of a view."""

    session: Word
    """Names its process: a random number of 64 bits, not 0."""
    name: str
    """As it was asked for."""
    incarnation: Whole
    """From 1; a name that comes back is given the next one."""
    host: str
    port: Whole
    zone: str = ""
    """Where it is, for stability levels by zone; may be empty."""
    most: Whole = 0
    """Most members of a view that it can send in; 0 for any number."""
    mark: str = ""
    """Bits of its session, where name and incarnation may belong to another one too."""
    sends: bool = True
    """Whether it sends messages."""
    receives: Patterns = FROM_ALL
    """Whose messages it receives: names of senders, or patterns of them; nobody's if there is none."""

    def receives_from(self, source: MemberInfo) -> bool:
        """Tell whether it receives what another member sends; or what it sends itself."""
        if self.receives == FROM_ALL:
            return source.sends
        return source.sends and any(fnmatchcase(source.name, pattern) for pattern in self.receives)

    @property
    def identity(self) -> tuple[int, int]:
        """What stays as it is for as long as it is a member, whatever it receives."""
        return (self.session, self.incarnation)

    @property
    def address(self) -> Address:
        """Where its datagrams go."""
        return (self.host, self.port)

    @property
    def label(self) -> str:
        """Its name for people and in traces: with the incarnation from the second on, and its mark."""
        plain = self.name if self.incarnation == 1 else f"{self.name}#{self.incarnation}"
        return f"{plain}~{self.mark}" if self.mark else plain


class View(msgspec.Struct, frozen=True, array_like=True, dict=True):
    """An agreed list of members."""

    id: Word
    """A random number of 64 bits, not 0: names the view in every frame."""
    epoch: Whole
    """Larger than that of any view that it follows."""
    members: tuple[MemberInfo, ...]
    """Oldest first; a member's rank is its place here."""
    line: str
    """What its events' group is called in traces: the group's name on the main line."""
    incarnations: dict[str, Whole]
    """The last incarnation that each name was given, of members and of recent ones."""
    labels: Labels = Labels.PLAIN
    """How those who join are called."""
    is_apart: bool = False
    """Whether the messages of each source are a group of their own in traces: in this view, or in one that it
    follows, not everyone receives from everyone who sends."""

    def line_of(self, source: int) -> str:
        """Return the group that a source's messages belong to in traces."""
        return f"{self.line}/{self.members[source].label}" if self.is_apart else self.line

    @cached_property
    def sessions(self) -> tuple[int, ...]:
        """The members' sessions by rank."""
        return tuple(member.session for member in self.members)

    @cached_property
    def ranks(self) -> dict[int, int]:
        """The members' ranks by session."""
        return {member.session: rank for rank, member in enumerate(self.members)}

    @cached_property
    def at(self) -> dict[Address, MemberInfo]:
        """The members by address."""
        return {member.address: member for member in self.members}

    def receivers_of(self, label: str) -> tuple[str, ...]:
        """Return the labels of the members that receive what one of them sends, without itself."""
        source = next((member for member in self.members if member.label == label), None)
        if source is None:
            known = ", ".join(member.label for member in self.members)
            raise InvalidInput(f"'{label}' is not in the view (accepted: {known})")
        return tuple(m.label for m in self.members if m is not source and m.receives_from(source))

    def rank_of(self, session: int) -> int:
        """Return a member's rank, -1 if it is not in this view."""
        return self.ranks.get(session, -1)

    def member(self, session: int) -> MemberInfo | None:
        """Return a member by its session, None if it is not in this view."""
        rank = self.rank_of(session)
        return None if rank < 0 else self.members[rank]
