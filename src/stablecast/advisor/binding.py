"""What binds: which limit of the group, its machines or its network keeps the best answer from being better.

It is read from the measurements of the best candidate, the clearest sign first: a processor, a link or the
buffers that are nearly taken; the silence before a crash is found out; losses that the longest hundredth
waits for; and otherwise whichever is the longer, the ways or the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from stablecast.advisor.bounds import floor_ms
from stablecast.advisor.candidates import WITHOUT_STEPS, Candidate
from stablecast.advisor.measuring import Measured
from stablecast.advisor.question import Question
from stablecast.engine.options import Options

TAKEN = 0.6
"""Load from which on waiting for a processor or a link is most of the time."""
FULL = 0.5
NEAR_FLOOR = 1.6
"""Ratio of the median to the least possible from which on it is not the ways that count."""


@dataclass(frozen=True)
class Binding:
    """What binds, and how one sees that."""

    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


def binding(question: Question, candidate: Candidate, results: Sequence[Measured]) -> Binding:
    """Return what binds a candidate."""
    processor, link = fmean(each.processor for each in results), fmean(each.link for each in results)
    if max(processor, link) > TAKEN:
        return _taken(question, results, processor, link)
    buffer = median(each.buffer_bytes for each in results)
    if any(each.blocked for each in results) or buffer > FULL * question.buffer_bytes:
        return Binding("the buffer", f"{buffer:,.0f} of {question.buffer_bytes:,} bytes are taken at times")
    if question.crashes:
        silence = f"a member that is gone is found out after {Options.fail_after:g} s of silence"
        return Binding("fail_after", silence)
    p50, step = median(each.p50_ms for each in results), median(each.step_ms for each in results)
    floor = floor_ms(question)
    if p50 < NEAR_FLOOR * floor:
        return Binding("the round trip", f"{p50:.3g} ms, and a message and an answer take {floor:.3g} ms")
    p99, delivered = (median(getattr(each, of) for each in results) for of in ("p99_ms", "delivery_p99_ms"))
    if question.lost_share and delivered > p99 / 2:
        return Binding(
            "losses",
            f"of the {p99:.3g} ms of the 99th percentile a delivery that is repaired takes {delivered:.3g}",
        )
    if candidate.protocol in WITHOUT_STEPS or step < p50 / 4:
        return Binding("the ways", f"news passes through several members, {p50 / floor:.1f} times the least")
    return Binding("the step", f"{step:.3g} ms, of {p50:.3g} ms to stable")


def _taken(question: Question, results: Sequence[Measured], processor: float, link: float) -> Binding:
    if link > processor:
        return Binding("the link", f"the busiest one is taken for {_share(link)} of the time")
    if question.cores:
        told = f"the {question.cores} cores are taken for {_share(processor)} of the time"
        return Binding("the processor", told)
    busiest = [each.busiest for each in results]
    whose = "the root's" if all(member == 0 for member in busiest) else "a member's"
    return Binding(f"{whose} processor", f"it is taken for {_share(processor)} of the time")


def _share(load: float) -> str:
    """Return a load as a share: a run that cannot keep up ends before what its links still have to carry."""
    return f"{min(load, 1.0):.0%}"
