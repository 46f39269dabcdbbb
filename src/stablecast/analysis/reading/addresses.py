"""Open files by their paths or addresses with Arrow: of this machine, and of stores that Arrow knows."""

from __future__ import annotations

import errno
import fnmatch
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa
from pyarrow import fs

from stablecast.analysis.reading.heads import head_of, told_in_one_line
from stablecast.analysis.reading.inputs import Input, Inputs, compression_of
from stablecast.errors import InvalidInput

_ADDRESS = re.compile(r"([a-zA-Z][\w+.-]+)://")
_SAME = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}
"""Names that Spark has for what Arrow calls otherwise."""
_PATTERN = re.compile(r"[*?\[]")


def can_open(address: str) -> bool:
    """Tell whether Arrow can open an address from here: its store is known and reached, and it is there."""
    try:
        return bool(_files_at(address))
    except (OSError, pa.ArrowException, InvalidInput, ValueError):
        return False


def opened(address: str) -> pa.NativeFile:
    """Open a file for reading from any place in it."""
    system, path = _system(address)
    return system.open_input_file(path)


def size_of(address: str) -> int:
    """Return how many bytes a file has."""
    system, path = _system(address)
    info = system.get_file_info(path)
    if info.type != fs.FileType.File:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    return int(info.size)


def looked_into(inputs: Inputs) -> Inputs:
    """Return inputs with the files of every folder and pattern of an address, each with its head."""
    files: list[Input] = []
    for file in inputs.files:
        files += [file] if file.head is not None else _described(file)
    return Inputs(tuple(files))


def _described(given: Input) -> Iterator[Input]:
    with told_in_one_line(given.name):
        found = _files_at(given.path)
    if not found:
        raise InvalidInput(f"'{given.name}' does not exist")
    for address in found:
        with told_in_one_line(address), opened(address) as content:
            head = head_of(content, address, given.format, compression_of(address), address)
        yield replace(given, path=address, name=address, head=head)


def _system(address: str) -> tuple[Any, str]:
    found = _ADDRESS.match(address)
    if found is None:
        return fs.LocalFileSystem(), address
    scheme = found[1].lower()
    try:
        system, path = fs.FileSystem.from_uri(f"{_SAME.get(scheme, scheme)}{address[len(found[1]) :]}")
    except pa.ArrowInvalid as error:
        raise InvalidInput(f"cannot open '{address}': {' '.join(str(error).split())}") from None
    return system, path


def _files_at(address: str) -> list[str]:
    """Return the addresses of the files that an address stands for: a file, a folder or a pattern."""
    root, pattern = _split_pattern(address)
    system, path = _system(root)
    info = system.get_file_info(path)
    if info.type == fs.FileType.File:
        return [address]
    if info.type != fs.FileType.Directory:
        return []
    below = system.get_file_info(fs.FileSelector(path, recursive=True))
    names = [each.path for each in below if each.type == fs.FileType.File]
    inner = sorted(name[len(path) :].lstrip("/") for name in names)
    wanted = [name for name in inner if _is_wanted(name, pattern)]
    return [f"{root.rstrip('/')}/{name}" for name in wanted]


def _split_pattern(address: str) -> tuple[str, str]:
    found = _PATTERN.search(address)
    if found is None:
        return address, ""
    slash = address.rindex("/", 0, found.start())
    return address[:slash], address[slash + 1 :]


def _is_wanted(name: str, pattern: str) -> bool:
    path = PurePosixPath(name)
    if any(part.startswith((".", "_")) for part in path.parts):
        return False
    steps = PurePosixPath(pattern).parts
    if len(path.parts) < len(steps):
        return False
    return all(fnmatch.fnmatchcase(part, step) for part, step in zip(path.parts, steps, strict=False))
