"""What a run of bimodal multicast measured: buffers, deliveries, and where all-or-none was violated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.frontier.sets import BITS, words
from stablecast.multicast.buffer_policy import (
    AREA,
    BUFFERERS,
    COPIES,
    COUNT_MAX,
    DELIVERED,
    DUPLICATES,
    EVICTED,
    FIRSTS,
    FORWARDS,
    MESSAGES,
    MILLI,
    OMITTED,
    POLICY,
    RECASTS,
    REPAIRS,
    REQUESTS,
    TWO_BUFFERS,
)
from stablecast.protocols.contract.protocol import Sizes
from stablecast.theory.buffering import failure

US_PER_PS = 1e-6


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """Of a run that delivers messages itself."""

    messages_delivered: int
    """Messages that someone delivered."""
    deliveries: int
    """Deliveries at all members; each of a message of its own, or this would be more than what they have."""
    violations: int
    """Messages that some live members delivered and others did not: neither all nor none."""
    p_fail: float | None
    """Probability of that for one message by equation (3), with the loss that was measured; None where all
    keep every message."""
    p_loss: float
    """Share of the first multicasts that a member did not get."""
    buffer_max: int
    """Most messages in one member's buffer."""
    buffer_mean: float
    """Messages in a member's buffer, on average over time and members."""
    buffer_peak_mean: float
    """The most in a member's buffer, on average over members: the space that it needs."""
    unbuffered: int
    """Messages that nobody kept."""
    places_mean: float
    """Members that kept a message, on average."""
    repairs: int
    requests: int
    forwards: int
    recasts: int
    duplicates: int
    omitted: int
    evicted: int
    peaks: NDArray[np.int64] = field(repr=False, compare=False)
    """The most in each member's buffer."""
    places: NDArray[np.int64] = field(repr=False, compare=False)
    """For each message, the members that kept it at some time."""


def summarise(
    sizes: Sizes,
    reg: NDArray[np.int64],
    own: NDArray[np.integer[Any]],
    alive: NDArray[np.bool_],
    now_ps: int,
) -> Delivery:
    """Read the members' registers and sets."""
    messages = sizes.tracked * sizes.params[MESSAGES]
    size = int(words(messages))
    got = _bits(own[:, :size], messages)
    kept = _bits(own[:, 2 * size : 3 * size], messages)
    delivered = got[alive].sum(axis=0)
    places = kept.sum(axis=0)
    members = sizes.group
    expected = (members - 1) * (messages - int(reg[:, OMITTED].sum()))
    p_loss = 1 - float(reg[:, FIRSTS].sum()) / expected if expected else 0.0
    hashed = sizes.params[POLICY] in (BUFFERERS, TWO_BUFFERS)
    copies = sizes.params[COPIES] / MILLI
    return Delivery(
        messages_delivered=int((delivered > 0).sum()),
        deliveries=int(reg[:, DELIVERED].sum()),
        violations=int(((delivered > 0) & (delivered < alive.sum())).sum()),
        # Adding nothing turns a zero that came out negative into the usual one.
        p_fail=failure(members, min(copies, members), p_loss) + 0.0 if hashed and members > 1 else None,
        p_loss=p_loss,
        buffer_max=int(reg[:, COUNT_MAX].max()),
        buffer_mean=float(reg[:, AREA].mean() / (now_ps * US_PER_PS)) if now_ps else 0.0,
        buffer_peak_mean=float(reg[:, COUNT_MAX].mean()),
        unbuffered=int((places == 0).sum()),
        places_mean=float(places.mean()),
        repairs=int(reg[:, REPAIRS].sum()),
        requests=int(reg[:, REQUESTS].sum()),
        forwards=int(reg[:, FORWARDS].sum()),
        recasts=int(reg[:, RECASTS].sum()),
        duplicates=int(reg[:, DUPLICATES].sum()),
        omitted=int(reg[:, OMITTED].sum()),
        evicted=int(reg[:, EVICTED].sum()),
        peaks=reg[:, COUNT_MAX].copy(),
        places=places,
    )


def _bits(sets: NDArray[np.integer[Any]], count: int) -> NDArray[np.bool_]:
    """Return sets as rows of true and false."""
    bits = (sets[:, :, None] >> np.arange(BITS)) & 1
    return bits.reshape(sets.shape[0], -1)[:, :count].astype(np.bool_)
