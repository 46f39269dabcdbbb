"""The lens of one message on the dashboard, where traces with rows of the wire are at hand."""

from __future__ import annotations

from pathlib import Path

from stablecast.errors import InvalidInput
from stablecast.observe.rows import PATTERN

LOOKED_AT_BYTES = 1 << 20
"""How much of a trace is looked at to see if it has rows of the wire."""


class Lens:
    """Makes lenses from a folder of traces, if there is one."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    @property
    def is_there(self) -> bool:
        """Whether there are traces that a lens can be made of."""
        return self._folder is not None and any(map(_has_wire, self._folder.glob(PATTERN)))

    def page(self, message: str) -> str:
        """Return the page about a message."""
        if not self.is_there:
            raise InvalidInput(
                "there is no lens: no traces with rows of the wire are at hand (accepted: dashboard of a"
                " folder of traces, or --traces DIR, of members that run with --trace and --wire)"
            )
        raise InvalidInput("this installation has no lens")


def _has_wire(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return b'"kind":"transmit"' in opened.read(LOOKED_AT_BYTES)
    except OSError:
        return False
