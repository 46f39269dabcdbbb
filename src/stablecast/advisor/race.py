"""The race: all candidates run a little, those that are surely worse drop out, the others run on.

What is true
    In each round every candidate that is left has been run with the same seeds, so with the same traffic and
    the same losses of the same links: differences between two candidates are taken by pairs, and vary less
    than the times themselves.
Who drops out
    A candidate that has not kept up (``Measured.is_sound``), or whose 99th percentile is surely beyond a
    limit.  One that is worse than the best one that keeps the limit, beyond doubt by its pairs, or by more
    than ``FAR`` in the mean.  Of the others so many stay as ``PLACES`` says, the best ones (successive
    halving).
Who gets a second chance
    Where nobody is left that keeps a limit, the quickest of all and those that were never seen beyond it,
    whatever their bytes.  If none of these keeps it by as many runs as the race has, those that are nearest
    to it run on: twelve runs, of which one has a message that was lost, tell little of one run in twenty.
When it ends
    One is left; or all that are left are within ``ALIKE`` of each other; or the rounds are over; or what
    simulating took is ``Budget.race``.  That is counted in datagrams, not in seconds: the answer is the same
    on every machine, and with any number of processes.
What can go wrong
    The best candidate drops out because its first seeds were unlucky.  It loses to one that was better with
    the same seeds by more than chance explains, or to as many as there are places; so what is lost is about
    what the difference between these is.  ``docs/advise.md`` has how often, and how much, by measurement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist, fmean, stdev

from stablecast.advisor.bounds import work
from stablecast.advisor.candidates import Candidate
from stablecast.advisor.crew import Crew
from stablecast.advisor.goals import Goal
from stablecast.advisor.intervals import surely_worse
from stablecast.advisor.kept import Kept
from stablecast.advisor.measuring import Measured, Run, run_of
from stablecast.advisor.question import Question
from stablecast.words import counted

PLACES = {1: 20, 3: 10, 6: 5, 12: 4}
"""By the number of seeds that candidates have run with, how many run on."""
FAR = 1.35
"""Ratio of means, after the first round, from which on a candidate is not looked at further."""
ALIKE = 1.01
KEEPS = NormalDist().inv_cdf(0.95)
"""Standard deviations that the mean 99th percentile has to be below a limit: 95 % of all runs keep it."""
SURELY_BEYOND = 1.3
"""Ratio to a limit from which on two runs tell enough."""
SEEN_ENOUGH = 6
CHANCES = 8
"""Candidates that run again where nobody is left that keeps a limit."""
LAST_CHANCES, LAST_RUNS = 4, 48
"""Of these, candidates that run on if none keeps the limit, and how many runs they have then."""
FIRST_SEED = 1

Say = Callable[[str, int, int], None]
"""Told what is going on, how many runs of it are done, and of how many."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How much may be simulated, in datagrams; a core simulates some 15,000 in a second."""

    race: float = 450_000
    fresh: float = 250_000


@dataclass
class Records:
    """What has been measured so far, and how to measure more."""

    question: Question
    crew: Crew
    kept: Kept
    say: Say
    found: dict[tuple[Candidate, int], Measured] = field(default_factory=dict)
    made: int = 0
    """Runs that were simulated now; the others were kept."""
    spent: float = 0.0
    """Datagrams of all runs, of those that were kept too."""

    def run(self, wanted: Iterable[tuple[Candidate, int]], what: str) -> None:
        """Have these candidates run with these seeds."""
        asked = [each for each in wanted if each not in self.found]
        missing: list[tuple[tuple[Candidate, int], Run]] = []
        for each in asked:
            run = run_of(self.question, *each)
            known = self.kept.get(run)
            if known is None:
                missing.append((each, run))
            else:
                self._take(each, known)
        self.say(what, 0, len(missing))
        results = self.crew.run([run for _, run in missing]) if missing else iter(())
        for done, (place, result) in enumerate(results, 1):
            each, run = missing[place]
            self.kept.add(run, result)
            self._take(each, result)
            self.made += 1
            self.say(what, done, len(missing))

    def of(self, candidate: Candidate, seeds: Sequence[int] | None = None) -> list[Measured]:
        """Return a candidate's results, in the order of their seeds."""
        if seeds is None:
            seeds = sorted(seed for one, seed in self.found if one == candidate)
        return [self.found[candidate, seed] for seed in seeds if (candidate, seed) in self.found]

    def _take(self, each: tuple[Candidate, int], result: Measured) -> None:
        self.found[each] = result
        self.spent += result.datagrams


def seeds_of(count: int) -> range:
    """Return the seeds of so many runs."""
    return range(FIRST_SEED, FIRST_SEED + count)


def values(results: Iterable[Measured], name: str) -> list[float]:
    """Return one measurement of several runs."""
    return [float(getattr(each, name)) for each in results]


def log_mean(numbers: Sequence[float]) -> float:
    """Return the mean of the logarithms; infinite if one number is."""
    return fmean(math.log(each) if 0 < each < math.inf else math.inf for each in numbers)


def is_sound(results: Sequence[Measured]) -> bool:
    """Tell whether a candidate keeps up: in nearly all runs."""
    return sum(not each.is_sound for each in results) <= 0.05 * len(results)


def keeps(goal: Goal, results: Sequence[Measured]) -> bool:
    """Tell whether 95 % of a candidate's runs keep the limit, by their mean and deviation."""
    if goal.limit_ms is None:
        return True
    return _kept_ms(results) <= goal.limit_ms


def _kept_ms(results: Sequence[Measured]) -> float:
    """Return the 99th percentile that 95 % of a candidate's runs keep, by their mean and deviation."""
    times = values(results, "p99_ms")
    if not all(math.isfinite(each) for each in times) or len(times) < 2:
        return math.inf
    logs = [math.log(each) for each in times]
    return math.exp(fmean(logs) + KEEPS * stdev(logs))


def safely_keeps(goal: Goal, results: Sequence[Measured]) -> bool:
    """Tell whether a candidate keeps the limit; with few runs, whether it is far from it."""
    if goal.limit_ms is None or len(results) >= SEEN_ENOUGH:
        return keeps(goal, results)
    return max(values(results, "p99_ms")) < goal.limit_ms / SURELY_BEYOND


def surely_beyond(goal: Goal, results: Sequence[Measured]) -> bool:
    """Tell whether a candidate does not keep the limit, as far as its runs so far tell."""
    if goal.limit_ms is None:
        return False
    if len(results) >= SEEN_ENOUGH:
        return not keeps(goal, results)
    return min(values(results, "p99_ms")) > SURELY_BEYOND * goal.limit_ms


def race(records: Records, entrants: Sequence[Candidate], budget: Budget) -> list[Candidate]:
    """Return the candidates that are left, the best first; none if none keeps up and keeps the limit."""
    alive, before = list(entrants), 0
    for count, places in PLACES.items():
        alive = _affordable(records, alive, count - before, budget)
        if before and len(alive) < 2:
            break
        before = count
        words = f"{counted(len(alive), 'candidate')}, {counted(count, 'run')} each"
        records.run(((each, seed) for each in alive for seed in seeds_of(count)), words)
        alive = survivors(records.question.aimed, {each: records.of(each) for each in alive})[:places]
        if len(alive) < 2 or _alike(records, alive):
            break
    goal = records.question.aimed
    if goal.limit_ms is None or any(keeps(goal, records.of(each)) for each in alive):
        return alive
    return [*second_chance(records, entrants), *alive]


def second_chance(records: Records, entrants: Sequence[Candidate]) -> list[Candidate]:
    """Return who keeps the limit of those that were not looked at for long enough: the fewest bytes first.

    Whoever was dropped for its bytes lost to one that seemed to keep the limit, and does not after all.  The
    quickest ones get a chance, and of each protocol those that were never seen beyond the limit, the quickest
    and the cheapest: a steady one keeps a limit that a quick one with a long tail does not.  One of each
    protocol is returned, since its candidates have their tails in common.
    """
    goal = records.question.aimed
    if goal.limit_ms is None:
        return []
    sound = [each for each in entrants if records.of(each) and is_sound(records.of(each))]
    sound.sort(key=lambda each: (log_mean(values(records.of(each), "p99_ms")), each))
    left = list(dict.fromkeys([*sound[:CHANCES], *_of_each_protocol(records, sound, goal.limit_ms)]))
    for count in (SEEN_ENOUGH, max(PLACES)):
        records.run(((each, seed) for each in left for seed in seeds_of(count)), "those that may keep it")
        left.sort(key=lambda each: (_kept_ms(records.of(each)), each))
        left = _keeping(records, left) or left[:CHANCES]
    if not _keeping(records, left):
        left = left[:LAST_CHANCES]
        records.run(((each, seed) for each in left for seed in seeds_of(LAST_RUNS)), "the nearest")
    keeping = _keeping(records, left)
    keeping.sort(key=lambda each: (log_mean(values(records.of(each), goal.small)), each))
    return list({each.protocol: each for each in reversed(keeping)}.values())[::-1]


def _of_each_protocol(
    records: Records, quickest_first: Sequence[Candidate], limit_ms: float
) -> list[Candidate]:
    within: dict[str, list[Candidate]] = {}
    for each in quickest_first:
        if max(values(records.of(each), "p99_ms")) <= limit_ms:
            within.setdefault(each.protocol, []).append(each)
    small = records.question.aimed.small
    cheapest = [
        min(those, key=lambda each: (log_mean(values(records.of(each), small)), each))
        for those in within.values()
    ]
    return [*(those[0] for those in within.values()), *cheapest]


def _keeping(records: Records, those: Sequence[Candidate]) -> list[Candidate]:
    goal = records.question.aimed
    return [each for each in those if keeps(goal, records.of(each)) and is_sound(records.of(each))]


def _affordable(
    records: Records, alive: Sequence[Candidate], further: int, budget: Budget
) -> list[Candidate]:
    """Return as many of the first candidates as can have so many further runs; the first one always."""
    left, found = budget.race - records.spent, list(alive[:1])
    for each in alive:
        runs = records.of(each)
        one = fmean(run.datagrams for run in runs) if runs else work(records.question, each)
        left -= further * one
        if left < 0:
            break
        found.append(each)
    return list(dict.fromkeys(found))


def survivors(goal: Goal, results: Mapping[Candidate, Sequence[Measured]]) -> list[Candidate]:
    """Return the candidates that are not surely worse than the best, the best first."""
    sound = {
        each: of_it for each, of_it in results.items() if is_sound(of_it) and not surely_beyond(goal, of_it)
    }
    small = {each: values(of_it, goal.small) for each, of_it in sound.items()}
    means = {each: log_mean(numbers) for each, numbers in small.items()}
    ordered = sorted(means, key=lambda each: (means[each], each))
    safe = [each for each in ordered if safely_keeps(goal, sound[each])]
    if not safe:
        return sorted(ordered, key=lambda each: (log_mean(values(sound[each], "p99_ms")), each))
    best = safe[0]
    return [
        best,
        *(
            each
            for each in ordered
            if each != best
            and means[each] - means[best] < math.log(FAR)
            and not (means[each] > means[best] and surely_worse(small[each], small[best]))
        ),
    ]


def _alike(records: Records, alive: Sequence[Candidate]) -> bool:
    """Tell whether it makes no difference any more which one it is."""
    small = records.question.aimed.small
    runs = [records.of(each) for each in alive]
    if records.question.aimed.limit_ms is not None or len(runs[0]) < SEEN_ENOUGH:
        return False
    means = [log_mean(values(each, small)) for each in runs]
    return max(means) - min(means) < math.log(ALIKE)
