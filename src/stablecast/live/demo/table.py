"""Show how a demo goes: a live table on a terminal, a plain line now and then otherwise; then the verdict."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from stablecast.live.demo.plan import DemoOptions, Plan

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

    from stablecast.live.demo.conduct import DemoResult
    from stablecast.live.demo.crew import Hand
    from stablecast.trace.verdict import Times

PLAIN_LINE_S = 2.0
SOURCES_SHOWN = 4
VIOLATIONS_SHOWN = 5


class DemoProgress:
    """Shows members on standard error; a context manager."""

    def __init__(self, *, shown: bool = True) -> None:
        self._shown = shown
        self._live: Live | None = None
        self._last = 0.0

    def __enter__(self) -> DemoProgress:
        if self._shown and sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def say(self, line: str) -> None:
        """Tell about a step."""
        if self._live is not None:
            self._live.console.print(f"# {line}", markup=False, highlight=False)
        elif self._shown:
            print(f"# {line}", file=sys.stderr, flush=True)

    def show(self, hands: list[Hand], plan: Plan, seconds: float) -> None:
        """Show how members are doing, not too often."""
        now = time.monotonic()
        if not self._shown or now - self._last < (0.1 if self._live is not None else PLAIN_LINE_S):
            return
        self._last = now
        if self._live is not None:
            self._live.update(members_table(hands, plan, seconds), refresh=True)
        else:
            self.say(plain_line(hands, plan, seconds))


def plain_line(hands: list[Hand], plan: Plan, seconds: float) -> str:
    """Return how far a demo is, on one line."""
    known = [hand.status for hand in hands if hand.status is not None and not hand.killed]
    stable = min((sum(status.frontier.values()) for status in known), default=0)
    held = max((status.unstable_messages for status in known), default=0)
    repairs = sum(status.repairs_asked for status in known)
    view = min((len(status.members) for status in known), default=0)
    return (
        f"{seconds:.1f} s: {stable:,} of {plan.options.messages:,} messages stable everywhere, "
        f"at most {held:,} buffered, {repairs:,} repairs asked for, view of {view}"
    )


def members_table(hands: list[Hand], plan: Plan, seconds: float) -> Table:
    """Return a table of members, a row each."""
    from rich.table import Table

    options = plan.options
    table = Table(
        title=f"{_protocol(options)}, {options.loss:.0%} loss, {seconds:.1f} s",
        title_justify="left",
    )
    for heading in ("member", "state", "view", "sent", "frontier", "buffered", "asked", "given"):
        left = heading in ("member", "state", "frontier")
        table.add_column(heading, justify="left" if left else "right", no_wrap=True)
    for hand in hands:
        table.add_row(*_cells(hand), style="red" if hand.killed else None)
    return table


def _cells(hand: Hand) -> list[str]:
    status = hand.status
    if hand.killed:
        return [hand.name, "killed"]
    if status is None:
        return [hand.name, "starting"]
    return [
        status.me,
        status.state,
        str(len(status.members)),
        f"{status.sent:,}",
        frontier_text(list(status.frontier.values())),
        f"{status.unstable_messages:,} ({status.unstable_bytes / 1000:,.0f} kB)",
        f"{status.repairs_asked:,}",
        f"{status.repairs_sent:,}",
    ]


def frontier_text(numbers: list[int]) -> str:
    """Return a frontier in a table's cell: each source's number, or the least and the most of many."""
    if len(numbers) > SOURCES_SHOWN:
        return f"{min(numbers)} to {max(numbers)}"
    return " ".join(map(str, numbers))


def verdict_lines(result: DemoResult) -> list[str]:
    """Return the verdict for people."""
    verdict, options = result.verdict, result.options
    peak = max(verdict.peaks.values(), key=lambda peak: peak.bytes, default=None)
    killed = ", ".join(result.killed) or "none"
    rows = [
        ("protocol", f"{_protocol(options)}, {options.members} members, killed: {killed}"),
        ("messages", f"{verdict.messages:,} sent, {verdict.deliveries:,} deliveries, {result.seconds:.1f} s"),
        *(_promises(verdict.counts) if options.told.bimodal is None else _of_bimodal(result)),
        ("time to stable", times_text(verdict.time_to_stable)),
        ("  in truth", times_text(verdict.time_to_truth)),
        ("peak buffer", f"{peak.messages:,} messages, {peak.bytes:,} bytes at one member" if peak else "-"),
    ]
    if result.came_back:
        rows.append(("came back", ", ".join(result.came_back)))
    rows += [("problem", problem) for problem in result.problems]
    rows += [
        ("violation", f"{v.kind}: {v.member}, {v.source}/{v.seq} at {v.time_us}: {v.why}")
        for v in [v for v in verdict.violations if v.kind in result.wrong][:VIOLATIONS_SHOWN]
    ]
    rows.append(("verdict", "passed" if result.ok else f"FAILED; replay: {options.command()}"))
    return [f"{name:15} {text}" for name, text in rows]


def _promises(wrong: dict[str, int]) -> list[tuple[str, str]]:
    """Return how the promises of reliable delivery were kept."""
    unordered = wrong["order"] + wrong["duplicate"] + wrong["sent_again"]
    return [
        ("delivered", _judged(wrong["undelivered"], "every message of who stayed is at all who stayed")),
        ("all-or-none", _judged(wrong["all_or_none"], "what one survivor has, all have")),
        ("order", _judged(unordered, "FIFO, without gaps, once")),
        ("safety", _judged(_unsafe(wrong), "nothing stable or released too early")),
    ]


def _of_bimodal(result: DemoResult) -> list[tuple[str, str]]:
    """Return how the promises of bimodal delivery were kept, and how much was given up."""
    given_up, wrong = result.verdict.counts["all_or_none"], sum(result.wrong.values())
    return [
        ("given up", f"{given_up:,} deliveries that a survivor lacks and others have"),
        ("order", _judged(wrong, "FIFO, once, nothing called stable")),
    ]


def _protocol(options: DemoOptions) -> str:
    """Return the protocol's name, and what is set of it."""
    return " ".join((options.told.protocol_name, *options.set))


def _unsafe(wrong: dict[str, int]) -> int:
    kinds = ("early_stable", "early_release", "receive_after_departure", "unknown")
    return sum(wrong[kind] for kind in kinds)


def _judged(count: int, promise: str) -> str:
    return f"yes: {promise}" if count == 0 else f"NO: {count:,} violations"


def times_text(times: Times) -> str:
    """Return percentiles on one line."""
    if times.p50_ms is None:
        return "-"
    return (
        f"p50 {times.p50_ms:.1f} ms, p90 {times.p90_ms:.1f}, p99 {times.p99_ms:.1f}, most {times.max_ms:.1f}"
    )
