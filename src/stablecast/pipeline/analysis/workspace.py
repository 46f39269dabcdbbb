"""Folders for what an analysis makes on its way, and its output, which appears whole or not at all."""

from __future__ import annotations

import fcntl
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING

from stablecast.errors import InvalidInput
from stablecast.pipeline.store import CannotKeep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WORK = ".work"
THREADS = 3
EVENTS_PER_TASK = 400_000
SMALL_BYTES = 500_000
"""Some 70,000 events: up to about here one core that compiles nothing is done sooner than all of them."""
QUICK_QUERIES = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
COMPRESSION = "zstd"


class WorkFolder:
    """Tables of an output beside what was computed on the way to them.

    On a cluster every machine has to see the folder under the same path.
    """

    def __init__(self, folder: Path, spark: SparkSession, *, small: bool = False) -> None:
        self.folder = folder
        self.small = small
        """Whether all of a table is best handled in one place, without bringing anything together first."""
        self._spark = spark

    def keep(self, name: str, frame: DataFrame) -> DataFrame:
        """Compute something once, into the work folder, and return it as it is there.

        What is small stays in memory instead, as long as no other machine, which may be lost, has a share.
        """
        if self.small and re.match(r"local(\[|$)", self._spark.sparkContext.master or ""):
            return frame.coalesce(1).localCheckpoint()
        return self._filed(name, frame)

    def carry(self, name: str, frame: DataFrame) -> DataFrame:
        """Compute something once that a later process reads too."""
        return self._filed(f"carry-{name}", frame)

    def carried(self, name: str) -> Path:
        """Return where something for a later process is."""
        return self.folder / WORK / f"carry-{name}"

    def read_carried(self, name: str) -> DataFrame:
        """Return something for a later process."""
        return self.in_place(self._spark.read.parquet(str(self.carried(name))))

    def _filed(self, name: str, frame: DataFrame) -> DataFrame:
        path = str(self.folder / WORK / name)
        # Read once or twice, these files need not be small.
        frame.write.options(**{"compression": "lz4", "parquet.enable.dictionary": "false"}).parquet(path)
        # An empty table has to keep its columns, so these are not taken from the files.
        return self.in_place(self._spark.read.schema(frame.schema).parquet(path))

    def in_place(self, frame: DataFrame) -> DataFrame:
        """Return a frame in one partition if everything is small: then Spark shuffles nothing."""
        return frame.coalesce(1) if self.small else frame

    def write(self, name: str, frame: DataFrame) -> Path:
        """Write a table of the output."""
        path = self.folder / name
        frame.write.option("compression", COMPRESSION).parquet(str(path))
        tidy(path)
        return path

    def read(self, name: str) -> DataFrame:
        """Read a table of the output."""
        return self.in_place(self._spark.read.parquet(str(self.folder / name)))


def rows_in(folder: Path) -> int:
    """Return how many rows the Parquet files of a folder say that they have."""
    import pyarrow.parquet as pq

    return sum(pq.read_metadata(file).num_rows for file in folder.glob("*.parquet"))


class Workspace(WorkFolder):
    """A context manager: everything is written beside the output folder, and takes its place at the end."""

    def __init__(self, out: Path, spark: SparkSession, *, replace: bool = False, small: bool = False) -> None:
        self.out = out.absolute()
        self._replace = replace
        self._lock: IO[str] | None = None
        super().__init__(self.out, spark, small=small)

    def __enter__(self) -> Workspace:
        check_free(self.out, replace=self._replace)
        self._lock = locked(self.out.with_name(f".{self.out.name}.lock"), self.out)
        self.folder = Path(tempfile.mkdtemp(dir=self.out.parent, prefix=f".{self.out.name}."))
        self.folder.chmod(0o755)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._give_name()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
            if self._lock is not None:
                Path(self._lock.name).unlink(missing_ok=True)
                self._lock.close()

    def _give_name(self) -> None:
        shutil.rmtree(self.folder / WORK, ignore_errors=True)
        aside = self.folder.with_name(f"{self.folder.name}.old")
        try:
            if self.out.exists():
                self.out.rename(aside)
            self.folder.rename(self.out)
        except OSError as error:
            raise CannotKeep(f"cannot write '{self.out}': {error.strerror or error}") from error
        shutil.rmtree(aside, ignore_errors=True)


def locked(file: Path, out: Path) -> IO[str]:
    """Hold a file for this process alone, for as long as it is open."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = file.open("w")
    except OSError as error:
        raise InvalidInput(f"cannot write to '{out}': {error.strerror or error}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise InvalidInput(
            f"the output folder '{out}' is in use by another run (wait for it, or take another folder)"
        ) from None
    return lock


def check_free(out: Path, *, replace: bool) -> None:
    """Refuse an output that holds something else, or an earlier analysis that is not to be replaced."""
    if out.exists() and not out.is_dir():
        raise InvalidInput(f"the output '{out}' is a file (accepted: a new or empty folder)")
    if not out.exists() or not any(out.iterdir()):
        return
    if not (out / "summary.json").exists() or not (out / "messages").is_dir() or (out / ".watch").exists():
        raise InvalidInput(
            f"the output folder '{out}' holds something else (accepted: a new or empty folder)"
        )
    if not replace:
        raise InvalidInput(
            f"the output folder '{out}' holds an analysis"
            " (accepted: a new or empty folder, or --force to replace it)"
        )


def tidy(folder: Path) -> None:
    """Remove what Hadoop leaves beside the data."""
    for file in folder.iterdir():
        if file.name.startswith(("_", ".")):
            file.unlink()


def empty(spark: SparkSession, columns: str) -> DataFrame:
    """Return a table without rows; one made from Python's nothing would start a process to say so."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    schema = StructType.fromDDL(columns)
    assert isinstance(schema, StructType)
    return spark.range(0, 0, numPartitions=1).select(
        *(F.lit(None).cast(one.dataType).alias(one.name) for one in schema.fields)
    )


def at_once(*calls: Callable[[], object]) -> None:
    """Make calls that do not wait for each other, in threads; after a failure no further one is begun."""
    with ThreadPoolExecutor(THREADS) as pool:
        running = [pool.submit(call) for call in calls]
        try:
            for done in as_completed(running):
                done.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


@contextmanager
def partitions_for(spark: SparkSession, events: int) -> Iterator[int]:
    """Let shuffles have as many partitions as so many events need; their number is given."""
    partitions = max(spark.sparkContext.defaultParallelism, events // EVENTS_PER_TASK + 1)
    with _settings(spark, {"spark.sql.shuffle.partitions": str(partitions)}):
        yield partitions


def is_small(size: int | None) -> bool:
    """Tell whether so many bytes are few, as far as that is known."""
    return size is not None and size < SMALL_BYTES


@contextmanager
def little_ado(spark: SparkSession, *, small: bool) -> Iterator[None]:
    """Let Spark neither compile queries nor plan them again while they run, if they are small."""
    with _settings(spark, QUICK_QUERIES if small else {}):
        yield


@contextmanager
def _settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name) or "" for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
