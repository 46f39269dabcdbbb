"""What is wrong with a description that Python accepts: parts that are missing, of another kind, or twice.

Each complaint is one line that names the file and the line where that can be found.
"""

from __future__ import annotations

import inspect
import keyword
import linecache
import sys
from collections.abc import Callable, Sequence
from typing import Any

from stablecast.compiling import is_kernel
from stablecast.errors import InvalidInput
from stablecast.protocols.contract.parameters import Parameter

CALLS = {
    "init": 3,
    "start": 3,
    "timer": 3,
    "gone": 5,
    "joined": 4,
    "channel": 7,
    "leave": 3,
    "attach": 4,
    "take": 6,
    "hear": 3,
}
"""The calls of a driver, and how many arguments each has."""


def check_about(about: Any) -> None:
    """Refuse a description whose first line does not name the protocol."""
    first = about.strip().splitlines()[0] if isinstance(about, str) and about.strip() else ""
    name, colon, title = first.partition(":")
    if not (colon and name and title.strip()) or name.split() != [name]:
        raise InvalidInput(
            f"{_caller()}about begins with {first!r} (accepted: a docstring whose first line is"
            " 'name: title.')"
        )


def check_kernels(kernels: Any) -> None:
    """Refuse kernels of which some are missing or are no kernels, or whose messages are none."""
    if not kernels.receive:
        raise InvalidInput(
            f"{_caller()}receive is empty (accepted: for each message the kernel that receives it)"
        )
    for message, on in kernels.receive.items():
        if not (isinstance(message, type) and issubclass(message, tuple) and hasattr(message, "_fields")):
            named = getattr(message, "__name__", repr(message))
            raise InvalidInput(
                f"{_where(message) or _caller()}receive: {named} is no message (accepted: a NamedTuple)"
            )
        _check_kernel(on, f"the kernel for {message.__name__}", 5)
    for call, count in CALLS.items():
        _check_kernel(getattr(kernels, call), call, count)


def _check_kernel(function: Any, what: str, count: int) -> None:
    if not callable(function):
        raise InvalidInput(f"{_caller()}{what} is {function!r} (accepted: a function under @kernel)")
    if not is_kernel(function):
        raise InvalidInput(f"{_where(function)}{what} is no kernel (accepted: a function under @kernel)")
    plain = getattr(function, "py_func", function)
    names = list(inspect.signature(plain).parameters)
    if len(names) != count:
        raise InvalidInput(
            f"{_where(plain)}{what} takes {len(names)} arguments, {', '.join(names)} (accepted:"
            f" {ARGUMENTS[count]})"
        )


ARGUMENTS = {
    3: "me, now, out; of hear: me, source, now",
    4: "me, column, number, now; of joined: me, member, now, out",
    5: "me, source, message, now, out; of gone: me, member, column, now, out",
    6: "me, column, source, before, now, out",
    7: "me, what, member, column, connection, now, out",
}


def check_parameters(parameters: Sequence[Any]) -> None:
    """Refuse what is no parameter, a name that kernels cannot use, and two of one name or option."""
    for each in parameters:
        if not isinstance(each, Parameter):
            raise InvalidInput(f"{_caller()}parameters has {each!r} (accepted: objects of Parameter)")
        if not each.name.isidentifier() or keyword.iskeyword(each.name):
            raise InvalidInput(
                f"{_where_named(each.name)}parameter {each.name!r} has no name for kernels (accepted: a"
                " Python name)"
            )
    for names in ([each.name for each in parameters], [each.option_name for each in parameters]):
        twice = [name for k, name in enumerate(names) if name in names[:k]]
        if twice:
            raise InvalidInput(f"{_where_named(twice[0])}parameter {twice[0]} is declared twice")


def _where_named(name: str) -> str:
    """Return the last line of the describing file that has a name in quotation marks."""
    frame = _caller_frame()
    if frame is None:
        return ""
    file = frame.f_code.co_filename
    lines = enumerate(linecache.getlines(file), 1)
    numbers = [k for k, line in lines if f'"{name}"' in line or f"'{name}'" in line]
    return f"{file}, line {numbers[-1] if numbers else frame.f_lineno}: "


def _caller_frame() -> Any:
    """Return the frame, outside the contract, that describes the protocol."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        own = module.startswith("stablecast.protocols.contract") or module == "dataclasses"
        if not own and not frame.f_code.co_filename.startswith("<"):
            return frame
        frame = frame.f_back
    return None


def _caller() -> str:
    frame = _caller_frame()
    return "" if frame is None else f"{frame.f_code.co_filename}, line {frame.f_lineno}: "


def _where(found: Callable[..., Any] | type) -> str:
    """Return the file and line of a class or a function."""
    code = getattr(found, "__code__", None)
    if code is not None:
        return f"{code.co_filename}, line {code.co_firstlineno}: "
    try:
        return f"{inspect.getsourcefile(found)}, line {inspect.getsourcelines(found)[1]}: "
    except (OSError, TypeError):
        return ""
