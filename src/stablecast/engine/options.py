"""What may be set of a live group, with its defaults, checked in one place."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from stablecast.engine.auto import AUTO as AUTO_PROTOCOL
from stablecast.engine.auto import SOONEST, TABLE, WITHOUT_OPTIONS, Row, check_goal, row_in
from stablecast.engine.degrees import AUTO, read_fan_out
from stablecast.engine.pace import PaceOptions
from stablecast.errors import InvalidInput
from stablecast.membership.actions import Timing
from stablecast.membership.identity import Identity
from stablecast.membership.slow_members import SlowPolicy
from stablecast.membership.view import FROM_ALL, PATTERNS_MOST
from stablecast.multicast.delivery import BIMODAL, RELIABLE, Bimodal, read_delivery

if TYPE_CHECKING:
    from stablecast.engine.choice import Choice
    from stablecast.protocols.contract import Protocol

LARGEST_PAYLOAD = 1 << 20
NAME = re.compile(r"[^\s/#~\x00-\x1f]{1,64}")
POLICIES = ("until-stable", "two-buffers")
BUFFER_LEAST = 64 << 10


@dataclass(frozen=True, kw_only=True)
class Options:
    """Everything that a member can be told."""

    group: str
    protocol: str | Protocol = "s_coord"
    """The stability protocol: its name, the path of a file that defines one, or itself; a group has one."""
    protocol_options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the protocol, with the names and units of ``stablecast simulate``; a group has the same."""
    goal: str = SOONEST
    """What a group with protocol ``auto`` looks for; a group has one."""
    member: str = ""
    """Name of this member; the bound address if empty."""
    zone: str = ""
    sends: bool = True
    """Whether this member sends messages."""
    receives: bool | Sequence[str] = True
    """Whose messages this member receives: all, none, or those of senders with these names or patterns."""
    buffer_bytes: int = 64 << 20
    """Most bytes of unstable messages, of all senders together."""
    on_full: str = "block"
    """What ``send`` does while its share is used up: ``block`` or ``error``."""
    delivery: str | Bimodal = RELIABLE
    """How messages come to all: ``reliable``, or ``bimodal``, with or without values; a group has one."""
    deliver: str = "received"
    """Deliver what has come (``received``), only what everyone has (``stable``), or ``nothing``."""
    policy: str = "until-stable"
    """Who keeps what: everyone until it is stable, or a few (``two-buffers``)."""
    copies: int = 6
    """Members that keep a message until it is stable, with ``two-buffers``."""
    short_s: float = 2.0
    """Seconds for which the others keep it."""
    queue_messages: int = 100_000
    """Deliveries of others' messages that wait for the application before no more is taken in."""
    history_bytes: int = 0
    """Bytes of stable messages that this member keeps for newcomers."""
    fail_after: float = 3.0
    """Seconds of silence after which a member counts as failed."""
    alive_every: float = 0.25
    """Seconds between two rounds of signs of life."""
    rate_bytes_per_s: float = 400e6
    """Most bytes a second that leave this member, all copies counted."""
    fan_out: str | int = AUTO
    """Who sends the copies of what goes to all: this member (``direct``), this one so many, and those who
    get them the rest (a number), or one or the other by the size of the group (``auto``)."""
    pace: PaceOptions = field(default_factory=PaceOptions)
    timing: Timing = field(default_factory=Timing)
    slow: SlowPolicy = field(default_factory=SlowPolicy)

    def __post_init__(self) -> None:
        for what, name in (("group", self.group), ("member", self.member or "x"), ("zone", self.zone or "x")):
            if not isinstance(name, str) or not NAME.fullmatch(name):
                raise InvalidInput(
                    f"{what} name {name!r} is not accepted (accepted: 1 to 64 characters, no space / # ~)"
                )
        check_goal(self.goal)
        if self.goal != SOONEST and not self.is_auto:
            raise InvalidInput(f"goal {self.goal!r} needs protocol 'auto' (accepted: no goal)")
        if self.is_auto and self.protocol_options:
            raise InvalidInput(WITHOUT_OPTIONS)
        self._check_part()
        read_fan_out(self.fan_out)
        _one_of("on_full", self.on_full, ("block", "error"))
        _one_of("deliver", self.deliver, ("received", "stable", "nothing"))
        _one_of("policy", self.policy, POLICIES)
        if self.policy == "two-buffers" and self.deliver == "stable":
            raise InvalidInput(
                "deliver 'stable' needs policy 'until-stable': with two buffers copies go earlier"
            )
        if self.bimodal is not None:
            self._check_bimodal()
        _at_least("buffer_bytes", self.buffer_bytes, BUFFER_LEAST)
        _at_least("copies", self.copies, 1)
        _at_least("queue_messages", self.queue_messages, 1)
        _at_least("history_bytes", self.history_bytes, 0)
        for what in ("short_s", "fail_after", "alive_every", "rate_bytes_per_s"):
            if not 0 < getattr(self, what) < float("inf"):
                raise InvalidInput(
                    f"{what} {getattr(self, what)} is not accepted (accepted: a number above 0)"
                )
        if self.fail_after < 2 * self.alive_every:
            raise InvalidInput(
                f"fail_after {self.fail_after} s is too short (accepted: at least twice alive_every, "
                f"{self.alive_every} s)"
            )

    def _check_part(self) -> None:
        """Check what this member sends and receives."""
        if not isinstance(self.sends, bool):
            raise InvalidInput(f"sends {self.sends!r} is not accepted (accepted: True or False)")
        for pattern in self.patterns:
            if not isinstance(pattern, str) or not NAME.fullmatch(pattern):
                raise InvalidInput(
                    f"receives has {pattern!r} (accepted: names of senders and patterns of names, such as"
                    " 'prices-*')"
                )
        if len(self.patterns) > PATTERNS_MOST:
            raise InvalidInput(f"receives has {len(self.patterns)} names (accepted: up to {PATTERNS_MOST})")
        if not self.sends and not self.patterns:
            raise InvalidInput("a member neither sends nor receives (accepted: sends, receives, or both)")

    @property
    def patterns(self) -> tuple[str, ...]:
        """Names and patterns of the senders that this member receives from."""
        if isinstance(self.receives, bool):
            return FROM_ALL if self.receives else ()
        if isinstance(self.receives, str) or not isinstance(self.receives, Sequence):
            raise InvalidInput(
                f"receives {self.receives!r} is not accepted (accepted: True, False, or a list of senders'"
                " names and patterns, such as ['orders', 'prices-*'])"
            )
        return tuple(self.receives)

    def _check_bimodal(self) -> None:
        """Refuse what needs to know that everyone has a message: bimodal delivery never does."""
        for what, is_default, accepted in (
            ("deliver 'stable'", self.deliver != "stable", "received, nothing"),
            ("policy 'two-buffers'", self.policy == Options.policy, "copies and short_rounds of bimodal"),
            ("history_bytes", self.history_bytes == 0, "0"),
            ("receives", self.patterns == FROM_ALL, "True"),
            ("a search for the step", not self.pace.adaptive, "none"),
            ("a protocol", self.protocol == Options.protocol and not self.protocol_options, "none"),
        ):
            if not is_default:
                raise InvalidInput(f"{what} is not accepted with bimodal delivery (accepted: {accepted})")

    @cached_property
    def bimodal(self) -> Bimodal | None:
        """What is set of bimodal delivery; None if delivery is reliable."""
        return read_delivery(self.delivery)

    @property
    def protocol_name(self) -> str:
        """What finds out when messages are let go: the stability protocol, or bimodal delivery."""
        if self.is_auto:
            return AUTO_PROTOCOL
        return BIMODAL if self.choice is None else self.choice.protocol.name

    @property
    def is_auto(self) -> bool:
        """Whether the group decides at view changes which protocol it runs."""
        return self.protocol == AUTO_PROTOCOL

    @property
    def identity(self) -> str:
        """What all members of a group have in common."""
        if self.is_auto:
            rows = "+".join(f"{row.protocol}*{row.steps:g}" for row in TABLE)
            sources = "+".join(choice.identity.rpartition("/")[2] for choice in self.choices)
            return str(Identity(AUTO_PROTOCOL, f"goal={self.goal},rows={rows}", sources))
        if self.choice is not None:
            return self.choice.identity
        return str(Identity(BIMODAL, str(self.bimodal).removeprefix(BIMODAL).removeprefix(":")))

    @cached_property
    def choice(self) -> Choice | None:
        """The protocol with its options, checked when it is first asked for: that loads the compiler.

        None in bimodal delivery, where no stability protocol runs; with ``auto`` the first one.
        """
        return self.choices[0] if self.choices else None

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """All protocols that views of the group may run, with their options; none in bimodal delivery."""
        if self.bimodal is not None:
            return ()
        from stablecast.engine.choice import check_receivers, choose

        if self.is_auto:
            found = tuple(choose(row.protocol) for row in TABLE)
            for choice in found if self.patterns != FROM_ALL else ():
                check_receivers(choice.protocol)
            return found

        if not isinstance(self.protocol_options, Mapping):
            raise InvalidInput(
                f"protocol_options {self.protocol_options!r} is not accepted (accepted: a dictionary, such as"
                " {'subgroup': 4})"
            )
        choice = choose(self.protocol, self.protocol_options)
        if self.patterns != FROM_ALL:
            check_receivers(choice.protocol)
        return (choice,)

    def row_of(self, view_id: int) -> Row | None:
        """Return what a view runs if the group decides at view changes, None otherwise."""
        return TABLE[row_in(view_id)] if self.is_auto else None

    def choice_in(self, view_id: int) -> Choice | None:
        """Return the protocol that a view runs."""
        return self.choices[row_in(view_id)] if self.is_auto else self.choice


def _one_of(what: str, value: str, accepted: tuple[str, ...]) -> None:
    if value not in accepted:
        raise InvalidInput(f"{what} '{value}' is not accepted (accepted: {', '.join(accepted)})")


def _at_least(what: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInput(f"{what} {value!r} is not accepted (accepted: a whole number, at least {least})")


def checked_payload(payload: bytes | bytearray | memoryview) -> bytes:
    """Return a message as it is now; refuse what cannot be one."""
    if type(payload) is not bytes:
        if not isinstance(payload, bytes | bytearray | memoryview):
            raise InvalidInput(f"a message is bytes, not {type(payload).__name__}")
        payload = bytes(payload)
    if len(payload) > LARGEST_PAYLOAD:
        raise InvalidInput(
            f"a message of {len(payload)} bytes is too large (accepted: up to {LARGEST_PAYLOAD})"
        )
    return payload
