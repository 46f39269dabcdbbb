"""An answer of the advisor: what to run, what it will do, what the others would cost, and what binds."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stablecast.advisor.binding import Binding
from stablecast.advisor.candidates import Candidate
from stablecast.advisor.intervals import Interval
from stablecast.advisor.question import Question
from stablecast.advisor.trigger import Trigger
from stablecast.engine.options import Options

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEASURES = {
    "p50_ms": "time to stable, p50 (ms)",
    "p99_ms": "time to stable, p99 (ms)",
    "bytes_per_s": "sent by a member (bytes/s)",
    "buffer_bytes": "kept by a member, most (bytes)",
}
"""What is predicted, and how it is called."""
PACE = "from stablecast.engine.pace import PaceOptions"


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What a candidate will do: the prediction interval of one more run, for each measurement."""

    candidate: Candidate
    measures: dict[str, Interval]
    """By the names of ``MEASURES``."""
    step_ms: float

    @property
    def p50_ms(self) -> Interval:
        """Half of the messages are stable after."""
        return self.measures["p50_ms"]

    @property
    def p99_ms(self) -> Interval:
        """All but a hundredth of them are."""
        return self.measures["p99_ms"]

    @property
    def runs(self) -> int:
        """Runs that the intervals are from."""
        return self.p50_ms.runs

    def beside(self, other: Forecast) -> dict[str, float]:
        """Return by which factors this one costs more than another; below 1 it costs less."""
        return {name: self.measures[name].mid / max(other.measures[name].mid, 1e-12) for name in MEASURES}

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        told = {
            name: {"mid": each.mid, "low": each.low, "high": each.high}
            for name, each in self.measures.items()
        }
        return {
            "protocol": self.candidate.protocol,
            "protocol_options": dict(self.candidate.params),
            "label": self.candidate.label,
            "step_ms": self.step_ms,
            "runs": self.runs,
            **told,
        }


@dataclass(frozen=True, kw_only=True)
class Advice:
    """The answer to a question."""

    question: Question
    best: Forecast
    runners_up: tuple[Forecast, ...]
    """The best candidates of other protocols, and what a group runs that is told nothing."""
    binds: Binding
    trigger: Trigger
    window_ms: tuple[float, float]
    """Steps from the shortest to the longest that did nearly as well."""
    promised: bool
    """Whether groups of this size were simulated; otherwise times are extrapolated."""
    simulated_members: int
    candidates: int
    cut: int
    """Candidates that closed forms cut, or that take too long to simulate."""
    runs: int
    made: int
    """Of the runs, those that were made now."""
    wall_s: float

    @property
    def join(self) -> str:
        """The call that joins such a group."""
        told = self.best.candidate
        words = [f"protocol={told.protocol!r}"]
        if told.params:
            words.append(f"protocol_options={dict(told.params)!r}")
        pace = []
        if told.steps != 1:
            pace.append(f"step_s={told.step_s(self.question.members):g}")
        if self.trigger.is_advised:
            pace.append(f"trigger_bytes={self.trigger.bytes}")
        if pace:
            words.append(f"pace=PaceOptions({', '.join(pace)})")
        if told.fan_out != Options.fan_out:
            words.append(f"fan_out={told.fan_out!r}")
        if told.policy != Options.policy:
            words.append(f"policy={told.policy!r}")
        if self.question.buffer_bytes != Options.buffer_bytes:
            words.append(f"buffer_bytes={self.question.buffer_bytes}")
        return f'stablecast.join("GROUP", {", ".join(words)})'

    @property
    def simulate(self) -> str:
        """The command that makes one of the runs."""
        options = {**self.question.options(), **self.best.candidate.options(self.question.members)}
        if self.trigger.is_advised:
            options["trigger_bytes"] = self.trigger.bytes
        faults = self.question.faults(1)
        words = ["stablecast", "simulate", "live"]
        for name, value in {**options, **({"faults": faults} if faults else {}), "seed": 1}.items():
            if value is not None:
                words += [
                    f"--{name.replace('_', '-')}",
                    f"{value:.12g}" if type(value) is float else str(value),
                ]
        return shlex.join(words)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return {
            "members": self.question.members,
            "goal": str(self.question.wanted),
            "advice": self.best.to_dict(),
            "runners_up": [{**each.to_dict(), "costs": each.beside(self.best)} for each in self.runners_up],
            "binds": {"what": self.binds.what, "why": self.binds.why},
            "trigger": self.trigger.to_dict(),
            "step_window_ms": list(self.window_ms),
            "promised": self.promised,
            "simulated_members": self.simulated_members,
            "candidates": self.candidates,
            "cut": self.cut,
            "runs": self.runs,
            "made": self.made,
            "join": self.join,
            "needs": PACE if "PaceOptions" in self.join else "",
            "simulate": self.simulate,
            "wall_s": round(self.wall_s, 3),
        }

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw the candidates' times beside their bytes, with their intervals; needs matplotlib."""
        from stablecast.advisor.picture import draw

        return draw(self, axes)

    def _repr_html_(self) -> str:
        from stablecast.advisor.showing import card_of_advice

        return card_of_advice(self).html()
