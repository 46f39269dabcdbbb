"""One event schema for what members send, receive, know to be stable and release."""

from stablecast.trace.schema import COLUMNS, KINDS

__all__ = ["COLUMNS", "KINDS"]
