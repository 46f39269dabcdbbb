"""How long stability took: the distribution, its percentiles, and when members knew of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stablecast.report.analysis_messages import Messages
from stablecast.report.analysis_section import Fact, Section
from stablecast.report.analysis_spread import Floats, Spread
from stablecast.report.analysis_units import Unit, duration, percent, time_unit
from stablecast.report.figure import Axis, Figure, Panel, Series, Style
from stablecast.report.palette import MOST_MARKERS
from stablecast.report.table import Table
from stablecast.report.view import Cell
from stablecast.words import counted

KEY = "time-to-stable"
TRUTH, KNOWN, MARKS = "stable at every member", "known to the last member", "p50, p90, p99"
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
BINS = 48
NARROWEST = 0.6
"""Decades: times that differ less are shown on as much, in the middle."""


def percentiles(spread: Spread, told: Any) -> dict[str, float]:
    """Return p50, p90 and p99 in microseconds, as the summary tells them or as the bins do."""
    told = told if isinstance(told, dict) else {}
    return {name: _number(told.get(name), spread.percentile(share)) for name, share in SHARES.items()}


def times_section(messages: Messages, summary: dict[str, Any]) -> Section:
    """Return the section on the time from sending to stability."""
    spread = messages.to_stable
    if not spread.count:
        words = "No message was sent." if not messages.count else "No message became stable in this trace."
        return Section(key=KEY, title="Time to stable", words=(words,))
    truth = percentiles(spread, summary.get("time_to_stable_us"))
    known = percentiles(messages.to_known, summary.get("time_to_detect_us"))
    return Section(
        key=KEY,
        title="Time to stable",
        words=_words(messages, truth),
        figures=(_figure(messages, truth, known),) if spread.largest > 0 else (),
        tables=(_table(messages, truth, known),),
    )


def times_fact(messages: Messages, summary: dict[str, Any]) -> Fact:
    """Return the typical time to stability, and the worst."""
    spread = messages.to_stable
    if not spread.count:
        return Fact(name="Time to stable", value="–", note="nothing became stable", section=KEY)
    if spread.largest <= 0:
        return Fact(name="Time to stable", value="none", note="every message was stable at once", section=KEY)
    truth = percentiles(spread, summary.get("time_to_stable_us"))
    return Fact(
        name="Time to stable",
        value=duration(truth["p50"]),
        note=f"half of the messages; 99 % in {duration(truth['p99'])}, all in {duration(spread.largest)}",
        section=KEY,
    )


def _words(messages: Messages, truth: dict[str, float]) -> tuple[str, ...]:
    spread, lost = messages.to_stable, messages.count - messages.stable
    if spread.largest <= 0:
        return ("Every message that became stable was so at once: nobody but its sender had to receive it.",)
    words = [
        f"From its sending until every required member had it, half of the messages took at most"
        f" {duration(truth['p50'])}, and 99 % at most {duration(truth['p99'])}; the slowest took"
        f" {duration(spread.largest)}."
    ]
    if lost:
        words.append(
            f"{counted(lost, 'message')} ({percent(lost, messages.count)}) did not become stable before the"
            f" trace ends, and {'is' if lost == 1 else 'are'} not among these times."
        )
    if spread.instant:
        words.append(
            f"{counted(spread.instant, 'message')} took no time or less: nobody but the sender had to receive"
            " it, or the members' clocks differ. A log axis has no place for that; they are at its left end."
        )
    if not messages.to_known.count:
        words.append("No member calls a message stable in this trace, so it does not tell when they knew.")
    return tuple(words)


def _figure(messages: Messages, truth: dict[str, float], known: dict[str, float]) -> Figure:
    spreads = {TRUTH: messages.to_stable}
    if messages.to_known.count:
        spreads[KNOWN] = messages.to_known
    unit = time_unit(truth["p50"])
    low, high = _range(list(spreads.values()))
    x = Axis(f"time since sending [{unit.name}]", log=True)
    marked = f"p50 is {duration(truth['p50'])}, p90 {duration(truth['p90'])}, p99 {duration(truth['p99'])}."
    detected = f" The last member knew after {duration(known['p50'])} (p50)." if KNOWN in spreads else ""
    return Figure(
        key=KEY,
        title="Time from sending to stability",
        caption="How long it took from the sending of a message until every member that had to receive it had"
        f" it. {marked}{detected}",
        panels=(
            Panel(
                title="Part of the messages in each bin",
                x=x,
                y=Axis("messages [%]"),
                series=(
                    *(_bins(name, one, unit, low, high) for name, one in spreads.items()),
                    _upright(truth, unit, messages.to_stable, low, high),
                ),
            ),
            Panel(
                title="Part that took no longer",
                x=x,
                y=Axis("messages [%]"),
                series=(
                    *(_part_through(name, one, unit, low, high) for name, one in spreads.items()),
                    _points(truth, unit),
                ),
            ),
        ),
    )


def _range(spreads: list[Spread]) -> tuple[float, float]:
    """Return between which times to draw: all of them, and some room if they hardly differ."""
    low = float(max(1, min(one.smallest for one in spreads)))
    high = float(max(low, *(one.largest for one in spreads)))
    room = max(0.0, NARROWEST - math.log10(high / low)) / 2
    return max(1.0, low / 10**room), high * 10**room


def _bins(name: str, spread: Spread, unit: Unit, low: float, high: float) -> Series:
    edges, parts = spread.histogram(low=low, high=high, bins=BINS)
    x, y = tuple(edges / unit.size), (*(100 * parts), 0.0)
    hover = tuple(
        f"from {duration(a)} to {duration(b)}"
        for a, b in zip(edges, np.append(edges[1:], edges[-1]), strict=True)
    )
    return Series(name=name, x=x, y=y, style="area", hover=hover)


def _part_through(name: str, spread: Spread, unit: Unit, low: float, high: float) -> Series:
    times, parts = _ended(*spread.cumulative(), low, high)
    # Of few messages every step is seen; of many the line is smooth, and may be dashed.
    style: Style = "steps" if len(times) <= MOST_MARKERS else "line"
    return Series(name=name, x=tuple(times / unit.size), y=tuple(100 * parts), style=style)


def _ended(times: Floats, parts: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Let the curve begin and end with the axis."""
    return np.concatenate([[low], times, [max(high, times[-1])]]), np.concatenate([[0.0], parts, [parts[-1]]])


def _upright(truth: dict[str, float], unit: Unit, spread: Spread, low: float, high: float) -> Series:
    """Return a line for each percentile, as tall as the largest bin; between them the pen is lifted."""
    _, parts = spread.histogram(low=low, high=high, bins=BINS)
    top, gap = 100 * float(parts.max()), math.nan
    x = [value for us in truth.values() for value in (unit.of(max(us, low)),) * 2 + (gap,)]
    y = [value for _ in truth for value in (0.0, top, gap)]
    hover = [text for name, us in truth.items() for text in [f"{name}: {duration(us)}"] * 3]
    return Series(name=MARKS, x=tuple(x), y=tuple(y), style="steps", hover=tuple(hover))


def _points(truth: dict[str, float], unit: Unit) -> Series:
    return Series(
        name=MARKS,
        x=tuple(unit.of(max(us, 1.0)) for us in truth.values()),
        y=tuple(100 * SHARES[name] for name in truth),
        style="points",
        beside=tuple(f"{name} {duration(us)}" for name, us in truth.items()),
    )


def _table(messages: Messages, truth: dict[str, float], known: dict[str, float]) -> Table:
    rows = [_row(TRUTH, messages.to_stable, truth)]
    if messages.to_known.count:
        rows.append(_row(KNOWN, messages.to_known, known))
    return Table(
        key="times",
        title="Times since sending",
        columns=("until it is", "messages", "mean", *SHARES, "longest"),
        rows=tuple(rows),
        note="Known to the last member: the last of those that call it stable in the trace."
        if messages.to_known.count
        else "",
    )


def _row(name: str, spread: Spread, at: dict[str, float]) -> tuple[Any, ...]:
    times = (spread.mean, *at.values(), spread.largest)
    return (name, spread.count, *(Cell(duration(us), title=f"{us:,.0f} µs", number=True) for us in times))


def _number(told: Any, otherwise: float) -> float:
    return float(told) if isinstance(told, int | float) and math.isfinite(told) else otherwise
