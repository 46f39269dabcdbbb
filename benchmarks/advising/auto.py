"""What a group with protocol ``auto`` decides on, beside the default, in the set-ups drawn at random.

    python -m benchmarks.advising.auto --seed 1 --out build/advisor

The decision is that of a view in which the set-up's traffic was measured; the group is then simulated with
what it decided on, and with the default.  That view changes lead there is tested in tests/engine.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from statistics import fmean

from benchmarks.advising.setups import COUNT, drawn
from stablecast.advisor.candidates import Candidate, default_candidate
from stablecast.advisor.measuring import measure, run_of
from stablecast.engine.auto import SOONEST, TABLE, Traffic, decide

SEEDS = range(700_001, 700_005)
ALIKE = 1.01


def main() -> int:
    """Compare, and count where it was not slower."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("build/advisor"))
    given = parser.parse_args()
    ratios = []
    for number in range(COUNT):
        question = drawn(given.seed, number, given.out)
        traffic = Traffic(
            members=question.members,
            sources=question.senders_there,
            parts=round(question.rate_per_s),
            seconds=1.0,
        )
        row = TABLE[decide(SOONEST, traffic, 0)]
        auto, usual = Candidate(row.protocol, steps=row.steps), default_candidate()
        times = [
            fmean(math.log(measure(run_of(question, each, seed)).p50_ms) for seed in SEEDS)
            for each in (auto, usual)
        ]
        ratios.append(math.exp(times[0] - times[1]))
        print(f"{number:>2}  {question.members} members  {auto.label}  {ratios[-1]:.3f}", flush=True)
    not_slower = sum(ratio <= ALIKE for ratio in ratios)
    print(f"not slower than the default in {not_slower} of {COUNT}; {max(ratios):.3f} at most")
    return 0


if __name__ == "__main__":
    sys.exit(main())
