"""s_coord: minima climb a logical tree of degree log n, the result comes down the same tree.

It is ``s_coordp`` (see there) as the hypercube paper means it: the tree has degree log n and follows the
members' numbers, which have nothing to do with the network; START and INFO are passed on along the tree, so
that no member sends more than log n + 1 messages (section 4.2.2).  The kernels, and so the compiled loop, are
``s_coordp``'s.

Paper
    Scalable Stability Detection Using Logical Hypercube, section 2.3; retransmissions: section 3.5.
"""

from __future__ import annotations

from dataclasses import replace

from stablecast.protocols import s_coordp
from stablecast.protocols._tree import TREE_DEGREE
from stablecast.protocols.contract import Role, Started, hidden
from stablecast.protocols.layers import RESEND, sets_timers
from stablecast.protocols.layers.tree import PULL

PROTOCOL = s_coordp.PROTOCOL.replace(
    about=__doc__,
    paper="hypercube, section 2.3",
    runs=Started(by_minimum=True, timed=sets_timers, successors=True, placement="random"),
    parameters=(RESEND, replace(TREE_DEGREE, default="log"), hidden("relay", Role.RELAY, 1), PULL),
)
