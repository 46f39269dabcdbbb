"""The tables that ``analyze`` or ``watch`` wrote, all of one version, as DataFrames of any session.

Everything is read by Spark, so that every address is one that the session knows, and Spark Connect does.
:mod:`stablecast.analysis.stored` is the same with Arrow.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException

from stablecast.analysis.output import SUMMARY, place_of
from stablecast.analysis.reading.inputs import for_spark
from stablecast.analysis.stored import ACCEPTED
from stablecast.analysis.version import MANIFESTS, Version, part_of, version_of
from stablecast.delivery.positions.schemas import SCHEMAS as POSITION_SCHEMAS
from stablecast.delivery.tables import TABLES
from stablecast.errors import InvalidInput
from stablecast.pipeline.analysis.failures import told_in_one_line
from stablecast.pipeline.analysis.stability import Tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def read_tables(spark: SparkSession, out: str | Path) -> Tables:
    """Read the tables of an analysis, or the newest version of those that ``watch`` keeps current.

    Parameters
    ----------
    spark
        Any session, classic or of Spark Connect.
    out
        The folder or the address that ``stablecast analyze`` or ``stablecast watch`` wrote to, as the session
        knows it.  A version of ``watch`` can be read until two more parts are done.

    Examples
    --------
    ``read_tables(spark, "s3a://bucket/current").sources.where("waiting > 0").show()``
    """
    place = place_of(out)
    address = for_spark(str(place.absolute())) if isinstance(place, Path) else place
    with told_in_one_line():
        version = _newest(spark, address)
        summary = _summary(spark, address) if version is None else version.summary
        if summary is None:
            raise InvalidInput(f"'{place}' has no tables that are whole ({ACCEPTED})")
        paths = _folders(summary) if version is None else version.tables
        frames = {
            table: spark.read.parquet(*(f"{address}/{path}" for path in found))
            for table, found in paths.items()
        }
    return Tables(spark, frames, {}, summary)


def _folders(summary: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:
    """Return where the tables of an analysis are."""
    return {table: [table] for table in (POSITION_SCHEMAS if summary["positions"] else TABLES)}


def _newest(spark: SparkSession, address: str) -> Version | None:
    """Return the newest version that is whole; None if there is none."""
    rows = _contents(spark, f"{address}/{MANIFESTS}")
    manifests = {part: text for path, text in rows if (part := part_of(path)) is not None}
    whole = (version_of(manifests[part]) for part in sorted(manifests, reverse=True))
    return next((version for version in whole if version is not None), None)


def _summary(spark: SparkSession, address: str) -> dict[str, Any] | None:
    rows = _contents(spark, f"{address}/{SUMMARY}")
    return json.loads(rows[0][1]) if rows else None


def _contents(spark: SparkSession, address: str) -> list[tuple[str, bytes]]:
    """Return path and content of a file, or of all files in a folder; nothing if it is not there."""
    try:
        # A manifest may be removed after it was listed.
        files = spark.read.format("binaryFile").option("ignoreMissingFiles", "true").load(address)
        rows = files.select("path", "content").collect()
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return []
        raise
    return [(row["path"], bytes(row["content"])) for row in rows]
