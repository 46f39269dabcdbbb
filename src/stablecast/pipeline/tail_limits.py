"""Share a number of bytes among files so that they advance together in time.

What follows a trace with a watermark drops what comes late: if one file were read to its end and then the
next, all of the next would be late.  A few lines of each file tell how its bytes grow with time; between them
they are taken to grow evenly.  What is chosen is noted by who asked, so it need not be found again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from stablecast.pipeline.tail_lines import first_end, last_end, lines_from

PROBES = 16
"""Lines of each file that are looked at."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Backlog:
    """What a file has that was not read."""

    path: Path
    begin: int
    end: int

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return self.end - self.begin


@dataclass(frozen=True)
class _Growth:
    """How a file's bytes grow with time, at a few points; both never go back."""

    times: Numbers
    bytes: Numbers

    def up_to(self, time: float) -> float:
        """Return how many bytes there are up to a time."""
        return float(np.interp(time, self.times, self.bytes, left=0.0))


class _Time(msgspec.Struct):
    time_us: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


_decode = msgspec.json.Decoder(_Time).decode


def share(backlog: Mapping[str, Backlog], bytes_most: int) -> dict[str, int]:
    """Return up to where to read each file, no more than so many bytes but at least one line."""
    growth = _growth(backlog, bytes_most)
    taken = _up_to_one_time(growth, bytes_most)
    reached = {
        name: last_end(one.path, one.begin, min(one.begin + int(taken[name]), one.end))
        for name, one in backlog.items()
    }
    if all(reached[name] == one.begin for name, one in backlog.items()):
        first = min(backlog, key=lambda name: (growth[name].times[0], name))
        reached[first] = first_end(backlog[first].path, backlog[first].begin, backlog[first].end)
    return {name: end for name, end in reached.items() if end > backlog[name].begin}


def _up_to_one_time(growth: Mapping[str, _Growth], bytes_most: int) -> dict[str, float]:
    """Choose the latest time up to which all files together have no more bytes than that.

    Where many bytes have one time, each file gets the same part of its own.
    """

    def up_to(time: float) -> Numbers:
        return np.array([one.up_to(time) for one in growth.values()])

    low = math.floor(min(one.times[0] for one in growth.values())) - 1
    high = math.ceil(max(one.times[-1] for one in growth.values()))
    while high - low > 1:
        middle = (low + high) // 2
        if up_to(middle).sum() <= bytes_most:
            low = middle
        else:
            high = middle
    below, above = up_to(low), up_to(high)
    step = above.sum() - below.sum()
    part = 0.0 if step <= 0 else min(1.0, (bytes_most - below.sum()) / step)
    return dict(zip(growth, below + part * (above - below), strict=True))


def _growth(backlog: Mapping[str, Backlog], bytes_most: int) -> dict[str, _Growth]:
    probed = {name: _probe(one, min(one.size, bytes_most)) for name, one in backlog.items()}
    known = [one for one in probed.values() if one is not None]
    begin = min((one.times[0] for one in known), default=0.0)
    end = max((one.times[-1] for one in known), default=0.0)
    return {
        name: one or _Growth(np.array([begin, end]), np.array([0.0, min(backlog[name].size, bytes_most)]))
        for name, one in probed.items()
    }


def _probe(backlog: Backlog, window: int) -> _Growth | None:
    """Look at the times of some lines; None if none of them can be read."""
    positions = sorted({backlog.begin + k * window // PROBES for k in range(PROBES)})
    found = {}
    for at, line in lines_from(backlog.path, positions):
        try:
            found[at - backlog.begin] = float(_decode(line).time_us)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue  # whoever reads this line tells what is wrong with it
    places = [place for place in found if place < window]
    if not places:
        return None
    times = np.maximum.accumulate(np.array([found[place] for place in places]))
    # The last lines of the window take as long as those before them did on the average.
    rest = (times[-1] - times[0]) / max(places[-1], 1) * (window - places[-1])
    return _Growth(np.append(times, times[-1] + rest), np.append(np.array(places, np.float64), window))
