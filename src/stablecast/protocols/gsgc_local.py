"""gsgc-local: members gossip within local groups, stability controllers among all groups.

Promise
    As ``gsgc``'s: a member calls a message stable only after everyone who was not struck off had received it.
How it works
    The group is divided into local groups, by the members' zones where these are known
    (:mod:`stablecast.protocols._local_groups`); the first few of each are its stability controllers.  In
    the first phase members gossip minimum and set, as in ``gsgc``, within their local group.  Whoever has
    all of it tells the controllers and, without failure detection, falls silent, but for a message to one of
    them every few steps, in case that was lost.  A controller that has it adds the local minimum to the
    second phase, gossip among all controllers with one bit for each local group.  The first controller that
    has every group multicasts the result, and everyone begins the next round.
Why it is safe
    The result is a minimum over local minima, each over all members of its group that are not struck off.
What members know
    Only their local group; controllers also know the other controllers.  With ``controllers`` of them in
    each group all but one may crash; a crashed member is struck off in its local group, for good, after
    ``threshold`` steps of silence (:mod:`stablecast.protocols._local_groups`).
Cost
    A message has a bit for each member of a local group, or for each local group, instead of one for each
    member of the whole group, and travels among a few; the time of a round grows with the logarithm of n.
Paper
    GSGC: An Efficient Gossip-Style Garbage Collection Scheme for Scalable Reliable Multicast, section 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from stablecast.errors import InvalidInput
from stablecast.frontier.sets import add, clear, is_empty, is_full
from stablecast.protocols._gossip import (
    NOBODY,
    SUBGROUP_MAX,
    THRESHOLD,
    RoundNumber,
    begin,
    choose,
    draw,
    take_in,
)
from stablecast.protocols._local_groups import (
    Gone,
    Lives,
    LocalGroup,
    around,
    divide,
    group_count,
    has_or_lost_all,
    local_size,
    may_be_silent,
)
from stablecast.protocols.contract import (
    FLAG,
    GROUP,
    NEVER,
    TIME,
    WHOLE,
    Gossiping,
    IntArray,
    Kernels,
    Number,
    Outbox,
    Parameter,
    Protocol,
    Role,
    Sources,
    Time,
    declare_stable,
    finish,
    gather,
    kernel,
    send,
    set_of,
    set_timer,
)

CONTROLLERS_MAX = 32
RETELL = 8
"""Steps after which a member that knows its local group tells a controller again."""

Neighbours = Annotated[IntArray, set_of(local_size)]
"""A set of members of a local group, by rank."""
Groups = Annotated[IntArray, set_of(group_count)]
"""A set of local groups."""


class State(LocalGroup):
    """What a member keeps."""

    round: Number
    M: Sources
    """First phase: the minimum of the arrays of those in W."""
    W: Neighbours
    has_group: Number
    """Whether it has the minimum of its whole local group."""
    G: Sources
    """Second phase, of a controller: the minimum of those of the local groups in V."""
    V: Groups
    steps: Number
    """Steps that it has taken in its local group."""
    next_local: Time
    """When it takes the next one."""
    next_global: Time
    """When, as a controller in the second phase, it takes the next step among controllers."""


class LOCAL(NamedTuple):
    """What a member knows in the first phase."""

    round: RoundNumber
    M: Sources
    W: Neighbours
    gone: Gone
    live: Lives


class GLOBAL(NamedTuple):
    """What a controller knows in the second phase."""

    round: RoundNumber
    G: Sources
    V: Groups


class STABLE(NamedTuple):
    """The result of a round."""

    round: RoundNumber
    S: Sources


@kernel
def init(me: State, now: int, out: Outbox) -> None:
    """Take part from now on, at a random phase of a step."""
    me.round = max(me.round, 1)
    begin_round(me)
    me.next_local = now + int(draw(me) * me.params.step)
    set_timer(out, me.next_local)


@kernel
def begin_round(me: State) -> None:
    """M = R and W = {me}; nothing of the second phase is known."""
    begin(me.M, me.W, me.received, me.rank)
    clear(me.V)
    me.has_group = 0
    me.next_global = NEVER


@kernel
def timer(me: State, now: int, out: Outbox) -> None:
    """A step in the local group, or among controllers, or both."""
    step_locally(me, now, out)
    if now >= me.next_global:
        gossip_globally(me, out)
        me.next_global = now + me.params.controller_step
    end_phase_if_complete(me, now, out)
    set_timer(out, min(me.next_local, me.next_global))


# First phase


@kernel
def step_locally(me: State, now: int, out: Outbox) -> None:
    """Gossip to random members of the local group; with all of it known, now and then to one controller."""
    if now < me.next_local:
        return
    me.next_local = now + me.params.step
    me.steps += 1
    if not me.has_group or not may_be_silent(me):
        gossip_locally(me, me.neighbours, me.params.subgroup, out)
    elif me.steps % RETELL == 0:
        gossip_locally(me, me.neighbours[: me.params.controllers], 1, out)


@kernel
def gossip_locally(me: State, among: IntArray, count: int, out: Outbox) -> None:
    """Tell random members what is known of the first phase; one that draws itself sends a message less."""
    for _ in range(count):
        dest = choose(me, among, me.gone, 0, out)
        if dest != NOBODY and dest != me.number:
            send(out, dest, LOCAL(me.round, me.M, me.W, me.gone, me.live))


@kernel
def on_local(me: State, source: int, message: LOCAL, now: int, out: Outbox) -> None:
    """Take in gossip of the first phase."""
    if enter_round(me, message.round, out):
        take_in(me.M, me.W, message.M, message.W)
        end_phase_if_complete(me, now, out)
        set_timer(out, min(me.next_local, me.next_global))


@kernel
def enter_round(me: State, heard: int, out: Outbox) -> bool:
    """Go on to the round of a message, if that is later; tell whether it is not an earlier one."""
    if heard > me.round:
        end_round(me, heard - 1, out)
    return bool(heard == me.round)


@kernel
def end_phase_if_complete(me: State, now: int, out: Outbox) -> None:
    """With all of the local group a controller enters the second phase; with all groups a round is over."""
    is_controller = me.rank < me.params.controllers
    if not me.has_group and has_or_lost_all(me.W, me):
        me.has_group = 1
        if is_controller:
            enter_second_phase(me, now)
        else:
            tell_controllers(me, out)
    if is_controller and is_full(me.V, me.group_count):
        declare_stable(me, out, me.round, me.G)
        send(out, GROUP, STABLE(me.round, me.G))
        end_round(me, me.round, out)


@kernel
def tell_controllers(me: State, out: Outbox) -> None:
    """Give the local minimum to the local group's controllers at once."""
    for dest in me.neighbours[: me.params.controllers]:
        send(out, dest, LOCAL(me.round, me.M, me.W, me.gone, me.live))


# Second phase


@kernel
def enter_second_phase(me: State, now: int) -> None:
    """Add the local minimum, as the local group's contribution."""
    gather(me.G, me.M, is_empty(me.V))
    add(me.V, me.local_group)
    me.next_global = now + int(draw(me) * me.params.controller_step)


@kernel
def gossip_globally(me: State, out: Outbox) -> None:
    """Tell random controllers of all groups what is known of the second phase."""
    since, nobody = out.marks.sends, me.gone[:0]
    for _ in range(me.params.subgroup):
        dest = choose(me, me.controllers, nobody, since, out)
        if dest != NOBODY and dest != me.number:
            send(out, dest, GLOBAL(me.round, me.G, me.V))


@kernel
def on_global(me: State, source: int, message: GLOBAL, now: int, out: Outbox) -> None:
    """Take in gossip of the second phase."""
    if enter_round(me, message.round, out):
        take_in(me.G, me.V, message.G, message.V)
        end_phase_if_complete(me, now, out)
        set_timer(out, min(me.next_local, me.next_global))


@kernel
def on_stable(me: State, source: int, message: STABLE, now: int, out: Outbox) -> None:
    """The result of a round ends it."""
    declare_stable(me, out, message.round, message.S)
    if message.round >= me.round:
        end_round(me, message.round, out)
        set_timer(out, me.next_local)


@kernel
def end_round(me: State, ended: int, out: Outbox) -> None:
    """Begin the round after one that has ended."""
    finish(out, ended)
    me.round = ended + 1
    begin_round(me)


def _check(values: Mapping[str, int]) -> None:
    if values["controllers"] > values["local_size"]:
        raise InvalidInput(
            f"controllers {values['controllers']} is not accepted (accepted: 1 to {values['local_size']}, the"
            " members of a local group)"
        )


PLAIN = Kernels(
    init=init,
    timer=timer,
    receive={LOCAL: on_local, GLOBAL: on_global, STABLE: on_stable},
    sends=lambda sizes: 2 * SUBGROUP_MAX + CONTROLLERS_MAX + 2,
)
PROTOCOL = Protocol(
    about=__doc__,
    paper="gossip, section 5",
    state=State,
    kernels=around(PLAIN, step_locally),
    runs=Gossiping(by_minimum=True),
    places=divide,
    check=_check,
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
        THRESHOLD,
        Parameter("local_size", WHOLE, 50, "Most members of a local group; a larger zone is cut.", least=1),
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
            role=Role.MODEL,
        ),
    ),
)
