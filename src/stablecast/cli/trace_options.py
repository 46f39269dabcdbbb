"""Options of the commands that read events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from stablecast.errors import InvalidInput, unknown_name

if TYPE_CHECKING:
    from stablecast.pipeline.analysis.analyze import Options

_PANEL = "Foreign logs"
Map = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="COLUMN=NAME",
        help="Where a column of the schema is in the log, as time_us=ts; may be repeated.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="COLUMN=VALUE",
        help="A column that the log lacks, the same in all rows, as group=orders; may be repeated.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
Kind = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="NAME=KIND",
        help="What the log calls a kind, as commit=receive; NAME=- leaves such rows out; may be repeated.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
TimeUnit = Annotated[
    str, typer.Option(help="Of times: ns, us, ms, s, or timestamp for text.", rich_help_panel=_PANEL)
]
Format = Annotated[
    str | None,
    typer.Option(
        help="parquet, json or csv, whatever files are called.", rich_help_panel=_PANEL, show_default=False
    ),
]
FirstSeqOption = Annotated[
    str,
    typer.Option(
        "--first-seq",
        metavar="N|earliest",
        help="The number that every source begins with; earliest: the smallest that each sent.",
    ),
]
OnBadRows = Annotated[
    str, typer.Option(help="What to do with rows that cannot be read: fail, or count and leave them out.")
]


def trace_options(
    *,
    mapped: Sequence[str] | None,
    constants: Sequence[str] | None,
    kinds: Sequence[str] | None,
    time_unit: str,
    first_seq: str,
    on_bad_rows: str,
    format: str | None = None,
    cumulative: bool = False,
    replace: bool = False,
) -> Options:
    """Return how events are to be read, from what the command line says."""
    from stablecast.analysis.reading.foreign import KIND, MAP, SET, Foreign, parse_pairs
    from stablecast.pipeline.analysis.analyze import Options
    from stablecast.pipeline.analysis.scan import ON_BAD_ROWS

    if on_bad_rows not in ON_BAD_ROWS:
        raise unknown_name("way with bad rows", on_bad_rows, ON_BAD_ROWS)
    foreign = Foreign(
        columns=parse_pairs(mapped or [], MAP),
        constants=parse_pairs(constants or [], SET),
        kinds=parse_pairs(kinds or [], KIND),
        time_unit=time_unit,
    )
    return Options(
        first_seq=_first_seq(first_seq),
        foreign=foreign,
        on_bad_rows=on_bad_rows,
        format=format,
        cumulative=cumulative,
        replace=replace,
    )


def _first_seq(word: str) -> int | str:
    if word == "earliest":
        return word
    if not word.isdecimal():
        raise InvalidInput(
            f"--first-seq '{word}' is not accepted (accepted: a whole number from 0, or earliest)"
        )
    return int(word)
