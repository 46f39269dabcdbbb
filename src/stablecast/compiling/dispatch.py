"""How kernels are compiled: machine code only for what Python calls, and errors that name the kernel's line.

Theory
    numba compiles a function that another one calls as if Python called it: optimised, with all that it calls
    inside it, down to machine code.  For the event loop, some two hundred kernels that call each other, that
    was most of the time: the same code went through the optimiser once for each kernel above it.  Here a
    kernel that is compiled because another one calls it stays as it was lowered (it is *deferred*); the
    outermost kernel, which Python called, links all of them, once, and is optimised as a whole.  Should
    Python call a deferred kernel itself later, it is compiled anew, in full.
What is true
    Whatever is compiled at a time is compiled under numba's own lock, which is taken before anything else, so
    the stack of kernels under way belongs to one thread at a time.  A deferred library is never executed: it
    has no entry point for Python, is not kept on disk, and is replaced when Python asks for its kernel.
How it is kept apart
    Kernels have a dispatcher, a target context and a code library of their own, which are subclasses of
    numba's.  The tables in which numba finds the code of functions are shared with numba's own context, so
    that its library works inside kernels; no class of numba is changed, and functions that others compile
    with numba are compiled as ever.
Without linear algebra
    When numba gets ready to compile, or to load what is compiled, it imports all of ``scipy.linalg``, if
    SciPy is there, to learn whether there is a BLAS: a tenth of the time in which a node starts.  No kernel
    needs one, so numba is told only whether SciPy can be found.  A function of others that does linear
    algebra imports and checks it when it is compiled, as ever.
What can go wrong
    The subclasses rely on a few methods that numba does not document.  ``pyproject.toml`` admits only the
    versions that were tried, and a test says which method is missing in another.
"""

from __future__ import annotations

import difflib
import dis
import importlib
import linecache
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, TypeVar

from stablecast.compiling.cache import CACHE_FOLDER
from stablecast.errors import InvalidInput

import numba  # isort: skip  # the cache's folder is named first
from numba.core import codegen, cpu, dispatcher, errors, registry, sigutils
from numba.core.compiler_lock import global_compiler_lock

F = TypeVar("F", bound=Callable[..., Any])
TARGET_OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy", "_nrt": False}
UNUSABLE = ("breakpoint", "input", "open", "print")
"""Functions of Python that a kernel cannot call; ``print`` inside one would wait for ever."""

numba.config.CACHE_DIR = str(CACHE_FOLDER)


class KernelError(InvalidInput):
    """A kernel that cannot be compiled; the message names its file and line."""


def kernel(function: F) -> F:
    """Compile a function over NumPy arrays and scalars; it stays callable from Python.

    Kernels borrow the arrays that they are given and never allocate, so reference counts, which would be
    most of the time of a small one, are left out.
    """
    return _compiled(function)


def inlined(function: F) -> F:
    """Compile a kernel into each of its callers: for the steps of every event, where a call would show."""
    return _compiled(function, forceinline=True)


def apart(function: F) -> F:
    """Compile a kernel once, and never into its callers: for what is large and called from several places.

    Without this the optimiser copies the protocol's kernels to each of the places where a packet may arrive.
    """
    made = _compiled(function)
    if isinstance(made, KernelDispatcher):
        made.apart = True
    return made


def is_kernel(function: Any) -> bool:
    """Tell whether a function is a kernel; without compilation every function may be one."""
    return isinstance(function, KernelDispatcher) or (bool(numba.config.DISABLE_JIT) and callable(function))


def compile_for(function: Any, *arguments: Any) -> None:
    """Compile a kernel for calls with arguments like these; without compilation there is nothing to do."""
    if isinstance(function, KernelDispatcher):
        typeof: Any = numba.typeof
        function.compile(tuple(typeof(argument) for argument in arguments))


def _compiled(function: F, **options: bool) -> F:
    if numba.config.DISABLE_JIT:
        return function
    _refuse_unusable(function)
    _refuse_recursion(function)
    # Said of each kernel: numba else gives what is called from an inlined one the same treatment.
    inline = {"forceinline": False} | options
    made: Any = KernelDispatcher(function, {}, TARGET_OPTIONS | inline)
    made.enable_caching()
    kept: F = made
    return kept


def _refuse_unusable(function: Any) -> None:
    """Refuse a kernel that calls what it cannot; attributes and its own functions may have such a name."""
    code = function.__code__
    for name in UNUSABLE:
        if name in code.co_names and name not in function.__globals__:
            for each in dis.get_instructions(code):
                if each.opname == "LOAD_GLOBAL" and each.argval == name and each.positions is not None:
                    line = each.positions.lineno
                    raise KernelError(f"{code.co_filename}, line {line}: a kernel cannot call {name}()")


def _refuse_recursion(function: Any) -> None:
    """Refuse a kernel that calls itself: it would run out of stack without a word."""
    code = function.__code__
    if function.__name__ in code.co_names and "<locals>" not in function.__qualname__:
        for each in dis.get_instructions(code):
            if (
                each.opname == "LOAD_GLOBAL"
                and each.argval == function.__name__
                and each.positions is not None
            ):
                where = f"{code.co_filename}, line {each.positions.lineno}"
                raise KernelError(f"{where}: the kernel {function.__name__} calls itself")


class _Library(codegen.JITCodeLibrary):
    """Code that may stay as it was lowered."""

    deferred = False

    def finalize(self) -> None:
        """Optimise, with all deferred code below linked once; or leave that to the kernel above."""
        if _is_for_a_caller():
            self._raise_if_finalized()
            self.deferred = True
            self._finalized = True
            return
        self._linking_libraries = _callees(self)
        super().finalize()


class _Codegen(codegen.JITCPUCodegen):
    """Makes such libraries."""

    _library_class = _Library


def _find_scipy() -> None:
    """Raise if there is no SciPy; whether it has what numba needs is seen where that is used."""
    if find_spec("scipy") is None:
        raise ImportError("scipy is not installed")


class _NotCallable:
    """Stands for a kernel that has no machine code, where numba tells kernels apart by that."""


class _Context(cpu.CPUContext):
    """numba's own context, but for the code libraries."""

    def init(self) -> None:
        """Take a code generator of our own."""
        super().init()
        self._internal_codegen = _Codegen("stablecast.exec")

    def load_additional_registries(self) -> None:
        """Import what numba can compile, without SciPy's linear algebra."""
        linalg: Any = importlib.import_module("numba.np.linalg")
        checks, linalg.ensure_blas = linalg.ensure_blas, _find_scipy
        try:
            importlib.import_module("numba.np.arraymath")
        finally:
            linalg.ensure_blas = checks
        super().load_additional_registries()

    def declare_function(self, module: Any, fndesc: Any) -> Any:
        """Declare a function; what is to stay apart says so."""
        function = super().declare_function(module, fndesc)
        if _UNDER_WAY and _UNDER_WAY[-1].apart and fndesc.qualname == _UNDER_WAY[-1].py_func.__qualname__:
            function.attributes.add("noinline")
        return function

    def get_executable(self, library: Any, fndesc: Any, env: Any) -> Any:
        """Return the entry point for Python, if there is to be one."""
        library._ensure_finalized()
        return _NotCallable() if _is_deferred(library) else super().get_executable(library, fndesc, env)

    def create_cpython_wrapper(self, *arguments: Any, **more: Any) -> None:
        """Make the entry for calls from Python only where there will be machine code to call."""
        if not _is_for_a_caller():
            super().create_cpython_wrapper(*arguments, **more)

    def create_cfunc_wrapper(self, *arguments: Any, **more: Any) -> None:
        """Make the entry for calls from C likewise."""
        if not _is_for_a_caller():
            super().create_cfunc_wrapper(*arguments, **more)


SHARED_TABLES = ("_defns", "_getattrs", "_setattrs", "_casts", "_get_constants", "_generators", "_registries")
"""Where numba's context keeps what it knows to compile."""


class _Target(registry.CPUTarget):
    """The processor, with our context; what can be typed and lowered is numba's own."""

    @property
    def typing_context(self) -> Any:
        """The context of types, which is numba's own."""
        return registry.cpu_target.typing_context

    @property
    def target_context(self) -> Any:
        """The context of code, made on first use."""
        if "_made" not in self.__dict__:
            numbas: Any = registry.cpu_target.target_context
            made: Any = _Context(self.typing_context, "cpu")
            for table in SHARED_TABLES:
                setattr(made, table, getattr(numbas, table))
            self.__dict__["_made"] = made
        return self.__dict__["_made"]


class KernelDispatcher(dispatcher.Dispatcher):
    """A kernel: compiled when it is called, in full for Python, deferred for another kernel."""

    targetdescr = _Target("cpu")
    apart = False
    _cache: Any

    def compile(self, sig: Any) -> Any:
        """Compile for arguments of these types; one thread at a time, from the outermost kernel on."""
        with global_compiler_lock:
            arguments = tuple(sigutils.normalize_signature(sig)[0])
            kept = self.overloads.get(arguments)
            if not _UNDER_WAY and kept is not None and _is_deferred(kept.library):
                del self.overloads[arguments]
            with _compiling(self):
                return super().compile(sig)

    def add_overload(self, cres: Any) -> None:
        """Keep what was compiled; calls from Python do not see what is deferred."""
        if _is_deferred(cres.library):
            self.overloads[tuple(cres.signature.args)] = cres
        else:
            super().add_overload(cres)

    def enable_caching(self) -> None:
        """Keep machine code on disk; deferred code is none."""
        super().enable_caching()
        save = self._cache.save_overload

        def save_unless_deferred(signature: Any, result: Any) -> None:
            if not _is_deferred(result.library):
                save(signature, result)

        self._cache.save_overload = save_unless_deferred

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Let calls with a constant, or with a shorter whole number, share the code for 64-bit numbers.

        numba would compile a function, and all that it calls, anew for each constant that it is called with;
        the event loop then took twice as long to compile.
        """
        return super().get_call_template(
            [_widened(kind) for kind in args], {k: _widened(kws[k]) for k in kws}
        )


def _widened(kind: Any) -> Any:
    kinds: Any = numba.types
    kind = kinds.unliteral(kind)
    return kinds.int64 if kind in (kinds.int8, kinds.int16, kinds.int32) else kind


_UNDER_WAY: list[KernelDispatcher] = []
"""Kernels that are being compiled, outermost first; only touched under numba's lock."""
_INNERMOST: list[KernelError] = []
"""The first error of the compilation under way: that of the innermost kernel."""

COMPILER_ERRORS = (errors.NumbaError, TypeError, ValueError, LookupError, AttributeError, NotImplementedError)
"""What numba raises about a kernel; a signal's exception is none of these."""


@contextmanager
def _compiling(which: KernelDispatcher) -> Iterator[None]:
    _UNDER_WAY.append(which)
    try:
        yield
    except COMPILER_ERRORS as error:
        if not _INNERMOST:
            # numba keeps an error, and raises the same one for the next call.
            _INNERMOST.append(getattr(error, "described", None) or _described(which, error))
        vars(error)["described"] = _INNERMOST[0]
        if len(_UNDER_WAY) == 1:
            raise _INNERMOST[0] from None
        raise
    finally:
        _UNDER_WAY.pop()
        if not _UNDER_WAY:
            _INNERMOST.clear()


def _is_for_a_caller() -> bool:
    """Tell whether what is being compiled now is a kernel that another one calls."""
    return len(_UNDER_WAY) > 1


def _is_deferred(library: Any) -> bool:
    return bool(getattr(library, "deferred", False))


def _callees(library: Any) -> list[Any]:
    """Return all libraries that a library needs, each once, callers first: what nothing calls is dropped."""
    seen: set[int] = set()
    found: list[Any] = []

    def visit(each: Any) -> None:
        for callee in each._linking_libraries:
            if id(callee) not in seen:
                seen.add(id(callee))
                if _is_deferred(callee):
                    visit(callee)
                found.append(callee)

    visit(library)
    return found[::-1]


ATTRIBUTES: dict[str, tuple[str, ...]] = {}
"""For each compiled type that kernels read by names: the names that it has."""


def _described(which: KernelDispatcher, error: Exception) -> KernelError:
    """Say in one line what is wrong in a kernel, and where."""
    code = which.py_func.__code__
    file = code.co_filename
    lines = [int(number) for number in re.findall(rf"at {re.escape(file)} \((\d+)\)", str(error))]
    location = getattr(error, "loc", None)
    if not lines and location is not None and location.filename == file:
        lines = [location.line]
    if isinstance(error, errors.NumbaError):
        reason = _reason(str(error), which.py_func.__globals__)
        named = re.search(r"NameError: name '(\w+)'", reason)
        line = lines[-1] if lines else _line_with(code, rf"\b{named[1]}\b" if named else "")
    else:
        reason, pattern = _foreign_reason(str(error))
        line = _line_with(code, pattern)
        reason = _wrong_field(linecache.getline(file, line), which.py_func.__globals__) or reason
    return KernelError(f"{file}, line {line}: {reason} (in the kernel {which.py_func.__name__})")


def _reason(text: str, names: dict[str, Any]) -> str:
    """Return the part of numba's message that speaks of the kernel, in our words where we have some."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    rejected = re.search(r"raised a specific error:\s*TypingError: (.+)", text)
    if rejected:
        return rejected[1].strip()
    unknown = re.search(r"Unknown attribute '(\w+)' of type (\w+)(\[\w+\])?", text)
    unset = re.search(r"Cannot resolve setattr: \((\w+)(\[\w+\])?\S*?\)\.(\w+) =", text)
    if unknown:
        return _unknown_attribute(unknown[1], unknown[2], unknown[3] or "", names)
    if unset:
        return _unknown_attribute(unset[3], unset[1], unset[2] or "", names)
    skipped = ("Failed in", "During:", "File ", "<source", "There are", "- Of which", "Overload of", "^", "-")
    told = [line.strip() for line in text.splitlines()]
    told = [line for line in told if line and not line.startswith(skipped)]
    if len(told) > 1 and told[0].endswith("found for signature:"):
        return f"there is no {told[1].lstrip('> ')}"
    return re.sub(r"\s+", " ", told[0]) if told else "it cannot be compiled"


def _unknown_attribute(name: str, kind: str, layout: str, names: dict[str, Any]) -> str:
    """Say that a member, a message or the parameters have no such field, and which ones there are."""
    known: tuple[str, ...] = ATTRIBUTES.get(kind + layout, ())
    known = known or getattr(names.get(kind), "_fields", ())
    what = {"Member": "a member has", "Params": "there is"}.get(kind, f"{kind} has")
    sort = "parameter" if kind == "Params" else "field"
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return f"{what} no {sort} {name}{hint}" + (f" (accepted: {', '.join(known)})" if known else "")


def _foreign_reason(text: str) -> tuple[str, str]:
    """Return the reason of an error that is none of numba's own, and what the kernel's line looks like."""
    made = re.match(r"In '<class '[\w.]*?(\w+)'>': (.+)", text)
    if made:
        return f"{made[1]}: {made[2]}", rf"\b{made[1]}\s*\("
    unset = re.match(r"(\w+) is not a number that can be set", text)
    if unset:
        return text, rf"\.{unset[1]}\s*\S{{0,2}}=[^=]"
    return " ".join(text.split()), ""


def _wrong_field(line: str, names: dict[str, Any]) -> str:
    """Say which field of a message in a line it does not have, if a line gives one by such a name."""
    for made, arguments in re.findall(r"\b(\w+)\s*\((?=([^()]*))", line):
        fields: tuple[str, ...] = getattr(names.get(made), "_fields", ())
        for name in re.findall(r"(\w+)\s*=[^=]", arguments) if fields else ():
            if name not in fields:
                return _unknown_attribute(name, made, "", names)
    return ""


def _line_with(code: Any, pattern: str) -> int:
    """Return the first line of a function that a pattern is found in, else the function's own."""
    first = int(code.co_firstlineno)
    last = max((line for _, _, line in code.co_lines() if line is not None), default=first)
    for number in range(first + 1, last + 1):
        if pattern and re.search(pattern, linecache.getline(code.co_filename, number)):
            return number
    return first
