"""Message stability in reliable multicast groups: simulated, live, and on Spark."""

from stablecast.errors import StablecastError

__version__ = "0.1.0"
__all__ = ["StablecastError", "__version__"]
