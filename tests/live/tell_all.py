"""tell-all: every member tells all others what it has; for tests of protocols from outside."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from stablecast.frontier import copy_into
from stablecast.frontier.sets import add, is_full
from stablecast.protocols.contract import (
    GROUP,
    TIME,
    WHOLE,
    Acknowledging,
    IntArray,
    Kernels,
    Member,
    Members,
    Outbox,
    Parameter,
    Protocol,
    Role,
    Sources,
    declare_stable,
    gather,
    kernel,
    send,
    set_timer,
    sources,
)


class State(Member):
    """What the others have."""

    known: Annotated[IntArray, sources(rows=lambda sizes: sizes.group)]
    S: Sources
    heard: Members


class TELL(NamedTuple):
    """What a member has."""

    R: Sources


@kernel
def init(me: State, now: int, out: Outbox) -> None:
    """Tell at once."""
    set_timer(out, now + 1)


@kernel
def timer(me: State, now: int, out: Outbox) -> None:
    """Tell all others, in as many copies as the group wants."""
    for _ in range(me.params.copies):
        send(out, GROUP, TELL(me.received))
    set_timer(out, now + me.params.tell_every)


@kernel
def on_tell(me: State, source: int, message: TELL, now: int, out: Outbox) -> None:
    """What everyone has told to have is stable."""
    copy_into(me.known[source], message.R)
    add(me.heard, source)
    if is_full(me.heard, me.group_size):
        for member in range(me.group_size):
            gather(me.S, me.known[member], member == 0)
        declare_stable(me, out, 1, me.S)


PROTOCOL = Protocol(
    about=__doc__,
    paper="none",
    state=State,
    kernels=Kernels(init=init, timer=timer, receive={TELL: on_tell}),
    runs=Acknowledging(),
    parameters=(
        Parameter("tell_every", TIME, 10.0, "Time between two words.", unit="ms", role=Role.EVERY, above=0),
        Parameter("copies", WHOLE, 1, "Copies of each word.", least=1, most=3),
    ),
)
