"""Write events to a Parquet file that appears whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from stablecast.errors import InvalidInput, StablecastError
from stablecast.trace.schema import WIRE_COLUMNS, arrow_schema

Ints = NDArray[np.int64]
NULL = -1
"""In place of a number, a time or a name that there is none of."""


class CannotWriteTrace(StablecastError):
    """A trace could not be written to its end, as on a full disk; nothing of it is left."""


@dataclass(frozen=True, kw_only=True, eq=False)
class WireRows:
    """The additional columns of events in a wire trace; ``NULL`` stands for no value.

    The names of members are those that the events have.
    """

    step: Ints
    peer: Ints
    """Places in the list of members."""
    messages: Sequence[str]
    message: Ints
    """Places in ``messages``."""
    number: Ints
    execution: Ints
    first_seq: Ints
    queue_us: Ints
    service_us: Ints
    since_us: Ints


class TraceWriter:
    """A context manager: events are written beside the file, which takes its name when all went well.

    With ``wire`` the file has the additional columns of wire traces.
    """

    def __init__(self, file: Path, *, group: str, wire: bool = False) -> None:
        self.file = file
        self.group = group
        self.wire = wire
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
        self._schema = arrow_schema(wire=wire)
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
        wire: WireRows | None = None,
    ) -> None:
        """Append events; ``kind``, ``member`` and ``source`` are places in the lists of names.

        ``NULL`` in ``source``, ``seq`` and ``size`` stands for no value; a wire trace needs ``wire``.
        """
        rows = int(kind.size)
        names = pa.array(members)
        more = [] if wire is None else _wire_columns(names, wire)
        table = pa.table(
            [
                pa.repeat(self.group, rows),
                pa.array(kinds).take(pa.array(kind)),
                names.take(pa.array(member)),
                _nulls(rows, pa.string()) if source is None else names.take(_numbers(source)),
                _nulls(rows, pa.int64()) if seq is None else _numbers(seq),
                pa.array(time_us),
                _nulls(rows, pa.int32()) if size is None else _numbers(size.astype(np.int32)),
                *more,
            ],
            schema=self._schema,
        )
        with self._failing_in_one_line():
            self._parquet.write_table(table)
        self.events += rows


def _wire_columns(names: Any, wire: WireRows) -> list[Any]:
    """Return the additional columns in the order of the schema."""
    columns = {
        "peer": names.take(_numbers(wire.peer)),
        "message": pa.array(wire.messages, pa.string()).take(_numbers(wire.message)),
    }
    return [columns[name] if name in columns else _numbers(getattr(wire, name)) for name in WIRE_COLUMNS]


def _numbers(values: Any) -> Any:
    return pa.array(values, mask=values == NULL)


def _nulls(rows: int, kind: Any) -> Any:
    return pa.nulls(rows, kind)
