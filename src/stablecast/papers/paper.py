"""A paper as the pipeline sees it: points to run, then tables, claims and figures made of the runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal, TypeVar

from stablecast.papers.reading import PLAIN, Reading
from stablecast.papers.statistics import Comparison, holds, undecided
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.diagram import Drawing
from stablecast.report.table import Table

Kind = Literal["exact", "factor", "trend"]
Made = TypeVar("Made")


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What a claim comes to on the runs at hand."""

    paper: str
    """The paper's value, in words short enough for a table."""
    measured: str
    holds: bool
    why: str
    """One sentence."""
    undecided: str = ""
    """What more seeds could turn; empty if the verdict does not hang on the number of seeds."""
    measurable: bool = True
    """False if runs are missing, so that nothing can be said."""


def judged(comparisons: Sequence[Comparison], *, paper: str, measured: str, why: str) -> Judgement:
    """Return the judgement that estimates and their limits come to."""
    return Judgement(
        paper=paper,
        measured=measured,
        holds=holds(comparisons),
        why=why,
        undecided=undecided(comparisons),
    )


@dataclass(frozen=True, kw_only=True)
class Seeds:
    """How a claim gets more seeds."""

    points: Callable[[int], Sequence[Point]]
    """All runs of the claim with so many seeds."""
    first: int
    """The number of seeds that it has without being asked for more."""
    most: int
    """The number beyond which it gets no more."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One line of the checklist: what a paper says, and the code that judges it."""

    id: str
    kind: Kind
    """``exact`` (equal), ``factor`` (within a stated factor) or ``trend`` (order or shape)."""
    text: str
    judge: Callable[[Runs], Judgement]
    ours: bool = False
    """Whether it is what we found and not what the paper says; such claims are not in the count."""
    seeds: Seeds | None = None
    """Where chance has a part: how to get more seeds."""
    main_reading_only: bool = False
    """Whether its runs are not made under the other readings.

    Some of these runs may be there all the same, where a reading's options are the main one's by chance, and
    would give a verdict on a single graph.
    """

    @property
    def depends_on_reading(self) -> bool:
        """Whether it is judged under every reading of the paper's model."""
        return self.kind != "exact" and not self.main_reading_only


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A claim that has been judged."""

    claim: Claim
    judgement: Judgement
    """Under the main reading, which decides."""
    under: Mapping[str, Judgement] = field(default_factory=dict)
    """Under each reading of the paper, by name; empty for an exact claim and if there is one reading only."""

    @property
    def failed(self) -> bool:
        """Whether this is a failure of the run, not only a remark."""
        return self.claim.kind == "exact" and not self.judgement.holds


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper's evaluation."""

    name: str
    """Its short name, on the command line and in folders."""
    title: str
    question: str
    """What the paper asks, in a sentence or two of our own."""
    points: Callable[[bool], list[Point]]
    """The runs of its evaluation; True for the paper's own numbers, False for a few."""
    tables: tuple[Callable[[Runs], Table], ...]
    claims: tuple[Claim, ...]
    figures: tuple[Callable[[Runs], Drawing], ...]
    readings: tuple[Reading, ...] = (PLAIN,)
    """The main reading first."""
    judged_points: Callable[[bool], list[Point]] = lambda full: []
    """The runs, in the main reading's terms, that claims need under every other reading."""
    exclusions: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Why two claims exclude each other, where we know."""

    def all_points(self, full: bool) -> list[Point]:
        """Return the runs of all readings."""
        others = [reading.point(point) for reading in self.readings[1:] for point in self.judged_points(full)]
        return [*self.points(full), *others]


@dataclass(frozen=True)
class Exclusion:
    """Two claims that hold somewhere, and together nowhere."""

    one: str
    other: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A paper after its runs: everything that a report shows."""

    paper: Paper
    full: bool
    runs: Runs
    tables: Sequence[Table]
    verdicts: Sequence[Verdict]
    figures: Sequence[Drawing]

    @property
    def command(self) -> str:
        """The command that makes all of this again."""
        return f"stablecast reproduce {self.paper.name} {'--full' if self.full else '--quick'}"

    @property
    def counted(self) -> list[Verdict]:
        """The verdicts on what the paper says."""
        return [verdict for verdict in self.verdicts if not verdict.claim.ours]

    @property
    def beyond(self) -> list[Verdict]:
        """The verdicts on what is ours and not the paper's."""
        return [verdict for verdict in self.verdicts if verdict.claim.ours]

    @property
    def exclusions(self) -> list[Exclusion]:
        """Pairs of the paper's claims that each hold under some reading and both under none."""
        return [
            Exclusion(one.claim.id, other.claim.id, self._why(one.claim.id, other.claim.id))
            for one, other in combinations([verdict for verdict in self.counted if verdict.under], 2)
            if exclude_each_other(one, other)
        ]

    def _why(self, one: str, other: str) -> str:
        told = self.paper.exclusions
        return told.get((one, other)) or told.get((other, one)) or ""


def exclude_each_other(one: Verdict, other: Verdict) -> bool:
    """Tell whether two claims, where both were judged, each hold under some reading and both under none."""
    both = [name for name in one.under if one.under[name].measurable and other.under[name].measurable]
    first, second = ({name for name in both if each.under[name].holds} for each in (one, other))
    return bool(first) and bool(second) and not first & second


def evaluate(paper: Paper, runs: Runs, *, full: bool) -> Evaluation:
    """Make a paper's tables, verdicts and figures of its runs.

    A claim whose runs failed is missed; a table or a figure whose runs failed is left out.
    """
    main = paper.readings[0].of(runs)
    return Evaluation(
        paper=paper,
        full=full,
        runs=runs,
        tables=_made(paper.tables, main),
        verdicts=verdicts_of(paper, runs),
        figures=_made(paper.figures, main),
    )


def verdicts_of(paper: Paper, runs: Runs) -> list[Verdict]:
    """Judge every claim of a paper."""
    return [_verdict(paper, claim, runs) for claim in paper.claims]


def _verdict(paper: Paper, claim: Claim, runs: Runs) -> Verdict:
    main = paper.readings[0]
    if not claim.depends_on_reading or len(paper.readings) == 1:
        return Verdict(claim=claim, judgement=_judge(claim, main.of(runs)))
    under = {reading.name: _judge(claim, reading.of(runs)) for reading in paper.readings}
    return Verdict(claim=claim, judgement=under[main.name], under=under)


def _judge(claim: Claim, runs: Runs) -> Judgement:
    try:
        return claim.judge(runs)
    except MissingRun as error:
        return Judgement(paper="-", measured="not measured", holds=False, why=str(error), measurable=False)


def _made(makers: Sequence[Callable[[Runs], Made]], runs: Runs) -> list[Made]:
    made = []
    for make in makers:
        try:
            made.append(make(runs))
        except MissingRun:
            continue
    return made


def further_points(paper: Paper, runs: Runs) -> list[Point]:
    """Return runs with twice as many seeds for the verdicts that could turn; none at the limit."""
    wanted: dict[str, Point] = {}
    readings = {reading.name: reading for reading in paper.readings}
    for verdict in verdicts_of(paper, runs):
        under = verdict.under or {paper.readings[0].name: verdict.judgement}
        for name, judgement in under.items():
            if judgement.undecided and verdict.claim.seeds is not None:
                for point in _doubled(verdict.claim.seeds, readings[name], runs):
                    wanted[point.key] = point
    return list(wanted.values())


def _doubled(seeds: Seeds, reading: Reading, runs: Runs) -> list[Point]:
    """Return the runs that a claim lacks with the next number of seeds under a reading."""
    count = seeds.first
    while count < seeds.most:
        count = min(2 * count, seeds.most)
        lacking = [point for point in map(reading.point, seeds.points(count)) if point not in runs]
        if lacking:
            return lacking
    return []
