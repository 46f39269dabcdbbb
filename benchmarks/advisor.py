"""Measure how right the advisor is: its regret, and how often its intervals hold.

    python -m benchmarks.advisor --seed 1 --setup 0 --out build/advisor    # one set-up, to a file
    python -m benchmarks.advisor --out build/advisor                       # the table of what is there

For each set-up: the advice, as a user gets it, from nothing; an exhaustive sweep of all candidates, also of
those that closed forms cut, with seeds of its own; and the advised one with 200 further seeds.

The sweep gives every candidate a run, those within 1.5 times of the best three more, and those within 1.2
times eight more; with a limit, twelve to all that may keep it, and 80 to these by their bytes, until one
keeps it.  The regret is by how much the advised one, with the same seeds, is worse than the best.  That is a
little too much: the best of several noisy means was also lucky.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
import time
from pathlib import Path
from statistics import fmean

from benchmarks.advising.setups import COUNT, drawn
from stablecast.advisor import advise
from stablecast.advisor.advice import MEASURES, Advice
from stablecast.advisor.bounds import Impossible
from stablecast.advisor.candidates import Candidate, candidates
from stablecast.advisor.crew import Processes
from stablecast.advisor.kept import Kept
from stablecast.advisor.measuring import Measured
from stablecast.advisor.question import Question
from stablecast.advisor.race import Records, is_sound, log_mean, surely_beyond, values

SWEEP_FROM, FRESH_FROM = 500_001, 100_001
FRESH = 200
STAGES = ((1, 1.5), (4, 1.2), (12, 1.0))
"""Runs of each candidate so far, and how far from the best one runs on."""
SURE = 80
"""Runs by which it is sure that a candidate keeps a limit."""
LIMITED = 16
"""Candidates that are looked at together where a limit is to be kept, those of the fewest bytes first."""
BEYOND_MOST = 0.08
"""Share of runs beyond the limit of a goal up to which the promise that 95 % keep it counts as kept."""


def main() -> None:
    """Measure one set-up, or tell what was measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--setup", type=int)
    parser.add_argument("--out", type=Path, default=Path("build/advisor"))
    given = parser.parse_args()
    if given.setup is None:
        tell(given.out)
        return
    question = drawn(given.seed, given.setup, given.out)
    file = given.out / f"setup-{given.seed}-{given.setup:02}.json"
    if file.exists():
        return
    with Processes() as crew:
        kept = given.out / f"kept-{given.seed}-{given.setup}"
        found = {"setup": given.setup, **of_setup(question, crew, kept)}
    shutil.rmtree(kept)
    file.write_text(json.dumps(found))
    print(json.dumps({name: found[name] for name in ("setup", "goal", "regret", "advised", "cold_s")}))


def of_setup(question: Question, crew: Processes, kept: Path) -> dict[str, object]:
    """Measure one set-up; what an interrupted measurement has made is not made again."""
    told: dict[str, object] = {
        "members": question.members,
        "rate_per_s": question.rate_per_s,
        "goal": str(question.wanted),
    }
    began, advice, refused = time.monotonic(), None, ""
    try:
        advice = advise(question, crew=crew, folder=kept)
    except Impossible as error:
        refused = str(error)
    cold = advice is None or advice.made == advice.runs
    told |= {"cold_s": time.monotonic() - began if cold else None, "refused": refused, "advised": "refused"}
    if advice is not None:
        began = time.monotonic()
        again = advise(question, crew=crew, folder=kept)
        assert again.best == advice.best
        told |= {"warm_s": time.monotonic() - began, "advised": advice.best.candidate.label}
    records = Records(question, crew, Kept(question, kept / "sweep"), lambda what, done, of: None)
    told |= of_sweep(question, records, None if advice is None else advice.best.candidate)
    if advice is not None:
        told |= of_fresh(question, records, advice)
        if told["beyond"] is not None and told["beyond"] > BEYOND_MOST:
            told["regret"] = math.inf
    return told


def of_sweep(question: Question, records: Records, advised: Candidate | None) -> dict[str, object]:
    """Return how much worse the advised candidate is than the best of a sweep."""
    goal, everything = question.wanted, candidates(question)
    find = smallest if goal.limit_ms is None else fewest_bytes
    best = find(records, everything)
    told: dict[str, object] = {"candidates": len(everything), "best": best.label if best else "none"}
    if advised is None or best is None:
        return told | {"regret": math.inf if best else 0.0}
    seeds = list(range(SWEEP_FROM, SWEEP_FROM + STAGES[-1][0]))
    records.run(((each, seed) for each in (advised, best) for seed in seeds), "sweep")
    own, least = (log_mean(values(records.of(each, seeds), goal.small)) for each in (advised, best))
    return told | {"regret": math.exp(own - least) - 1}


def smallest(records: Records, everything: list[Candidate]) -> Candidate | None:
    """Return the candidate that is best at what is to be small."""
    goal, running = records.question.wanted, everything
    for runs, far in STAGES:
        seeds = list(range(SWEEP_FROM, SWEEP_FROM + runs))
        records.run(((each, seed) for each in running for seed in seeds), "sweep")
        sound = [each for each in running if is_sound(records.of(each, seeds))]
        if not sound:
            return None
        means = {each: log_mean(values(records.of(each, seeds), goal.small)) for each in sound}
        running = [each for each in sound if means[each] <= min(means.values()) + math.log(far)]
    return min(running, key=lambda each: means[each])


def fewest_bytes(records: Records, everything: list[Candidate]) -> Candidate | None:
    """Return the candidate of the fewest bytes that keeps a limit, looking at all of them in that order."""
    goal, runs = records.question.wanted, STAGES[-1][0]
    seeds = list(range(SWEEP_FROM, SWEEP_FROM + runs))

    def sent(each: Candidate, count: int) -> float:
        return log_mean(values(records.of(each, seeds[:count]), goal.small))

    def may_keep(each: Candidate, count: int | None) -> bool:
        found = records.of(each) if count is None else records.of(each, seeds[:count])
        return is_sound(found) and not surely_beyond(goal, found)

    records.run(((each, seeds[0]) for each in everything), "sweep")
    ordered = sorted((each for each in everything if may_keep(each, 1)), key=lambda each: sent(each, 1))
    for first in range(0, len(ordered), LIMITED):
        some = ordered[first : first + LIMITED]
        for count in (4, runs):
            records.run(((each, seed) for each in some for seed in seeds[:count]), "sweep")
            some = [each for each in some if may_keep(each, count)]
        for each in sorted(some, key=lambda each: sent(each, runs)):
            records.run(((each, SWEEP_FROM + seed) for seed in range(SURE)), "sweep")
            if may_keep(each, None):
                return each
    return None


def of_fresh(question: Question, records: Records, advice: Advice) -> dict[str, object]:
    """Return how many of 200 further runs are in the intervals."""
    seeds = range(FRESH_FROM, FRESH_FROM + FRESH)
    records.run(((advice.best.candidate, seed) for seed in seeds), "fresh")
    runs: list[Measured] = records.of(advice.best.candidate, list(seeds))
    cover = {
        name: fmean(advice.best.measures[name].holds(each) for each in values(runs, name))
        for name in MEASURES
    }
    limit = question.wanted.limit_ms
    beyond = None if limit is None else fmean(each > limit for each in values(runs, "p99_ms"))
    widths = {
        name: advice.best.measures[name].high / max(advice.best.measures[name].low, 1e-12)
        for name in MEASURES
    }
    return {"cover": cover, "beyond": beyond, "widths": widths, "runs": advice.best.runs, "made": advice.made}


def tell(out: Path) -> None:
    """Print what was measured."""
    found = [json.loads(file.read_text()) for file in sorted(out.glob("setup-*.json"))]
    for one in found:
        cover = {name: round(share, 3) for name, share in one.get("cover", {}).items()}
        print(
            f"{one['setup']:>2}  {one['members']:>2} members  {one['goal']:<15}  regret {one['regret']:.3f}"
            f"  {one['advised']}  (best {one['best']})  {cover}  cold {one['cold_s'] or math.nan:.0f} s"
        )
    within = sum(one["regret"] <= 0.10 for one in found)
    print(f"{len(found)} of {COUNT} set-ups; regret at most 10 % in {within}")
    covered = [one["cover"] for one in found if "cover" in one]
    for name in MEASURES:
        shares = [cover[name] for cover in covered]
        if shares:
            inside = sum(0.90 <= share <= 0.99 for share in shares)
            low, high = sum(share < 0.90 for share in shares), sum(share > 0.99 for share in shares)
            print(
                f"{name}: {fmean(shares):.3f} of all runs; 90-99 % in {inside} of {len(shares)},"
                f" below in {low}, above in {high}"
            )


if __name__ == "__main__":
    sys.exit(main())
