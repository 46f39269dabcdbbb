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
With resends
    What the current iteration's silent neighbours have not answered is sent to them again, as a REPEAT.  A
    REPEAT is answered: with the closing message of the last round if it is of that one, else with what is
    known now if that iteration was reached.  The paper has no such answer and can wait for ever
    (``docs/papers/hypercube.md``).
When a member is gone
    It counts as heard: its bit is set from then on, and neighbours wait for it no more.  With fewer than
    floor(log2 n) gone, everyone else is still joined.  Members that are cut off exchange what they have and
    fall silent after three iterations without news.
Paper
    Scalable Stability Detection Using Logical Hypercube, sections 3.2 to 3.5.
"""

from __future__ import annotations

import math

from stablecast._jit import kernel
from stablecast.frontier import copy_into
from stablecast.frontier.sets import add, fill, has, is_full, join, words
from stablecast.overlays import Tree
from stablecast.overlays.hypercube import hypercube
from stablecast.protocols._resending import RESENDS, wait_for_answers
from stablecast.protocols.contract.kernels import (
    GONE,
    NEVER,
    SENDS,
    Member,
    Message,
    Outbox,
    declare_stable,
    finish,
    last_row,
    send_again,
    send_array,
    set_timer,
)
from stablecast.protocols.contract.parameters import FLAG, TIME, Parameter, Role, hidden
from stablecast.protocols.contract.protocol import Place, Protocol, Sizes

STABILITY, REPEAT = 0, 1
# Registers: the round; the iteration, 0 while the round has not begun here; whether M holds anything;
# whether G has grown in this iteration; iterations without news, one after the other.
ROUND, ITERATION, STARTED, NEWS, QUIET = 0, 1, 2, 3, 4
PAUSE, ROUNDS, FREE_BITMAP = 1, 2, 3  # parameters, behind the time between resends
QUIET_MAX = 3
DEGREE_MAX = 32
LAST = 1 << 30
"""As an iteration: after all others."""

# ``own`` begins as a message's array does: M, G, the iteration.  Then come the newest iteration heard from
# each neighbour, the minimum of the last round, and the set of those who are gone.


@kernel
def _at_set(me: Member) -> int:
    """Return where G begins."""
    return int(me.received.size)


@kernel
def _at_iteration(me: Member) -> int:
    return int(me.received.size + words(me.group_size))


@kernel
def _at_heard(me: Member) -> int:
    return _at_iteration(me) + 1


@kernel
def _at_closed(me: Member) -> int:
    return _at_heard(me) + DEGREE_MAX


@kernel
def _at_dead(me: Member) -> int:
    """Return where the set of those who are gone begins; it may not be there."""
    return _at_closed(me) + int(me.received.size)


@kernel
def _is_dead(me: Member, member: int) -> bool:
    at = _at_dead(me)
    return at < me.own.size and has(me.own, at, member)


@kernel
def init(me: Member, now: int, out: Outbox) -> None:
    """Begin the first round."""
    me.reg[ROUND] = 1
    _open_round(me)
    _begin(me, now, out)


@kernel
def start(me: Member, now: int, out: Outbox) -> None:
    """No member starts a round for the others: each begins its own."""


@kernel
def handle_timer(me: Member, now: int, out: Outbox) -> None:
    """Begin the next round after the pause; or repeat to those who have not answered."""
    if me.reg[ITERATION] == 0:
        _begin(me, now, out)
        return
    first = True
    for k in range(me.place.size):
        if me.own[_at_heard(me) + k] < me.reg[ITERATION]:
            _send(me, REPEAT, me.place[k], first, out)
            first = False
    if not first:
        wait_for_answers(me, now, out)


@kernel
def receive(me: Member, message: Message, now: int, out: Outbox) -> None:
    """Take in what a neighbour knows; go on when that completes the iteration or the round."""
    if message.kind == GONE:
        _count_out(me, message.source, now, out)
        return
    if message.execution < me.reg[ROUND]:
        if message.kind == REPEAT and message.execution == me.reg[ROUND] - 1:
            _answer_with_last_round(me, message.source, out)
        return
    if message.execution > me.reg[ROUND]:
        return
    _merge(me, message)
    if me.reg[ITERATION] == 0:
        return
    _go_on(me, now, out)
    reached = message.array[_at_iteration(me)] <= me.reg[ITERATION]
    if message.kind == REPEAT and out.marks[SENDS] == 0 and reached:
        _send(me, STABILITY, message.source, True, out)


@kernel
def _merge(me: Member, message: Message) -> None:
    columns, at = me.received.size, _at_set(me)
    if me.reg[STARTED]:
        for c in range(columns):
            me.own[c] = min(me.own[c], message.array[c])
    else:
        copy_into(me.own[:columns], message.array[:columns])
        me.reg[STARTED] = 1
    if join(me.own, at, message.array, at, me.group_size):
        me.reg[NEWS] = 1
    for k in range(me.place.size):
        if me.place[k] == message.source:
            heard = _at_heard(me) + k
            me.own[heard] = max(me.own[heard], message.array[_at_iteration(me)])


@kernel
def _begin(me: Member, now: int, out: Outbox) -> None:
    """Step 1: add one's own array to what faster neighbours have told already, and tell it."""
    for c in range(me.received.size):
        me.own[c] = min(me.own[c], me.received[c]) if me.reg[STARTED] else me.received[c]
    me.reg[STARTED] = 1
    me.reg[NEWS] = 1
    add(me.own, _at_set(me), me.number)
    me.reg[ITERATION] = 1
    if not is_full(me.own, _at_set(me), me.group_size):
        _tell_neighbours(me, now, out)
    _go_on(me, now, out)


@kernel
def _go_on(me: Member, now: int, out: Outbox) -> None:
    """Close the round when everyone is in G; else begin the next iteration once all neighbours are heard."""
    if is_full(me.own, _at_set(me), me.group_size):
        _close_round(me, now, out)
        return
    while _all_heard(me):
        if me.reg[NEWS]:
            me.reg[QUIET] = 0
        elif me.reg[QUIET] < QUIET_MAX:
            me.reg[QUIET] += 1
        elif not _is_behind(me):
            return
        me.reg[NEWS] = 0
        me.reg[ITERATION] += 1
        _tell_neighbours(me, now, out)


@kernel
def _all_heard(me: Member) -> bool:
    """Tell whether every neighbour that is not gone, and there is one, has reached this iteration."""
    live = False
    for k in range(me.place.size):
        heard = me.own[_at_heard(me) + k]
        if heard < me.reg[ITERATION]:
            return False
        live = live or heard < LAST
    return live


@kernel
def _is_behind(me: Member) -> bool:
    """Tell whether a neighbour has gone on to a later iteration, and so waits for this member."""
    for k in range(me.place.size):
        if me.reg[ITERATION] < me.own[_at_heard(me) + k] < LAST:
            return True
    return False


@kernel
def _close_round(me: Member, now: int, out: Outbox) -> None:
    me.reg[ITERATION] += 1
    _tell_neighbours(me, now, out)
    columns, closed = me.received.size, _at_closed(me)
    copy_into(me.own[closed : closed + columns], me.own[:columns])
    declare_stable(me, out, me.reg[ROUND], me.own[:columns])
    finish(out, me.reg[ROUND])
    more = me.params[ROUNDS] == 0 or me.reg[ROUND] < me.params[ROUNDS]
    set_timer(out, now + me.params[PAUSE] if more else NEVER)
    me.reg[ROUND] += 1
    _open_round(me)


@kernel
def _open_round(me: Member) -> None:
    """Know nothing, and wait for nobody who is gone."""
    me.reg[ITERATION] = 0
    me.reg[STARTED] = 0
    me.reg[QUIET] = 0
    at, dead = _at_set(me), _at_dead(me)
    for k in range(words(me.group_size)):
        me.own[at + k] = me.own[dead + k] if dead < me.own.size else 0
    for k in range(me.place.size):
        me.own[_at_heard(me) + k] = LAST if _is_dead(me, me.place[k]) else 0


@kernel
def _count_out(me: Member, member: int, now: int, out: Outbox) -> None:
    add(me.own, _at_dead(me), member)
    add(me.own, _at_set(me), member)
    me.reg[NEWS] = 1
    for k in range(me.place.size):
        if me.place[k] == member:
            me.own[_at_heard(me) + k] = LAST
    if me.reg[ITERATION] > 0:
        _go_on(me, now, out)


@kernel
def _tell_neighbours(me: Member, now: int, out: Outbox) -> None:
    first = True
    for k in range(me.place.size):
        if not _is_dead(me, me.place[k]):
            _send(me, STABILITY, me.place[k], first, out)
            first = False
    wait_for_answers(me, now, out)


@kernel
def _send(me: Member, kind: int, dest: int, first: bool, out: Outbox) -> None:
    """Send M, G and the iteration as they are; the others of the same call get the first one's copy."""
    if first:
        me.own[_at_iteration(me)] = me.reg[ITERATION]
        send_array(out, kind, dest, me.reg[ROUND], me.own[: _at_heard(me)])
    else:
        send_again(out, kind, dest, me.reg[ROUND])


@kernel
def _answer_with_last_round(me: Member, dest: int, out: Outbox) -> None:
    """Send the closing message of the last round to a member that has not got it."""
    send_array(out, STABILITY, dest, me.reg[ROUND] - 1, me.own[: _at_heard(me)])
    array, columns, closed = out.arrays[last_row(out)], me.received.size, _at_closed(me)
    copy_into(array[:columns], me.own[closed : closed + columns])
    fill(array, _at_set(me), me.group_size)
    array[_at_iteration(me)] = LAST - 1


def places(tree: Tree, sizes: Sizes, seed: int) -> Place:
    """Give each member its neighbours in the hypercube, by dimension."""
    cube = hypercube(sizes.group)
    return Place(cube.neighbours, cube.start)


def _own(sizes: Sizes) -> int:
    sets = 2 if sizes.guarded else 1
    return 2 * sizes.tracked + sets * int(words(sizes.group)) + 1 + DEGREE_MAX


def _side(sizes: Sizes) -> int:
    return int(words(sizes.group)) + 1


def _bitmap_bytes(sizes: Sizes) -> tuple[int, ...]:
    extra = 0 if sizes.params[FREE_BITMAP] else (sizes.group + 7) // 8 + sizes.entry_bytes
    return (extra, extra)


def _messages_of_a_round(group: int) -> float:
    """Messages times their cost: the set of members in each grows with the group."""
    return 3 * group * math.log2(group + 2) ** 2 * (1 + group / 20_000)


def _uses_timers(params: tuple[int, ...]) -> bool:
    return params[0] > 0 or params[ROUNDS] != 1


def _most_sends(sizes: Sizes) -> int:
    return 3 * DEGREE_MAX


PROTOCOL = Protocol(
    name="cubefulldist",
    title="members of a logical hypercube tell their neighbours all they know until they know everyone",
    paper="hypercube, section 3",
    kinds=("STABILITY", "REPEAT"),
    start=start,
    receive=receive,
    handle_timer=handle_timer,
    init=init,
    places=places,
    module=__name__,
    parameters=(
        RESENDS,
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
        ),
    ),
    execution_messages=_messages_of_a_round,
    autonomous=True,
    registers=5,
    own=_own,
    side=_side,
    extra_bytes=_bitmap_bytes,
    timed=_uses_timers,
    told=True,
    sends_max=_most_sends,
    arrays_max=4,
    placement="random",
)
