"""B1: whether a hash names C bufferers on average, the same work for every member, and no message none.

Members have the addresses 10.0.0.1 and on, one source sends messages 1, 2, 3 and so on. A chi-square is given
as z, standard deviations above what coins give; beyond 4 chance is no explanation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stablecast.multicast.hashing import shuffle_table
from stablecast.papers.buffering.fairness import fairness, hash_all
from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point, task_point
from stablecast.pipeline.runs import Runs
from stablecast.pipeline.tasks import Outcome
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.table import Table

DECIDE = f"{__name__}:decide"
DECIDE_OFTEN = f"{__name__}:decide_often"
C = 6.0
GROUPS = (100, 250)
MESSAGES = 20_000
HASHES = ("mix", "shuffle", "crc16")
OFTEN = ("mix", "shuffle")
TABLES_QUICK, TABLES_FULL = 60, 400
MESSAGES_OFTEN = 5000
CHANCE_Z = 4.0
EVEN = 0.05
"""Members' loads may differ by this share of the mean beyond chance and still be called even."""
_FIRST_ADDRESS = (10 << 24) + 1


def _fairness(hash_name: str, members: int, messages: int, variant: int) -> Any:
    sources = np.zeros(messages, np.int64)
    numbers = np.arange(1, messages + 1)
    addresses = _FIRST_ADDRESS + np.arange(members)
    table = shuffle_table(1999 + variant)
    values = hash_all(hash_name, sources, numbers, addresses, table=table, key=variant)
    return fairness(values * members < C, C)


def decide(hash_name: str, group: int) -> Outcome:
    """Let every member decide on every message, and say how fair that was."""
    found = _fairness(hash_name, group, MESSAGES, 0)
    return Outcome(extra={name: float(value) for name, value in vars(found).items()})


def decide_often(hash_name: str, group: int, variants: int) -> Outcome:
    """Do the same with many tables, or keys, and say how the shares of messages without bufferer lie."""
    found = [_fairness(hash_name, group, MESSAGES_OFTEN, variant) for variant in range(variants)]
    nobody = np.array([each.nobody for each in found])
    extra = {
        "mean": float(np.mean([each.mean for each in found])),
        "mean_worst": float(max(abs(each.mean - C) for each in found)),
        "uneven": float(np.median([each.uneven for each in found])),
        "members_z": float(np.mean([each.members_z for each in found])),
        "counts_z": float(np.median([each.counts_z for each in found])),
        "nobody_expected": found[0].nobody_expected,
        "nobody_mean": float(nobody.mean()),
        "nobody_zero": float((nobody == 0).mean()),
    }
    for percent in range(0, 101, 5):
        extra[f"nobody_p{percent}"] = float(np.percentile(nobody, percent))
    return Outcome(extra=extra)


def _point(hash_name: str, group: int) -> Point:
    return task_point(DECIDE, hash_name=hash_name, group=group)


def _often(hash_name: str, variants: int) -> Point:
    return task_point(DECIDE_OFTEN, hash_name=hash_name, group=100, variants=variants)


def points(full: bool) -> list[Point]:
    """Return the hashes once each, and two of them with many tables or keys."""
    variants = (TABLES_QUICK, TABLES_FULL) if full else (TABLES_QUICK,)
    return [
        *(_point(name, group) for name in HASHES for group in GROUPS),
        *(_often(name, count) for name in OFTEN for count in variants),
    ]


def _many(runs: Runs, name: str) -> tuple[int, dict[str, float]]:
    full = _often(name, TABLES_FULL)
    count = TABLES_FULL if full in runs else TABLES_QUICK
    return count, runs[_often(name, count)].extra


def _mean_is_c(mean: float, group: int, messages: int) -> bool:
    """Tell whether a mean is C within 99.9 %: 3.29 standard deviations of a mean of binomials."""
    return abs(mean - C) <= 3.29 * math.sqrt(C * (1 - C / group) / messages)


def _mix(runs: Runs) -> Judgement:
    found = {group: runs[_point("mix", group)].extra for group in GROUPS}
    z = [each[name] for each in found.values() for name in ("members_z", "counts_z")]
    return Judgement(
        paper="C bufferers, evenly over members",
        measured="; ".join(f"{each['mean']:.3f} of {group}" for group, each in found.items())
        + f", z at most {max(z):.1f}",
        holds=all(_mean_is_c(each["mean"], group, MESSAGES) for group, each in found.items())
        and max(z) < CHANCE_Z,
        why=f"a 64-bit mix, C = {C:g}, {MESSAGES:,} messages: the mean within its 99.9 % interval, and"
        " chi-squares of members' loads and of numbers of bufferers not beyond 4 standard deviations",
    )


def _shuffle(runs: Runs) -> Judgement:
    count, found = _many(runs, "shuffle")
    return Judgement(
        paper="C bufferers, evenly over members",
        measured=f"{found['mean']:.3f} on average, loads uneven by {100 * found['uneven']:.1f} %",
        holds=abs(found["mean"] - C) <= 0.01 * C and found["uneven"] <= EVEN,
        why=f"the paper's hash over {count} shuffle tables: the mean within 1 % of C, and a typical table's"
        f" loads even to {100 * EVEN:g} %; the single table furthest off is {found['mean_worst']:.2f} away",
    )


def _one_table(runs: Runs) -> Judgement:
    count, found = _many(runs, "shuffle")
    expected = found["nobody_expected"]
    middle = found["nobody_p25"], found["nobody_p75"]
    return Judgement(
        paper="appears fair",
        measured=f"no bufferer for {100 * middle[0]:.2f} to {100 * middle[1]:.2f} % of messages",
        holds=all(expected / 2 <= share <= 2 * expected for share in middle),
        why=f"coins would leave {100 * expected:.2f} %; the middle half of {count} tables has to keep within"
        f" a factor 2 of that. {100 * found['nobody_zero']:.0f} % of tables leave none without: a table"
        f" settles it once and for all; on average it is {100 * found['nobody_mean']:.2f} %",
    )


def _crc(runs: Runs) -> Judgement:
    found = {group: runs[_point("crc16", group)].extra for group in GROUPS}
    z = [each["counts_z"] for each in found.values()]
    worst = found[GROUPS[0]]
    return Judgement(
        paper="too predictable",
        measured=f"z {', '.join(f'{value:.0f}' for value in z)}; {100 * worst['nobody']:.0f} % without any",
        holds=min(z) > CHANCE_Z and worst["nobody"] > 10 * worst["nobody_expected"],
        why=f"numbers of bufferers against the binomial, {GROUPS[0]} and {GROUPS[1]} members; variance"
        f" {worst['variance_ratio']:.1f} and {found[GROUPS[1]]['variance_ratio']:.2f} times that of coins",
    )


CLAIMS = (
    Claim(
        id="B1a",
        kind="exact",
        text="With a fair hash C members keep a message on average, all members the same share",
        judge=_mix,
    ),
    Claim(
        id="B1b",
        kind="trend",
        text="The paper's shuffle hash: C on average, evenly over members",
        judge=_shuffle,
    ),
    Claim(
        id="B1c",
        kind="trend",
        text="The paper's shuffle hash leaves messages without a bufferer as often as coins do",
        judge=_one_table,
    ),
    Claim(id="B1d", kind="trend", text="CRC-16 is not fair", judge=_crc),
)


def hashes_table(runs: Runs) -> Table:
    """Show how fair each hash is."""
    rows = []
    for name in HASHES:
        for group in GROUPS:
            found = runs[_point(name, group)].extra
            ratio = found["nobody"] / found["nobody_expected"]
            cells = (found["mean"], found["variance_ratio"], ratio, found["counts_z"], found["members_z"])
            rows.append((name, group, *(float(f"{cell:.3g}") for cell in cells), round(found["uneven"], 3)))
    return Table(
        key="hashes",
        title="How fair the hashes are",
        columns=(
            "hash",
            "members",
            "bufferers, mean",
            "variance / binomial",
            "no bufferer / expected",
            "z, bufferers",
            "z, members",
            "uneven",
        ),
        rows=tuple(rows),
        note=f"C = {C:g}, {MESSAGES:,} messages, shuffle with its table 1999. Uneven: standard deviation of"
        " members' loads beyond chance, as a share of the mean.",
    )


TABLES = (hashes_table,)


def figure_hashes(runs: Runs) -> Figure:
    """Show how often nobody keeps a message, table by table."""
    percents = tuple(range(0, 101, 5))
    series = []
    for name in OFTEN:
        _, found = _many(runs, name)
        shares = tuple(100 * found[f"nobody_p{percent}"] for percent in percents)
        series.append(Series(name=name, x=tuple(map(float, percents)), y=shares))
    expected = 100 * _many(runs, "mix")[1]["nobody_expected"]
    series.append(Series(name="coins", x=(0.0, 100.0), y=(expected, expected)))
    count, _ = _many(runs, "shuffle")
    return Figure(
        key="hashes",
        title="Messages that nobody keeps, by hash",
        caption=f"{count} shuffle tables and as many keys of mix, in order of the share of {MESSAGES_OFTEN:,}"
        f" messages that has no bufferer among 100 members, C = {C:g}. With mix every key is like coins; a"
        " shuffle table decides once and for all, most for too few and some for far too many.",
        panels=(
            Panel(
                title="one table is not like another",
                x=Axis("tables or keys, in order [%]"),
                y=Axis("messages without bufferer [%]"),
                series=tuple(series),
            ),
        ),
    )


FIGURES = (figure_hashes,)
