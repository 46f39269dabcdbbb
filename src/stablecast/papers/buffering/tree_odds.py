"""How few members need to buffer a message that comes down a tree, where losses are not independent.

On a tree a message lost on a link is lost for all below it. The buffering paper knows this ("receive
omissions are no longer independent"), yet sets `C` by equation (3) with the loss of a path of mean length.
Here the same probability is worked out exactly, the losses of links being independent instead of those of
members.

The recursion
-------------
The root has the message. Given that node `v` has it, let ``none(v)`` be the probability that no bufferer at
`v` or below has it. The children's subtrees are independent, each cut off with the loss of its link::

    none(v) = (1 - q if a member is on v) * product over children c of (p + (1 - p) none(c))

``none(root)`` is ``1 - P_2``. P_1 needs every link and no bufferer: ``(1 - q)^n (1 - p)^links``. P_fail is
the difference. Links without a member below take no part.

References
----------
.. [1] O. Ozkasap, R. van Renesse, K. P. Birman, Z. Xiao, "Efficient Buffering in Reliable Multicast
   Protocols", NGC 1999.
"""

import math
from collections.abc import Sequence

from stablecast.errors import InvalidInput
from stablecast.theory.buffering import (
    bufferer_share,
    check_group,
    check_probability,
    log_never,
    smallest_argument,
    smallest_c,
)


def breadth_first_tree(degree: int, nodes: int) -> tuple[int, ...]:
    """Return the parents of a tree filled level by level, each node having `degree` children; root -1."""
    check_group(nodes)
    if degree < 1:
        raise InvalidInput(f"degree must be at least 1, got {degree}")
    return (-1, *((v - 1) // degree for v in range(1, nodes)))


def leaves_and_root(parents: Sequence[int]) -> tuple[int, ...]:
    """Return the nodes of a tree whose inner nodes only forward: the root, which sends, and the leaves."""
    inner = set(parents)
    return (0, *(v for v in range(1, len(parents)) if v not in inner))


def depths(parents: Sequence[int]) -> tuple[int, ...]:
    """Return how many links each node is away from the root."""
    found = [0]
    for parent in _checked(parents)[1:]:
        found.append(found[parent] + 1)
    return tuple(found)


def path_loss(link_loss: float, links: float) -> float:
    """Return section 3's P_loss, ``1 - (1 - P_ll)^t``: the loss over a path of `t` links."""
    if not links >= 0:
        raise InvalidInput(f"links must not be negative, got {links!r}")
    return -math.expm1(log_never(check_probability("link_loss", link_loss), links))


def mean_path_loss(parents: Sequence[int], link_loss: float, members: Sequence[int] | None = None) -> float:
    """Return the mean loss of the members but the root."""
    far = _distances(parents, members)
    return sum(path_loss(link_loss, links) for links in far) / len(far)


def printed_mean_path_loss(
    parents: Sequence[int], link_loss: float, members: Sequence[int] | None = None
) -> float:
    """Return section 3's P_loss with `t` the mean number of links: a mean path's loss, not the mean loss.

    The loss is concave in `t`, so this is too high, by less than 1 % of it on trees like the paper's.
    """
    far = _distances(parents, members)
    return path_loss(link_loss, sum(far) / len(far))


def tree_failure(
    parents: Sequence[int], C: float, link_loss: float, members: Sequence[int] | None = None
) -> float:
    """Return P_fail for a message that the root sends down a tree: some member lacks it, no bufferer has it.

    Parameters
    ----------
    parents : sequence of int
        The parent of each node, before it in order; -1 for the root.
    C : float
        Wanted number of bufferers.
    link_loss : float
        Probability P_ll that a message is lost on a link.
    members : sequence of int, optional
        The nodes that hold a member; by default all do. The root sends, and has the message.
    """
    none, everywhere = _walk(parents, C, link_loss, members)
    return max(0.0, none - everywhere)


def no_bufferer_has_on_tree(
    parents: Sequence[int], C: float, link_loss: float, members: Sequence[int] | None = None
) -> float:
    """Return ``1 - P_2`` on a tree: after the multicast no bufferer has the message."""
    return _walk(parents, C, link_loss, members)[0]


def smallest_c_on_tree(
    parents: Sequence[int], link_loss: float, target: float, members: Sequence[int] | None = None
) -> float | None:
    """Return the smallest `C`, not rounded, with P_fail on this tree at or below `target`, or None.

    Examples
    --------
    >>> binary = breadth_first_tree(2, 100)
    >>> [round(smallest_c_on_tree(binary, loss, 0.001), 2) for loss in (0.001, 0.015)]
    [4.89, 9.2]
    """
    n = len(_members(parents, members))
    return smallest_argument(lambda C: tree_failure(parents, C, link_loss, members), n, target)


def printed_smallest_c_on_tree(
    parents: Sequence[int], link_loss: float, target: float, members: Sequence[int] | None = None
) -> float | None:
    """Return the smallest `C` by section 6: equation (3) with the loss of a path of mean length.

    Examples
    --------
    >>> binary = breadth_first_tree(2, 100)
    >>> [round(printed_smallest_c_on_tree(binary, loss, 0.001), 2) for loss in (0.001, 0.015)]
    [5.85, 7.18]
    """
    loss = printed_mean_path_loss(parents, link_loss, members)
    return smallest_c(len(_members(parents, members)), loss, target)


def _walk(
    parents: Sequence[int], C: float, link_loss: float, members: Sequence[int] | None
) -> tuple[float, float]:
    """Return the probability that no bufferer has the message, and that all have it and none buffers it."""
    p = check_probability("link_loss", link_loss)
    holders = _members(parents, members)
    q = bufferer_share(len(holders), C)
    needed = [v in holders for v in range(len(parents))]
    none = [1 - q if needed_here else 1.0 for needed_here in needed]
    links = 0
    for v in range(len(parents) - 1, 0, -1):
        if needed[v]:
            links += 1
            needed[parents[v]] = True
            none[parents[v]] *= p + (1 - p) * none[v]
    return none[0], (1 - q) ** len(holders) * (1 - p) ** links


def _distances(parents: Sequence[int], members: Sequence[int] | None) -> list[int]:
    levels = depths(parents)
    far = [levels[v] for v in sorted(_members(parents, members)) if v != 0]
    if not far:
        raise InvalidInput("a tree needs a member besides the root")
    return far


def _members(parents: Sequence[int], members: Sequence[int] | None) -> frozenset[int]:
    count = len(_checked(parents))
    chosen = frozenset(range(count)) if members is None else frozenset(members)
    if not chosen or not all(0 <= v < count for v in chosen):
        raise InvalidInput(f"members must be nodes from 0 to {count - 1}, at least one")
    return chosen


def _checked(parents: Sequence[int]) -> Sequence[int]:
    if not parents or parents[0] != -1 or any(not 0 <= parents[v] < v for v in range(1, len(parents))):
        raise InvalidInput("parents must begin with -1 for the root, and each node come after its parent")
    return parents
