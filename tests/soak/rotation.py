"""Changing the group's key while everything goes on, in the steps that an operator is told to take.

Each step gives all processes another ring, each at a moment of its own.  The next step begins when every
process that lives has taken this one: who is paused takes it when it goes on, and who starts meanwhile
starts with the new ring.
"""

from __future__ import annotations

import hashlib
import random
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from stablecast.engine.keys import Key, Keyring
from stablecast.testing.clock import VirtualClock

if TYPE_CHECKING:
    from tests.soak.players import Player

LOOK_EVERY_S = 0.02


def key(number: int) -> Key:
    """Return the group's key of this number."""
    return Key(number, hashlib.sha256(b"key %d" % number).digest())


class Rotation:
    """The group's ring, as it should be everywhere."""

    def __init__(self, clock: VirtualClock, living: Callable[[], Iterable[Player]]) -> None:
        self.ring = Keyring((key(1),))
        self._clock = clock
        self._living = living
        self._steps: deque[tuple[Keyring, float]] = deque()
        """Rings to come, with the time that processes take to get each."""
        self._newest = 1

    @property
    def is_done(self) -> bool:
        """Whether every process has the ring that it should have, for good."""
        return not self._steps and self._is_everywhere()

    def begin(self, for_s: float, seed: int) -> None:
        """Change to a new key; after what is under way, if a change is."""
        old, new = key(self._newest), key(self._newest + 1)
        self._newest += 1
        is_under_way = not self.is_done
        self._steps += [(Keyring(keys), for_s / 3) for keys in ((old, new), (new, old), (new,))]
        if not is_under_way:
            self._take_step(random.Random(seed))

    def _take_step(self, rng: random.Random) -> None:
        self.ring, within_s = self._steps.popleft()
        for player in self._living():
            at = player.transport.now() + within_s * rng.random()
            player.transport.call_at(at, partial(player.rotate, self.ring))
        self._clock.call_at(self._clock.now + within_s, self._look, rng)

    def _look(self, rng: random.Random) -> None:
        if not self._is_everywhere():
            self._clock.call_at(self._clock.now + LOOK_EVERY_S, self._look, rng)
        elif self._steps:
            self._take_step(rng)

    def _is_everywhere(self) -> bool:
        return all(player.ring in (None, self.ring) for player in self._living())
