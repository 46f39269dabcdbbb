"""Machine code only for what Python calls: a kernel compiled for a caller stays as intermediate code.

numba optimises every function, and turns it into machine code, with all that it calls inside it.  For the
event loop, some two hundred kernels that call each other, that was most of the time: the same code went
through the optimiser once for each kernel above it.  Here a kernel that is compiled because another one
calls it stays as it was lowered; the kernel that Python called links all of them, once, and is optimised as a
whole.
Should Python call such a kernel itself later, it is compiled anew, as numba does it.

This reaches into numba, whose version is pinned; where it does not find what it expects, numba is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import codegen, cpu, dispatcher, sigutils

_UNDER_WAY: list[bool] = []
"""For each function that is being compiled, outermost first, whether it is a kernel of ours."""
_NEEDED = {
    codegen.JITCodeLibrary: ("finalize", "add_linking_library", "_ensure_finalized", "_raise_if_finalized"),
    cpu.CPUContext: ("get_executable", "create_cpython_wrapper", "create_cfunc_wrapper"),
    dispatcher.Dispatcher: ("compile", "add_overload"),
}


def put_off_code_of_callees(kernel: Any) -> None:
    """Have a kernel make machine code only when Python calls it."""
    if not _POSSIBLE:
        return
    add_overload, save = kernel.add_overload, kernel._cache.save_overload

    def add(result: Any) -> None:
        if _is_put_off(result.library):
            kernel.overloads[tuple(result.signature.args)] = result  # unseen by calls from Python
        else:
            add_overload(result)

    def save_unless_put_off(signature: Any, result: Any) -> None:
        if not _is_put_off(result.library):
            save(signature, result)

    kernel.stablecast_kernel = True
    kernel.add_overload = add
    kernel._cache.save_overload = save_unless_put_off


def _compile(plain: Callable[..., Any]) -> Callable[..., Any]:
    def compile_for(function: Any, signature: Any) -> Any:
        arguments = tuple(sigutils.normalize_signature(signature)[0])
        kept = function.overloads.get(arguments)
        if not _UNDER_WAY and kept is not None and _is_put_off(kept.library):
            del function.overloads[arguments]
        with _compiling(getattr(function, "stablecast_kernel", False)):
            return plain(function, signature)

    return compile_for


@contextmanager
def _compiling(is_kernel: bool) -> Iterator[None]:
    _UNDER_WAY.append(is_kernel)
    try:
        yield
    finally:
        _UNDER_WAY.pop()


def _is_for_a_caller() -> bool:
    """Tell whether what is being compiled now is a kernel that another function calls."""
    return len(_UNDER_WAY) > 1 and _UNDER_WAY[-1]


class _NotCallable:
    """Stands for a kernel that has no machine code, where numba tells kernels apart by that."""


def _is_put_off(library: Any) -> bool:
    return bool(getattr(library, "stablecast_put_off", False))


def _callees(library: Any) -> list[Any]:
    """Return all libraries that a library needs, each once, callers first: what nothing calls is dropped."""
    seen: set[int] = set()
    found: list[Any] = []

    def visit(each: Any) -> None:
        for callee in each._linking_libraries:
            if id(callee) not in seen:
                seen.add(id(callee))
                if _is_put_off(callee):
                    visit(callee)
                found.append(callee)

    visit(library)
    return found[::-1]


def _finalize(plain: Callable[[Any], None]) -> Callable[[Any], None]:
    def finalize(library: Any) -> None:
        if _is_for_a_caller():
            library._raise_if_finalized()
            library.stablecast_put_off = True
            library._finalized = True
            return
        library._linking_libraries = _callees(library)
        plain(library)

    return finalize


def _get_executable(plain: Callable[..., Any]) -> Callable[..., Any]:
    def get_executable(context: Any, library: Any, fndesc: Any, env: Any) -> Any:
        library._ensure_finalized()
        return _NotCallable() if _is_put_off(library) else plain(context, library, fndesc, env)

    return get_executable


def _create_wrapper(plain: Callable[..., None]) -> Callable[..., None]:
    """Make the entry for calls from Python or C only where there will be machine code to call."""

    def create_wrapper(*args: Any, **kws: Any) -> None:
        if not _is_for_a_caller():
            plain(*args, **kws)

    return create_wrapper


def _install() -> bool:
    """Teach numba's code libraries to wait; tell whether that was possible."""
    if not all(hasattr(kind, name) for kind, names in _NEEDED.items() for name in names):
        return False
    library: Any = codegen.JITCodeLibrary
    context: Any = cpu.CPUContext
    function: Any = dispatcher.Dispatcher
    library.finalize = _finalize(library.finalize)
    context.get_executable = _get_executable(context.get_executable)
    context.create_cpython_wrapper = _create_wrapper(context.create_cpython_wrapper)
    context.create_cfunc_wrapper = _create_wrapper(context.create_cfunc_wrapper)
    function.compile = _compile(function.compile)
    return True


_POSSIBLE = _install()
