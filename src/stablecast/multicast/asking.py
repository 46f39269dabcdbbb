"""What a member has asked for, and after how long it asks again: after the time that an answer takes.

What is true
    A message that is missing is asked for at most once in the time within which an answer is due, whoever is
    asked: a member that lacks it, a bufferer by way of another member, or its sender for another multicast.
The time of an answer
    A request carries its sender's clock, a request that is passed on carries it too, and the repair returns
    it.  So each sample belongs to one request, whether or not others were made for the same message meanwhile
    and whatever was lost; clocks need not agree.  Mean and deviation follow the samples as those of TCP do
    (RFC 6298).  There is one estimate for all that may answer, since a member does not know which of the
    bufferers its request is passed on to: the deviation therefore holds how far apart they are.
When an answer is due
    After the mean and one deviation.  A message is repaired within the rounds that it is kept, and only a
    gossip that comes after the answer was due brings the next request, so each further deviation costs
    attempts.  With the four of TCP 169 of 10,000 messages were violated on a tree that loses 1.5 % on a link,
    with one 65, and 1 % of repairs came twice.
What can go wrong
    Before the first repair nothing is known; ``UNKNOWN_ROUNDS`` rounds are taken, as by the authors' own
    implementation.  Where that is too short, some messages are asked for twice; where a request or its answer
    is lost, or the bufferer asked lacks the message, the next request waits as long as for an answer.
"""

from __future__ import annotations

from typing import Annotated

from stablecast.compiling import kernel
from stablecast.frontier.sets import BITS, add, has
from stablecast.multicast.group_view import GroupView
from stablecast.multicast.identifiers import EachTime, Messages
from stablecast.protocols.contract import IntArray, Number, Time, number

UNKNOWN_ROUNDS = 2
"""Rounds within which an answer is due while none has come."""
DEVIATIONS = 1
LEAST_SHARE = 8
"""The mean is divided by this for what is waited beyond it at least, where all answers take as long."""
MEAN_GAIN, DEVIATION_GAIN = 8, 4
"""A sample changes the mean by an eighth of what it differs, and the deviation by a quarter."""

Stamp = Annotated[int, number()]
"""In a message: the time at which somebody asked, by its own clock; 0 for what nobody asked for."""


class Asking(GroupView):
    """What a member has asked for, and what answers take."""

    asked: Messages
    """Messages that it has asked for; the answer may be overdue."""
    due_at: EachTime
    """For each of these, when the answer is due."""
    wanted: Messages
    """Messages that it asks for now."""
    answer_mean: Time
    """What an answer takes, on average of late; 0 while none has come."""
    answer_deviation: Time
    samples: Number
    """Answers whose time was taken."""


@kernel
def answer_within(me: Asking) -> int:
    """Return within what time an answer is due."""
    if me.samples == 0:
        return int(UNKNOWN_ROUNDS * me.params.gossip_every)
    more = max(DEVIATIONS * me.answer_deviation, me.answer_mean // LEAST_SHARE)
    return int(me.answer_mean + more)


@kernel
def take_sample(me: Asking, asked_at: int, now: int) -> None:
    """Take in how long an answer took."""
    seconds = now - asked_at
    me.samples += 1
    if me.samples == 1:
        me.answer_mean = seconds
        me.answer_deviation = seconds // 2
    else:
        me.answer_deviation += (abs(seconds - me.answer_mean) - me.answer_deviation) // DEVIATION_GAIN
        me.answer_mean += (seconds - me.answer_mean) // MEAN_GAIN


@kernel
def is_awaited(me: Asking, message: int, now: int) -> bool:
    """Tell whether a message was asked for and the answer is not overdue."""
    return has(me.asked, message) and now < me.due_at[message]


@kernel
def note_asked(me: Asking, message: int, due_at: int) -> None:
    """Remember that a message is asked for."""
    add(me.asked, message)
    me.due_at[message] = due_at


@kernel
def want(me: Asking, k: int, lacking: int, now: int) -> bool:
    """Set a word of ``wanted`` to what is lacking and not awaited; tell whether there is any."""
    asked = lacking & me.asked[k]
    if asked != 0:
        for bit in range(BITS):
            if asked >> bit & 1 and now < me.due_at[k * BITS + bit]:
                lacking &= ~(1 << bit)
    me.wanted[k] = lacking
    return bool(lacking != 0)


@kernel
def note_wanted(me: Asking, wanted: IntArray, now: int) -> None:
    """Remember that all of a set are asked for."""
    due_at = now + answer_within(me)
    for k in range(wanted.size):
        if wanted[k] != 0:
            for bit in range(BITS):
                if wanted[k] >> bit & 1:
                    note_asked(me, k * BITS + bit, due_at)
