"""every_field: a protocol that has a field of every kind, and does something with each of them.

It decides nothing.  Run as a script it prints what its fields come to, for one type of sequence numbers; with
``NUMBA_DISABLE_JIT=1`` the same kernels are plain Python.
"""

import json
import sys
from typing import Annotated, NamedTuple

import numpy as np

from stablecast.frontier.sets import add, has
from stablecast.overlays import tree_from_parents
from stablecast.protocols.contract import (
    GROUP,
    WHOLE,
    IntArray,
    Kernels,
    Machine,
    Member,
    Members,
    Number,
    Outbox,
    Overlay,
    Parameter,
    Place,
    Places,
    Protocol,
    Received,
    Round,
    Sizes,
    Sources,
    Started,
    Surroundings,
    Time,
    declare_stable,
    entries,
    finish,
    guarded,
    kernel,
    members,
    send,
    send_again,
    set_of,
    set_timer,
    sources,
)

MEMBERS, COLUMNS = 70, 3
BIG = 1 << 40
ALL, FULL, TOO_MANY_ARRAYS, REPEATS_NOTHING, AGAIN = range(5)
"""What ``start`` does, by the parameter ``what``."""


class State(Member):
    """A field of each kind, in an order that mixes them."""

    rows: Annotated[IntArray, sources(rows=2)]
    count: Number
    W: Members
    at: Time
    absent: Annotated[IntArray, members(when=guarded)]
    wide: Annotated[IntArray, sources(wide=True)]
    parent: Place
    sets: Annotated[IntArray, members(rows=lambda sizes: 2)]
    near: Places
    parents: Overlay
    S: Sources
    few: Annotated[IntArray, entries(lambda sizes: sizes.params["few"])]
    bits: Annotated[IntArray, set_of(lambda sizes: 31)]


class NUMBERS(NamedTuple):
    """As many numbers as a message may have."""

    execution: Round
    a: Number
    b: Number
    c: Number
    d: Number


class ARRAYS(NamedTuple):
    """An array, a set, and one that is there only in guarded runs, with a number in between."""

    S: Sources
    execution: Round
    W: Members
    absent: Annotated[IntArray, members(when=guarded)]


class OWN(NamedTuple):
    """What its sender has received."""

    execution: Round
    R: Sources


class NOTHING(NamedTuple):
    """Neither numbers nor arrays."""


@kernel
def init(me: State, now: int, out: Outbox) -> None:
    """Write into every field."""
    me.count = BIG + me.number
    me.at = now + 1
    for column in range(me.received.size):
        me.received[column] = 10 * me.number + column
        me.rows[0, column] = 100 + column
        me.rows[1][column] = 200 + column
        me.wide[column] = BIG * (column + 1)
        me.S[column] = -column
    for k in range(me.near.size):
        add(me.W, me.near[k])
        add(me.sets[k % 2], me.near[k])
    if me.absent.size > 0:
        add(me.absent, 69)
    for k in range(me.few.size):
        me.few[k] = me.params.few * me.parents[me.number]
    add(me.bits, 30)
    set_timer(out, me.at + BIG)


@kernel
def start(me: State, now: int, out: Outbox) -> None:
    """Send everything that can be sent, or something that cannot."""
    if me.params.what == FULL:
        for k in range(me.group_size):
            send(out, k, NOTHING())
    elif me.params.what == TOO_MANY_ARRAYS:
        for k in range(4):
            send(out, k, ARRAYS(me.S, k, me.W, me.absent))
    elif me.params.what == REPEATS_NOTHING:
        send_again(out, 1)
    else:
        send(out, 1, NUMBERS(1, BIG, -BIG, me.count, me.at))
        send(out, GROUP, ARRAYS(me.S, me.wide[2], me.W, me.absent))
        me.S[0] = 77
        send_again(out, 2)
        send(out, 3, OWN(1, me.received))
        send_again(out, 4)
        send(out, 5, OWN(2, me.S))
        send(out, 6, NOTHING())


@kernel
def on_numbers(me: State, source: int, message: NUMBERS, now: int, out: Outbox) -> None:
    """Keep a sum, in 64 bits."""
    me.count = (
        message.execution + 2 * message.a + 3 * message.b + 5 * message.c + 7 * message.d + source + now
    )


@kernel
def on_arrays(me: State, source: int, message: ARRAYS, now: int, out: Outbox) -> None:
    """Answer with what has come, and keep some of it."""
    me.count = message.execution + message.absent.size
    for k in range(me.near.size):
        me.count += has(message.W, me.near[k])
    send(out, source, ARRAYS(message.S, me.count, me.W, message.absent))


@kernel
def on_own(me: State, source: int, message: OWN, now: int, out: Outbox) -> None:
    """Call it stable."""
    declare_stable(me, out, message.execution, message.R)
    finish(out, message.execution)


@kernel
def on_nothing(me: State, source: int, message: NOTHING, now: int, out: Outbox) -> None:
    """Count."""
    me.count += 1


PROTOCOL = Protocol(
    about=__doc__,
    paper="none",
    state=State,
    kernels=Kernels(
        init=init,
        start=start,
        receive={NUMBERS: on_numbers, ARRAYS: on_arrays, OWN: on_own, NOTHING: on_nothing},
        sends=lambda sizes: 7,
        arrays=lambda sizes: 3,
    ),
    runs=Started(),
    parameters=(
        Parameter("few", WHOLE, 2, "Entries.", least=0),
        Parameter("what", WHOLE, ALL, "What start does.", least=0),
    ),
    places=lambda around: {
        "parent": around.tree.parent,
        "near": (np.arange(2 * MEMBERS) % MEMBERS, np.arange(0, 2 * MEMBERS + 1, 2)),
        "parents": around.tree.parent,
    },
)
ARRAY_FIELDS = (
    *("received", "stable", "rows", "W", "absent", "wide", "sets", "near", "parents", "S", "few", "bits"),
)
NUMBER_FIELDS = ("number", "group_size", "seed", "guarded", "count", "at", "parent")


def sizes_of(*, is_guarded=True, what=ALL):
    """Return sizes of a group that needs three words for a set."""
    params = PROTOCOL.parameter_values({"what": what}, MEMBERS)
    return Sizes(MEMBERS, COLUMNS, 5, 4, params, is_guarded)


def machine_of(index, dtype=np.int64, **more):
    """Return a member's machine."""
    sizes = sizes_of(**more)
    tree = tree_from_parents([-1] + [k // 2 for k in range(MEMBERS - 1)])
    places = PROTOCOL.places(Surroundings(tree, sizes, 3, lambda: np.zeros((MEMBERS, MEMBERS))))
    return Machine(PROTOCOL, index=index, sizes=sizes, places=places, dtype=dtype, seed=3)


def fields(machine):
    """Return all fields of a member."""
    arrays = {name: getattr(machine.me, name).tolist() for name in ARRAY_FIELDS}
    return arrays | {name: int(getattr(machine.me, name)) for name in NUMBER_FIELDS}


def told(sent):
    """Return messages as plain values."""
    return [
        [PROTOCOL.kinds[each.kind], each.dest, list(each.numbers), told_array(each.array)] for each in sent
    ]


def told_array(array):
    """Return an array as a list, None for none."""
    return None if array is None else array.tolist()


def play(dtype, is_guarded):
    """Let two members do all that they can; return what became of them."""
    first, second = (machine_of(index, dtype, is_guarded=is_guarded) for index in (0, 41))
    first.init(5)
    second.init(6)
    found = {"after init": [fields(first), fields(second)], "timer": first.next_timer()}
    sent = first.start(7)
    found["sent"] = told(sent)
    found["answers"] = []
    for each in sent:
        answer = told(second.receive(Received(each.kind, 0, each.numbers, each.array), 8))
        found["answers"].append([answer, second.me.count, second.learned, second.finished])
    found["at the end"] = fields(second)
    return found


if __name__ == "__main__":
    width, guard = sys.argv[1:]
    print(json.dumps(play(np.int64 if width == "64" else np.int32, guard == "guarded")))
