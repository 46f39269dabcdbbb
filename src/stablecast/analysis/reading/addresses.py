"""Open files by their paths or addresses: of this machine, of stores that Arrow knows, or of others.

An address is ``SCHEME://AUTHORITY/PATH``, taken literally as Spark takes it: nothing in it is decoded.  Which
file system an address is on is told by :data:`Systems`; by default it is Arrow's own.
"""

from __future__ import annotations

import errno
import fnmatch
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa
from pyarrow import fs

from stablecast.analysis.reading.heads import head_of, told_in_one_line
from stablecast.analysis.reading.inputs import Input, Inputs, compression_of
from stablecast.errors import InvalidInput

Systems = Callable[[str], tuple[Any, str]]
"""Gives the file system that a path or an address is on, and its path there."""
_ADDRESS = re.compile(r"([a-zA-Z][\w+.-]+):/(?:/([^/]*))?/*(.*)", re.DOTALL)
_SAME = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}
"""Names that Spark has for what Arrow calls otherwise."""
_SETTINGS = {"gs": "?retry_limit_seconds=30"}
"""Else Arrow tries for a quarter of an hour to reach a store that cannot be reached."""
_PATTERN = re.compile(r"[*?\[]")


def split_address(address: str) -> tuple[str, str]:
    """Return ``SCHEME://AUTHORITY``, nothing for a path of this machine, and the path below it."""
    found = _ADDRESS.match(address)
    if found is None:
        return "", address
    return f"{found[1]}://{found[2] or ''}", found[3].rstrip("/")


def arrow_system(address: str) -> tuple[Any, str]:
    """Return the file system of a path of this machine, or of an address that Arrow knows."""
    root, path = split_address(address)
    if not root:
        return fs.LocalFileSystem(), path
    try:
        system, above = _arrow_root(root)
    except pa.ArrowInvalid as error:
        raise InvalidInput(f"cannot open '{address}': {' '.join(str(error).split())}") from None
    return system, f"{above.rstrip('/')}/{path}" if path else above


def can_reach(address: str) -> bool:
    """Tell whether Arrow reaches an address from here, or, if nothing is there, its bucket or root."""
    try:
        return _is_there(address) or _is_there(split_address(address)[0] or "/")
    except (OSError, pa.ArrowException, ValueError):
        return False


def can_open(address: str) -> bool:
    """Tell whether Arrow can open an address from here: its store is known and reached, and it is there."""
    try:
        return bool(_files_at(address, arrow_system))
    except (OSError, pa.ArrowException, ValueError):
        return False


def opened(address: str, systems: Systems = arrow_system) -> pa.NativeFile:
    """Open a file for reading from any place in it."""
    system, path = systems(address)
    return system.open_input_file(path)


def size_of(address: str, systems: Systems = arrow_system) -> int:
    """Return how many bytes a file has."""
    system, path = systems(address)
    info = system.get_file_info(path)
    if info.type != fs.FileType.File:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    return int(info.size)


def looked_into(inputs: Inputs, systems: Systems = arrow_system) -> Inputs:
    """Return inputs with the files of every folder and pattern of an address, each with its head."""
    files: list[Input] = []
    for file in inputs.files:
        files += [file] if file.head is not None else _described(file, systems)
    return Inputs(tuple(files))


def _is_there(address: str) -> bool:
    system, path = arrow_system(address)
    return bool(system.get_file_info(path).type != fs.FileType.NotFound)


@lru_cache
def _arrow_root(root: str) -> tuple[Any, str]:
    """Return Arrow's file system for the root of a store; to make one may ask the store for its region."""
    scheme, _, authority = root.partition("://")
    known_as = _SAME.get(scheme.lower(), scheme.lower())
    system, path = fs.FileSystem.from_uri(f"{known_as}://{authority}/{_SETTINGS.get(known_as, '')}")
    return system, path


def _described(given: Input, systems: Systems) -> Iterator[Input]:
    with told_in_one_line(given.name):
        found = _files_at(given.path, systems)
    if not found:
        raise InvalidInput(f"'{given.name}' does not exist")
    for address in found:
        with told_in_one_line(address), opened(address, systems) as content:
            head = head_of(content, address, given.format, compression_of(address), address)
        yield replace(given, path=address, name=address, head=head)


def _files_at(address: str, systems: Systems) -> list[str]:
    """Return the addresses of the files that an address stands for: a file, a folder or a pattern."""
    system, path = systems(address)
    # A name may have signs of a pattern in it.
    if system.get_file_info(path).type == fs.FileType.File:
        return [address]
    root, pattern = _split_pattern(address)
    system, path = systems(root)
    if system.get_file_info(path).type != fs.FileType.Directory:
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
