"""Kernels that are compiled for a caller have no machine code, until Python calls them."""

from __future__ import annotations

import os
import subprocess
import sys

from stablecast.compiling import dispatch

SCRIPT = """
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


def run(tmp_path):
    script = tmp_path / "kernels.py"
    script.write_text(SCRIPT)
    environment = os.environ | {"STABLECAST_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True, env=environment
    )
    return done.stdout.splitlines()


def test_only_what_python_calls_is_compiled_down(tmp_path):
    assert run(tmp_path) == [
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
    again = run(tmp_path)
    assert again[:4] == ["8", "least []", "shifted []", "outer [False]"]
    assert again[4:] == ["3 3 6", "least [False]", "shifted [False]", "16 1.5"]


def test_numba_has_what_it_reaches_into():
    assert dispatch
