"""cubefulldist: members of a logical hypercube tell their neighbours all they know until they know everyone.

Promise
    A member calls a message stable only after every member had received it.
Why it is safe
    M is the minimum over the members in G of what they had received in this round or after it began, and
    received prefixes only grow; M and G change only together and begin anew with every round.  M is declared
    only when G holds everyone who is not known to be gone.
Cost
    A round takes at most ceil(log2 n) iterations without failures, fewer than (log2 n + 1) log2 n messages a
    member, all members alike.  A message carries n bits besides the sequence numbers.
An iteration
    A member sends (round, iteration, G, M) to all its neighbours and waits for theirs.  A neighbour's later
    message stands for its earlier ones, since it holds as much and more.  When G is full, at whatever
    message, the member sends it once more, so that its neighbours are through too, and the round is over.
When messages are lost, or members are gone
    :mod:`stablecast.protocols.layers.cube`.  With fewer than floor(log2 n) gone, everyone else is still
    joined.  With ``links`` ``plain``, as in HyperCast, a member may have a single neighbour, and is cut off
    with it.
Paper
    Scalable Stability Detection Using Logical Hypercube, sections 3.2 to 3.5, Figure 4.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from stablecast.frontier.sets import add, clear, is_full, join
from stablecast.overlays.hypercube import hypercube
from stablecast.protocols.contract import (
    CHOICE,
    FLAG,
    NEVER,
    TIME,
    Gossiping,
    IntArray,
    Kernels,
    Links,
    Members,
    Number,
    Outbox,
    Parameter,
    Placement,
    Places,
    Protocol,
    Role,
    Round,
    Sizes,
    Sources,
    Surroundings,
    declare_stable,
    entries,
    finish,
    gather,
    hidden,
    kernel,
    number,
    send,
    send_again,
    set_of,
    set_timer,
)
from stablecast.protocols.layers import RESEND, cube, is_gone, wait_for_answers

DEGREE_MAX = 32
COMPENSATED = 0


class State(cube.Neighbour):
    """What a member keeps."""

    neighbours: Places
    """Its neighbours in the hypercube, by dimension."""
    round: Number
    iteration: Number
    """0 while the round has not begun here."""
    M: Sources
    """The minimum of the arrays of the members in G."""
    G: Members
    started: Number
    """Whether M holds anything."""
    reached: Annotated[IntArray, entries(lambda sizes: DEGREE_MAX)]
    """For each neighbour, the newest iteration heard from it."""


def _iteration_bytes(sizes: Sizes) -> int:
    return 0 if sizes.params["free_bitmap"] else sizes.entry_bytes


def _bitmap_bytes(sizes: Sizes) -> int:
    return 0 if sizes.params["free_bitmap"] else -(-sizes.group // 8)


Iteration = Annotated[int, number(_iteration_bytes)]
Bitmap = Annotated[IntArray, set_of(lambda sizes: sizes.group, wire=_bitmap_bytes)]


class STABILITY(NamedTuple):
    """All that a member knows."""

    round: Round
    iteration: Iteration
    M: Sources
    G: Bitmap


class REPEAT(NamedTuple):
    """The same again, to one that has not answered; where messages may be lost."""

    round: Round
    iteration: Iteration
    M: Sources
    G: Bitmap


@kernel
def init(me: State, now: int, out: Outbox) -> None:
    """Begin the first round."""
    me.round = 1
    open_round(me)
    begin(me, now, out)


@kernel
def open_round(me: State) -> None:
    """Know nothing of anyone."""
    me.iteration = 0
    me.started = 0
    clear(me.G)
    for k in range(me.neighbours.size):
        me.reached[k] = 0
    cube.leave_out_gone(me)


@kernel
def begin(me: State, now: int, out: Outbox) -> None:
    """Step 1: add one's own array to what faster neighbours have told already, and tell it."""
    gather(me.M, me.received, me.started == 0)
    me.started = 1
    cube.note_news(me)
    add(me.G, me.number)
    me.iteration = 1
    if not is_full(me.G, me.group_size):
        tell_neighbours(me, now, out)
    go_on(me, now, out)


@kernel
def tell_neighbours(me: State, now: int, out: Outbox) -> None:
    """Send M and G, as they are now, to every neighbour."""
    first = True
    for k in range(me.neighbours.size):
        if is_gone(me, me.neighbours[k]):
            continue
        if first:
            send(out, me.neighbours[k], STABILITY(me.round, me.iteration, me.M, me.G))
        else:
            send_again(out, me.neighbours[k])
        first = False
    wait_for_answers(me, now, out)


@kernel
def on_stability(me: State, source: int, message: STABILITY, now: int, out: Outbox) -> None:
    """Step 2: take in what a neighbour knows; go on when that completes the iteration or the round."""
    if message.round == me.round:
        take_in(me, source, message.iteration, message.M, message.G)
        if me.iteration > 0:
            go_on(me, now, out)


@kernel
def take_in(me: State, source: int, iteration: int, M: IntArray, G: IntArray) -> None:
    """Minimum and union."""
    gather(me.M, M, me.started == 0)
    me.started = 1
    if join(me.G, G):
        cube.note_news(me)
    for k in range(me.neighbours.size):
        if me.neighbours[k] == source:
            me.reached[k] = max(me.reached[k], iteration)


@kernel
def go_on(me: State, now: int, out: Outbox) -> None:
    """Step 3: close the round with everyone in G; else begin the next iteration once all are heard."""
    if is_full(me.G, me.group_size):
        close_round(me, now, out)
        return
    while all_heard(me) and cube.is_worth_it(me):
        me.iteration += 1
        tell_neighbours(me, now, out)


@kernel
def all_heard(me: State) -> bool:
    """Tell whether every neighbour that is not gone, and there is one, has reached this iteration."""
    live = False
    for k in range(me.neighbours.size):
        if me.reached[k] < me.iteration:
            return False
        live = live or me.reached[k] < cube.LAST
    return live


@kernel
def close_round(me: State, now: int, out: Outbox) -> None:
    """Step 4: tell the neighbours once more; what everyone has is stable."""
    me.iteration += 1
    tell_neighbours(me, now, out)
    cube.keep_result(me)
    declare_stable(me, out, me.round, me.M)
    finish(out, me.round)
    more = me.params.rounds == 0 or me.round < me.params.rounds
    set_timer(out, now + me.params.pause if more else NEVER)
    me.round += 1
    open_round(me)


def links(around: Surroundings) -> Links:
    """Link each member with its neighbours in the hypercube, by dimension."""
    made = hypercube(around.sizes.group, compensated=around.sizes.params["links"] == COMPENSATED)
    return made.neighbours, made.start


def places(around: Surroundings) -> Placement:
    """Give each member its neighbours."""
    return {"neighbours": links(around)}


def _messages_of_a_round(group: int) -> float:
    """Messages times their cost: the set of members in each grows with the group."""
    return 3 * group * math.log2(group + 2) ** 2 * (1 + group / 20_000)


PLAIN = Kernels(init=init, receive={STABILITY: on_stability}, timer=begin, sends=lambda sizes: 3 * DEGREE_MAX)
PROTOCOL = Protocol(
    about=__doc__,
    paper="hypercube, section 3",
    state=State,
    kernels=cube.around(PLAIN, take_in, go_on, STABILITY, REPEAT),
    runs=Gossiping(
        by_minimum=True,
        timed=lambda sizes: sizes.params["resend"] > 0 or sizes.params["rounds"] != 1,
        placement="random",
        ends=True,
        execution_messages=_messages_of_a_round,
    ),
    parameters=(
        RESEND,
        Parameter(
            "pause",
            TIME,
            0.0,
            "Time from the end of a round at a member to the beginning of its next round.",
            unit="ms",
            role=Role.PAUSE,
            least=0,
        ),
        hidden("rounds", Role.EXECUTIONS),
        Parameter(
            "free_bitmap",
            FLAG,
            False,
            "Let the set of members take no bytes on the wire, as in the paper.",
            role=Role.MODEL,
        ),
        Parameter(
            "links",
            CHOICE,
            "compensated",
            "Links where members are missing from a complete hypercube: compensated, between the members that"
            " miss them; or plain, none in their place.",
            choices={"compensated": COMPENSATED, "plain": 1},
        ),
    ),
    places=places,
    links=links,
)
