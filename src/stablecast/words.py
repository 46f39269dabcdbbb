"""Numbers of things, as people say them."""

from __future__ import annotations


def counted(number: int, what: str) -> str:
    """Return a number of things: ``1 message``, ``2,000 messages``."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
