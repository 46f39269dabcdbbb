"""Imported once by the server that members are forked from: what all of them need is loaded, and shared."""

from __future__ import annotations

import os

import stablecast.live.demo.member  # noqa: F401
from stablecast.engine.choice import choose
from stablecast.engine.warm import warm

PROTOCOL_VARIABLE = "STABLECAST_DEMO_PROTOCOL"
"""Names the protocol whose kernels are loaded, or its file; a member of another one loads its own."""

if os.environ.get(PROTOCOL_VARIABLE):
    warm(choose(os.environ[PROTOCOL_VARIABLE]))
