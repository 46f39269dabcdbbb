"""Which of all executions one is, where several coordinators number them."""

from __future__ import annotations

from stablecast.compiling import kernel
from stablecast.protocols.layers.succession import REIGN, coordinator_of
from stablecast.simulate.state import Sim


@kernel
def ordinal(sim: Sim, execution: int) -> int:
    """Return which of all executions one is, from the number that its coordinator gave it.

    An execution that a successor begins in place of one that was running counts as the same.
    """
    if not sim.successors:
        return int(execution)
    return int(execution % REIGN + sim.members[coordinator_of(execution)].ahead)
