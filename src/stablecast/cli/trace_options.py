"""Options of the commands that read events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from stablecast.errors import InvalidInput

if TYPE_CHECKING:
    from stablecast.analysis.options import Options

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
    str | None,
    typer.Option(
        help="Of times: ns, us (the default), ms, s, or timestamp for text.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        help="parquet, json or csv, whatever files are called.", rich_help_panel=_PANEL, show_default=False
    ),
]
Cumulative = Annotated[
    bool,
    typer.Option(
        "--cumulative",
        help="A send and a receipt stand for everything up to their number, as a consumer's commit does.",
        rich_help_panel=_PANEL,
    ),
]
NextOffset = Annotated[
    bool,
    typer.Option(
        "--next-offset",
        help="Positions name the next number to be read, as Kafka's commits do.",
        rich_help_panel=_PANEL,
    ),
]
NumbersAreBytes = Annotated[
    bool,
    typer.Option(
        "--numbers-are-bytes",
        help="Numbers count bytes, as positions in PostgreSQL's log do.",
        rich_help_panel=_PANEL,
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
    next_offset: bool = False,
    numbers_are_bytes: bool = False,
) -> Options:
    """Return how events are to be read, from what the command line says."""
    from stablecast.analysis.options import Options
    from stablecast.analysis.reading.foreign import KIND, MAP, SET, Foreign, parse_pairs

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
        next_offset=next_offset,
        numbers_are_bytes=numbers_are_bytes,
    )


def _first_seq(word: str) -> int | str:
    if word == "earliest":
        return word
    if not word.isdecimal():
        raise InvalidInput(
            f"--first-seq '{word}' is not accepted (accepted: a whole number from 0, or earliest)"
        )
    return int(word)
