"""What a run of bimodal multicast measured: buffers, deliveries, and where all-or-none was violated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling.views import Rows
from stablecast.frontier.sets import BITS
from stablecast.multicast.buffer_policy import BUFFERERS, MILLI, TWO_BUFFERS
from stablecast.multicast.identifiers import Messages, message_count
from stablecast.protocols.contract import Member, Number, Sizes
from stablecast.theory.buffering import failure

US_PER_PS = 1e-6


class Counters(Member):
    """What a member counts for results."""

    delivered: Number
    duplicates: Number
    firsts: Number
    """Deliveries of messages that were multicast for the first time."""
    omitted: Messages
    """Those of its messages that it did not multicast, by a send omission."""
    requests: Number
    """Messages that it asked for."""
    repairs: Number
    repairs_twice: Number
    """Repairs that came to it and brought what it had."""
    forwards: Number
    recasts: Number


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """Of a run that delivers messages itself."""

    messages_delivered: int
    """Messages that someone delivered."""
    deliveries: int
    """Deliveries at all members; each of a message of its own, or this would be more than what they have."""
    violations: int
    """Messages that some delivered and others did not, of the live members that were there when they were
    sent: neither all nor none."""
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
    repairs_twice: int
    """Repairs that brought what their receiver had."""
    repair_rounds_mean: float
    """Rounds from a message's first delivery to its last, of those that came to all whom it was owed."""
    repair_rounds_max: int
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
    sizes: Sizes, rows: Rows, alive: NDArray[np.bool_], before: NDArray[np.integer[Any]], now_ps: int
) -> Delivery:
    """Read what the members have counted, and their sets of messages.

    ``before`` has for each member what each source had sent before the member joined.  A message is owed to
    those that were there at its sending and are there at the end.  It violates all-or-none if one of these
    lacks it though another one has delivered it.
    """
    messages, members = message_count(sizes), sizes.group
    owed = _owed(sizes, before)
    delivered = _bits(rows.array("got"), messages) & owed & alive[:, None]
    had, due = delivered.sum(axis=0), (owed & alive[:, None]).sum(axis=0)
    late: NDArray[np.bool_] = before.max(axis=1) > 0
    rounds = _repair_rounds(rows, delivered & ~late[:, None], (had > 0) & (had == due))
    places = _bits(rows.array("kept"), messages).sum(axis=0)
    peaks = rows.column("held_max").copy()
    omitted = _bits(rows.array("omitted"), messages).any(axis=0)
    # A sender is there when it sends, and has its own messages.
    expected = int(owed[:, ~omitted].sum()) - int((~omitted).sum())
    # Who joins may get what a sender sent just before, and crashed: more than was expected of it.
    p_loss = max(0.0, 1 - _total(rows, "firsts") / expected) if expected else 0.0
    hashed = sizes.params["policy"] in (BUFFERERS, TWO_BUFFERS)
    copies = sizes.params["copies"] / MILLI
    return Delivery(
        messages_delivered=int((had > 0).sum()),
        deliveries=_total(rows, "delivered"),
        violations=int(((had > 0) & (had < due)).sum()),
        # Adding nothing turns a zero that came out negative into the usual one.
        p_fail=failure(members, min(copies, members), p_loss) + 0.0 if hashed and members > 1 else None,
        p_loss=p_loss,
        buffer_max=int(peaks.max()),
        buffer_mean=float(rows.column("held_us").mean() / (now_ps * US_PER_PS)) if now_ps else 0.0,
        buffer_peak_mean=float(peaks.mean()),
        unbuffered=int((places == 0).sum()),
        places_mean=float(places.mean()),
        repairs=_total(rows, "repairs"),
        repairs_twice=_total(rows, "repairs_twice"),
        repair_rounds_mean=float(rounds.mean()) if rounds.size else 0.0,
        repair_rounds_max=int(rounds.max(initial=0)),
        requests=_total(rows, "requests"),
        forwards=_total(rows, "forwards"),
        recasts=_total(rows, "recasts"),
        duplicates=_total(rows, "duplicates"),
        omitted=int(omitted.sum()),
        evicted=_total(rows, "evicted"),
        peaks=peaks,
        places=places,
    )


def _owed(sizes: Sizes, before: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Return for each member which messages were not sent before it joined."""
    numbers = np.arange(sizes.params["messages"])
    owed: NDArray[np.bool_] = numbers >= before[:, :, None]
    return owed.reshape(before.shape[0], -1)


def _repair_rounds(rows: Rows, delivered: NDArray[np.bool_], whole: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return, for messages that came to all, the rounds between the first and the last delivery.

    Members count their own rounds, which begin at phases of their own: each is right to within one.  Those
    that joined later count from then on, and are left out.
    """
    since = rows.array("since").astype(np.int64)
    last = np.where(delivered, since, 0).max(axis=0)
    first = np.where(delivered, since, last).min(axis=0)
    counted: NDArray[np.int64] = (last - first)[whole]
    return counted


def _total(rows: Rows, name: str) -> int:
    """Return the sum of a number of all members."""
    return int(rows.column(name).sum())


def _bits(sets: NDArray[np.integer[Any]], count: int) -> NDArray[np.bool_]:
    """Return sets as rows of true and false."""
    bits = (sets[:, :, None] >> np.arange(BITS)) & 1
    return bits.reshape(sets.shape[0], -1)[:, :count].astype(np.bool_)
