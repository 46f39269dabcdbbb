"""A run as ShiViz reads it: every step with a vector clock.

ShiViz takes a log apart by a regular expression that the log's first line gives; the second line would part
several executions and is empty.  Every event then has two lines: what it was; and where, with a clock in JSON
that counts the events of each host from 1 on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from stablecast.causes.clocks import Clocks, clocks_of, window
from stablecast.causes.run import ABSENT, Run
from stablecast.errors import InvalidInput
from stablecast.words import printable

PARSER = r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})"
"""The regular expression that ShiViz is given to take the log apart."""
MOST_CELLS = 50_000_000
"""Steps times members; more would be too large for a browser in any case."""
MOST_PARTS = 6
"""Of what a step did, told in its line."""


def shiviz(run: Run, *, from_us: int | None = None, to_us: int | None = None) -> str:
    """Return a log for ShiViz: the expression its parser takes, then two lines a step.

    Parameters
    ----------
    run
        The run.
    from_us, to_us
        The window of time, both ends included; large runs need one.
    """
    steps = window(run.graph, from_us, to_us)
    if not steps:
        raise InvalidInput("nothing happened in this window (accepted: a window with events in it)")
    if len(steps) * len(run.members) > MOST_CELLS:
        most = MOST_CELLS // len(run.members)
        raise InvalidInput(f"{len(steps):,} steps are too many for ShiViz (accepted: a window with {most:,})")
    clocks = clocks_of(run.graph, steps, len(run.members))
    hosts = host_names(run.members)
    lines = [PARSER, ""]
    for step, clock in zip(steps, clocks, strict=True):
        lines += (event_text(run, step), f"{hosts[int(run.graph.member[step])]} {_clock_text(hosts, clock)}")
    return "\n".join(lines) + "\n"


def host_names(members: Sequence[str]) -> list[str]:
    """Return members' names without white space, each one different."""
    names: list[str] = []
    for member in members:
        name = re.sub(r"\s", "_", printable(member)) or "_"
        names.append(name if name not in names else f"{name}_{len(names)}")
    return names


def event_text(run: Run, step: int) -> str:
    """Return what happened in a step, in one line."""
    parts = list(dict.fromkeys(_row_text(run, row) for row in run.graph.rows_of(step)))
    more = f", {len(parts) - MOST_PARTS} more" if len(parts) > MOST_PARTS else ""
    text = ", ".join(parts[:MOST_PARTS]) + more
    return printable(f"{text} at {int(run.graph.time_us[step])} us").replace("\t", " ")


def _row_text(run: Run, row: int) -> str:
    rows, kind = run.rows, run.kind_of(row)
    source, seq, peer = int(rows.source[row]), int(rows.seq[row]), int(rows.peer[row])
    what = run.message_of(row) or ""
    about = f" {run.members[source]}/{seq}" if ABSENT not in (source, seq) else ""
    if kind == "transmit":
        return f"transmits {what}{about} to {'everybody' if peer == ABSENT else run.members[peer]}"
    if kind == "arrive":
        return f"{what}{about} from {'somebody' if peer == ABSENT else run.members[peer]}"
    if kind == "timer":
        return f"timer {what}".rstrip()
    return f"{kind}{about}"


def _clock_text(hosts: Sequence[str], clock: Clocks) -> str:
    return json.dumps({hosts[k]: int(clock[k]) for k in clock.nonzero()[0].tolist()})
