"""For notebooks: ``from stablecast.notebook import analyze, diagram, read_runs``.

Values show themselves: a run, a table of runs, an analysis and an answer of the advisor as the last line of a
cell is a card, a diagram is a picture.

>>> runs = read_runs("results")  # doctest: +SKIP
>>> analyze("trace.parquet").tables["laggards"].to_pandas()  # doctest: +SKIP
>>> diagram("trace.parquet", message="m0/17")  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Collection
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from stablecast.errors import InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

    from stablecast.analysis.local import Local
    from stablecast.analysis.options import Options
    from stablecast.pipeline.runs import Runs
    from stablecast.report.diagram import Diagram

Where = str | PathLike[str]

__all__ = ["analyze", "diagram", "read_runs"]


def read_runs(folder: Where) -> Runs:
    """Return the runs of a sweep: its folder, or its ``runs.parquet``."""
    from stablecast.pipeline.runs import Runs
    from stablecast.pipeline.store import RUNS, read_rows

    given = Path(folder)
    file = given / RUNS if given.is_dir() else given
    if not file.is_file():
        raise InvalidInput(f"'{file}' is not there (accepted: the folder of a sweep, or its {RUNS})")
    return Runs(read_rows(file))


def analyze(*traces: Where, options: Options | None = None) -> Local:
    """Return the analysis of files, folders or patterns, computed in this process."""
    from stablecast.analysis.local import analyze_files
    from stablecast.analysis.options import Options
    from stablecast.analysis.reading.inputs import find_inputs

    wanted = options or Options()
    return analyze_files(find_inputs([fspath(one) for one in traces], format=wanted.format), wanted)


def diagram(
    *traces: Where,
    message: str | None = None,
    members: Collection[str] | None = None,
    start_us: int | None = None,
    end_us: int | None = None,
    options: Options | None = None,
) -> Diagram:
    """Return a trace in space and time, as a picture in a notebook.

    Parameters
    ----------
    traces
        Files, folders or patterns, as :func:`analyze` takes them.
    message
        One message by its source and number, ``ann/17``; otherwise all messages.
    members, start_us, end_us
        Which members' receipts, of which stretch of the trace's time, are shown.
    options
        How the trace is to be read.
    """
    from stablecast.report.plots.of_trace import Window, diagram_of, read_message

    wanted = None if message is None else read_message(message)
    if members is not None and (isinstance(members, str) or not members):
        raise InvalidInput(f"members {members!r} is not accepted (accepted: a list of names)")
    if start_us is not None and end_us is not None and start_us > end_us:
        raise InvalidInput(f"start_us {start_us} is after end_us {end_us} (accepted: start_us up to end_us)")
    window = Window(message=wanted, members=members, start_us=start_us, end_us=end_us)
    return diagram_of(_events(traces, options), window)


def _events(traces: tuple[Where, ...], options: Options | None) -> pa.Table:
    import pyarrow as pa

    from stablecast.analysis.options import Options
    from stablecast.analysis.reading.events import read_events
    from stablecast.analysis.reading.inputs import find_inputs
    from stablecast.delivery.schema import EVENTS

    how = options or Options()
    inputs = find_inputs([fspath(one) for one in traces], format=how.format)
    read = read_events(inputs, how.foreign, first_seq=how.first_seq, on_bad_rows=how.on_bad_rows)
    found = pa.concat_tables([EVENTS.empty_table(), *(part.events for part in read)])
    return found.unify_dictionaries()
