"""A version of the tables that ``watch`` keeps current: one manifest, which is written last.

In an output, ``.watch/versions/N.json`` is the manifest of the version after part N of the stream.  It names
the files of every table and of the state between parts, by their paths in the output, and holds the summary.
The files are in ``.watch/files``; each is written before a manifest names it, and never changed while one
does.  So whoever has read a manifest has one version, whole, of all tables and the state.

Nothing but this order is asked of the file system: no link, no rename, no lock.  A manifest that a killed
writer left is a beginning of one object of JSON, and no proper beginning of an object is JSON; such a
manifest does not count, and the one before it does.  The writer removes old manifests before it removes files
that only they name, and keeps the last two versions: a reader has the time of a part to open what it found.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pyarrow import fs

from stablecast.errors import InvalidInput

HIDDEN = ".watch"
MANIFESTS, FILES = f"{HIDDEN}/versions", f"{HIDDEN}/files"
_MANIFEST = re.compile(r"(\d+)\.json")


@dataclass(frozen=True)
class State:
    """What there is after a part of the stream, but for tables."""

    part: int
    inputs: tuple[str, ...] = ()
    """Everything that was read so far, in order."""
    final: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The files of each table whose rows will not change."""
    delay_us: int = 0
    linger_us: int = 0
    bad_rows: Mapping[str, int] = field(default_factory=dict)
    rebuilt: int = 0
    """How often everything was computed anew."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What the stream was begun with, and has to go on with."""


@dataclass(frozen=True)
class Version:
    """What a manifest says."""

    tables: Mapping[str, Sequence[str]]
    """The files of each table, by their paths in the output."""
    kept: Mapping[str, str]
    """The file of each table that is kept between parts, likewise."""
    summary: Mapping[str, Any]
    state: State

    @property
    def part(self) -> int:
        """The part after which this is how things are."""
        return self.state.part

    @property
    def files(self) -> set[str]:
        """All files that it names."""
        return {*self.kept.values(), *(file for files in self.tables.values() for file in files)}

    def to_json(self) -> bytes:
        """Return the manifest."""
        return json.dumps(asdict(self)).encode()


def version_of(manifest: bytes) -> Version | None:
    """Return what a manifest says; None if it is not whole."""
    try:
        told = json.loads(manifest)
    except ValueError:
        return None
    try:
        state = told["state"]
        return Version(**{**told, "state": State(**{**state, "inputs": tuple(state["inputs"])})})
    except (KeyError, TypeError):
        raise InvalidInput(
            f"a manifest in '{MANIFESTS}' is not one of this version of stablecast"
            " (accepted: what the same version wrote)"
        ) from None


def manifest_of(part: int) -> str:
    """Return the path of a manifest in the output."""
    return f"{MANIFESTS}/{part:09d}.json"


def part_of(path: str) -> int | None:
    """Return the part that a manifest is of, by its path; None if it is something else."""
    found = _MANIFEST.fullmatch(path.rpartition("/")[2])
    return int(found[1]) if found else None


def manifests_at(files: Any) -> dict[int, str]:
    """Return the parts and the paths of the manifests of an output, the newest first."""
    found = files.get_file_info(fs.FileSelector(MANIFESTS, allow_not_found=True))
    parts = [part for each in found if (part := part_of(each.path)) is not None]
    return {part: manifest_of(part) for part in sorted(parts, reverse=True)}


def read_version(files: Any, path: str) -> Version | None:
    """Return what a manifest of an output says; None if it is not whole."""
    with files.open_input_stream(path) as content:
        return version_of(content.read())


def newest_version(files: Any) -> Version | None:
    """Return the newest version of an output, given as the file system below it; None if there is none."""
    while True:
        try:
            for path in manifests_at(files).values():
                if version := read_version(files, path):
                    return version
        except FileNotFoundError:
            continue  # two parts were done since it was listed
        return None
