"""Beyond the paper: every protocol in the same group, with the same traffic, on the same two networks.

The figures are in ``comparison_figures``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import Any

from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point, simulation
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.protocols import protocol as find_protocol
from stablecast.protocols import protocol_names
from stablecast.protocols.contract import Role
from stablecast.report.table import Table
from stablecast.simulate.options import Options
from stablecast.simulate.result import Result

MEMBERS, SENDERS, MESSAGES = 64, 16, 40
PERIOD_MS = 100.0
"""Between acknowledgements, steps of gossip, executions; before something is sent again."""
TREE, GRAPH = "tree", "graph"
NETWORKS: dict[str, dict[str, Any]] = {
    TREE: {"topology": "balanced", "spread_last": True, "nodes": MEMBERS},
    GRAPH: {"topology": "random-graph", "edge_probability": 4 / MEMBERS, "costs": "lan1997"},
}
"""A tree that multicasts, and a graph on which a message to all is one to each."""
LOSSES = (0.0, 0.01)
GATHERING = "s_coordp"
"""The protocol whose minima climb a tree and whose result is told to all."""
MANY_WAYS = ("explicit", "vector", "timestamp", "cubefulldist")
"""What a member has goes to many members or often, and nothing waits for one message in particular."""
ONE_WAY = ("coord", "coordp", "s_coord", "s_coordp", "train", "s_train")
"""A round waits for one message of each member, or of each subtree."""
RESENDS_MS = (50.0, 100.0, 200.0)
"""Before something lost is sent again, where a protocol has to; the order of protocols depends on it."""
QUICK_SEEDS, FULL_SEEDS = 1, 8
ABOUT = (
    f"{MEMBERS} members, {SENDERS} of them sending {MESSAGES} messages each, 10 a second; lan1997 costs;"
    f" every {PERIOD_MS:g} ms an acknowledgement, a step of gossip or an execution (cubefulldist: a pause of"
    " that length between rounds). tree: balanced, with multicast; graph: random, mean degree 4, one message"
    f" to each. What is lost is sent again after {PERIOD_MS:g} ms by protocols that do not repeat themselves."
)


@cache
def compared() -> tuple[str, ...]:
    """Return the protocols that tell when data traffic beside them is stable."""
    return tuple(protocol_names(lambda protocol: not protocol.runs.delivers))


@cache
def own_options(protocol_name: str, network: str, resend_ms: float | None) -> tuple[tuple[str, Any], ...]:
    """Return the options by which a protocol has the common period, sends again, and multicasts data.

    They follow from its parameters, so that a further protocol takes part without a line here.
    """
    protocol = find_protocol(protocol_name)
    options: dict[str, Any] = {}
    for name, parameter in protocol.options.items():
        if parameter.role in (Role.EVERY, Role.STEP, Role.PAUSE):
            options[name] = PERIOD_MS if parameter.unit == "ms" else PERIOD_MS / 1000
        if parameter.role is Role.RESEND and resend_ms is not None:
            options[name] = resend_ms
        if name == "local_size":
            options[name] = SENDERS
    if not protocol.runs.by_timers:
        options["period_ms"] = PERIOD_MS
    if network == TREE and protocol.runs.cast == "unicast":
        options["cast"] = "multicast"
    return tuple(options.items())


@cache
def run_of(name: str, network: str, loss: float, seed: int, resend_ms: float = PERIOD_MS) -> Point:
    """Return the run of a protocol on a network; nothing is sent again where nothing is lost."""
    return simulation(
        protocol=name,
        members=MEMBERS,
        senders=SENDERS,
        messages=MESSAGES,
        rate_per_s=10.0,
        link_loss=loss or None,
        seed=seed,
        **NETWORKS[network],
        **dict(own_options(name, network, resend_ms if loss else None)),
    )


def points(full: bool) -> list[Point]:
    """Return a run of every protocol, network and loss; some with further times between resends."""
    seeds = range(FULL_SEEDS if full else QUICK_SEEDS)
    asked = [
        run_of(name, network, loss, seed)
        for name in compared()
        for network in NETWORKS
        for loss in LOSSES
        for seed in seeds
    ]
    asked += [
        run_of(name, network, LOSSES[-1], seed, resend_ms)
        for name in ONE_WAY
        for network in NETWORKS
        for resend_ms in RESENDS_MS
        for seed in seeds
    ]
    return list({point.key: point for point in asked}.values())


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


def results(runs: Runs, name: str, network: str, loss: float, resend_ms: float = PERIOD_MS) -> list[Result]:
    """Return the results of the seeds that were run."""
    asked = [run_of(name, network, loss, seed, resend_ms) for seed in range(FULL_SEEDS)]
    found = [runs[point].result for point in asked if point in runs]
    if not found:
        raise MissingRun(f"this run was not made: {asked[0].replay}")
    return found


def measured(runs: Runs, name: str, network: str, loss: float, resend_ms: float = PERIOD_MS) -> Measured:
    """Return the means of a protocol's runs."""
    found = results(runs, name, network, loss, resend_ms)
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


@cache
def only_senders_learn(name: str) -> bool:
    """Tell whether a protocol tells nobody but a message's sender that it is stable."""
    setup = Options.of(run_of(name, TREE, 0.0, 0).options).setup()
    return setup.found_protocol.runs.knows(setup.sizes) == "own"


def protocols(runs: Runs) -> Table:
    """All protocols on both networks, with and without loss."""
    rows = []
    for network in NETWORKS:
        for loss in LOSSES:
            for name in compared():
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
    own = [name for name in compared() if only_senders_learn(name)]
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


def resends(runs: Runs) -> Table:
    """What the time between resends does to protocols whose rounds wait for one message."""
    rows = []
    for network in NETWORKS:
        for name in (*ONE_WAY, *MANY_WAYS):
            again = name in ONE_WAY
            found = [
                measured(runs, name, network, LOSSES[-1], ms)
                for ms in (RESENDS_MS if again else (PERIOD_MS,))
            ]
            cells = [round(each.p99_ms) for each in found] if again else [round(found[0].p99_ms)] * 3
            rows.append((network, name, "yes" if again else "no", *cells))
    return Table(
        key="protocol_resends",
        title=f"p99 of the time to stable with {LOSSES[-1]:.0%} loss a link [ms]",
        columns=("network", "protocol", "waits for one message", *(f"{ms:g} ms" for ms in RESENDS_MS)),
        rows=tuple(rows),
        note="By the time after which something lost is sent again. The others are in runs of their own"
        f" period, {PERIOD_MS:g} ms, and are repeated for comparison.",
    )


TABLES = (protocols, resends)


def _cases() -> list[tuple[str, str, float, float]]:
    """Return every protocol, network, loss and time between resends."""
    cases = [(name, net, loss, PERIOD_MS) for name in compared() for net in NETWORKS for loss in LOSSES]
    again = [(name, net, LOSSES[-1], ms) for name in ONE_WAY for net in NETWORKS for ms in RESENDS_MS]
    return list(dict.fromkeys(cases + again))


def judge_completed(runs: Runs) -> Judgement:
    """T7."""
    stuck, total, late = [], 0, (0.0, "")
    for name, network, loss, resend_ms in _cases():
        found = results(runs, name, network, loss, resend_ms)
        told = (
            f"{name} ({network}, {loss:.0%} loss{f', {resend_ms:g} ms' if name in ONE_WAY and loss else ''})"
        )
        total += len(found)
        if not all(result.completed and _is_all_stable(result) for result in found):
            stuck.append(told)
        late = max(late, (measured(runs, name, network, loss, resend_ms).p99_ms, told))
    return Judgement(
        paper="every message becomes stable",
        measured=f"{total} runs of {len(compared())} protocols; not complete: {len(stuck)} cases",
        holds=not stuck,
        why="everything sent is known to be stable by all that the protocol tells; not so:"
        f" {'; '.join(stuck) or 'none'}; the longest p99 is {late[0]:.0f} ms, {late[1]}",
    )


def _is_all_stable(result: Result) -> bool:
    return result.traffic is not None and result.traffic.messages_stable == SENDERS * MESSAGES


def judge_gathering(runs: Runs) -> Judgement:
    """T8a."""
    told, holds = [], True
    for network in NETWORKS:
        gathering = measured(runs, GATHERING, network, 0.0)
        for name in ("timestamp", "vector"):
            other = measured(runs, name, network, 0.0)
            sooner, less = other.p50_ms / gathering.p50_ms, other.hop_bytes / gathering.hop_bytes
            holds &= sooner > 1 and less > 1
            told.append(f"{name} × {sooner:.1f} the time, × {less:.0f} the bytes ({network})")
    return Judgement(
        paper="not compared",
        measured=", ".join(told),
        holds=holds,
        why=f"median time to stable and bytes on all hops over those of {GATHERING}, nothing lost: one"
        f" execution asks everyone at once, while of {MEMBERS} acknowledgements at random times the last one"
        " is a whole period late, and each goes to everyone",
    )


def judge_every_link(runs: Runs) -> Judgement:
    """T8b."""
    ratios = {
        network: {
            name: measured(runs, name, network, 0.0).hop_bytes
            / measured(runs, "explicit", network, 0.0).hop_bytes
            for name in ("timestamp", "vector")
        }
        for network in NETWORKS
    }
    sent = (
        measured(runs, "timestamp", TREE, 0.0).sent_bytes / measured(runs, "explicit", TREE, 0.0).sent_bytes
    )
    return Judgement(
        paper="timestamps take less than explicit acknowledgements",
        measured="; ".join(
            f"{network}: " + ", ".join(f"{name} × {ratio:.2f}" for name, ratio in each.items())
            for network, each in ratios.items()
        ),
        holds=min(ratios[TREE].values()) > 0.95 and min(ratios[GRAPH].values()) > 2,
        why="bytes on all hops over those of explicit; as sent, a multicast once, timestamps take"
        f" × {sent:.2f} on the tree, but an acknowledgement to all crosses a link for each of {MEMBERS}"
        " members and one to the sender a few; explicit ones grow with senders and messages (T4d), so that"
        " more of these would turn it; accepted: above 0.95 with multicast, above 2 without",
    )


def judge_loss(runs: Runs) -> Judgement:
    """T9."""
    told, against = [], []
    for network in NETWORKS:
        many = {name: measured(runs, name, network, LOSSES[-1]).p99_ms for name in MANY_WAYS}
        slowest = max(many.items(), key=lambda item: item[1])
        told.append(f"{network}: {slowest[1]:.0f} ms ({slowest[0]})")
        for resend_ms in RESENDS_MS:
            one = {name: measured(runs, name, network, LOSSES[-1], resend_ms).p99_ms for name in ONE_WAY}
            fastest = min(one.items(), key=lambda item: item[1])
            told.append(f"{fastest[1]:.0f} ms ({fastest[0]}, {resend_ms:g} ms)")
            if fastest[1] <= slowest[1]:
                against.append(f"{fastest[0]} with {resend_ms:g} ms ({network})")
    return Judgement(
        paper="not compared",
        measured=", ".join(told),
        holds=not against,
        why=f"p99 of the slowest of {', '.join(MANY_WAYS)}, and of the fastest of {', '.join(ONE_WAY)} for"
        f" each time between resends, with {LOSSES[-1]:.0%} loss a link; not so for"
        f" {'; '.join(against) or 'none'}: where a round waits for one message, its loss costs everyone a"
        " resend, and so that time decides",
    )


CLAIMS = (
    Claim(
        id="T7",
        ours=True,
        kind="exact",
        text="Beyond the paper: all protocols finish in the same group, on both networks, with and without"
        " loss.",
        judge=judge_completed,
    ),
    Claim(
        id="T8a",
        ours=True,
        main_reading_only=True,
        kind="trend",
        text="Observed beyond the paper: without loss a protocol that gathers along a tree is sooner than"
        " timestamp and vector acknowledgements of the same period, with a fraction of the bytes on all"
        " links.",
        judge=judge_gathering,
    ),
    Claim(
        id="T8b",
        ours=True,
        main_reading_only=True,
        kind="trend",
        text="Observed beyond the paper: in this group, counted on every link, acknowledgements to all take"
        " about as many bytes as explicit ones or more, and several times as many where the network does not"
        " multicast.",
        judge=judge_every_link,
    ),
    Claim(
        id="T9",
        ours=True,
        main_reading_only=True,
        kind="trend",
        text="Beyond the paper: with 1 % loss, protocols that tell many members, or again and again, have a"
        " shorter p99 than those whose rounds wait for one message of each, whatever the time between"
        " resends.",
        judge=judge_loss,
    ),
)
