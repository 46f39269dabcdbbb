"""Files at any address that Spark knows, for Arrow: through Hadoop's file systems in the driver's Java.

Arrow opens files of this machine, S3, Google's and Azure's stores itself, which is faster, with settings of
its own (environment variables).  Where it does not get to, the session's Spark lends its file system, with
the session's settings: bytes travel between Java and Python as text, some tens of megabytes a second.  Only a
classic session has its Java at hand; one of Spark Connect lends nothing.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyarrow import fs

from stablecast.analysis.reading.addresses import arrow_system, can_reach, split_address
from stablecast.errors import InvalidInput
from stablecast.pipeline.session import first_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AT_A_TIME = 4 << 20
"""Bytes that pass between Java and Python in one call."""


class SessionSystems:
    """Finds the file system of a path or an address: Arrow's own where it gets there, else the session's."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._lent: dict[str, Any] = {}

    def __call__(self, address: str) -> tuple[Any, str]:
        """Return the file system of a path or an address, and the path there."""
        root, path = split_address(address)
        if root not in self._lent:
            self._lent[root] = None if not root or can_reach(address) else self._lend(address, root)
        lent = self._lent[root]
        return arrow_system(address) if lent is None else (lent, f"/{path}")

    def _lend(self, address: str, root: str) -> Any:
        if getattr(self._spark, "_jsparkSession", None) is None:
            raise InvalidInput(
                f"'{address}' cannot be opened from here, and a session of Spark Connect cannot lend its file"
                " systems (accepted: a classic session, or an address that Arrow can open)"
            )
        return fs.PyFileSystem(HadoopFiles(self._spark, root))


class HadoopFiles(fs.FileSystemHandler):  # type: ignore[misc]
    """What Arrow asks of a file system, asked of one of Hadoop's; paths begin with a slash."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self._root = root
        self._path_class = spark._jvm.org.apache.hadoop.fs.Path  # type: ignore[union-attr]
        conf = spark._jsparkSession.sessionState().newHadoopConf()
        self._system = self._path("/").getFileSystem(conf)

    def get_type_name(self) -> str:
        """Return what kind of file system this is."""
        return "hadoop"

    def normalize_path(self, path: str) -> str:
        """Return a path as it is."""
        return path

    def get_file_info(self, paths: Sequence[str]) -> list[fs.FileInfo]:
        """Tell what is at each of some paths."""
        return [self._info(path) for path in paths]

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        """Tell what is in a folder, and in the folders in it if asked to."""
        try:
            found = self._listed(selector.base_dir)
        except FileNotFoundError:
            if selector.allow_not_found:
                return []
            raise
        folders = [each for each in found if each.type == fs.FileType.Directory] if selector.recursive else []
        for folder in folders:
            inner = fs.FileSelector(folder.path, allow_not_found=True, recursive=True)
            found += self.get_file_info_selector(inner)
        return found

    def create_dir(self, path: str, recursive: bool) -> None:
        """Make a folder, and those above it."""
        with _told(path):
            self._system.mkdirs(self._path(path))

    def delete_dir(self, path: str) -> None:
        """Remove a folder with all that is in it."""
        self._delete(path)

    def delete_file(self, path: str) -> None:
        """Remove a file."""
        self._delete(path)

    def open_input_stream(self, path: str) -> pa.NativeFile:
        """Open a file for reading."""
        return self.open_input_file(path)

    def open_input_file(self, path: str) -> pa.NativeFile:
        """Open a file for reading from any place in it."""
        with _told(path):
            size = self._system.getFileStatus(self._path(path)).getLen()
            return pa.PythonFile(_Reader(self._system.open(self._path(path)), size, path), "r")

    def open_output_stream(self, path: str, metadata: Any) -> pa.NativeFile:
        """Open a file for writing, in the place of one that may be there."""
        with _told(path):
            return pa.PythonFile(_Writer(self._system.create(self._path(path), True), path), "w")

    def delete_dir_contents(self, path: str, missing_dir_ok: bool) -> NoReturn:
        """Nobody here asks for it."""
        raise NotImplementedError

    def delete_root_dir_contents(self) -> NoReturn:
        """Nobody here asks for it."""
        raise NotImplementedError

    def move(self, src: str, dest: str) -> NoReturn:
        """Nobody here asks for it."""
        raise NotImplementedError

    def copy_file(self, src: str, dest: str) -> NoReturn:
        """Nobody here asks for it."""
        raise NotImplementedError

    def open_append_stream(self, path: str, metadata: Any) -> NoReturn:
        """Nobody here asks for it."""
        raise NotImplementedError

    def _path(self, path: str) -> Any:
        return self._path_class(f"{self._root}/{path.lstrip('/')}")

    def _info(self, path: str) -> fs.FileInfo:
        try:
            with _told(path):
                return _described(path, self._system.getFileStatus(self._path(path)))
        except FileNotFoundError:
            return fs.FileInfo(path, fs.FileType.NotFound)

    def _listed(self, folder: str) -> list[fs.FileInfo]:
        with _told(folder):
            found = self._system.listStatus(self._path(folder))
            return [_described(f"{folder.rstrip('/')}/{each.getPath().getName()}", each) for each in found]

    def _delete(self, path: str) -> None:
        with _told(path):
            if not self._system.delete(self._path(path), True):
                raise _absent(path)


class _Reader:
    """A file of Hadoop's as Python has them, for reading."""

    def __init__(self, stream: Any, size: int, path: str) -> None:
        self._stream, self._size, self._path = stream, size, path
        self._place = self._place_in_java = 0
        self.closed = False

    def read(self, count: int = -1) -> bytes:
        """Return as many bytes as asked for, or all up to the end."""
        left = max(self._size - self._place, 0)
        wanted = left if count is None or count < 0 else min(count, left)
        parts = []
        with _told(self._path):
            if wanted and self._place != self._place_in_java:
                self._stream.seek(self._place)
            while wanted:
                part = bytes(self._stream.readNBytes(min(wanted, AT_A_TIME)))
                if not part:
                    raise OSError(errno.EIO, "it is shorter than it was", self._path)
                parts.append(part)
                wanted -= len(part)
                self._place += len(part)
                self._place_in_java = self._place
        return b"".join(parts)

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        self._place = place + {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}[whence]
        return self._place

    def tell(self) -> int:
        """Return the place."""
        return self._place

    def close(self) -> None:
        """Let go of the file."""
        if not self.closed:
            self.closed = True
            self._stream.close()


class _Writer:
    """A file of Hadoop's as Python has them, for writing; few large calls are made of many small ones."""

    def __init__(self, stream: Any, path: str) -> None:
        self._stream, self._path = stream, path
        self._waiting = bytearray()
        self._written = 0
        self.closed = False

    def write(self, data: Any) -> int:
        """Take some bytes."""
        taken = memoryview(data).nbytes
        self._waiting += data
        while len(self._waiting) >= AT_A_TIME:
            self._pass_on(AT_A_TIME)
        return taken

    def flush(self) -> None:
        """Leave it to the end."""

    def tell(self) -> int:
        """Return how much was written."""
        return self._written + len(self._waiting)

    def close(self) -> None:
        """Write what is left; with many stores the file appears now."""
        if not self.closed:
            self.closed = True
            self._pass_on(len(self._waiting))
            with _told(self._path):
                self._stream.close()

    def _pass_on(self, count: int) -> None:
        with _told(self._path):
            self._stream.write(bytes(self._waiting[:count]))
        del self._waiting[:count]
        self._written += count


def _described(path: str, status: Any) -> fs.FileInfo:
    if status.isDirectory():
        return fs.FileInfo(path, fs.FileType.Directory)
    return fs.FileInfo(path, fs.FileType.File, size=status.getLen())


def _absent(path: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Turn Java's errors into those that Python has for files."""
    try:
        yield
    except Py4JJavaError as error:
        if error.java_exception.getClass().getName() == "java.io.FileNotFoundException":
            raise _absent(path) from None
        raise OSError(errno.EIO, first_line(error), path) from error
