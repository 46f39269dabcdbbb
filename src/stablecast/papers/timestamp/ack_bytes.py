"""T4: bytes of acknowledgements in each t_ack, against the number of senders and of receivers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from stablecast.papers.growth import growth_order
from stablecast.papers.paper import Claim, Judgement
from stablecast.papers.timestamp.schemes import (
    COMPUTED,
    EXPLICIT,
    FEW,
    GROUP,
    LOGICAL,
    SCHEMES,
    TIMESTAMP,
    TIMESTAMP_EACH,
    TRANSITIVE,
    VECTOR,
    VECTOR_EACH,
    WIDE,
    Scheme,
    Size,
    all_made,
    made,
    measured,
    points,
)
from stablecast.papers.timestamp.steady import ABOUT, HEADER_BYTES, PERIODS, Steady
from stablecast.pipeline.runs import Runs
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.table import Table

__all__ = ["CLAIMS", "FIGURES", "TABLES", "points"]

FACTOR = 2.0
"""How far the ratio of bytes may be from the number of senders and still be called that factor."""


def bytes_table(runs: Runs) -> Table:
    """Bytes in t_ack of every scheme and size."""
    rows = []
    for senders, members in all_made(runs):
        found = [measured(runs, scheme, (senders, members)) for scheme in SCHEMES]
        cells = [
            _plain(each.all_bytes if scheme is TRANSITIVE else each.bytes)
            for scheme, each in zip(SCHEMES, found, strict=True)
        ]
        rows.append((members, senders, *cells, _plain(found[0].attached)))
    return Table(
        key="ack_bytes",
        title="Bytes of acknowledgements in t_ack, each sender sending one message",
        columns=("N_r", "N_s", *(scheme.name for scheme in SCHEMES), "stamps in data"),
        rows=tuple(rows),
        note=f"{ABOUT} A multicast counts once. Transitive: with what data messages carry. The last column"
        " is what timestamps add to data. To each: one message for each pair, none to oneself.",
    )


def sizes_table(runs: Runs) -> Table:
    """Number and size of the acknowledgements, beside the closed forms."""
    rows = []
    for scheme in COMPUTED:
        for senders, members in made(runs, "senders"):
            found = measured(runs, scheme, (senders, members))
            count = scheme.messages(senders, members)
            rows.append(
                (
                    scheme.name,
                    senders,
                    _plain(found.messages),
                    count,
                    _plain(found.bytes / found.messages) if found.messages else None,
                    _plain(scheme.bytes(senders, members) / count),
                )
            )
    return Table(
        key="ack_sizes",
        title=f"Acknowledgements in t_ack and their size, {GROUP} members",
        columns=("scheme", "N_s", "sent", "closed form", "bytes each", "closed form, bytes"),
        rows=tuple(rows),
        note="A timestamp is one number, a vector one for each sender; logical clocks send a second number.",
    )


def _plain(value: float) -> float | int:
    return round(value) if abs(value - round(value)) < 1e-6 else round(value, 2)


TABLES = (bytes_table, sizes_table)


def judge_sizes(runs: Runs) -> Judgement:
    """T4a."""
    wrong, compared = [], 0
    for scheme in (TIMESTAMP, WIDE, LOGICAL, VECTOR, EXPLICIT):
        for size in all_made(runs):
            found = measured(runs, scheme, size)
            expected = (scheme.messages(*size), scheme.bytes(*size))
            compared += 1
            if not found.whole or (found.messages, found.bytes) != expected:
                wrong.append(f"{scheme.name} with N_s, N_r = {size}")
    return Judgement(
        paper="one acknowledgement a receiver and t_ack: one number, or one for each sender",
        measured=f"{compared - len(wrong)} of {compared} cases equal N_r (h + e), N_r (h + N_s e), with 8 B"
        " or logical clocks N_r (h + 2 e), explicit (N_r - 1) N_s k (h + e)",
        holds=not wrong,
        why=f"messages and bytes of {PERIODS} periods in mid-run, exactly; differing:"
        f" {'; '.join(wrong) or 'none'}; the paper leaves out that logical clocks need a second number"
        " in acknowledgements",
    )


def fit(runs: Runs, scheme: Scheme) -> tuple[float, float]:
    """Return a and b of the best ``a N_r + b N_r N_s`` over all sizes."""
    at = all_made(runs)
    shapes = np.array([(members, members * senders) for senders, members in at], float)
    values = np.array([measured(runs, scheme, size).ack_bytes for size in at])
    solution, *_ = np.linalg.lstsq(shapes / values[:, None], np.ones(len(at)), rcond=None)
    return float(solution[0]), float(solution[1])


def order(runs: Runs, scheme: Scheme, axis: str, *, which: int) -> str:
    """Return the order of growth along an axis; ``which`` tells what grows: 0 senders, 1 members.

    What falls is bounded by a constant.
    """
    at = made(runs, axis)
    found = [measured(runs, scheme, each).ack_bytes for each in at]
    return growth_order([size[which] for size in at], found) if found[-1] > found[0] else "O(1)"


def judge_growth(runs: Runs) -> Judgement:
    """T4b."""
    fits = {scheme.name: fit(runs, scheme) for scheme in (TIMESTAMP, VECTOR)}
    orders = {
        scheme.name: (order(runs, scheme, "members", which=1), order(runs, scheme, "senders", which=0))
        for scheme in (TIMESTAMP, VECTOR)
    }
    return Judgement(
        paper="timestamp O(N_r), vector O(N_r N_s)",
        measured=", ".join(
            f"{name} {abs(a):.1f} N_r + {abs(b):.1f} N_r N_s" for name, (a, b) in fits.items()
        ),
        holds=orders == {"timestamp": ("O(n)", "O(1)"), "vector": ("O(n)", "O(n)")}
        and abs(fits["timestamp"][1]) < 0.01 * fits["vector"][1],
        why="best fits of bytes over all sizes; growth with receivers and with senders: "
        + ", ".join(f"{name} {with_n} and {with_s}" for name, (with_n, with_s) in orders.items())
        + "; stamps in data messages, which the paper does not count, are left out here and judged by T4f",
    )


def judge_factor(runs: Runs) -> Judgement:
    """T4c."""
    bare: dict[int, float] = {}
    whole: dict[int, float] = {}
    for size in made(runs, "senders"):
        bare[size[0]] = _ratio(runs, size, header_bytes=0)
        whole[size[0]] = _ratio(runs, size)
    apart = max(max(ratio / senders, senders / ratio) for senders, ratio in bare.items())
    return Judgement(
        paper="vectors take N_s times the bandwidth",
        measured=", ".join(
            f"× {bare[senders]:.3g} for N_s = {senders} (with headers × {whole[senders]:.2f})"
            for senders in bare
        ),
        holds=apart <= FACTOR,
        why=f"contents of acknowledgements, as the paper counts values: at most {apart:.3g} times off N_s"
        f" (accepted: {FACTOR:g}); with a header for each message, {HEADER_BYTES} bytes, the factor is"
        " (h + N_s e)/(h + e)",
    )


def _ratio(runs: Runs, size: Size, **options: Any) -> float:
    vector, timestamp = (measured(runs, scheme, size, **options) for scheme in (VECTOR, TIMESTAMP))
    return vector.ack_bytes / timestamp.ack_bytes


def judge_implosion(runs: Runs) -> Judgement:
    """T4d."""
    grows = order(runs, EXPLICIT, "all", which=1)
    less = {size: _transitive_over(runs, EXPLICIT, size) for size in all_made(runs) if size[0] > 1}
    at = made(runs, "members")
    climbs = [measured(runs, TRANSITIVE, size).all_bytes for size in at]
    rises = all(a < b for a, b in pairwise(climbs))
    return Judgement(
        paper="explicit N²; transitive less, but growing with the receivers",
        measured=f"explicit {grows}; transitive {min(less.values()):.3f} to {max(less.values()):.2f} of it;"
        f" {climbs[0]:.0f} to {climbs[-1]:.0f} B from {at[0][1]} to {at[-1][1]} members",
        holds=grows == "O(n^2)" and max(less.values()) < 1 and rises,
        why="transitive with what data messages carry, more than one sender;"
        f" {FEW} senders for the growth with receivers",
    )


def _transitive_over(runs: Runs, other: Scheme, size: Size) -> float:
    return measured(runs, TRANSITIVE, size).all_bytes / measured(runs, other, size).all_bytes


def judge_least(runs: Runs) -> Judgement:
    """T4e."""
    others = (VECTOR, EXPLICIT, TRANSITIVE)
    ratios = {
        scheme.name: [
            measured(runs, scheme, size).all_bytes / measured(runs, TIMESTAMP, size).all_bytes
            for size in all_made(runs)
            if size[0] > 1
        ]
        for scheme in others
    }
    everyone = [_transitive_over(runs, TIMESTAMP, size) for size in made(runs, "all")]
    return Judgement(
        paper="significantly less than all others",
        measured=", ".join(f"{name} × {min(r):.2f} to × {max(r):.2f}" for name, r in ratios.items()),
        holds=all(min(each) > 1 for each in ratios.values()),
        why="bytes over those of timestamps, stamps included, one message of each sender in t_ack, two"
        " senders and more; where all members send, transitive acknowledgements travel in data and need no"
        f" header: × {min(everyone):.2f} to × {max(everyone):.2f}; what it is where the others travel in"
        " data too: see their table and the reading; faster senders: the table of rates",
    )


def judge_each(runs: Runs) -> Judgement:
    """T4g."""
    at = all_made(runs)
    pairs = [
        tuple(measured(runs, scheme, size).bytes for scheme in (TIMESTAMP_EACH, VECTOR_EACH)) for size in at
    ]
    computed = [VECTOR_EACH.bytes(*size) for size in at]
    same = sum(one == other == value for (one, other), value in zip(pairs, computed, strict=True))
    return Judgement(
        paper="not counted; section 6 has a channel for each pair",
        measured=f"timestamp and vector equal in {same} of {len(at)} sizes",
        holds=same == len(at),
        why="both send (N_r - 1) N_s (h + e) bytes: a vector to one sender is that sender's number; what"
        " timestamps save they save in multicast acknowledgements alone",
    )


CLAIMS = (
    Claim(
        id="T4a",
        kind="exact",
        text="A timestamp acknowledgement is one number whatever the number of senders, a vector one number"
        " for each sender; every receiver sends one in t_ack.",
        judge=judge_sizes,
    ),
    Claim(
        id="T4b",
        kind="trend",
        text="The bandwidth of acknowledgements is O(N_r) with timestamps and O(N_r N_s) with vectors.",
        judge=judge_growth,
    ),
    Claim(
        id="T4c",
        kind="factor",
        text="Vector acknowledgements take N_s times the bandwidth of timestamp acknowledgements.",
        judge=judge_factor,
    ),
    Claim(
        id="T4d",
        kind="trend",
        text="Explicit acknowledgements grow with the square of the group; transitive ones take less, but"
        " still more with more receivers.",
        judge=judge_implosion,
    ),
    Claim(
        id="T4e",
        kind="trend",
        text="Timestamp acknowledgements consume significantly less bandwidth than the other protocols.",
        judge=judge_least,
    ),
    Claim(
        id="T4g",
        ours=True,
        kind="exact",
        text="Beyond the paper: with an acknowledgement for each pair of sender and receiver, timestamps save"
        " nothing.",
        judge=judge_each,
    ),
)


def _line(runs: Runs, scheme: Scheme, axis: str, which: int, read: Callable[[Steady], float]) -> Series:
    at = made(runs, axis)
    return Series(
        name=scheme.name,
        x=tuple(float(size[which]) for size in at),
        y=tuple(read(measured(runs, scheme, size)) for size in at),
        hover=tuple(f"{senders} senders, {members} members" for senders, members in at),
    )


def _panel(runs: Runs, title: str, label: str, axis: str, which: int) -> Panel:
    def lines(schemes: Sequence[Scheme], read: Callable[[Steady], float]) -> list[Series]:
        return [_line(runs, scheme, axis, which, read) for scheme in schemes]

    stamped = _line(runs, TIMESTAMP, axis, which, lambda each: each.all_bytes)
    series = (
        *lines((TIMESTAMP, VECTOR, EXPLICIT), lambda each: each.bytes),
        *lines((TRANSITIVE,), lambda each: each.all_bytes),
        Series(name="timestamp, stamps in data included", x=stamped.x, y=stamped.y, like="timestamp"),
    )
    return Panel(title=title, x=Axis(label, log=True), y=Axis("bytes in t_ack [B]", log=True), series=series)


def figure_bytes(runs: Runs) -> Figure:
    """Bytes against senders, receivers, and both."""
    panel = partial(_panel, runs)
    return Figure(
        key="ack_bytes",
        title="Bytes of acknowledgements in t_ack",
        caption=f"{ABOUT} Each sender sends one message in t_ack. With multicast acknowledgements timestamps"
        " do not grow with the senders (A) and vectors do; both grow with the receivers (B). Transitive"
        " acknowledgements ride in data where their members send (C). Timestamps and vectors that are sent to"
        " each sender by itself take as many bytes as explicit ones.",
        panels=(
            panel(f"(A) {GROUP} members", "senders N_s", "senders", 0),
            panel(f"(B) {FEW} senders", "receivers N_r", "members", 1),
            panel("(C) all members send", "members N_s = N_r", "all", 1),
        ),
    )


FIGURES = (figure_bytes,)
