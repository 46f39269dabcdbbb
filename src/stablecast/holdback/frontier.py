"""What one snapshot says: how far a log may be deleted, who stands in the way, and what if a reader went.

Theory
    Every reader r that the system keeps anything for needs the numbers above its position R[r].  So nothing
    that is kept is needed up to

        F = min(head, min of R[r] over these readers),

    the *frontier* (``stable_seq``), and the number after it is needed by everyone whose R[r] is F.  A log
    without such readers has F = head: nobody needs anything.  Whether that means that all may go is not for
    a minimum to say, and ``trim`` refuses it.
Blockers
    They are the readers at F, if F is below the head.  All that is kept above F is *held*.  The system has
    counted for each reader what is above its position, so what is held is the amount of a blocker, and no
    difference of numbers has to stand for a count of entries.
The counterfactual
    Without a set of readers the frontier is the minimum over the others.  What would go free is the amount
    above the frontier now less the amount above the frontier then; the next blockers are the readers there.
    Two readers at one position hold the same entries, so without one of them nothing goes free, and
    ``frees`` of each is nothing.
What can go wrong
    A reader that the system does not know cannot be waited for.  A position that is lower than it need be
    holds back too much, never too little.  Amounts that are estimated give differences that are estimated;
    they are marked.
The same as ``analyze``
    ``stable_seq``, ``waiting_for``, ``lag``, ``without_seq`` and ``blocks`` are the columns of the tables of
    positions, for the last moment of a history.  A test collects snapshots and compares.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

from stablecast.holdback.model import NOTHING, Amount, Log, Reader

WAITING_NAMES = 10
"""How many of those that a log waits for are named, as in ``analyze``."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How one reader stands."""

    reader: Reader
    lag: int
    """How many numbers it lacks; none if the system keeps nothing for it."""
    blocks: bool
    """Whether the log waits for it now."""
    without_seq: int
    """Where the frontier would be without this reader."""
    frees: Amount
    """What would go free without it."""
    next_blockers: tuple[str, ...]
    """Who would stand in the way then."""
    lost: bool
    """Whether it lacks numbers that are no longer kept."""


@dataclass(frozen=True, slots=True)
class Frontier:
    """How one log stands."""

    log: Log
    stable_seq: int
    """Everything up to here may be deleted."""
    held: Amount
    """What is kept above it."""
    deletable: Amount
    """What is kept up to it."""
    waiting_for: tuple[str, ...]
    """Names of readers that lack the next number, in the order of names."""
    since_us: int | None
    """When that number was sent."""
    standings: tuple[Standing, ...]
    """The readers, the one that holds the most first."""


def frontier_of(log: Log) -> Frontier:
    """Return what a log's heads and positions say."""
    holding = sorted((reader for reader in log.readers if reader.holds), key=lambda one: _rank(log, one))
    stable = _reached(log, holding[0]) if holding else log.head
    waiting = [one for one in holding if _reached(log, one) == stable] if stable < log.head else []
    held = waiting[0].behind if waiting else NOTHING
    others = [reader for reader in log.readers if not reader.holds]
    return Frontier(
        log=log,
        stable_seq=stable,
        held=held,
        deletable=log.kept.less(held),
        waiting_for=tuple(sorted(one.member for one in waiting)),
        since_us=min(
            (one.behind_since_us for one in waiting if one.behind_since_us is not None), default=None
        ),
        standings=tuple(_standing(log, one, holding, stable, held) for one in [*holding, *others]),
    )


def without(log: Log, names: Set[str]) -> Frontier:
    """Return how a log would stand if some readers were not there."""
    kept = tuple(reader for reader in log.readers if reader.member not in names)
    return frontier_of(replace(log, readers=kept))


def freed(log: Log, names: Set[str]) -> Amount:
    """Return what would go free if some readers were not there."""
    return frontier_of(log).held.less(without(log, names).held)


def _reached(log: Log, reader: Reader) -> int:
    """Return up to where a reader needs nothing; having nothing is to need all that was ever sent."""
    return min(log.head, log.first_seq - 1 if reader.position is None else reader.position)


def _rank(log: Log, reader: Reader) -> tuple[int, str]:
    return _reached(log, reader), reader.member


def _standing(log: Log, reader: Reader, holding: list[Reader], stable: int, held: Amount) -> Standing:
    """Say how a reader stands; ``holding`` is in order, so the least of the others is at its beginning."""
    reached = _reached(log, reader)
    lag = log.head - reached if reader.holds else 0
    least = next((one for one in holding[:2] if one is not reader), None)
    without_seq = log.head if least is None else _reached(log, least)
    blocks = lag > 0 and reached == stable
    goes_free = blocks and without_seq > stable
    after = _blockers(log, holding, without_seq, reader) if goes_free else ()
    left = NOTHING if without_seq >= log.head or least is None else least.behind
    return Standing(
        reader=reader,
        lag=lag,
        blocks=blocks,
        without_seq=without_seq,
        frees=held.less(left) if goes_free else NOTHING,
        next_blockers=after,
        lost=reader.lost or (reader.holds and reached < min(log.first_seq, log.head + 1) - 1),
    )


def _blockers(log: Log, holding: list[Reader], at: int, but: Reader) -> tuple[str, ...]:
    """Return who would be waited for at a frontier, at most ten; they follow the blocker in order."""
    if at >= log.head:
        return ()
    names = [
        one.member for one in holding[: WAITING_NAMES + 1] if one is not but and _reached(log, one) == at
    ]
    return tuple(names)
