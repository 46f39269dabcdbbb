"""Names in a folder of this machine that lead plain readers to the newest version.

``OUT/messages``, ``OUT/summary.json`` and so on are links through ``.watch/current``, which leads to
``.watch/shown/N``: a folder for each table with hard links to the files that the manifest of part N names,
and the summary.  All names change by one rename, of ``.watch/current``, once what it leads to is whole.

All of this is a convenience.  It is derived from the manifest, and nothing of stablecast reads it.  If it is
removed, the next start of ``watch`` makes it anew; where a file system has no links, there is none.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path

from stablecast.analysis.output import SUMMARY
from stablecast.analysis.version import HIDDEN, Version

NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP)
"""What file systems say that have none."""
KEPT_SHOWN = 2


def show(out: Path, version: Version) -> None:
    """Let the names of an output lead to a version, if the file system has links."""
    try:
        _show(out, version)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise


def _show(out: Path, version: Version) -> None:
    shown, current = out / HIDDEN / "shown", out / HIDDEN / "current"
    folder = shown / f"{version.part:09d}"
    if not _leads_to(current, f"shown/{folder.name}"):
        shutil.rmtree(folder, ignore_errors=True)
        _make(out, folder, version)
        _link(current, f"shown/{folder.name}")
    for name in (*version.tables, SUMMARY):
        _link(out / name, f"{HIDDEN}/current/{name}")
    for old in sorted(shown.iterdir())[:-KEPT_SHOWN]:
        shutil.rmtree(old, ignore_errors=True)


def _make(out: Path, folder: Path, version: Version) -> None:
    for table, files in version.tables.items():
        place = folder / table
        place.mkdir(parents=True)
        for file in files:
            os.link(f"{out}/{file}", f"{place}/{file.rpartition('/')[2]}")  # symbolic ones take longer
    text = json.dumps(version.summary, indent=1) + "\n"
    (folder / SUMMARY).write_text(text, encoding="utf-8")


def _leads_to(link: Path, target: str) -> bool:
    return link.is_symlink() and os.readlink(link) == target and link.exists()  # noqa: PTH115


def _link(link: Path, target: str) -> None:
    """Let a link lead somewhere, in one step."""
    if _leads_to(link, target):
        return
    beside = link.with_name(f".{link.name}.new")
    beside.unlink(missing_ok=True)
    beside.symlink_to(target)
    beside.replace(link)
