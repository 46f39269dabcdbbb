"""The tables that ``analyze`` or ``watch`` wrote, all of one version, read by Arrow."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs

from stablecast.analysis.output import SUMMARY, place_of
from stablecast.analysis.reading.addresses import arrow_system
from stablecast.analysis.version import HIDDEN, Version, newest_version
from stablecast.errors import InvalidInput

ACCEPTED = "accepted: a folder that 'stablecast analyze' or 'stablecast watch' wrote"


@dataclass(frozen=True)
class Stored:
    """What there is in an output."""

    name: str
    """As the user knows it."""
    names: frozenset[str]
    """Of its tables; of an analysis, of all folders that there are."""
    summary: Mapping[str, Any]
    """Nothing if there is none."""
    system: Any
    """The file system below the output."""
    version: Version | None = None
    """Of a stream: the version that all tables are of."""

    def has(self, file: str) -> bool:
        """Tell whether the output has a file of this name."""
        return bool(self.system.get_file_info(file).type == fs.FileType.File)

    def files(self, table: str) -> Sequence[str]:
        """Return the files of a table, by their paths in the output."""
        return _data_files(self.system, table) if self.version is None else self.version.tables[table]

    def dataset(self, table: str) -> ds.Dataset:
        """Return a table, to be read as a whole or in batches."""
        return ds.dataset(list(self.files(table)), format="parquet", filesystem=self.system)


def stored(out: Path | str) -> Stored:
    """Return the tables of an output, which is a folder of this machine or an address that Arrow can open.

    Of what ``watch`` keeps current it is the newest version, which stays until two more parts are done.
    """
    place = place_of(out)
    try:
        return _found(str(place))
    except (OSError, pa.ArrowException) as error:
        raise InvalidInput(f"cannot read '{place}': {' '.join(str(error).split())} ({ACCEPTED})") from None


def _found(name: str) -> Stored:
    system, path = arrow_system(name)
    kind = system.get_file_info(path).type
    if kind != fs.FileType.Directory:
        what = "is not there" if kind == fs.FileType.NotFound else "is not a folder"
        raise InvalidInput(f"'{name}' {what} ({ACCEPTED})")
    below = fs.SubTreeFileSystem(path, system)
    found = below.get_file_info(fs.FileSelector(""))
    if HIDDEN not in {each.base_name for each in found}:
        folders = frozenset(each.base_name for each in found if each.type == fs.FileType.Directory)
        return Stored(name, folders, _summary(name, below), below)
    version = newest_version(below)
    if version is None:
        raise InvalidInput(f"'{name}' has no tables yet: 'stablecast watch' has not finished a part")
    return Stored(name, frozenset(version.tables), version.summary, below, version)


def _data_files(system: Any, table: str) -> list[str]:
    """Return a table's files; those whose name starts with a dot or an underscore are notes of the writer."""
    found = system.get_file_info(fs.FileSelector(table, recursive=True))
    files = [each.path for each in found if each.type == fs.FileType.File and each.path.endswith(".parquet")]
    return sorted(file for file in files if not any(part[0] in "._" for part in PurePosixPath(file).parts))


def _summary(name: str, system: Any) -> dict[str, Any]:
    try:
        with system.open_input_stream(SUMMARY) as content:
            summary = json.loads(content.read())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise InvalidInput(f"cannot read '{name}/{SUMMARY}': {error} ({ACCEPTED})") from None
    if not isinstance(summary, dict):
        raise InvalidInput(f"'{name}/{SUMMARY}' is not an object of JSON ({ACCEPTED})")
    return summary
