"""Closed forms to hold measurements against: what the papers derive on paper, checked and corrected.

Pure functions of plain numbers; nothing here runs a protocol. Deviations from the printed formulas are listed
in the documentation page "Errata in the papers".
"""

from stablecast.theory.trees import group_size, random_tree_level_probabilities
from stablecast.theory.trigger import (
    TriggerRun,
    new_messages,
    peak_occupancy,
    simulate_trigger,
    stability_tests,
    sustainable,
    time_to_stable_bound,
    trigger_bounds,
    trigger_optimum,
    trigger_optimum_messages,
)

__all__ = [
    "TriggerRun",
    "group_size",
    "new_messages",
    "peak_occupancy",
    "random_tree_level_probabilities",
    "simulate_trigger",
    "stability_tests",
    "sustainable",
    "time_to_stable_bound",
    "trigger_bounds",
    "trigger_optimum",
    "trigger_optimum_messages",
]
