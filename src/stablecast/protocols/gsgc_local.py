"""gsgc-local: members gossip within local groups, stability controllers among all groups.

Promise
    As ``gsgc``'s: a member calls a message stable only after everyone who was not struck off had received it.
How it works
    The group is divided into local groups; the first few members of each are its stability controllers.  In
    the first phase members gossip minimum and set, as in ``gsgc``, within their local group.  Whoever has
    all of it tells the controllers and, without failure detection, falls silent, but for a word to one of
    them every few steps, in case that was lost.  A controller that has it adds the local minimum to the
    second phase, gossip among all controllers with one bit for each local group.  The first controller that
    has every group multicasts the result, and everyone begins the next round.
Why it is safe
    The result is a minimum over local minima, each over all members of its group that are not struck off.
What members know
    Only their local group; controllers also know the other controllers.  With ``controllers`` of them in
    each group all but one may crash; a crashed member is struck off in its local group, for good, after
    ``threshold`` steps of silence (Figure 3 among the members of the local group).
Cost
    A message has a bit for each member of a local group, or for each local group, instead of one for each
    member of the whole group, and travels among a few; the time of a round grows with the logarithm of n.
Paper
    GSGC: An Efficient Gossip-Style Garbage Collection Scheme for Scalable Reliable Multicast, section 5.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stablecast.compiling import kernel
from stablecast.errors import InvalidInput
from stablecast.frontier import copy_into, take_minimum
from stablecast.frontier.sets import add, has, words
from stablecast.overlays import Tree
from stablecast.protocols.contract.draws import PROTOCOL_STREAM, uniform
from stablecast.protocols.contract.kernels import (
    GROUP,
    NEVER,
    SENDS,
    Member,
    Message,
    Outbox,
    declare_stable,
    finish,
    send_array,
    set_timer,
    strike_off,
)
from stablecast.protocols.contract.parameters import FLAG, TIME, WHOLE, Parameter, Role
from stablecast.protocols.contract.protocol import Place, Protocol, Sizes, columns

LOCAL, GLOBAL, STABLE = 0, 1, 2
ROUND, DRAWS, OUT, LEAVING, DONE, STEPS, NEXT_LOCAL, NEXT_GLOBAL = range(8)  # registers
SUBGROUP, STEP, THRESHOLD, LOCAL_SIZE, CONTROLLERS, CONTROLLER_STEP, NEARBY = range(7)  # parameters
MINE, RANK, SIZE, GROUPS, MEMBERS = range(5)  # a member's place: numbers, then the members, the controllers
SUBGROUP_MAX, CONTROLLERS_MAX = 32, 32
TRIES = 16
RETELL = 8
"""Steps after which a member that knows its local group tells a controller again."""


# ``own`` is M, W, the set of those struck off, and the steps since a sign of life of the local group; then
# M and W of the second phase.  A message's array is the one or the other.


@kernel
def _width(me: Member) -> int:
    """Return the length of what a message carries."""
    return int(me.received.size + 2 * words(_span(me)) + _span(me))


@kernel
def _span(me: Member) -> int:
    """Return how many members, or groups, a set has room for."""
    groups = me.place[GROUPS]
    return int(max(me.params[LOCAL_SIZE], groups, (me.group_size + groups - 1) // groups))


@kernel
def _draw(me: Member) -> float:
    me.reg[DRAWS] += 1
    return float(uniform(me.seed, PROTOCOL_STREAM + me.number, me.reg[DRAWS]))


@kernel
def init(me: Member, now: int, out: Outbox) -> None:
    """Take part from now on, at a random phase; one that was struck off stays out."""
    if me.reg[OUT]:
        return
    _begin_round(me)
    me.reg[NEXT_LOCAL] = now + int(_draw(me) * me.params[STEP])
    set_timer(out, me.reg[NEXT_LOCAL])


@kernel
def start(me: Member, now: int, out: Outbox) -> None:
    """No member starts a round: all run by their own timers."""


@kernel
def _begin_round(me: Member) -> None:
    """M = R and W = {me}; nothing of the second phase is known."""
    m, w = me.received.size, words(_span(me))
    copy_into(me.own[:m], me.received)
    for k in range(w):
        me.own[m + k] = 0
        me.own[_width(me) + m + k] = 0
    add(me.own, m, me.place[RANK])
    me.reg[DONE] = 0
    me.reg[NEXT_GLOBAL] = NEVER


@kernel
def handle_timer(me: Member, now: int, out: Outbox) -> None:
    """A step of the local gossip, or of that among controllers."""
    if me.reg[OUT]:
        return
    if now >= me.reg[NEXT_LOCAL]:
        if me.params[THRESHOLD] > 0:
            _grow_older(me, out)
        me.reg[STEPS] += 1
        # With failure detection silence would be taken for a crash.
        if not me.reg[DONE] or me.params[THRESHOLD] > 0 or me.reg[STEPS] % RETELL == 0:
            _gossip_locally(me, out)
        me.reg[NEXT_LOCAL] = now + me.params[STEP]
    if me.reg[LEAVING]:
        me.reg[OUT] = 1
        strike_off(out, me.number, 1)
        set_timer(out, NEVER)
        return
    if now >= me.reg[NEXT_GLOBAL]:
        _gossip_globally(me, out)
        me.reg[NEXT_GLOBAL] = now + me.params[CONTROLLER_STEP]
    _end_phase_if_complete(me, now, out)
    set_timer(out, min(me.reg[NEXT_LOCAL], me.reg[NEXT_GLOBAL]))


@kernel
def _grow_older(me: Member, out: Outbox) -> None:
    """Figure 3 within the local group: strike off who has been silent for too long."""
    m, w = me.received.size, words(_span(me))
    gone, live = m + w, m + 2 * w
    for j in range(me.place[SIZE]):
        if j != me.place[RANK] and not has(me.own, gone, j):
            me.own[live + j] += 1
            if me.own[live + j] >= me.params[THRESHOLD]:
                add(me.own, gone, j)
                strike_off(out, me.place[MEMBERS + j], 1)


@kernel
def _gossip_locally(me: Member, out: Outbox) -> None:
    """Tell random members of the local group, or a controller once all of the group is known."""
    told = me.reg[DONE] and me.params[THRESHOLD] == 0
    among = me.params[CONTROLLERS] if told else me.place[SIZE]
    gone = me.received.size + words(_span(me))
    for _ in range(1 if told else me.params[SUBGROUP]):
        for _ in range(TRIES):
            j = int(_draw(me) * min(among, me.place[SIZE]))
            dest = me.place[MEMBERS + j]
            if not has(me.own, gone, j) and not _is_chosen(out, dest):
                if dest != me.number:
                    send_array(out, LOCAL, dest, me.reg[ROUND] + 1, me.own[: _width(me)])
                break


@kernel
def _gossip_globally(me: Member, out: Outbox) -> None:
    """Tell random controllers of all groups what is known of the second phase."""
    first, count = MEMBERS + me.place[SIZE], me.place.size - MEMBERS - me.place[SIZE]
    begin = out.marks[SENDS]
    for _ in range(me.params[SUBGROUP]):
        for _ in range(TRIES):
            dest = me.place[first + int(_draw(me) * count)]
            fresh = True
            for k in range(begin, out.marks[SENDS]):
                fresh = fresh and out.dest[k] != dest
            if fresh:
                if dest != me.number:
                    array = me.own[_width(me) : 2 * _width(me)]
                    send_array(out, GLOBAL, dest, me.reg[ROUND] + 1, array)
                break


@kernel
def _is_chosen(out: Outbox, dest: int) -> bool:
    for k in range(out.marks[SENDS]):
        if out.dest[k] == dest:
            return True
    return False


@kernel
def receive(me: Member, message: Message, now: int, out: Outbox) -> None:
    """Take in gossip of either phase, or the result of a round."""
    if me.reg[OUT]:
        return
    m, heard = me.received.size, message.execution - 1
    if message.kind == STABLE:
        declare_stable(me, out, message.execution, message.array[:m])
        if heard >= me.reg[ROUND]:
            _end_round(me, out, heard)
            set_timer(out, me.reg[NEXT_LOCAL])
        return
    if message.kind == LOCAL and me.params[THRESHOLD] > 0:
        _learn_who_is_gone(me, message, out)
        if me.reg[OUT]:
            return
    if heard < me.reg[ROUND]:
        return
    if heard > me.reg[ROUND]:
        finish(out, heard)
        me.reg[ROUND] = heard
        _begin_round(me)
    _take_in(me, message)
    _end_phase_if_complete(me, now, out)
    set_timer(out, min(me.reg[NEXT_LOCAL], me.reg[NEXT_GLOBAL]))


@kernel
def _learn_who_is_gone(me: Member, message: Message, out: Outbox) -> None:
    """Whoever was struck off by anyone is out; a sign of life counts."""
    m, w = me.received.size, words(_span(me))
    gone, live = m + w, m + 2 * w
    for j in range(me.place[SIZE]):
        if has(message.array, gone, j):
            add(me.own, gone, j)
        me.own[live + j] = min(me.own[live + j], message.array[live + j])
        if me.place[MEMBERS + j] == message.source:
            me.own[live + j] = 0
    if has(me.own, gone, me.place[RANK]):
        me.reg[OUT] = 1
        strike_off(out, me.number, 1)
        set_timer(out, NEVER)


@kernel
def _take_in(me: Member, message: Message) -> None:
    """Minimum and union, of the phase that the message belongs to."""
    m, w = me.received.size, words(_span(me))
    at = 0 if message.kind == LOCAL else _width(me)
    empty = True
    for k in range(w):
        empty = empty and me.own[at + m + k] == 0
    if empty:
        copy_into(me.own[at : at + m], message.array)
    else:
        take_minimum(me.own[at : at + m], message.array)
    for k in range(w):
        me.own[at + m + k] |= message.array[m + k]


@kernel
def _end_phase_if_complete(me: Member, now: int, out: Outbox) -> None:
    """With all of the local group a controller enters the second phase; with all groups a round is over."""
    if not me.reg[DONE] and _knows_local_group(me):
        me.reg[DONE] = 1
        if me.place[RANK] < me.params[CONTROLLERS]:
            _enter_second_phase(me, now)
        else:
            _tell_controllers(me, out)
    if me.place[RANK] < me.params[CONTROLLERS] and _knows_all_groups(me):
        m, at, execution = me.received.size, _width(me), me.reg[ROUND] + 1
        declare_stable(me, out, execution, me.own[at : at + m])
        send_array(out, STABLE, GROUP, execution, me.own[at : 2 * at])
        _end_round(me, out, execution - 1)


@kernel
def _knows_local_group(me: Member) -> bool:
    m, w = me.received.size, words(_span(me))
    for j in range(me.place[SIZE]):
        if not has(me.own, m, j) and not has(me.own, m + w, j):
            return False
    return True


@kernel
def _knows_all_groups(me: Member) -> bool:
    for g in range(me.place[GROUPS]):
        if not has(me.own, _width(me) + me.received.size, g):
            return False
    return True


@kernel
def _enter_second_phase(me: Member, now: int) -> None:
    """Add the local minimum, as the local group's contribution."""
    m, at = me.received.size, _width(me)
    empty = True
    for k in range(words(_span(me))):
        empty = empty and me.own[at + m + k] == 0
    if empty:
        copy_into(me.own[at : at + m], me.own)
    else:
        take_minimum(me.own[at : at + m], me.own)
    add(me.own, at + m, me.place[MINE])
    me.reg[NEXT_GLOBAL] = now + int(_draw(me) * me.params[CONTROLLER_STEP])


@kernel
def _tell_controllers(me: Member, out: Outbox) -> None:
    """Give the local minimum to the group's controllers at once."""
    for j in range(min(me.params[CONTROLLERS], me.place[SIZE])):
        send_array(out, LOCAL, me.place[MEMBERS + j], me.reg[ROUND] + 1, me.own[: _width(me)])


@kernel
def _end_round(me: Member, out: Outbox, ended: int) -> None:
    finish(out, ended + 1)
    me.reg[ROUND] = ended + 1
    _begin_round(me)


def place(tree: Tree) -> Place:
    """Where nothing is known of local groups, everyone is in one."""
    return columns(np.zeros(tree.size, np.int64))


def places(tree: Tree, sizes: Sizes, seed: int) -> Place:
    """Divide the group, at random or by location; controllers are drawn.

    A member's place names its local group, a controller's also all controllers.
    """
    n, size, controllers = sizes.group, sizes.params[LOCAL_SIZE], sizes.params[CONTROLLERS]
    groups = max(1, n // size)
    rng = np.random.default_rng([seed, 0x6C6F6361])
    if sizes.params[NEARBY]:
        members = [rng.permutation(part) for part in np.array_split(_by_location(tree), groups)]
    else:
        order = rng.permutation(n)
        members = [order[g::groups] for g in range(groups)]
    everyone = np.concatenate([group[:controllers] for group in members])
    rows: list[list[int]] = [[] for _ in range(n)]
    for g, group in enumerate(members):
        for rank, member in enumerate(group):
            known = [*group, *(everyone if rank < controllers else ())]
            rows[member] = [g, rank, len(group), groups, *map(int, known)]
    start = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    return Place(np.array([entry for row in rows for entry in row], np.int32), start.astype(np.int64))


def _by_location(tree: Tree) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the members such that those of one branch of the tree come one after the other."""
    children: list[list[int]] = [[] for _ in range(tree.size)]
    for member, parent in enumerate(tree.parent.tolist()):
        if parent >= 0:
            children[parent].append(member)
    order, stack = [], [0]
    while stack:
        member = stack.pop()
        order.append(member)
        stack.extend(reversed(children[member]))
    return np.array(order)


def _room(sizes: Sizes) -> int:
    groups = max(1, sizes.group // sizes.params[LOCAL_SIZE])
    return max(sizes.params[LOCAL_SIZE], groups, -(-sizes.group // groups))


def _side(sizes: Sizes) -> int:
    span = _room(sizes)
    return 2 * words(span) + span


def _own(sizes: Sizes) -> int:
    return 2 * (sizes.tracked + _side(sizes))


def _extra_bytes(sizes: Sizes) -> tuple[int, ...]:
    """Return bytes beyond header and M: the round, a bit a member or group, and what is told of failures."""
    groups = max(1, sizes.group // sizes.params[LOCAL_SIZE])
    size = -(-sizes.group // groups)
    failures = size + -(-size // 8) if sizes.params[THRESHOLD] > 0 else 0
    return 4 + -(-size // 8) + failures, 4 + -(-groups // 8), 4


def _check(values: Mapping[str, int]) -> None:
    if values["controllers"] > values["local_size"]:
        raise InvalidInput(
            f"controllers {values['controllers']} is not accepted (accepted: 1 to {values['local_size']}, the"
            " members of a local group)"
        )


PROTOCOL = Protocol(
    name="gsgc-local",
    title="members gossip within local groups, stability controllers among all groups",
    paper="gossip, section 5",
    kinds=("LOCAL", "GLOBAL", "STABLE"),
    start=start,
    receive=receive,
    handle_timer=handle_timer,
    place=place,
    module=__name__,
    init=init,
    places=places,
    parameters=(
        Parameter(
            "subgroup",
            WHOLE,
            1,
            "Members, drawn at random, that a member gossips to in one step.",
            role=Role.FANOUT,
            least=1,
            most=SUBGROUP_MAX,
        ),
        Parameter(
            "step",
            TIME,
            0.7,
            "Time between two steps of a member's gossip in its local group.",
            unit="s",
            role=Role.STEP,
            above=0,
        ),
        Parameter(
            "threshold",
            WHOLE,
            0,
            "Steps of silence after which a member is taken for failed and struck off; 0 for never.",
            unit="steps",
            role=Role.SILENCE,
            least=0,
        ),
        Parameter("local_size", WHOLE, 50, "Members of a local group.", least=1),
        Parameter(
            "controllers",
            WHOLE,
            5,
            "Stability controllers of a local group: the members that gossip with other local groups.",
            least=1,
            most=CONTROLLERS_MAX,
        ),
        Parameter(
            "controller_step",
            TIME,
            0.7,
            "Time between two steps of the controllers' gossip among all local groups.",
            unit="s",
            role=Role.EVERY,
            above=0,
        ),
        Parameter(
            "nearby",
            FLAG,
            False,
            "Form local groups of members that are near one another, instead of drawing them at random.",
        ),
    ),
    autonomous=True,
    timed=True,
    registers=8,
    leaving=LEAVING,
    check=_check,
    own=_own,
    side=_side,
    extra_bytes=_extra_bytes,
    sends_max=2 * SUBGROUP_MAX + CONTROLLERS_MAX + 2,
)
