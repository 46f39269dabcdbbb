"""Runs as figures: times to stable, messages by type, and a measurement beside an option."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from stablecast.errors import InvalidInput, unknown_name
from stablecast.pipeline.runs import Runs
from stablecast.pipeline.schema import DONE, OPTION_COLUMNS, Row
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.simulate.live.result import LiveResult
from stablecast.simulate.result import Result

TIMES = ("tts_p50_us", "rtt_last_us")
"""What is drawn of a table of runs: the first of these that it has."""
NEVER_X = ("seed", "time_limit_s")


def panel_of_run(result: Result) -> Figure:
    """Return the times to stable of the data traffic; without any, the messages on hops by type."""
    title = f"{result.protocol}, {result.topology_label}"
    traffic = result.traffic
    if traffic is None or traffic.tts_p50_us is None:
        hops = {name: float(count) for name, count in result.hops.items() if name != "total" and count}
        return _bars("hops", title, "messages on hops", {"messages": hops})
    times = {"p50": traffic.tts_p50_us, "p99": traffic.tts_p99_us, "longest": traffic.tts_max_us}
    return _bars("times", title, "time to stable [ms]", {"stable": _in_ms(times)})


def panel_of_live_run(result: LiveResult) -> Figure:
    """Return the times to delivery and to stable."""
    delivered = {
        "delivered, p50": result.delivery_p50_us,
        "delivered, p99": result.delivery_p99_us,
        "delivered, longest": result.delivery_max_us or None,
    }
    stable = {
        "stable, p50": result.tts_p50_us,
        "stable, p99": result.tts_p99_us,
        "stable, longest": result.tts_max_us,
    }
    series = {"delivered": _in_ms(delivered), "stable": _in_ms(stable)}
    if not any(series.values()):
        raise InvalidInput("plot: no message was delivered in this run, so there are no times to draw")
    title = f"{result.protocol}, live, {result.topology_label}"
    return _bars("times", title, "time since handing over [ms]", series)


def panel_of_runs(runs: Runs, *, x: str | None = None, y: str | None = None) -> Figure:
    """Return a measurement beside an option: means over runs that are otherwise alike in these."""
    rows = [run.row for run in runs if run.row["status"] == DONE]
    if not rows:
        raise InvalidInput("plot: no run of this table has a result")
    across, up = x or _first_option(rows), y or _first_time(rows)
    for name in (across, up):
        _check_number(rows, name)
    by_protocol: dict[str, dict[float, list[float]]] = {}
    for row in rows:
        if row[across] is not None and row[up] is not None:
            points = by_protocol.setdefault(str(row["protocol"]), {})
            points.setdefault(float(row[across]), []).append(_scaled(up, row[up]))
    lines = tuple(_line(name, points) for name, points in by_protocol.items())
    title = f"{len(rows):,} runs"
    return _figure(f"{up}-{across}", title, Axis(across), Axis(_label(up)), lines)


def _line(name: str, points: Mapping[float, Sequence[float]]) -> Series:
    places = sorted(points)
    return Series(
        name=name,
        x=tuple(places),
        y=tuple(fmean(points[place]) for place in places),
        low=tuple(min(points[place]) for place in places),
        high=tuple(max(points[place]) for place in places),
    )


def _first_option(rows: Sequence[Row]) -> str:
    for name in ("members", *OPTION_COLUMNS):
        found = {row.get(name) for row in rows} - {None}
        if name not in NEVER_X and len(found) > 1 and all(map(_is_number, found)):
            return name
    return "members"


def _first_time(rows: Sequence[Row]) -> str:
    return next((name for name in TIMES if any(row[name] is not None for row in rows)), "messages_sent")


def _check_number(rows: Sequence[Row], name: str) -> None:
    """Refuse columns that are not there, or not of numbers."""
    if name not in rows[0]:
        raise unknown_name("column", name, [each for each in rows[0] if _are_numbers(rows, each)])
    if not _are_numbers(rows, name):
        raise InvalidInput(
            f"plot: column '{name}' has no numbers in these runs (accepted: a column that has)"
        )


def _are_numbers(rows: Iterable[Row], name: str) -> bool:
    found = [row[name] for row in rows if row.get(name) is not None]
    return bool(found) and all(map(_is_number, found))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _scaled(name: str, value: float) -> float:
    return value / 1e3 if name.endswith("_us") else float(value)


def _label(name: str) -> str:
    return f"{name.removesuffix('_us')} [ms]" if name.endswith("_us") else name


def _in_ms(times: Mapping[str, float | None]) -> dict[str, float]:
    return {name: us / 1e3 for name, us in times.items() if us is not None}


def _bars(key: str, title: str, label: str, series: Mapping[str, Mapping[str, float]]) -> Figure:
    """Return bars from the left, the first at the top; a colour for each series."""
    names = [name for values in series.values() for name in values][::-1]
    made = tuple(
        Series(name=name, x=tuple(values.values()), y=tuple(map(names.index, values)), style="across")
        for name, values in series.items()
        if values
    )
    return _figure(key, title, Axis(label), Axis("", names=tuple(names)), made)


def _figure(key: str, title: str, x: Axis, y: Axis, series: tuple[Series, ...]) -> Figure:
    panel = Panel(title=title, x=x, y=y, series=series)
    return Figure(key=key, title=title, caption="", panels=(panel,))
