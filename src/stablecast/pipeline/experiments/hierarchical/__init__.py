"""The hierarchical paper: Tables 1 to 4, Figures 6 to 10, the trigger and the time to stable."""

from __future__ import annotations

from collections.abc import Iterator

from stablecast.pipeline.experiments.hierarchical.message_tables import (
    complexity,
    complexity_orders,
    group_sizes,
    hop_counts,
)
from stablecast.pipeline.experiments.hierarchical.round_trips import (
    gain_sensitivity,
    gains,
    queues,
    random_trees,
    round_trips,
)
from stablecast.pipeline.experiments.hierarchical.time_to_stable import techniques, time_to_stable
from stablecast.pipeline.experiments.hierarchical.triggers import trigger_model, trigger_on_network
from stablecast.pipeline.experiments.table import Report, Table


def tables(*, full: bool, report: Report) -> Iterator[Table]:
    """Run the paper's evaluation and yield its tables one by one."""
    report("Tables 1 to 4: messages, rounds and sizes")
    yield complexity()
    yield complexity_orders()
    yield group_sizes()
    yield hop_counts()
    report("Figures 8 to 10: queues and round-trip times")
    yield queues()
    yield round_trips()
    yield gains()
    yield gain_sensitivity()
    report(f"random trees, {10 if full else 3} for each size")
    yield random_trees(trees=10 if full else 3)
    report("section 6: trigger and time to stable")
    yield trigger_on_network()
    yield trigger_model()
    yield time_to_stable()
    yield techniques()
