"""Results of runs that were made before, in a file for each network and traffic, beside the compiled code.

A run is its options, and the same options give the same result as long as the sources are the same: so the
file's name has a digest of these, and a line has the options' digest.  Lines are only ever added, whole, so
processes that add at the same time do no harm, and a line that was cut off is passed over.  Where the folder
cannot be written to, nothing is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from stablecast.advisor.measuring import Measured, Run, from_row, to_row
from stablecast.advisor.question import Question

FOLDER = "advice"
UNUSED_S = 30 * 24 * 3600
PLAIN_PACKAGES = ("engine", "membership", "multicast", "simulate/live", "simulate/plain")
MEASURING = "advisor/measuring.py"


@cache
def version() -> str:
    """Return a digest of the sources that a result depends on."""
    from stablecast.compiling.cache import PACKAGE, sources_digest

    digest = hashlib.blake2s(sources_digest().encode(), digest_size=8)
    files = [file for each in PLAIN_PACKAGES for file in sorted((PACKAGE / each).glob("*.py"))]
    for file in [*files, PACKAGE / MEASURING]:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def key_of(run: Run) -> str:
    """Return what tells a run from others."""
    return hashlib.blake2s(json.dumps(run.options).encode(), digest_size=12).hexdigest()


class Kept:
    """The results of one question's runs."""

    def __init__(self, question: Question, folder: Path | None = None) -> None:
        self._folder = _folder() if folder is None else folder
        self._file = self._folder / f"{question.digest}-{version()}.jsonl"
        self._found = dict(self._lines())

    def __len__(self) -> int:
        return len(self._found)

    def get(self, run: Run) -> Measured | None:
        """Return a run's result, if it is there."""
        return self._found.get(key_of(run))

    def add(self, run: Run, found: Measured) -> None:
        """Keep a result."""
        key = key_of(run)
        self._found[key] = found
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, to_row(found)]) + "\n")

    def _lines(self) -> Iterable[tuple[str, Measured]]:
        try:
            text = self._file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return
        for line in text.splitlines():
            try:
                key, row = json.loads(line)
                yield key, from_row(row)
            except (ValueError, TypeError):
                continue


def _folder() -> Path:
    from stablecast.compiling.cache import CACHE_FOLDER

    folder = CACHE_FOLDER.parent / FOLDER
    long_ago = time.time() - UNUSED_S
    with contextlib.suppress(OSError):
        for file in folder.glob("*.jsonl"):
            if file.stat().st_mtime < long_ago:
                file.unlink(missing_ok=True)
    return folder
