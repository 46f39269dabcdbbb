"""Whether this process was forked: a copy of a process must not go on with what belongs to the first one.

A copy has the same session, key and counter, so both would seal different datagrams with the same nonce,
which breaks AES-GCM; and it has the same socket, so each would take what the other is sent.
"""

from __future__ import annotations

import os


class Process:
    """How often this process, and those that it was copied from, were forked."""

    forks = 0


def _was_forked() -> None:
    Process.forks += 1


os.register_at_fork(after_in_child=_was_forked)
