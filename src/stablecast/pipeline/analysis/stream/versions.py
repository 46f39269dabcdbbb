"""The writer of an output's versions, on any file system; :mod:`stablecast.analysis.version` is the format.

A part of the stream is done in this order: its files, its manifest, and only then is anything removed.  Until
the manifest is whole, the newest version is that of the part before, with all its files; from then on it is
this part's.  What a killed run left is what no version names: torn manifests and files.  The next run removes
it before it does anything, and does the part again under the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from stablecast.analysis.output import COMPRESSION
from stablecast.analysis.version import (
    FILES,
    MANIFESTS,
    State,
    Version,
    manifest_of,
    manifests_at,
    read_version,
)

GROWING = ("messages", "frontiers", "violations")
"""Tables of which a part is final."""
MOST_FILES = 40
"""Final files of a table; if there are more, small ones are merged."""
STATE_COMPRESSION = "lz4"
KEPT_VERSIONS = 2
AT_ONCE = 8
"""Files that are written or removed at a time: a store takes its time for each."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class Versions:
    """The versions of one output, for the one process that writes them."""

    def __init__(self, system: Any, root: str) -> None:
        self._files = fs.SubTreeFileSystem(root, system)
        self._versions: list[Version] = []
        self._pool = ThreadPoolExecutor(AT_ONCE)

    def begin(self) -> Version | None:
        """Make room, remove what a killed run left, and return the newest version."""
        for folder in (MANIFESTS, FILES):
            self._files.create_dir(folder)
        found = (read_version(self._files, path) for path in manifests_at(self._files).values())
        self._versions = [version for version in found if version is not None][:KEPT_VERSIONS]
        self._remove_others()
        return self._versions[0] if self._versions else None

    def kept(self, version: Version | None) -> dict[str, pa.Table]:
        """Return the tables that are kept between parts, as they were after a part."""
        names = {} if version is None else version.kept
        return dict(zip(names, self._each(self._read, names.values()), strict=True))

    def add_final(self, part: int, table: str, rows: pa.Table, files: Sequence[str]) -> list[str]:
        """Write the final rows of a table, and return all files with such rows."""
        if not rows.num_rows:
            return list(files)
        added = _file_of(part, f"{table}-final")
        self._write(added, rows)
        return self._merged(part, table, [*files, added])

    def publish(
        self,
        state: State,
        tables: Mapping[str, pa.Table],
        kept: Mapping[str, pa.Table],
        summary: Mapping[str, Any],
    ) -> Version:
        """Write a new version; of growing tables the rows that are not final are given."""
        shown = {name: _file_of(state.part, name) for name in tables}
        states = {name: _file_of(state.part, f"state-{name}") for name in kept}
        version = Version(
            {name: [*state.final.get(name, ()), file] for name, file in shown.items()}, states, summary, state
        )
        written = [(file, tables[name], COMPRESSION) for name, file in shown.items()]
        written += [(file, kept[name], STATE_COMPRESSION) for name, file in states.items()]
        self._each(lambda one: self._write(*one), written)
        with self._files.open_output_stream(manifest_of(state.part)) as manifest:
            manifest.write(version.to_json())
        self._versions = [version, *self._versions][:KEPT_VERSIONS]
        self._remove_others()
        return version

    def _merged(self, part: int, table: str, files: Sequence[str]) -> list[str]:
        """Return final files with many small ones made one."""
        if len(files) <= MOST_FILES:
            return list(files)
        sizes = {each.path: each.size for each in self._files.get_file_info(list(files))}
        smallest = set(sorted(files, key=lambda file: sizes[file])[: MOST_FILES * 3 // 4])
        small = [file for file in files if file in smallest]
        merged = _file_of(part, f"{table}-merged")
        schema = pq.read_schema(small[0], filesystem=self._files)
        with (
            self._files.open_output_stream(merged) as out,
            pq.ParquetWriter(out, schema, compression=COMPRESSION) as writer,
        ):
            for file in small:
                with self._files.open_input_file(file) as source, pq.ParquetFile(source) as rows:
                    for batch in rows.iter_batches():
                        writer.write_batch(batch)
        return [merged, *(file for file in files if file not in smallest)]

    def _each(self, call: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Do something with every item, several at a time."""
        return list(self._pool.map(call, items))

    def _read(self, file: str) -> pa.Table:
        return pq.read_table(file, filesystem=self._files)

    def _write(self, file: str, table: pa.Table, compression: str = COMPRESSION) -> None:
        with self._files.open_output_stream(file) as out:
            pq.write_table(table, out, compression=compression)

    def _remove_others(self) -> None:
        """Remove what the newest versions do not need: manifests first, then files that only they named."""
        parts = {version.part for version in self._versions}
        old = [path for part, path in manifests_at(self._files).items() if part not in parts]
        self._each(self._files.delete_file, old)
        named = {file for version in self._versions for file in version.files}
        found = [each.path for each in self._files.get_file_info(fs.FileSelector(FILES))]
        self._each(self._files.delete_file, [file for file in found if file not in named])


def _file_of(part: int, what: str) -> str:
    return f"{FILES}/{part:09d}-{what}.parquet"
