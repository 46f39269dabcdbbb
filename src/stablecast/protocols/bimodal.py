"""bimodal: an unreliable multicast, repaired by gossip; few or all members keep each message.

Promise
    Every member that stays delivers every message that any of them delivers, each once, except with a small
    probability; with the policy ``until-stable``, always.
How it works
    A sender multicasts a message once, and whoever gets it delivers it.  Once a round, at a phase of its own,
    each member sends one random member the set of messages that it has delivered (*pull*): who lacks one of
    them asks for it.  A member that has kept messages which the other one's set lacks may send them at once
    (*push*).  A member that is asked for what it has not kept finds out, by the hash, who has, and passes the
    request on to one of these, who answers to the one that asked.  A member that has asked waits for as long
    as an answer takes before it asks again (:mod:`~stablecast.multicast.asking`).
Catastrophic omission
    Two members that gossip and both lack a message, though both have later ones of its sender, take it that
    many lack it: the one that heard of the other's hole asks the sender to multicast it again.  The chance of
    that grows with the square of those that lack it, so few losses cause no such requests; and the sender
    does so once in a few rounds, however many ask.  A sender that has not kept the message, since it is none
    of its bufferers, passes the request on to one of these, who multicasts it.
Buffers
    See :mod:`~stablecast.multicast.buffer_policy`, and for minima that travel with gossip
    :mod:`~stablecast.multicast.until_stable`.  Identifiers of what was delivered are kept as a set; on the
    wire they are ranges, two numbers each.
Members that come and go
    Views need not agree (:mod:`~stablecast.multicast.group_view`).  Who is told that a member is gone, or has
    joined, has a view that is smaller or larger by one.  A member that joins is owed what is sent from then
    on: what had been sent before counts as delivered there, and is never asked for.  In ``until-stable``
    nobody joins and views lack nobody, since a member that others do not know is not waited for.
Paper
    Efficient Buffering in Reliable Multicast Protocols, sections 2 to 5; ``docs/papers/buffering.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from stablecast.frontier.sets import BITS, add, has, highest_in_both, keep_highest, ranges
from stablecast.multicast import asking, group_view, until_stable
from stablecast.multicast.asking import Stamp
from stablecast.multicast.bimodal_parameters import PARAMETERS, check, resolve
from stablecast.multicast.bimodal_result import summarise
from stablecast.multicast.buffer_policy import UNTIL_STABLE, expire, pick_bufferer
from stablecast.multicast.bufferers import NOBODY
from stablecast.multicast.delivered import Delivered, deliver, owe_nothing_sent_before
from stablecast.multicast.group_view import draw, happens, pick_other, sender_of
from stablecast.multicast.identifiers import Content, EachMessage, Identifier, Messages
from stablecast.multicast.until_stable import Heard, Minima
from stablecast.protocols.contract import (
    GROUP,
    NEVER,
    Delivering,
    IntArray,
    Kernels,
    Number,
    Outbox,
    Place,
    Placement,
    Protocol,
    Round,
    Surroundings,
    Time,
    finish,
    kernel,
    send,
    set_timer,
    weigh,
)

RECAST_PAUSE = 2
"""Rounds between two multicasts of the same message, and between two requests for one that are passed on."""


class State(Delivered):
    """What a member keeps beside its buffers."""

    column: Place
    """Its column as a sender, -1 if it sends nothing."""
    send_at: Time
    """When it sends its next message."""
    gossip_at: Time
    sent: Number
    """Messages that it has sent."""
    recast: EachMessage
    """The round, from 1, in which each was last multicast again, or a request passed on; 0 for never."""
    over: Number
    """Whether it has stopped to gossip and to answer."""


class DATA(NamedTuple):
    """A message, multicast for the first time."""

    id: Content


class RECAST(NamedTuple):
    """A message, multicast again."""

    id: Content


class GOSSIP(NamedTuple):
    """What a member has delivered; with ``until-stable`` also its round, M and W, and what is stable."""

    round: Round
    delivered: Messages
    M: Minima
    W: Heard
    stable: Minima


class REQUEST(NamedTuple):
    """A member asks for messages."""

    wanted: Messages
    asked_at: Stamp


class FORWARD(NamedTuple):
    """Asks a bufferer to send a message to a member that lacks it."""

    id: Identifier
    lacking: Number
    asked_at: Stamp


class REPAIR(NamedTuple):
    """A message, sent to a member that lacks it."""

    id: Content
    asked_at: Stamp


class RECAST_REQUEST(NamedTuple):  # noqa: N801
    """Asks a sender to multicast a message again."""

    id: Identifier


@kernel
def init(me: State, now: int, out: Outbox) -> None:
    """Gossip once a round, at a random phase; a sender also sends, one message after the other."""
    me.round = 1
    group_view.open_view(me)
    owe_nothing_sent_before(me)
    if me.params.policy == UNTIL_STABLE:
        until_stable.begin_round(me)
    me.gossip_at = now + int(draw(me) * me.params.gossip_every)
    me.send_at = NEVER
    if me.column >= 0:
        me.send_at = now + me.column * me.params.interval // me.received.size
    set_timer(out, min(me.gossip_at, me.send_at))


@kernel
def timer(me: State, now: int, out: Outbox) -> None:
    """Send what is due, and gossip."""
    if now >= me.send_at:
        send_next(me, now, out)
    if now >= me.gossip_at:
        tick(me, now, out)
    set_timer(out, min(me.gossip_at, me.send_at))


@kernel
def send_next(me: State, now: int, out: Outbox) -> None:
    """Section 2, phase 1: multicast a message, unless there is a send omission."""
    message = me.column * me.params.messages + me.sent
    me.sent += 1
    me.send_at = now + me.params.interval if me.sent < me.params.messages else NEVER
    deliver(me, message, now)
    if happens(me, me.params.send_omission):
        add(me.omitted, message)
    else:
        send(out, GROUP, DATA(message))


@kernel
def on_data(me: State, source: int, message: DATA, now: int, out: Outbox) -> None:
    """Deliver a first multicast, unless there is a receive omission."""
    if not happens(me, me.params.receive_loss):
        me.firsts += deliver(me, message.id, now)


@kernel
def tick(me: State, now: int, out: Outbox) -> None:
    """Begin a round: section 2, phase 3, let go of what was kept long enough, and gossip."""
    me.gossip_at = now + me.params.gossip_every
    me.ticks += 1
    expire(me, now)
    if me.params.policy == UNTIL_STABLE:
        until_stable.end_round_if_complete(me, now, out)  # one that is alone hears from nobody
        if until_stable.all_is_stable(me):
            finish(out, 1)  # and goes on, for others
    elif now >= me.params.ending:
        me.over = 1
        me.gossip_at = NEVER
        finish(out, 1)
        return
    gossip(me, out)


@kernel
def gossip(me: State, out: Outbox) -> None:
    """Section 2, phase 2: report to a random member what was delivered here."""
    dest = pick_other(me)
    if dest == NOBODY:
        return
    send(out, dest, GOSSIP(me.round, me.got, me.M, me.W, me.stable))
    numbers = 1 + 2 * ranges(me.got) + 2 * me.M.size + me.W.size
    weigh(out, numbers * me.params.name_bytes)


@kernel
def on_gossip(me: State, source: int, message: GOSSIP, now: int, out: Outbox) -> None:
    """Update the other member, ask it for what is missing here, and look for what both lack."""
    if me.params.push:
        push(me, source, message.delivered, out)
    ask(me, source, message.delivered, now, out)
    if me.params.recast:
        ask_for_recasts(me, message.delivered, now, out)
    if me.params.policy == UNTIL_STABLE:
        until_stable.release_stable(me, message.stable, now, out)
        until_stable.take_minima(me, message.round, message.M, message.W, now, out)


@kernel
def push(me: State, dest: int, delivered: IntArray, out: Outbox) -> None:
    """Send messages that came before this round, are buffered here, and are not delivered there."""
    left = me.params.limit
    for k in range(delivered.size - 1, -1, -1):
        spare = me.held[k] & ~delivered[k]
        if spare != 0:
            for bit in range(BITS):
                message = k * BITS + bit
                if spare >> bit & 1 and left > 0 and me.since[message] < me.ticks:
                    repair(me, message, dest, 0, out)
                    left -= 1


@kernel
def repair(me: State, message: int, dest: int, asked_at: int, out: Outbox) -> None:
    """Send a message to a member that lacks it."""
    me.repairs += 1
    send(out, dest, REPAIR(message, asked_at))


@kernel
def ask(me: State, dest: int, delivered: IntArray, now: int, out: Outbox) -> None:
    """Ask the other member for what it has delivered and this one has not, and does not await.

    The newest come first: what nobody has kept would else stand in the way of what can be had.
    """
    any_wanted = False
    for k in range(delivered.size):
        any_wanted |= asking.want(me, k, delivered[k] & ~me.got[k], now)
    if any_wanted:
        count = keep_highest(me.wanted, me.params.limit)
        asking.note_wanted(me, me.wanted, now)
        me.requests += count
        send(out, dest, REQUEST(me.wanted, now))
        weigh(out, (2 * count + 1) * me.params.name_bytes)


@kernel
def on_request(me: State, source: int, message: REQUEST, now: int, out: Outbox) -> None:
    """Send what is buffered here, and have bufferers send the rest."""
    for k in range(message.wanted.size):
        wanted = message.wanted[k]
        if wanted != 0:
            for bit in range(BITS):
                if wanted >> bit & 1:
                    answer(me, k * BITS + bit, source, message.asked_at, out)


@kernel
def answer(me: State, message: int, dest: int, asked_at: int, out: Outbox) -> None:
    """Section 4: a member that has not buffered a message passes the request on to one of its bufferers."""
    if has(me.held, message):
        repair(me, message, dest, asked_at, out)
    else:
        bufferer = pick_bufferer(me, message, dest)
        if bufferer != NOBODY:
            me.forwards += 1
            send(out, bufferer, FORWARD(message, dest, asked_at))


@kernel
def on_forward(me: State, source: int, message: FORWARD, now: int, out: Outbox) -> None:
    """A bufferer satisfies a request, or ignores it."""
    if has(me.held, message.id):
        repair(me, message.id, message.lacking, message.asked_at, out)


@kernel
def on_repair(me: State, source: int, message: REPAIR, now: int, out: Outbox) -> None:
    """Deliver a message that was lost."""
    if message.asked_at > 0:
        asking.take_sample(me, message.asked_at, now)
    me.repairs_twice += not deliver(me, message.id, now)


@kernel
def ask_for_recasts(me: State, delivered: IntArray, now: int, out: Outbox) -> None:
    """Section 5: ask a sender to multicast again what both lack, though both have later messages of it."""
    due_at = now + asking.answer_within(me)
    for column in range(me.received.size):
        first = column * me.params.messages
        lowest, last = first + me.received[column], first + me.params.messages - 1
        for hole in range(lowest, highest_in_both(me.got, delivered, lowest, last)):
            known = has(me.got, hole) or has(delivered, hole) or asking.is_awaited(me, hole, now)
            if not known and out.marks.sends < 2 * me.params.limit + 2:
                asking.note_asked(me, hole, due_at)
                send(out, sender_of(me, column), RECAST_REQUEST(hole))


@kernel
def on_recast_request(me: State, source: int, message: RECAST_REQUEST, now: int, out: Outbox) -> None:
    """Multicast again what many lack, or have a bufferer do so, unless that was a short while ago."""
    last = me.recast[message.id]
    if last > 0 and me.ticks + 1 < last + RECAST_PAUSE:
        return
    if has(me.held, message.id):
        me.recast[message.id] = me.ticks + 1
        me.recasts += 1
        send(out, GROUP, RECAST(message.id))
    elif me.column == message.id // me.params.messages:
        bufferer = pick_bufferer(me, message.id, source)
        if bufferer != NOBODY:
            me.recast[message.id] = me.ticks + 1
            send(out, bufferer, RECAST_REQUEST(message.id))


@kernel
def on_recast(me: State, source: int, message: RECAST, now: int, out: Outbox) -> None:
    """Deliver a further multicast, unless there is a receive omission."""
    if not happens(me, me.params.receive_loss):
        deliver(me, message.id, now)


@kernel
def joined(me: State, member: int, now: int, out: Outbox) -> None:
    """Count in a member that has joined."""
    group_view.include(me, member)


@kernel
def gone(me: State, member: int, column: int, now: int, out: Outbox) -> None:
    """Go on without a member that is gone."""
    if group_view.exclude(me, member) and me.params.policy == UNTIL_STABLE:
        until_stable.end_round_if_complete(me, now, out)


def from_others(on: Callable[..., None]) -> Callable[..., None]:
    """Wrap what a message does: nothing if it is the member's own multicast, or when it is over."""

    @kernel
    def hear(me: Any, source: int, message: Any, now: int, out: Outbox) -> None:
        if source != me.number and not me.over:
            on(me, source, message, now, out)

    return hear


def places(around: Surroundings) -> Placement:
    """Tell each member its column."""
    group, senders = around.sizes.group, around.sizes.tracked
    column = np.full(group, -1)
    column[np.arange(senders) * group // senders] = np.arange(senders)
    return {"column": column}


PROTOCOL = Protocol(
    about=__doc__,
    paper="buffering, sections 2 to 5",
    state=State,
    kernels=Kernels(
        init=init,
        receive={
            DATA: from_others(on_data),
            RECAST: from_others(on_recast),
            GOSSIP: from_others(on_gossip),
            REQUEST: from_others(on_request),
            FORWARD: from_others(on_forward),
            REPAIR: from_others(on_repair),
            RECAST_REQUEST: from_others(on_recast_request),
        },
        timer=timer,
        gone=gone,
        joined=joined,
        sends=lambda sizes: 2 * sizes.params["limit"] + 4,
        arrays=lambda sizes: 2,
    ),
    runs=Delivering(summarise=summarise),
    places=places,
    parameters=PARAMETERS,
    resolve=resolve,
    check=check,
)
