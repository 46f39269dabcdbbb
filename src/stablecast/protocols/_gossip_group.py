"""The kernels of ``gsgc`` in a group whose members come and go: what happens before and after Figure 2's.

Before a message is taken in, the member learns who is in from it, and stops if it finds itself struck off.
Before a step it counts how long the others have been silent.  A member that is on its way in takes no part in
rounds, but follows what is stable.  After each call a late-join handler lets in who waits and may join.  With
``threshold`` 0 none of this happens.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from stablecast.protocols._gossip import go, leave
from stablecast.protocols._gossip_members import (
    admit_common,
    begin_together,
    grow_older,
    hear,
    is_complete,
    is_first,
    is_in,
    learn,
)
from stablecast.protocols._gossip_rest import rests
from stablecast.protocols._late_join import (
    ASKING,
    JOIN,
    WELCOME,
    begin_to_join,
    entering,
    follow,
    let_in,
    on_join,
)
from stablecast.protocols.contract import IntArray, Kernels, Outbox, kernel


def around(plain: Kernels, tell: Callable[..., None]) -> Kernels:
    """Wrap the kernels of Figure 2; ``tell`` is what a member sends in a step."""
    plain_init, plain_timer = plain.init, plain.timer
    (GOSSIP, on_gossip), (STABLE, on_stable), (ALIVE, on_alive) = plain.receive.items()
    step_of_newcomer, on_welcome = entering(plain_init)

    @kernel
    def init(me: Any, now: int, out: Outbox) -> None:
        if me.params.threshold > 0 and not is_first(me):
            begin_to_join(me, now, out)
            return
        me.out = 0
        if me.params.threshold > 0:
            begin_together(me)
        plain_init(me, now, out)

    @kernel
    def timer(me: Any, now: int, out: Outbox) -> None:
        if me.joining:
            step_of_newcomer(me, now, out)
            return
        if me.out:
            return
        if me.params.threshold > 0:
            grow_older(me, out)
            if me.leaving:
                me.status[me.number] += 1
        if me.leaving:
            tell(me, out)
            go(me, me.status[me.number] - 1 if me.params.threshold > 0 else 1, out)
        else:
            plain_timer(me, now, out)
            let_in(me, now, out)

    @kernel
    def hear_gossip(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        if _is_in_after(me, source, message.status, message.live, out):
            on_gossip(me, source, message, now, out)
            let_in(me, now, out)
        elif me.joining > ASKING:
            follow(me, message.S, message.round - 1, 1, out)

    @kernel
    def hear_stable(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        if _is_in_after(me, source, message.status, message.live, out):
            if message.round == me.round and is_complete(me):
                admit_common(me, out)
            on_stable(me, source, message, now, out)
            let_in(me, now, out)
        elif me.joining > ASKING:
            follow(me, message.S, message.round, 1 - rests(me), out)

    @kernel
    def hear_alive(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        if _is_in_after(me, source, message.status, message.live, out):
            on_alive(me, source, message, now, out)
            let_in(me, now, out)
        elif me.joining > ASKING:
            follow(me, message.S, message.round - 1, 0, out)

    received = {GOSSIP: hear_gossip, STABLE: hear_stable, ALIVE: hear_alive}
    return dataclasses.replace(
        plain,
        init=init,
        timer=timer,
        leave=leave,
        hear=hear,
        receive=received | {JOIN: on_join, WELCOME: on_welcome},
    )


@kernel
def _is_in_after(me: Any, source: int, status: IntArray, live: IntArray, out: Outbox) -> bool:
    """Learn of who is in from a message; tell whether this member still is."""
    if me.out:
        return False
    if me.params.threshold > 0:
        learn(me, source, status, live)
        if not is_in(me, me.number):
            go(me, me.status[me.number] - 1, out)
            return False
    return True
