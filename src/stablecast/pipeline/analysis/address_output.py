"""An analysis at an address, where nothing can be renamed.

Spark writes the tables, one after the other, and the summary comes last: a folder with one is whole.
Everything but the tables is looked at, removed and written through :mod:`stablecast.pipeline.hadoop_files`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyarrow import fs

from stablecast.analysis.output import SUMMARY, told_of_writing
from stablecast.analysis.reading.heads import told_in_one_line
from stablecast.analysis.version import HIDDEN
from stablecast.delivery.positions.schemas import SCHEMAS as POSITION_SCHEMAS
from stablecast.delivery.tables import TABLES
from stablecast.errors import InvalidInput
from stablecast.pipeline.hadoop_files import SessionSystems

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class AddressOutput:
    """The output of one analysis; what may not be replaced is refused when this is made."""

    def __init__(self, spark: SparkSession, out: str, *, replace: bool) -> None:
        self._out = out
        with told_in_one_line(out):
            system, path = SessionSystems(spark)(out)
            if system.get_file_info(path).type == fs.FileType.File:
                raise InvalidInput(f"the output '{out}' is a file (accepted: a new or empty folder)")
            self._files = fs.SubTreeFileSystem(path, system)
            held = self._names()
        if HIDDEN in held:
            raise InvalidInput(
                f"the output '{out}' is kept current by watch (accepted: a new or empty folder)"
            )
        if held and not replace:
            raise InvalidInput(
                f"the output '{out}' holds something (accepted: a new or empty folder, or --force to replace"
                " an earlier analysis)"
            )

    def clear(self) -> None:
        """Remove an earlier analysis, its summary first: else it would call whole what is being replaced."""
        held = self._names()
        with told_of_writing(self._out):
            if SUMMARY in held:
                self._files.delete_file(SUMMARY)
            for table in sorted({*TABLES, *POSITION_SCHEMAS} & held):
                self._files.delete_dir(table)

    def end(self, summary: Mapping[str, Any]) -> None:
        """Write the summary, in one go."""
        with told_of_writing(self._out), self._files.open_output_stream(SUMMARY) as out:
            out.write(json.dumps(dict(summary), indent=1).encode())

    def _names(self) -> set[str]:
        found = self._files.get_file_info(fs.FileSelector("", allow_not_found=True))
        return {each.base_name for each in found}
