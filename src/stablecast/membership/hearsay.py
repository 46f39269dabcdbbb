"""What members say and others pass on, for as long as it is said again.

Who says something says it with its count of rounds, in every round, as long as it is so.  Others pass on what
they have heard; a larger count is newer.  What was not renewed for a while is not believed any more, so what
is no longer said is forgotten everywhere.  It is remembered for as long again that it was forgotten: others
may still pass it on with the count that is known, and that does not bring it back.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(slots=True)
class _Said(Generic[V]):
    count: int
    at: float
    value: V


class Hearsay(Generic[K, V]):
    """What was heard, by what it is about and who says it; believed for ``fresh_s`` seconds."""

    def __init__(self, fresh_s: float) -> None:
        self._fresh_s = fresh_s
        self._said: dict[K, _Said[V]] = {}
        self._now = 0.0

    def __len__(self) -> int:
        return len(self._said)

    def take(self, key: K, count: int, value: V, now: float) -> None:
        """Take in what was said at a count of who says it."""
        known = self._said.get(key)
        if known is None or count > known.count:
            self._said[key] = _Said(count, now, value)

    def sweep(self, now: float) -> None:
        """Let time go on: forget what was not renewed."""
        self._now = now
        if self._said:
            over = now - 2 * self._fresh_s
            self._said = {key: said for key, said in self._said.items() if said.at >= over}

    def withdraw(self, key: K) -> None:
        """Stop saying something oneself."""
        self._said.pop(key, None)

    def fresh(self) -> Iterator[tuple[K, int, V]]:
        """Yield what is believed, with the count at which it was said."""
        since = self._now - self._fresh_s
        return ((key, said.count, said.value) for key, said in self._said.items() if said.at >= since)
