"""coord: the coordinator protocol, one message to each member, members anywhere on the network.

It is ``coordp`` (see there) as the hypercube paper means it: a multicast is n - 1 messages to one member
each, and members are numbered without regard to the network.  The kernels, and so the compiled loop, are
``coordp``'s.

Paper
    Scalable Stability Detection Using Logical Hypercube, section 2.1; resends: section 3.5.
"""

from __future__ import annotations

import dataclasses

from stablecast.protocols import coordp

PROTOCOL = dataclasses.replace(
    coordp.PROTOCOL,
    name="coord",
    title="the coordinator protocol, one message to each member, members anywhere on the network",
    paper="hypercube, section 2.1",
    placement="random",
    cast="unicast",
)
