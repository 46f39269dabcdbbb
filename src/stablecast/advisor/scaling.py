"""Groups too large to simulate: smaller ones are, and their times are carried on, with what that leaves open.

What is assumed
    With the same traffic, times and bytes of a member grow like a power of the group's size.  The power is
    found from groups of a half and a quarter of the largest size that can be simulated.
What is stated
    A forecast from smaller groups is no promise, and says so.  Its interval is that of the largest simulated
    size, moved by the power, and wider by the whole of what the move was: the power may be twice as large, or
    nothing.
What can go wrong
    Something sets in between the sizes, such as a link that is full.  Loads are looked at for the size that
    was asked for (``bounds``), and nothing else.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from stablecast.advisor.advice import MEASURES, Forecast
from stablecast.advisor.bounds import work
from stablecast.advisor.candidates import default_candidate
from stablecast.advisor.intervals import Interval
from stablecast.advisor.kept import Kept
from stablecast.advisor.question import Question
from stablecast.advisor.race import Budget, Records, log_mean, seeds_of, values

PART = 12
"""A run of the default takes at most this part of the race's budget."""
SMALLER = (2, 4)
SEEDS = 4


@dataclass(frozen=True)
class Scale:
    """What is simulated for a question."""

    wanted: Question
    question: Question
    """The same with as many members as can be simulated."""

    @property
    def is_whole(self) -> bool:
        """Whether that is all of them."""
        return self.question.members == self.wanted.members

    def forecast(self, found: Forecast, records: Records, budget: Budget) -> Forecast:
        """Return the forecast for the size that was asked for."""
        if self.is_whole:
            return found
        powers = self._powers(found, records)
        ratio = self.wanted.members / self.question.members
        moved = {name: _moved(each, powers[name], ratio) for name, each in found.measures.items()}
        return dataclasses.replace(found, measures=moved)

    def _powers(self, found: Forecast, records: Records) -> Mapping[str, float]:
        """Return by which power of the size each measurement grows."""
        sizes = [self.question.members]
        means = [{name: math.log(found.measures[name].mid) for name in MEASURES}]
        for part in SMALLER:
            smaller = dataclasses.replace(self.question, members=self.question.members // part)
            beside = Records(smaller, records.crew, Kept(smaller), records.say)
            wanted = ((found.candidate, seed) for seed in seeds_of(SEEDS))
            beside.run(wanted, f"{smaller.members} members")
            results = beside.of(found.candidate)
            sizes.append(smaller.members)
            means.append({name: log_mean(values(results, name)) for name in MEASURES})
            records.made += beside.made
        logs = [math.log(size) for size in sizes]
        return {name: _slope(logs, [mean[name] for mean in means]) for name in MEASURES}


def scale_for(question: Question, budget: Budget) -> Scale:
    """Return the largest group that can be raced within a budget, by halving."""
    members = question.members
    while members > 16 and work(_with(question, members), default_candidate()) > budget.race / PART:
        members //= 2
    return Scale(question, _with(question, members))


def _with(question: Question, members: int) -> Question:
    """Return the question for fewer members; a sender's share of the buffers stays what it was."""
    if members == question.members:
        return question
    senders = None if question.senders is None else max(1, min(question.senders, members))
    share = max(question.buffer_mib * members / question.members, 0.0625)
    return dataclasses.replace(question, members=members, senders=senders, buffer_mib=share)


def _slope(x: list[float], y: list[float]) -> float:
    mean_x, mean_y = fmean(x), fmean(y)
    above = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return above / sum((a - mean_x) ** 2 for a in x)


def _moved(each: Interval, power: float, ratio: float) -> Interval:
    move = ratio**power
    low, high = sorted((1.0, move * move))
    return Interval(each.mid * move, each.low * low, each.high * high, each.runs)
