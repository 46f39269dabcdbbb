"""Numbers of things, as people say them, and names as they may be printed."""

from __future__ import annotations


def counted(number: int, what: str) -> str:
    """Return a number of things: ``1 message``, ``2,000 messages``."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def printable(text: str) -> str:
    """Return a text with control characters written out, as they might do things to a terminal."""
    return "".join(c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode() for c in text)
