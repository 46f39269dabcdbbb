"""The state of a simulation: everything that the compiled loop reads and writes, declared once.

:class:`Sim` is one structure (see :mod:`stablecast.compiling.structs`) with eight parts.

- :class:`Plan` has the constants of a run, and :class:`~stablecast.simulate.network.Network` the nodes and
  links with their costs.  Nothing changes them after the run was prepared.
- :class:`~stablecast.simulate.queues.Queues` has the packets and messages under way and the heap of events.
- :class:`~stablecast.simulate.way_times.Ways` has what a wire trace tells of these.
- :class:`Group` has the members' protocol state, and what the checkers compare it with.
- :class:`Feed` has the data traffic: what was sent, received, asked for and found to be stable.
- :class:`Sends` is the outbox that kernels put their sends into.
- :class:`Meters` has what is measured, in :class:`Counts` and in arrays.  Some counts also steer the loop.

What is true before and after each event:

- ``received[i, c]`` is the unbroken prefix of column ``c`` that member ``i`` has, and it only rises.
  ``ahead`` marks what the member has beyond that prefix, and ``highest`` is the last number that it has heard
  of.  Hence ``received <= highest`` with data traffic.
- ``stable[i, c]`` is what member ``i`` has declared to be at every required member.  The protocol's kernels
  raise it.  ``declared`` equals ``stable``: the driver copies it after each declaration was checked and its
  messages were released.  A difference at the end of a run is a change that was not declared.
- ``truth[c]`` is at most the minimum of ``received[:, c]`` over the required members.  It may lag behind,
  because a declaration below an old minimum is certainly below the present one; it is computed again only
  when a declaration exceeds it.  It is also computed again when a member is admitted, which may lower it.
- ``own_stable[c]`` is ``stable`` at the leader of column ``c``, as of its last release.  The column's output
  buffer holds ``sent - own_stable`` messages, which are at most ``buffer``.
- Each packet, message and slot is either under way or on its free list, whose length the control record
  keeps.  A message counts the packets that carry it, and a slot the messages that carry it.

What can go wrong: an event takes packets, messages, slots and trace rows without asking, because a check at
each of them would cost more than the rest.  The loop therefore starts an event only while the most that any
event can take is free (``run.py`` computes that bound from the protocol's own bounds).  A protocol that
understates what it sends would write beyond an array.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling.structs import Record, Structure
from stablecast.compiling.views import NUMBERS_MAX, Marks
from stablecast.simulate.network import Network
from stablecast.simulate.queues import Queues
from stablecast.simulate.way_times import Ways

Seqs = NDArray[np.int32]
Ints = NDArray[np.int64]
KINDS_MAX = 32
DATA, NAK, HEARTBEAT, REQUEST, KEPT = 16, 17, 18, 19, 20
"""Message types of the data traffic; those of the protocol are numbered from 0.  ``KEPT`` is a copy of a
message that is stable, from one who keeps it for members that join later."""
DATA_KINDS = {DATA: "DATA", NAK: "NAK", HEARTBEAT: "HEARTBEAT", REQUEST: "REQUEST", KEPT: "KEPT"}

RIDERS_MAX = 32
"""Stability messages that may wait at one member for a ride; more go on their own."""
WHOLE_EVERY = 8
"""Of the arrays that travel as changed entries, every so manieth is whole, where one may be missed."""
SAVING_NOTHING, SAVING_BYTES, SAVING_TIME, SAVING_BOTH = 0, 1, 2, 3
"""What a message has to save to ride on data: anything may ride, bytes on hops, time of hosts, or both."""
BEATS_MAX = 16
"""Heartbeats that a sender spends on one silence; the last distance is then 65,536 times the first."""

IMMEDIATE, PERIODIC, PRESSURE = 0, 1, 2
"""Triggers: as soon as the last execution is over, every so often, when the first member's buffer fills."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """Constants of a run; all times in picoseconds."""

    seed: int
    header_bytes: int
    entry_bytes: int
    mtu_bytes: int
    """The largest packet; 0 where messages travel whole."""
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
    """Messages of a sender at the common rate; 0 for no data traffic."""
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
    rides_for: int
    """What a message has to save by riding, one of ``SAVING_*``."""
    changed_only: bool
    """Whether an array travels as the entries that changed since the sender's last one of its type."""
    may_miss: bool
    """Whether a receiver may lack such a last one: something may be lost, or be overtaken."""
    protocol_timers: bool
    """Whether the protocol sets timers of its own."""
    autonomous: bool
    """Whether the protocol's members run by their own timers."""
    successors: bool
    """Whether the lowest-numbered member that is left starts executions when those before it are gone."""
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
    handlers: int
    """The first so many members keep all data messages for those that join later; 0 where nobody does."""
    hears: bool
    """Whether messages of the data traffic are signs of life to the protocol."""
    fault_count: int
    book: int
    """Where a member's row of ``sequences`` has the status of each member, -1 for nowhere."""
    leaves: bool
    """Whether members have something to do before they leave."""
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
    channels: bool
    """Whether receivers connect to senders, or disconnect from them, during the run."""
    lenient: bool
    """Whether what is called stable too early is counted, and does not end the run."""
    group_senders: bool
    """Whether senders hand their messages to a leader that numbers them for several."""
    tracing: bool
    wire_log: bool
    """Whether the trace tells that stability messages are handled, to compare drivers."""
    wire: bool
    """Whether it tells what is transmitted, what arrives, and which timers go off."""


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
        ("interval", np.int64),  # of a sender: between two messages
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
        ("told_before", np.int64),  # members with lower numbers that a failure detector has told it of
        ("ahead", np.int64),  # of a coordinator: executions that were started before its own
        ("joining_at", np.int64),  # since when it is on its way in, -1 if it is not
        ("asks", np.int64),  # requests that it has sent for what is stable
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

STREAM = np.dtype(
    [
        ("execution", np.int64),  # of the array that the next one is compared with, 0 for none
        ("dest", np.int64),  # whom it was for
        ("sent", np.int64),  # how many executions have had one
    ],
    align=True,
)
FAULT = np.dtype(
    [(name, np.int64) for name in ("at", "what", "member", "side", "number")],
    align=True,
)
PAIR = np.dtype(
    [
        ("wanted", np.int64),  # 1 from when the receiver connects until either side has closed it
        ("since", np.int64),  # since when it waits to be let in, -1 if it does not
        ("required", np.int64),  # 1 while the sender counts it, and neither side has closed it
        ("after", np.int64),  # the last message before those that count
    ],
    align=True,
)


class Counts(Record):
    """What the loop counts, and the flags by which its parts talk to each other; times in picoseconds."""

    queue_max: int
    """Most packets on one link, waiting and in transmission."""
    queue_sum: int
    """Sum of the queue's length over all times that a packet was put on a link."""
    queue_records: int
    """Number of those times."""
    host_queue_max: int
    """Most packets at one processor."""
    dropped: int
    """Packets that a full link dropped."""
    lost: int
    """Messages lost on a link or at a receiver, or omitted by their sender."""
    events: int
    """Events handled."""
    rounds: int
    """Messages in the longest chain in which each is sent on receipt of the one before."""
    started: int
    """Executions that were started."""
    started_at: int
    """When the last of them was."""
    starter: int
    """The member that starts executions: 0, or its successor."""
    running: int
    """1 from the start of an execution until the starter has finished it."""
    next_start: int
    """When the periodic trigger next starts an execution."""
    settled: int
    """Members that know everything to be stable that was to be sent."""
    gap_max: int
    """Longest time between two starts."""
    tts_count: int
    """Messages that their senders know to be stable."""
    delivery_max: int
    """Longest time from handing a message over to its receipt."""
    traced: int
    """Rows in the trace that Python has not taken yet."""
    violation: int
    """The first violation of safety, one of those in ``checks.py``; 0 for none."""
    violation_member: int
    violation_column: int
    finished_at: int
    """When a member last finished an execution."""
    riders: int
    """Stability messages that rode on data."""
    rider_bytes: int
    """Their bytes inside the data, each message once."""
    planned: int
    """Executions that the starter has finished; without one, rounds whose result some member knows."""
    trip_max: int
    """Longest time from a start to the first member's knowing the result."""
    stop: int
    """1 once the run is over although events are left."""
    struck_faults: int
    """Faults that have happened."""
    returning: int
    """1 + the number of a member that has just found itself struck off; 0 for none."""
    false_strikes: int
    """Times that a member struck off a live one."""
    watched: int
    """1 if the loop is to return to Python after each round."""
    round_ended: int
    """1 once a round has ended in the event at hand."""
    begun: int
    """The newest round that a member that runs by timers has begun."""
    joins: int
    """Members that have come in after the start, or again; how long that took them, and the longest."""
    join_sum: int
    join_max: int
    connects: int
    """Receivers that senders have let in after the start; how long that took them, and the longest."""
    connect_sum: int
    connect_max: int
    early: int
    """Where such are only counted: messages called stable that a receiver lacked, once for each receiver."""
    last_slot: int
    """1 + the slot of the last array that the kernel call at hand sent; 0 for none."""
    on_links: int
    """Packets on all links now."""
    sample_at: int
    """When they are counted next."""
    load_sum: int
    """Sum of these samples, their number, and the largest; then the same as of ``finished_at``."""
    load_samples: int
    load_max: int
    load_sum_by_end: int
    load_samples_by_end: int
    load_max_by_end: int
    entered: int
    """1 + the members that were let in at the start; 0 before the run was opened."""
    attached_bytes: int
    """Bytes that the protocol put into data messages."""
    carried_hop_bytes: int
    """Bytes of the protocol inside data messages, riders and what is attached, on all hops."""
    carried_host_ps: int
    """What these bytes take of the hosts' time."""


@dataclass(kw_only=True, eq=False)
class Group:
    """The members' arrays, one row a member, and the checkers' own."""

    received: Annotated[Seqs, "members", "tracked"]
    stable: Annotated[Seqs, "members", "tracked"]
    sequences: Annotated[Seqs, "members", "kept"]
    """The protocol's arrays of sequence numbers and sets; kernels see them by name."""
    arrays: Annotated[Seqs, "slots", "width"]
    """What messages under way carry, one row a slot."""
    declared: Annotated[Seqs, "members", "tracked"]
    """What each member has declared so far, as of its last declaration that was checked and acted on."""
    truth: Annotated[Seqs, "tracked"]
    """A lower bound of what every member has received, brought up to date when a check needs it."""
    constructed: Annotated[Seqs, "tracked"]
    """For each column, the most that any member has found to be stable by itself."""
    base: Annotated[Seqs, "late_members", "late_tracked"]
    """For members that joined later: what had been sent when they were admitted; they need not have it."""
    kind_bytes: Annotated[Ints, "kinds"]
    """For each of the protocol's message types, its bytes on the wire beyond the header, and its numbers."""
    kind_numbers: Annotated[Ints, "kinds"]
    faults: Annotated[Any, FAULT, "faults"]
    attached: Annotated[Ints, "columns", "numbers", "attached"]
    """What goes with data messages: by column, number and place; the last place has its bytes."""
    audience: Annotated[Ints, "columns", "members"]
    """For each column and member, 1 if the column's messages are for it."""
    pairs: Annotated[Any, PAIR, "pairs"]
    """Where receivers connect during the run: for each column, for each member, how they stand."""
    streams: Annotated[Any, STREAM, "streams"]
    """For changed entries only (:mod:`stablecast.simulate.changes`): where a member's arrays of a type stand,
    the one that the next is compared with, the highest of each entry, and what each receiver has put
    together."""
    last_sent: Annotated[Seqs, "remembering", "remembered_kinds", "tracked"]
    highest_sent: Annotated[Seqs, "remembering", "remembered_kinds", "tracked"]
    kept: Annotated[Seqs, "remembering", "remembering", "remembered_kinds", "tracked"]


@dataclass(kw_only=True, eq=False)
class Meters:
    """What is measured."""

    counts: Counts
    hops: Annotated[Ints, KINDS_MAX]
    hop_bytes: Annotated[Ints, KINDS_MAX]
    further_hops: Annotated[Ints, KINDS_MAX]
    """Packets on all hops that are not the first of their message."""
    sent: Annotated[Ints, KINDS_MAX]
    sent_bytes: Annotated[Ints, KINDS_MAX]
    host_ps: Annotated[Ints, KINDS_MAX]
    """Time of all hosts to send and receive messages of each type."""
    members: Annotated[Any, MEMBER, "members"]
    first_learned: Annotated[Ints, "executions"]
    """For each execution, by its number modulo the length: from its start to the first member's knowing."""
    last_learned: Annotated[Ints, "executions"]
    started_at: Annotated[Ints, "executions"]
    root_rtt: Annotated[Ints, "executions"]
    tts: Annotated[Ints, "timed"]
    trace: Annotated[Ints, "trace_rows", "trace_columns"]


@dataclass(kw_only=True, eq=False)
class Feed:
    """Data traffic: columns of sequence numbers and what the receivers know of them."""

    columns: Annotated[Any, COLUMN, "fed_columns"]
    sent_at: Annotated[Ints, "fed_columns", "unstable"]
    """When each message that is not yet stable was handed over, by its number modulo the length."""
    ahead: Annotated[NDArray[np.bool_], "fed_members", "fed_columns", "window"]
    highest: Annotated[Seqs, "fed_members", "fed_columns"]
    """The highest number that a member has heard of, for each column."""
    asked_at: Annotated[Ints, "fed_members", "fed_columns"]
    own_stable: Annotated[Ints, "fed_columns"]
    """For each column, what its leader knows to be stable: room in the output buffer."""


@dataclass(kw_only=True, eq=False)
class Sends:
    """The kernels' outbox, but for ``arrays``, which is the group's; ``SentRows`` says what each field is."""

    out_marks: Marks
    out_kind: Annotated[Ints, "sends"]
    out_dest: Annotated[Ints, "sends"]
    out_numbers: Annotated[Ints, "sends", NUMBERS_MAX]
    out_carries: Annotated[Ints, "sends"]
    out_slot: Annotated[Ints, "sent_arrays"]
    out_payload: Annotated[Ints, "sends"]
    out_changes: Annotated[Ints, "changes"]


class Sim(Structure, Plan, Network, Queues, Ways, Group, Meters, Feed, Sends):
    """A run, as Python and the compiled loop see it."""
