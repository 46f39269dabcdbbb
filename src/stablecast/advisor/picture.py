"""An answer as a picture: what the candidates take, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stablecast.errors import InvalidInput

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stablecast.advisor.advice import Advice

WIDE = 10.0
"""Ratio of the longest time to the shortest from which on the axis is logarithmic."""
BEST, OTHERS = "#1b6ca8", "#8a8a8a"


def draw(advice: Advice, axes: Axes | None = None) -> Axes:
    """Draw the medians of the times to stable beside what a member sends; whiskers are 95 % intervals."""
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError:
        raise InvalidInput("plot needs matplotlib (pip install 'stablecast[pipeline]')") from None
    where: Axes = pyplot.subplots(figsize=(7.0, 4.2), layout="constrained")[1] if axes is None else axes
    for forecast in (*reversed(advice.runners_up), advice.best):
        time, sent = forecast.p50_ms, forecast.measures["bytes_per_s"].scaled(1e-3)
        is_best = forecast is advice.best
        where.errorbar(
            sent.mid,
            time.mid,
            xerr=[[sent.mid - sent.low], [sent.high - sent.mid]],
            yerr=[[time.mid - time.low], [time.high - time.mid]],
            fmt="o",
            color=BEST if is_best else OTHERS,
            capsize=3,
        )
        where.annotate(
            forecast.candidate.label,
            (sent.mid, time.mid),
            xytext=(6, 6),
            textcoords="offset points",
            fontsize=9,
            fontweight="bold" if is_best else "normal",
        )
    where.set_xlabel("sent by a member [kB/s]")
    where.set_ylabel("time to stable, p50 [ms]")
    if _far_apart([each.p50_ms.mid for each in (*advice.runners_up, advice.best)]):
        where.set_yscale("log")
    else:
        where.set_ylim(bottom=0)
    where.set_title(f"{advice.question.members} members, {advice.question.rate_per_s:g} messages/s")
    return where


def _far_apart(times: Sequence[float]) -> bool:
    return min(times) > 0 and max(times) > WIDE * min(times)
