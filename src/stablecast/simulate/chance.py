"""The streams of random draws that the simulator itself uses."""

from __future__ import annotations

from stablecast.protocols.contract.draws import uniform

LINK_STREAM = 1 << 40
MEMBER_STREAM = 2 << 40
OMISSION_STREAM = 4 << 40
DETOUR_STREAM = 5 << 40

__all__ = ["DETOUR_STREAM", "LINK_STREAM", "MEMBER_STREAM", "OMISSION_STREAM", "uniform"]
