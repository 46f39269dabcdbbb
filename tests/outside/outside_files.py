"""Protocol files to try: the example of the docs, and variants of it with something wrong.

A loop takes seconds to compile, once for each name and text of a file.  So tests that run a file, whatever it
is, run the example itself or `another`, each compiled once for all of them.
"""

import shutil
from pathlib import Path

from stablecast.cli.main import main

EXAMPLES = Path(__file__).parent.parent.parent / "docs" / "examples"
DOUBLING = EXAMPLES / "doubling.py"
NEAR_CUBE = EXAMPLES / "near_cube.py"
SMALL = ["--topology", "balanced", "--members", "6"]


def variant(folder: Path, old: str, new: str, *, name: str = "mine.py") -> tuple[str, int]:
    """Write the example with something replaced; return its path and the line of what is new."""
    text = DOUBLING.read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text.replace(old, new), encoding="utf-8")
    return str(file), text[: text.index(old)].count("\n") + 1


def example(folder: Path) -> str:
    """Write the example as it is; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    return str(shutil.copyfile(DOUBLING, folder / DOUBLING.name))


def another(folder: Path) -> str:
    """Write a file of the example's name that takes steps twice as long, and a smaller fanout at most."""
    file = Path(example(folder))
    text = file.read_text(encoding="utf-8")
    for old, new in (("doubling:", "another:"), ("TIME, 10.0", "TIME, 20.0"), ("most=8", "most=4")):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")
    return str(file)


def complaint(capsys, *arguments: str) -> str:
    """Run a command that is wrong usage; return its one line."""
    capsys.readouterr()
    assert main(list(arguments)) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("# ")]
    assert len(lines) == 1, lines
    return lines[0].removeprefix("stablecast: ")
