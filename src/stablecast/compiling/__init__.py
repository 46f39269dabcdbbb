"""The compiler behind one door: the only package that imports numba.

``cache`` names the folder of compiled code, ``dispatch`` says how kernels are compiled, ``structs`` and
``tables`` how compiled code sees the arrays of a run, and ``views`` what a protocol has declared.
"""

from stablecast.compiling.cache import CACHE_FOLDER, sources_digest
from stablecast.compiling.dispatch import KernelError, apart, compile_for, inlined, is_kernel, kernel

__all__ = [
    "CACHE_FOLDER",
    "KernelError",
    "apart",
    "compile_for",
    "inlined",
    "is_kernel",
    "kernel",
    "sources_digest",
]
