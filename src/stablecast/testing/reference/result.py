"""What the plain driver returns: the whole trace of a run, and the same measurements as a ``Result``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.multicast.bimodal_result import Delivery
from stablecast.testing.reference.traffic import Event


@dataclass(frozen=True, kw_only=True)
class PlainRun:
    """What a plain run did and measured; times in picoseconds, kinds by their numbers."""

    events: list[Event]
    """Rows as in the compiled simulator's trace."""
    hops: dict[int, int]
    """Messages on all hops, by kind; data traffic included."""
    hop_bytes: dict[int, int]
    packet_hops: dict[int, int]
    """Packets on all hops, by kind."""
    carried_hop_bytes: int
    """Bytes of the protocol inside data messages, on all hops of the data."""
    host_ps: dict[int, int]
    """Time of all hosts to send and receive, by kind."""
    carried_host_ps: int
    """What the protocol's bytes inside data messages take of it."""
    sent: dict[int, int]
    """Messages handed to their sender's host, by kind; a multicast is one."""
    sent_bytes: dict[int, int]
    attached_bytes: int
    """Bytes that the protocol put into data messages, each message once."""
    operations: int
    """Comparisons and moves that the protocol counted, over all members."""
    finished_at_ps: int
    """When a member last finished an execution."""
    ended_at_ps: int
    """When the last event happened."""
    executions: int
    """Executions that the first member completed."""
    executions_started: int
    given_up: int
    """Times that the first member started anew while an execution was running."""
    completed: bool
    rounds: int
    queue_max: int
    queue_mean: float
    loads: list[int]
    """Messages on all links, each time that they were counted, until the last member finished."""
    host_queue_max: int
    dropped: int
    false_suspicions: int
    connect_times_ps: list[int]
    early: int
    join_times_ps: list[int]
    """How long members took to come in after the start, or again."""
    lost: int
    riders: int
    rider_bytes: int
    processed: list[int]
    """For each member, the messages of the protocol that it sent and received."""
    learned_at_ps: list[int]
    """For each member, when it learned the result of the newest execution that it knows one of."""
    rtt_ps: list[int]
    """For each member, the time that it took part in that execution by then."""
    root_rtt_ps: list[int]
    """For each execution, what it took the first member, if it came to know the result."""
    first_learned_ps: list[int]
    """For each execution with a result, from its start to the first and to the last member's knowing it."""
    last_learned_ps: list[int]
    round_trip_max_ps: int
    """The longest time from a start to the first member's knowing the result."""
    traffic: PlainTraffic | None
    delivery: Delivery | None
    """Of a protocol that delivers messages itself."""


class Stacked:
    """The states of members that each have memory of their own, a row for each."""

    def __init__(self, members: Sequence[Any]) -> None:
        self._members = members

    def array(self, name: str) -> NDArray[Any]:
        """Return an array of the state, a row for each member."""
        return np.stack([getattr(me, name) for me in self._members])

    def column(self, name: str) -> NDArray[Any]:
        """Return a number of the state for each member."""
        return np.array([getattr(me, name) for me in self._members])


@dataclass(frozen=True, kw_only=True)
class PlainTraffic:
    """What the data traffic of a plain run measured."""

    messages: int
    time_to_stable_ps: list[int]
    delivery_max_ps: int
    start_gap_max_ps: int
    buffer_max: int
    blocked: int
    first_buffer_max: int
    first_blocked: int
    held_max: int
    held_area: int
    """Time-integral, over all members, of the messages held."""
