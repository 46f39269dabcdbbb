"""Connections as data: who connects to whom and closes when, which of that has an effect, and who is told.

A connection is between a receiver and a sender.  Those of the start are the sender's receivers; the receiver
numbers later ones from 1.  Either side may close it.  The other side is told of that by the network after
``detect_ms``, unless the receiver has connected anew before: then the new connection says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from stablecast.errors import InvalidInput
from stablecast.simulate.faults import (
    CONNECT,
    DISCONNECT,
    DROP,
    LOSE_RECEIVER,
    LOSE_SENDER,
    PS_PER_MS,
    Fault,
    Schedule,
)

PAIRWISE = (CONNECT, DISCONNECT, DROP)
Pair = tuple[int, int]
"""Sender and receiver."""


@dataclass
class _Connection:
    """What a receiver takes for its connection to a sender."""

    number: int = 0
    is_open: bool = False
    told_at: int | None = None
    """When the receiver is told that the sender has closed it."""
    notice: Fault | None = field(default=None)
    """What tells the sender that the receiver has closed it."""


def changes_of(schedule: Schedule) -> list[Fault]:
    """Return the steps of a schedule that concern connections."""
    return [fault for fault in schedule.faults if fault.what in PAIRWISE]


def with_connections(
    schedule: Schedule, leaders: Sequence[int], audiences: Sequence[Sequence[int]], told_after_ms: float
) -> Schedule:
    """Return the same faults, with connections numbered, steps without effect left out, and all told.

    Below 0 nobody is told.
    """
    after = round(told_after_ms * PS_PER_MS) if told_after_ms >= 0 else None
    known: dict[Pair, _Connection] = {}
    for sender, audience in zip(leaders, audiences, strict=True):
        known |= {(sender, receiver): _Connection(is_open=True) for receiver in audience}
    told: list[Fault] = []
    for step in changes_of(schedule):
        sender, receiver = _pair(step)
        if sender not in leaders or sender == receiver:
            raise InvalidInput(
                f"faults: member {sender} sends nothing to member {receiver} (accepted: one of the senders"
                f" {', '.join(map(str, leaders))}, and another member)"
            )
        told += _taken(known.setdefault((sender, receiver), _Connection()), step, after)
    told += [one.notice for one in known.values() if one.notice is not None]
    others = [fault for fault in schedule.faults if fault.what not in PAIRWISE]
    return replace(schedule, faults=tuple(sorted([*others, *told])))


def _pair(step: Fault) -> Pair:
    return (step.member, step.side) if step.what == DROP else (step.side, step.member)


def _taken(connection: _Connection, step: Fault, after: int | None) -> Iterator[Fault]:
    """Take a step; yield what happens by it, apart from a notice that a new connection may forestall."""
    if connection.told_at is not None and connection.told_at <= step.at_ps:
        connection.is_open, connection.told_at = False, None
    if step.what == CONNECT and not connection.is_open:
        if connection.notice is not None and connection.notice.at_ps < step.at_ps:
            yield connection.notice
        connection.notice = None
        connection.number += 1
        connection.is_open = True
        yield replace(step, number=connection.number)
    elif step.what == DISCONNECT and connection.is_open:
        connection.is_open, connection.told_at = False, None
        yield replace(step, number=connection.number)
        if after is not None:
            connection.notice = Fault(
                step.at_ps + after, LOSE_RECEIVER, step.side, step.member, connection.number
            )
    elif step.what == DROP and connection.is_open and connection.told_at is None:
        yield replace(step, number=connection.number)
        if after is not None:
            connection.told_at = step.at_ps + after
            yield Fault(connection.told_at, LOSE_SENDER, step.side, step.member, connection.number)


def drawn_changes(
    leaders: Sequence[int],
    audiences: Sequence[Sequence[int]],
    members: int,
    *,
    per_s: float,
    lasting_ms: float,
    until_ms: float,
    seed: int,
) -> list[Fault]:
    """Draw receivers that connect to senders, as a Poisson process, and disconnect after a while.

    Each connects to a sender whose receiver it is not at that time; connections of the start stay.
    """
    rng = np.random.default_rng([seed, 0x636F6E6E])
    free_at: dict[Pair, float] = {}
    for sender, audience in zip(leaders, audiences, strict=True):
        free_at |= {(sender, receiver): np.inf for receiver in (*audience, sender)}
    found: list[Fault] = []
    at = float(rng.exponential(1000 / per_s))
    while at < until_ms:
        free = [(s, r) for s in leaders for r in range(members) if free_at.get((s, r), 0.0) <= at]
        if free:
            sender, receiver = free[int(rng.integers(len(free)))]
            end = at + float(rng.exponential(lasting_ms))
            free_at[sender, receiver] = end
            found.append(Fault(round(at * PS_PER_MS), CONNECT, receiver, sender))
            found.append(Fault(round(end * PS_PER_MS), DISCONNECT, receiver, sender))
        at += float(rng.exponential(1000 / per_s))
    return found
