"""Pictures of values, found by the values' names: the package that draws them is above the one that has them.

A value's class is below ``report`` and may not import it.  So ``value.plot()`` asks here, and the drawer is
imported when it is called, by the name that this table has of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stablecast.errors import InvalidInput

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURES = {
    "Result": "stablecast.report.plots.of_runs:panel_of_run",
    "LiveResult": "stablecast.report.plots.of_runs:panel_of_live_run",
    "Runs": "stablecast.report.plots.of_runs:panel_of_runs",
}
"""By the name of a class, what makes a panel of its values."""
DRAWER = "stablecast.report.plots.drawing:draw"
NEEDS = "plot needs matplotlib (pip install 'stablecast[pipeline]')"


def plot(value: Any, axes: Axes | None = None, **how: Any) -> Axes:
    """Draw a value, into axes of matplotlib if some are given, and return these."""
    try:
        import matplotlib.pyplot  # noqa: F401
    except ModuleNotFoundError:
        raise InvalidInput(NEEDS) from None
    drawn: Axes = found(DRAWER)(found(PICTURES[type(value).__name__])(value, **how), axes)
    return drawn


def found(name: str) -> Any:
    """Return what ``module:name`` says."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)
