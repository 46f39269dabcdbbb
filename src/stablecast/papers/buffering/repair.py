"""B4: requests go on to a bufferer, and what was received is remembered as ranges.

How many ranges a gossip message carries is read from the bytes of a run: all other messages' sizes and
numbers are known, and a range is two numbers. A request that is passed on names a message and who lacks it;
it, the request and the repair carry the time of the request.
"""

from __future__ import annotations

from typing import Any

from stablecast.papers.buffering.confidence import RUNS, interval
from stablecast.papers.buffering.measured import delivery
from stablecast.papers.buffering.networks import HASHED, ORIGINAL, PERIOD_S, star
from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import Runs
from stablecast.report.table import Table
from stablecast.theory.buffering import failure_with_sender
from stablecast.theory.epidemic import spread_rounds

MEMBERS, COPIES, MESSAGES, RATE = 100, 6.0, 1000, 100.0
LOSSES = (0.0, 0.001, 0.01, 0.05)
QUICK_LOSSES = (0.0, 0.01, 0.05)
HEADER, NUMBER, PAYLOAD = 32, 4, 1000
"""Bytes of a header, a sequence number and a message."""
CHAIN = {ORIGINAL: 3, HASHED: 4}
"""Messages of a repair: gossip, request, repair; and one that passes the request on."""
FEW_RANGES = 3.0


def _point(policy: str, loss: float) -> Point:
    options: dict[str, Any] = {"copies": COPIES} if policy == HASHED else {}
    return star(
        MEMBERS, policy, messages=MESSAGES, rate_per_s=RATE, data_loss=loss, no_recast=True, **options
    )


def points(full: bool) -> list[Point]:
    """Return runs with receivers that lose messages."""
    return [_point(policy, loss) for policy in CHAIN for loss in (LOSSES if full else QUICK_LOSSES)]


judged_points = points


def _losses(runs: Runs) -> list[float]:
    return [loss for loss in LOSSES if loss > 0 and _point(HASHED, loss) in runs] or [LOSSES[-1]]


def ranges(runs: Runs, policy: str, loss: float) -> float:
    """Return how many ranges a gossip message carried on average."""
    result, found = runs[_point(policy, loss)].result, delivery(runs, _point(policy, loss))
    rounds = round(MESSAGES / RATE / PERIOD_S) + spread_rounds(MEMBERS, 0.001) + 2
    gossip = MEMBERS * rounds
    data = MESSAGES + found.repairs
    requests = result.messages_sent - gossip - data - found.forwards
    known = data * (HEADER + PAYLOAD + 2 * NUMBER) + found.repairs * NUMBER
    known += requests * (HEADER + NUMBER) + found.requests * 2 * NUMBER
    known += found.forwards * (HEADER + 4 * NUMBER) + gossip * (HEADER + NUMBER)
    return (result.sent_bytes - known) / (gossip * 2 * NUMBER)


def _forwarded(runs: Runs) -> Judgement:
    chains = {
        policy: max(runs[_point(policy, loss)].result.rounds for loss in _losses(runs)) for policy in CHAIN
    }
    forwards = [delivery(runs, _point(HASHED, loss)).forwards for loss in _losses(runs)]
    of_original = [delivery(runs, _point(ORIGINAL, loss)).forwards for loss in _losses(runs)]
    return Judgement(
        paper="the request goes on to a random bufferer",
        measured=f"{min(forwards):,} to {max(forwards):,} passed on; {chains[HASHED]} messages for a repair",
        holds=min(forwards) > 0 and not any(of_original) and chains == CHAIN,
        why=f"gossip, request, request passed on, repair, against {chains[ORIGINAL]} originally, where"
        f" nothing is passed on; receivers lose {', '.join(f'{100 * loss:g} %' for loss in _losses(runs))}",
    )


def _delivered(runs: Runs) -> Judgement:
    parts, astray = [], False
    for loss in _losses(runs):
        seen, original = (delivery(runs, _point(policy, loss)) for policy in (HASHED, ORIGINAL))
        odds = failure_with_sender(MEMBERS, COPIES, loss)
        most = interval(MESSAGES, odds, RUNS)[1]
        astray |= seen.violations > most or original.violations > 0
        astray |= seen.messages_delivered != MESSAGES
        parts.append(f"{seen.violations} of at most {most} at {100 * loss:g} %")
    return Judgement(
        paper="delivered, but for P_fail",
        measured=f"not to all: {', '.join(parts)}",
        holds=not astray,
        why=f"{MESSAGES:,} messages to {MEMBERS} members, C = {COPIES:g}, P_fail's {100 * RUNS:g} % interval;"
        " none missed where all members keep everything",
    )


def _ranges(runs: Runs) -> Judgement:
    without = ranges(runs, HASHED, 0.0)
    found = [ranges(runs, HASHED, loss) for loss in _losses(runs)]
    return Judgement(
        paper="lists of typically one range",
        measured=f"{without:.2f} without loss, {found[0]:.2f} to {found[-1]:.2f} with",
        holds=without <= 1 and max(found) < FEW_RANGES,
        why=f"ranges in a gossip message, by the bytes of the runs, {100 * _losses(runs)[0]:g} to"
        f" {100 * _losses(runs)[-1]:g} % lost; a list of identifiers would have up to {MESSAGES:,}",
    )


CLAIMS = (
    Claim(id="B4a", kind="exact", text="Who does not keep a message passes a request on", judge=_forwarded),
    Claim(id="B4b", kind="exact", text="So all get every message that a bufferer has", judge=_delivered),
    Claim(id="B4c", kind="trend", text="Identifiers of received messages are few ranges", judge=_ranges),
)


def repair_table(runs: Runs) -> Table:
    """Show what repair took."""
    rows = []
    for loss in (0.0, *_losses(runs)):
        for policy in CHAIN:
            found = delivery(runs, _point(policy, loss))
            cells = (found.requests, found.forwards, found.repairs, found.repairs_twice, found.violations)
            rows.append((f"{100 * loss:g} %", policy, *cells, round(ranges(runs, policy, loss), 2)))
    return Table(
        key="repair",
        title="Requests and repairs",
        columns=(
            "loss",
            "buffers",
            "asked for",
            "passed on",
            "repairs",
            "repairs of what was there",
            "not to all",
            "ranges in a gossip",
        ),
        rows=tuple(rows),
        note=f"{MEMBERS} members, {MESSAGES:,} messages at {RATE:g}/s, each member loses a message with the"
        f" probability given, C = {COPIES:g}.",
    )


TABLES = (repair_table,)
FIGURES = ()
