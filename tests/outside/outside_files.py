"""Protocol files to try: the example of the docs, and variants of it with something wrong."""

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


def complaint(capsys, *arguments: str) -> str:
    """Run a command that is wrong usage; return its one line."""
    capsys.readouterr()
    assert main(list(arguments)) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("# ")]
    assert len(lines) == 1, lines
    return lines[0].removeprefix("stablecast: ")
