"""T4e, fairly: acknowledgements that travel in data, as transitive ones always do.

An acknowledgement waits, for at most t_ack, until its sender has a data message.  It then takes its own bytes
and no header.  What it says is as old as it waited, so messages become stable later.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import fmean

from stablecast.papers.timestamp.schemes import RIDING, TIMESTAMP, TRANSITIVE, Scheme, Size, made, measured
from stablecast.papers.timestamp.steady import ABOUT
from stablecast.pipeline.runs import Runs
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.table import Table
from stablecast.simulate.state import RIDERS_MAX

LOOKS = {scheme.riding().name: scheme.name for scheme in RIDING}
SHOWN = (*RIDING, *(scheme.riding() for scheme in RIDING), TRANSITIVE)


def mean_ms(runs: Runs, scheme: Scheme, size: Size) -> float:
    """Return the mean time to stable of a scheme's two runs."""
    found = [runs[point].result.traffic for point in scheme.runs_of(*size)]
    return fmean((each.tts_mean_us or 0) / 1000 for each in found if each is not None)


def over_timestamps(runs: Runs, size: Size, *, stamps: bool) -> float:
    """Return the bytes of transitive acknowledgements over those of timestamps that ride."""
    riding = measured(runs, TIMESTAMP.riding(), size)
    return measured(runs, TRANSITIVE, size).all_bytes / (riding.all_bytes if stamps else riding.ack_bytes)


def riders(runs: Runs) -> Table:
    """Bytes and times of acknowledgements alone and in data, all members sending."""
    rows = []
    for size in made(runs, "all"):
        found = {scheme: measured(runs, scheme, size) for scheme in SHOWN}
        cells = [round(found[scheme].all_bytes) for scheme in SHOWN]
        times = [round(mean_ms(runs, scheme, size)) for scheme in SHOWN]
        ratios = [round(over_timestamps(runs, size, stamps=stamps), 2) for stamps in (True, False)]
        rows.append((size[1], *cells, *ratios, *times))
    names = [scheme.name for scheme in SHOWN]
    return Table(
        key="riders",
        title="Acknowledgements that ride in data, all members sending one message in t_ack",
        columns=(
            "members",
            *(f"{name} [B]" for name in names),
            "transitive over timestamps that ride",
            "the same without stamps",
            *(f"{name}, stable after [ms]" for name in names),
        ),
        rows=tuple(rows),
        note=f"{ABOUT} Bytes in t_ack, stamps and names in data included. An acknowledgement that rides waits"
        " for its sender's next data message, and has no header; its sender and destination are not counted"
        f" again. Of explicit ones {RIDERS_MAX} ride on one data message at most. Stable after: the mean.",
    )


TABLES = (riders,)
CLAIMS = ()


def figure_riders(runs: Runs) -> Figure:
    """Bytes and times against the group's size."""
    at = made(runs, "all")
    x = Axis("members, all sending", log=True)
    sizes = tuple(float(members) for _, members in at)
    read: tuple[tuple[str, str, Callable[[Scheme, Size], float]], ...] = (
        ("(A) bytes", "bytes in t_ack [B]", lambda scheme, size: measured(runs, scheme, size).all_bytes),
        ("(B) time", "mean time to stable [ms]", partial(mean_ms, runs)),
    )
    return Figure(
        key="riders",
        title="Acknowledgements that ride in data",
        caption=f"{ABOUT} Every member sends one message in t_ack, and its acknowledgement waits for it."
        " Timestamps then take their own bytes and those of the stamps; transitive acknowledgements name"
        f" more predecessors the larger the group. Beyond {RIDERS_MAX} for one data message, explicit ones go"
        " alone. What rides is older when it arrives. Transitive ones always travel in data.",
        panels=tuple(
            Panel(
                title=title,
                x=x,
                y=Axis(label, log=True),
                series=tuple(
                    Series(
                        name=scheme.name,
                        x=sizes,
                        y=tuple(value(scheme, size) for size in at),
                        like=LOOKS.get(scheme.name),
                    )
                    for scheme in SHOWN
                ),
            )
            for title, label, value in read
        ),
    )


FIGURES = (figure_riders,)
