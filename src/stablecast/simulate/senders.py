"""Who sends data, under which number, how often and how much: what both drivers make of a set-up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from stablecast.simulate.setup import Setup


def sender_members(setup: Setup) -> NDArray[np.int64]:
    """Return the members that send, spread evenly over the group, member 0 first."""
    senders = setup.sender_count
    return np.arange(senders) * setup.topology.member_count // senders


def sender_columns(setup: Setup) -> NDArray[np.int64]:
    """Return the column that each sender's messages are numbered in."""
    senders = setup.sender_count
    return np.arange(senders) * setup.column_count // senders


def sender_rates(setup: Setup) -> NDArray[np.float64]:
    """Return how many messages each sender sends in a second."""
    first = setup.traffic.first_rates
    rates = np.full(setup.sender_count, setup.traffic.rate_per_s)
    rates[: len(first)] = first
    return rates


def sender_intervals_ps(setup: Setup) -> NDArray[np.int64]:
    """Return the picoseconds between two messages of each sender."""
    return np.maximum(1, np.rint(1e12 / sender_rates(setup))).astype(np.int64)


def sender_messages(setup: Setup) -> NDArray[np.int64]:
    """Return how many messages each sender sends; one at another rate sends for the same time."""
    traffic = setup.traffic
    if traffic.messages == 0:
        return np.zeros(setup.sender_count, np.int64)
    meant = np.rint(traffic.messages * sender_rates(setup) / traffic.rate_per_s)
    return np.maximum(1, meant).astype(np.int64)
