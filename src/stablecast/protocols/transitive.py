"""transitive: data messages name their direct causal predecessors, and so acknowledge all before them.

Promise
    What a member calls stable, all members had before they sent something that this member has.
How it works
    A member that sends names the newest messages it has that no other one it has names already; whoever gets
    it, and has those named, knows that its sender had them and all that came before them.  A message is
    *taken up* when all that it names have been.  A member that has sent nothing for ``ack_every`` sends the
    names on their own.
Why it is safe
    A member names only what it has taken up, so that it has all predecessors, and its own messages in FIFO
    order.  What is named is what its sender had, and prefixes only grow.
Cost
    A number for each direct predecessor in each data message: one where messages are far apart, up to the
    number of senders where they are concurrent; and, from members that do not send, a message of its own.
    The sets of predecessors are kept whole here; on the wire only the direct ones count.
When a member is gone
    Nobody waits for what it has.  A message that only it had, and that others name, is never taken up: a
    group that goes on without it needs a view change first.
Paper
    Timestamp Acknowledgments for Determining Message Stability, section 1, on systems with causal order.
"""

from __future__ import annotations

from stablecast.compiling import kernel
from stablecast.overlays import Tree
from stablecast.protocols._known_prefixes import (
    begin_to_know,
    declare_known,
    known_size,
    learn_prefix,
    stop_waiting_for,
)
from stablecast.protocols._receivers import (
    ACK_EVERY,
    KNOW,
    KNOW_ALL,
    TRANSITIVE,
    place_receivers,
    variant,
)
from stablecast.protocols.contract.draws import PROTOCOL_STREAM, uniform
from stablecast.protocols.contract.kernels import (
    GONE,
    GROUP,
    IntArray,
    Member,
    Message,
    Outbox,
    attach_number,
    attached,
    send_array,
    set_timer,
    weigh,
)
from stablecast.protocols.contract.parameters import Role, hidden
from stablecast.protocols.contract.protocol import Place, Protocol, Sizes

ACK = 0
EVERY, WHAT, ENTRY_BYTES = 1, 2, 3  # parameters
OPERATIONS, ACK_AT, SENT_AT, WAITING = 1, 2, 3, 4  # registers; the last: acknowledgements put aside
# Own numbers: for each column, the last message taken up; then its sender's number + 1; then for each member
# 1 if an acknowledgement of it was put aside; then these; then what each member is known to have.


@kernel
def _leader(me: Member) -> int:
    return me.received.size


@kernel
def _is_aside(me: Member) -> int:
    return 2 * me.received.size


@kernel
def _aside(me: Member, member: int) -> int:
    return 2 * me.received.size + me.group_size + member * me.received.size


@kernel
def _known(me: Member) -> int:
    return _aside(me, me.group_size)


@kernel
def init(me: Member, now: int, out: Outbox) -> None:
    """Look every so often, at a random phase, whether there is something to acknowledge."""
    begin_to_know(me, _known(me), me.params[WHAT])
    me.reg[ACK_AT] = now + int(uniform(me.seed, PROTOCOL_STREAM + me.number, 1) * me.params[EVERY])
    me.reg[SENT_AT] = now - me.params[EVERY]
    set_timer(out, me.reg[ACK_AT])


@kernel
def start(me: Member, now: int, out: Outbox) -> None:
    """No member starts anything: all run by their own timers."""


@kernel
def attach(me: Member, column: int, number: int, now: int) -> int:
    """Name what has been taken up; only direct predecessors cost bytes, and not the message before."""
    direct = 0
    for other in range(me.received.size):
        direct += _is_direct(me, other) if other != column else 0
    for other in range(me.received.size):
        attach_number(me, column, number, other, me.own[other])
    _take_up(me, column, number, me.number)
    me.reg[SENT_AT] = now
    return int(direct * me.params[ENTRY_BYTES])


@kernel
def _is_direct(me: Member, column: int) -> int:
    """Tell, as 0 or 1, whether no newer message that was taken up names a column's newest one."""
    number = me.own[column]
    if number == 0:
        return 0
    for other in range(me.received.size):
        me.reg[OPERATIONS] += 1
        if other != column and me.own[other] > 0 and attached(me, other, me.own[other], column) >= number:
            return 0
    return 1


@kernel
def take(me: Member, column: int, source: int, before: int, now: int, out: Outbox) -> None:
    """Take up what can be: a message whose predecessors have been, and those that waited for it."""
    me.own[_leader(me) + column] = source + 1
    progress = True
    while progress:
        progress = False
        for each in range(me.received.size):
            number = me.own[each]
            while number < me.received[each] and _is_next(me, each, number + 1):
                number += 1
            if number > me.own[each]:
                _take_up(me, each, number, me.own[_leader(me) + each] - 1)
                progress = True
    if me.reg[WAITING] > 0:
        _look_at_what_was_put_aside(me)
    declare_known(me, _known(me), me.params[WHAT], out)


@kernel
def _is_next(me: Member, column: int, number: int) -> bool:
    for other in range(me.received.size):
        me.reg[OPERATIONS] += 1
        if other != column and attached(me, column, number, other) > me.own[other]:
            return False
    return True


@kernel
def _take_up(me: Member, column: int, number: int, source: int) -> None:
    """A message, and all before it of its sender, is taken up: its sender had what it names."""
    me.own[column] = number
    known, what = _known(me), me.params[WHAT]
    me.reg[OPERATIONS] += learn_prefix(me, known, column, me.number, number, what)
    me.reg[OPERATIONS] += learn_prefix(me, known, column, source, number, what)
    if source != me.number:
        for other in range(me.received.size):
            if other != column:
                named = attached(me, column, number, other)
                me.reg[OPERATIONS] += learn_prefix(me, known, other, source, named, what)


@kernel
def handle_timer(me: Member, now: int, out: Outbox) -> None:
    """Acknowledge by a message of its own, unless a data message has done so."""
    if now >= me.reg[SENT_AT] + me.params[EVERY]:
        direct = 0
        for column in range(me.received.size):
            direct += _is_direct(me, column)
        send_array(out, ACK, GROUP, 1, me.own[: me.received.size])
        weigh(out, direct * me.params[ENTRY_BYTES])
    set_timer(out, now + me.params[EVERY])
    declare_known(me, _known(me), me.params[WHAT], out)  # nobody may be left to wait for


@kernel
def receive(me: Member, message: Message, now: int, out: Outbox) -> None:
    """Take in an acknowledgement all of whose messages have been taken up here; put others aside."""
    if message.source == me.number:
        return
    known, what = _known(me), me.params[WHAT]
    if message.kind == GONE:
        stop_waiting_for(me, known, message.source, what)
    elif _is_taken_up(me, message.array, 0):
        _learn(me, message.array, 0, message.source)
    else:
        _put_aside(me, message)
        return
    declare_known(me, known, what, out)


@kernel
def _is_taken_up(me: Member, array: IntArray, at: int) -> bool:
    for column in range(me.received.size):
        me.reg[OPERATIONS] += 1
        if array[at + column] > me.own[column]:
            return False
    return True


@kernel
def _learn(me: Member, array: IntArray, at: int, source: int) -> None:
    for column in range(me.received.size):
        number = array[at + column]
        me.reg[OPERATIONS] += learn_prefix(me, _known(me), column, source, number, me.params[WHAT])


@kernel
def _put_aside(me: Member, message: Message) -> None:
    """Keep an acknowledgement for later, unless an older one of the same member waits already.

    With the newest in place of the oldest, steady traffic could keep each from ever being taken in.
    """
    if not me.own[_is_aside(me) + message.source]:
        me.own[_is_aside(me) + message.source] = 1
        me.reg[WAITING] += 1
        for column in range(me.received.size):
            me.own[_aside(me, message.source) + column] = message.array[column]


@kernel
def _look_at_what_was_put_aside(me: Member) -> None:
    for member in range(me.group_size):
        if me.own[_is_aside(me) + member] and _is_taken_up(me, me.own, _aside(me, member)):
            me.own[_is_aside(me) + member] = 0
            me.reg[WAITING] -= 1
            _learn(me, me.own, _aside(me, member), member)


def places(tree: Tree, sizes: Sizes, seed: int) -> Place:
    """Tell each member its column."""
    return place_receivers(sizes, with_lists=False)


PROTOCOL = Protocol(
    name="transitive",
    title="data messages name their direct causal predecessors, and so acknowledge all before them",
    paper="timestamp, section 1",
    kinds=("ACK",),
    start=start,
    receive=receive,
    handle_timer=handle_timer,
    init=init,
    attach=attach,
    take=take,
    attached=lambda sizes: sizes.tracked,
    places=places,
    module=__name__,
    family="stablecast.protocols._acknowledging",
    parameters=(
        variant(TRANSITIVE),
        ACK_EVERY,
        KNOW,
        hidden("name_bytes", Role.ENTRY_BYTES, 4),
    ),
    autonomous=True,
    roundless=True,
    timed=True,
    told=True,
    knows=lambda sizes: "all" if sizes.params[WHAT] == KNOW_ALL else "own",
    messages=20,
    operations=OPERATIONS,
    own=lambda sizes: (
        2 * sizes.tracked
        + sizes.group * (1 + sizes.tracked)
        + known_size(sizes.group, sizes.tracked, sizes.params[WHAT])
    ),
    registers=5,
    sends_max=1,
    arrays_max=1,
)
