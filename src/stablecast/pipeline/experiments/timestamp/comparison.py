"""Beyond the paper: every protocol in the same group, with the same traffic, on the same two networks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import Any

from stablecast.pipeline.experiments.table import Table
from stablecast.pipeline.point import Point, simulation
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.protocols import protocol as find_protocol
from stablecast.protocols import protocol_names
from stablecast.simulate.result import Result

MEMBERS, SENDERS, MESSAGES = 64, 16, 40
PERIOD_MS = 100.0
"""Between acknowledgements, steps of gossip, executions; before something is sent again."""
TREE, GRAPH = "tree", "graph"
NETWORKS: dict[str, dict[str, Any]] = {
    TREE: {"topology": "balanced", "nodes": MEMBERS},
    GRAPH: {"topology": "random-graph", "edge_probability": 4 / MEMBERS, "costs": "lan1997"},
}
"""A tree that multicasts, and a graph on which a message to all is one to each."""
LOSSES = (0.0, 0.01)
QUICK_SEEDS, FULL_SEEDS = 1, 8
ABOUT = (
    f"{MEMBERS} members, {SENDERS} of them sending {MESSAGES} messages each, 10 a second; lan1997 costs;"
    f" every {PERIOD_MS:g} ms an acknowledgement, a step of gossip or an execution (cubefulldist: a pause of"
    " that length between rounds). tree: balanced, with multicast; graph: random, mean degree 4, one message"
    f" to each. What is lost is sent again after {PERIOD_MS:g} ms by protocols that do not repeat themselves."
)


@cache
def own_options(name: str, network: str, lossy: bool) -> tuple[tuple[str, Any], ...]:
    """Return the options by which a protocol has the common period, sends again, and multicasts data.

    They follow from its parameters, so that a further protocol takes part without a line here.
    """
    protocol = find_protocol(name)
    parameters = {parameter.name for parameter in protocol.parameters}
    options: dict[str, Any] = {}
    if "ack_every" in parameters:
        options["ack_every_ms"] = PERIOD_MS
    if "send_every" in parameters:
        options["send_every_ms"] = PERIOD_MS
    if "step" in parameters:
        options["step_s"] = PERIOD_MS / 1000
    if "controller_step" in parameters:
        options |= {"controller_step_s": PERIOD_MS / 1000, "local_size": SENDERS}
    if "pause" in parameters:
        options["pause_ms"] = PERIOD_MS
    if not protocol.autonomous:
        options["period_ms"] = PERIOD_MS
    if lossy and "resend" in parameters:
        options["resend_ms"] = PERIOD_MS
    if network == TREE and protocol.cast == "unicast":
        options["cast"] = "multicast"
    return tuple(options.items())


@cache
def run_of(name: str, network: str, loss: float, seed: int) -> Point:
    """Return the run of a protocol on a network."""
    return simulation(
        protocol=name,
        members=MEMBERS,
        senders=SENDERS,
        messages=MESSAGES,
        rate_per_s=10.0,
        link_loss=loss or None,
        seed=seed,
        **NETWORKS[network],
        **dict(own_options(name, network, loss > 0)),
    )


def points(full: bool) -> list[Point]:
    """Return a run of every protocol, network and loss."""
    return [
        run_of(name, network, loss, seed)
        for name in protocol_names()
        for network in NETWORKS
        for loss in LOSSES
        for seed in range(FULL_SEEDS if full else QUICK_SEEDS)
    ]


@dataclass(frozen=True)
class Measured:
    """What a protocol came to on a network, on average over the seeds."""

    completed: bool
    """Whether every run did."""
    p50_ms: float
    p99_ms: float
    """Time to stable at senders."""
    hop_bytes: float
    """Bytes on all hops for each data message, with what the protocol puts into data."""
    sent_bytes: float
    """Bytes as sent for each data message, with the same."""
    messages: float
    """Messages of the protocol for each data message; a multicast is one."""
    busiest: float
    """Messages that one member handled at most, for each data message."""
    buffer_max: float
    """Messages in a sender's buffer at most."""
    held_max: float
    """Messages of all senders in a member's buffers at most."""


def results(runs: Runs, name: str, network: str, loss: float) -> list[Result]:
    """Return the results of the seeds that were run."""
    asked = [run_of(name, network, loss, seed) for seed in range(FULL_SEEDS)]
    found = [runs[point].result for point in asked if point in runs]
    if not found:
        raise MissingRun(f"this run was not made: {asked[0].replay}")
    return found


def measured(runs: Runs, name: str, network: str, loss: float) -> Measured:
    """Return the means of a protocol's runs."""
    found = results(runs, name, network, loss)
    traffic = [result.traffic for result in found if result.traffic is not None]
    data = SENDERS * MESSAGES
    return Measured(
        completed=all(result.completed for result in found),
        p50_ms=fmean((each.tts_p50_us or 0) / 1000 for each in traffic),
        p99_ms=fmean((each.tts_p99_us or 0) / 1000 for each in traffic),
        hop_bytes=fmean(_hop_bytes(result) / data for result in found),
        sent_bytes=fmean((result.sent_bytes + result.attached_bytes) / data for result in found),
        messages=fmean(result.messages_sent / data for result in found),
        busiest=fmean(result.processed_max / data for result in found),
        buffer_max=fmean(each.buffer_max for each in traffic),
        held_max=fmean(each.held_max for each in traffic),
    )


def _hop_bytes(result: Result) -> float:
    """Return the protocol's bytes on all hops; what is in data messages crosses as many as these do."""
    crossed = result.data_hops.get("DATA", 0) / (SENDERS * MESSAGES)
    return result.hop_bytes + result.attached_bytes * crossed


def only_senders_learn(name: str) -> bool:
    """Tell whether a protocol tells nobody but a message's sender that it is stable."""
    setup = run_of(name, TREE, 0.0, 0)
    return _knows(setup) == "own"


def _knows(point: Point) -> str:
    from stablecast.simulate.options import Options

    setup = Options(**point.options).setup()  # type: ignore[arg-type]
    return str(setup.found_protocol.knows(setup.sizes))


def protocols(runs: Runs) -> Table:
    """All protocols on both networks, with and without loss."""
    rows = []
    for network in NETWORKS:
        for loss in LOSSES:
            for name in protocol_names():
                found = measured(runs, name, network, loss)
                held = None if only_senders_learn(name) else round(found.held_max)
                rows.append(
                    (
                        network,
                        f"{loss:.0%}",
                        name,
                        round(found.p50_ms),
                        round(found.p99_ms),
                        round(found.hop_bytes),
                        round(found.sent_bytes),
                        round(found.messages, 1),
                        round(found.busiest, 2),
                        round(found.buffer_max, 1),
                        held,
                    )
                )
    own = [name for name in protocol_names() if only_senders_learn(name)]
    return Table(
        key="protocols",
        title="Every protocol in the same group",
        columns=(
            "network",
            "loss a link",
            "protocol",
            "stable p50 [ms]",
            "stable p99 [ms]",
            "bytes on all hops",
            "bytes sent",
            "messages",
            "at the busiest member",
            "sender's buffer, most",
            "held by a member, most",
        ),
        rows=tuple(rows),
        note=f"{ABOUT} Bytes and messages are the protocol's, for each data message, with what it puts into"
        f" data. With {', '.join(own)} only senders learn what is stable, and other members cannot let go of"
        " anything.",
    )


TABLES = (protocols,)
