"""The lens of one message on the dashboard, where traces with rows of the wire are at hand.

The traces are read anew for each lens, as they are at that moment: members still write them.  A message that
is not known to be stable has no critical path yet; its lens says so.
"""

from __future__ import annotations

from pathlib import Path

from stablecast.errors import InvalidInput
from stablecast.observe.rows import PATTERN

LOOKED_AT_BYTES = 1 << 20
"""How much of a trace is looked at to see if it has rows of the wire."""
MARKS = (b'"kind":"transmit"', b'"kind":"arrive"', b'"kind":"timer"')
NEEDS = (
    "there is no lens: no traces with rows of the wire are at hand (accepted: dashboard of a folder of"
    " traces, or --traces DIR, of members that run with --trace and --wire)"
)


class Lens:
    """Makes lenses from a folder of traces, if there is one."""

    def __init__(self, folder: Path | None, *, group: str | None = None) -> None:
        self._folder = folder
        self._group = group

    @property
    def is_there(self) -> bool:
        """Whether there are traces that a lens can be made of."""
        return self._folder is not None and any(map(_has_wire, self._folder.glob(PATTERN)))

    def page(self, message: str) -> bytes:
        """Return the page about a message, which is open at it."""
        source, slash, seq = message.rpartition("/")
        if not (slash and source and seq.isascii() and seq.isdigit() and len(seq) <= 18):
            raise InvalidInput("accepted: /lens?message=SOURCE/NUMBER, such as ann/17")
        if self._folder is None or not self.is_there:
            raise InvalidInput(NEEDS)
        from stablecast import __version__
        from stablecast.causes import read
        from stablecast.report.lens.content import Asked, content_of
        from stablecast.report.lens.page import render

        run = read([str(self._folder)], group=self._group)
        content = content_of(run, f"{run.group}: {self._folder.name}", Asked((source, int(seq))))
        return render(content, version=__version__)


def _has_wire(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            text = opened.read(LOOKED_AT_BYTES)
    except OSError:
        return False
    return any(mark in text for mark in MARKS)
