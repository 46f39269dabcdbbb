"""When the buffers should start a step: the optimum of paper 000, section 6, with what was measured.

A sender has ``g`` messages of room, its share of the buffers, and sends ``r`` a second; a round takes ``f``,
and releases what was there when it began (the share α is 1: what is stable is known of all sources at once).
The largest safe ``X`` is then ``g - Q`` with ``Q = r f``, if ``Q`` is at most half of ``g``.
Fewer tests follow from a larger ``X``: one for each ``X`` messages.

Where it applies: a step begins when its time has come, or when ``trigger_bytes`` are unstable.  If fewer than
``X`` messages come in a step, the step comes first, and ``X`` changes nothing.  A member begins a step at
half-full buffers, too; since ``X`` is never less than half of ``g``, that alone is safe whenever anything is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stablecast.advisor.candidates import Candidate
from stablecast.advisor.question import Question
from stablecast.engine.pace import PaceOptions
from stablecast.theory import stability_tests, trigger_optimum_messages


@dataclass(frozen=True)
class Trigger:
    """The optimum for a group."""

    room: int
    """Messages that a sender's share of the buffers holds: ``g``."""
    round_ms: float
    """What a round takes: ``f``, the 99th percentile of the time to stable."""
    optimum: int | None
    """Messages of a sender: ``X``; None if no number of them is safe."""
    bytes: int
    """The same of all senders together, as live groups have it."""
    tests_per_s: float
    """Tests that ``X`` alone would start in a second."""
    is_advised: bool
    """Whether it is other than the usual one, and steps begin by it."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return {
            "room": self.room,
            "round_ms": self.round_ms,
            "messages": self.optimum,
            "bytes": self.bytes,
            "tests_per_s": self.tests_per_s,
            "advised": self.is_advised,
        }


def trigger_for(question: Question, candidate: Candidate, round_ms: float) -> Trigger:
    """Return the optimum where a round takes so long."""
    room = question.buffer_bytes // question.members // question.message_bytes
    rate = question.rate_per_s / question.senders_there
    optimum = trigger_optimum_messages(room, rate, round_ms / 1e3, 1) if room and round_ms > 0 else None
    if optimum is None:
        return Trigger(room, round_ms, None, PaceOptions.trigger_bytes, 0.0, False)
    of_all = min(optimum * question.message_bytes * question.senders_there, question.buffer_bytes // 2)
    per_s = stability_tests(max(1, round(question.rate_per_s)), 1, optimum * question.senders_there)
    return Trigger(room, round_ms, optimum, of_all, per_s, candidate.has_trigger)
