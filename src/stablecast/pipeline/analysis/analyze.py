"""From files to a folder of tables: what ``stablecast analyze`` does, on Spark or in this process."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stablecast.analysis.local import analyze_files
from stablecast.analysis.options import Options
from stablecast.analysis.output import (
    COMPRESSION,
    SUMMARY,
    is_address,
    new_folder,
    write_summary,
    write_table,
)
from stablecast.analysis.reading.inputs import Inputs, find_inputs
from stablecast.errors import InvalidInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from stablecast.pipeline.analysis.stability import Tables

Say = Callable[[str], None]
ENGINES = ("spark", "local")


@dataclass(frozen=True)
class Analysis:
    """What an analysis found."""

    out: Path | str
    summary: Mapping[str, Any]

    @property
    def violations(self) -> int:
        """How many things were wrong."""
        return sum(self.summary["violations"].values())


def analyze(
    paths: Sequence[str | Path],
    out: Path | str,
    *,
    spark: SparkSession | None = None,
    options: Options | None = None,
    replace: bool = False,
    say: Say = lambda line: None,
) -> Analysis:
    """Analyse events from files into a folder of tables; see ``docs/analyze.md``.

    Parameters
    ----------
    paths
        Files, folders, patterns, or addresses that Spark knows.
    out
        A folder of this machine, which appears whole or not at all, or an address that Spark knows, in which
        ``summary.json`` comes last.
    spark
        The session to use; without one everything is computed in this process.
    options
        How events are to be read and judged.
    replace
        Whether an earlier analysis in the output folder is replaced.
    say
        Told about each step.
    """
    began, asked = time.monotonic(), options or Options()
    without = [] if is_address(out) else [str(out)]
    inputs = find_inputs([str(path) for path in paths], format=asked.format, without=without)
    origin = {"inputs": [str(path) for path in paths], "first_seq": asked.first_seq}
    if spark is None:
        return _in_process(inputs, Path(out), asked, replace, origin, began, say)
    from stablecast.pipeline.analysis.failures import told_in_one_line
    from stablecast.pipeline.interrupt import interruptible

    with told_in_one_line():
        return interruptible(spark, lambda: _on_spark(spark, inputs, out, asked, replace, origin, began, say))


def _in_process(
    inputs: Inputs,
    out: Path,
    options: Options,
    replace: bool,
    origin: Mapping[str, Any],
    began: float,
    say: Say,
) -> Analysis:
    with new_folder(out, replace=replace) as folder:
        say("reading and judging")
        found = analyze_files(inputs, options)
        for name, table in found.tables.items():
            write_table(folder, name, table)
        summary = _told(found.summary, {**origin, "engine": "local"}, began)
        write_summary(folder, summary)
    return Analysis(out, summary)


def _on_spark(
    spark: SparkSession,
    inputs: Inputs,
    out: Path | str,
    options: Options,
    replace: bool,
    origin: Mapping[str, Any],
    began: float,
    say: Say,
) -> Analysis:
    from stablecast.pipeline.analysis.stability import stability_of_files

    where = {**origin, "engine": "spark", "spark": spark.version, "master": _master(spark)}
    if is_address(out):
        if not replace:
            _check_free_address(spark, str(out))
        say("reading and judging")
        with stability_of_files(spark, inputs, options) as tables:
            summary = _told(tables.summary, where, began)
            _write_to_address(spark, tables, str(out), summary, replace=replace)
        return Analysis(out, summary)
    with new_folder(Path(out), replace=replace) as folder:
        say("reading and judging")
        with stability_of_files(spark, inputs, options) as tables:
            say("writing tables")
            for name, table in tables.small.items():
                write_table(folder, name, table)
            for name, frame in tables.large.items():
                _write(frame, str(folder / name))
                _tidy(folder / name)
            summary = _told(tables.summary, where, began)
        write_summary(folder, summary)
    return Analysis(Path(out), summary)


def _told(found: Mapping[str, Any], where: Mapping[str, Any], began: float) -> dict[str, Any]:
    from stablecast import __version__

    wall_s = round(time.monotonic() - began, 3)
    return {"version": __version__, "spark": None, "master": None, **where, **found, "wall_s": wall_s}


def _master(spark: SparkSession) -> str | None:
    """Return where Spark runs; a session of Spark Connect does not tell."""
    return spark.conf.get("spark.master", None)


def _write(frame: DataFrame, path: str, *, mode: str = "error") -> None:
    frame.write.mode(mode).option("compression", COMPRESSION).parquet(path)


def _tidy(folder: Path) -> None:
    """Remove what Hadoop leaves beside the data."""
    for file in folder.iterdir():
        if file.name.startswith(("_", ".")):
            file.unlink()


def _check_free_address(spark: SparkSession, out: str) -> None:
    """Refuse an address that holds anything, before anything is computed."""
    try:
        held = spark.read.option("recursiveFileLookup", True).text(out).inputFiles()
    except Exception as error:
        if "PATH_NOT_FOUND" in str(error):
            return
        raise
    if held:
        raise InvalidInput(
            f"the output '{out}' holds something (accepted: a new or empty folder, or --force to replace"
            " an earlier analysis)"
        )


def _write_to_address(
    spark: SparkSession, tables: Tables, out: str, summary: Mapping[str, Any], *, replace: bool
) -> None:
    """Write tables where nothing can be renamed: a folder with a summary, which comes last, is whole."""
    mode = "overwrite" if replace else "error"
    if replace:
        # Else the earlier summary would call whole what is being replaced.
        spark.createDataFrame([], "value string").write.mode(mode).text(f"{out.rstrip('/')}/{SUMMARY}")
    for name in tables.names:
        _write(getattr(tables, name), f"{out.rstrip('/')}/{name}", mode=mode)
    told = spark.createDataFrame([(json.dumps(dict(summary)),)], "value string").coalesce(1)
    told.write.mode(mode).text(f"{out.rstrip('/')}/{SUMMARY}")
