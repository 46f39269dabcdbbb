"""bimodal: an unreliable multicast, repaired by gossip; few or all members keep each message.

It delivers messages itself, so live groups, which have a data plane of their own, do not run it.  The
machine, its parameters and its theory are in ``stablecast.multicast.bimodal``.

Paper
    Efficient Buffering in Reliable Multicast Protocols, sections 2 to 5.
"""

from stablecast.multicast.bimodal import PROTOCOL

__all__ = ["PROTOCOL"]
