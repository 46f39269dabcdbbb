"""Message stability in reliable multicast groups: knowing when every member has a message."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from stablecast.errors import StablecastError

if TYPE_CHECKING:
    from stablecast.advisor.advise import advise
    from stablecast.advisor.question import Question
    from stablecast.engine.levels import at_least, each_zone, everyone, members, zones
    from stablecast.engine.results import (
        Delivery,
        MessagesLost,
        ProbablyStable,
        Stable,
        StableInSmallerView,
        TimedOut,
    )
    from stablecast.live.group import Group
    from stablecast.live.joining import join
    from stablecast.live.receipt import Receipt
    from stablecast.multicast.delivery import Bimodal

__version__ = "0.1.0"

logging.getLogger(__name__).addHandler(logging.NullHandler())

_LAZY = {
    "Bimodal": "stablecast.multicast.delivery",
    "Delivery": "stablecast.engine.results",
    "Group": "stablecast.live.group",
    "MessagesLost": "stablecast.engine.results",
    "ProbablyStable": "stablecast.engine.results",
    "Receipt": "stablecast.live.receipt",
    "Stable": "stablecast.engine.results",
    "StableInSmallerView": "stablecast.engine.results",
    "TimedOut": "stablecast.engine.results",
    "Question": "stablecast.advisor.question",
    "advise": "stablecast.advisor.advise",
    "at_least": "stablecast.engine.levels",
    "each_zone": "stablecast.engine.levels",
    "everyone": "stablecast.engine.levels",
    "join": "stablecast.live.joining",
    "members": "stablecast.engine.levels",
    "zones": "stablecast.engine.levels",
}

__all__ = [
    "Bimodal",
    "Delivery",
    "Group",
    "MessagesLost",
    "ProbablyStable",
    "Question",
    "Receipt",
    "Stable",
    "StableInSmallerView",
    "StablecastError",
    "TimedOut",
    "__version__",
    "advise",
    "at_least",
    "each_zone",
    "everyone",
    "join",
    "members",
    "zones",
]


def __getattr__(name: str) -> Any:
    """Import the parts of live groups when they are first used."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_LAZY[name]), name)
