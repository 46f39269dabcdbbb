"""Kinds of events as small numbers, and times and numbers that stand for none."""

from __future__ import annotations

KINDS = ("send", "stable", "receive", "release", "join", "leave", "fail", "head", "position")
"""The number of a kind is its place."""
SEND, STABLE, RECEIVE, RELEASE, JOIN, LEAVE, FAIL, HEAD, POSITION = range(len(KINDS))
LATE = len(KINDS)
"""A receipt by somebody who was gone: it does not count."""
EVER, NEVER = -(2**63), 2**63 - 1
"""When one joined who was there before the trace began; and what has not happened."""

EARLIEST = "earliest"
FirstSeq = int | str
"""The number that every source begins with, or ``earliest``: the smallest that it sent."""
RUN_BITS = 12
RUN = 1 << RUN_BITS
"""Numbers of a source that stay together, in one process."""
