"""The example notebooks are valid, have no outputs, and run from the top: each cell, and what it shows.

A notebook's kernel takes the last expression of a cell and asks it for its HTML; so does this runner.
"""

import ast
import contextlib
import json
import re
from pathlib import Path

import matplotlib
import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent.parent / "docs" / "examples").glob("*.ipynb"))
NAMES = [file.name for file in NOTEBOOKS]
CELL_KEYS = {"code": {"execution_count", "outputs"}, "markdown": set()}


def cells_of(file: Path) -> list[dict]:
    return json.loads(file.read_text(encoding="utf-8"))["cells"]


def run_cell(source: str, names: dict) -> object:
    """Run a cell, and return what it shows: the value of its last expression, unless it ends with ``;``."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is None:
        return None
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return None if source.rstrip().endswith(";") else value


def test_there_is_an_example():
    assert NOTEBOOKS


@pytest.mark.parametrize("file", NOTEBOOKS, ids=NAMES)
def test_a_notebook_has_the_format_and_no_outputs(file):
    notebook = json.loads(file.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert set(notebook) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in notebook["cells"]:
        assert set(cell) == {"cell_type", "id", "metadata", "source"} | CELL_KEYS[cell["cell_type"]]
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", cell["id"])
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.parametrize("file", NOTEBOOKS, ids=NAMES)
def test_every_cell_runs_and_what_it_shows_has_html(file, tmp_path):
    from matplotlib import pyplot

    names: dict = {"__name__": "__main__"}
    shown = {}
    with contextlib.chdir(tmp_path), matplotlib.rc_context({"backend": "agg"}):
        for cell in cells_of(file):
            if cell["cell_type"] == "code":
                value = run_cell("".join(cell["source"]), names)
                shown |= {cell["id"]: value._repr_html_()} if value is not None else {}
        pictures = pyplot.get_fignums()
        pyplot.close("all")
    assert len(pictures) == 2
    assert "121 members" in shown["protocol"]
    assert "20 of 20 messages stable" in shown["analysis"]
    assert "data:image/svg+xml;base64," in shown["diagram"]
    assert "MemberFailed" in shown["live"]
