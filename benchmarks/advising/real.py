"""Ten real groups on loopback beside what the advisor predicts of them.

    python -m stablecast.cli.main calibrate --out build/here.toml             # on an idle machine
    python -m benchmarks.advising.real advise --costs build/here.toml --out build/real.json
    python -m benchmarks.advising.real run --out build/real.json              # on an idle machine

The first part asks the advisor, which simulates; the second runs what it advises as real processes and
compares the median time to stable with the predicted interval.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import sys
from pathlib import Path

from stablecast.advisor import Question, advise
from stablecast.advisor.calibration.real_group import RealGroup, p50_ms, run_group

COUNT = 10
LOSSES = (0.0, 0.05, 0.1)
GOALS = ("soonest", "least-bytes", "least-buffer")
SECONDS = 3.0


def questions(seed: int, costs: str) -> list[Question]:
    """Draw the groups."""
    draw = random.Random(f"real {seed}")
    return [
        Question(
            members=draw.randint(4, 8),
            rate_per_s=float(draw.choice([50, 100, 200, 300])),
            message_bytes=draw.choice([50, 200, 800]),
            loss=LOSSES[number % len(LOSSES)],
            costs=costs,
            goal=draw.choice(GOALS),
        )
        for number in range(COUNT)
    ]


def ask(seed: int, costs: str, out: Path) -> None:
    """Ask the advisor about all groups, and write what it says; what is there is not asked again."""
    found = json.loads(out.read_text()) if out.exists() else []
    for number, question in enumerate(questions(seed, costs)):
        if number < len(found):
            continue
        advice = advise(question)
        told = advice.best.candidate
        group = RealGroup(
            members=question.members,
            rate_per_s=question.rate_per_s,
            message_bytes=question.message_bytes,
            loss=question.lost_share,
            protocol=told.protocol,
            protocol_options=dict(told.params),
            step_s=None if told.steps == 1 else told.step_s(question.members),
            fan_out=told.fan_out,
            buffer_bytes=question.buffer_bytes,
            seconds=SECONDS,
        )
        found.append(
            {
                "group": dataclasses.asdict(group),
                "goal": question.goal,
                "advised": told.label,
                "p50_ms": dataclasses.asdict(advice.best.p50_ms),
            }
        )
        out.write_text(json.dumps(found))
        print(number, told.label, flush=True)


def run(out: Path) -> int:
    """Run the groups, and tell how many are inside of their intervals."""
    found, inside = json.loads(out.read_text()), 0
    for one in found:
        group = RealGroup(**one["group"])
        real = p50_ms(run_group(group))
        predicted = one["p50_ms"]
        holds = predicted["low"] <= real <= predicted["high"]
        inside += holds
        print(
            f"{group.members} members, {group.rate_per_s:g}/s, {group.loss:.0%} lost, {one['advised']}"
            f" ({one['goal']}): real {real:.2f} ms, predicted {predicted['mid']:.2f}"
            f" ({predicted['low']:.2f} to {predicted['high']:.2f}) {'inside' if holds else 'OUTSIDE'}",
            flush=True,
        )
    print(f"{inside} of {len(found)} inside")
    return 0


def main() -> int:
    """Ask, or run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["advise", "run"])
    parser.add_argument("--costs", default="build/here.toml")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("build/real.json"))
    given = parser.parse_args()
    if given.what == "run":
        return run(given.out)
    ask(given.seed, given.costs, given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
