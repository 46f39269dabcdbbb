"""All the arrays of one simulation, grouped by what they are about."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stablecast.protocols.contract.kernels import Outbox
from stablecast.simulate.network import Network
from stablecast.simulate.queues import Queues

Seqs = NDArray[np.int32]
KINDS_MAX = 32
DATA, NAK, HEARTBEAT, REQUEST = 16, 17, 18, 19
"""Message types of the data traffic; those of the protocol are numbered from 0."""
DATA_KINDS = {DATA: "DATA", NAK: "NAK", HEARTBEAT: "HEARTBEAT", REQUEST: "REQUEST"}

RIDERS_MAX = 32
"""Stability messages that may wait at one member for a ride; more go on their own."""
BEATS_MAX = 16
"""Heartbeats that a sender spends on one silence; the last distance is then 65,536 times the first."""

IMMEDIATE, PERIODIC, PRESSURE = 0, 1, 2
"""Triggers: as soon as the last execution is over, every so often, when the first member's buffer fills."""


class Plan(NamedTuple):
    """Constants of a run; all times in picoseconds."""

    seed: int
    header_bytes: int
    entry_bytes: int
    wire_entries: int
    """Sequence numbers in an array on the wire, which may be more than are tracked."""
    trigger: int
    executions: int
    """Executions to run; 0 for as many as it takes to make all data stable."""
    period_ps: int
    """Between starts, for the periodic trigger."""
    threshold: int
    """Messages in the first member's output buffer, for the trigger by pressure."""
    retry_ps: int
    """Start anew when an execution is not over after this time; 0 for never."""
    messages_each: int
    """Messages that each sender sends; 0 for no data traffic."""
    interval_ps: int
    """Between two messages of a sender."""
    data_bytes: int
    buffer: int
    """Messages that a sender may have unstable before it must wait."""
    data_loss: float
    """Probability that a receiver loses a multicast data message."""
    loss_until_ps: int
    """Losses on links and at receivers end at this time; full queues drop as before."""
    until_ps: int
    """The run is given up at this time."""
    lossy: bool
    """Whether anything can get lost, so that data needs repair."""
    nak_ps: int
    heartbeat_ps: int
    piggyback_ps: int
    """How long a stability message may wait for data to ride on; 0 for no riding."""
    changed_only: bool
    """Whether an array counts only the entries that changed since the sender's last one of its type."""
    protocol_timers: bool
    """Whether the protocol sets timers of its own."""
    autonomous: bool
    """Whether the protocol's members run by their own timers."""
    drains: bool
    """Whether such a protocol ends by itself; the run then goes on until no message is under way."""
    stop_at_first: bool
    """Whether the run ends when the first member knows the result of the last execution."""
    omissions: int
    """Gossip messages that are dropped at their senders in each step of an autonomous protocol."""
    omit_among: int
    """Messages that one member sends in a step."""
    step_ps: int
    faulty: bool
    """Whether members crash, leave, join or are cut off."""
    admit_per_round: int
    """Members that may join in one round of an autonomous protocol; 0 for any number."""
    fault_count: int
    book: int
    """Where a member's own numbers have the status of each member, -1 for nowhere."""
    leaving: int
    """The register that tells a member to leave, -1 for none."""
    one_by_one: bool
    """Whether a message to all is one message to each."""
    detours: int
    """Lines of messages that come late, one a member, or none."""
    duplicate: float
    """Probability that a message comes a second time, late; and that it comes late."""
    reorder: float
    detour_ps: int
    """How late."""
    sample_ps: int
    """Between two looks at how many messages are on links."""
    pause_ps: int
    """Of a protocol that runs by itself: from the end of a round to the next one."""
    attaches: bool
    """Whether the protocol puts something into data messages, and whether it hears of those that come."""
    takes: bool
    roundless: bool
    """Whether the protocol has no executions."""
    knows_own: bool
    """Whether members learn of their own messages alone that they are stable."""
    audiences: bool
    """Whether some messages are not for everyone."""
    group_senders: bool
    """Whether senders hand their messages to a leader that numbers them for several."""
    tracing: bool
    wire_log: bool


MEMBER = np.dtype(
    [
        ("sent", np.int64),  # messages of the protocol
        ("received", np.int64),
        ("begun", np.int64),  # newest execution it takes part in, and since when
        ("begun_at", np.int64),
        ("before_at", np.int64),  # since when it took part in the one before
        ("learned", np.int64),  # newest execution whose result it knows, and since when
        ("learned_at", np.int64),
        ("finished", np.int64),
        ("rtt", np.int64),  # of the newest execution it learned the result of
        ("settled", np.int64),  # 1 once everything that was to be sent is stable here
        ("timer_at", np.int64),
        ("protocol_at", np.int64),  # when the protocol's own timer goes off
        ("column", np.int64),  # of a sender: where its messages are numbered, -1 for none
        ("to_send", np.int64),  # of a sender: messages not yet handed over
        ("send_at", np.int64),  # when the next one is due
        ("waiting", np.int64),  # 1 while its buffer is full
        ("nak_at", np.int64),  # when to ask for what is missing
        ("held", np.int64),  # data messages in its buffers
        ("held_max", np.int64),
        ("held_since", np.int64),
        ("held_area", np.float64),  # time-integral of held
        ("rider", np.int64),  # first stability message that waits for data to ride on, and since when
        ("last_rider", np.int64),
        ("rider_at", np.int64),
        ("riders", np.int64),  # how many wait
        ("draws", np.int64),  # counter of its loss draws
        ("arrivals", np.int64),  # messages that came to it: the counter of its detour draws
        ("alive", np.int64),  # 1 while it is there: not before it joins, nor after it crashes or leaves
        ("admitted", np.int64),  # the highest status number under which it was admitted, and struck off
        ("struck", np.int64),
        ("side", np.int64),  # of a partition
        ("left", np.int64),  # 1 once it was told to leave or crashed, and when
        ("left_at", np.int64),
        ("struck_first", np.int64),  # when it was struck off after that, by the first member and by the last
        ("struck_last", np.int64),
    ],
    align=True,
)
COLUMN = np.dtype(
    [
        ("leader", np.int64),  # the member that numbers this column's messages
        ("sent", np.int64),
        ("attached", np.int64),  # the last message that went out, where something is attached to messages
        ("target", np.int64),  # messages that will be sent in all
        ("held_max", np.int64),  # of the leader's output buffer
        ("queued", np.int64),  # handed to the leader, waiting for room
        ("blocked", np.int64),  # times that a message found no room
        ("sent_at", np.int64),  # when it last sent something
        ("heartbeat_at", np.int64),
        ("heartbeat_gap", np.int64),
    ],
    align=True,
)

FAULT = np.dtype([("at", np.int64), ("what", np.int64), ("member", np.int64), ("side", np.int64)], align=True)

# Entries of Meters.counts.
(
    QUEUE_MAX,
    QUEUE_SUM,
    QUEUE_RECORDS,
    HOST_QUEUE_MAX,
    DROPPED,
    LOST_COUNT,
    EVENTS,
    ROUNDS,
    STARTED,
    STARTED_AT,
    RUNNING,
    NEXT_START,
    SETTLED,
    GAP_MAX,
    TTS_COUNT,
    DELIVERY_MAX,
    TRACED,
    VIOLATION,
    VIOLATION_MEMBER,
    VIOLATION_COLUMN,
    FINISHED_AT,
    RIDERS,
    PLANNED,
    TRIP_MAX,
    STOP,
    THROUGH,
    STRUCK_FAULTS,
    RETURNING,
    FALSE_STRIKES,
    WATCHED,
    ROUND_ENDED,
    LET_IN,
    LAST_SLOT,
    ON_LINKS,
    SAMPLE_AT,
    LOAD_SUM,
    LOAD_SAMPLES,
    LOAD_MAX,
    LOAD_SUM_BY_END,
    LOAD_SAMPLES_BY_END,
    LOAD_MAX_BY_END,
    ENTERED,
    ATTACHED_BYTES,
    COUNTS,
) = range(44)


class Group(NamedTuple):
    """The members' arrays, one row a member, and the checkers' own."""

    received: Seqs
    gathered: Seqs
    stable: Seqs
    reg: NDArray[np.int64]
    place_flat: NDArray[np.int32]
    place_start: NDArray[np.int64]
    arrays: Seqs
    """What messages under way carry, one row a slot."""
    declared: Seqs
    """The checkers' copy of ``stable``: what each member has declared so far."""
    truth: Seqs
    """A lower bound of what every member has received, brought up to date when a check needs it."""
    own: Seqs
    """What the protocol keeps beyond that."""
    constructed: Seqs
    """For each column, the most that any member has found to be stable by itself."""
    base: Seqs
    """For members that joined later: what had been sent when they were admitted; they need not have it."""
    params: NDArray[np.int64]
    kind_bytes: NDArray[np.int64]
    """For each of the protocol's message types, bytes on the wire beyond header and sequence numbers."""
    faults: Any
    attached: NDArray[np.int64]
    """What goes with data messages: by column, number and place; the last place has its bytes."""
    audience: NDArray[np.int64]
    """For each column and member, 1 if the column's messages are for it."""
    last_sent: Seqs
    """For changed entries only: the last array that a member sent of each type."""


class Meters(NamedTuple):
    """What is measured."""

    counts: NDArray[np.int64]
    hops: NDArray[np.int64]
    hop_bytes: NDArray[np.int64]
    sent: NDArray[np.int64]
    sent_bytes: NDArray[np.int64]
    members: Any
    first_learned: NDArray[np.int64]
    """For each execution, by its number modulo the length: from its start to the first member's knowing."""
    last_learned: NDArray[np.int64]
    started_at: NDArray[np.int64]
    root_rtt: NDArray[np.int64]
    tts: NDArray[np.int64]
    trace: NDArray[np.int64]


class Feed(NamedTuple):
    """Data traffic: columns of sequence numbers and what the receivers know of them."""

    columns: Any
    sent_at: NDArray[np.int64]
    """When each message that is not yet stable was handed over, by its number modulo the length."""
    ahead: NDArray[np.bool_]
    highest: Seqs
    """The highest number that a member has heard of, for each column."""
    asked_at: NDArray[np.int64]
    own_stable: NDArray[np.int64]
    """For each column, what its leader knows to be stable: room in the output buffer."""


class Arrays(NamedTuple):
    """Everything of a run, as Python sees it."""

    plan: Plan
    net: Network
    q: Queues
    group: Group
    out: Outbox
    meters: Meters
    feed: Feed
