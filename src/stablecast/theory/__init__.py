"""Closed forms to hold measurements against: what the papers derive on paper, checked and corrected.

Pure functions of plain numbers; nothing here runs a protocol. Deviations from the printed formulas are listed
in the documentation page "Errata in the papers".
"""

from stablecast.theory.hierarchical import (
    PAPER_TABLE_1,
    PAPER_TABLE_3,
    PROTOCOLS,
    ack_chain_hops_s_train,
    ack_hops_coordp,
    ack_hops_s_train,
    group_size,
    hops,
    printed_ack_hops_coordp,
    printed_bottom_level_probability,
    printed_text_ack_hops_s_train,
    processed,
    processed_max,
    random_tree_level_probabilities,
    ring_hops,
    rounds,
)
from stablecast.theory.trigger import (
    TriggerRun,
    new_messages,
    peak_occupancy,
    printed_trigger_optimum,
    simulate_trigger,
    stability_tests,
    sustainable,
    time_to_stable_bound,
    trigger_bounds,
    trigger_optimum,
    trigger_optimum_messages,
)

__all__ = [
    "PAPER_TABLE_1",
    "PAPER_TABLE_3",
    "PROTOCOLS",
    "TriggerRun",
    "ack_chain_hops_s_train",
    "ack_hops_coordp",
    "ack_hops_s_train",
    "group_size",
    "hops",
    "new_messages",
    "peak_occupancy",
    "printed_ack_hops_coordp",
    "printed_bottom_level_probability",
    "printed_text_ack_hops_s_train",
    "printed_trigger_optimum",
    "processed",
    "processed_max",
    "random_tree_level_probabilities",
    "ring_hops",
    "rounds",
    "simulate_trigger",
    "stability_tests",
    "sustainable",
    "time_to_stable_bound",
    "trigger_bounds",
    "trigger_optimum",
    "trigger_optimum_messages",
]
