"""Small cases that together show what can go wrong with a connection, each small enough to explore whole.

Senders and receivers are numbered from 0.  With more connections, more timestamps or more nodes the number of
states grows by a factor of ten or so each; where a case has several of them, only some pairs may close.
"""

from __future__ import annotations

from stablecast.papers.timestamp.connections.worlds import Case

ONE_TO_THREE = (1, 2, 3)

FIGURE_4 = Case(
    timestamps=((27,), (22, 33), (30,)),  # of nodes 1, 2 and 3
    receivers=2,  # nodes 2 and 3
    only=((0, 0), (0, 1), (1, 1), (2, 0)),
    connected=((0, 0), (1, 1), (2, 0)),
    closing=(),
)
"""The paper's Figure 4, in which node 3 connects to node 1 at any time."""

CASES = {
    "one pair, three connections": Case((ONE_TO_THREE,), 1, connections=3),
    "one pair, with all that is left over from earlier connections": Case(
        timestamps=(ONE_TO_THREE,),
        receivers=1,
        connections=2,
        tidy=False,
    ),
    "two senders": Case(((1, 2), (1, 2)), 1),
    "two senders, one comes back, with all that is left over": Case(
        timestamps=((1, 2), (2,)),
        receivers=1,
        connections=2,
        closing=((0, 0),),
        connected=((0, 0), (1, 0)),
        tidy=False,
    ),
    "two senders, one comes back": Case(
        timestamps=(ONE_TO_THREE, (1, 3)),
        receivers=1,
        connections=2,
        closing=((0, 0),),
        connected=((0, 0), (1, 0)),
    ),
    "two receivers": Case(((1, 2),), 2),
    "two receivers, one comes back": Case(
        timestamps=(ONE_TO_THREE,),
        receivers=2,
        connections=2,
        closing=((0, 0),),
        connected=((0, 0), (0, 1)),
    ),
    "two of each, a pair connects, another closes": Case(
        timestamps=((1, 2), (1,)),
        receivers=2,
        closing=((0, 0),),
        connected=((0, 0), (0, 1), (1, 0)),
    ),
    "two of each, a pair connects and closes": Case(
        timestamps=((1, 2), (2,)),
        receivers=2,
        closing=((1, 1),),
        connected=((0, 0), (0, 1), (1, 0)),
    ),
    "figure 4, node 3 connects to node 1 at any time": FIGURE_4,
}
"""Ten cases, by name; together they have 161,459 states."""
