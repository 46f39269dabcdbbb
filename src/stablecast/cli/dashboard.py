"""``stablecast dashboard``: a live group as a web page."""

from __future__ import annotations

from stablecast.cli.observing import PlaceArgument


def dashboard_command(place: PlaceArgument) -> int:
    """Show."""
    return 0
