"""Answer a question: cut the space by closed forms, race what is left, check the promise with fresh seeds.

The promise
    The intervals of the answer are from runs whose seeds no candidate was chosen by.  The choice among noisy
    times prefers what was lucky; with other seeds it is not lucky any more.
When an answer is refused
    Before anything is simulated, by the limits of ``bounds``.  Afterwards, if no candidate kept up, or none
    kept the limit of the goal: with what the best one came to, and what binds it.
"""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from stablecast.advisor.advice import MEASURES, Advice, Forecast
from stablecast.advisor.binding import binding
from stablecast.advisor.bounds import Impossible, cut, refuse_impossible, work
from stablecast.advisor.candidates import Candidate, candidates, default_candidate
from stablecast.advisor.crew import Crew, Processes
from stablecast.advisor.intervals import ENOUGH, predict
from stablecast.advisor.kept import Kept
from stablecast.advisor.measuring import Measured
from stablecast.advisor.question import Question
from stablecast.advisor.race import (
    Budget,
    Records,
    Say,
    is_sound,
    keeps,
    log_mean,
    race,
    second_chance,
    seeds_of,
    values,
)
from stablecast.advisor.scaling import Scale, scale_for
from stablecast.advisor.trigger import trigger_for

FRESH_FROM = 1001
"""First seed of the runs that intervals are from."""
FRESH = (79, ENOUGH)
"""Runs of an interval: as many as the budget allows."""
FRESH_LEAST = 8
TRIES = 4
"""Candidates that are tried against a limit with fresh seeds."""
RUNNERS_UP = 3
BESIDE = 5
"""Runs of each of them."""
TIMES = {"p50_ms": "p50", "p99_ms": "p99"}
"""What is measured of times, as files of costs call it."""
NEARLY = 1.1
"""Ratio of the small measurement within which a step does nearly as well."""


def advise(
    question: Question | None = None,
    *,
    crew: Crew | None = None,
    budget: Budget | None = None,
    say: Say | None = None,
    folder: Path | None = None,
    **asked: Any,
) -> Advice:
    """Return the best protocol for a group, with its parameters, and what it will do.

    Parameters
    ----------
    question
        What is asked; or the fields of a :class:`Question` by name: ``advise(members=8, rate_per_s=100)``.
    crew
        Who simulates: by default a process for each core of this machine.
    budget
        How much may be simulated.
    say
        Told how it goes.
    folder
        Where results of runs are kept; by default beside the compiled code.
    """
    began = clock.monotonic()
    wanted = Question(**asked) if question is None else question
    refuse_impossible(wanted)
    limits = budget or Budget()
    scale = scale_for(wanted, limits)
    with ExitStack() as stack:
        hands = crew or stack.enter_context(Processes())
        records = Records(scale.question, hands, Kept(scale.question, folder), say or _silent)
        return _Answering(wanted, scale, records, limits).advice(began)


@dataclass
class _Answering:
    wanted: Question
    scale: Scale
    records: Records
    budget: Budget

    def advice(self, began: float) -> Advice:
        question = self.records.question
        everything = candidates(question)
        entrants = [each for each in cut(question, everything) if self._is_affordable(each)]
        left = race(self.records, entrants, self.budget)
        best = self._checked(left, entrants)
        fresh = self._fresh(best)
        others = self._runners_up(best, entrants)
        self.records.run(((each, seed) for each in others for seed in seeds_of(BESIDE)), "runners-up")
        forecast = self.scale.forecast(self._forecast(best, fresh), self.records, self.budget)
        return Advice(
            question=self.wanted,
            best=forecast,
            runners_up=tuple(self._forecast(each, self.records.of(each)) for each in others),
            binds=binding(question, best, fresh),
            trigger=trigger_for(self.wanted, best, forecast.p99_ms.mid),
            window_ms=self._window(best, entrants),
            promised=self.scale.is_whole,
            simulated_members=question.members,
            candidates=len(everything),
            cut=len(everything) - len(entrants),
            runs=len(self.records.found),
            made=self.records.made,
            wall_s=clock.monotonic() - began,
        )

    def _is_affordable(self, candidate: Candidate) -> bool:
        """Tell whether a candidate can take part: two of its runs are a small part of the budget."""
        dear = work(self.records.question, candidate) > self.budget.race / 20
        return candidate == default_candidate() or not dear

    def _checked(self, left: Sequence[Candidate], entrants: Sequence[Candidate]) -> Candidate:
        """Return the best candidate that keeps the limit with fresh seeds, too.

        If none of the first does, the others have their second chance: what the race knows of a limit that
        one run in twenty may miss comes from some twelve runs, and it may have kept the wrong ones.
        """
        best = self._first_that_keeps(left[:TRIES])
        if best is None:
            others = [each for each in second_chance(self.records, entrants) if each not in left[:TRIES]]
            best = self._first_that_keeps(others[:TRIES])
        if best is None:
            raise self._refusal(left[0] if left else None)
        return best

    def _first_that_keeps(self, those: Sequence[Candidate]) -> Candidate | None:
        for each in those:
            self._make_fresh(each)
            if is_sound(self._fresh(each)) and keeps(self.wanted.aimed, self._fresh(each)):
                return each
        return None

    def _refusal(self, tried: Candidate | None) -> Impossible:
        """Return what to say of the best that there is."""
        question, goal = self.records.question, self.wanted.wanted
        nearest = tried or min(
            {each for each, _ in self.records.found},
            key=lambda each: (
                fmean(not one.is_sound for one in self.records.of(each)),
                -len(self.records.of(each)),
                log_mean(values(self.records.of(each), "p99_ms")),
                each,
            ),
        )
        results = self._fresh(nearest) or self.records.of(nearest)
        binds = binding(question, nearest, results)
        p99 = predict(values(results, "p99_ms")).times(self.wanted.factor("p99"))
        if goal.limit_ms is not None and is_sound(results):
            return Impossible(
                f"impossible: 95 % of all runs have to keep a 99th percentile of {goal.limit_ms:g} ms, and"
                f" the nearest, {nearest.label}, has {p99.mid:.3g} ms (up to {p99.high:.3g}; binds: {binds})"
            )
        return Impossible(
            f"impossible: no candidate keeps up with {question.rate_per_s:g} messages a second; the nearest"
            f" is {nearest.label} (binds: {binds})"
        )

    # Fresh seeds

    def _make_fresh(self, candidate: Candidate) -> None:
        each = fmean(one.datagrams for one in self.records.of(candidate))
        affordable = int(self.budget.fresh / max(each, 1))
        count = next((count for count in FRESH if count <= affordable), max(FRESH_LEAST, affordable))
        seeds = range(FRESH_FROM, FRESH_FROM + min(count, FRESH[0]))
        self.records.run(((candidate, seed) for seed in seeds), f"checking {candidate.label}")

    def _fresh(self, candidate: Candidate) -> list[Measured]:
        seeds = sorted(seed for one, seed in self.records.found if one == candidate and seed >= FRESH_FROM)
        return self.records.of(candidate, seeds)

    def _forecast(self, candidate: Candidate, results: Sequence[Measured]) -> Forecast:
        found = {name: predict(values(results, name)) for name in MEASURES}
        for name, time in TIMES.items():
            found[name] = found[name].times(self.wanted.factor(time))
        return Forecast(
            candidate=candidate,
            measures=found,
            step_ms=fmean(each.step_ms for each in results),
        )

    # Beside the best

    def _runners_up(self, best: Candidate, entrants: Sequence[Candidate]) -> list[Candidate]:
        """Return the best of other protocols that kept up and kept the limit, and the default last."""
        ordered = self._ordered(entrants)
        found: dict[str, Candidate] = {}
        for each in ordered:
            if each.protocol != best.protocol:
                found.setdefault(each.protocol, each)
        others = list(found.values())[:RUNNERS_UP]
        usual = default_candidate()
        if usual != best and usual not in others and self.records.of(usual):
            others.append(usual)
        return others

    def _ordered(self, entrants: Sequence[Candidate]) -> list[Candidate]:
        goal = self.wanted.aimed
        results = {each: self.records.of(each) for each in entrants}
        sound = [each for each, of_it in results.items() if of_it and is_sound(of_it) and keeps(goal, of_it)]
        # The seeds that all have in common are compared.
        first = seeds_of(1)
        return sorted(
            sound, key=lambda each: (log_mean(values(self.records.of(each, first), goal.small)), each)
        )

    def _window(self, best: Candidate, entrants: Sequence[Candidate]) -> tuple[float, float]:
        """Return the shortest and the longest step that did nearly as well (paper 004, section 4.3)."""
        goal, first, members = self.wanted.aimed, seeds_of(1), self.records.question.members
        alike = [
            each
            for each in entrants
            if self.records.of(each, first)
            and (each.protocol, each.params, each.fan_out, each.policy)
            == (best.protocol, best.params, best.fan_out, best.policy)
        ]
        least = log_mean(values(self.records.of(best, first), goal.small))
        steps = [
            each.step_s(members) * 1e3
            for each in alike
            if keeps(goal, self.records.of(each))
            and abs(log_mean(values(self.records.of(each, first), goal.small)) - least) < NEARLY - 1
        ] or [best.step_s(members) * 1e3]
        return min(steps), max(steps)


def _silent(what: str, done: int, of: int) -> None:
    """Say nothing."""
