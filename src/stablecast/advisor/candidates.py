"""What may be advised: the protocols that live groups run, and of their options those that matter for time.

The space is a product: protocols, their own options (``OPTIONS``), steps as multiples of the one by the
group's size, who sends the copies of messages, and, where buffers are to be small, who keeps them.  What a
group of this size cannot tell apart is there once: trees of a degree that all members fit below, say.  The
space is small on purpose.  A simulated second of it takes a minute, and finer steps differ by less than two
runs of the same set-up do.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stablecast.advisor.goals import LEAST_BUFFER, LEAST_BYTES, P99, SOONEST
from stablecast.advisor.question import Question
from stablecast.engine.attached import members_most
from stablecast.engine.choice import choose, live_protocols
from stablecast.engine.degrees import AUTO, DIRECT, RELAYS_FROM
from stablecast.engine.options import Options
from stablecast.engine.pace import PaceOptions, step_for
from stablecast.theory import trigger_optimum_messages

TWINS = ("coord",)
"""Protocols that differ from another one in a simulation's options alone."""
WITHOUT_STEPS = ("explicit", "transitive")
"""Protocols whose members acknowledge as messages come; the step is that of what was lost."""
STEPS = {
    SOONEST: (0.5, 1.0, 2.0),
    LEAST_BUFFER: (0.5, 1.0, 2.0),
    P99: (0.5, 1.0, 2.0, 4.0, 8.0),
    LEAST_BYTES: (1.0, 4.0, 16.0),
}
"""By goal, multiples of the step by size."""
DEGREES = (2, 4, 8, 16)
SUBGROUPS = (1, 3)
LOCAL_SIZES = (8, 25)
FAN_OUT_FROM = 24
"""Members from which on it may be worth it that others pass messages on."""
FAN_OUT = 8
LARGEST = 1400


@dataclass(frozen=True, order=True)
class Candidate:
    """A protocol with all that is advised beside it."""

    protocol: str
    params: tuple[tuple[str, int | str], ...] = ()
    steps: float = 1.0
    """The step, as a multiple of the one by the group's size."""
    fan_out: str = AUTO
    policy: str = Options.policy
    trigger_bytes: int = PaceOptions.trigger_bytes

    @property
    def label(self) -> str:
        """Name it in a few words."""
        words = [f"{name}={value}" for name, value in self.params]
        words += [f"step ×{self.steps:g}"] if self.steps != 1 else []
        words += [f"fan_out={self.fan_out}"] if self.fan_out != AUTO else []
        words += [self.policy] if self.policy != Options.policy else []
        words += [f"trigger_bytes={self.trigger_bytes}"] if self.has_trigger else []
        return f"{self.protocol} ({', '.join(words)})" if words else self.protocol

    @property
    def has_trigger(self) -> bool:
        """Whether a step begins at other than the usual number of unstable bytes."""
        return self.trigger_bytes != PaceOptions.trigger_bytes

    def step_s(self, members: int) -> float:
        """Return the step that it takes in a group of so many."""
        choice = choose(self.protocol)
        by_size = step_for(members, relays=choice.relays, takes_late=choice.takes_late)
        return float(f"{self.steps * by_size:.6g}")

    def options(self, members: int) -> dict[str, Any]:
        """Return its options of ``simulate live``; those that are at their defaults are left out."""
        found: dict[str, Any] = {"protocol": self.protocol, **dict(self.params)}
        if self.steps != 1:
            found["pace_step_s"] = self.step_s(members)
        if self.fan_out != AUTO:
            found["fan_out"] = self.fan_out
        if self.policy != Options.policy:
            found["policy"] = self.policy
        if self.has_trigger:
            found["trigger_bytes"] = self.trigger_bytes
        return found


def default_candidate() -> Candidate:
    """Return what a group runs that is told nothing."""
    return Candidate(str(Options.protocol))


def candidates(question: Question) -> list[Candidate]:
    """Return all that may be advised, in a fixed order."""
    found = dict.fromkeys(_all(question))
    found[default_candidate()] = None
    return sorted(found)


def _all(question: Question) -> Iterator[Candidate]:
    goal, members = question.wanted.name, question.members
    for protocol in live_protocols():
        if protocol in TWINS or not _takes(protocol, members):
            continue
        steps = STEPS[goal]
        if protocol in WITHOUT_STEPS:
            steps = (1.0, 4.0)
        for params, times, fan_out in itertools.product(
            _params(protocol, members), steps, _fan_outs(members)
        ):
            yield Candidate(protocol, params, times, fan_out)
            if goal == LEAST_BUFFER and members > 2 * Options.copies and times == 1:
                yield Candidate(protocol, params, times, fan_out, policy="two-buffers")
            trigger = _trigger_bytes(question) if goal == LEAST_BYTES and times == steps[-1] else 0
            if trigger > PaceOptions.trigger_bytes:
                yield Candidate(protocol, params, times, fan_out, trigger_bytes=trigger)


def _takes(protocol: str, members: int) -> bool:
    most = members_most(choose(protocol), LARGEST)
    return not most or members <= most


def _params(protocol: str, members: int) -> list[tuple[tuple[str, int | str], ...]]:
    """Return a protocol's own options that make a difference in a group of so many; none is the defaults."""
    if protocol in ("s_coord", "s_coordp", "s_train"):
        apart = [degree for degree in DEGREES if degree < members - 1]
        whole = [8] if members - 1 <= 8 else [16] if members - 1 <= 16 else []
        return [() if degree == 8 else (("tree_degree", degree),) for degree in {*apart, *whole}]
    if protocol == "gsgc":
        return [() if size == 3 else (("subgroup", size),) for size in SUBGROUPS if size < members]
    if protocol == "gsgc-local":
        sizes = [size for size in LOCAL_SIZES if size <= members // 2]
        return [(("local_size", size), ("subgroup", 2)) for size in sizes]
    if protocol in ("vector", "timestamp"):
        return [(), (("ack_to", "senders"),)]
    return [()]


def _fan_outs(members: int) -> tuple[str, ...]:
    if members < FAN_OUT_FROM:
        return (AUTO,)
    return (AUTO, DIRECT) if members >= RELAYS_FROM else (AUTO, str(FAN_OUT))


def _trigger_bytes(question: Question) -> int:
    """Return the largest safe number of unstable bytes to wait for (paper 000, section 6); 0 if none is.

    A sender has an equal share of the buffers; a round takes a round trip at least.  All senders together
    keep as many such shares.  A member begins a step at half-full buffers anyway, so more is no use.
    """
    held = question.buffer_bytes // question.members // question.message_bytes
    rate = question.rate_per_s / question.senders_there
    if held < 1:
        return 0
    found = trigger_optimum_messages(held, rate, max(question.trip_s, 1e-3), 1)
    if found is None:
        return 0
    most = question.buffer_bytes // 2
    return min(found * question.message_bytes * question.senders_there, most)
