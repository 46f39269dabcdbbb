"""The folder of compiled code, which notices every edit.

numba keys its cache on the file that holds a function, and does not see that a function which that one
calls was edited elsewhere.  The folder is therefore named by a digest of all the sources that hold kernels:
an edit anywhere opens a new, empty folder.  It has to be named before numba is imported.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
UNUSED_SECONDS = 30 * 24 * 3600
KERNEL_PACKAGES = ("compiling", "delivery", "frontier", "overlays", "protocols", "multicast", "simulate")


def sources_digest() -> str:
    """Return a short digest of every source file that may hold a kernel."""
    digest = hashlib.blake2s(sys.version.encode())
    files = [file for package in KERNEL_PACKAGES for file in sorted((PACKAGE / package).rglob("*.py"))]
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _forget_unused(base: Path, digest: str) -> None:
    """Mark the folder as used, and remove those of sources that nobody has run for a month."""
    (base / digest).touch()
    long_ago = (base / digest).stat().st_mtime - UNUSED_SECONDS
    for folder in base.iterdir():
        is_ours = len(folder.name) == len(digest) and set(folder.name) <= set("0123456789abcdef")
        if is_ours and folder.is_dir() and folder.stat().st_mtime < long_ago:
            shutil.rmtree(folder, ignore_errors=True)


def cache_folder() -> Path:
    """Return the folder of compiled code for the sources as they are now, creating it.

    ``STABLECAST_CACHE_DIR`` overrides the place; otherwise the user's cache folder is used, and a private
    temporary folder where that cannot be written.
    """
    digest = sources_digest()
    override = os.environ.get("STABLECAST_CACHE_DIR")
    user_cache = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    for base in (override, Path(user_cache) / "stablecast"):
        if base and _writable(Path(base) / digest):
            _forget_unused(Path(base), digest)
            return Path(base) / digest
    fallback = Path(tempfile.gettempdir()) / f"stablecast-{os.getuid()}" / digest
    fallback.mkdir(mode=0o700, parents=True, exist_ok=True)
    return fallback


CACHE_FOLDER = cache_folder()
if "numba" not in sys.modules:
    os.environ["NUMBA_CACHE_DIR"] = str(CACHE_FOLDER)
