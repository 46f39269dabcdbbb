"""Which page stands where on the site."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Section:
    """A part of the site."""

    title: str
    pages: tuple[str, ...]
    """Paths in the site's sources, without ``.md``."""


SECTIONS = (
    Section("Start here", ("docs/live", "docs/holdback", "docs/simulate")),
    Section(
        "Run a group",
        (
            "docs/node",
            "docs/demo",
            "docs/top",
            "docs/dashboard",
            "docs/lens",
            "docs/metrics",
            "docs/large-groups",
            "docs/simulate-live",
            "docs/advise",
            "docs/calibrate",
            "docs/testing-kit",
        ),
    ),
    Section(
        "Logs that others read",
        (
            "docs/holdback/redis",
            "docs/holdback/postgres",
            "docs/holdback/nats",
            "docs/holdback/kafka",
            "docs/holdback/groups",
            "docs/collect",
            "docs/trim",
            "docs/audit",
            "docs/holdback/metrics",
        ),
    ),
    Section(
        "Analyse traces",
        (
            "docs/analyze",
            "docs/notebook",
            "docs/watch",
            "docs/event-source",
            "docs/analysis-report",
            "docs/cluster",
        ),
    ),
    Section("Research", ("docs/sweep", "docs/reproduce", "docs/report", "docs/add-a-protocol")),
    Section(
        "The papers",
        (
            "docs/papers/hierarchical",
            "docs/papers/gossip",
            "docs/papers/hypercube",
            "docs/papers/hypercube-beyond",
            "docs/papers/timestamp",
            "docs/papers/buffering",
            "docs/errata",
        ),
    ),
    Section(
        "Reference",
        (
            "reference/commands",
            "reference/options",
            "reference/protocols",
            "reference/python",
            "docs/glossary",
            "docs/wire-format",
            "docs/model",
        ),
    ),
    Section(
        "How and why it works",
        (
            "docs/guarantees",
            "docs/holdback/idea",
            "docs/live-internals",
            "docs/threat-model",
            "docs/architecture",
            "docs/testing",
            "docs/dependencies",
            "benchmarks/README",
            "docs/decisions/index",
        ),
    ),
    Section("The project", ("CONTRIBUTING", "CHANGELOG")),
)
