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
    impossible and which membership changes make possible, is treated like one from the next round.  Rounds
    are numbered from 1.  With ``snapshot`` ``use`` a member's array is taken when it is first sent or joined
    with another one, not when the round begins: it is an array that the member really had either way.
When members fail, join and leave (``threshold`` above 0)
    :mod:`stablecast.protocols._gossip_members`, with the failure detection of Figure 3, and
    :mod:`stablecast.protocols._late_join`, with late-join handlers and admission control.  Results are then
    piggybacked in any case: who was cut off learns from S that there is something it lacks.
When rounds begin
    One after the other, or when buffers have filled up, or in times in which few join
    (:mod:`stablecast.protocols._gossip_rest`).  Who rests sends nothing of the round, and answers gossip of
    an earlier one with its result.
Cost
    ``subgroup`` unicasts a member and step; a message has 4m + n/8 + 4 bytes beyond its header.
Paper
    GSGC: An Efficient Gossip-Style Garbage Collection Scheme for Scalable Reliable Multicast, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from stablecast.errors import InvalidInput
from stablecast.frontier import exceeds
from stablecast.frontier.sets import holds_more, holds_only
from stablecast.protocols._gossip import (
    NOBODY,
    SUBGROUP_MAX,
    THRESHOLD,
    TRIES,
    RoundNumber,
    begin,
    draw,
    is_chosen,
)
from stablecast.protocols._gossip_group import around
from stablecast.protocols._gossip_members import (
    Known,
    Lives,
    Statuses,
    admit_common,
    enter_round,
    is_complete,
    pick,
    share_calm,
    take_in_from,
)
from stablecast.protocols._gossip_rest import FILL, QUIET, REST, has_reason, rest
from stablecast.protocols._late_join import ADMIT, HANDLERS, LET_IN_MAX, WINDOW, Newcomer
from stablecast.protocols.contract import (
    CHOICE,
    GROUP,
    TIME,
    WHOLE,
    Gossiping,
    IntArray,
    Kernels,
    Members,
    Number,
    Outbox,
    Parameter,
    Protocol,
    Role,
    Sizes,
    Sources,
    Time,
    begin_execution,
    declare_stable,
    finish,
    hidden,
    kernel,
    number,
    send,
    set_timer,
    sources,
)

PIGGYBACK, MULTICAST = 1, 2  # bits of ``share``
BEGIN, USE = 0, 1  # values of ``snapshot``


class State(Newcomer):
    """What a member keeps; its R is ``received``, and its S is ``stable``."""

    M: Sources
    """Minimum so far."""
    W: Members
    """Whom this member has heard from, directly or through others."""
    round: Number
    """r: the number of the current round."""
    step_in_force: Time
    """The time between steps that its phase was drawn for."""


def piggybacks(sizes: Sizes) -> bool:
    """Tell whether results travel with gossip."""
    return bool(sizes.params["share"] & PIGGYBACK)


class GOSSIP(NamedTuple):
    """(M, W, S, r) of a member, S being the result of the round before."""

    round: RoundNumber
    M: Sources
    W: Members
    S: Annotated[IntArray, sources(when=piggybacks)]
    status: Statuses
    live: Lives
    common: Known


class STABLE(NamedTuple):
    """The result of a round."""

    round: RoundNumber
    S: Sources
    status: Statuses
    live: Lives
    common: Known


class ALIVE(NamedTuple):
    """A sign of life of a member that rests, where failures are detected: Figure 3's message, and S."""

    round: RoundNumber
    S: Sources
    status: Statuses
    live: Lives
    calm: Annotated[int, number(lambda sizes: 1)]
    """Steps since it heard of a newcomer."""


@kernel
def init(me: State, now: int, out: Outbox) -> None:
    """Initially M = R and W = {me}; members gossip once a step, each at a random phase."""
    me.round = max(me.round, 1)
    begin_round(me)
    rest_or_begin(me, now, out)
    set_timer(out, now + draw_phase(me))


@kernel
def rest_or_begin(me: State, now: int, out: Outbox) -> None:
    """Rest until there is a reason for the current round; without resting it begins at once."""
    rest(me, now)
    if not me.resting:
        begin_execution(out, me.round)


@kernel
def start_round(me: State, now: int) -> None:
    """Rest no longer, for a reason of one's own or because others do not: M = R as of now."""
    begin_round(me)
    me.resting = 0
    me.let_in = 0
    me.round_at = now


@kernel
def begin_round(me: State) -> None:
    """M = R and W = {me}."""
    begin(me.M, me.W, me.received, me.number)
    enter_round(me)


@kernel
def take_late(me: State) -> None:
    """With ``snapshot`` ``use``, M = R as long as W = {me}, right before M is sent or joined with another."""
    if me.params.snapshot == USE and holds_only(me.W, me.number):
        begin(me.M, me.W, me.received, me.number)


@kernel
def draw_phase(me: State) -> int:
    """Draw where in a step this member gossips."""
    me.step_in_force = me.params.step
    return int(draw(me) * me.params.step)


@kernel
def timer(me: State, now: int, out: Outbox) -> None:
    """One step: gossip to a random sub-group."""
    if me.resting and has_reason(me):
        start_round(me, now)
        begin_execution(out, me.round)
    take_late(me)
    tell(me, out)
    if me.step_in_force == me.params.step:
        set_timer(out, now + me.params.step)
    else:
        # A new step takes new phases: with the old ones all would crowd into a part of a longer step.
        set_timer(out, now + 1 + draw_phase(me))
    if me.resting:
        me.rested += 1
    else:
        end_round_if_complete(me, now, out)


@kernel
def tell(me: State, out: Outbox) -> None:
    """Send (M, W, S, r) to a few members; one that draws itself sends a message less, as in the paper.

    While it rests it sends signs of life, where these are needed, and otherwise nothing.
    """
    if me.resting and me.params.threshold == 0:
        return
    drew_itself = False
    for _ in range(me.params.subgroup):
        dest = choose_rank(me, drew_itself, out)
        if dest == me.number:
            drew_itself = True
        elif dest != NOBODY and me.resting:
            send(out, dest, ALIVE(me.round, me.stable, me.status, me.live, me.calm))
        elif dest != NOBODY:
            send(out, dest, GOSSIP(me.round, me.M, me.W, me.stable, me.status, me.live, me.common))


@kernel
def choose_rank(me: State, drew_itself: bool, out: Outbox) -> int:
    """Return a random member that was not chosen in this step yet, ``NOBODY`` if none is found."""
    for _ in range(TRIES):
        dest = pick(me, draw(me), out.marks.sends == 0)
        chosen = drew_itself if dest == me.number else is_chosen(out, 0, dest)
        if dest == NOBODY or not chosen:
            return dest
    return NOBODY


@kernel
def on_gossip(me: State, source: int, message: GOSSIP, now: int, out: Outbox) -> None:
    """Take in a message of the current round or, as its first, of a later one."""
    if message.round > 1 and exceeds(message.S, me.stable):
        declare_stable(me, out, message.round - 1, message.S)
    if message.round < me.round:
        if me.resting:
            send(out, source, STABLE(me.round - 1, me.stable, me.status, me.live, me.common))
        return
    if message.round > me.round:
        end_round(me, message.round - 1, now, out)
    if me.resting:
        start_round(me, now)
    take_late(me)
    if holds_more(message.W, me.W):
        take_in_from(me, message)
    end_round_if_complete(me, now, out)


@kernel
def end_round_if_complete(me: State, now: int, out: Outbox) -> None:
    """If W contains everyone: S = M, and start the next round."""
    if not is_complete(me):
        return
    admit_common(me, out)
    declare_stable(me, out, me.round, me.M)
    if me.params.share & MULTICAST:
        send(out, GROUP, STABLE(me.round, me.M, me.status, me.live, me.common))
    end_round(me, me.round, now, out)


@kernel
def end_round(me: State, ended: int, now: int, out: Outbox) -> None:
    """Go on to the next round: r = r + 1, M = R and W = {me}."""
    finish(out, ended)
    me.round = ended + 1
    me.let_in = 0
    begin_round(me)
    rest_or_begin(me, now, out)


@kernel
def on_stable(me: State, source: int, message: STABLE, now: int, out: Outbox) -> None:
    """Someone else has completed the round."""
    declare_stable(me, out, message.round, message.S)
    if message.round >= me.round:
        end_round(me, message.round, now, out)


@kernel
def on_alive(me: State, source: int, message: ALIVE, now: int, out: Outbox) -> None:
    """Someone rests: the rounds before are over, and their result is known."""
    if message.round > 1 and exceeds(message.S, me.stable):
        declare_stable(me, out, message.round - 1, message.S)
    share_calm(me, message.status, message.calm)
    if message.round > me.round:
        end_round(me, message.round - 1, now, out)


def _resolve(values: Mapping[str, int], group: int) -> dict[str, int]:
    """Where members come and go, a result also rides on gossip: who was cut off hears of what it lacks."""
    return {"share": values["share"] | PIGGYBACK} if values["threshold"] > 0 else {}


def _check(values: Mapping[str, int]) -> None:
    for parameter in (QUIET, ADMIT, WINDOW):
        if values[parameter.name] > 0 and values["threshold"] == 0:
            raise InvalidInput(
                f"{parameter.option_name} above 0 is not accepted (accepted: 0, or more with threshold_steps"
                " above 0)"
            )


PLAIN = Kernels(
    init=init,
    timer=timer,
    receive={GOSSIP: on_gossip, STABLE: on_stable, ALIVE: on_alive},
    sends=lambda sizes: SUBGROUP_MAX + 2 + LET_IN_MAX,
)
PROTOCOL = Protocol(
    about=__doc__,
    paper="gossip, section 3",
    state=State,
    kernels=around(PLAIN, tell),
    runs=Gossiping(by_minimum=True, status="status"),
    resolve=_resolve,
    check=_check,
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
            "snapshot",
            CHOICE,
            "begin",
            "When a member takes its received array for a round: begin, when the round begins for it, as in"
            " the paper; use, when the array is first sent or joined with another member's.",
            choices={"begin": BEGIN, "use": USE},
            role=Role.SNAPSHOT,
        ),
        THRESHOLD,
        hidden("initial", Role.INITIAL),
        HANDLERS,
        ADMIT,
        WINDOW,
        QUIET,
        FILL,
        REST,
    ),
)
