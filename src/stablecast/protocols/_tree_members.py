"""Members of a tree: their places, and how a result is told down the tree until everyone has it.

The root multicasts INFO, or each member that gets it passes it on to its children.  With resends each inner
member sees to its own children: it sends INFO again to those whose ACK_INFO has not come, and sends one to
its parent when all of theirs are in.  A child is known by its rank among its siblings, whose numbers are
consecutive.
"""

from __future__ import annotations

import numpy as np

from stablecast._jit import kernel
from stablecast.frontier import copy_into
from stablecast.overlays import Tree
from stablecast.overlays.hypercube import dimensions
from stablecast.protocols._resending import copy_set, is_in, put_in, resends, wait_for_answers
from stablecast.protocols.contract.kernels import (
    NEVER,
    Member,
    Message,
    Outbox,
    declare_stable,
    finish,
    send,
    send_again,
    send_array,
    set_timer,
)
from stablecast.protocols.contract.parameters import WHOLE_OR_WORD, Parameter
from stablecast.protocols.contract.protocol import Place, Sizes

PARENT, CHILDREN, FIRST_CHILD, PREVIOUS, NEXT, INNER = 0, 1, 2, 3, 4, 5
"""Place: the parent, -1 at the root; how many children, the first of them; the siblings before and after, -1
where there is none; and for each child whether it has children itself."""
EXECUTION, MISSING, GATHERED, PHASE, TOLD, GONE_COUNT, FLAGS = 0, 1, 2, 3, 4, 5, 6
"""Registers: the newest execution; what is still to come before the minimum goes on; arrays taken in; where
this member is in the execution; children that know the result or are gone; children that are gone."""
WAITING, ASKING, REPORTED, TELLING, DONE = 0, 1, 2, 3, 4
"""Phases: START is to come; children's minima are to come; the minimum went on; children are told; done."""
DEAD, THROUGH = 0, 1
"""Sets of children: who is gone; who has answered, or is gone."""

TREE_DEGREE = 1
"""Where ``Member.params`` has the degree of the tree, behind the time between resends."""
LOGARITHMIC = -1
AS_THE_NETWORK = Parameter(
    "tree_degree",
    WHOLE_OR_WORD,
    "network",
    "Children of a member in the logical tree: a number; log for the logarithm of the number of members,"
    " rounded up; or network for the tree of the network itself.",
    choices={"network": 0, "log": LOGARITHMIC},
    least=1,
)


def logical_tree(tree: Tree, sizes: Sizes) -> Tree:
    """Return the tree of the network, or the one of equal degrees that the parameter asks for."""
    degree = sizes.params[TREE_DEGREE]
    if degree == 0:
        return tree
    if degree == LOGARITHMIC:
        degree = max(2, dimensions(sizes.group))
    parent = (np.arange(sizes.group, dtype=np.int64) - 1) // degree
    return Tree(np.where(np.arange(sizes.group) > 0, parent, -1))


def tree_places(tree: Tree, sizes: Sizes, seed: int) -> Place:
    """Place each member under its parent, among its siblings, above its children."""
    tree = logical_tree(tree, sizes)
    start = np.concatenate(([0], np.cumsum(INNER + tree.child_count)))
    flat = np.zeros(int(start[-1]), np.int32)
    entries = {PARENT: tree.parent, CHILDREN: tree.child_count, FIRST_CHILD: tree.first_child}
    entries |= {PREVIOUS: tree.previous_sibling, NEXT: tree.next_sibling}
    for entry, values in entries.items():
        flat[start[:-1] + entry] = values
    child = np.arange(1, tree.size)
    rank = child - tree.first_child[tree.parent[child]]
    flat[start[tree.parent[child]] + INNER + rank] = tree.child_count[child] > 0
    return Place(flat, start.astype(np.int64))


@kernel
def rank_of(me: Member, member: int) -> int:
    """Return a child's rank, -1 for a member that is no child."""
    rank = member - me.place[FIRST_CHILD]
    return int(rank) if 0 <= rank < me.place[CHILDREN] else -1


@kernel
def hear_result(me: Member, message: Message, now: int, out: Outbox, ack_info: int, relay: bool) -> None:
    """Take in INFO, and pass it on if it is relayed; with resends, see that the children have it."""
    if me.reg[PHASE] >= TELLING:
        if me.reg[PHASE] == DONE and resends(me) and me.place[PARENT] >= 0:
            send(out, ack_info, me.place[PARENT], message.execution)
        return
    declare_stable(me, out, message.execution, message.array)
    me.reg[PHASE] = TELLING
    copy_set(me, THROUGH, DEAD)
    copy_into(me.gathered[0], message.array)
    if relay:
        tell_children(me, out, message.kind)
    if not resends(me):
        finish(out, message.execution)
        return
    me.reg[TOLD] = me.reg[GONE_COUNT]
    wait_for_answers(me, now, out)
    see_whether_told(me, out, ack_info)


@kernel
def hear_child_told(me: Member, message: Message, out: Outbox, ack_info: int) -> None:
    """Take in a child's ACK_INFO."""
    rank = rank_of(me, message.source)
    if me.reg[PHASE] == TELLING and rank >= 0 and put_in(me, THROUGH, rank):
        me.reg[TOLD] += 1
        see_whether_told(me, out, ack_info)


@kernel
def see_whether_told(me: Member, out: Outbox, ack_info: int) -> None:
    """With all below told, be done and tell the parent so."""
    if me.reg[PHASE] == TELLING and resends(me) and me.reg[TOLD] == me.place[CHILDREN]:
        me.reg[PHASE] = DONE
        finish(out, me.reg[EXECUTION])
        set_timer(out, NEVER)
        if me.place[PARENT] >= 0:
            send(out, ack_info, me.place[PARENT], me.reg[EXECUTION])


@kernel
def tell_children(me: Member, out: Outbox, info: int) -> None:
    """Send INFO to the children whose ACK_INFO has not come."""
    first = True
    for rank in range(me.place[CHILDREN]):
        child = me.place[FIRST_CHILD] + rank
        if is_in(me, THROUGH, rank):
            continue
        if first:
            send_array(out, info, child, me.reg[EXECUTION], me.gathered[0])
        else:
            send_again(out, info, child, me.reg[EXECUTION])
        first = False
