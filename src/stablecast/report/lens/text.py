"""A critical path for the terminal: the answer in a few lines, then a table of its pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stablecast.report.lens.content import LABELS

if TYPE_CHECKING:
    from stablecast.causes import Segment
    from stablecast.report.lens.chosen import Answer

WIDEST = 76
"""Letters of a piece's name; the numbers beside it stay on a terminal of 110."""


def path_lines(path: Answer) -> list[str]:
    """Return the lines that a person reads."""
    return [
        f"{path.name}: {ms(path.length_us)} ms until {path.until}",
        *path.lines[1:],
        "",
        *_phases(path),
        "",
        *_table(path),
    ]


def slowest_lines(messages: tuple[Answer, ...], count: int) -> list[str]:
    """Return the slowest messages, a line each."""
    if not messages:
        return ["no message was at every member by the end of the trace"]
    names = [one.name for one in messages[:count]]
    width = max(len("slowest"), *map(len, names))
    ends = ("ms to stable", "known by") if messages[0].known else ("ms to everyone", "last member")
    lines = [f"{'slowest':<{width}}  {ends[0]:>14}  {ends[1]}"]
    for name, one in zip(names, messages, strict=False):
        lines.append(f"{name:<{width}}  {ms(one.length_us):>14}  {one.member}")
    return lines


def path_values(path: Answer) -> dict[str, Any]:
    """Return a path as plain values for JSON."""
    return {
        "message": path.name,
        "member": path.member,
        "known": path.known,
        "sent_us": path.begin_us,
        "detected_us": path.end_us,
        "length_us": path.length_us,
        "last_member": path.last_member,
        "phases": [
            {"name": one.name, "begin_us": one.begin_us, "length_us": one.length_us, "text": one.text}
            for one in path.phases
        ],
        "segments": [_segment_values(one) for one in path.segments],
        "lines": list(path.lines),
        "remarks": list(path.remarks),
    }


def _segment_values(one: Segment) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "text": one.text,
        "origin": one.origin,
        "member": one.member,
        "begin_us": one.begin_us,
        "length_us": one.length_us,
        "message": one.message,
        "execution": one.execution,
        "queue_us": one.queue_us,
        "service_us": one.service_us,
        "propagation_us": one.propagation_us,
    }


def ms(us: int) -> str:
    """Return milliseconds to the microsecond, so that sums of what is shown are exact."""
    return f"{us / 1000:,.3f}"


def _phases(path: Answer) -> list[str]:
    width = max(len(LABELS[one.name][0]) for one in path.phases)
    return [f"{LABELS[one.name][0]:<{width}}  {ms(one.length_us):>12} ms" for one in path.phases]


def _table(path: Answer) -> list[str]:
    names = [one.text if len(one.text) <= WIDEST else one.text[: WIDEST - 1] + "…" for one in path.segments]
    width = max([len("critical path"), *map(len, names)])
    lines = [f"{'critical path':<{width}}  {'ms':>12}  share"]
    for name, one in zip(names, path.segments, strict=True):
        share = one.length_us / path.length_us if path.length_us else 0
        lines.append(f"{name:<{width}}  {ms(one.length_us):>12}  {share:>5.0%}")
    total = sum(one.length_us for one in path.segments)
    return [*lines, f"{'sum':<{width}}  {ms(total):>12}"]
