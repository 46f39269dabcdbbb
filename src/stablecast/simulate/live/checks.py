"""What no run of a live group may show, looked at from outside its members.

Order
    A member delivers a source's messages one after the other, each once.
Stability
    When a sender is told that members have a message, each of them that is still there has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stablecast.engine.engine import Engine
from stablecast.engine.results import Delivery, Stable, StableInSmallerView
from stablecast.errors import SafetyViolation


class Checks:
    """Looks at what members deliver and are told; raises ``SafetyViolation``."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._last: dict[tuple[str, str], int] = {}
        """For each member and source, the last message that was delivered."""

    def was_delivered(self, batch: Sequence[Delivery]) -> None:
        """Look at deliveries of one member, in their order."""
        last = self._last
        for delivery in batch:
            key = (delivery.me, delivery.source)
            before = last.get(key)
            if before is not None and delivery.seq != before + 1:
                raise SafetyViolation(
                    f"{delivery.me} delivered message {delivery.seq} of {delivery.source} after message"
                    f" {before} (seed {self._seed})"
                )
            last[key] = delivery.seq

    def became_stable(
        self, session: int, outcome: Stable | StableInSmallerView, engines: Iterable[Engine]
    ) -> None:
        """Look whether the members of an outcome have all messages of its sender up to this one."""
        (sender, seq), has = outcome.id, set(outcome.members)
        for engine in engines:
            here = engine.in_view
            rank = None if here is None else here.ranks.get(session)
            if here is None or rank is None or engine.label not in has:
                continue
            if here.labels[rank] == sender and here.data.streams[rank].seq < seq:
                raise SafetyViolation(
                    f"{sender} was told that {engine.label} has its message {seq}, which it has not"
                    f" (seed {self._seed})"
                )
