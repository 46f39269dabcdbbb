"""From a set-up to the arrays of a run."""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling.structs import allocate
from stablecast.compiling.views import Rows
from stablecast.errors import InvalidInput
from stablecast.overlays import contract_tree
from stablecast.overlays.placing import placed_by_distance
from stablecast.protocols.contract import Protocol, Role, Surroundings
from stablecast.protocols.contract.kernels import make_outbox
from stablecast.simulate.costs import PS_PER_US
from stablecast.simulate.distances import member_distances
from stablecast.simulate.network import Network, build_network
from stablecast.simulate.packets import tally_width
from stablecast.simulate.queues import NEVER, Queues, make_queues
from stablecast.simulate.room import most_messages
from stablecast.simulate.senders import sender_columns, sender_intervals_ps, sender_members, sender_messages
from stablecast.simulate.setup import NEAR, PIGGYBACKS, TRIGGERS, Setup
from stablecast.simulate.state import PERIODIC, RIDERS_MAX, Feed, Group, Meters, Plan, Sends, Sim
from stablecast.simulate.timer_rows import TIMERS_MAX
from stablecast.simulate.trace_rows import PLAIN_COLUMNS, ROW
from stablecast.simulate.way_times import NO_TIME, Ways, way_lengths

PS_PER_MS = 1000 * PS_PER_US
PS_PER = {"ms": PS_PER_MS, "us": PS_PER_US}
EXECUTIONS_KEPT = 4096
TTS_KEPT = 4_000_000
WINDOW_BYTES_MAX = 2 << 30
KEPT_BYTES_MAX = 8 << 30
"""What receivers put together of changed entries; most of it is never touched, and so takes no memory."""
ATTACHED_BYTES_MAX = 2 << 30
MESSAGES_AT_FIRST = 1024
"""Beside one for each member, how many messages there is room for at first."""


def place_members(setup: Setup) -> Setup:
    """Number the members: in the order of the tree that they form, whose root is member 0, or otherwise."""
    _, nodes = contract_tree(setup.topology.tree, setup.topology.member_nodes)
    if setup.placed == "random":
        nodes = np.random.default_rng([setup.seed, 0x706C6163]).permutation(nodes)
    placed = _with_members(setup, nodes)
    return _with_members(setup, nodes[_near(placed)]) if setup.placed == NEAR else placed


def _with_members(setup: Setup, nodes: NDArray[np.int64]) -> Setup:
    topology = dataclasses.replace(setup.topology, member_nodes=nodes.astype(np.int64))
    return setup.replace(topology=topology)


def _near(setup: Setup) -> NDArray[np.int64]:
    """Return the members in the order in which those that the protocol links are close to each other."""
    protocol = setup.found_protocol
    around = surroundings(setup, build_network(setup.topology, setup.costs, setup.routes))
    assert protocol.links is not None, "a set-up without links is refused"
    neighbours, start = (np.asarray(each, np.int64) for each in protocol.links(around))
    group = around.sizes.group
    if start.size != group + 1 or start[-1] != neighbours.size or not np.isin(neighbours, range(group)).all():
        raise InvalidInput(f"{protocol.name}: links lead to no member (accepted: numbers below {group})")
    return placed_by_distance(neighbours, start, around.distances(), seed=setup.seed)


def make_plan(setup: Setup, protocol: Protocol, *, trace: bool, wire_log: bool, wire: bool = False) -> Plan:
    """Turn a set-up into the loop's constants: knobs under their own names, and what follows from them."""
    traffic = setup.traffic
    derived = {
        "wire_entries": setup.column_count,
        "trigger": TRIGGERS.index(setup.trigger.kind),
        "executions": setup.execution_count,
        "messages_each": traffic.messages,
        "buffer": setup.column_buffer,
        "lossy": setup.lossy,
        "piggyback_ps": round(traffic.piggyback_ms * PS_PER_MS) if traffic.messages else 0,
        "rides_for": PIGGYBACKS.index(traffic.piggyback),
        "may_miss": setup.may_miss,
        "protocol_timers": protocol.sets_timers(setup.sizes),
        "autonomous": protocol.runs.by_timers,
        "successors": protocol.runs.successors,
        "drains": protocol.runs.ends and setup.param(Role.EXECUTIONS, 0) > 0,
        "omit_among": max(setup.param(Role.FANOUT, 1), 1),
        "step_ps": max(setup.param(Role.STEP, 1), 1),
        "faulty": setup.faulty,
        "fault_count": len(setup.schedule.faults),
        "book": protocol.declaration.place_of(protocol.runs.status, setup.sizes),
        "leaves": protocol.leaves,
        "one_by_one": setup.one_by_one,
        "detours": setup.topology.member_count if setup.costs.has_detours else 0,
        "pause_ps": setup.param(Role.PAUSE, 0),
        "attaches": protocol.attaches,
        "takes": protocol.takes,
        "hears": protocol.hears and setup.param(Role.SILENCE, 0) > 0,
        "handlers": setup.handlers,
        "roundless": not protocol.runs.in_rounds,
        "knows_own": protocol.runs.knows(setup.sizes) == "own",
        "audiences": bool(setup.audiences),
        "channels": setup.has_channels,
        "lenient": setup.is_lenient,
        "group_senders": setup.column_count < setup.sender_count,
        "tracing": trace and traffic.messages > 0,
        "wire_log": wire_log,
        "wire": wire,
    }
    values = _knob_values(setup.costs, traffic, setup.trigger, setup) | derived
    return Plan(**{constant.name: values[constant.name] for constant in dataclasses.fields(Plan)})


def _knob_values(*declared: Any) -> dict[str, Any]:
    """Return knobs as the loop's constants: times in picoseconds, a time that is not given being never."""
    values: dict[str, Any] = {}
    for each in declared:
        for knob in dataclasses.fields(each):
            name, _, unit = knob.name.rpartition("_")
            value = getattr(each, knob.name)
            if unit in PS_PER:
                values[f"{name}_ps"] = NEVER if value is None else round(value * PS_PER[unit])
            else:
                values[knob.name] = value
    return values


def make_attached(setup: Setup) -> NDArray[np.int64]:
    """Make room for what goes with the data messages of a run, and for its bytes."""
    width = setup.found_protocol.kernels.attached(setup.sizes)
    if width == 0 or setup.traffic.messages == 0:
        return np.zeros((1, 1, 1), np.int64)
    shape = (setup.column_count, int(sender_messages(setup).max()) + 1, width + 1)
    if 8 * math.prod(shape) > ATTACHED_BYTES_MAX:
        raise InvalidInput(
            f"{setup.protocol_name} keeps {width} numbers for each of {shape[0]} × {shape[1] - 1} messages,"
            " more than fit the memory (take fewer senders or messages)"
        )
    return np.zeros(shape, np.int64)


def _audience(setup: Setup) -> NDArray[np.int64]:
    if not setup.audiences:
        return np.zeros((1, 1), np.int64)
    audience = np.zeros((setup.column_count, setup.topology.member_count), np.int64)
    for column, members in enumerate(setup.audiences):
        audience[column, list(members)] = 1
    return audience


def initial_received(setup: Setup) -> NDArray[np.int32]:
    """Return what each member has received at the start.

    Nothing where data traffic will fill it; otherwise numbers drawn by the seed, the sender ahead of all.
    """
    members, tracked = setup.topology.member_count, setup.tracked_count
    if setup.traffic.messages > 0 or setup.found_protocol.runs.delivers:
        return np.zeros((members, tracked), np.int32)
    rng = np.random.default_rng([setup.seed, 0x52656376])
    sent = rng.integers(64, 1 << 20, size=tracked, dtype=np.int32)
    received = sent - rng.integers(0, 64, size=(members, tracked), dtype=np.int8)
    columns = np.arange(tracked) * setup.column_count // tracked
    leaders = sender_members(setup)[np.searchsorted(sender_columns(setup), columns)]
    received[leaders, np.arange(tracked)] = sent
    return received.astype(np.int32, copy=False)


def prepare(
    setup: Setup, protocol: Protocol, *, trace: bool = False, wire_log: bool = False, wire: bool = False
) -> tuple[Sim, Rows]:
    """Allocate and fill everything that the loop needs: the run, and the members as kernels see them."""
    plan = make_plan(setup, protocol, trace=trace, wire_log=wire_log, wire=wire)
    net = build_network(setup.topology, setup.costs, setup.routes, setup.multicast_tree)
    lengths = _lengths(setup, protocol, plan)
    members, slots = lengths["members"], lengths["slots"]
    q = make_queues(
        net.link_count + net.node_count + net.host_count + plan.detours,
        members + len(setup.schedule.faults),
        packets=members + 4096,
        messages=members + MESSAGES_AT_FIRST,
        slots=slots,
        tallied=tally_width(members, plan.detours) if plan.mtu_bytes else 0,
    )
    _reserve_slots(q, protocol.most_arrays(setup.sizes))
    feed = _make_feed(setup, plan, lengths)
    meters = _make_meters(setup, plan, lengths, int(feed.columns.target.sum()))
    rows = _make_rows(setup, protocol, net, lengths)
    group = _make_group(setup, protocol, rows, lengths)
    sends = _make_sends(setup, protocol, rows, group, lengths)
    return Sim(plan, net, q, _make_ways(plan, q, members), group, meters, feed, sends), rows


def _make_ways(plan: Plan, q: Queues, members: int) -> Ways:
    ways = allocate(Ways, way_lengths(members, q.packets.size, q.messages.size, wire=plan.wire))
    for times in (ways.timer_set_at, ways.made_at):
        times[:] = NO_TIME
    return ways


def _lengths(setup: Setup, protocol: Protocol, plan: Plan) -> dict[str, int]:
    """Return the lengths of the group's arrays and of those that are measured for each member."""
    members, tracked, sizes = setup.topology.member_count, setup.tracked_count, setup.sizes
    if plan.changed_only and 4 * members**2 * len(protocol.kinds) * tracked > KEPT_BYTES_MAX:
        raise InvalidInput(
            f"{members} members that keep {tracked} numbers of each other do not fit the memory (leave"
            " changed_only out, or take fewer members or --tracked)"
        )
    return {
        "members": members,
        "tracked": tracked,
        "slots": members + protocol.most_arrays(sizes),
        "width": protocol.declaration.row_width(sizes),
        "late_members": members if plan.faulty else 1,
        "late_tracked": tracked if plan.faulty else 1,
        "remembering": members if plan.changed_only else 1,
        "remembered_kinds": len(protocol.kinds) if plan.changed_only else 1,
        "streams": members * len(protocol.kinds) if plan.changed_only else 1,
        "pairs": setup.column_count * members if plan.channels else 1,
        "faults": max(len(setup.schedule.faults), 1),
    }


def surroundings(setup: Setup, net: Network) -> Surroundings:
    """Return what a protocol may place its members by."""
    tree, _ = contract_tree(setup.topology.tree, setup.topology.member_nodes)
    return Surroundings(tree, setup.sizes, setup.seed, partial(member_distances, net))


def _make_rows(setup: Setup, protocol: Protocol, net: Network, lengths: dict[str, int]) -> Rows:
    return protocol.declaration.make_rows(
        setup.sizes,
        received=initial_received(setup),
        # The frontiers are filled, not just zeroed, so that the loop does not pay for their first touch.
        stable=np.full((lengths["members"], lengths["tracked"]), 0, np.int32),
        attached=make_attached(setup),
        seed=setup.seed,
        places=protocol.places(surroundings(setup, net)),
    )


def _make_group(setup: Setup, protocol: Protocol, rows: Rows, lengths: dict[str, int]) -> Group:
    declaration = protocol.declaration
    group = allocate(
        Group,
        lengths,
        received=rows.received,
        stable=rows.stable,
        sequences=rows.sequences,
        declared=np.full(rows.stable.shape, 0, np.int32),
        kind_bytes=np.array(declaration.wire_bytes(setup.sizes), np.int64),
        kind_numbers=np.array([declaration.number_count(each) for each in protocol.messages], np.int64),
        attached=rows.attached,
        audience=_audience(setup),
    )
    for record, fault in zip(group.faults, setup.schedule.faults, strict=False):
        record.at, record.what = fault.at_ps, fault.what
        record.member, record.side, record.number = fault.member, fault.side, fault.number
    if setup.has_channels:
        group.pairs.wanted = group.pairs.required = group.audience.ravel()
        group.pairs.since = -1
    return group


def _make_sends(setup: Setup, protocol: Protocol, rows: Rows, group: Group, lengths: dict[str, int]) -> Sends:
    sizes = setup.sizes
    out = make_outbox(
        protocol.most_sends(sizes),
        arrays=group.arrays,
        array_count=protocol.most_arrays(sizes),
        changes=lengths["members"] + 1 if protocol.runs.by_timers else 0,
    )
    out.share(rows)
    fields = {f"out_{name}": array for name, array in out._asdict().items() if name != "arrays"}
    return Sends(**(fields | {"out_marks": out.marks[0]}))


def _reserve_slots(q: Queues, count: int) -> None:
    """Take the first slots, which the outbox names from the start, off the free list."""
    q.ctl.free_slot = q.slot_next[count - 1]
    q.ctl.free_slots -= count


def _make_feed(setup: Setup, plan: Plan, lengths: dict[str, int]) -> Feed:
    if plan.messages_each == 0:
        none = {"fed_members": 1, "fed_columns": 1, "unstable": 1, "window": 1}
        return _silent(allocate(Feed, none))
    members, columns = lengths["members"], setup.column_count
    targets = np.zeros(columns, np.int64)
    np.add.at(targets, sender_columns(setup), sender_messages(setup))
    window = plan.buffer + 1 if plan.lossy or plan.detours else 1
    if members * columns * window > WINDOW_BYTES_MAX:
        raise InvalidInput(
            f"{members} members × {columns} senders × buffer {plan.buffer} do not fit the memory with losses"
            " (take fewer senders or a smaller buffer)"
        )
    unstable = int(targets.max()) + 1 if plan.group_senders else plan.buffer + 1
    fed = {"fed_members": members, "fed_columns": columns, "unstable": unstable, "window": window}
    feed = _silent(allocate(Feed, fed))
    first_of_column = np.searchsorted(sender_columns(setup), np.arange(columns))
    feed.columns.leader = sender_members(setup)[first_of_column]
    feed.columns.target = targets
    return feed


def _silent(feed: Feed) -> Feed:
    """Let no heartbeat be due, and no request for missing messages be under way."""
    feed.columns.heartbeat_at = NEVER
    feed.asked_at[:] = -1
    return feed


def _make_meters(setup: Setup, plan: Plan, lengths: dict[str, int], targets: int) -> Meters:
    bounded = 0 < plan.executions < EXECUTIONS_KEPT and plan.retry_ps == 0 and not plan.autonomous
    rows = trace_burst(setup, plan, targets)
    # The messages that faults at the start make are told before the loop looks for room.
    at_start = MESSAGES_AT_FIRST + lengths["members"] if plan.wire else 0
    measured = {
        "executions": (plan.executions if bounded else EXECUTIONS_KEPT) + 1,
        "timed": min(TTS_KEPT, targets),
        "trace_rows": max(1, 2 * rows + at_start, 65536 if rows else 0),
        "trace_columns": len(ROW) if plan.wire else PLAIN_COLUMNS,
    }
    meters = allocate(Meters, lengths | measured)
    meters.counts.next_start = plan.period_ps if plan.trigger == PERIODIC else 0
    for times in (meters.first_learned, meters.last_learned, meters.root_rtt):
        times[:] = -1
    records = meters.members
    records.column = records.rider = -1
    records.send_at = records.nak_at = records.rider_at = records.protocol_at = NEVER
    records.timer_at = records.struck_first = records.struck_last = records.joining_at = -1
    initial = setup.schedule.initial
    records.alive[:initial] = records.admitted[:initial] = 1
    if plan.messages_each > 0:
        _place_senders(setup, plan, records)
    return meters


def _place_senders(setup: Setup, plan: Plan, records: Any) -> None:
    senders = sender_members(setup)
    records.column[senders] = sender_columns(setup)
    records.interval[senders] = sender_intervals_ps(setup)
    records.to_send[senders] = sender_messages(setup)
    records.send_at[senders] = np.arange(senders.size) * setup.traffic.interval_ps // senders.size


def trace_burst(setup: Setup, plan: Plan, targets: int) -> int:
    """Return the most trace rows that one event can write; 0 without a trace.

    A member that has missed the results of many executions learns of all their messages at once: ``targets``
    are the data messages of the run.  In a wire trace it may also tell of every message that it makes, and of
    those that have waited or come for a ride.
    """
    rows = 2 * targets + 2 * plan.buffer + 2 * RIDERS_MAX + 64 if plan.tracing or plan.wire_log else 0
    if plan.wire:
        rows += most_messages(setup, plan) + 2 * RIDERS_MAX + TIMERS_MAX + 2
    return rows
