"""``stablecast lens``: a run as a page to look into, and why a message took as long as it did."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stablecast.cli.extras import REPORT, require
from stablecast.cli.output import DONE
from stablecast.cli.steps import Steps
from stablecast.cli.trace_options import (
    Cumulative,
    Format,
    Kind,
    Map,
    OnBadRows,
    Set,
    TimeUnit,
    trace_options,
)
from stablecast.errors import InvalidInput, StablecastError

if TYPE_CHECKING:
    from stablecast.causes import Run
    from stablecast.report.lens.content import Asked, Content

PAGE = Path("lens.html")
SLOWEST = 5
"""Messages that are listed on the terminal."""


class CannotWrite(StablecastError):
    """What was asked for could not be written, as on a full disk."""


def lens_command(
    traces: Annotated[
        list[str],
        typer.Argument(metavar="TRACE...", help="Parquet, JSON lines, or a folder of members' logs."),
    ],
    message: Annotated[
        str | None,
        typer.Option(metavar="MEMBER/N", help="Tell why this message took so long.", show_default=False),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="MEMBER|first|last",
            help="Until who knew it to be stable; by default its sender.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page.")] = PAGE,
    svg: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A picture for print: the message, or the window of time."),
    ] = None,
    shiviz: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The run, or its window, as ShiViz reads it.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which group, if the trace tells of several.")
    ] = None,
    from_us: Annotated[
        int | None, typer.Option(metavar="US", help="Only from then on, in microseconds of the run.")
    ] = None,
    to_us: Annotated[int | None, typer.Option(metavar="US", help="Only until then.")] = None,
    mapped: Map = None,
    constants: Set = None,
    kinds: Kind = None,
    time_unit: TimeUnit = None,
    format: Format = None,
    cumulative: Cumulative = False,
    on_bad_rows: OnBadRows = "fail",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Show a run as a page to look into, and why one message took so long.

    A trace made with --wire tells of transmissions, and so of critical paths; any other one of deliveries.

    Example: stablecast lens trace.parquet --message m0/3
    """
    options = None
    if mapped or constants or kinds or time_unit or format or cumulative or on_bad_rows != "fail":
        options = trace_options(
            mapped=mapped,
            constants=constants,
            kinds=kinds,
            time_unit=time_unit or "us",
            first_seq="1",
            on_bad_rows=on_bad_rows,
            format=format,
            cumulative=cumulative,
        )
    asked = _asked(message, at, from_us, to_us)
    _check_files(out, svg, shiviz)
    require(*(REPORT if svg else ()))
    steps = Steps()
    try:
        steps.say("reading the trace")
        run = _read(traces, options, group)
        steps.say("looking for critical paths")
        content = _content(run, traces, asked)
        steps.say("writing")
        made = dict(_made(run, content, asked, svg=svg is not None, shiviz=shiviz is not None))
        written = _write({"page": out, "svg": svg, "shiviz": shiviz}, made)
    finally:
        steps.end()
    values = _values(run, content, written)
    print(json.dumps(values, ensure_ascii=False) if as_json else "\n".join(_lines(content, run, written)))
    return DONE


def _asked(message: str | None, at: str | None, from_us: int | None, to_us: int | None) -> Asked:
    from stablecast.report.lens.content import Asked

    if from_us is not None and to_us is not None and from_us >= to_us:
        raise InvalidInput(f"--from-us {from_us} is not before --to-us {to_us}")
    return Asked(None if message is None else _parsed(message), at, from_us, to_us)


def _parsed(message: str) -> tuple[str, int]:
    """Return a message's source, whose name may have slashes, and its number."""
    source, slash, seq = message.rpartition("/")
    if not (slash and source and seq.isascii() and seq.isdecimal()):
        raise InvalidInput(f"--message '{message}' is no message (accepted: a member and a number, as m0/3)")
    return source, int(seq)


def _check_files(*files: Path | None) -> None:
    for file in files:
        if file is None:
            continue
        if file.is_dir() or not file.name:
            raise InvalidInput(f"'{file}' is a folder (accepted: the name of a file)")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInput(f"cannot write '{file}': {error.strerror or error}") from None
    given = [file.absolute() for file in files if file is not None]
    if len(set(given)) < len(given):
        raise InvalidInput("--out, --svg and --shiviz name the same file (accepted: a file each)")


def _read(traces: list[str], options: Any, group: str | None) -> Run:
    from stablecast.causes import read

    return read(traces, group=group, options=options)


def _content(run: Run, traces: list[str], asked: Asked) -> Content:
    from stablecast.report.lens.content import content_of

    name = Path(traces[0]).name + (f" and {len(traces) - 1} more" if len(traces) > 1 else "")
    return content_of(run, f"{run.group}: {name}" if run.group else name, asked)


def _made(
    run: Run, content: Content, asked: Asked, *, svg: bool, shiviz: bool
) -> Iterator[tuple[str, bytes]]:
    """Return what is to be written, by what it is."""
    from stablecast import __version__
    from stablecast.report.lens.page import render

    if svg:
        from stablecast.report.lens.picture import picture_of

        yield "svg", picture_of(run, content, asked)
    if shiviz:
        from stablecast.causes import shiviz as as_shiviz

        window = {"from_us": _later(content, asked.from_us), "to_us": _later(content, asked.to_us)}
        yield "shiviz", as_shiviz(run, **window).encode()
    yield "page", render(content, version=__version__)


def _write(files: Mapping[str, Path | None], made: Mapping[str, bytes]) -> dict[str, str]:
    """Write what was made, all of which is there by then, and return what is where."""
    from stablecast.report.files import write_whole

    written = {}
    for what, file in files.items():
        if file is None:
            continue
        try:
            written[what] = str(write_whole(file, made[what]))
        except OSError as error:
            raise CannotWrite(f"cannot write '{file}': {error.strerror or error}") from error
    return written


def _later(content: Content, us: int | None) -> int | None:
    return None if us is None else content.start_us + us


def _values(run: Run, content: Content, written: dict[str, str]) -> dict[str, Any]:
    from stablecast.report.lens.chosen import Answer
    from stablecast.report.lens.text import path_values

    return {
        **written,
        "group": run.group,
        "members": len(run.members),
        "has_wire": run.has_wire,
        "transmissions": content.transmissions,
        "events": content.events,
        "slowest": [
            {
                "message": one.name,
                "member": one.member,
                "length_us": one.length_us,
            }
            for one in content.slowest
        ],
        "path": path_values(content.asked) if isinstance(content.asked, Answer) else None,
        "remarks": content.header["remarks"],
    }


def _lines(content: Content, run: Run, written: dict[str, str]) -> list[str]:
    from stablecast.report.lens.chosen import Answer
    from stablecast.report.lens.text import path_lines, slowest_lines

    if isinstance(content.asked, Answer):
        told = path_lines(content.asked)
    elif content.asked is not None:
        told = [content.asked.line]
    else:
        told = [", ".join(content.header["facts"]), *slowest_lines(content.slowest, SLOWEST)]
    if not run.has_wire and content.asked is None:
        told.append(content.header["note"])
    return [*told, *content.header["remarks"], *(f"{what}: {file}" for what, file in written.items())]
