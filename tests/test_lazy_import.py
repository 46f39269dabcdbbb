import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module", ["stablecast", "stablecast.protocols", "stablecast.cli.main", "stablecast.causes"]
)
def test_importing_loads_neither_spark_nor_the_compiler(module):
    code = f"import sys, {module}; print([m for m in ('pyspark', 'numba', 'pyarrow') if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"
