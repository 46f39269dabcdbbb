"""A copy of the event loop for each protocol, kept with the compiled code that belongs to it."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType

from stablecast.compiling import CACHE_FOLDER
from stablecast.protocols.contract import Protocol

TEMPLATE = Path(__file__).with_name("loop.py")
MARKS = ("  # the protocol", "  # its attach", "  # its take")
"""What ends the lines of the template that are replaced."""


def specialised_source(protocol: Protocol) -> str:
    """Return the loop's source with the imports of this protocol's kernels."""
    kernels = kernel_module(protocol)
    imports = [f"from {kernels} import handle_timer, init, receive, start"]
    for name, has in (("attach", protocol.attaches), ("take", protocol.takes)):
        if has or protocol.family:
            imports.append(f"from {kernels} import {name}")
        else:
            imports.append(f"from stablecast.protocols.contract.kernels import no_{name} as {name}")
    lines = TEMPLATE.read_text(encoding="utf-8").splitlines()
    for mark, line in zip(MARKS, imports, strict=True):
        marked = [number for number, text in enumerate(lines) if text.endswith(mark)]
        if len(marked) != 1:
            raise RuntimeError(f"{TEMPLATE.name} must mark exactly one import with '{mark.strip()}'")
        lines[marked[0]] = line + mark
    return "\n".join(lines) + "\n"


def kernel_module(protocol: Protocol) -> str:
    """Return the module that a loop is compiled against; protocols with the same one share a loop."""
    return protocol.family or protocol.module


def is_compiled(protocol: Protocol) -> bool:
    """Tell whether an earlier run has left this protocol's loop in the cache."""
    return _file_of(protocol).exists()


def _file_of(protocol: Protocol) -> Path:
    """Return where the loop goes: by the module of the kernels, which protocols may share.

    A module from outside this package is told by its source too.
    """
    module = kernel_module(protocol)
    name = module.rpartition(".")[2]
    if not module.startswith("stablecast."):
        source = inspect.getsource(sys.modules[module])
        name += "_" + hashlib.blake2s(source.encode(), digest_size=8).hexdigest()
    return CACHE_FOLDER / f"stablecast_loop_{name}.py"


def loop_for(protocol: Protocol) -> ModuleType:
    """Return the module that holds this protocol's loop; compiled code is found again in later processes."""
    file = _file_of(protocol)
    if not file.exists():
        _write_whole(file, specialised_source(protocol))
    return _load(file)


@cache
def _load(file: Path) -> ModuleType:
    name = file.stem
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _write_whole(file: Path, text: str) -> None:
    """Write a file so that another process sees all of it or nothing; the first writer wins."""
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=file.name)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text)
    try:
        os.link(temporary, file)
    except FileExistsError:
        pass
    finally:
        Path(temporary).unlink()
