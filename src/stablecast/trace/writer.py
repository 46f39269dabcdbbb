"""Write events to a Parquet file that appears whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from stablecast.errors import InvalidInput
from stablecast.trace.schema import arrow_schema

Ints = NDArray[np.int64]


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
        if file.is_dir():
            self._beside.unlink()
            raise InvalidInput(f"cannot write the trace '{file}': it is a folder")
        self._schema = arrow_schema()
        self._parquet = pq.ParquetWriter(self._beside, self._schema, compression="zstd")

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._parquet.close()
        if kind is None:
            self._beside.chmod(0o644)
            self._beside.replace(self.file)
        else:
            self._beside.unlink()

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
        self._parquet.write_table(table)
        self.events += rows


def _nulls(rows: int, kind: Any) -> Any:
    return pa.nulls(rows, kind)
