"""bimodal: an unreliable multicast, repaired by gossip; few or all members keep each message.

Promise
    Every member that stays delivers every message that any of them delivers, each once, except with a small
    probability; with the policy ``until-stable``, always.
How it works
    A sender multicasts a message once, and whoever gets it delivers it.  Once a round, at a phase of its own,
    each member sends one random member the set of messages that it has delivered (*pull*): who lacks one of
    them asks for it.  A member that has kept messages which the other one's set lacks may send them at once
    (*push*).  A member that is asked for what it has not kept finds out, by the hash, who has, and passes the
    request on to one of these, who answers to the one that asked.
Catastrophic omission
    Two members that gossip and both lack a message, though both have later ones of its sender, take it that
    many lack it: the one that heard of the other's hole asks the sender to multicast it again.  The chance of
    that grows with the square of those that lack it, so few losses cause no such requests; and the sender
    does so once in a few rounds, however many ask.
Buffers
    See :mod:`~stablecast.multicast.buffer_policy`.  Identifiers of what was delivered are kept as a set; on
    the wire they are ranges, two numbers each.
When a member is gone
    The others' views are smaller by one, and nobody is waited for in ``until-stable``.
Paper
    Efficient Buffering in Reliable Multicast Protocols, sections 2 to 5; ``docs/papers/buffering.md``.
"""

from __future__ import annotations

from collections.abc import Mapping

from stablecast._jit import kernel
from stablecast.errors import InvalidInput
from stablecast.frontier.sets import BITS, add, has, words
from stablecast.multicast.bimodal_result import summarise
from stablecast.multicast.buffer_policy import (
    BUFFERERS,
    DELIVERED,
    DUPLICATES,
    ENDING,
    ENTRY_BYTES,
    EVERY,
    FIRSTS,
    GONE_COUNT,
    GOSSIP_AT,
    INTERVAL,
    KEEP,
    LIMIT,
    MESSAGES,
    MILLI,
    NEWEST,
    NEWS,
    OMITTED,
    OVER,
    POLICIES,
    POLICY,
    PUSH,
    RECAST,
    RECEIVE_LOSS,
    REGISTERS,
    REQUESTS,
    SEND_AT,
    SEND_OMISSION,
    SENT,
    TICKS,
    TWO_BUFFERS,
    UNTIL_STABLE,
    at_asked,
    at_dead,
    at_got,
    at_held,
    at_scratch,
    at_since,
    expire,
    keep,
    total,
)
from stablecast.multicast.bufferers import CRC16, MIX, SHUFFLE
from stablecast.multicast.repair import (
    DATA,
    FORWARD,
    GOSSIP,
    KINDS,
    RECAST_DATA,
    RECAST_REQUEST,
    REPAIR,
    REQUEST,
    answer,
    answer_all,
    draw,
    multicast_again,
    push_spare,
    send_data,
)
from stablecast.multicast.until_stable import (
    begin_round,
    end_round_if_complete,
    known_size,
    take_minima,
    write_minima,
)
from stablecast.overlays import Tree
from stablecast.protocols.contract.kernels import (
    GONE,
    GROUP,
    NEVER,
    SENDS,
    Member,
    Message,
    Outbox,
    finish,
    send_array,
    send_numbers,
    set_timer,
    weigh,
)
from stablecast.protocols.contract.parameters import (
    CHOICE,
    FLAG,
    PROBABILITY,
    REAL,
    TIME,
    VALUE_MAX,
    WHOLE,
    Parameter,
    Role,
    hidden,
)
from stablecast.protocols.contract.protocol import Place, Protocol, Sizes, columns
from stablecast.theory.epidemic import spread_rounds

QUIET_TIMES = 3
TRIES = 16
"""Draws until a member to gossip to is found that is not gone."""
BY_POLICY = -1
BILLION = 1_000_000_000
PS_PER_MS = 10**9
KEPT_FOR = 0.001
"""By default messages are kept for as many rounds as it takes until, from a single member, all but this share
of them have come to everyone."""
ROUNDS_MAX, MESSAGES_MAX, BUDGET_MAX = 1 << 20, 1 << 24, 1 << 30
COPIES_MAX = 1_000_000_000


@kernel
def init(me: Member, now: int, out: Outbox) -> None:
    """Gossip once a round, at a random phase; a sender also sends, one message after the other."""
    begin_round(me)
    me.reg[GOSSIP_AT] = now + int(draw(me) * me.params[EVERY])
    column = me.place[0]
    me.reg[SEND_AT] = now + column * me.params[INTERVAL] // me.received.size if column >= 0 else NEVER
    _set_timer(me, out)


@kernel
def start(me: Member, now: int, out: Outbox) -> None:
    """No member starts anything: all run by their own timers."""


@kernel
def _set_timer(me: Member, out: Outbox) -> None:
    set_timer(out, min(me.reg[GOSSIP_AT], me.reg[SEND_AT]))


@kernel
def handle_timer(me: Member, now: int, out: Outbox) -> None:
    """Send what is due, gossip, and let go of what was kept long enough."""
    if now >= me.reg[SEND_AT]:
        _send_next(me, now, out)
    if now >= me.reg[GOSSIP_AT]:
        me.reg[GOSSIP_AT] = now + me.params[EVERY]
        me.reg[TICKS] += 1
        for k in range(words(total(me))):
            me.own[at_asked(me) + k] = 0
        expire(me, now)
        if me.params[POLICY] == UNTIL_STABLE:
            end_round_if_complete(me, now, out)  # one that is alone hears from nobody
            if _is_through(me):
                finish(out, 1)  # and goes on, for others
        if me.params[POLICY] != UNTIL_STABLE and now >= me.params[ENDING]:
            me.reg[OVER] = 1
            me.reg[GOSSIP_AT] = NEVER
            finish(out, 1)
        else:
            _gossip(me, out)
    _set_timer(me, out)


@kernel
def _is_through(me: Member) -> bool:
    """Tell whether all that will be sent is known to be everywhere.

    Of a sender that is gone nobody knows what it sent: there it is that nothing new has come for long.
    """
    quiet = me.reg[TICKS] >= me.reg[NEWS] + QUIET_TIMES * me.params[KEEP]
    for column in range(me.received.size):
        gone = has(me.own, at_dead(me), column * me.group_size // me.received.size)
        if me.stable[column] < me.params[MESSAGES] and not (gone and quiet):
            return False
    return True


@kernel
def _send_next(me: Member, now: int, out: Outbox) -> None:
    message = me.place[0] * me.params[MESSAGES] + me.reg[SENT]
    me.reg[SENT] += 1
    me.reg[SEND_AT] = now + me.params[INTERVAL] if me.reg[SENT] < me.params[MESSAGES] else NEVER
    _deliver(me, message, now)
    if me.params[SEND_OMISSION] > 0 and draw(me) * BILLION < me.params[SEND_OMISSION]:
        me.reg[OMITTED] += 1
        return
    send_data(me, out, DATA, GROUP, message)


@kernel
def _deliver(me: Member, message: int, now: int) -> bool:
    """Deliver a message, unless it was; tell whether it was new."""
    if has(me.own, at_got(me), message):
        me.reg[DUPLICATES] += 1
        return False
    add(me.own, at_got(me), message)
    me.reg[DELIVERED] += 1
    me.reg[NEWS] = me.reg[TICKS]
    me.own[at_since(me) + message] = me.reg[TICKS] + 1
    column = message // me.params[MESSAGES]
    first = column * me.params[MESSAGES]
    while me.received[column] < me.params[MESSAGES] and has(me.own, at_got(me), first + me.received[column]):
        me.received[column] += 1
    keep(me, message, now)
    return True


@kernel
def _gossip(me: Member, out: Outbox) -> None:
    """Tell a random member what has been delivered here."""
    if me.group_size == 1:
        return
    dest = me.number
    for _ in range(TRIES):
        dest = int(draw(me) * (me.group_size - 1))
        dest += dest >= me.number
        if not has(me.own, at_dead(me), dest):
            break
    if has(me.own, at_dead(me), dest):
        return
    size = words(total(me))
    send_array(out, GOSSIP, dest, me.reg[NEWEST] + 1, me.own)  # as much of it as fits; the rest is not read
    payload = (1 + 2 * _ranges(me)) * me.params[ENTRY_BYTES]
    if me.params[POLICY] == UNTIL_STABLE:
        payload += write_minima(me, out, size) * me.params[ENTRY_BYTES]
    weigh(out, payload)


@kernel
def _ranges(me: Member) -> int:
    """Return how many ranges of consecutive messages have been delivered here."""
    count, before = 0, 0
    for k in range(words(total(me))):
        word = me.own[at_got(me) + k]
        if word == 0 or word == (1 << BITS) - 1:
            count += word != 0 and before == 0
            before = word & 1
            continue
        for bit in range(BITS):
            now = word >> bit & 1
            count += now > before
            before = now
    return count


@kernel
def receive(me: Member, message: Message, now: int, out: Outbox) -> None:
    """Take in a message, or what another member has, lacks or asks for."""
    if message.kind == GONE:
        _count_out(me, message.source, now, out)
    elif message.source == me.number or me.reg[OVER]:
        return
    elif message.kind in (DATA, RECAST_DATA):
        if me.params[RECEIVE_LOSS] == 0 or draw(me) * BILLION >= me.params[RECEIVE_LOSS]:
            me.reg[FIRSTS] += _deliver(me, message.first, now) and message.kind == DATA
    elif message.kind == REPAIR:
        _deliver(me, message.first, now)
    elif message.kind == GOSSIP:
        _compare(me, message, out)
        if me.params[POLICY] == UNTIL_STABLE:
            take_minima(me, message, words(total(me)), now, out)
    elif message.kind == REQUEST:
        answer_all(me, message, out)
    elif message.kind == FORWARD:
        answer(me, message.first, message.second, out)
    else:
        multicast_again(me, message.first, out)


@kernel
def _compare(me: Member, message: Message, out: Outbox) -> None:
    """Ask for what the other one has, send what it lacks, and look for holes that both have.

    The newest come first: what nobody has kept would else stand in the way of what can be had.
    """
    wanted, left = 0, me.params[LIMIT]
    for k in range(words(total(me)) - 1, -1, -1):
        mine, theirs = me.own[at_got(me) + k], message.array[k]
        missing = theirs & ~mine & ~me.own[at_asked(me) + k]
        me.own[at_scratch(me) + k] = 0
        if missing != 0 and wanted < me.params[LIMIT]:
            for bit in range(BITS - 1, -1, -1):
                if missing >> bit & 1 and wanted < me.params[LIMIT]:
                    me.own[at_scratch(me) + k] |= 1 << bit
                    me.own[at_asked(me) + k] |= 1 << bit
                    wanted += 1
        spare = me.own[at_held(me) + k] & ~theirs
        if me.params[PUSH] and spare != 0:
            left = push_spare(me, k, spare, left, message.source, out)
    if wanted > 0:
        me.reg[REQUESTS] += wanted
        send_array(out, REQUEST, message.source, 1, me.own[at_scratch(me) :])
        weigh(out, 2 * wanted * me.params[ENTRY_BYTES])
    if me.params[RECAST]:
        _look_for_shared_holes(me, message, out)


@kernel
def _look_for_shared_holes(me: Member, message: Message, out: Outbox) -> None:
    """Ask a sender to multicast again what both lack, though both have later messages of it."""
    for column in range(me.received.size):
        first = column * me.params[MESSAGES]
        highest = me.params[MESSAGES] - 1
        while highest > me.received[column] and not (
            has(me.own, at_got(me), first + highest) and has(message.array, 0, first + highest)
        ):
            highest -= 1
        for number in range(me.received[column], highest):
            hole = first + number
            neither = not has(me.own, at_got(me), hole) and not has(message.array, 0, hole)
            if (
                neither
                and not has(me.own, at_asked(me), hole)
                and out.marks[SENDS] < 2 * me.params[LIMIT] + 2
            ):
                add(me.own, at_asked(me), hole)
                leader = column * me.group_size // me.received.size
                send_numbers(out, RECAST_REQUEST, leader, 1, hole, 0)


@kernel
def _count_out(me: Member, member: int, now: int, out: Outbox) -> None:
    """Go on without a member that is gone."""
    if not has(me.own, at_dead(me), member):
        add(me.own, at_dead(me), member)
        me.reg[GONE_COUNT] += 1
        if me.params[POLICY] == UNTIL_STABLE:
            end_round_if_complete(me, now, out)


def places(tree: Tree, sizes: Sizes, seed: int) -> Place:
    """Tell each member its column, -1 if it sends nothing."""
    column_of = dict.fromkeys(range(sizes.group), -1)
    for column in range(sizes.tracked):
        column_of[column * sizes.group // sizes.tracked] = column
    return columns([column_of[member] for member in range(sizes.group)])


def resolve(values: Mapping[str, int], group: int) -> dict[str, int]:
    """Set what follows from other parameters.

    Messages are kept for as many rounds as gossip needs.  It is over when the last message has been sent and
    kept for as long as any; with ``until-stable``, when all is stable.
    """
    keep = values["keep"] or spread_rounds(max(group, 2), KEPT_FOR)
    sending = values["messages"] * values["interval"]
    ending = sending + (max(keep, values["short"]) + 2) * values["gossip_every"]
    # Where only bufferers keep messages, their sender mostly cannot multicast them again.
    by_policy = values["recast"] == BY_POLICY
    recast = values["policy"] != BUFFERERS if by_policy else values["recast"]
    budgets = (values["budget"], values["budget_bytes"] // max(values["data_bytes"], 1))
    return {
        "keep": keep,
        "recast": int(recast),
        "budget": min((budget for budget in budgets if budget > 0), default=0),
        "ending": values["ending"] or ending,
    }


def check(values: Mapping[str, int]) -> None:
    """Refuse what makes no sense."""
    if not 1 <= values["messages"] <= MESSAGES_MAX:
        raise InvalidInput(
            f"messages {values['messages']} is not accepted (accepted: 1 to {MESSAGES_MAX} for bimodal)"
        )
    if 0 < values["budget_bytes"] < values["data_bytes"]:
        raise InvalidInput(
            f"budget_bytes {values['budget_bytes']} has no room for one message (accepted:"
            f" {values['data_bytes']} or more)"
        )
    if values["policy"] == TWO_BUFFERS and values["short"] > values["keep"]:
        raise InvalidInput(
            f"short_rounds {values['short']} is more than the rounds of the long-term buffer,"
            f" {values['keep']}"
        )


def _extra_bytes(sizes: Sizes) -> tuple[int, ...]:
    """What names a message, and who lacks it; all else is weighed as it is sent."""
    named = {FORWARD: 3, RECAST_REQUEST: 2}
    return tuple(sizes.entry_bytes * named.get(kind, 0) for kind in range(len(KINDS)))


def _own(sizes: Sizes) -> int:
    messages = sizes.tracked * sizes.params[MESSAGES]
    return (
        5 * int(words(messages))
        + 4 * messages
        + int(words(sizes.group))
        + known_size(sizes.group, sizes.tracked)
    )


def _side(sizes: Sizes) -> int:
    return int(words(sizes.tracked * sizes.params[MESSAGES])) + known_size(sizes.group, sizes.tracked)


PROTOCOL = Protocol(
    name="bimodal",
    title="an unreliable multicast, repaired by gossip; few or all members keep each message",
    paper="buffering, sections 2 to 5",
    kinds=KINDS,
    start=start,
    receive=receive,
    handle_timer=handle_timer,
    init=init,
    places=places,
    module=__name__,
    parameters=(
        Parameter(
            "gossip_every",
            TIME,
            100.0,
            "Time between two rounds of a member's gossip.",
            unit="ms",
            role=Role.EVERY,
            above=0,
        ),
        Parameter(
            "keep",
            WHOLE,
            None,
            "Rounds for which a message is kept.",
            unit="rounds",
            least=1,
            most=ROUNDS_MAX,
            default_words="as many as gossip needs to reach all members",
        ),
        Parameter(
            "policy",
            CHOICE,
            "rounds",
            "Who keeps a message, and for how long: rounds, everyone for --keep-rounds; bufferers, about"
            " --copies members that a hash names; two-buffers, everyone for --short-rounds and the bufferers"
            " for --keep-rounds; until-stable, everyone until everyone has it.",
            choices=POLICIES,
        ),
        Parameter(
            "copies",
            REAL,
            6.0,
            "Members that keep each message as its bufferers, on average.",
            above=0,
            most=COPIES_MAX,
            scale=MILLI,
        ),
        Parameter(
            "hash",
            CHOICE,
            "mix",
            "The hash of message and member that names the bufferers: mix, a mixer of 64-bit numbers;"
            " shuffle, the table of the paper; or crc16.",
            choices={"mix": MIX, "shuffle": SHUFFLE, "crc16": CRC16},
        ),
        Parameter(
            "short",
            WHOLE,
            3,
            "Rounds for which everyone keeps a message in the short-term buffer, with two-buffers.",
            unit="rounds",
            least=0,
            most=ROUNDS_MAX,
        ),
        hidden("messages", Role.MESSAGES, 100),
        hidden("interval", Role.INTERVAL, 10 * PS_PER_MS),
        hidden("data_bytes", Role.DATA_BYTES, 1000),
        hidden("name_bytes", Role.ENTRY_BYTES, 4),
        hidden("receive_loss", Role.DATA_LOSS),
        Parameter(
            "send_omission",
            PROBABILITY,
            0.0,
            "Probability that a message is not multicast at all, so that only its sender has it.",
        ),
        Parameter(
            "recast",
            FLAG,
            False,
            "Never multicast a message again, even if many members lack it (with bufferers: always so).",
            option="no_recast",
            choices={False: BY_POLICY, True: 0},
        ),
        Parameter(
            "push",
            FLAG,
            False,
            "Send only messages that were asked for, and not what another member's gossip lacks.",
            option="no_push",
            choices={False: 1, True: 0},
        ),
        hidden("limit", Role.DERIVED, 32),  # messages asked for, and sent, in one answer to gossip
        Parameter(
            "budget",
            WHOLE,
            None,
            "Messages that a member may keep; the one kept longest makes room.",
            unit="messages",
            least=1,
            most=BUDGET_MAX,
            default_words="any number",
        ),
        hidden("ending", Role.DERIVED),  # when it is over, in picoseconds
        Parameter(
            "budget_bytes",
            WHOLE,
            None,
            "Bytes of messages that a member may keep; the smaller of both budgets holds.",
            least=1,
            most=VALUE_MAX - 1,
            default_words="any number",
        ),
    ),
    resolve=resolve,
    check=check,
    autonomous=True,
    roundless=True,
    delivers=True,
    summarise=summarise,
    timed=True,
    told=True,
    messages=100,
    registers=REGISTERS,
    extra_bytes=_extra_bytes,
    own=_own,
    side=_side,
    sends_max=lambda sizes: 2 * sizes.params[LIMIT] + 4,
    arrays_max=2,
)
