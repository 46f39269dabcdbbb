"""Write events to a Parquet file that appears whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from stablecast.errors import InvalidInput, StablecastError
from stablecast.trace.schema import arrow_schema

Ints = NDArray[np.int64]


class CannotWriteTrace(StablecastError):
    """A trace could not be written to its end, as on a full disk; nothing of it is left."""


class TraceWriter:
    """A context manager: events are written beside the file, which takes its name when all went well."""

    def __init__(self, file: Path, *, group: str) -> None:
        self.file = file
        self.group = group
        self.events = 0
        try:
            handle, beside = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.", suffix=".part")
            os.close(handle)
            self._beside = Path(beside)
        except OSError as error:
            raise InvalidInput(f"cannot write the trace '{file}': {error.strerror or error}") from None
        if file.exists() and not file.is_file():
            self._beside.unlink()
            what = "a folder" if file.is_dir() else "no file that can be replaced"
            raise InvalidInput(f"cannot write the trace '{file}': it is {what}")
        self._schema = arrow_schema()
        with self._failing_in_one_line():
            self._parquet = pq.ParquetWriter(self._beside, self._schema, compression="zstd")

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if kind is not None:
            with contextlib.suppress(OSError):
                self._parquet.close()
            self._beside.unlink(missing_ok=True)
            return
        with self._failing_in_one_line():
            self._parquet.close()
            self._beside.chmod(0o644)
            self._beside.replace(self.file)

    @contextlib.contextmanager
    def _failing_in_one_line(self) -> Iterator[None]:
        """Remove what was written if no more can be."""
        try:
            yield
        except OSError as error:
            self._beside.unlink(missing_ok=True)
            # Arrow's own text names its calls beside the reason.
            why = os.strerror(error.errno) if error.errno else str(error)
            raise CannotWriteTrace(f"cannot write the trace '{self.file}': {why}") from error

    def write(
        self,
        kinds: list[str],
        kind: Ints,
        members: list[str],
        member: Ints,
        *,
        source: Ints | None = None,
        seq: Ints | None = None,
        time_us: Ints,
        size: Ints | None = None,
    ) -> None:
        """Append events; ``kind``, ``member`` and ``source`` are places in the lists of names."""
        rows = int(kind.size)
        names = pa.array(members)
        table = pa.table(
            [
                pa.repeat(self.group, rows),
                pa.array(kinds).take(pa.array(kind)),
                names.take(pa.array(member)),
                _nulls(rows, pa.string()) if source is None else names.take(pa.array(source)),
                _nulls(rows, pa.int64()) if seq is None else pa.array(seq),
                pa.array(time_us),
                _nulls(rows, pa.int32()) if size is None else pa.array(size.astype(np.int32)),
            ],
            schema=self._schema,
        )
        with self._failing_in_one_line():
            self._parquet.write_table(table)
        self.events += rows


def _nulls(rows: int, kind: Any) -> Any:
    return pa.nulls(rows, kind)
