"""coord: the coordinator protocol, one message to each member, members anywhere on the network.

It is ``coordp`` (see there) as the hypercube paper means it: a multicast is n - 1 messages to one member
each, and members are numbered without regard to the network.  The kernels, and so the compiled loop, are
``coordp``'s.

Paper
    Scalable Stability Detection Using Logical Hypercube, section 2.1; retransmissions: section 3.5.
"""

from __future__ import annotations

from stablecast.protocols import coordp
from stablecast.protocols.contract import Started
from stablecast.protocols.layers import sets_timers

PROTOCOL = coordp.PROTOCOL.replace(
    about=__doc__,
    paper="hypercube, section 2.1",
    runs=Started(by_minimum=True, timed=sets_timers, successors=True, placement="random", cast="unicast"),
)
