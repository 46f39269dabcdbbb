"""s_coord: minima climb a logical tree of degree log n, the result comes down the same tree.

It is ``s_coordp`` (see there) as the hypercube paper means it: the tree has degree log n and follows the
members' numbers, which have nothing to do with the network; START and INFO are passed on along the tree, so
that no member sends more than log n + 1 messages (section 4.2.2).  The kernels, and so the compiled loop, are
``s_coordp``'s.

Paper
    Scalable Stability Detection Using Logical Hypercube, section 2.3; resends: section 3.5.
"""

from __future__ import annotations

import dataclasses

from stablecast.protocols import s_coordp

DEFAULTS: dict[str, int | str] = {"tree_degree": "log", "relay": 1}

PROTOCOL = dataclasses.replace(
    s_coordp.PROTOCOL,
    name="s_coord",
    title="minima climb a logical tree of degree log n, the result comes down the same tree",
    paper="hypercube, section 2.3",
    parameters=tuple(
        dataclasses.replace(parameter, default=DEFAULTS.get(parameter.name, parameter.default))
        for parameter in s_coordp.PROTOCOL.parameters
    ),
    placement="random",
)
