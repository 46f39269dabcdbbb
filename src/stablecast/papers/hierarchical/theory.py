"""Exact counts for stability protocols on a near-complete tree.

The network of the hierarchical paper is a tree of degree `b` and height `p`, complete down to level
``p - 1``; every node of that level has `z` children (its *fill*), with ``1 <= z <= b``. One member lives on
each node and the root is the first member. Everything here follows from that shape alone, so the functions
return exact integers and need no simulator. Where a printed formula differs from what its own definition
gives, the function computes the definition and a ``printed_...`` twin keeps the print for comparison.

References
----------
.. [1] K. Guo, R. van Renesse, W. Vogels, K. Birman, "Hierarchical Message Stability Tracking Protocols".
"""

from fractions import Fraction
from typing import Final

from stablecast.errors import InvalidInput, unknown_name
from stablecast.theory.trees import check_random_tree, check_tree, geometric, group_size, power
from stablecast.theory.trigger import Number, trigger_bounds

PROTOCOLS: Final = ("coordp", "fulldist", "train", "s_coordp", "s_train")
"""The five protocols of sections 3 and 4, in the order of Table 1."""

PAPER_TABLE_1: Final[dict[str, dict[str, str]]] = {
    "coordp": {"rounds": "3", "coord": "n + 3", "other": "3"},
    "fulldist": {"rounds": "2", "member": "n + 1"},
    "train": {"rounds": "2n", "member": "4"},
    "s_coordp": {"rounds": "p + 2", "root": "b + 4", "internal": "b + 3", "leaf": "3"},
    "s_train": {"rounds": "bp + 2", "root": "5", "internal": "4 or 5", "leaf": "3 or 4"},
}
"""Table 1 as printed: rounds, and messages processed by role."""

PAPER_TABLE_3: Final[dict[tuple[int, int], int]] = {
    (2, 1): 47,
    (2, 2): 63,
    (3, 1): 202,
    (3, 2): 283,
    (3, 3): 364,
    (4, 1): 597,
    (4, 2): 853,
    (4, 3): 1109,
    (4, 4): 1365,
}
"""Table 3 as printed: group size at height 5 by ``(degree, fill)``."""


def ack_hops_coordp(degree: int, height: int, fill: int) -> int:
    """Return `F_a`, the hops of all ACKs of CoordP (section 5.3.1).

    Each member answers the root directly, so its ACK costs as many hops as the member is deep:
    ``F_a = sum(k * b**k for k < p) + p * z * b**(p-1)``. The printed closed form of the sum carries a
    stray factor; see :func:`printed_ack_hops_coordp`.
    """
    check_tree(degree, height, fill)
    b, p = degree, height
    bottom = p * fill * power(b, p - 1)
    if b == 1:
        return p * (p - 1) // 2 + bottom
    return (b - p * power(b, p) + (p - 1) * power(b, p + 1)) // (b - 1) ** 2 + bottom


def printed_ack_hops_coordp(degree: int, height: int, fill: int) -> Fraction:
    """Return the closed form of `F_a` as section 5.3.1 prints it.

    The term ``(p-1) * p * b**p / (1-b)`` should be ``(p-1) * b**p / (1-b)``; the two agree only at height 1.
    The print divides by ``1 - b`` and so has no value at degree 1.
    """
    check_tree(degree, height, fill)
    if degree == 1:
        raise InvalidInput("the printed F_a is undefined at degree 1; degrees of 2 and more are accepted")
    b, p, full = degree, height, power(degree, height)
    printed_sum = Fraction(b - full, (1 - b) ** 2) - Fraction((p - 1) * p * full, 1 - b)
    return printed_sum + p * fill * power(b, p - 1)


def ring_hops(degree: int, height: int, fill: int) -> int:
    """Return `F_d`, the hops of one tour ``1, 2, ..., n, 1`` of Train (section 5.3.1).

    Members are numbered level by level, left to right on odd depths and right to left on even ones.

    Notes
    -----
    Let ``E_k`` be the number of links down to level `k`. A walk from the root through all nodes of that
    level and back crosses each of those links twice, so the part between its first and last node takes
    ``2 * E_k - 2 * k`` hops. The alternating numbering makes each change of level a single hop, and the way
    home takes `p`. Adding up gives ``F_d = 2 * (E_1 + ... + E_p) - p * (p - 1)``, which is the printed form
    for degrees of 2 and more, and ``2 * p`` on a chain, where the print divides by zero.
    """
    check_tree(degree, height, fill)
    b, p = degree, height
    if b == 1:
        links_above_bottom = p * (p - 1) // 2
    else:
        links_above_bottom = (b * (power(b, p) - b) - b * (p - 1) * (b - 1)) // (b - 1) ** 2
    return 2 * (links_above_bottom + group_size(b, p, fill) - 1) - p * (p - 1)


def ack_hops_s_train(degree: int, height: int, fill: int) -> int:
    """Return `F_g`, the hops of all ACK1 and ACK2 messages of S_Train (section 5.3.1).

    A subgroup of `s` siblings passes its array along in ``s - 1`` ACK1 messages of two hops each and hands
    it to the parent in one ACK2 of one hop. There are ``1 + b + ... + b**(p-2)`` subgroups of size `b` and
    ``b**(p-1)`` of size `z`.
    """
    check_tree(degree, height, fill)
    return (2 * degree - 1) * geometric(degree, height - 1) + (2 * fill - 1) * power(degree, height - 1)


def printed_text_ack_hops_s_train(degree: int, height: int, fill: int) -> int:
    """Return `F_g` with the number of subgroups that the running text of section 5.3.1 gives.

    The text sums ``b**k`` from ``k = 1`` and so misses the subgroup under the root; the display below it
    starts at 0 and is right.
    """
    missing = 0 if height == 1 else 2 * degree - 1
    return ack_hops_s_train(degree, height, fill) - missing


def ack_chain_hops_s_train(degree: int, height: int, fill: int) -> int:
    """Return `H_h`, the hops of the longest chain of ACKs in S_Train (section 5.4.2).

    The print is ``p * (2 * (b - 1) + 1)``, which holds when the bottom level is full; in general the bottom
    subgroup contributes ``2 * z - 1``.
    """
    check_tree(degree, height, fill)
    return (height - 1) * (2 * degree - 1) + 2 * fill - 1


def hops(protocol: str, degree: int, height: int, fill: int) -> dict[str, int]:
    """Return the messages on all hops by type: one row of Table 4 (section 5.3.1).

    Parameters
    ----------
    protocol : str
        One of :data:`PROTOCOLS`.
    degree, height, fill : int
        The tree; see :func:`group_size`.

    Returns
    -------
    dict of str to int
        Keys ``START``, ``ACK``, ``INFO`` and ``total``.

    Notes
    -----
    The Train row is the table's: it books the very first hop under START. Section 3.3 sends an array on that
    hop, which would make the row ``START = 0, ACK = F_d``. The total is the same.
    """
    _check_protocol(protocol)
    others = group_size(degree, height, fill) - 1
    if protocol == "coordp":
        return _row(others, ack_hops_coordp(degree, height, fill), others)
    if protocol == "fulldist":
        return _row(0, 0, (others + 1) * others)
    if protocol == "train":
        tour = ring_hops(degree, height, fill)
        return _row(1, tour - 1, tour)
    if protocol == "s_coordp":
        return _row(others, others, others)
    return _row(others, ack_hops_s_train(degree, height, fill), others)


def rounds(protocol: str, degree: int, height: int, fill: int) -> int:
    """Return the number of message rounds (Table 1; sections 3 and 4).

    The printed ``b * p + 2`` of S_Train holds for a full bottom level; with `z` children there the longest
    chain has ``b * (p - 1) + z`` ACKs, between one START and one INFO.
    """
    _check_protocol(protocol)
    members = group_size(degree, height, fill)
    return {
        "coordp": 3,
        "fulldist": 2,
        "train": 2 * members,
        "s_coordp": height + 2,
        "s_train": degree * (height - 1) + fill + 2,
    }[protocol]


def processed(protocol: str, degree: int, height: int, fill: int) -> dict[str, tuple[int, ...]]:
    """Return how many messages a member sends and receives, by role (Table 1; sections 3 and 4).

    A multicast counts once as sent and once as received at its sender.

    Returns
    -------
    dict of str to tuple of int
        For each role of the protocol, the values that occur on this tree in ascending order. Roles are
        ``coord`` and ``other``; ``member``; or ``root``, ``internal`` and ``leaf``. A tree of height 1 has
        no internal member, and that role then has an empty tuple.

    Notes
    -----
    The table assumes a full bottom level and subgroups of at least two. A parent on the last level but one
    collects `z` ACKs, not `b`, and a member without siblings receives no ACK1.
    """
    _check_protocol(protocol)
    members = group_size(degree, height, fill)
    if protocol == "coordp":
        return {"coord": (members + 3,), "other": (3,)}
    if protocol == "fulldist":
        return {"member": (members + 1,)}
    if protocol == "train":
        return {"member": (4,)}
    if protocol == "s_coordp":
        return _processed_s_coordp(degree, height, fill)
    return _processed_s_train(degree, height, fill)


def processed_max(protocol: str, degree: int, height: int, fill: int) -> int:
    """Return the largest number of messages any member processes (Table 1)."""
    return max(max(values) for values in processed(protocol, degree, height, fill).values() if values)


def printed_bottom_level_probability(members: int, degree: int, height: int) -> Fraction:
    """Return the probability of the bottom level as section 5.4.2 prints it.

    The print subtracts the size of the *whole* complete tree, so the value is zero for a full tree, negative
    for every smaller group, and falls short by ``b**p / (n - 1)`` of making the levels add up to one.
    """
    check_random_tree(members, degree, height)
    return Fraction(members - geometric(degree, height + 1), members - 1)


def _row(start: int, ack: int, info: int) -> dict[str, int]:
    return {"START": start, "ACK": ack, "INFO": info, "total": start + ack + info}


def _processed_s_coordp(degree: int, height: int, fill: int) -> dict[str, tuple[int, ...]]:
    root_children = degree if height > 1 else fill
    internal_children = set()
    if height > 1:
        internal_children.add(fill)
    if height > 2:
        internal_children.add(degree)
    return {
        "root": (root_children + 4,),
        "internal": tuple(sorted(count + 3 for count in internal_children)),
        "leaf": (3,),
    }


def _processed_s_train(degree: int, height: int, fill: int) -> dict[str, tuple[int, ...]]:
    internal: tuple[int, ...] = () if height == 1 else (4,) if degree == 1 else (4, 5)
    return {"root": (5,), "internal": internal, "leaf": (3,) if fill == 1 else (3, 4)}


def _check_protocol(protocol: str) -> None:
    if protocol not in PROTOCOLS:
        raise unknown_name("protocol", protocol, PROTOCOLS)


def printed_trigger_optimum(buffer: Number, rate: Number, rtt: Number, stable_share: Number) -> float:
    """Return the optimum as section 6 prints it, the *larger* of two upper bounds."""
    return max(trigger_bounds(buffer, rate, rtt, stable_share))
