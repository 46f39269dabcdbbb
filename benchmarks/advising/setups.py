"""Questions drawn at random, which the advisor was not developed with."""

from __future__ import annotations

import math
import random
from pathlib import Path

from stablecast.advisor import Question
from stablecast.simulate.cost_file import write_cost_file

COUNT = 40
GOALS = ("soonest", "p99-ms", "least-bytes", "least-buffer")


def drawn(seed: int, number: int, folder: Path) -> Question:
    """Draw a question; its costs are written to a file in a folder."""
    draw = random.Random(f"{seed}/{number}")

    def between(low: float, high: float) -> float:
        return float(f"{math.exp(draw.uniform(math.log(low), math.log(high))):.4g}")

    members = round(between(3, 8))
    rtt_ms = between(0.2, 40)
    file = folder / f"costs-{seed}-{number}.toml"
    figures: dict[str, float | int | str] = {
        "send_us": between(5, 60),
        "receive_factor": between(0.9, 4),
        "bandwidth_bps": draw.choice([1e7, 1e8, 1e9]),
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_cost_file(file, figures, {}, {})
    goal = GOALS[number % len(GOALS)]
    if goal == "p99-ms":
        goal = f"p99-ms={(2 * rtt_ms + 20) * between(1.2, 5):.4g}"
    return Question(
        members=members,
        rate_per_s=between(200, 600),
        message_bytes=round(between(50, 2000)),
        senders=draw.choice([None, None, 1, max(1, members // 2)]),
        loss=draw.choice([0.0, 0.001, 0.01, 0.05]),
        rtt_ms=rtt_ms,
        buffer_mib=between(0.25, 64),
        costs=str(file),
        goal=goal,
    )
