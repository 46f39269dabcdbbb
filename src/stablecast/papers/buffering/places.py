"""B7: every member keeps about as much, and in how many places each message is kept; Figures 5 and 6."""

from __future__ import annotations

import numpy as np

from stablecast.papers.buffering.fairness import z_of_chi_square
from stablecast.papers.buffering.networks import (
    HASHED,
    HIGH_LOSS,
    HUNDRED,
    LOW_LOSS,
    NAMES,
    ORIGINAL,
    TREE,
    copies_of,
    of,
)
from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point, Value, task_point
from stablecast.pipeline.runs import Runs
from stablecast.pipeline.tasks import Outcome
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.table import Table
from stablecast.simulate.options import Options
from stablecast.simulate.run import simulate
from stablecast.theory.buffering import bufferer_distribution, peak_bound

PLAY = f"{__name__}:play"
MESSAGES = 2000
SHOWN = (1000, 1500)
"""The messages of Figure 6."""
RATES = (25.0, 100.0)
LOSSES = (LOW_LOSS, HIGH_LOSS)
POLICIES = (ORIGINAL, HASHED)
PLACES = 30
"""More places than any message has, and counted as one."""
CHANCE_Z = 4.0


def play(**options: Value) -> Outcome:
    """Make a run, and keep each member's maximum and how many messages were kept in how many places."""
    result = simulate(Options.of(options).setup())
    found = result.delivery
    assert found is not None, "bimodal always delivers"
    shown = found.places[slice(*SHOWN)]
    counts = np.bincount(np.minimum(shown, PLACES), minlength=PLACES + 1)
    return Outcome(
        extra={
            "violations": found.violations,
            "unbuffered": found.unbuffered,
            "delivered": found.messages_delivered,
            **{f"peak {member}": float(peak) for member, peak in enumerate(found.peaks)},
            **{f"places {k}": float(count) for k, count in enumerate(counts)},
        }
    )


def _point(policy: str, rate: float, loss: float = LOW_LOSS) -> Point:
    point = of(TREE, HUNDRED, policy, rate_per_s=rate, link_loss=loss, messages=MESSAGES)
    return task_point(PLAY, **point.options)


def points(full: bool) -> list[Point]:
    """Return the runs of both figures; there is nothing to be smaller or larger about them."""
    of_figure_5 = [_point(policy, rate) for policy in POLICIES for rate in RATES]
    return [*of_figure_5, _point(HASHED, 100.0, HIGH_LOSS)]


judged_points = points


def peaks(runs: Runs, policy: str, rate: float) -> list[float]:
    """Return the most that each member held."""
    extra = runs[_point(policy, rate)].extra
    return [extra[f"peak {member}"] for member in range(HUNDRED)]


def places(runs: Runs, loss: float) -> list[int]:
    """Return how many of the messages shown were kept in 0, 1, 2 … places."""
    extra = runs[_point(HASHED, 100.0, loss)].extra
    return [int(extra[f"places {k}"]) for k in range(PLACES + 1)]


def wanted(runs: Runs, rate: float = 100.0, loss: float = LOW_LOSS) -> float:
    """Return the C of a run."""
    return copies_of(runs[_point(HASHED, rate, loss)].options)


def expected_places(runs: Runs, loss: float) -> list[float]:
    """Return the same by the binomial, once repair has come to the bufferers too."""
    odds = bufferer_distribution(HUNDRED, wanted(runs, loss=loss))
    count = SHOWN[1] - SHOWN[0]
    return [*(count * float(p) for p in odds[:PLACES]), count * float(odds[PLACES:].sum())]


def histogram_z(seen: list[int], expected: list[float]) -> float:
    """Return how far a histogram is from what is expected, in standard deviations of its chi-square."""
    likely = [k for k, value in enumerate(expected) if value >= 5]
    low, high = likely[0], likely[-1] + 1
    pooled = [
        (float(sum(values[:low])), *map(float, values[low:high]), float(sum(values[high:])))
        for values in (seen, expected)
    ]
    square = sum((a - b) ** 2 / b for a, b in zip(*pooled, strict=True) if b > 0.5)
    return z_of_chi_square(square, sum(b > 0.5 for b in pooled[1]) - 1)


def _even(runs: Runs) -> Judgement:
    parts, holds = [], True
    for rate in RATES:
        original, hashed = (peaks(runs, policy, rate) for policy in POLICIES)
        window = round(max(original))
        bound = peak_bound(window, HUNDRED, wanted(runs, rate), MESSAGES, confidence=1 - 0.01 / HUNDRED)
        holds &= max(hashed) <= bound and min(hashed) >= float(np.mean(hashed)) / 2
        holds &= max(hashed) < min(original) / 2
        parts.append(f"{min(hashed):.0f} to {max(hashed):.0f} of {window} at {rate:g}/s, bound {bound}")
    return Judgement(
        paper="spread evenly over all members",
        measured="; ".join(parts),
        holds=holds,
        why="the least and the most that a member held; no member above the bound that chance keeps with"
        " 99 % for all of them together, none below half the mean, all below half of the original's",
    )


def _histogram(runs: Runs) -> Judgement:
    z = {loss: histogram_z(places(runs, loss), expected_places(runs, loss)) for loss in LOSSES}
    means = {loss: float(np.average(range(PLACES + 1), weights=places(runs, loss))) for loss in LOSSES}
    return Judgement(
        paper="more places with more loss",
        measured=", ".join(
            f"{means[loss]:.2f} places at {100 * loss:g} %, z {z[loss]:.1f}" for loss in LOSSES
        ),
        holds=max(z.values()) < CHANCE_Z and means[HIGH_LOSS] > means[LOW_LOSS],
        why=f"messages {SHOWN[0]} to {SHOWN[1]}, against the binomial with C ="
        f" {wanted(runs):.2f} and {wanted(runs, loss=HIGH_LOSS):.2f}; z, standard"
        " deviations of a chi-square, below 4",
    )


def _nowhere(runs: Runs) -> Judgement:
    extra = runs[_point(HASHED, 100.0)].extra
    nowhere, failed = int(extra["unbuffered"]), int(extra["violations"])
    few = [sum(places(runs, loss)[:1]) for loss in LOSSES]
    expected = [expected_places(runs, loss)[0] for loss in LOSSES]
    return Judgement(
        paper="three messages nowhere, all delivered",
        measured=f"{few[0]} nowhere in Figure 6 (a), {few[1]} in (b); {nowhere} of {MESSAGES:,} in the run of"
        f" (a), {failed} not delivered to all",
        holds=nowhere > failed and extra["delivered"] == MESSAGES,
        why=f"at least {max(0, nowhere - failed)} messages that no member kept came to everyone by the first"
        f" multicast; {expected[0]:.1f} and {expected[1]:.1f} nowhere are expected in the figure",
    )


CLAIMS = (
    Claim(id="B7a", kind="trend", text="Buffers are reduced at each member, evenly", judge=_even),
    Claim(
        id="B7b",
        kind="trend",
        text="Messages are kept in binomially many places, in more with larger loss",
        judge=_histogram,
    ),
    Claim(
        id="B7c",
        kind="trend",
        text="Some messages are kept nowhere, and are delivered all the same",
        judge=_nowhere,
    ),
)


def places_table(runs: Runs) -> Table:
    """Show in how many places messages were kept."""
    rows = []
    for k in range(PLACES + 1):
        cells = [cell for loss in LOSSES for cell in (places(runs, loss)[k], expected_places(runs, loss)[k])]
        if any(cell >= 0.5 for cell in cells):
            rows.append((k, *(round(cell, 1) for cell in cells)))
    return Table(
        key="places",
        title=f"Messages {SHOWN[0]} to {SHOWN[1]} by the number of places that kept them",
        columns=("places", "0.1 %", "0.1 %, binomial", "1.5 %", "1.5 %, binomial"),
        rows=tuple(rows),
        note=f"A binary tree with {HUNDRED} members, 100 messages/s, C by equation (3).",
    )


TABLES = (places_table,)


def figure_5(runs: Runs) -> Figure:
    """Show what each member held."""
    panels = []
    for letter, rate in zip("ab", RATES, strict=True):
        members = tuple(map(float, range(HUNDRED)))
        series = tuple(
            Series(name=NAMES[policy], x=members, y=tuple(peaks(runs, policy, rate)), style="points")
            for policy in POLICIES
        )
        panels.append(
            Panel(
                title=f"({letter}) {rate:g} messages/s",
                x=Axis("member"),
                y=Axis("most held [messages]"),
                series=series,
            )
        )
    return Figure(
        key="figure5",
        title="Figure 5: space of each member",
        caption=f"A binary tree with {HUNDRED} members, {100 * LOW_LOSS:g} % lost on each link,"
        f" {MESSAGES:,} messages. With the optimisation every member needs a small part of the space, and all"
        " need about as much.",
        panels=tuple(panels),
    )


def figure_6(runs: Runs) -> Figure:
    """Show in how many places messages were kept."""
    panels = []
    for letter, loss in zip("ab", LOSSES, strict=True):
        last = max(k for k, count in enumerate(places(runs, loss)) if count) + 1
        x = tuple(map(float, range(last + 1)))
        panels.append(
            Panel(
                title=f"({letter}) {100 * loss:g} % lost on a link",
                x=Axis("places that kept a message"),
                y=Axis("messages"),
                series=(
                    Series(
                        name="measured",
                        x=x,
                        y=tuple(map(float, places(runs, loss)[: last + 1])),
                        style="bars",
                    ),
                    Series(name="binomial", x=x, y=tuple(expected_places(runs, loss)[: last + 1])),
                ),
            )
        )
    return Figure(
        key="figure6",
        title="Figure 6: places in which a message was kept",
        caption=f"Messages {SHOWN[0]} to {SHOWN[1]} of a run at 100/s, a binary tree with {HUNDRED} members."
        " The paper shows each message; this is their histogram, beside the binomial with C by equation (3).",
        panels=tuple(panels),
    )


FIGURES = (figure_5, figure_6)
