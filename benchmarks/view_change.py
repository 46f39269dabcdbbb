"""How long a view change takes, and what it costs the member that it costs most, by the size of the group.

    python -m benchmarks.view_change                            # 16, 64, 256 and 1,024 members
    python -m benchmarks.view_change --members 4096 --only crash
    python -m benchmarks.view_change --loss 0.01

Groups run in virtual time, on a star of links that take 0.5 ms, so that it is 1 ms from member to member, and
with 100 messages of 100 bytes a second in the whole group.  Each run is a process of its own.

``crash``: a member crashes, and the leader is told so, as by its failure detector.  The time is from then
until the last member has begun the view without it.  ``join``: 100 processes begin to join in the same
moment.  The time is from then until all are in one view; changes are the views in between and the last one.

Datagrams and bytes are those of membership and of introductions, without signs of life, of the member that
has sent and received most of them, from the same moment until 0.3 s after the last member has begun the view.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from stablecast.engine.outgoing import Outgoing
from stablecast.engine.views import Views
from stablecast.engine.warm import warm
from stablecast.membership.actions import Begin
from stablecast.membership.view import Address
from stablecast.simulate.live.driver import PS_PER_S, LiveDriver
from stablecast.simulate.live.options import live_setup

SIZES = (16, 64, 256, 1024)
WHAT = ("crash", "join")
JOINERS = 100
RATE_PER_S = 100.0
LINK_US = 500.0
BEGINS_S = 0.5
"""When the fault happens, or the first JOIN."""
SUSPECTED_S = 0.55
"""When the leader is told of a crash."""
LIMIT_S = 60.0
SLICE_S = 0.005
AFTER_S = 0.3
"""Seconds after the last beginning for which datagrams are counted."""


class Counts:
    """What happens in all engines of this process."""

    def __init__(self) -> None:
        self.is_counting = False
        self.begun: dict[int, float] = {}
        """When each process began its last view, by session."""
        self.views: set[int] = set()
        self.sent: Counter[Address] = Counter()
        self.received: Counter[Address] = Counter()
        self.sent_bytes: Counter[Address] = Counter()
        self.received_bytes: Counter[Address] = Counter()

    def watch(self, driver: LiveDriver) -> None:
        """Count what these engines do."""
        of: dict[int, Address] = {}
        flush, begin = Outgoing._flush_addresses, Views._begin

        def counted(out: Outgoing) -> None:
            before = len(out.datagrams)
            flush(out)
            if not self.is_counting:
                return
            if id(out) not in of:
                of.update((id(s.engine.mail.out), s.address) for s in driver.seats if s.engine is not None)
            for data, (to,), _ in out.datagrams[before:]:
                for address, count, size in (
                    (of[id(out)], self.sent, self.sent_bytes),
                    (to, self.received, self.received_bytes),
                ):
                    count[address] += 1
                    size[address] += len(data)

        def beginning(views: Views, action: Begin, now: float) -> None:
            self.begun[views.agreement.me.session] = now
            if self.is_counting:
                self.views.add(action.view.id)
            begin(views, action, now)

        Outgoing._flush_addresses = counted  # type: ignore[method-assign]
        Views._begin = beginning  # type: ignore[method-assign]

    def largest(self) -> tuple[int, int]:
        """Return the datagrams and the bytes, both ways, of the members that have most of each."""
        datagrams = self.sent + self.received
        size = self.sent_bytes + self.received_bytes
        return max(datagrams.values()), max(size.values())


def run(what: str, members: int, asked: argparse.Namespace) -> dict[str, float]:
    """Run one group; return what the change took."""
    fault = f"crash {members // 2}" if what == "crash" else f"join {JOINERS}"
    senders = min(members, round(RATE_PER_S))
    setup = live_setup(
        {
            "topology": "star",
            "members": members + (JOINERS if what == "join" else 0),
            "costs": "lan",
            "propagation_us": LINK_US,
            "link_loss": asked.loss / 2,
            "senders": senders,
            "rate_per_s": RATE_PER_S / senders,
            "data_bytes": 100,
            "seconds": LIMIT_S,
            "seed": asked.seed,
            "faults": f"{fault} at {BEGINS_S * 1e3:g}",
        }
    )
    if setup.options.choice is not None:
        warm(setup.options.choice)
    driver, counts = LiveDriver(setup), Counts()
    driver.begin()
    counts.watch(driver)
    began = now = BEGINS_S if what == "join" else SUSPECTED_S
    _run_until(driver, now - SLICE_S)
    counts.is_counting = True
    if what == "crash":
        gone = driver.past[0].session
        driver.calendar.add(round(now * PS_PER_S), 0, lambda: _tell_leader(driver, gone))
    expected = members - 1 if what == "crash" else members + JOINERS
    while not _is_one_view(driver, expected):
        now += SLICE_S
        _run_until(driver, now)
        if now > LIMIT_S:
            sys.exit(f"{what} with {members} members: no view of all after {LIMIT_S:g} s")
    seconds = max(counts.begun.values()) - began
    _run_until(driver, now + AFTER_S)
    datagrams, size = counts.largest()
    return {
        "seconds": seconds,
        "changes": float(len(counts.views)),
        "datagrams": float(datagrams),
        "kB": size / 1e3,
    }


def _run_until(driver: LiveDriver, seconds: float) -> None:
    while driver.calendar.run(round(seconds * PS_PER_S), 1 << 20):
        pass


def _tell_leader(driver: LiveDriver, gone: int) -> None:
    """Let the first member suspect one, as when its failure detector does."""
    seat = driver.seats[0]
    if seat.engine is not None:
        actions = seat.engine.agreement.suspect(frozenset({gone}), driver.now_s)
        seat.engine.views.do(actions, driver.now_s)
        seat.engine.flush(driver.now_s)
        driver._do(seat)


def _is_one_view(driver: LiveDriver, expected: int) -> bool:
    engines = [seat.engine for seat in driver.seats if seat.engine is not None]
    views = {0 if engine.view is None else engine.view.id for engine in engines}
    return len(views) == 1 and len(engines) == expected == len(engines[0].labels)


def measured(members: int, asked: argparse.Namespace) -> dict[str, Any]:
    """Run one size, each change in a process of its own."""
    began, found = time.perf_counter(), {}
    for what in asked.only:
        own = [sys.executable, "-m", "benchmarks.view_change", "--members", str(members), "--alone", what]
        own += ["--loss", str(asked.loss), "--seed", str(asked.seed)]
        done = subprocess.run(own, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(done.returncode)
        found[what] = json.loads(done.stdout)
    return {"members": members, "wall_s": time.perf_counter() - began, **found}


COLUMNS = (
    ("crash, ms", "crash", "seconds", 1e3),
    ("crash, datagrams", "crash", "datagrams", 1),
    ("crash, kB", "crash", "kB", 1),
    (f"{JOINERS} join, ms", "join", "seconds", 1e3),
    ("join, changes", "join", "changes", 1),
    ("join, datagrams", "join", "datagrams", 1),
    ("join, kB", "join", "kB", 1),
)


def table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return what was measured as lines of Markdown."""
    columns = [column for column in COLUMNS if column[1] in rows[0]]
    lines = ["| members | " + " | ".join(title for title, *_ in columns) + " | wall, s |"]
    lines.append("|---" * (len(columns) + 2) + "|")
    for row in rows:
        values = [f"{row[what][name] * times:.4g}" for _, what, name, times in columns]
        lines.append(f"| {row['members']:,} | {' | '.join(values)} | {row['wall_s']:.0f} |")
    return lines


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.view_change",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--members", type=int, nargs="+", default=SIZES)
    parser.add_argument("--only", choices=WHAT, nargs="+", default=WHAT)
    parser.add_argument("--loss", type=float, default=0.0, help="share of datagrams that are lost")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--alone", choices=WHAT, help="this alone, of one size, as JSON")
    asked = parser.parse_args()
    if asked.alone:
        print(json.dumps(run(asked.alone, asked.members[0], asked)))
        return
    rows = []
    for members in asked.members:
        rows.append(measured(members, asked))
        print(f"# {members} members: {rows[-1]['wall_s']:.0f} s", file=sys.stderr, flush=True)
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
