"""One message for print: the members of its critical path, what travelled among them, and the three phases.

A sheet of paper has room for some members and some dozens of arrows, so the picture has the members that
the path visits and as many others as fit, the path's transmissions with their names, those that carried
the message, and pale, among the same members, a sample of the others. The page has all.
"""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from stablecast.errors import InvalidInput
from stablecast.report.diagram import Arrow, Diagram, Mark, Span
from stablecast.report.lens.chosen import Answer
from stablecast.report.lens.content import LABELS
from stablecast.report.lens.text import ms

if TYPE_CHECKING:
    from stablecast.causes import Phase, Run
    from stablecast.report.lens.content import Asked, Content

MOST_MEMBERS = 12
MOST_PALE = 60
MOST_ARROWS = 400
"""Of a window without a message."""
SHORT = 20
"""A wait of less than this part of the path is not measured."""


def picture_of(run: Run, content: Content, asked: Asked) -> bytes:
    """Return an SVG of the message that was asked for, or of the window of time."""
    path = content.asked if isinstance(content.asked, Answer) else None
    if path is None and asked.from_us is None and asked.to_us is None:
        raise InvalidInput(
            "--svg needs something to draw (accepted: with --message, or --from-us and --to-us)"
        )
    diagram = _of_path(run, content, path) if path is not None else _of_window(run, content)
    return _drawn(diagram)


def _drawn(diagram: Diagram) -> bytes:
    import matplotlib.style

    from stablecast.report.diagram_static import diagram_canvas
    from stablecast.report.static import SETTINGS

    into = io.BytesIO()
    with matplotlib.style.context(["default", SETTINGS]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font", category=UserWarning)
        diagram_canvas(diagram).savefig(into, format="svg", metadata={"Date": None})
    return into.getvalue()


def _of_path(run: Run, content: Content, path: Answer) -> Diagram:
    members = _members_of(run, path)
    hops = [one for one in path.segments if one.origin != one.member]
    arrows = [
        Arrow(
            source=members[one.origin],
            dest=members[one.member],
            sent=_ms(one.begin_us - path.begin_us),
            received=_ms(one.end_us - path.begin_us),
            kind="critical path",
            label=_label(one.message, one.execution),
        )
        for one in hops
    ]
    drawn = {(members[one.origin], members[one.member], one.begin_us, one.end_us) for one in hops}
    return Diagram(
        key="lens",
        title=path.name,
        caption="",
        time_label=f"time since {path.name} was sent [ms]",
        processes=tuple(members),
        messages=(*_others(run, content, path, members, drawn), *arrows),
        events=tuple(_marks(path, members)),
        spans=tuple(_spans(path, members)),
    )


def _ms(us: int) -> float:
    return us / 1000


def _label(message: str | None, execution: int | None) -> str:
    return f"{message or ''}" + ("" if execution is None else f" {execution}")


def _members_of(run: Run, path: Answer) -> dict[str, int]:
    """Return the members that are drawn, with their rows: those of the path, and others where they fit."""
    ends = (name for one in (*path.segments, *path.way) for name in (one.origin, one.member))
    wanted = list(dict.fromkeys([path.source, path.member, *ends]))
    wanted += [name for name in run.members if name not in wanted][: max(0, MOST_MEMBERS - len(wanted))]
    place = {name: k for k, name in enumerate(run.members)}
    return {name: row for row, name in enumerate(sorted(wanted, key=place.__getitem__))}


def _others(
    run: Run, content: Content, path: Answer, members: dict[str, int], drawn: set[tuple[int, int, int, int]]
) -> list[Arrow]:
    """Return what else travelled meanwhile: all data of the message, a sample of the rest."""
    zero = path.begin_us - content.start_us
    rows = _rows_of(run, content, members, (zero, path.end_us - content.start_us))
    own = _carries(run, content, rows, path)
    rest = rows[~own]
    if rest.size > MOST_PALE:
        rest = rest[np.linspace(0, rest.size - 1, MOST_PALE).astype(np.int64)]
    pale = [_arrow(run, content, members, int(k), zero, drawn, pale=True) for k in rest]
    bold = [_arrow(run, content, members, int(k), zero, drawn, pale=False) for k in rows[own]]
    return [one for one in (*pale, *bold) if one is not None]


def _carries(run: Run, content: Content, rows: Any, path: Answer) -> Any:
    """Tell which transmissions carry the message, or ask for it."""
    columns = content.columns
    carriers = [k for k, kind in enumerate(content.header["kinds"]) if kind["carries"]]
    return (
        (columns["arrow_source"][rows] == run.members.index(path.source))
        & (columns["arrow_first"][rows] <= path.seq)
        & (columns["arrow_seq"][rows] >= path.seq)
        & np.isin(columns["arrow_kind"][rows], carriers)
    )


def _rows_of(run: Run, content: Content, members: dict[str, int], window: tuple[int, int]) -> Any:
    columns = content.columns
    drawn = np.isin(np.arange(len(run.members)), [run.members.index(name) for name in members])
    inside = (columns["arrow_sent"] >= window[0]) & (columns["arrow_end"] <= window[1])
    apart = columns["arrow_from"] != columns["arrow_to"]
    ends = drawn[columns["arrow_from"]] & drawn[columns["arrow_to"]]
    return np.flatnonzero(inside & ends & apart)


def _arrow(
    run: Run,
    content: Content,
    members: dict[str, int],
    k: int,
    zero: int,
    drawn: set[tuple[int, int, int, int]],
    *,
    pale: bool,
) -> Arrow | None:
    """Return an arrow; None for one that the path has already."""
    columns = content.columns
    origin, dest = (members[run.members[int(columns[name][k])]] for name in ("arrow_from", "arrow_to"))
    sent, end = int(columns["arrow_sent"][k]), int(columns["arrow_end"][k])
    if (origin, dest, sent + content.start_us, end + content.start_us) in drawn:
        return None
    return Arrow(
        source=origin,
        dest=dest,
        sent=_ms(sent - zero),
        received=None if columns["arrow_lost"][k] else _ms(end - zero),
        kind=content.header["kinds"][int(columns["arrow_kind"][k])]["name"],
        pale=pale,
    )


def _marks(path: Answer, members: dict[str, int]) -> list[Mark]:
    marks = [
        Mark(process=members[path.source], time=0.0, text="sent"),
        Mark(
            process=members[path.member],
            time=_ms(path.length_us),
            text="known stable" if path.known else "the last one has it",
        ),
    ]
    had = path.phases[0]
    if path.known and path.last_member in members and had.length_us:
        text = f"{path.last_member} has it, the last one"
        marks.append(Mark(process=members[path.last_member], time=_ms(had.length_us), text=text))
    return marks


def _spans(path: Answer, members: dict[str, int]) -> list[Span]:
    """Return the phases at the first member, and long waits of the path where they were waited."""
    phases = [(0, one.begin_us, one.end_us, _phase_text(one, path)) for one in path.phases]
    waits = [
        (members[one.member], one.begin_us, one.end_us, f"waits: {ms(one.length_us)} ms")
        for one in path.segments
        if one.origin == one.member and one.length_us * SHORT > path.length_us
    ]
    return [
        Span(process=row, start=_ms(begin - path.begin_us), end=_ms(end - path.begin_us), text=text)
        for row, begin, end, text in (*phases, *waits)
        if end > begin
    ]


def _phase_text(phase: Phase, path: Answer) -> str:
    """Return a phase's name and length, or the length alone where the name has no room."""
    length = f"{ms(phase.length_us)} ms"
    return length if phase.length_us * 5 < path.length_us else f"{LABELS[phase.name][0]}: {length}"


def _of_window(run: Run, content: Content) -> Diagram:
    """Return the window with everything in it, if that can be read."""
    members = {name: k for k, name in enumerate(run.members)}
    rows = _rows_of(run, content, members, (0, content.header["span"]))
    if rows.size > MOST_ARROWS or len(members) > 2 * MOST_MEMBERS or not rows.size:
        raise InvalidInput(
            f"the window has {rows.size:,} transmissions among {len(members):,} members"
            f" (accepted for print: 1 to {MOST_ARROWS} among {2 * MOST_MEMBERS}; or --message)"
        )
    drawn = [_arrow(run, content, members, int(k), 0, set(), pale=False) for k in rows]
    return Diagram(
        key="lens",
        title=content.header["title"],
        caption="",
        time_label="time [ms]",
        processes=run.members,
        messages=tuple(one for one in drawn if one is not None),
    )
