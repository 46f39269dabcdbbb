"""A protocol's kernels as drivers call them: what hands out messages, and entry points for machines.

numba keeps machine code on disk only for functions of a file, so the entry points are written to a file of
their own in the cache's folder, once for each protocol, and the protocol's kernels are put into it as globals
before it is run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from stablecast.compiling.cache import CACHE_FOLDER, PACKAGE
from stablecast.compiling.view_calls import letter_at, member_at, outbox_at, read
from stablecast.protocols.contract.kernels import kernel
from stablecast.protocols.contract.protocol import Protocol

CALLS = ("init", "start", "timer", "leave")
OTHER_CALLS = (*CALLS, "gone", "joined", "channel", "attach", "take", "hear")
DISPATCH = '''"""Hands the messages of {name} to their kernels; written by stablecast."""


@kernel
def receive(me, letter, now, out):
    """Hand a message to the kernel for it."""
{receive}
'''
ENTRIES = '''"""Entry points of {name} for machines; written by stablecast."""
{calls}

@kernel
def gone(address, number, member, column, now):
    """Tell a member that another one is gone."""
    _gone(member_at(_layout, address, number), member, column, now, outbox_at(_layout, address, number))


@kernel
def joined(address, number, member, now):
    """Tell a member that another one has joined."""
    _joined(member_at(_layout, address, number), member, now, outbox_at(_layout, address, number))


@kernel
def channel(address, number, what, member, column, connection, now):
    """Tell a member of a channel to open, or closed."""
    me, out = member_at(_layout, address, number), outbox_at(_layout, address, number)
    _channel(me, what, member, column, connection, now, out)


@kernel
def attach(address, number, column, sequence, now):
    """Put something into a data message."""
    return _attach(member_at(_layout, address, number), column, sequence, now)


@kernel
def take(address, number, column, source, before, now):
    """Tell a member that a column's prefix has grown."""
    me, out = member_at(_layout, address, number), outbox_at(_layout, address, number)
    _take(me, column, source, before, now, out)


@kernel
def hear(address, number, source, now):
    """Tell a member of a sign of life."""
    _hear(member_at(_layout, address, number), source, now)


@kernel
def receive(address, number, kind, source, numbers, array, now):
    """Give a member a message."""
    letter = letter_at(_layout, address, kind, source, numbers, array)
    _receive(member_at(_layout, address, number), letter, now, outbox_at(_layout, address, number))
'''
CALL = '''

@kernel
def {call}(address, number, now):
    """Call a member's {call}."""
    _{call}(member_at(_layout, address, number), now, outbox_at(_layout, address, number))
'''


def dispatch_source(protocol: Protocol) -> str:
    """Return the text of the function that hands messages to their kernels."""
    branches = [
        f"    if letter.kind == {k}:\n"
        f"        _on_{k}(me, letter.source, read(letter, _message_{k}), now, out)\n"
        "        return"
        for k in range(len(protocol.messages))
    ]
    return DISPATCH.format(name=protocol.name, receive="\n".join(branches))


def entries_source(protocol: Protocol) -> str:
    """Return the text of the entry points for machines, which take whole numbers alone."""
    return ENTRIES.format(name=protocol.name, calls="".join(CALL.format(call=call) for call in CALLS))


def globals_of(protocol: Protocol) -> dict[str, Any]:
    """Return what that text refers to."""
    kernels = protocol.kernels
    found: dict[str, Any] = {"kernel": kernel, "read": read}
    found |= {"member_at": member_at, "outbox_at": outbox_at, "letter_at": letter_at}
    for call in OTHER_CALLS:
        found[f"_{call}"] = getattr(kernels, call)
    for k, (message, on) in enumerate(kernels.receive.items()):
        found[f"_on_{k}"], found[f"_message_{k}"] = on, message
    return found


@cache
def identity(protocol: Protocol) -> str:
    """Return a name for files that belong to a protocol's state and kernels; protocols may share these.

    Sources inside the package are part of the folder's name; those outside are told by their text.
    """
    state, kernels = protocol.state, protocol.kernels
    parts = [f"{state.__module__}.{state.__qualname__}", *protocol.kinds]
    parts += [name for name, _ in protocol.declaration.layout(wide=False).params]
    for function in (*kernels.receive.values(), *(getattr(kernels, call) for call in OTHER_CALLS)):
        parts += list(_told(function))
    digest = hashlib.blake2s("\n".join(parts).encode(), digest_size=8).hexdigest()
    return f"{state.__module__.rpartition('.')[2]}_{digest}"


def _told(function: Any) -> Iterator[str]:
    """Yield what tells a kernel from another: its name, what it closes over, and foreign source."""
    plain = getattr(function, "py_func", function)
    yield f"{plain.__module__}.{plain.__qualname__}"
    file = Path(plain.__code__.co_filename)
    if PACKAGE not in file.parents:
        yield _text_of(file)
        yield from (_text_of(other) for other in _foreign_files(plain, {file}))
    for cell in plain.__closure__ or ():
        held = cell.cell_contents
        if callable(getattr(held, "py_func", held)) and not isinstance(held, type):
            yield from _told(held)
        else:
            yield repr(held)


def _foreign_files(plain: Any, seen: set[Path]) -> Iterator[Path]:
    """Yield the files, outside the package, of the kernels that a foreign kernel calls by name."""
    for name in plain.__code__.co_names:
        called = getattr(plain.__globals__.get(name), "py_func", None)
        if called is None:
            continue
        file = Path(called.__code__.co_filename)
        if file not in seen and PACKAGE not in file.parents:
            seen.add(file)
            yield file
            yield from _foreign_files(called, seen)


@cache
def _text_of(file: Path) -> str:
    return hashlib.blake2s(file.read_bytes()).hexdigest() if file.exists() else str(file)


def dispatch_of(protocol: Protocol) -> Any:
    """Return ``receive(me, letter, now, out)``, which hands a message to the kernel for it."""
    protocol.declaration  # noqa: B018  # messages are laid out before a kernel that sends one is compiled
    return load_written(
        f"stablecast_dispatch_{identity(protocol)}", dispatch_source(protocol), protocol
    ).receive


def bind(protocol: Protocol, *, wide: bool) -> ModuleType:
    """Return the module of a protocol's entry points; machine code is found again in later processes."""
    layout = protocol.declaration.layout(wide=wide)
    more = {"_layout": layout, "_receive": dispatch_of(protocol)}
    name = f"stablecast_machine_{identity(protocol)}_{64 if wide else 32}"
    return load_written(name, entries_source(protocol), protocol, **more)


_LOADED: dict[str, ModuleType] = {}
_LOADING = threading.RLock()


def load_written(name: str, text: str, protocol: Protocol, **more: Any) -> ModuleType:
    """Write a module into the cache's folder, unless it is there, and load it with a protocol's kernels."""
    with _LOADING:
        return _loaded(name, text, protocol, more)


def _loaded(name: str, text: str, protocol: Protocol, more: dict[str, Any]) -> ModuleType:
    if name not in _LOADED:
        file = written(name, text)
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        module.__dict__.update(globals_of(protocol) | more)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        _LOADED[name] = module
    return _LOADED[name]


@cache
def written(name: str, text: str) -> Path:
    """Write a file so that another process sees all of it or nothing; the first writer wins."""
    file = CACHE_FOLDER / f"{name}.py"
    if not file.exists():
        handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=file.name)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        try:
            os.link(temporary, file)
        except FileExistsError:
            pass
        finally:
            Path(temporary).unlink()
    return file
