"""A point of a sweep that simulates a live group; columns that other runs have mean the same.

What only live groups have is in the column ``extra``, by the names of ``LiveResult``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import stablecast
from stablecast.simulate.live.options import live_setup
from stablecast.simulate.live.result import LiveResult
from stablecast.simulate.live.run import simulate_live

ALIKE = (
    "senders",
    "topology_label",
    "completed",
    "messages_stable",
    "tts_mean_us",
    "tts_p50_us",
    "tts_p99_us",
    "tts_max_us",
    "delivery_max_us",
    "blocked",
    "queue_max",
    "queue_mean",
    "host_queue_max",
    "dropped",
    "lost",
    "simulated_us",
    "events",
    "wall_s",
)
"""What has a column of the same name and meaning."""
PLAIN_PACKAGES = ("engine", "membership", "multicast", "simulate/live", "simulate/plain")
DIGITS = 12
"""Of the digest, as a number: a real number holds so many hexadecimal digits exactly."""


def run_live(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
    """Run a point; return its columns, and what has none."""
    result = simulate_live(live_setup(options))
    columns = {name: getattr(result, name) for name in ALIKE} | {"data_messages": result.messages}
    return columns, _extra(result)


def _extra(result: LiveResult) -> dict[str, float]:
    numbers = {
        name: float(value)
        for name, value in result.to_dict().items()
        if type(value) in (int, float) and name not in (*ALIKE, "members", "seed", "messages")
    }
    return numbers | {"digest": float(int(result.digest[:DIGITS], 16))}


@cache
def engine_digest() -> str:
    """Return a short digest of the sources that a live member is made of, and that simulate it."""
    digest, package = hashlib.blake2s(digest_size=8), Path(stablecast.__file__).parent
    for folder in PLAIN_PACKAGES:
        for file in sorted((package / folder).glob("*.py")):
            digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()
