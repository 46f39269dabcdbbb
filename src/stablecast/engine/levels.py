"""Stability levels: how many members, or whose, must have a message.

await receipt.when(at_least(3))
await receipt.when(each_zone(1) & at_least(3))
await receipt.when(members("m1", "m2") | everyone)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from stablecast.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Spread:
    """Who has a message, of whom."""

    zones: dict[str, str]
    """The zone of each member of the view that is to have it: those who receive from the sender, and it."""
    has: frozenset[str]
    """Labels of the members that are known to have it, the sender included."""
    is_final: bool = False
    """Whether it is stable, so that nobody else will get it."""


@dataclass(frozen=True)
class Level:
    """A condition on who has a message; combines with ``&`` and ``|``."""

    text: str
    holds: Callable[[Spread], bool]

    def __and__(self, other: Level) -> Level:
        return Level(
            f"({self.text} & {other.text})", lambda spread: self.holds(spread) and other.holds(spread)
        )

    def __or__(self, other: Level) -> Level:
        return Level(
            f"({self.text} | {other.text})", lambda spread: self.holds(spread) or other.holds(spread)
        )

    def __str__(self) -> str:
        return self.text


def at_least(count: int) -> Level:
    """So many members have it, the sender counted."""
    _positive("at_least", count)
    return Level(f"at_least({count})", lambda spread: len(spread.has) >= count)


def each_zone(count: int) -> Level:
    """So many of each zone's members that are to have it do; smaller zones: all of them."""
    _positive("each_zone", count)

    def holds(spread: Spread) -> bool:
        sizes = Counter(spread.zones.values())
        having = Counter(zone for label, zone in spread.zones.items() if label in spread.has)
        return all(having[zone] >= min(count, size) for zone, size in sizes.items())

    return Level(f"each_zone({count})", holds)


def zones(count: int) -> Level:
    """Members of so many different zones have it."""
    _positive("zones", count)
    return Level(
        f"zones({count})",
        lambda spread: len({zone for label, zone in spread.zones.items() if label in spread.has}) >= count,
    )


def members(*labels: str) -> Level:
    """These members have it."""
    wanted: Iterable[str] = frozenset(labels)
    if not labels:
        raise InvalidInput("members() needs at least one member's name")
    return Level(f"members({', '.join(labels)})", lambda spread: spread.has >= frozenset(wanted))


everyone = Level("everyone", lambda spread: spread.has >= spread.zones.keys())
"""All members of the view that are to have it do."""


def _positive(what: str, count: int) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InvalidInput(f"{what}({count!r}): accepted is a whole number, at least 1")
