"""``stablecast reproduce``: a paper's evaluation, as tables with verdicts."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stablecast.cli.output import DONE, FOUND_FAILURE
from stablecast.errors import InvalidInput, unknown_name

if TYPE_CHECKING:
    from stablecast.pipeline.experiments.table import Table

PAPERS = ("hierarchical",)


def reproduce_command(
    papers: Annotated[
        list[str] | None, typer.Argument(help="Short names; all by default.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the tables as JSON.", show_default=False)
    ] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="The papers' own number of runs, or a few.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the tables as JSON.")] = False,
) -> int:
    """Run a paper's evaluation and hold it against the paper: printed, derived, simulated.

    Example: stablecast reproduce hierarchical --full --out results
    """
    chosen = papers or list(PAPERS)
    for paper in chosen:
        if paper not in PAPERS:
            raise unknown_name("paper", paper, PAPERS)
    if out is not None:
        _check_folder(out)
    from stablecast.pipeline.experiments import hierarchical
    from stablecast.report.text import render
    from stablecast.simulate.warm import warm

    warm()

    done: list[Table] = []
    for table in hierarchical.tables(
        full=full, report=lambda line: print(f"# {line}", file=sys.stderr, flush=True)
    ):
        done.append(table)
        if not as_json:
            print(render(table.title, table.columns, table.rows))
            for claim, (holds, why) in table.verdicts.items():
                print(f"  {claim}: {'holds' if holds else 'MISSED'}: {why}")
            print(flush=True)
    if as_json:
        print(json.dumps([table.as_json() for table in done], indent=1))
    else:
        _summary(done)
    if out is not None:
        _write(out / "hierarchical.json", json.dumps([table.as_json() for table in done], indent=1))
    return FOUND_FAILURE if any(table.failed for table in done) else DONE


def _summary(done: list[Table]) -> None:
    verdicts = {claim: holds for table in done for claim, (holds, _) in table.verdicts.items()}
    missed = [claim for claim, holds in verdicts.items() if not holds]
    print(
        f"{len(verdicts) - len(missed)} of {len(verdicts)} claims hold"
        + (f"; missed: {', '.join(missed)}" if missed else "")
    )


def _check_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise InvalidInput(f"cannot write to the folder '{out}': {error.strerror or error}") from None


def _write(file: Path, text: str) -> None:
    """Write beside, then rename: the file appears whole or not at all."""
    handle, beside = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text + "\n")
    Path(beside).chmod(0o644)
    Path(beside).replace(file)
