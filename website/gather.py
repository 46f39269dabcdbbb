"""Gather the site's sources: the repository's pages, and reference pages that are made from the code.

What is true afterwards: every page of ``docs/`` is in the folder under its own path, so links among pages
need no change.  A link to anything that is no page of the site, such as a file of the code, becomes
the file's name: the site has to make sense without a checkout.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from website import made
from website.sections import SECTIONS

ROOT = Path(__file__).parent.parent
HERE = Path(__file__).parent
OTHERS = ("benchmarks/README.md", "CHANGELOG.md", "CONTRIBUTING.md")
"""Pages outside of ``docs/``."""
LEFT_OUT = ("docs/index.md",)
"""The list of pages for readers of a checkout; the site has its own."""
PICTURES = (".png", ".svg")
LINK = re.compile(r"(!?)\[((?:[^\]\\]|\\.)*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def gather(folder: Path) -> None:
    """Write all sources of the site into a folder, which is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = sorted(_pages())
    for page in pages:
        _write(folder / page, _with_links_of_the_site((ROOT / page).read_text(), page, set(pages)))
    for picture in (ROOT / "docs").rglob("*"):
        if picture.suffix in PICTURES:
            target = folder / picture.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(picture, target)
    _write(folder / "docs/decisions/index.md", made.decisions(ROOT / "docs/decisions"))
    for name, text in made.reference().items():
        _write(folder / "reference" / name, text)
    _write(folder / "index.md", (HERE / "landing.md").read_text() + "\n" + _contents())


def _pages() -> Iterator[str]:
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT).as_posix()
        if name not in LEFT_OUT:
            yield name
    yield from OTHERS


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _with_links_of_the_site(text: str, page: str, pages: set[str]) -> str:
    """Return a page whose links lead to pages of the site alone."""

    def rewritten(match: re.Match[str]) -> str:
        mark, shown, target = match.groups()
        path, _, _ = target.partition("#")
        if not path or "://" in path or path.endswith(PICTURES):
            return match[0]
        name = os.path.normpath(Path(page).parent / path).replace(os.sep, "/")
        if name in pages:
            return match[0]
        if name == "docs/index.md":
            up = os.path.relpath("index.md", Path(page).parent)
            return f"{mark}[{shown}]({up})"
        return f"{shown} (`{name}`)" if name not in shown else shown

    parts = FENCE.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(rewritten, part) for part in parts)


def _contents() -> str:
    blocks = []
    for section in SECTIONS:
        pages = "\n".join(f"/{page}" for page in section.pages)
        blocks.append(f"```{{toctree}}\n:hidden:\n:caption: {section.title}\n:maxdepth: 1\n\n{pages}\n```\n")
    return "\n".join(blocks)
