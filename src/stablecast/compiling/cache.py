"""The folder of compiled code, which notices every edit, and which nobody else can write to.

numba keys its cache on the file that holds a function, and does not see that a function which that one
calls was edited elsewhere.  The folder is therefore named by a digest of all the sources that hold kernels:
an edit anywhere opens a new, empty folder.  It has to be named before numba is imported.

Why the folder has to be private
    What numba keeps are pickles, and generated sources lie beside them: whoever can write into the folder has
    their code run by this user.  A folder is used only if this user owns it and nobody else may write to it,
    and if nobody else can put another one in its place: every folder above it belongs to this user or to
    root, and can be written to by nobody else, or has the sticky bit, as ``/tmp`` has.  Links on the way have
    to belong to this user or to root, and lead to a folder of which the same is true.
What is used
    The first safe one of ``STABLECAST_CACHE_DIR``, the user's cache folder and one in the temporary folder.
    Without any, a new folder is made for this process and removed when it ends: everything is compiled anew.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import logging
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
UNUSED_SECONDS = 30 * 24 * 3600
KERNEL_PACKAGES = ("compiling", "frontier", "delivery", "overlays", "protocols", "multicast", "simulate")
WITHOUT_KERNELS = ("simulate/plain", "simulate/live")
"""Packages inside of these that are plain Python: an edit there leaves compiled code as it is."""
PRIVATE = 0o700
OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
ROOT = 0

_log = logging.getLogger(__name__)


def sources_digest() -> str:
    """Return a short digest of every source file that may hold a kernel."""
    digest = hashlib.blake2s(sys.version.encode())
    files = [file for package in KERNEL_PACKAGES for file in sorted((PACKAGE / package).rglob("*.py"))]
    plain = tuple(PACKAGE / package for package in WITHOUT_KERNELS)
    for file in files:
        if file.parent in plain:
            continue
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def why_unsafe(folder: Path) -> str:
    """Make a folder, unless it is there, and say why it cannot be used; nothing if it can.

    Folders are looked at from the root on, each before the next one is made, so none that was found to be
    safe can be replaced meanwhile by somebody else.
    """
    folder = folder.absolute()
    try:
        for step in (*reversed(folder.parents), folder):
            why = _why_unsafe_step(step, is_last=step == folder)
            if why:
                return why
        real = Path(os.path.realpath(folder))
        if real != folder:
            return why_unsafe(real)
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return f"'{error.filename or folder}' cannot be used: {error.strerror}"


def _why_unsafe_step(step: Path, *, is_last: bool) -> str:
    if not step.is_dir():
        with contextlib.suppress(FileExistsError):
            step.mkdir(PRIVATE)
    found = step.lstat()
    if found.st_uid != os.getuid() and (is_last or found.st_uid != ROOT):
        return f"'{step}' belongs to another user"
    if stat.S_ISLNK(found.st_mode):
        return ""  # where it leads is looked at afterwards
    if not stat.S_ISDIR(found.st_mode):
        return f"'{step}' is not a folder"
    if found.st_mode & OTHERS_MAY_WRITE and (is_last or not found.st_mode & stat.S_ISVTX):
        return f"others may write to '{step}'"
    return ""


def _forget_unused(base: Path, digest: str) -> None:
    """Mark the folder as used, and remove those of sources that nobody has run for a month."""
    (base / digest).touch()
    long_ago = (base / digest).stat().st_mtime - UNUSED_SECONDS
    for folder in base.iterdir():
        is_ours = len(folder.name) == len(digest) and set(folder.name) <= set("0123456789abcdef")
        if is_ours and folder.is_dir() and folder.stat().st_mtime < long_ago:
            shutil.rmtree(folder, ignore_errors=True)


def _places() -> list[Path]:
    """Return where compiled code may be kept, best first."""
    override = os.environ.get("STABLECAST_CACHE_DIR")
    user_cache = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    shared = Path(tempfile.gettempdir()) / f"stablecast-{os.getuid()}"
    return [*([Path(override)] if override else []), user_cache / "stablecast", shared]


def cache_folder() -> Path:
    """Return the folder of compiled code for the sources as they are now, creating it."""
    digest, reasons = sources_digest(), []
    for base in _places():
        # Launchers and tables of routes lie beside the folder, so all of the place has to be safe.
        why = why_unsafe(base) or why_unsafe(base / digest)
        if not why:
            _forget_unused(base, digest)
            return base / digest
        reasons.append(why)
        _log.info("compiled code is not kept there: %s", why)
    _log.warning("compiled code is not kept: %s", "; ".join(reasons))
    folder = _for_this_process() / digest
    folder.mkdir(PRIVATE)
    return folder


def _for_this_process() -> Path:
    """Return a new folder that goes when this process ends; a fork of it leaves the folder alone."""
    base, owner = Path(tempfile.mkdtemp(prefix="stablecast-")), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:
            shutil.rmtree(base, ignore_errors=True)

    atexit.register(remove)
    return base


CACHE_FOLDER = cache_folder()
if "numba" not in sys.modules:
    os.environ["NUMBA_CACHE_DIR"] = str(CACHE_FOLDER)
