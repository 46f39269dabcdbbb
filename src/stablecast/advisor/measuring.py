"""One run of a candidate: live engines on the simulated network, and what is measured of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from stablecast.advisor.candidates import Candidate
from stablecast.advisor.question import Question
from stablecast.simulate.live.options import live_setup
from stablecast.simulate.live.result import LiveResult
from stablecast.simulate.live.run import simulate_live

BUSY = 0.95
"""Load from which on a processor, or a link, does not keep up."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What came of a run."""

    p50_ms: float
    """Time to stable; infinite if nothing became stable."""
    p99_ms: float
    bytes_per_s: float
    """Bytes that a member sends, headers included, in a second of sending."""
    buffer_bytes: float
    """The most that one member kept."""
    delivery_p50_ms: float
    delivery_p99_ms: float
    messages: int
    blocked: int
    """Messages that had to wait for room in the buffers."""
    completed: bool
    processor: float
    """Load of the busiest processor; of shared cores, that of all of them."""
    busiest: int
    """The member that it is of."""
    link: float
    """Load of the busiest link."""
    step_ms: float
    views: int
    datagrams: int

    @property
    def is_sound(self) -> bool:
        """Whether the group kept up: nothing was left, nobody waited for room, nothing was overloaded."""
        waited = self.blocked > 0.01 * self.messages
        return self.completed and not waited and max(self.processor, self.link) < BUSY


@dataclass(frozen=True)
class Run:
    """One run, whole: what to simulate, as options of ``simulate live``."""

    options: tuple[tuple[str, Any], ...]
    cores: int

    @property
    def given(self) -> dict[str, Any]:
        """The options."""
        return dict(self.options)


def run_of(question: Question, candidate: Candidate, seed: int) -> Run:
    """Return the run of a candidate with a seed; candidates with the same seed have the same traffic."""
    faults = question.faults(seed)
    options = {**question.options(), **candidate.options(question.members), "seed": seed}
    if faults:
        options["faults"] = faults
    return Run(tuple(options.items()), question.cores)


def measure(run: Run) -> Measured:
    """Simulate a run."""
    return measured(simulate_live(live_setup(run.given)), run)


def measured(result: LiveResult, run: Run) -> Measured:
    """Return what is of interest in a result."""
    seconds, cores = float(run.given["seconds"]), run.cores
    processor = result.host_load_max
    if cores:
        processor = max(processor, result.host_load_mean * result.members / cores)
    return Measured(
        p50_ms=_ms(result.tts_p50_us),
        p99_ms=_ms(result.tts_p99_us),
        bytes_per_s=result.sent_bytes / seconds / result.members,
        buffer_bytes=float(result.peak_bytes_max),
        delivery_p50_ms=_ms(result.delivery_p50_us),
        delivery_p99_ms=_ms(result.delivery_p99_us),
        messages=result.messages,
        blocked=result.blocked,
        completed=result.completed,
        processor=processor,
        busiest=result.host_load_member,
        link=result.link_load_max,
        step_ms=result.step_us / 1e3,
        views=result.views,
        datagrams=result.datagrams,
    )


def to_row(found: Measured) -> dict[str, Any]:
    """Return it as it is kept."""
    return asdict(found)


def from_row(row: Mapping[str, Any]) -> Measured:
    """Return what was kept."""
    return Measured(**row)


def _ms(us: float | None) -> float:
    return math.inf if us is None else us / 1e3
