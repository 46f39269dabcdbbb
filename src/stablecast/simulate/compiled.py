"""A copy of the event loop for each set of kernels, kept with the compiled code that belongs to it."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from stablecast.compiling import CACHE_FOLDER
from stablecast.protocols.contract import Protocol
from stablecast.protocols.contract.bound import OTHER_CALLS, dispatch_of, identity, load_written

TEMPLATE = Path(__file__).with_name("loop.py")


def loop_name(protocol: Protocol) -> str:
    """Return the name of a protocol's loop; protocols with the same kernels share one."""
    return f"stablecast_loop_{identity(protocol)}"


def is_compiled(protocol: Protocol) -> bool:
    """Tell whether an earlier run has left this protocol's loop in the cache."""
    return (CACHE_FOLDER / f"{loop_name(protocol)}.py").exists()


def loop_for(protocol: Protocol) -> ModuleType:
    """Return the module that holds this protocol's loop; compiled code is found again in later processes."""
    kernels = {call: getattr(protocol.kernels, call) for call in OTHER_CALLS}
    kernels["receive"] = dispatch_of(protocol)
    return load_written(loop_name(protocol), TEMPLATE.read_text(encoding="utf-8"), protocol, **kernels)
