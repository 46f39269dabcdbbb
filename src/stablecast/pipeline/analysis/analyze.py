"""From files to a folder of tables: what ``stablecast analyze`` does, on Spark or in this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stablecast.analysis.local import analyze_files
from stablecast.analysis.options import Options
from stablecast.analysis.output import (
    COMPRESSION,
    new_folder,
    place_of,
    write_summary,
    write_table,
)
from stablecast.analysis.reading.inputs import Inputs, find_inputs
from stablecast.errors import InvalidInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
    began, asked, out = time.monotonic(), options or Options(), place_of(out)
    without = [str(out)] if isinstance(out, Path) else []
    inputs = find_inputs([str(path) for path in paths], format=asked.format, without=without)
    origin = {"inputs": [str(path) for path in paths], "first_seq": asked.first_seq}
    if spark is None:
        if isinstance(out, str):
            raise InvalidInput(f"'{out}' is an address, which only Spark can write to (accepted: a folder)")
        return _in_process(inputs, out, asked, replace, origin, began, say)
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
    if isinstance(out, str):
        from stablecast.pipeline.analysis.address_output import AddressOutput

        place = AddressOutput(spark, out, replace=replace)
        say("reading and judging")
        with stability_of_files(spark, inputs, options) as tables:
            say("writing tables")
            place.clear()
            for name in tables.names:
                _write(getattr(tables, name), f"{out}/{name}")
            summary = _told(tables.summary, where, began)
        place.end(summary)
        return Analysis(out, summary)
    with new_folder(out, replace=replace) as folder:
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
    return Analysis(out, summary)


def _told(found: Mapping[str, Any], where: Mapping[str, Any], began: float) -> dict[str, Any]:
    from stablecast import __version__

    wall_s = round(time.monotonic() - began, 3)
    return {"version": __version__, "spark": None, "master": None, **where, **found, "wall_s": wall_s}


def _master(spark: SparkSession) -> str | None:
    """Return where Spark runs; a session of Spark Connect does not tell."""
    return spark.conf.get("spark.master", None)


def _write(frame: DataFrame, path: str) -> None:
    frame.write.option("compression", COMPRESSION).parquet(path)


def _tidy(folder: Path) -> None:
    """Remove what Hadoop leaves beside the data."""
    for file in folder.iterdir():
        if file.name.startswith(("_", ".")):
            file.unlink()
