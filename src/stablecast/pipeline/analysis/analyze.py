"""From events to tables: the analysis of a whole trace, step by step.

Each step that is wide, or that several others read, is computed once and kept in the work folder, so that
memory holds no more than the tasks that run.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stablecast.errors import InvalidInput
from stablecast.pipeline.analysis.number_line import FirstSeq
from stablecast.pipeline.analysis.reading.events import Foreign

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from stablecast.pipeline.analysis.membership import Membership
    from stablecast.pipeline.analysis.scan import Scan
    from stablecast.pipeline.analysis.tables import Names
    from stablecast.pipeline.analysis.workspace import WorkFolder


@dataclass(frozen=True)
class Options:
    """How a trace is to be read."""

    first_seq: FirstSeq = 1
    foreign: Foreign = field(default_factory=Foreign)
    on_bad_rows: str = "fail"
    """``fail``, or ``count`` to leave them out."""
    format: str | None = None
    """``parquet``, ``json`` or ``csv``, whatever files are called."""
    cumulative: bool = False
    """Whether a receipt stands for everything up to its number."""
    replace: bool = False
    """Whether an earlier analysis in the output folder is replaced."""


@dataclass(frozen=True)
class Analysis:
    """What an analysis found."""

    out: Path
    summary: Mapping[str, Any]

    @property
    def violations(self) -> int:
        """How many things were wrong."""
        return sum(self.summary["violations"].values())


Say = Callable[[str], None]


def analyze(
    paths: Sequence[str | Path],
    out: Path,
    *,
    spark: SparkSession,
    options: Options | None = None,
    say: Say = lambda line: None,
) -> Analysis:
    """Analyse events from files into a folder of tables; see ``docs/analyze.md``."""
    from stablecast.pipeline.analysis.reading.failures import told_in_one_line
    from stablecast.pipeline.interrupt import interruptible

    with told_in_one_line():
        return interruptible(spark, lambda: _analyzed(paths, Path(out), spark, options or Options(), say))


def _analyzed(
    paths: Sequence[str | Path], out: Path, spark: SparkSession, asked: Options, say: Say
) -> Analysis:
    from stablecast.pipeline.analysis.cumulative import one_by_one
    from stablecast.pipeline.analysis.reading.events import (
        NO_EVENTS,
        classified_events,
        explain_bad_rows,
        find_inputs,
    )
    from stablecast.pipeline.analysis.scan import scanned
    from stablecast.pipeline.analysis.summary import summary_of
    from stablecast.pipeline.analysis.workspace import Workspace, is_small, little_ado, partitions_for

    began = time.monotonic()
    inputs = find_inputs([str(path) for path in paths], format=asked.format, without=[str(out)])
    small = is_small(inputs.size)
    workspace = Workspace(out, spark, replace=asked.replace, small=small)
    with workspace as work, partitions_for(spark, 0), little_ado(spark, small=small):
        say("reading")
        events = classified_events(spark, inputs, asked.foreign, first_seq=asked.first_seq)

        def explain(bad: Mapping[str, int]) -> str:
            return explain_bad_rows(spark, inputs, asked.foreign, bad, first_seq=asked.first_seq)

        scan = scanned(events, work, explain if asked.on_bad_rows == "fail" else None)
        if not scan.events:
            raise InvalidInput(NO_EVENTS)
        if asked.cumulative:
            say("finding what each receipt stands for")
            scan = one_by_one(scan, work)
        tables_of(scan, work, asked.first_seq, say)
        say("summing up")
        summary = summary_of(scan, work, inputs=[str(path) for path in paths], first_seq=asked.first_seq)
        summary["wall_s"] = round(time.monotonic() - began, 3)
        (work.folder / "summary.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    return Analysis(out, summary)


def tables_of(scan: Scan, work: WorkFolder, first_seq: FirstSeq, say: Say) -> None:
    """Write every table of an analysis into a work folder."""
    from stablecast.pipeline.analysis import number_line, tables
    from stablecast.pipeline.analysis.packing import numbered_events, packed_messages, pairs_of
    from stablecast.pipeline.analysis.sources import sources_table
    from stablecast.pipeline.analysis.truth import judged_messages
    from stablecast.pipeline.analysis.workspace import at_once, partitions_for

    membership = membership_of(scan.table, work)
    names = tables.Names(membership)
    with partitions_for(scan.table.sparkSession, scan.events) as partitions:
        say("bringing each message's events together, finding when it was stable")
        numbered = numbered_events(scan.good, membership)
        packed = packed_messages(pairs_of(numbered, partitions), membership)
        told = work.keep("told", judged_messages(packed, membership))
        judged = told.where("sent is not null")
        say("putting messages in line")
        nothing = number_line.nothing_before(judged)
        runs = work.keep("runs", number_line.runs_of(judged, told, nothing))
        line = work.keep("line", number_line.line_of(judged, runs, first_seq))
        trace = Trace(scan, membership, names, numbered, told, judged, runs, line)
        say("finding who held it back, who knew when, and what should not be")
        frontiers = number_line.frontiers_of(line, nothing)
        at_once(
            lambda: _write_claims(trace, work),
            lambda: _write_holdings(trace, work),
            lambda: work.write("frontiers", tables.frontiers_table(frontiers, names)),
            lambda: work.write("laggards", tables.laggards_table(judged, names)),
            lambda: work.write("sources", sources_table(judged, line, nothing, membership, names)),
        )


@dataclass(frozen=True)
class Trace:
    """A trace as its tables are made of it."""

    scan: Scan
    membership: Membership
    names: Names
    numbered: DataFrame
    told: DataFrame
    """Of messages, of those that nobody sent too."""
    judged: DataFrame
    """Of messages that were sent."""
    runs: DataFrame
    line: DataFrame

    @property
    def unsent(self) -> DataFrame:
        """What is told of messages that nobody sent."""
        return self.told.where("sent is null")


def _write_claims(trace: Trace, work: WorkFolder) -> None:
    """Write messages, with when members knew, and violations."""
    from stablecast.pipeline.analysis import detection, tables

    detections = early = beyond = None
    if trace.scan.kinds.get("stable"):
        claims = work.keep("claims", detection.claims_of(trace.told))
        steps = work.keep("claim-steps", detection.steps_of(claims, trace.runs))
        detections = detection.detections_of(steps, trace.judged)
        early = work.keep("early", detection.early_claims(claims, trace.line, trace.runs))
        beyond = detection.claims_of_unsent(claims, trace.runs)
    known = tables.with_detections(trace.judged.drop("pairs"), detections)
    work.write("messages", tables.messages_table(known, trace.names))
    _write_violations(trace, work, early, beyond)


def _write_violations(
    trace: Trace, work: WorkFolder, early: DataFrame | None, beyond: DataFrame | None
) -> None:
    from stablecast.pipeline.analysis import tables, violations

    found = [
        violations.of_messages(trace.judged),
        violations.of_line(trace.line),
        violations.of_unsent(trace.unsent, beyond),
    ]
    if early is not None:
        found.append(violations.of_claims(early))
    if trace.membership.shape.departures:
        found.append(violations.of_departed(trace.numbered))
    if violations.any_repeated(trace.told):
        pairs, sends = violations.repeated_keys(trace.told)
        pairs, sends = work.keep("again", pairs), work.keep("sent-again", sends)
        found += violations.of_repeats(trace.numbered, pairs, sends, trace.judged, early)
    work.write("violations", tables.violations_table(violations.all_of(found), trace.names).coalesce(8))


def _write_holdings(trace: Trace, work: WorkFolder) -> None:
    """Write what members held."""
    from stablecast.pipeline.analysis import holdings, tables

    held = holdings.holdings_of(trace.told, trace.membership)
    spans = holdings.cell_bits(trace.membership)
    changes = holdings.changes_of(held, spans)
    cells = work.keep("cells", holdings.cells_of(changes))
    work.write("buffers", tables.buffers_table(holdings.buffers_of(changes, cells), trace.names))
    work.write("occupancy", tables.occupancy_table(holdings.occupancy_of(cells, spans), trace.names))


def membership_of(scan: DataFrame, work: WorkFolder) -> Membership:
    """Return who was a member when, kept in a work folder."""
    from stablecast.pipeline.analysis import membership

    members = work.keep("members", membership.members_of(scan).coalesce(1))
    incarnations = membership.incarnations_of(members)
    groups = work.keep("groups", membership.groups_of(scan, incarnations).coalesce(1))
    epochs = work.keep("epochs", membership.epochs_of(incarnations, groups).coalesce(1))
    shape = membership.shape_of(groups)
    return membership.Membership(members, incarnations, epochs, groups, shape)
