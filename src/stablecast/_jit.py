"""Compilation of kernels, with a cache on disk that notices every edit.

numba keys its cache on the file that holds a function, and does not see that a function which that one
calls was edited elsewhere.  The cache folder is therefore named by a digest of all the sources that hold
kernels: an edit anywhere opens a new, empty folder.  It has to be named before numba is imported, which is
why no module of this package imports numba but this one.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parent
UNUSED_SECONDS = 30 * 24 * 3600
KERNEL_PACKAGES = ("frontier", "overlays", "protocols", "multicast", "simulate")


def sources_digest() -> str:
    """Return a short digest of every source file that may hold a kernel."""
    digest = hashlib.blake2s(sys.version.encode())
    files = [Path(__file__), Path(__file__).with_name("_jit_callees.py")]
    for package in KERNEL_PACKAGES:
        files += sorted((PACKAGE / package).rglob("*.py"))
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

import numba  # noqa: E402

from stablecast._jit_callees import put_off_code_of_callees  # noqa: E402

numba.config.CACHE_DIR = str(CACHE_FOLDER)  # type: ignore[attr-defined]


def kernel(function: F) -> F:
    """Compile a function over NumPy arrays and scalars; it stays callable from Python.

    Kernels borrow the arrays that they are given and never allocate, so reference counts, which would be
    most of the time of a small one, are left out.
    """
    return _compile(function)


def inlined(function: F) -> F:
    """Compile a kernel into each of its callers: for the steps of every event, where a call would show."""
    return _compile(function, forceinline=True)


def _compile(function: F, **options: bool) -> F:
    njit: Any = numba.njit
    compiled: Any = njit(cache=True, nogil=True, error_model="numpy", _nrt=False, **options)(function)
    if hasattr(compiled, "get_call_template"):
        _take_any_whole_number(compiled)
        put_off_code_of_callees(compiled)
    kept: F = compiled
    return kept


def compile_for(function: Any, *arguments: Any) -> None:
    """Compile a kernel for calls with arguments like these; without compilation there is nothing to do."""
    if hasattr(function, "compile"):
        typeof: Any = numba.typeof
        function.compile(tuple(typeof(argument) for argument in arguments))


def _take_any_whole_number(compiled: Any) -> None:
    """Let calls with a constant, or with a shorter whole number, share the code for 64-bit numbers.

    numba would compile a function, and all that it calls, anew for each constant that it is called with; the
    event loop then took twice as long to compile.
    """
    resolve = compiled.get_call_template

    def resolve_widened(args: Any, kws: Any) -> Any:
        return resolve([_widened(kind) for kind in args], {name: _widened(kws[name]) for name in kws})

    compiled.get_call_template = resolve_widened


def _widened(kind: Any) -> Any:
    kinds: Any = numba.types
    kind = kinds.unliteral(kind)
    return kinds.int64 if kind in (kinds.int8, kinds.int16, kinds.int32) else kind
