"""Section 6 in the simulator: receivers that connect and disconnect, with the rules and without (T6, ours).

Members receive from some of the senders, and connect to others during the run.  Each sender is told apart
(``ack_to`` senders), as the paper's channels are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from stablecast.papers.paper import Claim, Judgement
from stablecast.papers.timestamp.hold_ups import (
    CHANGES,
    CRASH_TOLD_MS,
    EARLIER_MS,
    JOINS,
    JOINS_CRASHED,
    JOINS_VECTOR,
    LEAVES,
    LEAVES_LATE,
    LEAVES_VECTOR,
    LEFT_TOLD_MS,
    NOTICED_MS,
    WITHIN_MS,
    hold_up,
)
from stablecast.pipeline.point import Point, simulation
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.table import Table
from stablecast.simulate.result import Result

MEMBERS, SENDERS, RECEIVERS = 16, 6, 6
MESSAGES, RATE_PER_S = 60, 30.0
"""Two seconds of data."""
T_ACK_MS, T_SEND_MS = 100.0, 100.0
LATE_MS, TOLD_MS, LASTING_MS = 150.0, 50.0, 400.0
LIMIT_MS = 20_000.0
RATES = (5.0, 20.0, 80.0)
"""Connects of the whole group in a second."""
NETWORKS: dict[str, dict[str, Any]] = {
    "nothing lost": {},
    "5 % lost on links": {"link_loss": 0.05},
    "20 % late": {"reorder": 0.2, "detour_us": LATE_MS * 1000},
    "both": {"link_loss": 0.05, "reorder": 0.2, "detour_us": LATE_MS * 1000},
}
CALM, *_, WORST = NETWORKS
SHOWN = (CALM, WORST)
KINDS: dict[str, dict[str, Any]] = {
    "timestamp": {"protocol": "timestamp", "send_every_ms": T_SEND_MS},
    "timestamp, no rules": {"protocol": "timestamp", "send_every_ms": T_SEND_MS, "no_rules": True},
    "vector": {"protocol": "vector"},
}
RULED, UNRULED, VECTOR = KINDS
QUICK_SEEDS, FULL_SEEDS = 5, 30
SEEDS = range(FULL_SEEDS)
ABOUT = (
    f"{MEMBERS} members; each of {SENDERS} senders has {RECEIVERS} receivers from the start and sends"
    f" {MESSAGES} messages, {RATE_PER_S:g} a second; who connects stays {LASTING_MS:g} ms on average. t_ack ="
    f" {T_ACK_MS:g} ms. Late messages come {LATE_MS:g} ms later."
)


@cache
def changing(kind: str, network: str, rate: float, seed: int) -> Point:
    """Return a run in which receivers connect and disconnect; with a rate of 0 nobody does."""
    options = KINDS[kind] | NETWORKS[network]
    if rate:
        options = options | {"connects_per_s": rate, "connected_ms": LASTING_MS, "detect_ms": TOLD_MS}
    return simulation(
        topology="balanced",
        nodes=MEMBERS,
        members=MEMBERS,
        senders=SENDERS,
        receivers=RECEIVERS,
        messages=MESSAGES,
        rate_per_s=RATE_PER_S,
        ack_to="senders",
        ack_every_ms=T_ACK_MS,
        until_ms=LIMIT_MS,
        seed=seed,
        **options,
    )


def rates_of(kind: str) -> tuple[float, ...]:
    """Return the rates that a kind is run at; without the rules only with connections."""
    return RATES if kind == UNRULED else (0.0, *RATES)


def points(full: bool) -> list[Point]:
    """Return runs at every rate, and single connections and disconnections."""
    seeds = range(FULL_SEEDS if full else QUICK_SEEDS)
    drawn = [
        changing(kind, network, rate, seed)
        for kind in KINDS
        for network in (NETWORKS if kind != VECTOR else SHOWN)
        for rate in rates_of(kind)
        for seed in seeds
    ]
    return drawn + [hold_up(change, seed) for change in CHANGES for seed in seeds]


def _made(runs: Runs, asked: Sequence[Point]) -> list[Point]:
    found = [point for point in asked if point in runs]
    if not found:
        raise MissingRun(f"this run was not made: {asked[0].replay}")
    return found


def results_of(runs: Runs, kind: str, network: str, rate: float) -> list[Result]:
    """Return the results of all seeds that were run."""
    asked = [changing(kind, network, rate, seed) for seed in range(FULL_SEEDS)]
    return [runs[point].result for point in _made(runs, asked)]


def stable_ms(results: Sequence[Result], name: str = "tts_mean_us") -> float:
    """Return a time to stable, averaged over runs."""
    times = [getattr(one.traffic, name) for one in results if one.traffic is not None]
    return float(np.mean([time for time in times if time is not None])) / 1000


def bytes_per_s(results: Sequence[Result]) -> float:
    """Return the protocol's bytes in a second, those in data included."""
    sent = [(one.sent_bytes + one.attached_bytes) / one.simulated_us * 1e6 for one in results]
    return float(np.mean(sent))


def _asking(results: Sequence[Result]) -> float:
    """Return the messages on hops that a connection takes by itself."""
    asked = sum(one.hops_by_kind["ASK"] + one.hops_by_kind["ACCEPT"] for one in results)
    return asked / max(sum(one.connects for one in results), 1)


def _per_thousand(results: Sequence[Result]) -> float:
    """Return the messages called stable too early for each thousand connects."""
    connects = sum(one.connects for one in results)
    return 1000 * sum(one.early for one in results) / max(connects, 1)


def early_in_a_run(runs: Runs, network: str, rate: float) -> float:
    """Return how many messages are called stable too early in a run without the rules, on average."""
    return float(np.mean([one.early for one in results_of(runs, UNRULED, network, rate)]))


def hazards(runs: Runs) -> Table:
    """How often something is called stable that a connected receiver lacks."""
    rows = []
    for network in NETWORKS:
        for rate in RATES:
            ruled, unruled = (results_of(runs, kind, network, rate) for kind in (RULED, UNRULED))
            rows.append(
                (
                    network,
                    rate,
                    sum(one.connects for one in unruled),
                    sum(one.early for one in unruled),
                    round(_per_thousand(unruled), 1),
                    f"{sum(one.early > 0 for one in unruled)} of {len(unruled)}",
                    sum(one.connects for one in ruled),
                    sum(one.early for one in ruled),
                )
            )
    return Table(
        key="connection_hazards",
        title="Messages called stable that a connected receiver lacks, without the rules and with them",
        columns=(
            "network",
            "connects / s",
            "connects, no rules",
            "too early",
            "for 1,000 connects",
            "runs with one",
            "connects, rules",
            "too early, rules",
        ),
        rows=tuple(rows),
        note=f"{ABOUT} Too early: the sender has counted the receiver since before the sending, neither has"
        " closed the connection, and the receiver lacks the message; once for each such receiver.",
    )


def rates(runs: Runs) -> Table:
    """What connections at a rate cost everyone."""
    rows = []
    for kind in (RULED, VECTOR):
        for network in SHOWN:
            for rate in rates_of(kind):
                found = results_of(runs, kind, network, rate)
                took = [one.connect_mean_us for one in found if one.connect_mean_us is not None]
                rows.append(
                    (
                        kind,
                        network,
                        rate,
                        round(float(np.mean(took)) / 1000, 1) if took else "-",
                        round(stable_ms(found), 1),
                        round(stable_ms(found, "tts_p99_us"), 1),
                        round(bytes_per_s(found)),
                        round(_asking(found), 1) if rate else "-",
                    )
                )
    return Table(
        key="connection_rates",
        title="Time to stable and bytes while receivers connect and disconnect",
        columns=(
            "protocol",
            "network",
            "connects / s",
            "to be let in [ms]",
            "time to stable, mean [ms]",
            "99 % [ms]",
            "bytes sent / s",
            "ASK and ACCEPT on hops / connect",
        ),
        rows=tuple(rows),
        note=f"{ABOUT} Each connected receiver also acknowledges to one sender more, which is in the bytes.",
    )


def held(runs: Runs, change: str) -> list[dict[str, float]]:
    """Return what a change held up, for each seed that was run."""
    return [runs[point].extra for point in _made(runs, [hold_up(change, seed) for seed in range(FULL_SEEDS)])]


def most(found: Sequence[dict[str, float]], name: str) -> float:
    """Return the largest of a measure."""
    return max(one[name] for one in found)


def mean(found: Sequence[dict[str, float]], name: str) -> float:
    """Return the mean of a measure."""
    return float(np.mean([one[name] for one in found]))


def held_up(runs: Runs) -> Table:
    """How long one connection, or its end, holds up what becomes stable."""
    rows = []
    for change in CHANGES:
        found = held(runs, change)
        rows.append(
            (
                change,
                round(mean(found, "let in"), 1) if found[0]["let in"] else "-",
                round(mean(found, "others, longest"), 1),
                round(most(found, "others, longest"), 1),
                round(mean(found, "others, messages"), 1),
                round(mean(found, "own, longest"), 1),
                round(most(found, "own, longest"), 1),
            )
        )
    return Table(
        key="held_up",
        title="What one connection, or its end, holds up",
        columns=(
            "change",
            "to be let in [ms]",
            "other senders, longest [ms]",
            "in any run [ms]",
            "their messages held up",
            "this sender, longest [ms]",
            "in any run [ms]",
        ),
        rows=tuple(rows),
        note="Each run with the change is compared with the run of the same seed without it, message by"
        f" message: those sent from {EARLIER_MS:g} ms before the change to {WITHIN_MS:g} ms after it. Other"
        " senders: all but the one of the connection; held up by 1 ms or more. This sender: its own messages,"
        " which after a connection wait for one receiver more.",
    )


TABLES = (hazards, rates, held_up)


def judge_rules(runs: Runs) -> Judgement:
    """T6d."""
    asked = [changing(RULED, network, rate, seed) for network in NETWORKS for rate in RATES for seed in SEEDS]
    found = [runs[point] for point in _made(runs, asked)]
    ended = [run.result for run in found if run.ok and run.result.completed and run.result.early == 0]
    connects = sum(one.connects for one in ended)
    seen = sum(one.early for network in NETWORKS for one in _unruled(runs, network))
    return Judgement(
        paper="never stable before all connected receivers have it",
        measured=f"{len(ended)} of {len(found)} runs safe and live, {connects:,} connects",
        holds=len(ended) == len(found) and connects > 0 and seen > 0,
        why="checked from outside at each declaration, and that all becomes stable; without the rules the"
        f" same check finds {seen:,} messages called stable too early on the same networks",
    )


def _unruled(runs: Runs, network: str) -> list[Result]:
    return [one for rate in RATES for one in results_of(runs, UNRULED, network, rate)]


def judge_hazards(runs: Runs) -> Judgement:
    """T6e."""
    early = {network: sum(one.early for one in _unruled(runs, network)) for network in NETWORKS}
    harsh = [network for network in NETWORKS if network != CALM]
    by_rate = {
        rate: float(np.mean([early_in_a_run(runs, network, rate) for network in harsh])) for rate in RATES
    }
    means = list(by_rate.values())
    return Judgement(
        paper="-",
        measured=", ".join(f"{network}: {count:,}" for network, count in early.items()),
        holds=early[CALM] == 0 and all(early[network] > 0 for network in harsh) and means[0] < means[-1],
        why="messages called stable too early; on average, in a run with losses or delay, "
        + ", ".join(f"{average:.2f} with {rate:g} connects a second" for rate, average in by_rate.items()),
    )


def judge_newcomer(runs: Runs) -> Judgement:
    """T6f."""
    found, vectors = held(runs, JOINS), held(runs, JOINS_VECTOR)
    longer = sum(one["others, longest"] > one["let in"] + NOTICED_MS for one in found)
    longest, by_vector = (most(each, "others, longest") for each in (found, vectors))
    return Judgement(
        paper="-",
        measured=f"{mean(found, 'others, longest'):.0f} ms on average, {longest:.0f} ms at most; vectors"
        f" {by_vector:.0f} ms",
        holds=longer == 0 and longest > NOTICED_MS > by_vector,
        why=f"to be let in takes {mean(found, 'let in'):.0f} ms on average and"
        f" {most(found, 'let in'):.0f} ms at most; longer than that other senders' messages were held up in"
        f" {longer} of {len(found)} runs",
    )


def judge_crashed(runs: Runs) -> Judgement:
    """T6g."""
    found = [one["others, longest"] for one in held(runs, JOINS_CRASHED)]
    return Judgement(
        paper="-",
        measured=f"{min(found):.0f} to {max(found):.0f} ms",
        holds=min(found) > CRASH_TOLD_MS / 2 and max(found) <= CRASH_TOLD_MS + T_ACK_MS,
        why=f"the newcomer, and so all its senders, wait until it is told of the crash, {CRASH_TOLD_MS:g} ms"
        " later; the rules have no limit of their own for such a wait",
    )


def judge_leaving(runs: Runs) -> Judgement:
    """T6h."""
    told = {LEAVES: 0.0, LEAVES_LATE: LEFT_TOLD_MS, LEAVES_VECTOR: LEFT_TOLD_MS}
    found = {change: held(runs, change) for change in told}
    own = {change: most(each, "own, longest") for change, each in found.items()}
    others = max(most(each, "others, longest") for each in found.values())
    return Judgement(
        paper="-",
        measured=f"{own[LEAVES]:.0f} ms told at once, {own[LEAVES_LATE]:.0f} ms told after {LEFT_TOLD_MS:g}"
        f" ms; other senders {others:.0f} ms",
        holds=all(own[change] <= after + NOTICED_MS for change, after in told.items())
        and own[LEAVES_LATE] > LEFT_TOLD_MS / 2
        and others < NOTICED_MS,
        why=f"the longest in any run; vectors {own[LEAVES_VECTOR]:.0f} ms",
    )


CLAIMS = (
    Claim(
        id="T6d",
        kind="exact",
        text="With the rules no message is called stable before every connected receiver has it, while"
        " receivers connect and disconnect and messages are lost and late, and everything becomes stable.",
        judge=judge_rules,
    ),
    Claim(
        id="T6e",
        kind="trend",
        text="Without the rules Figure 4's hazard comes about by itself where messages are lost or late, more"
        " often the more receivers connect; where nothing is lost or late it does not.",
        judge=judge_hazards,
        ours=True,
        main_reading_only=True,
    ),
    Claim(
        id="T6f",
        kind="trend",
        text="A newcomer holds up messages of its other senders, by no more than it takes to be let in; with"
        " vectors it holds up none.",
        judge=judge_newcomer,
        ours=True,
        main_reading_only=True,
    ),
    Claim(
        id="T6g",
        kind="trend",
        text="A newcomer that asks a crashed sender holds up its other senders until it is told of the"
        " crash.",
        judge=judge_crashed,
        ours=True,
        main_reading_only=True,
    ),
    Claim(
        id="T6h",
        kind="trend",
        text="The end of a connection holds up messages of its sender alone, and no longer than until the"
        " sender is told.",
        judge=judge_leaving,
        ours=True,
        main_reading_only=True,
    ),
)
