"""How long and how much acknowledgements take: the closed forms of the timestamp paper.

A sender `s` sends at least every `t_send`, a receiver `r` acknowledges at least every `t_ack`. A message
takes up to ``l[s][r]``; an acknowledgement up to ``l'[r][s]``, from the first one sent to the first one
received, so that loss is in it. :func:`vector_latency` is the paper's `t_1` and :func:`timestamp_latency` its
`t_2`: how long after sending a message its sender knows that all have it, at most. Numbers are whole or
fractions, and so are results; nothing is rounded.

`t_2` waits for the next message of every sender, also of the message's own; but nobody waits for that one,
as the message itself carries its timestamp. :func:`sharp_timestamp_latency` leaves it out and takes the
offsets of clocks in. That is the least upper bound; `t_2` is larger wherever a sender's own channel is
the longest, and for a single sender, where it should be `t_1`, by `t_send`.
Where a print is wrong, the function computes what is right and a ``printed_...`` twin keeps the print.

References
----------
.. [1] K. Berket, R. Koch, L. E. Moser, P. M. Melliar-Smith, "Timestamp Acknowledgments for Determining
   Message Stability".
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stablecast.errors import InvalidInput, unknown_name

Exact: TypeAlias = int | Fraction
Matrix: TypeAlias = Sequence[Sequence[Exact]] | NDArray[Any]
Rows: TypeAlias = tuple[tuple[Exact, ...], ...]

ACK_PROTOCOLS: Final = ("timestamp", "vector", "explicit", "transitive")
"""The acknowledgements that section 1 and section 4 compare."""


@dataclass(frozen=True)
class Channels:
    """Checked latencies of all channels; made by :func:`channels`."""

    message: Rows
    """``message[s][r]``: the longest that a message of `s` takes to `r`."""
    ack: Rows
    """``ack[r][s]``: the longest that an acknowledgement of `r` takes to `s`."""
    t_send: Exact
    t_ack: Exact
    receivers: tuple[tuple[int, ...], ...]
    """The receiver group of each sender."""
    senders: tuple[tuple[int, ...], ...]
    """The sender group of each receiver."""


def channels(
    message: Matrix,
    ack: Matrix,
    t_send: Exact,
    t_ack: Exact,
    connected: Sequence[Sequence[bool]] | None = None,
) -> Channels:
    """Check latencies and put them together.

    Parameters
    ----------
    message : matrix
        One row a sender, one column a receiver; whole numbers or fractions, none negative.
    ack : matrix
        One row a receiver, one column a sender.
    t_send, t_ack : int or Fraction
        Longest pause of a sender, and of a receiver; above 0.
    connected : matrix of bool, optional
        ``connected[s][r]``: whether `r` is in the receiver group of `s` and so `s` in the sender group of
        `r`. By default all are. Latencies of other pairs play no part.
    """
    down, up = _matrix("message", message), _matrix("ack", ack)
    count, width = len(down), len(down[0])
    if (len(up), len(up[0])) != (width, count):
        raise InvalidInput(
            f"ack must have a row for each of {width} receivers and a column for each of {count} senders,"
            f" got {len(up)} rows of {len(up[0])}"
        )
    pairs = [[True] * width] * count if connected is None else [list(map(bool, row)) for row in connected]
    if len(pairs) != count or any(len(row) != width for row in pairs):
        raise InvalidInput(f"connected must have {count} rows of {width}, as message has")
    receivers = tuple(tuple(r for r in range(width) if pairs[s][r]) for s in range(count))
    senders = tuple(tuple(s for s in range(count) if pairs[s][r]) for r in range(width))
    if not all(receivers) or not all(senders):
        raise InvalidInput("every sender needs a receiver and every receiver a sender")
    return Channels(
        down, up, _positive("t_send", t_send), _positive("t_ack", t_ack), receivers=receivers, senders=senders
    )


FIGURE_2: Final = Channels(
    message=((2, 2), (5, 5)),
    ack=((4, 8), (4, 8)),
    t_send=1,
    t_ack=1,
    receivers=((0, 1), (0, 1)),
    senders=((0, 1), (0, 1)),
)
"""Figure 2: two senders, two receivers. Its text allows no others (``docs/papers/timestamp.md``)."""


def vector_latency(of: Channels) -> tuple[Exact, ...]:
    """Return `t_1` of each sender, with vector acknowledgements (section 4).

    ``max over r of (l[s][r] + l'[r][s]) + t_ack``: the longest round trip and a wait.

    Examples
    --------
    >>> vector_latency(FIGURE_2)
    (7, 14)
    """
    return tuple(
        max(of.message[s][r] + of.ack[r][s] for r in group) + of.t_ack for s, group in enumerate(of.receivers)
    )


def timestamp_latency(of: Channels) -> tuple[Exact, ...]:
    """Return `t_2` of each sender, with timestamp acknowledgements, as the paper has it (section 4).

    ``t_send + t_ack + max over r and s of (l[s][r] + l'[r][s'])`` for a sender `s'`. An upper bound, not
    always the least; see :func:`sharp_timestamp_latency`.

    Examples
    --------
    >>> timestamp_latency(FIGURE_2)
    (11, 15)
    """
    slowest = [max(of.message[s][r] for s in group) for r, group in enumerate(of.senders)]
    return tuple(
        of.t_send + of.t_ack + max(slowest[r] + of.ack[r][s] for r in group)
        for s, group in enumerate(of.receivers)
    )


def sharp_timestamp_latency(of: Channels, offsets: Sequence[Exact] | None = None) -> tuple[Exact, ...]:
    """Return the least upper bound on each sender's latency with timestamp acknowledgements.

    A message of `s'` is covered at `r` once it is there itself, and from every other sender one with a
    timestamp no lower. The latter is sent less than ``t_send + offset[s'] - offset[s]`` after it.

    Parameters
    ----------
    of : Channels
        The latencies.
    offsets : sequence of int or Fraction, optional
        By how much each sender's clock is ahead of true time; none by default. Only differences count. Holds
        once all have been sending for as long as that; :func:`skewed_latency` from the start.

    Examples
    --------
    >>> sharp_timestamp_latency(FIGURE_2)
    (11, 14)
    """
    ahead = [0] * len(of.message) if offsets is None else [_exact("offset", value) for value in offsets]
    if len(ahead) != len(of.message):
        raise InvalidInput(f"offsets must have {len(of.message)} entries, one a sender, got {len(ahead)}")
    return _latency(of, lambda s, q: ahead[s] - ahead[q])


def skewed_latency(of: Channels, skew: Exact) -> tuple[Exact, ...]:
    """Return the least upper bound when any two senders' clocks differ by up to `skew` (section 5).

    The worst for a sender is that all other clocks are `skew` behind its own, which is as if the others sent
    every ``t_send + skew``. So a skew costs at most itself. The clocks of receivers play no part.
    """
    if _exact("skew", skew) < 0:
        raise InvalidInput(f"skew must not be negative, got {skew}")
    return _latency(of, lambda s, q: skew)


def logical_latency(
    of: Channels, *, same_nodes: bool = False, skew: Exact | None = None
) -> tuple[Exact, ...]:
    """Return an upper bound on each sender's latency with logical or hybrid clocks (section 5, extended).

    A sender that lags has to hear of the message's timestamp before it sends a higher one. It does so through
    an acknowledgement of a receiver `q` that both have, if acknowledgements carry the receiver's clock:
    ``l[s'][q] + t_ack + l'[q][s]`` after the message was sent, for the best `q`.

    Parameters
    ----------
    of : Channels
        The latencies.
    same_nodes : bool
        Whether sender `i` and receiver `i` are one node with one clock. It then hears of the timestamp by the
        message itself, after ``l[s'][s]``.
    skew : int or Fraction, optional
        For hybrid clocks: physical ones that differ by no more and rise to what they hear. A sender then lags
        no longer than that either.
    """
    if same_nodes and len(of.message) != len(of.ack):
        raise InvalidInput("same_nodes needs as many receivers as senders")

    def catches_up(s: int, q: int) -> Exact:
        ways = [of.message[s][r] + of.t_ack + of.ack[r][q] for r in of.receivers[s] if q in of.senders[r]]
        if same_nodes and q in of.receivers[s]:
            ways.append(of.message[s][q])
        if skew is not None:
            ways.append(skew)
        if not ways:
            raise InvalidInput(f"sender {q} shares no receiver with sender {s} to hear its clock from")
        return min(ways)

    return _latency(of, catches_up)


def lower_bound(of: Channels) -> tuple[Exact, ...]:
    """Return ``t_1 + t_send``, which `t_2` is never below: inequality (1) with what it leaves out."""
    return tuple(latency + of.t_send for latency in vector_latency(of))


def upper_bound(of: Channels) -> tuple[Exact, ...]:
    """Return the right side of inequality (2): ``max over s of t_1[s] + t_1[s'] + t_send - t_ack``."""
    latencies = vector_latency(of)
    return tuple(max(latencies) + latency + of.t_send - of.t_ack for latency in latencies)


def symmetric_bound(of: Channels) -> Exact:
    """Return ``max over s of t_1[s] + t_send``, which bounds every `t_2` where ``l[s][r] = l'[r][s]``.

    It is the `t_2` of the sender with the longest channel, so it cannot be lowered.
    """
    pairs = [(s, r) for s, group in enumerate(of.receivers) for r in group]
    for s, r in pairs:
        down, up = of.message[s][r], of.ack[r][s]
        if down != up:
            raise InvalidInput(f"the channels of sender {s} and receiver {r} differ: {down} and {up}")
    return max(vector_latency(of)) + of.t_send


def ack_bytes(
    protocol: str,
    senders: int,
    receivers: int,
    *,
    header_bytes: int,
    entry_bytes: int,
    rate: Exact = 1,
    t_ack: Exact = 1,
    predecessors: Exact | None = None,
    carriers: int | None = None,
    unicast: bool = False,
) -> Exact:
    """Return the bytes of all acknowledgements sent in `t_ack` (sections 1 and 4).

    Parameters
    ----------
    protocol : str
        One of :data:`ACK_PROTOCOLS`.
    senders, receivers : int
        How many there are; every receiver has every sender.
    header_bytes, entry_bytes : int
        Of a message, and of a timestamp, a sequence number or a message's identifier.
    rate, t_ack : int or Fraction
        Messages of each sender per unit of time; ``rate * t_ack`` is for ``explicit`` and ``transitive``.
    predecessors : int or Fraction, optional
        Direct causal predecessors that a message names; by default one of every other sender, the most.
    carriers : int, optional
        Receivers whose transitive acknowledgements ride in messages that they send anyway; the others send
        one message of their own in `t_ack`. By default as many as there are senders.
    unicast : bool
        Whether an acknowledgement goes to each sender in a message of its own. A vector then shrinks to that
        sender's entry, and the timestamp saves nothing.
    """
    if protocol not in ACK_PROTOCOLS:
        raise unknown_name("protocol", protocol, ACK_PROTOCOLS)
    _count(senders, receivers)
    _whole("header_bytes", header_bytes, 0)
    _whole("entry_bytes", entry_bytes, 1)
    messages = _positive("rate", rate) * _positive("t_ack", t_ack)
    one = header_bytes + entry_bytes
    if protocol == "explicit":
        return receivers * senders * messages * one
    if protocol == "transitive":
        riding = min(senders, receivers) if carriers is None else carriers
        _whole("carriers", riding, 0, min(senders, receivers))
        named, named_by_others = (
            (senders - 1, senders) if predecessors is None else (predecessors, predecessors)
        )
        if not 0 <= named_by_others <= senders:
            raise InvalidInput(f"predecessors must be between 0 and {senders}, got {predecessors}")
        alone = (receivers - riding) * (header_bytes + named_by_others * entry_bytes)
        return riding * messages * named * entry_bytes + alone
    if unicast:
        return receivers * senders * one
    return receivers * (one if protocol == "timestamp" else header_bytes + senders * entry_bytes)


def stamping_bytes(
    senders: int,
    *,
    header_bytes: int,
    stamp_bytes: int,
    rate: Exact,
    t_send: Exact,
    t_ack: Exact,
    idle: int = 0,
) -> Exact:
    """Return what timestamps cost beyond acknowledgements, in `t_ack`: they are in every message.

    ``idle`` senders have nothing to send and send an empty message every `t_send`; the others send `rate`
    messages per unit of time. The paper counts neither.
    """
    _whole("senders", senders, 1)
    _whole("idle", idle, 0, senders)
    empty = Fraction(_positive("t_ack", t_ack)) / Fraction(_positive("t_send", t_send))
    return (senders - idle) * rate * t_ack * stamp_bytes + idle * empty * (header_bytes + stamp_bytes)


def ack_steps(protocol: str, senders: int, receivers: int) -> dict[str, int]:
    """Return comparisons for one acknowledgement at its ``receiver`` and at a ``sender`` (section 4).

    The paper keeps vectors sorted: a new entry finds its place among N by ``ceil(log2 N)`` comparisons. A
    receiver with timestamps does so for every sender; with vectors it copies N_s entries.
    """
    _count(senders, receivers)
    counts = {"timestamp": senders * _log2(senders), "vector": senders}
    if protocol not in counts:
        raise unknown_name("protocol with counts in the paper", protocol, counts)
    return {"receiver": counts[protocol], "sender": _log2(receivers)}


def scan_steps(senders: int, receivers: int) -> dict[str, int]:
    """Return comparisons for one timestamp acknowledgement when both ends just look for the least entry.

    ``N_s - 1`` at the receiver, below the paper's ``N_s log N_s``: sorting is not needed there either.
    """
    _count(senders, receivers)
    return {"receiver": senders - 1, "sender": receivers - 1}


def buffer_messages(latency: Exact, rate: Exact) -> int:
    """Return how many messages a sender holds at most: latency times rate, rounded up (section 4, corrected).

    A message that becomes stable at the instant of a send leaves first.
    """
    return math.ceil(_positive("latency", latency) * _positive("rate", rate))


def printed_buffer(latency: Exact, rate: Exact) -> Fraction:
    """Return the buffer as section 4 prints it, the latency *divided by* the rate; no number of messages."""
    return Fraction(_positive("latency", latency)) / Fraction(_positive("rate", rate))


def _latency(of: Channels, lag: Callable[[int, int], Exact]) -> tuple[Exact, ...]:
    """Return each sender's latency if another one's clock reaches its timestamp `lag` later."""

    def covered(s: int, r: int) -> Exact:
        waits = [lag(s, q) + of.t_send + of.message[q][r] for q in of.senders[r] if q != s]
        return max([of.message[s][r], *waits])

    return tuple(
        of.t_ack + max(covered(s, r) + of.ack[r][s] for r in group) for s, group in enumerate(of.receivers)
    )


def _log2(count: int) -> int:
    return (count - 1).bit_length()


def _exact(name: str, value: Any) -> Exact:
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise InvalidInput(f"{name} must be a whole number or a Fraction, got {value!r}")
    return value


def _positive(name: str, value: Any) -> Exact:
    exact = _exact(name, value)
    if exact <= 0:
        raise InvalidInput(f"{name} must be above 0, got {value}")
    return exact


def _whole(name: str, value: int, lowest: int, highest: int | None = None) -> None:
    if not isinstance(value, int) or value < lowest or (highest is not None and value > highest):
        accepted = f"of at least {lowest}" if highest is None else f"between {lowest} and {highest}"
        raise InvalidInput(f"{name} must be an integer {accepted}, got {value!r}")


def _count(senders: int, receivers: int) -> None:
    _whole("senders", senders, 1)
    _whole("receivers", receivers, 1)


def _matrix(name: str, values: Matrix) -> Rows:
    rows = values.tolist() if isinstance(values, np.ndarray) else values
    if not len(rows) or not all(isinstance(row, Sequence) and len(row) == len(rows[0]) > 0 for row in rows):
        raise InvalidInput(f"{name} must be a matrix with rows of the same length, none empty")
    checked = tuple(tuple(_exact(f"{name} latency", value) for value in row) for row in rows)
    lowest = min(min(row) for row in checked)
    if lowest < 0:
        raise InvalidInput(f"{name} latency must not be negative, got {lowest}")
    return checked
