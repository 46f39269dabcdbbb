"""``stablecast key``: a new key for a group."""

from __future__ import annotations


def key_command() -> None:
    """Print a new random key, for a file that only its owner may read.

    Example: (umask 077; stablecast key > group.key)
    """
    from stablecast.engine.keys import new_key_text

    print(new_key_text())
