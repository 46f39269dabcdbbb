"""gsgc-local: members gossip within local groups, stability controllers among these.

Promise
    As ``gsgc``'s: a member calls a message stable only after everyone who was not struck off had received it.
How it works
    The group is divided into local groups, by the members' zones where these are known
    (:mod:`stablecast.protocols._local_groups`); the first few of each are its stability controllers.  In
    the first phase members gossip minimum and set, as in ``gsgc``, within their local group.  Whoever has
    all of it tells the controllers and, without failure detection, falls silent, but for a message to one of
    them every few steps, in case that was lost.  A controller that has it adds the local minimum to the
    second phase, gossip among controllers with one bit for each local group.  The first controller that
    has every group multicasts the result, and everyone begins the next round.
    With more than two ``levels`` the controllers of a few local groups form a group of the next level, which
    has controllers of its own, and so on; whoever has all of such a group does as in a local one.
Why it is safe
    The result is a minimum over minima of the level below, down to local ones, each over all members of its
    group that are not struck off.
What members know
    Only their local group; controllers also know the other controllers in their groups.  With ``controllers``
    of them in each group all but one may crash; a crashed member is struck off in its local group, for good,
    after ``threshold`` steps of silence (:mod:`stablecast.protocols._local_groups`).
Cost
    A message has a bit for each member of a local group, or for each group of the level below, instead of one
    for each member of the whole group, and travels among a few; the time of a round grows with the logarithm
    of n.
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
    BY_DRAW,
    BY_LOAD,
    Gone,
    Lives,
    LocalGroup,
    around,
    divide,
    has_or_lost_all,
    local_size,
    may_be_silent,
    part_count,
    upper_levels,
)
from stablecast.protocols.contract import (
    CHOICE,
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
    number,
    send,
    set_of,
    set_timer,
    sources,
)

CONTROLLERS_MAX = 32
LEVELS_MAX = 4
RETELL = 8
"""Steps after which a member that knows its local group tells a controller again."""

Neighbours = Annotated[IntArray, set_of(local_size)]
"""A set of members of a local group, by rank."""
Parts = Annotated[IntArray, set_of(part_count)]
"""A set of groups of the level below, by their numbers in the group that they are parts of."""


class State(LocalGroup):
    """What a member keeps."""

    round: Number
    M: Sources
    """First phase: the minimum of the arrays of those in W."""
    W: Neighbours
    complete: Number
    """Levels of which it has the minimum of its whole group; it gossips at the level of that number."""
    G: Annotated[IntArray, sources(rows=upper_levels)]
    """Of a controller, for each level above the local one: the minimum of those of the groups in V."""
    V: Annotated[IntArray, set_of(part_count, rows=upper_levels)]
    steps: Number
    """Steps that it has taken in its local group."""
    next_local: Time
    """When it takes the next one."""
    upper_steps: Number
    """Steps that it has taken among controllers."""
    next_upper: Time
    """When, as a controller whose local group is complete, it takes the next one."""


class LOCAL(NamedTuple):
    """What a member knows in the first phase."""

    round: RoundNumber
    M: Sources
    W: Neighbours
    gone: Gone
    live: Lives


class GLOBAL(NamedTuple):
    """What a controller knows of its group at a level above the local one."""

    round: RoundNumber
    row: Annotated[int, number(lambda sizes: 0, below=upper_levels)]
    """The level, from 0 for the second phase, which is part of the header."""
    G: Sources
    V: Parts


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
    for row in range(me.params.levels - 1):
        clear(me.V[row])
    me.complete = 0
    me.next_upper = NEVER


@kernel
def timer(me: State, now: int, out: Outbox) -> None:
    """A step in the local group, or among controllers, or both."""
    step_locally(me, now, out)
    if now >= me.next_upper:
        step_among_controllers(me, out)
        me.next_upper = now + me.params.controller_step
    end_phase_if_complete(me, now, out)
    set_timer(out, min(me.next_local, me.next_upper))


# First phase


@kernel
def step_locally(me: State, now: int, out: Outbox) -> None:
    """Gossip to random members of the local group; with all of it known, now and then to one controller."""
    if now < me.next_local:
        return
    me.next_local = now + me.params.step
    me.steps += 1
    if me.complete == 0 or not may_be_silent(me):
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
        set_timer(out, min(me.next_local, me.next_upper))


@kernel
def enter_round(me: State, heard: int, out: Outbox) -> bool:
    """Go on to the round of a message, if that is later; tell whether it is not an earlier one."""
    if heard > me.round:
        end_round(me, heard - 1, out)
    return bool(heard == me.round)


@kernel
def end_phase_if_complete(me: State, now: int, out: Outbox) -> None:
    """Go on to the next level with all of a group; with all of the uppermost one a round is over."""
    if me.complete == 0 and has_or_lost_all(me.W, me):
        enter_next_level(me, now, out)
    for row in range(me.reach):
        if me.complete <= row + 1 and is_full(me.V[row], me.part_counts[row]):
            me.complete = row + 1
            enter_next_level(me, now, out)
    if me.complete == me.params.levels:
        declare_stable(me, out, me.round, me.G[me.params.levels - 2])
        send(out, GROUP, STABLE(me.round, me.G[me.params.levels - 2]))
        end_round(me, me.round, out)


@kernel
def enter_next_level(me: State, now: int, out: Outbox) -> None:
    """Add the minimum of one's group to the next level, or give it to the group's controllers at once."""
    me.complete += 1
    row = me.complete - 1
    if row < me.reach:
        gather(me.G[row], me.M if row == 0 else me.G[row - 1], is_empty(me.V[row]))
        add(me.V[row], me.parts[row])
        me.next_upper = now + int(draw(me) * me.params.controller_step)
    elif row == 0:
        for dest in me.neighbours[: me.params.controllers]:
            send(out, dest, LOCAL(me.round, me.M, me.W, me.gone, me.live))
    elif me.complete < me.params.levels:
        for dest in me.peers[me.peers_from[row - 1] : me.peers_from[row]][: me.params.controllers]:
            send(out, dest, GLOBAL(me.round, row - 1, me.G[row - 1], me.V[row - 1]))


# Among controllers


@kernel
def step_among_controllers(me: State, out: Outbox) -> None:
    """Gossip at the level that is not complete; with all that it takes part in, to a controller at times."""
    me.upper_steps += 1
    row = me.complete - 1
    if row < me.reach:
        gossip_at(me, row, me.peers[me.peers_from[row] : me.peers_from[row + 1]], me.params.subgroup, out)
    elif me.upper_steps % RETELL == 0:
        peers = me.peers[me.peers_from[row - 1] : me.peers_from[row]]
        gossip_at(me, row - 1, peers[: me.params.controllers], 1, out)


@kernel
def gossip_at(me: State, row: int, among: IntArray, count: int, out: Outbox) -> None:
    """Tell random controllers what is known of a level."""
    since, nobody = out.marks.sends, me.gone[:0]
    for _ in range(count):
        dest = choose(me, among, nobody, since, out)
        if dest != NOBODY and dest != me.number:
            send(out, dest, GLOBAL(me.round, row, me.G[row], me.V[row]))


@kernel
def on_global(me: State, source: int, message: GLOBAL, now: int, out: Outbox) -> None:
    """Take in gossip of a level above the local one."""
    if enter_round(me, message.round, out) and message.row < me.reach:
        take_in(me.G[message.row], me.V[message.row], message.G, message.V)
        end_phase_if_complete(me, now, out)
        set_timer(out, min(me.next_local, me.next_upper))


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
    sends=lambda sizes: 2 * SUBGROUP_MAX + LEVELS_MAX * CONTROLLERS_MAX + 2,
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
            "Stability controllers of a group: the members that gossip with those of other groups.",
            least=1,
            most=CONTROLLERS_MAX,
        ),
        Parameter(
            "controller_step",
            TIME,
            0.7,
            "Time between two steps of the controllers' gossip with those of other groups.",
            unit="s",
            role=Role.EVERY,
            above=0,
        ),
        Parameter(
            "levels",
            WHOLE,
            2,
            "Levels of groups: local groups, and above them groups of controllers of the level below.",
            least=2,
            most=LEVELS_MAX,
        ),
        Parameter(
            "chosen_by",
            CHOICE,
            "draw",
            "What makes a member a controller: draw, as in the paper's simulation; load, members that send no"
            " data before those that do, and of these the ones with the shortest ways to all others.",
            choices={"draw": BY_DRAW, "load": BY_LOAD},
            role=Role.MODEL,
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
