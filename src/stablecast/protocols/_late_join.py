"""How a member joins ``gsgc`` while it runs: late-join handlers, what they send, and admission control.

What a newcomer needs
    Members let go of what is stable.  A newcomer has none of it, so nobody but the *late-join handlers* can
    give it to it: the first members, which keep every data message that they sent or received.  What is not
    stable yet every member still has, and the newcomer gets it by the ordinary repair of data.
How it joins
    1. It asks a handler (JOIN), one after the other at each step until one answers.
    2. The handler answers with what is stable, who is in, and which round it is (WELCOME).
    3. The newcomer now knows what is stable, and so what it lacks of that; its data plane asks the handlers
       for it.  Results of rounds that reach it meanwhile move that mark.  It takes no part in rounds yet.
    4. When it has all of that, it counts itself in and takes part.
    A member that finds itself struck off comes back in the same way, and lacks less.
Why that is safe
    A newcomer takes no part before it has everything stable that it knows of.  What becomes stable later, and
    before others know it, it learns of from S, and then has it sent by the handlers, who keep it.  It is
    promised what is sent after its admission (:mod:`stablecast.protocols._gossip_members`), like everyone.
Admission control
    With ``admit_per_round`` or ``join_window`` a newcomer that has caught up asks once more, and waits until
    it is let in.  The data that it needs it gets before, since that disturbs no round.  One handler decides,
    or there would be a limit for each of them: the first that is in.  It lets so many in while a round lasts
    for it, and only so long after its start (or while no round is under way); the others wait.  A handler
    that comes back is not kept waiting, because there might be no other to let it in.
What can go wrong
    All handlers may be out at the same time, each having been struck off by the others.  One that is on its
    way back therefore still answers with what it has.  A handler whom no other handler answers comes in by
    itself, since it may be the last one: it keeps all that it had, and so has everything stable that it knows
    of.  What became stable while it was out, and only crashed handlers kept, it does not get any more.  With
    all handlers crashed, nobody can join.
    While views of who is in differ, two handlers may both take themselves for the one that decides; then more
    are let in than should be, which costs time.  An answer that is lost counts as one let in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

from stablecast.frontier import exceeds
from stablecast.frontier.sets import add, clear, has, is_empty, remove
from stablecast.protocols._gossip import RoundNumber, go
from stablecast.protocols._gossip_members import (
    Known,
    Lives,
    Membership,
    Statuses,
    count_in,
    is_in,
    learn,
)
from stablecast.protocols.contract import (
    TIMEOUT,
    WHOLE,
    Number,
    Outbox,
    Parameter,
    Role,
    Sources,
    declare_stable,
    finish,
    kernel,
    number,
    send,
    set_timer,
)

ASKING, CATCHING_UP, READY = 1, 2, 3
"""Where a member is that is on its way in."""
HANDLERS_MAX = 32
ASKS_MAX = 8
"""How often a handler asks each other handler before it takes itself for the last one."""
LET_IN_MAX = 8
"""Members that a handler lets in by one call; the next ones follow with its next call."""

HANDLERS = Parameter(
    "handlers",
    WHOLE,
    3,
    "Late-join handlers: the first members, which keep all data messages and send newcomers what they lack.",
    role=Role.HANDLERS,
    least=1,
    most=HANDLERS_MAX,
)
ADMIT = Parameter(
    "admit_per_round",
    WHOLE,
    0,
    "Members that may join while one round lasts, the others later; 0 for any number. Above 0 only together"
    " with --threshold-steps.",
    role=Role.ADMISSION,
    least=0,
)
WINDOW = Parameter(
    "join_window",
    TIMEOUT,
    0.0,
    "Time after the start of a round in which members may join; 0 for at any time. Above 0 only together with"
    " --threshold-steps.",
    unit="s",
    role=Role.ADMISSION,
    least=0,
)


class Newcomer(Membership):
    """What a member keeps of joining: its own, and as a handler that of others."""

    joining: Number
    """How far it is on its way in: 0 once it is in, or never was."""
    asked: Number
    """How often it has asked."""
    running: Number
    """Whether the round that it would come into has begun, for all that it was told."""
    waiting: Known
    """Of a handler: those that have caught up and wait to be let in."""
    let_in: Number
    """Of a handler: how many it has let in while this round lasts."""


class JOIN(NamedTuple):
    """A member wants to join, and may be ready for that."""

    round: RoundNumber
    ready: Annotated[int, number(lambda sizes: 1)]
    """Whether it has what it needs, and only has to be let in."""


class WELCOME(NamedTuple):
    """What a newcomer has to know."""

    round: RoundNumber
    S: Sources
    status: Statuses
    live: Lives
    enter: Annotated[int, number(lambda sizes: 1)]
    """Whether it is let in."""
    running: Annotated[int, number(lambda sizes: 1)]
    """Whether the round has begun."""


@kernel
def handler_count(me: Any) -> int:
    """Return how many handlers there are: members that were there from the start."""
    first = me.params.initial if me.params.initial > 0 else me.group_size
    return int(min(me.params.handlers, first))


@kernel
def begin_to_join(me: Any, now: int, out: Outbox) -> None:
    """Come from outside: ask the first handler at once."""
    me.out = 1
    me.joining = ASKING
    me.asked = 0
    clear(me.waiting)
    _ask(me, now, out)


@kernel
def _ask(me: Any, now: int, out: Outbox) -> None:
    """Ask the next handler, and again after a step."""
    handler = me.asked % handler_count(me)
    me.asked += 1
    if handler == me.number:
        handler = me.asked % handler_count(me)
        me.asked += 1
    if handler != me.number:
        send(out, handler, JOIN(0, int(me.joining == READY)))
    set_timer(out, now + me.params.step)


@kernel
def _is_last_handler(me: Any) -> bool:
    """Tell whether this member is a handler that finds no other one to ask."""
    if me.number >= handler_count(me) or me.joining != ASKING:
        return False
    return bool(handler_count(me) == 1 or me.asked >= ASKS_MAX * handler_count(me))


@kernel
def is_gated(me: Any) -> bool:
    """Tell whether a newcomer has to wait until it is let in."""
    limited = me.params.admit_per_round > 0 or me.params.join_window > 0
    return bool(limited and me.number >= handler_count(me))


@kernel
def follow(me: Any, S: Any, ended: int, running: int, out: Outbox) -> None:
    """Learn on the way in which round it is, and what is stable; what one lacks of that is then asked for."""
    if ended + 1 >= me.round:
        me.running = running
    if exceeds(S, me.stable):
        declare_stable(me, out, ended, S)
    if ended > 0:
        finish(out, ended)
    me.round = max(me.round, ended + 1)


# What a handler does


@kernel
def on_join(me: Any, source: int, message: JOIN, now: int, out: Outbox) -> None:
    """Tell a newcomer what it needs; one that is ready waits to be let in."""
    if me.params.threshold == 0 or me.number >= handler_count(me) or (me.out and not me.joining):
        return
    if not message.ready:
        _welcome(me, source, 0, out)
    elif _decides(me):
        add(me.waiting, source)
        let_in(me, now, out)


@kernel
def _welcome(me: Any, dest: int, enter: int, out: Outbox) -> None:
    send(out, dest, WELCOME(me.round, me.stable, me.status, me.live, enter, 1 - me.resting))


@kernel
def _decides(me: Any) -> bool:
    """Tell whether this handler is the one that lets members in."""
    for j in range(me.number):
        if is_in(me, j):
            return False
    return not me.out


@kernel
def _is_open(me: Any, now: int) -> bool:
    """Tell whether one more may join now."""
    if me.resting:
        return True
    if 0 < me.params.admit_per_round <= me.let_in:
        return False
    window = me.params.join_window
    return bool(window == 0 or now < me.round_at + window)


@kernel
def let_in(me: Any, now: int, out: Outbox) -> None:
    """Let in who waits, as far as admission control allows."""
    if is_empty(me.waiting):
        return
    if not _decides(me):
        clear(me.waiting)
        return
    left = LET_IN_MAX
    for j in range(me.group_size):
        if left > 0 and has(me.waiting, j) and _is_open(me, now):
            remove(me.waiting, j)
            if not is_in(me, j):
                me.let_in += 1
                left -= 1
                _welcome(me, j, 1, out)


# What a newcomer does


def entering(take_part: Callable[..., None]) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return what a newcomer does at its steps, and with a WELCOME; ``take_part`` is the plain ``init``."""

    @kernel
    def come_in(me: Any, now: int, out: Outbox) -> None:
        """Count oneself in and take part."""
        me.out = 0
        me.joining = 0
        count_in(me)
        take_part(me, now, out)
        if me.running:
            me.resting = 0

    @kernel
    def go_on(me: Any, now: int, out: Outbox) -> None:
        """Come in, or wait to be let in, if nothing is lacking any more."""
        if me.joining != CATCHING_UP or exceeds(me.stable, me.received):
            return
        if is_gated(me):
            me.joining = READY
            me.asked = 0
            _ask(me, now, out)
        else:
            come_in(me, now, out)

    @kernel
    def step(me: Any, now: int, out: Outbox) -> None:
        """Look whether it has what it needs, or ask again; come in if there is nobody to ask."""
        if me.leaving:
            me.joining = 0
            go(me, me.status[me.number], out)
        elif me.joining == CATCHING_UP:
            set_timer(out, now + me.params.step)
            go_on(me, now, out)
        elif _is_last_handler(me):
            come_in(me, now, out)
        else:
            _ask(me, now, out)

    @kernel
    def on_welcome(me: Any, source: int, message: WELCOME, now: int, out: Outbox) -> None:
        """Learn what is stable and who is in; come in when told to."""
        if not me.joining:
            return
        learn(me, source, message.status, message.live)
        follow(me, message.S, message.round - 1, message.running, out)
        if message.enter:
            come_in(me, now, out)
        elif me.joining == ASKING:
            me.joining = CATCHING_UP
            go_on(me, now, out)

    return step, on_welcome
