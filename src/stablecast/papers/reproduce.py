"""The papers' evaluations as one sweep, and what is made of its table: claims, tables, figures."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from stablecast.papers.paper import Evaluation, Paper, evaluate, further_points
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import Runs
from stablecast.pipeline.store import CannotKeep, write_table
from stablecast.pipeline.sweep import Again, Swept, Watcher, Where, sweep
from stablecast.report.table import Table

CLAIMS_SCHEMA = pa.schema(
    [
        ("paper", pa.string()),
        ("claim", pa.string()),
        ("kind", pa.string()),
        ("text", pa.string()),
        ("paper_value", pa.string()),
        ("measured_value", pa.string()),
        ("holds", pa.bool_()),
        ("why", pa.string()),
        ("undecided", pa.string()),
        ("ours", pa.bool_()),
        ("full", pa.bool_()),
    ]
)
READINGS_SCHEMA = pa.schema(
    [
        ("paper", pa.string()),
        ("claim", pa.string()),
        ("reading", pa.string()),
        ("main", pa.bool_()),
        ("measured_value", pa.string()),
        ("holds", pa.bool_()),
        ("why", pa.string()),
        ("undecided", pa.string()),
        ("full", pa.bool_()),
    ]
)
"""``holds`` is null where the reading was not run."""


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """The runs of some papers, and what they come to; nothing but the runs after an interruption."""

    swept: Swept
    evaluations: Sequence[Evaluation]

    @property
    def failed(self) -> bool:
        """Whether a run failed or an exact claim was missed."""
        missed = any(verdict.failed for each in self.evaluations for verdict in each.verdicts)
        return missed or bool(self.swept.runs.failed)


def reproduce(
    papers: Sequence[Paper],
    out: Path,
    *,
    full: bool = False,
    where: Where | None = None,
    again: Again | None = None,
    watcher: Watcher | None = None,
) -> Reproduction:
    """Run the papers' evaluations on Spark, judge their claims, and write claims and tables under ``out``."""
    points = [point for paper in papers for point in paper.all_points(full)]

    def further(runs: Runs) -> list[Point]:
        asked = [point for paper in papers for point in further_points(paper, runs)]
        if asked and watcher is not None:
            watcher.say(f"{len(asked):,} runs with further seeds, for verdicts that could turn")
        return asked

    swept = sweep(points, out, where=where, again=again, watcher=watcher, further=further if full else None)
    if swept.interrupted:
        return Reproduction(swept=swept, evaluations=())
    evaluations = [evaluate(paper, swept.runs, full=full) for paper in papers]
    write_table(out / "claims.parquet", claims_table(evaluations))
    write_table(out / "readings.parquet", readings_table(evaluations))
    for evaluation in evaluations:
        write_tables(evaluation, out / evaluation.paper.name / "tables")
    return Reproduction(swept=swept, evaluations=evaluations)


def claims_table(evaluations: Sequence[Evaluation]) -> pa.Table:
    """Return every verdict as a row."""
    rows = [
        {
            "paper": evaluation.paper.name,
            "claim": verdict.claim.id,
            "kind": verdict.claim.kind,
            "text": verdict.claim.text,
            "paper_value": verdict.judgement.paper,
            "measured_value": verdict.judgement.measured,
            "holds": verdict.judgement.holds,
            "why": verdict.judgement.why,
            "undecided": verdict.judgement.undecided,
            "ours": verdict.claim.ours,
            "full": evaluation.full,
        }
        for evaluation in evaluations
        for verdict in evaluation.verdicts
    ]
    return pa.Table.from_pylist(rows, schema=CLAIMS_SCHEMA)


def readings_table(evaluations: Sequence[Evaluation]) -> pa.Table:
    """Return a row for each claim and each reading of its paper under which it was judged."""
    rows = [
        {
            "paper": evaluation.paper.name,
            "claim": verdict.claim.id,
            "reading": name,
            "main": name == evaluation.paper.readings[0].name,
            "measured_value": judgement.measured,
            "holds": judgement.holds if judgement.measurable else None,
            "why": judgement.why,
            "undecided": judgement.undecided,
            "full": evaluation.full,
        }
        for evaluation in evaluations
        for verdict in evaluation.verdicts
        for name, judgement in verdict.under.items()
    ]
    return pa.Table.from_pylist(rows, schema=READINGS_SCHEMA)


def write_tables(evaluation: Evaluation, folder: Path) -> None:
    """Write each table as CSV, for spreadsheets, and all of them as JSON, for programs."""
    for table in evaluation.tables:
        write_text(folder / f"{table.key}.csv", _csv(table))
    told = [table.as_json() for table in evaluation.tables]
    write_text(folder / "tables.json", json.dumps(told, indent=1, ensure_ascii=False) + "\n")


def _csv(table: Table) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return stream.getvalue()


def write_text(file: Path, text: str) -> None:
    """Write a text file beside its place, then rename."""
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8")
        beside.replace(file)
    except OSError as error:
        raise CannotKeep(f"cannot write '{file}': {error.strerror or error}") from error
    finally:
        beside.unlink(missing_ok=True)
