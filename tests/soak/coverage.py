"""What a run of many schedules has had in it: how many had each fault, each protocol and each size."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from stablecast.engine.choice import live_protocols
from tests.soak.faults import KINDS
from tests.soak.run import Outcome
from tests.soak.schedules import CROWD, SIZES, Schedule


class Coverage:
    """Counts schedules by what is in them."""

    def __init__(self) -> None:
        self.schedules = 0
        self.failed = 0
        self._cpu_s = 0.0
        self._totals: Counter[str] = Counter()
        self._had: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._cpu_of: defaultdict[str, float] = defaultdict(float)

    def add(self, schedule: Schedule, outcome: Outcome) -> None:
        """Count a schedule that was run."""
        self.schedules += 1
        self.failed += bool(outcome.problem)
        self._cpu_s += outcome.cpu_s
        for name in ("messages", "views", "datagrams", "replayed"):
            self._totals[name] += getattr(outcome, name)
        traits = schedule.traits - set(KINDS) | outcome.happened
        for name in (*traits, schedule.protocol, schedule.size):
            self._had[name] += 1
            self._failed[name] += bool(outcome.problem)
            self._cpu_of[name] += outcome.cpu_s

    def __str__(self) -> str:
        """Tell it as a table, a block for each kind of thing."""
        protocols = live_protocols()
        sizes = (*SIZES, CROWD)
        others = sorted(self._had.keys() - set(KINDS) - set(protocols) - set(sizes))
        blocks = {"faults": KINDS, "members": sizes, "protocols": protocols, "others": others}
        lines = [line for name, rows in blocks.items() for line in self._block(name, rows)]
        totals = ", ".join(f"{count:,} {name}" for name, count in self._totals.items())
        mean_ms = 1000 * self._cpu_s / max(self.schedules, 1)
        told = f"{self.schedules:,} schedules, {totals}, {self.failed} failed; {mean_ms:.0f} ms of CPU each"
        return "\n".join([*lines, told])

    def _block(self, name: str, rows: Iterable[str]) -> Iterator[str]:
        yield f"{name:20} schedules  failed  ms of CPU each"
        for row in rows:
            mean_ms = 1000 * self._cpu_of[row] / max(self._had[row], 1)
            yield f"  {row:18} {self._had[row]:9,} {self._failed[row]:7,} {mean_ms:15,.0f}"
