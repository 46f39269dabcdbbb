"""The facts of an analysis in one object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from stablecast.pipeline.analysis import distribution
from stablecast.pipeline.analysis.number_line import FirstSeq
from stablecast.pipeline.analysis.violations import KINDS
from stablecast.pipeline.analysis.workspace import rows_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from stablecast.pipeline.analysis.scan import Scan
    from stablecast.pipeline.analysis.stream.versions import State
    from stablecast.pipeline.analysis.workspace import WorkFolder, Workspace


def summary_of(scan: Scan, work: Workspace, *, inputs: Sequence[str], first_seq: FirstSeq) -> dict[str, Any]:
    """Return what ``summary.json`` says of a whole trace, but for how long it took."""
    messages = work.read("messages")
    return {
        **_origin(messages, inputs, first_seq),
        **_events(scan.table, scan.bad_rows),
        **_messages(distribution.counts_of(messages)),
        "violations": _violations(kinds_of(work.read("violations"))),
    }


def streamed_summary(
    work: WorkFolder, state: State, *, arrived: int, inputs: Sequence[str]
) -> dict[str, Any]:
    """Return the same of a stream after one more part, before its final rows are moved."""
    messages = work.read("open-messages")
    counts = work.read_carried("counts").union(distribution.counts_of(messages))
    found = kinds_of(work.read("open-violations"))
    told = {kind: state.violations.get(kind, 0) + found.get(kind, 0) for kind in KINDS}
    return {
        **_origin(messages, inputs, state.settings["first_seq"]),
        **_events(work.read_carried("scan"), state.bad_rows),
        **_messages(distribution.summed(counts)),
        "violations": told,
        "parts": state.part + 1,
        "arrived": arrived,
        "open": rows_in(work.folder / "open-messages"),
        "carried_rows": rows_in(work.carried("pairs")),
        "rebuilt": state.rebuilt,
        "delay_us": state.delay_us,
    }


def _origin(messages: DataFrame, inputs: Sequence[str], first_seq: FirstSeq) -> dict[str, Any]:
    import pyspark

    from stablecast import __version__

    master = messages.sparkSession.sparkContext.master
    told = {"version": __version__, "inputs": list(inputs), "first_seq": first_seq}
    return told | {"spark": pyspark.__version__, "master": master}


def _events(table: DataFrame, bad_rows: Mapping[str, int]) -> dict[str, Any]:
    of_kind = (F.sum("events").alias("n"), F.min("first_us").alias("first"), F.max("last_us").alias("last"))
    rows = table.groupBy("kind").agg(*of_kind).collect()
    kinds = {row["kind"]: row["n"] for row in rows}
    there = _counts(table)
    return {
        "events": sum(kinds.values()),
        "kinds": dict(sorted(kinds.items())),
        "bad_rows": sum(bad_rows.values()),
        "bad_rows_by_reason": dict(bad_rows),
        "groups": there["groups"],
        "members": there["members"],
        "sources": there["sources"],
        "first_us": min((row["first"] for row in rows), default=None),
        "last_us": max((row["last"] for row in rows), default=None),
    }


def kinds_of(violations: DataFrame) -> dict[str, int]:
    """Return how many violations of each kind there are."""
    return {row["kind"]: row["count"] for row in violations.groupBy("kind").count().collect()}


def _violations(found: Mapping[str, int]) -> dict[str, int]:
    return {kind: found.get(kind, 0) for kind in KINDS}


def _counts(table: DataFrame) -> dict[str, int]:
    """Return how many groups, members and sources there are."""
    told = F.array(
        F.struct(F.lit("groups").alias("what"), F.lit(None).cast("string").alias("name")),
        F.struct(F.lit("members").alias("what"), F.col("member").alias("name")),
        F.struct(
            F.lit("sources").alias("what"), F.when(F.col("kind") == "send", F.col("source")).alias("name")
        ),
    )
    each = table.select("group", F.explode(told).alias("one")).select("group", "one.*")
    there = each.where("what = 'groups' or name is not null").distinct().groupBy("what").count().collect()
    return {"groups": 0, "members": 0, "sources": 0} | {row["what"]: row["count"] for row in there}


def _messages(counts: DataFrame) -> dict[str, Any]:
    """Return how many messages there are, and how long they took to be stable and to be known to be.

    A few hundred counts are fetched.
    """
    rows = counts.collect()
    told: dict[str, Any] = {}
    histograms = {}
    for what in ("time_to_stable", "time_to_detect"):
        own = [row for row in rows if row["what"] == what]
        bins = {row["bin"]: row["count"] for row in own}
        total, most = sum(int(row["total"]) for row in own), max((row["most"] for row in own), default=0)
        told[f"{what}_us"] = distribution.described(bins, total, most)
        histograms[what] = distribution.histogram(bins)
    sent, stable = (
        sum(row["count"] for row in rows if row["what"] == what) for what in ("sent", "time_to_stable")
    )
    return {"messages": sent, "stable": stable, "unstable": sent - stable, **told, "histograms": histograms}
