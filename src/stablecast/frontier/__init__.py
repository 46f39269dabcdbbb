"""Arrays of sequence numbers: one entry for each sender, the last number of an unbroken prefix."""

from stablecast.frontier.minimum import copy_into, exceeds, raise_to, take_minimum
from stablecast.frontier.window import accept

__all__ = ["accept", "copy_into", "exceeds", "raise_to", "take_minimum"]
