"""Section 3.3: rounds go on while members join, leave, crash and are cut off (G3, G3b to G3e)."""

from __future__ import annotations

from typing import Any

import numpy as np

from stablecast.papers.gossip.grid import SEEDS, seeds
from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point, simulation
from stablecast.pipeline.runs import Runs
from stablecast.report.table import Table
from stablecast.simulate.result import Result

MEMBERS, SENDERS = 60, 10
"""Every sixth member sends; who leaves or crashes below does not."""
STEP_S, SUBGROUP, THRESHOLD = 0.2, 2, 16
ROUNDS, MESSAGES, RATE_PER_S = 30, 20, 2.0
JOINS, JOIN_GAP_MS = 20, 100
STREAM_ROUNDS = 5
CONTROLS: dict[str, dict[str, Any]] = {
    "none": {},
    "4 a round": {"admit_per_round": 4},
    "1 a round": {"admit_per_round": 1},
    "in the first 50 ms": {"join_window_s": 0.05},
    "rounds after 3 calm steps": {"quiet_steps": 3},
    "rounds after 6 calm steps": {"quiet_steps": 6},
}
"""Admission control in both variants, and execution control."""
FILLS = (0, 25, 50, 100)
"""Messages in a buffer at which a round begins."""
FILL_MESSAGES, LATE_MS = 60, 20_000
SIGNS_RATES = (0.0, 0.5, 5.0)
"""Data messages of each member in a second, beside gossip of five steps in a second."""
SIGNS_THRESHOLD = 6
JOINED_LATE = 3
LIMIT_MS = 120_000.0
STREAM = "; ".join(f"join 1 at {JOIN_GAP_MS * (k + 1)}" for k in range(JOINS))
CHANGES = {
    "none": "",
    "5 join": "join 5 at 2000",
    "20 join one by one": STREAM,
    "5 leave": "leave 19-23 at 2000",
    "5 crash": "crash 31-35 at 2000",
    "20 cut off and back": "partition 1-20 from 3000 to 9000",
    "16 cut off until after the data": "partition 10-25 from 6000 to 12000",
    "all of it": "join 4 at 1000; leave 19-21 at 2000; crash 31-33 at 3000;"
    " partition 1-18 from 8000 to 14000",
}


def _changing(seed: int, **options: Any) -> Point:
    fixed = {
        "protocol": "gsgc",
        "topology": "balanced",
        "nodes": MEMBERS,
        "members": MEMBERS,
        "senders": SENDERS,
        "costs": "lan1997",
        "subgroup": SUBGROUP,
        "step_s": STEP_S,
        "threshold_steps": THRESHOLD,
        "until_ms": LIMIT_MS,
        "seed": seed,
    }
    return simulation(**(fixed | options))


def rounds(change: str, seed: int) -> Point:
    """Return rounds of the protocol alone while the group changes."""
    return _changing(seed, executions=ROUNDS, faults=CHANGES[change])


def with_data(change: str, seed: int) -> Point:
    """Return data traffic beside it, all of which is to become stable."""
    return _changing(seed, messages=MESSAGES, rate_per_s=RATE_PER_S, faults=CHANGES[change])


def stream(control: str, seed: int) -> Point:
    """Return the rounds during which members join one by one, under some control."""
    return _changing(seed, executions=STREAM_ROUNDS, faults=STREAM, **CONTROLS[control])


def filling(fill: int, seed: int) -> Point:
    """Return data traffic with rounds that begin when a buffer holds so many, and never otherwise alone."""
    return _changing(
        seed, messages=FILL_MESSAGES, rate_per_s=RATE_PER_S, fill_messages=fill, threshold_steps=0
    )


def late(members: int, seed: int) -> Point:
    """Return members that join when all data is stable, and so lack all of it; 0 for none."""
    return _changing(
        seed,
        messages=MESSAGES,
        rate_per_s=RATE_PER_S,
        faults=f"join {members} at {LATE_MS}" if members else "",
    )


def signs(rate_per_s: float, seed: int) -> Point:
    """Return gossip with too small a threshold, alone or beside data of all members."""
    data = {"messages": 10_000, "rate_per_s": rate_per_s, "buffer": 1000, "data_bytes": 100}
    options = {"senders": MEMBERS, **data} if rate_per_s else {"executions": 10_000}
    return _changing(seed, **(options | {"threshold_steps": SIGNS_THRESHOLD, "until_ms": 10_000.0}))


def points(full: bool) -> list[Point]:
    """Return all of them."""
    asked = []
    for seed in seeds(full):
        asked += [make(change, seed) for change in CHANGES for make in (rounds, with_data)]
        asked += [stream(control, seed) for control in CONTROLS]
        asked += [filling(fill, seed) for fill in FILLS]
        asked += [late(members, seed) for members in (0, JOINED_LATE)]
        asked += [signs(rate, seed) for rate in SIGNS_RATES]
    return asked


def judged_points(full: bool) -> list[Point]:
    """Return the runs that the paper's claim of shape needs."""
    asked = [rounds("none", seed) for seed in seeds(full)]
    return asked + [stream(control, seed) for control in CONTROLS for seed in seeds(full)]


def _results(runs: Runs, asked: list[Point]) -> list[Result]:
    runs[asked[0]]  # a case without runs is a missing run, not an empty sample
    return [runs[point].result for point in asked if point in runs]


def _round_results(runs: Runs, change: str) -> list[Result]:
    return _results(runs, [rounds(change, seed) for seed in range(SEEDS)])


def _data_results(runs: Runs, change: str) -> list[Result]:
    return _results(runs, [with_data(change, seed) for seed in range(SEEDS)])


def _is_settled(result: Result) -> bool:
    """Tell whether the run ended by itself with all of its data stable."""
    data = result.traffic
    return result.completed and data is not None and data.messages_stable == data.messages


def changes(runs: Runs) -> Table:
    """What each change of the group does to rounds and to data."""
    rows = []
    for change in CHANGES:
        plain, data = _round_results(runs, change), _data_results(runs, change)
        steps = float(np.mean([one.steps or np.nan for one in plain]))
        latest = max((one.traffic.tts_max_us or 0.0 for one in data if one.traffic), default=0.0)
        done = (sum(one.completed for one in plain), sum(map(_is_settled, data)))
        counts = tuple(f"{count} of {len(sample)}" for count, sample in zip(done, (plain, data), strict=True))
        rows.append((change, counts[0], round(steps, 2), counts[1], round(latest / 1e6, 2)))
    return Table(
        key="changes",
        title=f"Rounds and data while the group changes ({MEMBERS} members, K = {THRESHOLD}, steps of"
        f" {STEP_S:g} s)",
        columns=("change", "runs complete", "steps / round", "runs with all data stable", "longest TTS [s]"),
        rows=tuple(rows),
        note=f"{ROUNDS} rounds; {MESSAGES} messages of each of {SENDERS} senders, {RATE_PER_S:g}/s.",
    )


def _mean(results: list[Result], name: str) -> float:
    """Return the mean of a measure in seconds, over the runs that have it."""
    known = [value for one in results if (value := getattr(one, name)) is not None]
    return float(np.mean(known)) / 1e6 if known else float("nan")


def streams(runs: Runs) -> dict[str, list[Result]]:
    """Return the runs of the stream of joins, by control."""
    return {name: _results(runs, [stream(name, seed) for seed in range(SEEDS)]) for name in CONTROLS}


def joins(runs: Runs) -> Table:
    """A stream of joins, with and without admission and execution control."""
    calm = _round_results(runs, "none")
    rows: list[tuple[Any, ...]] = [
        ("no joins", round(_mean(calm, "tpr_us"), 2), round(_mean(calm, "round_trip_max_us"), 2), "-", "-")
    ]
    for name, results in streams(runs).items():
        times = (round(_mean(results, each), 2) for each in ("tpr_us", "round_trip_max_us", "join_max_us"))
        end = round(_mean(results, "simulated_us"), 2)
        rows.append((name, *times, end))
    return Table(
        key="joins",
        title=f"{JOINS} members join, one every {JOIN_GAP_MS} ms: times of rounds, and until all are in",
        columns=("control", "time / round [s]", "longest round [s]", "longest join [s]", "run [s]"),
        rows=tuple(rows),
        note="A round's time is measured from the first member that begins it. A run has at least"
        f" {STREAM_ROUNDS} rounds at every member, and as many as it takes until all are in.",
    )


def fills(runs: Runs) -> Table:
    """What rounds that begin by buffers cost, and save."""
    rows = []
    for fill in FILLS:
        results = _results(runs, [filling(fill, seed) for seed in range(SEEDS)])
        known = [one.traffic for one in results if one.traffic is not None]
        per_message = np.mean([one.messages_sent for one in results]) / max(known[0].messages, 1)
        rows.append(
            (
                fill or "at once",
                round(float(np.mean([one.executions for one in results])), 1),
                round(_mean(results, "tpr_us"), 2),
                round(float(np.mean([one.held_max for one in known])), 1),
                round(float(np.mean([one.tts_mean_us or 0.0 for one in known])) / 1e6, 2),
                round(float(per_message), 1),
            )
        )
    return Table(
        key="fills",
        title="Rounds that begin when a buffer holds so many messages",
        columns=(
            "messages",
            "rounds",
            "time / round [s]",
            "most held",
            "time to stable [s]",
            "gossip / data message",
        ),
        rows=tuple(rows),
        note=f"{FILL_MESSAGES} messages of each of {SENDERS} senders, {RATE_PER_S:g}/s; no failure detection,"
        " so that members that wait are silent.",
    )


def newcomers(runs: Runs) -> Table:
    """What newcomers are sent, and what it costs."""
    rows = []
    for members in (0, JOINED_LATE):
        results = _results(runs, [late(members, seed) for seed in range(SEEDS)])
        kept = np.mean([one.data_hop_bytes.get("KEPT", 0) for one in results])
        asked = np.mean([one.hops_by_kind["JOIN"] + one.hops_by_kind["WELCOME"] for one in results])
        took = _mean(results, "join_max_us")
        rows.append((members, round(kept / 1000), round(float(asked)), round(took, 3) if members else "-"))
    return Table(
        key="newcomers",
        title="Members that join when all data is stable",
        columns=("newcomers", "kB of kept data on hops", "JOIN and WELCOME on hops", "longest join [s]"),
        rows=tuple(rows),
        note=f"{MESSAGES} messages of 1,000 bytes of each of {SENDERS} senders, kept by late-join handlers.",
    )


def signs_of_life(runs: Runs) -> Table:
    """Live members that are suspected, with and without data."""
    rows = []
    for rate in SIGNS_RATES:
        results = _results(runs, [signs(rate, seed) for seed in range(SEEDS)])
        rows.append((f"{rate:g}", round(float(np.mean([one.false_suspicions for one in results])), 1)))
    return Table(
        key="signs_of_life",
        title=f"Data messages as signs of life (K = {SIGNS_THRESHOLD})",
        columns=("data messages / member / s", "live members struck off in 10 s"),
        rows=tuple(rows),
        note=f"{MEMBERS} members, all of which send; gossip with {1 / STEP_S:g} steps a second.",
    )


TABLES = (changes, joins, newcomers, fills, signs_of_life)


def judge_membership(runs: Runs) -> Judgement:
    """G3."""
    stuck = [name for name in CHANGES if not all(one.completed for one in _round_results(runs, name))]
    unstable = [name for name in CHANGES if not all(map(_is_settled, _data_results(runs, name)))]
    held_up = [name for name, results in streams(runs).items() if not all(one.completed for one in results)]
    return Judgement(
        paper="changes do not stop rounds",
        measured=f"{len(CHANGES) - len(stuck)} and {len(CHANGES) - len(unstable)} of {len(CHANGES)} changes",
        holds=not stuck and not unstable and not held_up,
        why=f"rounds not complete: {', '.join(stuck) or 'none'}; data not all stable:"
        f" {', '.join(unstable) or 'none'}; a stream of joins not ended, by control:"
        f" {', '.join(held_up) or 'none'}",
    )


def judge_stream(runs: Runs) -> Judgement:
    """G3b."""
    calm = _round_results(runs, "none")
    longest = max(one.round_trip_max_us for one in calm) / 1e6
    times = {name: _mean(results, "round_trip_max_us") for name, results in streams(runs).items()}
    return Judgement(
        paper="a round lasts as long as the stream",
        measured=f"longest round {times['none']:.2f} s; without joins up to {longest:.2f} s",
        holds=times["none"] > longest > 0 and times["none"] > 2 * times["1 a round"],
        why="a newcomer is told which round it is and begins with its array, so whoever hears of it has its"
        f" array as well and need not wait for it; the stream lasts {JOINS * JOIN_GAP_MS / 1000:g} s",
    )


def judge_execution_control(runs: Runs) -> Judgement:
    """G3c."""
    calm = _mean(_round_results(runs, "none"), "tpr_us")
    long = _mean(streams(runs)["rounds after 6 calm steps"], "tpr_us")
    return Judgement(
        paper="-",
        measured=f"{long:.2f} s a round, {calm:.2f} s without joins",
        holds=long <= 1.1 * calm,
        why="rounds begin after six steps without news of a newcomer, everywhere within a step or two; three"
        " steps are less than news takes to everyone",
    )


def judge_fill(runs: Runs) -> Judgement:
    """G3d."""
    rows = {row[0]: row for row in fills(runs).rows}
    # While a round lasts, and before it has begun at a member's next step, messages go on to come.
    arriving = {fill: SENDERS * RATE_PER_S * (rows[fill][2] + 3 * STEP_S) for fill in FILLS[1:]}
    over = [fill for fill in FILLS[1:] if not fill <= rows[fill][3] <= fill + arriving[fill]]
    fewer = all(rows[fill][5] < rows["at once"][5] / 2 for fill in FILLS[1:])
    return Judgement(
        paper="-",
        measured="; ".join(
            f"{fill}: {rows[fill][3]:g} held, {rows[fill][5]:g} messages" for fill in FILLS[1:]
        ),
        holds=not over and fewer,
        why=f"out of the bounds: {', '.join(map(str, over)) or 'none'}; with rounds one after the other"
        f" {rows['at once'][5]:g} messages of gossip for each data message",
    )


def judge_signs(runs: Runs) -> Judgement:
    """G3e."""
    counts = [row[1] for row in signs_of_life(runs).rows]
    return Judgement(
        paper="-",
        measured=", ".join(f"{count:g}" for count in counts),
        holds=counts[0] > 0 and counts[-1] < counts[0] / 10,
        why=f"live members struck off in 10 s with {', '.join(f'{rate:g}' for rate in SIGNS_RATES)} data"
        " messages of each member in a second",
    )


CLAIMS = (
    Claim(
        id="G3",
        kind="exact",
        text="Rounds end and all data becomes stable while members join, leave, crash, are cut off and come"
        " back, with late-join handlers, admission control and execution control.",
        judge=judge_membership,
    ),
    Claim(
        id="G3b",
        kind="trend",
        text="A stream of joins prolongs a round until it ends, and admission control prevents it.",
        judge=judge_stream,
    ),
    Claim(
        id="G3c",
        kind="trend",
        text="With execution control a round takes no longer than without joins.",
        judge=judge_execution_control,
        ours=True,
        main_reading_only=True,
    ),
    Claim(
        id="G3d",
        kind="trend",
        text="With rounds that begin when a buffer holds so many messages, it never holds more than these and"
        " what comes while a round lasts, for less than half of the gossip.",
        judge=judge_fill,
        ours=True,
        main_reading_only=True,
    ),
    Claim(
        id="G3e",
        kind="trend",
        text="Data messages as signs of life make up for a threshold that is too small for gossip alone.",
        judge=judge_signs,
        ours=True,
        main_reading_only=True,
    ),
)
