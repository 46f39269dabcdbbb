"""T4: comparisons that acknowledgements take, at receivers and at senders.

They are judged under the main reading alone.  Headers and the width of a timestamp take no comparisons; where
acknowledgements go to single senders or ride, the sum over all members, which is what is counted, does not
tell what is a receiver's and what a sender's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stablecast.papers.growth import growth_order
from stablecast.papers.paper import Claim, Judgement
from stablecast.papers.timestamp.steady import T_ACK_MS, is_made, pair, steady
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.table import Table
from stablecast.theory.timestamp import ack_steps

COUNT = 5
"""Messages in t_ack for each member of the group, by however many senders: so many that acknowledgements
hardly ever repeat the one before, and as many whatever the number of senders."""
PERIODS = 5
QUICK_MEMBERS, FULL_MEMBERS = (16, 32, 64), (16, 32, 64, 128)
SENDERS = (4, 8, 16, 32, 64)
KNOWS_OWN = "vector, own messages"
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "timestamp": ("timestamp", {}),
    "vector": ("vector", {}),
    KNOWS_OWN: ("vector", {"know": "own"}),
    "transitive": ("transitive", {}),
    "explicit": ("explicit", {}),
}


def counting(kind: str, senders: int, members: int) -> tuple[Point, Point]:
    """Return the runs whose comparisons are counted."""
    protocol, options = KINDS[kind]
    rate_per_s = COUNT * members / senders * 1000 / T_ACK_MS
    return pair(protocol, senders, members, rate_per_s=rate_per_s, periods=PERIODS, **options)


def points(full: bool) -> list[Point]:
    """Return all runs of this file."""
    counted = [
        counting(kind, senders, members)
        for kind in KINDS
        for members in (FULL_MEMBERS if full else QUICK_MEMBERS)
        for senders in SENDERS
        if senders <= members
    ]
    return [point for each in counted for point in each]


def operations(runs: Runs, kind: str, senders: int, members: int) -> float:
    """Return a member's comparisons in t_ack; a step of a pointer past a stable message is not counted."""
    found = steady(runs, counting(kind, senders, members))
    pointers = found.stable if kind == "timestamp" else 0.0
    return found.operations / members - pointers


def members_made(runs: Runs) -> list[int]:
    """Return the sizes of groups that were run."""
    found = [n for n in FULL_MEMBERS if is_made(runs, counting("timestamp", SENDERS[0], n))]
    if not found:
        raise MissingRun(f"this run was not made: {counting('timestamp', SENDERS[0], 16)[0].replay}")
    return found


def senders_made(runs: Runs, members: int) -> list[int]:
    """Return the numbers of senders that were run in a group."""
    return [senders for senders in SENDERS if is_made(runs, counting("timestamp", senders, members))]


def comparisons(runs: Runs) -> Table:
    """A member's comparisons."""
    rows = [
        (members, senders, *(round(operations(runs, kind, senders, members), 1) for kind in KINDS))
        for members in members_made(runs)
        for senders in senders_made(runs, members)
    ]
    return Table(
        key="comparisons",
        title="Comparisons of a member in t_ack",
        columns=("N_r", "N_s", *KINDS),
        rows=tuple(rows),
        note="Means over all members; every member receives, and N_s of them send, together"
        f" {COUNT} messages for each member in t_ack. With timestamps, vectors and transitive"
        " acknowledgements each member finds out about everyone's messages; own messages and explicit: only"
        " senders count, and only what is about their own. Numbers that are copied and not compared do not"
        " count.",
    )


def shares(runs: Runs, members: int) -> tuple[float, float]:
    """Return comparisons with timestamps for each sender, and for each acknowledgement that comes in.

    A member looks at every sender's timestamp once in t_ack and takes in one acknowledgement of each member,
    so what grows with the senders is the former and what does not is the latter.
    """
    at = senders_made(runs, members)
    slope, rest = np.polyfit(at, [operations(runs, "timestamp", senders, members) for senders in at], 1)
    return float(slope), float(rest) / members


def at_sender(runs: Runs, members: int) -> float:
    """Return a sender's comparisons for each vector that comes in, if it keeps what is about itself."""
    found = [
        operations(runs, KNOWS_OWN, senders, members) / senders for senders in senders_made(runs, members)
    ]
    return float(np.mean(found))


def per_acknowledgement(runs: Runs) -> Table:
    """Comparisons for one acknowledgement at both ends, beside the paper's."""
    rows = []
    for members in members_made(runs):
        slope, each = shares(runs, members)
        steps = ack_steps("timestamp", senders_made(runs, members)[-1], members)
        cells = (slope, each, at_sender(runs, members))
        rows.append((members, *(round(value, 2) for value in cells), steps["sender"]))
    return Table(
        key="per_acknowledgement",
        title="Comparisons for one acknowledgement",
        columns=(
            "N_r",
            "to send a timestamp, for each sender",
            "to take in a timestamp",
            "to take in a vector, own messages",
            "paper, to take one in: log2 N_r",
        ),
        rows=tuple(rows),
        note="The first column is 1 for a scan; in the paper it is log2 N_s. A tournament takes at most one"
        " comparison more than log2 N_r.",
    )


TABLES = (comparisons, per_acknowledgement)


def judge_receivers(runs: Runs) -> Judgement:
    """T4i."""
    told, holds = [], True
    for members in members_made(runs):
        least, most = senders_made(runs, members)[0], senders_made(runs, members)[-1]
        paper = sum(
            sign * ack_steps("timestamp", senders, members)["receiver"]
            for senders, sign in ((most, 1), (least, -1))
        )
        more = operations(runs, "timestamp", most, members) - operations(runs, "timestamp", least, members)
        holds &= 0 < more <= paper
        told.append(f"+{more:.0f} for {paper} (N_r = {members}, N_s = {least} to {most})")
    slopes = [shares(runs, members)[0] for members in members_made(runs)]
    return Judgement(
        paper="O(N_s log N_s) comparisons for each acknowledgement",
        measured=", ".join(told),
        holds=holds,
        why="what more senders add to a member's comparisons in t_ack, for what N_s log2 N_s adds; the"
        f" paper's order is an upper bound: {min(slopes):.2f} to {max(slopes):.2f} comparisons for each"
        " sender, as a scan for the least timestamp takes; nothing needs to be sorted",
    )


def judge_senders(runs: Runs) -> Judgement:
    """T4j."""
    made = members_made(runs)
    timestamp = [shares(runs, members)[1] for members in made]
    vector = [at_sender(runs, members) for members in made]
    limits = [ack_steps("timestamp", SENDERS[0], members)["sender"] + 1 for members in made]
    orders = [growth_order(made, values) for values in (timestamp, vector)]
    below = all(
        value <= limit for values in (timestamp, vector) for value, limit in zip(values, limits, strict=True)
    )
    last = senders_made(runs, made[-1])[-1]
    dearer = operations(runs, "vector", last, made[-1]) / operations(runs, "timestamp", last, made[-1])
    return Judgement(
        paper="O(log N_r) for each acknowledgement, of either kind",
        measured=f"timestamps {_span(timestamp)}, vectors {_span(vector)} for N_r = {_span(made)}",
        holds=below and all(order in ("O(1)", "O(log n)") for order in orders),
        why=f"growth: timestamps {orders[0]}, vectors {orders[1]}; at most log2 N_r + 1: {below}; a vector"
        " counts for the sender's own entry; to learn of everyone's messages, as one does with timestamps, it"
        f" takes × {dearer:.0f} the comparisons of timestamps at N_s = {last}, N_r = {made[-1]}",
    )


def _span(values: Sequence[float]) -> str:
    return f"{values[0]:.3g} to {values[-1]:.3g}"


def judge_transitive(runs: Runs) -> Judgement:
    """T4k."""
    ratios: dict[str, list[float]] = {}
    for members in members_made(runs):
        for senders in senders_made(runs, members):
            own = operations(runs, "transitive", senders, members)
            for kind in ("timestamp", "vector", "explicit"):
                ratios.setdefault(kind, []).append(own / operations(runs, kind, senders, members))
    return Judgement(
        paper="transitive acknowledgements need much computing at receivers",
        measured=", ".join(f"× {min(r):.1f} to × {max(r):.0f} of {kind}" for kind, r in ratios.items()),
        holds=all(min(each) > 1 for each in ratios.values()),
        why="comparisons of a member in t_ack; every message's predecessors are looked at when it comes and"
        " when the next is sent; sets of predecessors are kept as one number for each sender",
    )


CLAIMS = (
    Claim(
        id="T4i",
        main_reading_only=True,
        kind="trend",
        text="A receiver's cost for a timestamp acknowledgement is O(N_s log N_s).",
        judge=judge_receivers,
    ),
    Claim(
        id="T4j",
        main_reading_only=True,
        kind="trend",
        text="A sender's cost for an acknowledgement is O(log N_r), with timestamps and with vectors.",
        judge=judge_senders,
    ),
    Claim(
        id="T4k",
        main_reading_only=True,
        kind="trend",
        text="Transitive acknowledgements require large computing power at the receivers.",
        judge=judge_transitive,
    ),
)


def figure_processor(runs: Runs) -> Figure:
    """Comparisons against senders and receivers."""
    members = members_made(runs)
    middle = QUICK_MEMBERS[-1]
    senders = senders_made(runs, middle)
    few = SENDERS[0]
    y = Axis("comparisons of a member in t_ack", log=True)
    return Figure(
        key="comparisons",
        title="Comparisons that acknowledgements take",
        caption="All members receive, and together send the same number of messages, by few senders or by"
        " many. With timestamps more senders add one comparison each; vectors and transitive"
        " acknowledgements are taken in sender by sender.",
        panels=(
            Panel(
                title=f"(A) {middle} members",
                x=Axis("senders N_s", log=True),
                y=y,
                series=tuple(
                    Series(
                        name=kind,
                        x=tuple(float(n) for n in senders),
                        y=tuple(operations(runs, kind, n, middle) for n in senders),
                    )
                    for kind in KINDS
                ),
            ),
            Panel(
                title=f"(B) {few} senders",
                x=Axis("receivers N_r", log=True),
                y=y,
                series=tuple(
                    Series(
                        name=kind,
                        x=tuple(float(n) for n in members),
                        y=tuple(operations(runs, kind, few, n) for n in members),
                    )
                    for kind in KINDS
                ),
            ),
        ),
    )


FIGURES = (figure_processor,)
