"""What a run measured."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling.views import Rows
from stablecast.multicast.bimodal_result import Delivery
from stablecast.protocols.contract import Protocol, Role
from stablecast.protocols.layers.succession import REIGN
from stablecast.showing import plot
from stablecast.simulate.costs import PS_PER_US
from stablecast.simulate.setup import Setup
from stablecast.simulate.state import DATA_KINDS, Counts, Sim

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROWS = ("START", "ACK", "INFO")
GOSSIP_ONLY = (
    "tpr_us",
    "steps",
    "false_suspicions",
    "detection_first_us",
    "detection_last_us",
    "joins",
    "join_mean_us",
    "join_max_us",
)
"""What only protocols that run in steps have."""
CONNECTIONS_ONLY = ("connects", "connect_mean_us", "connect_max_us", "early")
"""What only runs in which receivers connect have."""
LISTS = ("peaks", "places")
"""What a delivery has for each member and message."""


@dataclass(frozen=True, kw_only=True)
class TrafficResult:
    """What the data traffic of a run measured."""

    messages: int
    """Data messages sent, and known by their senders to be stable."""
    messages_stable: int
    tts_mean_us: float | None
    """Time to stable: from handing a message over to its sender's knowing that everyone has it."""
    tts_p50_us: float | None
    tts_p99_us: float | None
    tts_max_us: float | None
    delivery_max_us: float
    """D: from handing a message over to its last receipt."""
    start_gap_max_us: float
    """Δ: longest time between two starts of the protocol."""
    buffer_max: int
    """Most messages in one sender's output buffer."""
    blocked: int
    """Times that a message found its sender's buffer full."""
    first_buffer_max: int
    """Most messages in the first member's output buffer, which the trigger by pressure looks at."""
    first_blocked: int
    """Times that a message of the first member found its buffer full."""
    held_max: int
    """Most messages, of all senders, in one member's buffers."""
    held_mean: float
    """The same on average, over time and members."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """The measurements of one run; times in microseconds, exact to the picosecond of the model."""

    protocol: str
    members: int
    senders: int
    seed: int
    topology: str
    topology_label: str
    executions: int
    """Executions that their coordinator completed."""
    completed: bool
    """Whether every member finished the last execution and knows everything that is stable."""
    rounds: int
    """Messages in the longest chain of one execution in which each is sent on receipt of the one before."""
    hops: dict[str, int]
    """Messages on all hops, by row of the papers' tables, and their total (data traffic apart)."""
    hops_by_kind: dict[str, int]
    hop_bytes: int
    """Bytes on all hops, data traffic apart; with the header of each packet."""
    packet_hops: int
    """Packets on all hops, data traffic apart; as many as messages where these are not cut."""
    carried_hop_bytes: int
    """Bytes of the protocol inside data messages, riders and what is attached, on all hops of the data."""
    host_us: float
    """Time of all hosts to send and receive the protocol's messages, and its bytes inside data messages."""
    data_hops: dict[str, int]
    data_packet_hops: int
    """Packets of the data traffic on all hops."""
    data_hop_bytes: dict[str, int]
    """Bytes of the data traffic on all hops, without what is the protocol's."""
    data_host_us: dict[str, float]
    """Time of all hosts to send and receive the data traffic, without what is the protocol's."""
    messages_sent: int
    """Messages of the protocol; a multicast is one."""
    sent_bytes: int
    """Bytes of the protocol's messages as they were sent; a multicast counts once, whatever its hops."""
    attached_bytes: int
    """Bytes that the protocol put into data messages, each message once."""
    operations: int
    """Comparisons and moves of numbers that the protocol counted, over all members; 0 if it counts none."""
    processed_max: int
    """Most messages of the protocol that one member sent and received."""
    rtt_root_us: float | None
    """At the first member, or its successor: from its first message of an execution to knowing the result."""
    rtt_first_us: float | None
    """From the start of an execution to the first member, of all, that knows its result."""
    rtt_last_us: float | None
    """From the start of an execution to the last member that knows its result."""
    rtt_last_max_us: float | None
    """The longest of those times over the executions."""
    rtt_max_us: float | None
    """The largest over members, last execution, of the time from its first message to knowing the result."""
    round_trip_max_us: float
    """f: longest time from a start to the first member's, or its successor's, knowing the result."""
    queue_max: int
    """Most packets on one link, waiting and in transmission."""
    queue_mean: float
    """The same on average, recorded each time that a packet is put on a link."""
    load_mean: float | None
    """Packets on all links, waiting, in transmission and on their way: the mean of what was counted every
    ``sample_ms`` until the last member finished; None if that took less time."""
    load_max: int
    """The most that was counted so."""
    host_queue_max: int
    """Most packets at one processor."""
    dropped: int
    """Packets that a full link dropped."""
    lost: int
    """Packets lost on links, and messages lost at receivers or omitted by their senders."""
    riders: int
    """Stability messages that rode on data."""
    rider_bytes: int
    """Bytes of these inside the data, each message once."""
    simulated_us: float
    """When the last member finished the last execution."""
    events: int
    wall_s: float
    tpr_us: float | None = None
    """Of gossip: time per round, from its start to the first member that has the result, on average."""
    steps: float | None = None
    """The same in steps."""
    false_suspicions: int = 0
    """Times that a member struck off a live one."""
    detection_first_us: float | None = None
    """From a crash to the first member that strikes the crashed one off, on average over crashes."""
    detection_last_us: float | None = None
    """The same to the last member that does so by itself."""
    joins: int = 0
    """Times that a member came in after the start, or came back."""
    join_mean_us: float | None = None
    """From its wanting to, by the faults or because it found itself struck off, to its taking part: mean."""
    join_max_us: float | None = None
    """The longest of those times."""
    connects: int = 0
    """Receivers that connected to a sender during the run and were let in."""
    connect_mean_us: float | None = None
    """From a receiver's wanting to connect to its taking the sender's messages: mean."""
    connect_max_us: float | None = None
    """The longest of those times."""
    early: int = 0
    """With ``no_rules``: messages called stable that a receiver lacked, once for each receiver."""
    traffic: TrafficResult | None = None
    delivery: Delivery | None = None
    """Of a protocol that delivers messages itself."""
    processed: NDArray[np.int64] = field(repr=False, compare=False)
    """Messages of the protocol that each member sent and received."""

    def as_json(self) -> dict[str, Any]:
        """Return plain values for ``--json``: everything but what is there for each member."""
        values = asdict(self)
        del values["processed"]
        if self.tpr_us is None:
            for name in GOSSIP_ONLY:
                del values[name]
        if self.connects == 0:
            for name in CONNECTIONS_ONLY:
                del values[name]
        if self.traffic is None:
            del values["traffic"]
        del values["delivery"]
        if self.delivery is not None:
            values |= {name: value for name, value in asdict(self.delivery).items() if name not in LISTS}
        return values

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw the times to stable; without data traffic, the messages by type.  Needs matplotlib."""
        return plot(self, axes)

    def _repr_html_(self) -> str:
        from stablecast.simulate.showing import card_of_run

        return card_of_run(self).html()


def _us(ps: float) -> float:
    return float(round(ps) / PS_PER_US)


def _mean_us(values: Any) -> float | None:
    known = values[values >= 0]
    return _us(known.mean()) if known.size else None


def _detection_us(members: Any, struck_at: Any) -> float | None:
    found = (members.left == 1) & (struck_at >= 0)
    return _us((struck_at - members.left_at)[found].mean()) if found.any() else None


def _load(counts: Counts) -> float | None:
    samples = int(counts.load_samples_by_end)
    return int(counts.load_sum_by_end) / samples if samples else None


def _steps(first_learned: Any, step_ps: int) -> float | None:
    known = first_learned[first_learned >= 0]
    return float(known.mean() / step_ps) if known.size else None


def _of_data(sim: Sim, meter: NDArray[np.int64], carried: int) -> dict[str, int]:
    """Return what the data traffic has of a meter, by type, without what its messages carry."""
    found = {name: int(meter[k]) for k, name in DATA_KINDS.items() if sim.hops[k]}
    return found | {name: found[name] - carried for name in found if name == "DATA"}


def collect(setup: Setup, protocol: Protocol, sim: Sim, rows: Rows, wall_s: float) -> Result:
    """Read the meters of a run."""
    counts = sim.counts
    kinds = {kind: int(sim.hops[k]) for k, kind in enumerate(protocol.kinds)}
    hops = dict.fromkeys(ROWS, 0)
    for k in range(len(protocol.kinds)):
        row = protocol.row_of(k)
        if row in hops or sim.hops[k]:
            hops[row] = hops.get(row, 0) + int(sim.hops[k])
    processed = np.array(sim.members.sent + sim.members.received)
    protocol_kinds = slice(0, len(protocol.kinds))
    in_steps = bool(protocol.having(Role.STEP))
    return Result(
        protocol=protocol.name,
        members=setup.topology.member_count,
        senders=setup.sender_count,
        seed=setup.seed,
        topology=setup.topology.name,
        topology_label=setup.topology.label,
        executions=int(counts.planned),
        completed=is_complete(sim),
        rounds=int(counts.rounds),
        hops={**hops, "total": sum(hops.values())},
        hops_by_kind=kinds,
        hop_bytes=int(sim.hop_bytes[protocol_kinds].sum()),
        packet_hops=int((sim.hops + sim.further_hops)[protocol_kinds].sum()),
        data_packet_hops=int((sim.hops + sim.further_hops)[list(DATA_KINDS)].sum()),
        carried_hop_bytes=int(counts.carried_hop_bytes),
        host_us=_us(int(sim.host_ps[protocol_kinds].sum()) + int(counts.carried_host_ps)),
        data_hops={name: int(sim.hops[k]) for k, name in DATA_KINDS.items() if sim.hops[k]},
        data_hop_bytes=_of_data(sim, sim.hop_bytes, int(counts.carried_hop_bytes)),
        data_host_us={
            name: _us(ps) for name, ps in _of_data(sim, sim.host_ps, int(counts.carried_host_ps)).items()
        },
        messages_sent=int(sim.sent[protocol_kinds].sum()),
        sent_bytes=int(sim.sent_bytes[protocol_kinds].sum()),
        attached_bytes=int(counts.attached_bytes),
        operations=int(rows.column(protocol.runs.operations).sum()) if protocol.runs.operations else 0,
        processed_max=int(processed.max()),
        processed=processed,
        rtt_root_us=_mean_us(sim.root_rtt),
        rtt_first_us=_mean_us(sim.first_learned),
        rtt_last_us=_mean_us(sim.last_learned),
        rtt_last_max_us=_us(int(sim.last_learned.max())) if (sim.last_learned >= 0).any() else None,
        rtt_max_us=_us(sim.members.rtt.max()) if (sim.members.learned > 0).any() else None,
        round_trip_max_us=_us(int(counts.trip_max)),
        queue_max=int(counts.queue_max),
        queue_mean=float(counts.queue_sum / counts.queue_records) if counts.queue_records else 0.0,
        load_mean=_load(counts),
        load_max=int(counts.load_max_by_end),
        host_queue_max=int(counts.host_queue_max),
        dropped=int(counts.dropped),
        lost=int(counts.lost),
        riders=int(counts.riders),
        rider_bytes=int(counts.rider_bytes),
        simulated_us=_us(int(counts.finished_at)),
        events=int(counts.events),
        wall_s=wall_s,
        tpr_us=_mean_us(sim.first_learned) if in_steps else None,
        steps=_steps(sim.first_learned, sim.step_ps) if in_steps else None,
        false_suspicions=int(counts.false_strikes),
        detection_first_us=_detection_us(sim.members, sim.members.struck_first),
        detection_last_us=_detection_us(sim.members, sim.members.struck_last),
        joins=int(counts.joins),
        join_mean_us=_us(counts.join_sum / counts.joins) if counts.joins else None,
        join_max_us=_us(int(counts.join_max)) if counts.joins else None,
        connects=int(counts.connects),
        connect_mean_us=_us(counts.connect_sum / counts.connects) if counts.connects else None,
        connect_max_us=_us(int(counts.connect_max)) if counts.connects else None,
        early=int(counts.early),
        traffic=_collect_traffic(sim) if setup.traffic.messages else None,
        delivery=_collect_delivery(setup, protocol, sim, rows),
    )


def _collect_delivery(setup: Setup, protocol: Protocol, sim: Sim, rows: Rows) -> Delivery | None:
    if protocol.runs.summarise is None:
        return None
    there = sim.members.alive == 1
    before = sim.base if setup.faulty else np.zeros_like(sim.received)
    found: Delivery = protocol.runs.summarise(setup.sizes, rows, there, before, int(sim.ctl.now))
    return found


def is_complete(sim: Sim) -> bool:
    """Tell whether the run was live: all members finished the last execution and know all that is stable."""
    if sim.autonomous:
        there = sim.members.alive == 1
        through = bool((sim.members.finished >= sim.executions)[there].all() and there.any())
        return int(sim.counts.stop) == 1 or (sim.drains and through)
    there = sim.members.alive == 1
    finished = bool((_ordinals(sim, sim.members.finished) == sim.counts.started)[there].all())
    if sim.faulty and sim.executions > 0:
        return finished and bool(there.any()) and int(sim.counts.started) >= sim.executions
    if sim.messages_each == 0:
        known = bool((sim.stable == sim.received.min(axis=0)).all())
        return finished and known and int(sim.counts.planned) >= sim.executions
    settled = int(sim.counts.settled) == sim.member_count
    return settled if sim.executions == 0 else finished


def _ordinals(sim: Sim, executions: Any) -> Any:
    """Return which of all executions some are, from their coordinators' numbers."""
    if not sim.successors:
        return executions
    return executions % REIGN + sim.members.ahead[executions // REIGN]


def _collect_traffic(sim: Sim) -> TrafficResult:
    counts, members = sim.counts, sim.members
    now = int(sim.ctl.now)
    tts = np.sort(sim.tts[: int(sim.own_stable.sum())])
    area = members.held_area + members.held * (now - members.held_since)
    quantile = {q: _us(np.quantile(tts, q)) if tts.size else None for q in (0.5, 0.99)}
    return TrafficResult(
        messages=int(sim.columns.sent.sum()),
        messages_stable=int(sim.own_stable.sum()),
        tts_mean_us=_us(tts.mean()) if tts.size else None,
        tts_p50_us=quantile[0.5],
        tts_p99_us=quantile[0.99],
        tts_max_us=_us(tts[-1]) if tts.size else None,
        delivery_max_us=_us(int(counts.delivery_max)),
        start_gap_max_us=_us(int(counts.gap_max)),
        buffer_max=int(sim.columns.held_max.max()),
        blocked=int(sim.columns.blocked.sum()),
        first_buffer_max=int(sim.columns[0].held_max),
        first_blocked=int(sim.columns[0].blocked),
        held_max=int(members.held_max.max()),
        held_mean=float(area.sum() / members.size / now) if now else 0.0,
    )
