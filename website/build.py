"""Build the site: ``python -m website.build --out build/site``; a broken link or reference ends it with 1."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

from website.gather import HERE, gather


def main(arguments: list[str] | None = None) -> int:
    """Gather the sources and build the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/site"))
    given = parser.parse_args(arguments)
    gather(given.out / "source")
    told = ["-b", "html", "-W", "--keep-going", "-q", "-j", "auto", "-c", str(HERE)]
    folders = [str(given.out / "source"), str(given.out / "html"), "-d", str(given.out / "doctrees")]
    return build_main([*told, *folders])


if __name__ == "__main__":
    sys.exit(main())
