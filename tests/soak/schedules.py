"""Fault schedules: everything that befalls a group in one run on the in-memory network, drawn from a seed.

    schedule = make_schedule(7)
    print(schedule)

A schedule says what the group is like, what its network does all the time, and what happens when: the same
seed gives the same run, so a run that went wrong is told by its seed alone.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, fields

from stablecast.engine.choice import live_protocols

BEGIN_S = 1.0
"""When faults begin; by then a group usually is together."""
SPAN_S = 2.0
"""For how long faults begin."""
MEMBERS_LEAST, MEMBERS_MOST = 2, 7

SMALL, LARGE, HUGE = (0, 1, 20, 100, 400), (3_000, 9_000), (70_000,)
KINDS = ("crash", "restart", "pause", "partition", "leave", "join", "slow", "deaf")


@dataclass(frozen=True)
class Fault:
    """Something that happens to a process, or to the network."""

    at_s: float
    kind: str
    """
    ``crash``: a process ends without a word.  ``restart``: the same, and later another one takes its name and
    address.  ``pause``: it stops, as by SIGSTOP, and goes on later.  ``partition``: nothing passes between
    two sides for a while.  ``leave``, ``join``: a process leaves, or a new one joins.  ``slow``: its
    application takes nothing for a while.  ``deaf``: nothing passes from one process to another for a while.
    """
    who: int
    """Which of the processes that live then, counted around; for a partition, one side as bits."""
    for_s: float
    """How long it lasts, for what does."""
    other: int = 0
    """Whom a deaf process does not hear, counted like ``who``."""


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """One run."""

    seed: int
    protocol: str
    members: int
    """Processes at the beginning."""
    is_together: bool
    """Whether all start at once, with the first two as everyone's contacts, and not one after the other."""
    messages: int
    """Messages that each process sends."""
    burst: int
    """Messages that it sends at a time."""
    gap_s: float
    """Mean time between two bursts."""
    sizes: tuple[int, ...]
    """Bytes that a message may have; each is as probable as the others."""
    deliver: str
    copies: int | None
    """Members that keep a message until it is stable, after a short while; None if all do."""
    buffer_bytes: int
    queue_messages: int
    """Deliveries that wait for an application before no more is taken in."""
    is_keyed: bool
    """Whether the group has a key."""
    largest: int
    """Bytes of a datagram, at most."""
    socket_datagrams: int
    """Datagrams that wait for a process that does not take them."""
    loss: float
    calm_loss: float
    """Loss after the faults have ended."""
    duplicate: float
    reorder: float
    delay_s: tuple[float, float]
    patience: float
    """By how much all waits of membership are multiplied."""
    step_s: float
    """Time between two steps of the stability protocol."""
    exclude_after_s: float | None
    """After which a member that holds messages back is left out."""
    evicts: bool
    """Whether one that was left out again and again is banned for a while."""
    faults: tuple[Fault, ...]
    """In the order in which they begin."""

    @property
    def ends_at_s(self) -> float:
        """When the last fault is over."""
        return max((fault.at_s + fault.for_s for fault in self.faults), default=BEGIN_S)

    def __str__(self) -> str:
        """Tell all of it, a line for each fault."""
        named = [f"{field.name}={getattr(self, field.name)!r}" for field in fields(self)[:-1]]
        lines = [
            f"  {fault.at_s:.3f} s: {fault.kind} {fault.who}"
            + (f" from {fault.other}" if fault.kind == "deaf" else "")
            + (f" for {fault.for_s:.3f} s" if fault.for_s else "")
            for fault in self.faults
        ]
        return "\n".join([", ".join(named), *lines])


def make_schedule(seed: int) -> Schedule:
    """Draw a schedule; protocols take turns with seeds."""
    rng = random.Random(f"schedule {seed}")
    names = live_protocols()
    members = rng.randint(MEMBERS_LEAST, MEMBERS_MOST)
    patience = rng.choice((0.2, 0.25, 0.3, 0.5, 1.0))
    loss = rng.choice((0.0, 0.02, 0.1, 0.25))
    sizes = _sizes(rng)
    copies = rng.choice((None, None, None, None, 1, 3))
    return Schedule(
        seed=seed,
        protocol=names[seed % len(names)],
        members=members,
        is_together=rng.random() < 0.2,
        messages=_messages(rng, max(sizes)),
        burst=rng.choice((1, 1, 3, 10)),
        gap_s=rng.choice((0.02, 0.1)),
        sizes=sizes,
        deliver=rng.choice(("received", "received", "stable")) if copies is None else "received",
        copies=copies,
        buffer_bytes=rng.choice((64 << 10, 64 << 10, 256 << 10, 64 << 20)),
        queue_messages=rng.choice((5, 50, 100_000)),
        is_keyed=rng.random() < 0.5,
        largest=rng.choice((600, 1_400, 1_400, 9_000)),
        socket_datagrams=rng.choice((20, 1_000)),
        loss=loss,
        calm_loss=rng.choice((0.0, min(loss, 0.1))),
        duplicate=rng.choice((0.0, 0.1)),
        reorder=rng.choice((0.0, 0.2)),
        delay_s=rng.choice(((0.0002, 0.0002), (0.0005, 0.002), (0.002, 0.02))),
        patience=patience,
        step_s=members * rng.choice((0.003, 0.006, 0.012)),
        exclude_after_s=rng.choice((None, None, 3.0 * patience)),
        evicts=rng.random() < 0.3,
        faults=_faults(rng, 3.0 * patience),
    )


def _messages(rng: random.Random, largest: int) -> int:
    """Draw how much each process sends; the larger messages are, the fewer there are of them."""
    if largest in HUGE:
        return rng.randint(2, 6)
    return rng.randint(3, 15) if largest in LARGE else rng.randint(10, 60)


def _sizes(rng: random.Random) -> tuple[int, ...]:
    sizes = rng.sample(SMALL, rng.randint(1, 3))
    if rng.random() < 0.3:
        sizes.append(rng.choice(LARGE))
    if rng.random() < 0.1:
        sizes.append(rng.choice(HUGE))
    return tuple(sizes)


def _faults(rng: random.Random, fail_after_s: float) -> tuple[Fault, ...]:
    """Draw what happens, with durations around the silence after which a member counts as failed."""
    count = rng.choice((0, 1, 1, 2, 2, 3, 4, 6))
    kinds = rng.sample(KINDS, rng.randint(1, len(KINDS)))
    faults = [_fault(rng, rng.choice(kinds), fail_after_s) for _ in range(count)]
    return tuple(sorted(faults, key=lambda fault: fault.at_s))


def _fault(rng: random.Random, kind: str, fail_after_s: float) -> Fault:
    is_lasting = kind in ("restart", "pause", "partition", "slow", "deaf")
    return Fault(
        at_s=BEGIN_S + SPAN_S * rng.random(),
        kind=kind,
        who=rng.getrandbits(8),
        for_s=fail_after_s * rng.choice((0.05, 0.5, 1.0, 1.5, 3.0)) * (0.5 + rng.random())
        if is_lasting
        else 0.0,
        other=rng.getrandbits(8),
    )
