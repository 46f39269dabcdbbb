"""timestamp: members acknowledge one timestamp, below which they have everything of everyone.

Promise
    What a sender calls stable, all its receivers have (theorem 1).  Where all members are receivers of all
    senders, every member knows the same of everyone's messages (theorem 2).
How it works
    Data messages carry their sender's clock.  A member keeps the newest timestamp of each sender that it
    receives from, and multicasts the smallest of them every ``ack_every``; what is not above the smallest
    acknowledgement of all receivers is stable.  A sender that was silent for ``send_every`` sends a NULL,
    with its clock and its last number, or everybody would wait for it.
Why it is safe
    A receiver acknowledges t only when it has had a timestamp of at least t from every sender; data comes in
    FIFO order and each sender's timestamps rise strictly, so it has all that any of them stamped up to t, and
    none will stamp as low again.  A NULL counts only once the data before it has come.  Acknowledgements may
    be lost, come twice or out of order: the largest counts.
Clocks
    ``physical``: skew costs latency, never safety.  ``logical`` and ``hybrid``: acknowledgements carry their
    sender's clock as a second number, without which an idle member's clock would stand still.
When a member is gone
    Nobody waits for it any more, neither for its acknowledgements nor for its messages.  What it sent and is
    not yet known to be stable stays so: others' acknowledgements no longer speak of it.  Acknowledgements
    name the set of those gone; those of members that know of another set are left out until they agree.
Cost
    A member a header and a timestamp for each ``ack_every``, whatever the number of senders; two with logical
    and hybrid clocks; and a timestamp in each data message.
Paper
    Timestamp Acknowledgments for Determining Message Stability, sections 3 to 6; ``docs/papers/timestamp.md``
    decides what the paper leaves open.
"""

from __future__ import annotations

from collections.abc import Mapping

from stablecast._jit import kernel
from stablecast.errors import InvalidInput
from stablecast.frontier.tournament import least_of, raise_number, tournament_size
from stablecast.overlays import Tree
from stablecast.protocols._receivers import (
    ACK_EVERY,
    ACK_TO,
    TIMESTAMP,
    TO_ALL,
    has_receiver,
    hears,
    is_whole,
    own_column,
    place_receivers,
    sender_count,
    sender_number,
    variant,
)
from stablecast.protocols.contract.clocks import (
    DRIFT_MAX_PPM,
    HORIZON_MAX_PS,
    HYBRID,
    LOGICAL,
    PHYSICAL,
    PPB_OF_PPM,
    SKEW_MAX_PS,
    check_clocks,
    draw_drift_ppb,
    draw_offset_ps,
    drifted_apart_ps,
    merge,
    read,
    stamp,
)
from stablecast.protocols.contract.draws import PROTOCOL_STREAM, uniform
from stablecast.protocols.contract.kernels import (
    GONE,
    GROUP,
    NEVER,
    Member,
    Message,
    Outbox,
    attach_number,
    attached,
    declare_stable,
    send_numbers,
    set_timer,
)
from stablecast.protocols.contract.parameters import (
    CHOICE,
    PS_PER,
    REAL,
    TIME,
    WHOLE,
    Parameter,
    Role,
    hidden,
)
from stablecast.protocols.contract.protocol import Place, Protocol, Sizes

ACK, NULL = 0, 1
SEND, EVERY, CLOCK, SKEW, DRIFT, SYNC, TO, STAMP_BYTES, OFFSETS = range(1, 10)  # parameters
# Registers: the last stamp; the clock's offset and drift; when to acknowledge next, and when something was
# last sent; what was acknowledged last, and what is known to be everywhere; comparisons so far; who is gone.
LAST, OFFSET, RATE, ACK_AT, SENT_AT, TOLD, FRONTIER, OPERATIONS, VIEW = range(1, 10)
HAVE = 10  # for each column, the newest timestamp up to which this member has everything
# Behind it, for each column, the timestamp and the number of the newest NULL; then a tournament of what each
# member has acknowledged.
STAMP_BYTES_MAX = 64
FROZEN = -1  # in place of a NULL's number: its sender is gone


@kernel
def _null_stamp(me: Member) -> int:
    return HAVE + me.received.size


@kernel
def _null_number(me: Member) -> int:
    return HAVE + 2 * me.received.size


@kernel
def _acked(me: Member) -> int:
    return HAVE + 3 * me.received.size


@kernel
def init(me: Member, now: int, out: Outbox) -> None:
    """Set the clock, find out whom to wait for, and choose the phases of one's own timers."""
    me.reg[OFFSET] = draw_offset_ps(me.seed, me.number, me.params[OFFSETS])
    me.reg[RATE] = draw_drift_ppb(me.seed, me.number, me.params[DRIFT])
    for column in range(me.received.size):
        if not hears(me, column):
            me.reg[HAVE + column] = NEVER
    for member in range(me.group_size):
        if not has_receiver(me, member):
            raise_number(me.reg, _acked(me), me.group_size, member, NEVER)
    me.reg[ACK_AT] = now + int(uniform(me.seed, PROTOCOL_STREAM + me.number, 1) * me.params[EVERY])
    me.reg[SENT_AT] = now - int(uniform(me.seed, PROTOCOL_STREAM + me.number, 2) * me.params[SEND])
    _set_timer(me, out)


@kernel
def start(me: Member, now: int, out: Outbox) -> None:
    """No member starts anything: all run by their own timers."""


@kernel
def _set_timer(me: Member, out: Outbox) -> None:
    due = me.reg[ACK_AT]
    if own_column(me) >= 0:
        due = min(due, me.reg[SENT_AT] + me.params[SEND])
    set_timer(out, due)


@kernel
def handle_timer(me: Member, now: int, out: Outbox) -> None:
    """Acknowledge every so often, and be heard of when there is nothing to send."""
    if now >= me.reg[ACK_AT]:
        me.reg[ACK_AT] = now + me.params[EVERY]
        _acknowledge(me, now, out)
        if least_of(me.reg, _acked(me)) == NEVER:
            _declare(me, out)  # nobody is left to wait for
    column = own_column(me)
    if column >= 0 and now >= me.reg[SENT_AT] + me.params[SEND]:
        send_numbers(out, NULL, GROUP, column + 1, _tick(me, now), me.received[column])
        me.reg[SENT_AT] = now
    _set_timer(me, out)


@kernel
def attach(me: Member, column: int, number: int, now: int) -> int:
    """Stamp a data message."""
    attach_number(me, column, number, 0, _tick(me, now))
    me.reg[SENT_AT] = now
    return int(me.params[STAMP_BYTES])


@kernel
def _tick(me: Member, now: int) -> int:
    """Return the clock's next stamp, above all that this member has received where the clock is such."""
    for column in range(me.received.size):
        _look_at(me, column)
    since_set = now % me.params[SYNC]
    reading = now - since_set + read(since_set, me.reg[OFFSET], me.reg[RATE])
    me.reg[LAST] = stamp(me.params[CLOCK], me.reg[LAST], reading)
    return int(me.reg[LAST])


@kernel
def _look_at(me: Member, column: int) -> None:
    """Bring up to date what this member has of a sender: data, and a NULL whose number it has reached."""
    have = me.reg[HAVE + column]
    if have == NEVER:
        return
    if me.received[column] > 0:
        have = max(have, attached(me, column, me.received[column], 0))
    if me.reg[_null_number(me) + column] <= me.received[column]:
        have = max(have, me.reg[_null_stamp(me) + column])
    me.reg[HAVE + column] = have
    me.reg[LAST] = merge(me.params[CLOCK], me.reg[LAST], have)


@kernel
def _acknowledge(me: Member, now: int, out: Outbox) -> None:
    """Tell the timestamp up to which one has everything; of oneself, that is the clock."""
    clock = _tick(me, now)
    if own_column(me) >= 0 and is_whole(me):
        me.reg[HAVE + own_column(me)] = clock
    least = NEVER
    for column in range(me.received.size):
        least = min(least, me.reg[HAVE + column])
    me.reg[OPERATIONS] += me.received.size
    if least == NEVER:
        return
    me.reg[TOLD] = max(me.reg[TOLD], least)
    if me.params[TO] == TO_ALL:
        send_numbers(out, ACK, GROUP, me.reg[VIEW] + 1, me.reg[TOLD], clock)
    else:
        for k in range(sender_count(me)):
            if sender_number(me, k) != me.number:
                send_numbers(out, ACK, sender_number(me, k), me.reg[VIEW] + 1, me.reg[TOLD], clock)
    if is_whole(me):
        _take_acknowledgement(me, me.number, me.reg[TOLD], out)


@kernel
def receive(me: Member, message: Message, now: int, out: Outbox) -> None:
    """Take in an acknowledgement, a NULL, or the news that a member is gone."""
    if message.kind == GONE:
        _count_out(me, message.source, message.first, out)
    elif message.source == me.number:
        return
    elif message.kind == NULL:
        _take_null(me, message.execution - 1, message.first, message.second)
    elif message.execution == me.reg[VIEW] + 1:
        me.reg[LAST] = merge(me.params[CLOCK], me.reg[LAST], message.second)
        _take_acknowledgement(me, message.source, message.first, out)


@kernel
def _take_null(me: Member, column: int, stamped: int, number: int) -> None:
    """Keep the newest NULL of a sender; it counts when the data before it has come."""
    _look_at(me, column)
    if stamped > me.reg[_null_stamp(me) + column] and me.reg[_null_number(me) + column] != FROZEN:
        me.reg[_null_stamp(me) + column] = stamped
        me.reg[_null_number(me) + column] = number
        _look_at(me, column)


@kernel
def _take_acknowledgement(me: Member, source: int, told: int, out: Outbox) -> None:
    me.reg[OPERATIONS] += raise_number(me.reg, _acked(me), me.group_size, source, told)
    if least_of(me.reg, _acked(me)) > me.reg[FRONTIER]:
        _declare(me, out)


@kernel
def _declare(me: Member, out: Outbox) -> None:
    """What is stamped no later than the smallest acknowledgement is stable."""
    frontier = least_of(me.reg, _acked(me))
    me.reg[FRONTIER] = frontier if frontier < NEVER else me.reg[FRONTIER]
    rose = False
    for column in range(me.received.size):
        number = me.stable[column]
        frozen = me.reg[_null_number(me) + column] == FROZEN
        if column == own_column(me) or (is_whole(me) and not frozen):
            while number < me.received[column] and attached(me, column, number + 1, 0) <= frontier:
                number += 1
                me.reg[OPERATIONS] += 1
        rose = rose or number > me.stable[column]
        me.gathered[0, column] = number
    if rose:
        declare_stable(me, out, 1, me.gathered[0])


@kernel
def _count_out(me: Member, member: int, column: int, out: Outbox) -> None:
    """Wait neither for acknowledgements nor for messages of a member that is gone."""
    me.reg[VIEW] += 1 + int(uniform(0, PROTOCOL_STREAM + member, 0) * (1 << 50))
    raise_number(me.reg, _acked(me), me.group_size, member, NEVER)
    if column >= 0:
        me.reg[HAVE + column] = NEVER
        me.reg[_null_number(me) + column] = FROZEN
    if least_of(me.reg, _acked(me)) > me.reg[FRONTIER]:
        _declare(me, out)


def places(tree: Tree, sizes: Sizes, seed: int) -> Place:
    """Tell each member its column; with lists where groups differ or senders are written to one by one."""
    return place_receivers(sizes, with_lists=sizes.params[TO] != TO_ALL)


def resolve(values: Mapping[str, int], group: int) -> dict[str, int]:
    """Set the range of the clocks' offsets: what drift leaves of the skew."""
    apart = drifted_apart_ps(values["drift"] / PPB_OF_PPM, values["sync"])
    return {"offsets": max(values["skew"] - apart, 0)}


def check(values: Mapping[str, int]) -> None:
    """Refuse clocks that cannot be, in the units of the command line."""
    skew, drift, sync = values["skew"], values["drift"] / PPB_OF_PPM, values["sync"]
    apart = drifted_apart_ps(drift, sync)
    if apart > skew:
        raise InvalidInput(
            f"skew_us {skew / 1e6:g} is too small: clocks that drift by {drift:g} ppm and are set right every"
            f" {sync / 1e12:g} s differ by up to {apart / 1e6:g} us (accepted: that or more, or a smaller"
            " drift_ppm or sync_s)"
        )
    check_clocks(skew, drift, sync)


def extra_bytes(sizes: Sizes) -> tuple[int, ...]:
    """An acknowledgement is a timestamp, perhaps with the clock; a NULL is a timestamp and a number."""
    numbers = 1 if sizes.params[CLOCK] == PHYSICAL else 2
    return (numbers * sizes.params[STAMP_BYTES], sizes.params[STAMP_BYTES] + sizes.entry_bytes)


PROTOCOL = Protocol(
    name="timestamp",
    title="members acknowledge one timestamp, below which they have everything of everyone",
    paper="timestamp, section 3",
    kinds=("ACK", "NULL"),
    start=start,
    receive=receive,
    handle_timer=handle_timer,
    init=init,
    attach=attach,
    attached=lambda sizes: 1,
    places=places,
    module=__name__,
    family="stablecast.protocols._acknowledging",
    parameters=(
        variant(TIMESTAMP),
        Parameter(
            "send_every",
            TIME,
            100.0,
            "Longest silence of a sender; then it sends a NULL, which carries a timestamp and no data.",
            unit="ms",
            role=Role.EVERY,
            above=0,
        ),
        ACK_EVERY,
        Parameter(
            "clock",
            CHOICE,
            "physical",
            "What timestamps are read from: physical clocks, which differ by the skew; logical clocks, which"
            " count messages; or hybrid clocks, which are physical and never behind what was received.",
            choices={"physical": PHYSICAL, "logical": LOGICAL, "hybrid": HYBRID},
            role=Role.CLOCK,
        ),
        Parameter(
            "skew",
            TIME,
            0.0,
            "Most that two members' clocks differ at any time.",
            unit="us",
            least=0,
            most=SKEW_MAX_PS / PS_PER["us"],
        ),
        Parameter(
            "drift",
            REAL,
            0.0,
            "Most that the rate of a member's clock is off, in parts per million; the skew bounds what it"
            " comes to.",
            unit="ppm",
            least=0,
            most=DRIFT_MAX_PPM,
            scale=PPB_OF_PPM,
        ),
        Parameter(
            "sync",
            TIME,
            60.0,
            "Time between two moments at which all clocks are set right again.",
            unit="s",
            above=0,
            most=HORIZON_MAX_PS / PS_PER["s"],
        ),
        ACK_TO,
        Parameter(
            "stamp_bytes",
            WHOLE,
            8,
            "Bytes of a timestamp on the wire.",
            least=1,
            most=STAMP_BYTES_MAX,
        ),
        hidden("offsets", Role.DERIVED),
    ),
    resolve=resolve,
    check=check,
    extra_bytes=extra_bytes,
    autonomous=True,
    roundless=True,
    timed=True,
    told=True,
    knows=lambda sizes: "own" if sizes.audiences or sizes.params[TO] != TO_ALL else "all",
    groups_may_differ=True,
    messages=20,
    operations=OPERATIONS,
    registers=lambda sizes: HAVE + 3 * sizes.tracked + tournament_size(sizes.group),
    sends_max=lambda sizes: 2 if sizes.params[TO] == TO_ALL else sizes.tracked + 2,
    arrays_max=1,
)
