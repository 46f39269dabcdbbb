"""What no run of a live group may show, looked at from outside its members.

Order
    A member delivers a source's messages one after the other, each once.  In bimodal delivery it may leave
    out some.
Stability
    When a sender is told that members have a message, each of them that is still there has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stablecast.engine.engine import Engine
from stablecast.engine.results import Delivery, ProbablyStable, Settlement
from stablecast.errors import SafetyViolation


class Checks:
    """Looks at what members deliver and are told; raises ``SafetyViolation``."""

    def __init__(self, seed: int, *, may_leave_out: bool = False) -> None:
        self._seed = seed
        self._may_leave_out = may_leave_out
        self._last: dict[tuple[str, str], int] = {}
        """For each member and source, the last message that was delivered."""

    def was_delivered(self, batch: Sequence[Delivery]) -> None:
        """Look at deliveries of one member, in their order."""
        last = self._last
        for delivery in batch:
            key = (delivery.me, delivery.source)
            before = last.get(key)
            is_next = before is None or delivery.seq == before + 1
            if not is_next and not (self._may_leave_out and delivery.seq > (before or 0)):
                raise SafetyViolation(
                    f"{delivery.me} delivered message {delivery.seq} of {delivery.source} after message"
                    f" {before} (seed {self._seed})"
                )
            last[key] = delivery.seq

    def became_stable(self, session: int, outcome: Settlement, engines: Iterable[Engine]) -> None:
        """Look whether the members of an outcome have all messages of its sender up to this one."""
        if isinstance(outcome, ProbablyStable):
            return
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
