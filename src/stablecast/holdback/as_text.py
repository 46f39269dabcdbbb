"""An answer as a table for people."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from stablecast.holdback.answer import Answer, Row
from stablecast.holdback.frontier import Standing
from stablecast.holdback.rates import Full
from stablecast.holdback.units import amount_text, duration_text
from stablecast.words import counted, printable

COLUMNS = ("READER", "HOLDS", "BEHIND FOR", "STATE", "WITHOUT IT")
TOP = 10


def as_text(answer: Answer, *, top: int = TOP, width: int | None = None) -> str:
    """Return the answer, of the logs and readers that hold the most; lines are no wider than a terminal."""
    lines = (printable(line) for line in _lines(answer, top, width))
    return "\n".join(lines if width is None else (part for line in lines for part in _folded(line, width)))


def _folded(line: str, width: int) -> list[str]:
    """Return a line as several, at spaces where there are any; all but the first are further in."""
    if len(line) <= width:
        return [line]
    begin = " " * (len(line) - len(line.lstrip()))
    return wrap(
        line.strip(), width, initial_indent=begin, subsequent_indent=f"{begin}    ", break_on_hyphens=False
    )


def _lines(answer: Answer, top: int, width: int | None) -> Iterator[str]:
    shown = [row for row in answer.rows[:top] if row.frontier.waiting_for]
    shown = shown or list(answer.rows[: min(top, 3)])
    if len(answer.rows) > 1:
        yield from _blockers(answer, top)
    for number, row in enumerate(shown):
        if number or len(answer.rows) > 1:
            yield ""
        yield from _log(answer, row, top, width)
    rest = len(answer.rows) - len(shown)
    if rest:
        held = sum(1 for row in answer.rows if row.frontier.waiting_for)
        more = held - sum(1 for row in shown if row.frontier.waiting_for)
        yield ""
        of_them = f"; in {more:,} of them something is" if more else ", where nothing is"
        yield f"{counted(rest, 'other log')}{of_them} held back"
    if not answer.rows:
        yield "there is no log"
    for server, end in answer.full.items():
        yield f"{server} is full {_full(end)}"


def _blockers(answer: Answer, top: int) -> Iterator[str]:
    yield f"{counted(len(answer.rows), 'log')}, {counted(len(answer.blockers), 'blocker')}"
    for one in answer.blockers[:top]:
        since = (
            "" if one.since_us is None else f", for {duration_text((answer.time_us - one.since_us) / 1e6)}"
        )
        yield f"  {one.member} holds {amount_text(one.held)} in {counted(one.logs, 'log')}{since}"
    if len(answer.blockers) > top:
        yield f"  and {len(answer.blockers) - top:,} more"


def _log(answer: Answer, row: Row, top: int, width: int | None) -> Iterator[str]:
    found, log = row.frontier, row.frontier.log
    if not log.readers:
        yield f"{log.name}: nobody reads it; it keeps {amount_text(log.kept)}"
        return
    unsure = [f"{reader.member}: {reader.unsure}" for reader in log.readers if reader.unsure]
    said = "not known to be safe to delete:" if unsure else "safe to delete"
    yield f"{log.name}: {said} {log.numbering.up_to(found.stable_seq)}{_safe(row)}"
    yield from (f"  {line}" for line in (*unsure, *log.remarks))
    if found.waiting_for:
        age = "" if row.age_s is None else f", for {duration_text(row.age_s)}"
        yield f"  held back: {amount_text(found.held)}{age}, by {_names(found.waiting_for)}"
    else:
        yield "  nothing is held back"
    if row.full is not None:
        yield f"  full {_full(row.full)}"
    yield from _table([_reader(answer, row, one) for one in found.standings[:top]], width)
    if len(found.standings) > top:
        yield f"  and {counted(len(found.standings) - top, 'more reader')}"


def _table(readers: list[tuple[str, ...]], width: int | None) -> Iterator[str]:
    """Yield readers as a table; where that is too wide, each in words of its own."""
    lines = [COLUMNS, *readers]
    widths = [max(len(line[k]) for line in lines) for k in range(len(COLUMNS))]
    shown = [
        ("  " + "  ".join(text.ljust(size) for text, size in zip(line, widths, strict=True))).rstrip()
        for line in lines
    ]
    if width is None or max(map(len, shown)) <= width:
        yield from shown
        return
    for name, holds, behind, state, without in readers:
        yield f"  {name}: {state}"
        yield f"    holds {holds}" + (f", behind for {behind}" if behind else "")
        if without:
            yield f"    without it {without}"


def _safe(row: Row) -> str:
    amount = row.frontier.deletable
    if amount.items is None and amount.bytes is None:
        return ""
    return f" ({amount_text(amount)})"


def _reader(answer: Answer, row: Row, one: Standing) -> tuple[str, ...]:
    reader = one.reader
    behind = ""
    if reader.behind_since_us is not None:
        behind = duration_text((row.snapshot.time_us - reader.behind_since_us) / 1e6)
    holds = amount_text(reader.behind) if one.lag else ("nothing" if reader.holds else "nothing any more")
    return printable(reader.member), holds, behind, _state(answer, row, one), _without(row, one)


def _state(answer: Answer, row: Row, one: Standing) -> str:
    reader = one.reader
    words = ["blocks"] if one.blocks else []
    if reader.unsure:
        words.append("not known what it has")
    if one.lost:
        words.append("lacks what is deleted")
    if reader.never_read:
        words.append("never read")
    if answer.is_gone(row, reader):
        seen = reader.seen_us
        ago = "" if seen is None else f" for {duration_text((row.snapshot.time_us - seen) / 1e6)}"
        words.append(f"gone{ago}")
    return ", ".join(words) or ("behind" if one.lag else "has everything")


def _without(row: Row, one: Standing) -> str:
    if not one.blocks:
        return ""
    if len(row.frontier.waiting_for) > 1:
        return "nothing goes free: others are as far behind"
    frees = f"{amount_text(one.frees)} go free"
    return f"{frees}; then {_names(one.next_blockers)} is next" if one.next_blockers else frees


def _names(names: tuple[str, ...]) -> str:
    some = ", ".join(names[:3])
    return f"{some} and {len(names) - 3} more" if len(names) > 3 else some


def _full(end: Full) -> str:
    return (
        f"in {duration_text(end.in_s)} at the rate of the last {duration_text(end.over_s)}: then {end.then}"
    )
