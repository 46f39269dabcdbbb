"""Protocols from outside the package: a file that is named by its path, or an installed entry point.

Theory
    A protocol's file is imported under a name that follows from its text: ``mine.py`` becomes
    ``stablecast_outside_mine_<digest>``.  So two files of the same name do not meet, an edited file is
    imported anew by a process that had imported it before, and compiled code, which is kept by the names and
    texts of kernels, is found again wherever the file lies.
What is refused
    Everything that can be seen before a run: a file that does not parse or import, that has no ``PROTOCOL``,
    that imports a file beside it (a protocol is one file, so that it can be shipped to other machines), that
    declares a field twice, or a message without a kernel.  What is wrong in the ``PROTOCOL`` itself is seen
    by :mod:`stablecast.protocols.contract.checks`.  Each is one line that names the file and the line.
On other machines
    :func:`provide` is given the text of a file, as a sweep ships it, and lets its path stand for a copy where
    the path does not lead to that text.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from stablecast.errors import InvalidInput, StablecastError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from stablecast.protocols.contract import Protocol

ENTRY_POINTS = "stablecast.protocols"
"""The group of entry points by which an installed package names its protocols."""
DIGEST_BYTES = 8

_LOADED: dict[tuple[str, str], Protocol] = {}
"""The protocols of files, by path and digest."""
_SEEN: dict[str, tuple[tuple[int, int], str]] = {}
"""For each path, when its file was changed last and how long it is, and the digest of its text."""
_COPIES: dict[str, Path] = {}
"""Paths of another machine, and the files that stand for them here."""


def is_path(name: str) -> bool:
    """Tell whether a protocol is named by its file."""
    return name.endswith(".py")


def digest_of(path: str) -> str:
    """Return a digest of the text of a protocol's file."""
    file = _COPIES.get(path, Path(path))
    try:
        told = file.stat()
        stamp = (told.st_mtime_ns, told.st_size)
        if path not in _SEEN or _SEEN[path][0] != stamp:
            _SEEN[path] = (stamp, _digest(file.read_bytes()))
    except OSError as error:
        raise InvalidInput(
            f"no protocol '{path}': {error.strerror} (accepted: a Python file, or a name)"
        ) from None
    return _SEEN[path][1]


def text_of(path: str) -> str:
    """Return the text of a protocol's file."""
    file = _COPIES.get(path, Path(path))
    digest_of(path)
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read '{path}': {getattr(error, 'strerror', None) or error}") from None


def _digest(text: bytes) -> str:
    return hashlib.blake2s(text, digest_size=DIGEST_BYTES).hexdigest()


def protocol_of(path: str) -> Protocol:
    """Return the protocol that a file defines; an edited file is imported anew."""
    digest = digest_of(path)
    if (path, digest) not in _LOADED:
        file = _COPIES.get(path, Path(path)).resolve()
        text = text_of(path)
        tree = _parsed(file, text)
        _refuse_neighbours(file, tree)
        _refuse_fields_twice(file, tree)
        module = _imported(file, digest)
        _LOADED[path, digest] = _defined(module, file, tree).replace(file=path)
    return _LOADED[path, digest]


def provide(texts: Mapping[str, str]) -> None:
    """Have paths stand for files of these texts, whether or not they lead to one on this machine."""
    from stablecast.compiling import CACHE_FOLDER

    for path, text in texts.items():
        digest = _digest(text.encode())
        if _leads_to(path, digest):
            continue
        copy = CACHE_FOLDER / "outside" / digest / Path(path).name
        if not copy.exists():
            _write(copy, text)
        _COPIES[path] = copy


def _leads_to(path: str, digest: str) -> bool:
    try:
        return digest_of(path) == digest
    except InvalidInput:
        return False


def _write(file: Path, text: str) -> None:
    """Write a file so that another process sees all of it or nothing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
        stream.write(text)
    Path(beside).replace(file)


# What is wrong with a file


def _parsed(file: Path, text: str) -> ast.Module:
    try:
        return ast.parse(text, str(file))
    except SyntaxError as error:
        raise InvalidInput(f"{file}, line {error.lineno or 1}: not Python: {error.msg}") from None
    except ValueError as error:
        raise InvalidInput(f"{file}: not Python: {error}") from None


def _refuse_neighbours(file: Path, tree: ast.Module) -> None:
    """Refuse to import a file that lies beside this one: it would not be there on other machines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = ["." * node.level + (node.module or "")] if node.level else [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            top = name.partition(".")[0]
            beside = (file.parent / f"{top}.py", file.parent / top / "__init__.py")
            if not top or any(other.exists() and other != file for other in beside):
                raise InvalidInput(
                    f"{file}, line {node.lineno}: imports {name}, a file beside it (accepted: one file;"
                    " what files share goes into an installed package)"
                )


def _refuse_fields_twice(file: Path, tree: ast.Module) -> None:
    """Refuse a class that annotates a name twice; Python itself keeps the last one."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        seen: dict[str, int] = {}
        for each in node.body:
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                name = each.target.id
                if name in seen:
                    raise InvalidInput(
                        f"{file}, line {each.lineno}: field {name} of {node.name} is declared twice, first in"
                        f" line {seen[name]}"
                    )
                seen[name] = each.lineno


def _imported(file: Path, digest: str) -> ModuleType:
    name = f"stablecast_outside_{file.stem}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with naming_lines(str(file)):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@contextmanager
def naming_lines(file: str) -> Iterator[None]:
    """Turn an unexpected exception that goes through a file into one line that names the line there."""
    try:
        yield
    except SystemExit:
        raise InvalidInput(f"{Path(file).resolve()}: leaves Python when it is imported") from None
    except StablecastError as error:
        if not file or str(Path(file).resolve()) in str(error):
            raise
        line = _line_in(file, error)
        if line is None:
            raise
        raise InvalidInput(f"{Path(file).resolve()}, line {line}: {error}") from None
    except Exception as error:
        line = _line_in(file, error)
        if line is None:
            raise
        text = " ".join(f"{type(error).__name__}: {error}".split())
        raise InvalidInput(f"{Path(file).resolve()}, line {line}: {text}") from error


def _line_in(file: str, error: BaseException) -> int | None:
    """Return the innermost line of a file that an exception went through, None if it did not."""
    if not file:
        return None
    wanted = {str(Path(file).resolve()), str(_COPIES.get(file, file))}
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename in wanted]
    return lines[-1] if lines else None


def _defined(module: ModuleType, file: Path, tree: ast.Module) -> Protocol:
    """Return the protocol of a module, and refuse one that lacks a part."""
    from stablecast.protocols.contract import Protocol

    defined = getattr(module, "PROTOCOL", None)
    line = _line_of_assignment(tree, "PROTOCOL") or 1
    if defined is None:
        raise InvalidInput(f"{file}, line 1: defines no PROTOCOL (accepted: PROTOCOL = Protocol(...))")
    if not isinstance(defined, Protocol):
        raise InvalidInput(
            f"{file}, line {line}: PROTOCOL is of type {type(defined).__name__} (accepted: a Protocol)"
        )
    with naming_lines(str(file)):
        _refuse_silent_messages(module, defined, file, tree)
        defined.declaration  # noqa: B018  # refuses what cannot be laid out
    return defined


def _refuse_silent_messages(module: ModuleType, defined: Protocol, file: Path, tree: ast.Module) -> None:
    """Refuse a message of the file that no kernel receives."""
    for name, found in vars(module).items():
        own = isinstance(found, type) and found.__module__ == module.__name__
        if own and hasattr(found, "_fields") and found not in defined.messages:
            lines = [n.lineno for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == name]
            raise InvalidInput(
                f"{file}, line {lines[-1] if lines else 1}: message {name} has no kernel (accepted: an entry"
                f" {name}: on_{name.lower()} in receive)"
            )


def _line_of_assignment(tree: ast.Module, name: str) -> int | None:
    for node in tree.body:
        named: list[Any] = []
        if isinstance(node, ast.Assign):
            named = [getattr(target, "id", "") for target in node.targets]
        elif isinstance(node, ast.AnnAssign):
            named = [getattr(node.target, "id", "")]
        elif isinstance(node, ast.ImportFrom):
            named = [alias.asname or alias.name for alias in node.names]
        if name in named:
            return node.lineno
    return None


def declared_at(protocol: Protocol, word: str) -> str:
    """Return the file and line in which a protocol from outside names something, to begin an error with."""
    if not protocol.file:
        return ""
    lines = text_of(protocol.file).splitlines()
    numbers = [k for k, line in enumerate(lines, 1) if f'"{word}"' in line or f"'{word}'" in line]
    return f"{Path(protocol.file).resolve()}, line {numbers[0] if numbers else 1}: "


# Installed packages


@cache
def installed() -> dict[str, EntryPoint]:
    """Return the entry points of installed packages by name; one that is not usable is a warning."""
    from importlib import metadata

    from stablecast.protocols import protocol_titles

    found: dict[str, EntryPoint] = {}
    for entry in metadata.entry_points(group=ENTRY_POINTS):
        if entry.name in protocol_titles():
            _warn(entry, "the name is taken by a protocol of this package")
        elif entry.name in found and found[entry.name].value != entry.value:
            _warn(entry, f"the name is taken by {found[entry.name].value}")
        else:
            found.setdefault(entry.name, entry)
    return found


@cache
def installed_protocol(name: str) -> Protocol:
    """Return the protocol of an entry point."""
    from stablecast.protocols.contract import Protocol

    entry = installed()[name]
    try:
        defined: Any = entry.load()
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        raise InvalidInput(f"entry point {name} = {entry.value}: {text}") from None
    defined = getattr(defined, "PROTOCOL", defined) if isinstance(defined, ModuleType) else defined
    if not isinstance(defined, Protocol):
        raise InvalidInput(
            f"entry point {name} = {entry.value} is of type {type(defined).__name__} (accepted: a Protocol)"
        )
    if defined.name != name:
        raise InvalidInput(
            f"entry point {name} = {entry.value} is called {defined.name} (accepted: an entry point of that"
            " name)"
        )
    return defined


def installed_digest(name: str) -> str:
    """Return a digest of the source of an installed protocol, empty for one that is not there."""
    if name not in installed():
        return ""
    module = sys.modules[installed_protocol(name).state.__module__]
    return _digest(Path(module.__file__).read_bytes()) if module.__file__ else ""


def installed_titles() -> dict[str, str]:
    """Return the titles of installed protocols by name; those that cannot be loaded are warnings."""
    titles = {}
    for name, entry in installed().items():
        try:
            titles[name] = installed_protocol(name).title
        except InvalidInput as error:
            _warn(entry, str(error))
    return titles


def _warn(entry: EntryPoint, why: str) -> None:
    told = why if why.startswith("entry point") else f"entry point {entry.name} = {entry.value}: {why}"
    warnings.warn(f"{told}; it is left out", ProtocolWarning, stacklevel=2)


class ProtocolWarning(UserWarning):
    """An installed protocol that cannot be used."""
