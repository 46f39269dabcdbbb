"""Kernels that are compiled for a caller have no machine code, until Python calls them.

What is tried here runs in processes of its own, each with an empty cache: what a process has compiled before
would hide most faults.
"""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys

import pytest

from stablecast.compiling import KernelError, dispatch, kernel

DEFERRED = """
import numpy as np
from stablecast.compiling import inlined, kernel

@kernel
def least(values):
    found = values[0]
    for k in range(values.size):
        found = min(found, values[k])
    return found

@inlined
def shifted(values, by):
    return least(values) + max(by, 0)

@kernel
def outer(values, by):
    return shifted(values, by) * 2

values = np.array([5, 3, 4])
print(outer(values, 1))
for each in (least, shifted, outer):
    print(each.__name__, [getattr(r.library, "deferred", False) for r in each.overloads.values()])
print(least(values), shifted(values, -7), outer(values, -7))
for each in (least, shifted):
    print(each.__name__, [getattr(r.library, "deferred", False) for r in each.overloads.values()])
print(outer(np.array([9, 8]), 0), least(np.array([2.5, 1.5])))
"""


def run(tmp_path, text, *, name="kernels", cache="cache"):
    """Run a script in a process of its own; return what it prints."""
    script = tmp_path / f"{name}.py"
    script.write_text(text)
    environment = os.environ | {"STABLECAST_CACHE_DIR": str(tmp_path / cache), "NUMBA_DISABLE_JIT": "0"}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_only_what_python_calls_is_compiled_down(tmp_path):
    assert run(tmp_path, DEFERRED) == [
        "8",
        "least [True]",
        "shifted [True]",
        "outer [False]",
        "3 3 6",
        "least [False]",
        "shifted [False]",
        "16 1.5",
    ]
    # A second process finds what Python called in the cache, and needs nothing of what that calls.
    again = run(tmp_path, DEFERRED)
    assert again[:4] == ["8", "least []", "shifted []", "outer [False]"]
    assert again[4:] == ["3 3 6", "least [False]", "shifted [False]", "16 1.5"]


# Threads

THREADS = """
import sys
import threading
from stablecast.compiling import kernel

ROUNDS, THREADS = 12, 4

def made(k):
    @kernel
    def least(a, b):
        return min(a, b) + k
    @kernel
    def middle(a, b):
        return least(a, b) * 2
    @kernel
    def outer(a, b):
        return middle(a, b) - least(b, a) + k
    @kernel
    def other(a, b):
        return least(a, b) + 5
    return least, middle, outer, other

def expected(k, a, b):
    least = min(a, b) + k
    return {"least": least, "middle": 2 * least, "outer": least + k, "other": least + 5}

wrong = []

def call(kernels, k, barrier):
    barrier.wait()
    for each in kernels:
        name = each.__name__
        for a, b in ((3, 7), (2.5, 1.5)):
            try:
                got = each(a, b)
            except BaseException as error:
                got = repr(error)
            if got != expected(k, a, b)[name]:
                wrong.append((k, name, a, b, got))

sys.setswitchinterval(1e-6)
for k in range(ROUNDS):
    least, middle, outer, other = made(k)
    # The same kernels, kernels that share callees, and a callee that Python calls while a caller is compiled.
    orders = [(outer, least), (outer, other), (least, outer), (other, middle)]
    barrier = threading.Barrier(THREADS)
    threads = [threading.Thread(target=call, args=(order, k, barrier)) for order in orders]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
print(wrong, any(each.is_alive() for each in threads))
"""


@pytest.mark.parametrize("repetition", [0, *(pytest.param(k, marks=pytest.mark.soak) for k in range(1, 10))])
def test_threads_that_compile_the_same_and_different_kernels_at_once_get_right_code(tmp_path, repetition):
    assert run(tmp_path, THREADS) == ["[] False"]


# Functions of others

WITH_NUMBA = """
import numba
import numpy as np

classes = [
    numba.core.dispatcher.Dispatcher,
    numba.core.registry.CPUDispatcher,
    numba.core.registry.CPUTarget,
    numba.core.codegen.JITCodeLibrary,
    numba.core.codegen.CPUCodeLibrary,
    numba.core.codegen.JITCPUCodegen,
    numba.core.cpu.CPUContext,
    numba.core.base.BaseContext,
    numba.core.typing.Context,
    numba.core.caching.FunctionCache,
    numba.core.compiler.Compiler,
]

def snapshot():
    return {
        f"{each.__name__}.{name}": (id(value), getattr(value, "__module__", None))
        for each in classes
        for name, value in vars(each).items()
        if name not in ("__doc__", "_abc_impl", "__slotnames__")  # copyreg's
    }

before = snapshot()
import stablecast
from stablecast.compiling import kernel
from stablecast.protocols import protocol
protocol("coordp")
import stablecast.simulate.run

@kernel
def doubled(x):
    return 2 * x

@numba.njit
def inner(x):
    return doubled(x) + 1

@numba.njit
def outer(values):
    total = 0.0
    for k in range(values.size):
        total += inner(values[k])
    return np.sqrt(total) if total > 100 else total

@numba.njit
def allocates(n):
    made = [np.ones(k) for k in range(n)]
    return sum([each.sum() for each in made])

@numba.njit(inline="always")
def constant(x, flag=True):
    return x if flag else -x

print(doubled(4), inner(4), outer(np.array([1, 2, 3])), allocates(4), constant(3))
(result,) = inner.overloads.values()
print(type(inner).__name__, type(doubled).__name__, type(result.library).__name__)
print([getattr(r.library, "deferred", False) for each in (inner, outer) for r in each.overloads.values()])
print(doubled(4), doubled(2.5), inner(2.5))

@kernel
def calls_back(x):
    return constant(x) + inner(x)

print(calls_back(4))
after = snapshot()
print({name for name in before if after.get(name) != before[name]}, set(after) - set(before))
print(sorted({module for _, module in after.values() if module and module.startswith("stablecast")}))
"""


def test_numbas_own_functions_are_compiled_as_ever_and_may_call_kernels(tmp_path):
    results, kinds, deferred, again, back, changed, ours = run(tmp_path, WITH_NUMBA)
    assert results == "8 9 15.0 6.0 3"
    assert kinds == "CPUDispatcher KernelDispatcher JITCodeLibrary"
    assert set(ast.literal_eval(deferred)) == {False}
    assert again == "8 5.0 6.0"
    assert back == "13"
    assert changed == "set() set()"
    assert ours == "[]"


LINEAR_ALGEBRA = """
import sys
import numba
import numpy as np
from stablecast.compiling import kernel

@kernel
def doubled(x):
    return 2 * x

@numba.njit
def product(a, b):
    return np.dot(a, b)[0, 0]

print(doubled(4), "scipy.linalg" in sys.modules)
print(product(np.full((2, 2), 3.0), np.eye(2)), "scipy.linalg" in sys.modules)
print(numba.njit(lambda a: np.cov(a))(np.array([1.0, 2.0, 3.0])))
"""


def test_kernels_do_without_linear_algebra_which_functions_of_others_have_as_ever(tmp_path):
    pytest.importorskip("scipy")
    kernels, product, covariance = run(tmp_path, LINEAR_ALGEBRA)
    assert kernels == "8 False"
    assert product == "3.0 True"
    assert float(covariance) == 1.0


NEEDED = {
    "numba.core.codegen.JITCodeLibrary": (
        "finalize",
        "_raise_if_finalized",
        "_ensure_finalized",
        "_optimize_final_module",
    ),
    "numba.core.codegen.JITCPUCodegen": ("_library_class",),
    "numba.core.cpu.CPUContext": (
        "init",
        "get_executable",
        "create_cpython_wrapper",
        "create_cfunc_wrapper",
        "load_additional_registries",
    ),
    "numba.np.linalg": ("ensure_blas",),
    "numba.np.arraymath": ("_HAVE_BLAS",),
    "numba.core.registry.CPUDispatcher": ("targetdescr",),
    "numba.core.registry.CPUTarget": ("typing_context", "target_context"),
    "numba.core.dispatcher.Dispatcher": (
        "compile",
        "add_overload",
        "enable_caching",
        "get_call_template",
    ),
    "numba.core.caching.FunctionCache": ("save_overload",),
    "numba.core.sigutils": ("normalize_signature",),
    "numba.core.compiler_lock": ("global_compiler_lock",),
    "numba.core.typing.templates": ("AbstractTemplate", "AttributeTemplate", "infer_global", "signature"),
    "numba.extending": (
        "NativeValue",
        "infer_getattr",
        "lower_builtin",
        "lower_getattr_generic",
        "lower_setattr_generic",
        "register_model",
        "typeof_impl",
        "unbox",
    ),
    "numba.np.arrayobj": ("make_array", "populate_array"),
    "numba.core.cgutils": ("create_struct_proxy", "pointer_add", "raw_memcpy", "unpack_tuple"),
}
"""What the subclasses, and the views of protocols' fields, rely on in numba."""
OF_INSTANCES = {
    "_Context": ("_internal_codegen", *dispatch.SHARED_TABLES),
    "KernelDispatcher": ("_cache", "overloads", "py_func"),
    "_Library": ("_linking_libraries", "_finalized", "_final_module"),
}
"""Attributes that only instances have."""


def missing_in_numba():
    """Return what is not there, and methods of ours that override nothing."""
    import importlib

    missing = []
    for path, names in NEEDED.items():
        try:
            found = importlib.import_module(path)
        except ImportError:
            module, _, name = path.rpartition(".")
            found = getattr(importlib.import_module(module), name, None)
        missing += [f"{path}.{name}" for name in names if not hasattr(found, name)]
    for ours in (dispatch._Library, dispatch._Codegen, dispatch._Context, dispatch.KernelDispatcher):
        above = ours.__mro__[1]
        methods = [name for name, value in vars(ours).items() if inspect.isfunction(value)]
        missing += [f"{above.__name__}.{name}" for name in methods if not hasattr(above, name)]
    return missing


def test_numba_has_what_the_subclasses_rely_on():
    import numba

    assert missing_in_numba() == [], f"numba {numba.__version__} lacks what stablecast.compiling relies on"

    @kernel
    def one(x):
        return x + 1

    assert one(1) == 2
    if not isinstance(one, dispatch.KernelDispatcher):
        pytest.skip("kernels are not compiled here")
    (result,) = one.overloads.values()
    instances = {
        "_Context": one.targetdescr.target_context,
        "KernelDispatcher": one,
        "_Library": result.library,
    }
    missing = [
        f"{kind}.{name}"
        for kind, names in OF_INSTANCES.items()
        for name in names
        if not hasattr(instances[kind], name)
    ]
    assert missing == [], f"numba {numba.__version__} lacks what stablecast.compiling relies on"


# Kernels that cannot be compiled

BROKEN = """
from stablecast.compiling import kernel

@kernel
def inner(x):
    y = x + 1
    return y.nothing_there

@kernel
def middle(x):
    return inner(x)

@kernel
def outer(x):
    return middle(x) + 1
"""
CAUGHT = (
    BROKEN
    + """
from stablecast.compiling import KernelError
try:
    outer(3)
except KernelError as error:
    print(error)
    print(error.__cause__, error.__suppress_context__)

@kernel
def sound(x):
    return x + 1

print(sound(1))
try:
    outer(3)
except KernelError as error:
    print(error)
"""
)


def test_a_kernel_that_does_not_compile_is_told_by_the_line_of_the_innermost_one(tmp_path):
    told, context, sound, again = run(tmp_path, CAUGHT)
    line = BROKEN.splitlines().index("    return y.nothing_there") + 1
    assert told.startswith(f"{tmp_path / 'kernels.py'}, line {line}: ")
    assert "nothing_there" in told
    assert told.endswith("(in the kernel inner)")
    assert context == "None True"
    # Nothing is left of the failure, neither for other kernels nor for the same.
    assert sound == "2"
    assert again == told


FILE = '''"""broken: a protocol whose kernel does not compile."""

from __future__ import annotations

from typing import NamedTuple

from stablecast.protocols.contract import (
    GROUP, Kernels, Member, Number, Outbox, Protocol, Round, Started, kernel, send,
)


class State(Member):
    execution: Number


class START(NamedTuple):
    execution: Round


@kernel
def start(me: State, now: int, out: Outbox) -> None:
    me.execution += 1
    tell(me, out)


@kernel
def tell(me: State, out: Outbox) -> None:
    send(out, GROUP, START(me.exekution))


@kernel
def on_start(me: State, source: int, message: START, now: int, out: Outbox) -> None:
    pass


PROTOCOL = Protocol(
    about=__doc__,
    paper="none",
    state=State,
    kernels=Kernels(start=start, receive={START: on_start}),
    runs=Started(),
)
'''


def simulate_command(tmp_path, text):
    file = tmp_path / "broken.py"
    file.write_text(text)
    # What the file calls comes from the cache of all tests; itself is in none, as it is at a new path.
    environment = os.environ | {"NUMBA_DISABLE_JIT": "0"}
    command = [sys.executable, "-m", "stablecast.cli.main", "simulate", str(file), "--members", "3"]
    command += ["--topology", "balanced"]
    return file, subprocess.run(command, capture_output=True, text=True, env=environment)


def test_the_command_line_tells_it_in_one_line_without_a_traceback(tmp_path):
    file, done = simulate_command(tmp_path, FILE)
    line = FILE.splitlines().index("    send(out, GROUP, START(me.exekution))") + 1
    assert done.returncode == 2
    assert "Traceback" not in done.stderr + done.stdout
    said = [each for each in done.stderr.splitlines() if not each.startswith("#")]
    assert len(said) == 1
    assert f"{file}, line {line}: " in said[0]
    assert "exekution" in said[0]
    assert "numba" not in said[0]


@pytest.mark.parametrize("name", dispatch.UNUSABLE)
def test_a_kernel_that_calls_what_it_cannot_is_refused_where_it_is_defined(name, tmp_path):
    file, text = tmp_path / "talks.py", f"@kernel\ndef talks(x):\n    {name}('now')\n    return x\n"
    file.write_text(text)
    with pytest.raises(KernelError) as refused:
        exec(compile(text, file, "exec"), {"kernel": kernel, "__name__": "talks"})
    assert str(refused.value) == f"{file}, line 3: a kernel cannot call {name}()"


def test_print_in_a_protocols_kernel_is_refused_on_the_command_line(tmp_path):
    text = FILE.replace("    me.execution += 1\n", "    me.execution += 1\n    print(now)\n")
    file, done = simulate_command(tmp_path, text)
    line = text.splitlines().index("    print(now)") + 1
    assert done.returncode == 2
    assert f"{file}, line {line}: a kernel cannot call print()" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_function_of_ones_own_called_print_is_accepted():
    def print(x):
        return x + 1

    own = kernel(print)

    @kernel
    def calls(x):
        return own(x)

    assert calls(1) == 2


# What is compiled into what

LAYERS = """
from stablecast.compiling import apart, inlined, kernel

@kernel
def leaf(x):
    total = 0
    for k in range(x):
        total += k * k % 7
    return total

@inlined
def step(x):
    return leaf(x) + 1

@apart
def large(x):
    return leaf(x) * 3

@kernel
def outer(x):
    return step(x) + step(x + 1) + large(x) + large(x + 1)

print(outer(10))

def told(function):
    return [each.decode() for each in function.attributes if each in (b"alwaysinline", b"noinline")]

(whole,) = outer.overloads.values()
for each in (leaf, step, large):
    (result,) = each.overloads.values()
    name = result.fndesc.llvm_func_name
    print(each.__name__, told(result.library._final_module.get_function(name)))
    kept = [function for function in whole.library._final_module.functions if function.name == name]
    print("kept as", [told(function) for function in kept if not function.is_declaration])
"""


def test_only_an_inlined_kernel_is_forced_into_its_callers_and_apart_keeps_one_apart(tmp_path):
    printed = run(tmp_path, LAYERS)
    leaf = sum(k * k % 7 for k in range(10)), sum(k * k % 7 for k in range(11))
    assert printed[0] == str(leaf[0] + 1 + leaf[1] + 1 + 3 * leaf[0] + 3 * leaf[1])
    assert printed[1] == "leaf []"
    assert printed[3:5] == ["step ['alwaysinline']", "kept as []"]
    assert printed[6] == "kept as [['noinline']]"


def test_kernels_of_the_package_are_what_the_file_says():
    """Flags of the loop's kernels: those of every event are inlined, and no kernel of a protocol is."""
    from stablecast.protocols import coordp
    from stablecast.simulate import drive

    if not isinstance(drive.letter_for, dispatch.KernelDispatcher):
        pytest.skip("kernels are not compiled here")
    assert drive.letter_for.targetoptions["forceinline"]
    for each in (drive.send_one, coordp.on_start, coordp.take_in, coordp.PROTOCOL.kernels.start):
        assert not each.targetoptions["forceinline"]
