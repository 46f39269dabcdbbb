"""gsgc: every member gossips its minimum so far to random members, round after round.

Promise
    A member calls a message stable only after some member has seen that everyone whom it then counted in had
    received it.  As long as no live member is struck off, that is everyone.
How it works
    In every round each member keeps M, the minimum of the received arrays that it has heard of, and W, the
    set of members whose arrays are in it.  Once a step, at a phase of its own, it sends both to a few random
    members; who hears them takes minimum and union.  The first member whose W holds everyone has the result
    S = M, multicasts it or puts it on its gossip, and begins the next round.
Why it is safe
    M is a minimum over arrays that the members of W really had, at some time in the past, and received
    prefixes only grow.  So S is below what every member of W has.
Where it departs from the printed pseudo-code (Figure 2)
    A member that enters a round on someone else's message adds itself to what it takes over; as printed, it
    never would, and the round would not end.  A message from a round further ahead, which the paper calls
    impossible and which membership changes make possible, is treated like one from the next round.
Failure detection (Figure 3), when ``threshold`` is above 0
    ``live`` counts a member's steps since each other one gave a sign of life, directly or through others.
    At ``threshold`` that one is struck off.
Membership
    ``status`` has a number for each member: odd while it is in, even while it is not; it only grows, and the
    larger one wins.  A round is complete when W holds everyone whose number is odd.  It travels with W, so
    whoever has a member's array also knows everyone that this member knew.  ``common`` is the set of members
    that everyone in W knew when adding its array; who is in the ``common`` of a complete round is known to
    all from then on, and so is *admitted*: nothing sent later becomes stable without it.  A member that
    finds itself struck off is out, and comes back, caught up by a late-join handler, as a new one.  Every
    few steps one message goes to any rank, in or not, so that parts that have struck each other off meet.
    Results are then piggybacked in any case: who was cut off learns from S that there is something it lacks.
Execution control, when ``quiet`` is above 0
    A member adds its array to a round only when it has heard of no newcomer for that many steps, so rounds
    wait for times in which few join.
Cost
    ``subgroup`` unicasts a member and step; a message has 4m + n/8 + 4 bytes beyond its header.
Paper
    GSGC: An Efficient Gossip-Style Garbage Collection Scheme for Scalable Reliable Multicast, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stablecast.compiling import kernel
from stablecast.errors import InvalidInput
from stablecast.frontier import copy_into, exceeds, take_minimum
from stablecast.frontier.sets import add, has, is_full, remove, words
from stablecast.overlays import Tree
from stablecast.protocols._gossip_members import (
    CALM,
    DRAWS,
    LEAVING,
    MULTICAST,
    OUT,
    PIGGYBACK,
    QUIET,
    ROUND,
    SHARE,
    STEP,
    STEP_IN_FORCE,
    STEPS,
    SUBGROUP,
    THRESHOLD,
    at_admitted,
    at_common,
    at_stable,
    at_status,
    enter,
    grow_older,
    learn_membership,
    pick,
)
from stablecast.protocols.contract.draws import PROTOCOL_STREAM, uniform
from stablecast.protocols.contract.kernels import (
    GROUP,
    NEVER,
    SENDS,
    Member,
    Message,
    Outbox,
    admit,
    declare_stable,
    finish,
    send_array,
    set_timer,
    strike_off,
)
from stablecast.protocols.contract.parameters import CHOICE, TIME, WHOLE, Parameter, Role, hidden
from stablecast.protocols.contract.protocol import Place, Protocol, Sizes, columns

GOSSIP, STABLE = 0, 1
SUBGROUP_MAX = 32
TRIES = 16


@kernel
def init(me: Member, now: int, out: Outbox) -> None:
    """Take part from now on: gossip once a step, at a random phase."""
    me.reg[OUT] = 0
    me.reg[CALM] = me.params[QUIET]
    if me.params[THRESHOLD] > 0:
        enter(me)
    _begin_round(me)
    set_timer(out, now + _phase(me))


@kernel
def _phase(me: Member) -> int:
    """Draw where in a step this member gossips."""
    me.reg[STEP_IN_FORCE] = me.params[STEP]
    me.reg[DRAWS] += 1
    return int(uniform(me.seed, PROTOCOL_STREAM + me.number, me.reg[DRAWS]) * me.params[STEP])


@kernel
def _begin_round(me: Member) -> None:
    """M = R and W = {me}; what is common is what this member knows."""
    m, w = me.received.size, words(me.group_size)
    copy_into(me.own[:m], me.received)
    for k in range(w):
        me.own[m + k] = 0
    if me.reg[CALM] >= me.params[QUIET]:
        add(me.own, m, me.number)
    if me.params[THRESHOLD] > 0:
        status, common = at_status(me), at_common(me)
        for k in range(w):
            me.own[common + k] = 0
        for j in range(me.group_size):
            if me.own[status + j] % 2 == 1:
                add(me.own, common, j)


@kernel
def _begin_again(me: Member) -> None:
    """The group has calmed down: add one's own array to the round, with what is common from here on."""
    m = me.received.size
    add(me.own, m, me.number)
    if me.params[THRESHOLD] > 0:
        status, common = at_status(me), at_common(me)
        for j in range(me.group_size):
            if me.own[status + j] % 2 == 0:
                remove(me.own, common, j)


@kernel
def start(me: Member, now: int, out: Outbox) -> None:
    """No member starts a round: all run by their own timers."""


@kernel
def handle_timer(me: Member, now: int, out: Outbox) -> None:
    """One step: grow older, and gossip to a random sub-group."""
    if me.reg[OUT]:
        return
    if me.params[THRESHOLD] > 0:
        grow_older(me, out)
        if me.reg[LEAVING]:
            me.own[at_status(me) + me.number] += 1
    if me.params[SHARE] & PIGGYBACK:
        copy_into(me.own[at_stable(me) : at_stable(me) + me.received.size], me.stable)
    me.reg[STEPS] += 1
    me.reg[CALM] += 1
    if me.reg[CALM] == me.params[QUIET] and not has(me.own, me.received.size, me.number):
        _begin_again(me)
    drew_itself = False
    for _ in range(me.params[SUBGROUP]):
        dest = _choose(me, out, drew_itself)
        drew_itself = drew_itself or dest == me.number
        if dest >= 0 and dest != me.number:
            send_array(out, GOSSIP, dest, me.reg[ROUND] + 1, me.own)
    if me.reg[LEAVING]:
        me.reg[OUT] = 1
        strike_off(out, me.number, me.own[at_status(me) + me.number] - 1 if me.params[THRESHOLD] > 0 else 1)
        set_timer(out, NEVER)
        return
    # A new step takes a new phase: with the old ones all members would crowd into a part of a longer step.
    same = me.reg[STEP_IN_FORCE] == me.params[STEP]
    set_timer(out, now + (me.params[STEP] if same else 1 + _phase(me)))
    _end_round_if_complete(me, out)


@kernel
def _choose(me: Member, out: Outbox, drew_itself: bool) -> int:
    """Return a random member that was not chosen in this step yet, -1 if none is found.

    As in the paper all ranks may be drawn, one's own included, which is then a message less.
    """
    for _ in range(TRIES):
        me.reg[DRAWS] += 1
        draw = uniform(me.seed, PROTOCOL_STREAM + me.number, me.reg[DRAWS])
        dest = pick(me, draw, out.marks[SENDS] == 0)
        if dest < 0:
            return -1
        fresh = not (drew_itself and dest == me.number)
        for k in range(out.marks[SENDS]):
            fresh = fresh and out.dest[k] != dest
        if fresh:
            return dest
    return -1


@kernel
def receive(me: Member, message: Message, now: int, out: Outbox) -> None:
    """Figure 2: take in a gossip message, or the result of a round."""
    if me.reg[OUT]:
        return
    if me.params[THRESHOLD] > 0:
        learn_membership(me, message)
        if me.own[at_status(me) + me.number] % 2 == 0:
            _find_oneself_struck_off(me, out)
            return
    m, heard = me.received.size, message.execution - 1
    if message.kind == STABLE:
        declare_stable(me, out, message.execution, message.array[:m])
        if heard >= me.reg[ROUND]:
            _end_round(me, out, heard)
        return
    if me.params[SHARE] & PIGGYBACK:
        result = message.array[at_stable(me) : at_stable(me) + m]
        if heard > 0 and exceeds(result, me.stable):
            declare_stable(me, out, heard, result)
    if heard < me.reg[ROUND]:
        return
    if heard > me.reg[ROUND]:
        finish(out, heard)
        me.reg[ROUND] = heard
        _begin_round(me)
    _take_in(me, message)
    _end_round_if_complete(me, out)


@kernel
def _find_oneself_struck_off(me: Member, out: Outbox) -> None:
    me.reg[OUT] = 1
    strike_off(out, me.number, me.own[at_status(me) + me.number] - 1)
    set_timer(out, NEVER)


@kernel
def _take_in(me: Member, message: Message) -> None:
    """M = ArrayMin(M, M'), W = W or W'; arrays of members as they are no more do not count in W."""
    m, w = me.received.size, words(me.group_size)
    news = False
    for k in range(w):
        news = news or (message.array[m + k] & ~me.own[m + k]) != 0
    if not news:
        return
    take_minimum(me.own[:m], message.array)
    if me.params[THRESHOLD] == 0:
        for k in range(w):
            me.own[m + k] |= message.array[m + k]
        return
    status, common = at_status(me), at_common(me)
    for k in range(w):
        me.own[common + k] &= message.array[common + k]
    for j in range(me.group_size):
        if has(message.array, m, j) and message.array[status + j] == me.own[status + j]:
            add(me.own, m, j)


@kernel
def _end_round_if_complete(me: Member, out: Outbox) -> None:
    """With everyone in W the minimum so far is the stability array."""
    if not _is_complete(me):
        return
    m, execution = me.received.size, me.reg[ROUND] + 1
    declare_stable(me, out, execution, me.own[:m])
    if me.params[SHARE] & MULTICAST:
        send_array(out, STABLE, GROUP, execution, me.own)
    _end_round(me, out, execution - 1)


@kernel
def _is_complete(me: Member) -> bool:
    m, n = me.received.size, me.group_size
    if me.params[THRESHOLD] == 0:
        return is_full(me.own, m, n)
    status = at_status(me)
    for j in range(n):
        if me.own[status + j] % 2 == 1 and not has(me.own, m, j):
            return False
    return True


@kernel
def _end_round(me: Member, out: Outbox, ended: int) -> None:
    """Admit whom everyone knew in the round that has ended, and begin the next one."""
    if me.params[THRESHOLD] > 0:
        status, common, admitted = at_status(me), at_common(me), at_admitted(me)
        complete = me.reg[ROUND] == ended and _is_complete(me)
        for j in range(me.group_size):
            number = me.own[status + j]
            if complete and number % 2 == 1 and has(me.own, common, j) and me.own[admitted + j] != number:
                me.own[admitted + j] = number
                admit(out, j, number)
    finish(out, ended + 1)
    me.reg[ROUND] = ended + 1
    _begin_round(me)


def place(tree: Tree) -> Place:
    """No structure: every member may gossip to every other."""
    return columns(np.zeros(tree.size, np.int64))


def _side(sizes: Sizes) -> int:
    n, share, threshold = sizes.group, sizes.params[SHARE], sizes.params[THRESHOLD]
    result = sizes.tracked if share & PIGGYBACK else 0
    return words(n) + result + (2 * n + words(n) if threshold > 0 else 0)


def _own(sizes: Sizes) -> int:
    return sizes.tracked + _side(sizes) + (sizes.group if sizes.params[THRESHOLD] > 0 else 0)


def _extra_bytes(sizes: Sizes) -> tuple[int, ...]:
    """Return bytes beyond header and M: W as bits, the round, S if piggybacked, status and live as bytes."""
    bits = -(-sizes.group // 8)
    result = sizes.wire * sizes.entry_bytes if sizes.params[SHARE] & PIGGYBACK else 0
    members = 2 * sizes.group + bits if sizes.params[THRESHOLD] > 0 else 0
    return 4 + bits + result + members, 4 + members


def _resolve(values: Mapping[str, int], group: int) -> dict[str, int]:
    """Where members come and go, a result also rides on gossip: who was cut off hears of what it lacks."""
    return {"share": values["share"] | PIGGYBACK} if values["threshold"] > 0 else {}


def _check(values: Mapping[str, int]) -> None:
    if values["quiet"] > 0 and values["threshold"] == 0:
        raise InvalidInput(
            f"quiet_steps {values['quiet']} is not accepted (accepted: 0, or more with threshold_steps"
            " above 0)"
        )


def _book(sizes: Sizes) -> int:
    """Return where ``own`` has the members' status numbers, -1 without failure detection."""
    share, threshold = sizes.params[SHARE], sizes.params[THRESHOLD]
    result = sizes.tracked if share & PIGGYBACK else 0
    return sizes.tracked + words(sizes.group) + result if threshold > 0 else -1


PROTOCOL = Protocol(
    name="gsgc",
    title="every member gossips its minimum so far to random members, round after round",
    paper="gossip, section 3",
    kinds=("GOSSIP", "STABLE"),
    start=start,
    receive=receive,
    handle_timer=handle_timer,
    place=place,
    module=__name__,
    init=init,
    parameters=(
        Parameter(
            "subgroup",
            WHOLE,
            3,
            "Members, drawn at random, that a member gossips to in one step.",
            role=Role.FANOUT,
            least=1,
            most=SUBGROUP_MAX,
        ),
        Parameter(
            "step",
            TIME,
            1.0,
            "Time between two steps of a member's gossip.",
            unit="s",
            role=Role.STEP,
            above=0,
        ),
        Parameter(
            "share",
            CHOICE,
            "multicast",
            "How a member that has the result passes it on: piggyback, with its gossip; multicast, to all at"
            " once; or both.",
            choices={"piggyback": PIGGYBACK, "multicast": MULTICAST, "both": PIGGYBACK | MULTICAST},
            role=Role.SPREAD,
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
        hidden("initial", Role.INITIAL),
        Parameter(
            "quiet",
            WHOLE,
            0,
            "Steps that a new member waits after the last newcomer before it takes part in a round; above 0"
            " only together with --threshold-steps.",
            unit="steps",
            least=0,
        ),
    ),
    autonomous=True,
    timed=True,
    registers=7,
    leaving=LEAVING,
    resolve=_resolve,
    check=_check,
    own=_own,
    side=_side,
    book=_book,
    extra_bytes=_extra_bytes,
    sends_max=SUBGROUP_MAX + 2,
)
