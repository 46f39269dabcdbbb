"""Message stability in reliable multicast groups: knowing when every member has a message."""

from stablecast.errors import StablecastError

__version__ = "0.1.0"
__all__ = ["StablecastError", "__version__"]
