"""How a group delivers: reliably, or by bimodal multicast, and what may be set of the latter.

``reliable``
    Everything comes to all members that stay, and a message is kept until that is known.
``bimodal``
    A message goes out once, gossip repairs what was lost, and after some rounds of it the message is let go,
    whether everyone has it or not.  Who lacks it then never gets it; that is rare, and how rare is known.

Text, as the command line has it, names values after a colon: ``bimodal:p_fail=0.0001,loss=0.02``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from stablecast.errors import InvalidInput

RELIABLE = "reliable"
BIMODAL = "bimodal"
ROUNDS_MOST = 10_000


@dataclass(frozen=True, kw_only=True)
class Bimodal:
    """Bimodal multicast; all members of a group have the same."""

    p_fail: float = 0.001
    """The share of messages that may come to some members and not to others."""
    loss: float = 0.05
    """How probably a first multicast does not reach a member, as far as that is known before."""
    copies: float | None = None
    """Members that keep a message for all its rounds, on average; None for as few as ``p_fail`` allows."""
    keep_rounds: int | None = None
    """Rounds of gossip for which a message is kept and asked for; None for as many as gossip needs."""
    short_rounds: int = 3
    """Rounds for which everyone keeps it."""
    gossip_s: float = 0.1
    """Seconds between two rounds of a member's gossip."""

    def __post_init__(self) -> None:
        self._check("p_fail", 1e-9 <= self.p_fail < 1, "1e-9 up to, but not, 1")
        self._check("loss", 0 <= self.loss < 1, "0 up to, but not, 1")
        self._check("copies", self.copies is None or 0 < self.copies < math.inf, "a number above 0")
        self._check("gossip_s", 0 < self.gossip_s <= 60, "a number above 0, at most 60")
        self._check_rounds("keep_rounds", 1 if self.keep_rounds is None else self.keep_rounds, 1)
        self._check_rounds("short_rounds", self.short_rounds, 0)
        if self.keep_rounds is not None and self.short_rounds > self.keep_rounds:
            raise InvalidInput(
                f"short_rounds {self.short_rounds} of bimodal delivery is not accepted (accepted: at most"
                f" keep_rounds, {self.keep_rounds})"
            )

    def _check(self, name: str, is_accepted: bool, accepted: str) -> None:
        if not is_accepted:
            raise InvalidInput(
                f"{name} {getattr(self, name)!r} of bimodal delivery is not accepted (accepted: {accepted})"
            )

    def _check_rounds(self, name: str, value: int, least: int) -> None:
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        self._check(name, is_whole and least <= value <= ROUNDS_MOST, f"{least} to {ROUNDS_MOST:,} rounds")

    def __str__(self) -> str:
        told = [
            f"{each.name}={_shown(getattr(self, each.name))}"
            for each in fields(self)
            if _is_set(self, each.name)
        ]
        return ":".join((BIMODAL, ",".join(told))) if told else BIMODAL


def _is_set(bimodal: Bimodal, name: str) -> bool:
    return bool(getattr(bimodal, name) != getattr(Bimodal, name))


def _shown(value: float | int | None) -> str:
    return str(value) if isinstance(value, int) else f"{value:.15g}"


def read_delivery(given: str | Bimodal) -> Bimodal | None:
    """Return what was asked for: bimodal multicast, or None for reliable delivery."""
    if isinstance(given, Bimodal):
        return given
    name, colon, rest = given.partition(":") if isinstance(given, str) else ("", "", "")
    if name == RELIABLE and not colon:
        return None
    if name != BIMODAL:
        raise InvalidInput(
            f"delivery {given!r} is not accepted (accepted: {RELIABLE}, {BIMODAL}, or {BIMODAL} with values,"
            f" such as {BIMODAL}:p_fail=0.0001,loss=0.02)"
        )
    return Bimodal(**dict(map(_value_of, rest.split(",")))) if rest else Bimodal()


def _value_of(word: str) -> tuple[str, Any]:
    name, equals, text = (part.strip() for part in word.partition("="))
    accepted = [each.name for each in fields(Bimodal)]
    if not equals or name not in accepted:
        raise InvalidInput(
            f"'{word}' is not accepted in bimodal delivery (accepted: NAME=VALUE with {', '.join(accepted)})"
        )
    try:
        return name, int(text) if name.endswith("_rounds") else float(text)
    except ValueError:
        raise InvalidInput(
            f"{name} '{text}' of bimodal delivery is not accepted (accepted: a number)"
        ) from None
