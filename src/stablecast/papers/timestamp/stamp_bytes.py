"""T4, what the paper does not count: stamps in data, messages of idle senders, and faster senders."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from stablecast.papers.paper import Claim, Judgement
from stablecast.papers.timestamp.steady import (
    ABOUT,
    ENTRY_BYTES,
    HEADER_BYTES,
    T_ACK_MS,
    Steady,
    is_made,
    messages_in_t_ack,
    pair,
    steady,
)
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.table import Table

GROUPS = ((2, 16), (4, 16), (8, 8))
"""Senders and members of the groups in which stamps are weighed against vectors."""
DRAWN = (4, 16)
DRAWN_COUNTS = (1, 4, 8, 16, 20)
"""Messages of a sender in t_ack, for the figure."""
EVERYONE = 32
"""Members of a group that all send."""
QUICK_COUNTS, FULL_COUNTS = (1, 2, 5, 10), (1, 2, 3, 5, 7, 10)
PROTOCOLS = ("timestamp", "vector", "transitive", "explicit")
IDLE_GROUP = (8, 16)
IDLE_RATE = 1.0
"""Messages of a sender in a second while most of the time it has none."""
T_SENDS_MS = (50.0, 100.0, 200.0, 500.0)
SAME = 1e-9

Group = tuple[int, int]


def even_count(group: Group) -> Fraction:
    """Return the messages of a sender in t_ack at which stamps cost what timestamps save (section 5)."""
    senders, members = group
    return Fraction(members * (senders - 1), senders)


def counts_around(group: Group) -> tuple[int, ...]:
    """Return whole numbers of messages below, at and above that."""
    even = even_count(group)
    return tuple(sorted({int(even) - 1, int(even), int(even) + 1}))


def fast(protocol: str, group: Group, count: int) -> tuple[Point, Point]:
    """Return runs in which each sender sends so many messages in t_ack."""
    return pair(protocol, *group, rate_per_s=count * 1000 / T_ACK_MS, periods=5)


def idle(protocol: str, t_send_ms: float) -> tuple[Point, Point]:
    """Return runs in which senders have a message now and then."""
    options: dict[str, Any] = {"send_every_ms": t_send_ms} if protocol == "timestamp" else {}
    return pair(protocol, *IDLE_GROUP, rate_per_s=IDLE_RATE, **options)


def points(full: bool) -> list[Point]:
    """Return all runs of this file."""
    asked = [
        fast(protocol, group, count)
        for protocol in ("timestamp", "vector")
        for group in GROUPS
        for count in (*counts_around(group), *(DRAWN_COUNTS if group == DRAWN else ()))
    ]
    asked += [
        fast(protocol, (EVERYONE, EVERYONE), count)
        for protocol in PROTOCOLS
        for count in (FULL_COUNTS if full else QUICK_COUNTS)
    ]
    asked += [idle(protocol, t_send) for protocol in ("timestamp", "vector") for t_send in T_SENDS_MS]
    return list({point.key: point for each in asked for point in each}.values())


def _plain(value: float) -> float | int:
    return round(value) if abs(value - round(value)) < 1e-6 else round(value, 1)


def _weighed(runs: Runs, group: Group, count: int) -> tuple[Steady, Steady]:
    timestamp, vector = (steady(runs, fast(protocol, group, count)) for protocol in ("timestamp", "vector"))
    return timestamp, vector


def stamps(runs: Runs) -> Table:
    """Stamps against what they save."""
    rows = []
    for group in GROUPS:
        for count in sorted({*counts_around(group), *(DRAWN_COUNTS if group == DRAWN else ())}):
            timestamp, vector = _weighed(runs, group, count)
            more = _plain(timestamp.all_bytes - vector.all_bytes)
            cells = map(_plain, (timestamp.bytes, timestamp.attached, timestamp.all_bytes, vector.all_bytes))
            rows.append((group[1], group[0], count, float(even_count(group)), *cells, more))
    return Table(
        key="stamps",
        title="Stamps in data messages against what timestamps save, bytes in t_ack",
        columns=(
            "N_r",
            "N_s",
            "messages of a sender, k",
            "even at k",
            "timestamps",
            "stamps in data",
            "sum",
            "vectors",
            "sum - vectors",
        ),
        rows=tuple(rows),
        note=f"{ABOUT} Even at k = N_r (N_s - 1)/N_s: both spend the same.",
    )


def rates(runs: Runs) -> Table:
    """All protocols in a group that all sends, with more and more messages."""
    rows = []
    for count in counts_made(runs):
        found = {protocol: _everyone(runs, protocol, count) for protocol in PROTOCOLS}
        named = found["transitive"].attached / (EVERYONE * count * ENTRY_BYTES)
        rows.append((count, *(_plain(each.all_bytes) for each in found.values()), round(named, 2)))
    return Table(
        key="rates",
        title=f"Bytes in t_ack where all of {EVERYONE} members send",
        columns=("messages of a sender, k", *PROTOCOLS, "predecessors named, p"),
        rows=tuple(rows),
        note=f"{ABOUT} With what data messages carry: stamps, or the names of direct predecessors. p: of"
        f" other senders, on average; up to {EVERYONE - 1}.",
    )


def idle_senders(runs: Runs) -> Table:
    """What senders cost that have nothing to send."""
    rows = []
    for t_send in T_SENDS_MS:
        timestamp, vector = (steady(runs, idle(protocol, t_send)) for protocol in ("timestamp", "vector"))
        rows.append(
            (
                t_send,
                *map(_plain, (timestamp.bytes, idle_bytes(t_send), timestamp.attached, vector.all_bytes)),
            )
        )
    senders, members = IDLE_GROUP
    return Table(
        key="idle_senders",
        title=f"Idle senders: bytes in t_ack, {senders} senders of {members} members,"
        f" {IDLE_RATE:g} message a second each",
        columns=("t_send [ms]", "timestamps and NULLs", "closed form", "stamps in data", "vectors"),
        rows=tuple(rows),
        note="A NULL is a header, a timestamp and the number of the last message: h + 2e.",
    )


TABLES = (stamps, rates, idle_senders)


def idle_bytes(t_send_ms: float) -> float:
    """Return the bytes of acknowledgements and NULLs in t_ack; a data message takes a NULL's place."""
    senders, members = IDLE_GROUP
    nulls = senders * (T_ACK_MS / t_send_ms - messages_in_t_ack(IDLE_RATE))
    return members * (HEADER_BYTES + ENTRY_BYTES) + nulls * (HEADER_BYTES + 2 * ENTRY_BYTES)


def counts_made(runs: Runs) -> list[int]:
    """Return the numbers of messages in t_ack that were run where everyone sends."""
    group = (EVERYONE, EVERYONE)
    found = [count for count in FULL_COUNTS if is_made(runs, fast("timestamp", group, count))]
    if not found:
        raise MissingRun(f"this run was not made: {fast('timestamp', group, 1)[0].replay}")
    return found


def _everyone(runs: Runs, protocol: str, count: int) -> Steady:
    return steady(runs, fast(protocol, (EVERYONE, EVERYONE), count))


def judge_stamps(runs: Runs) -> Judgement:
    """T4f."""
    told, wrong = [], []
    for group in GROUPS:
        senders, members = group
        for count in counts_around(group):
            timestamp, vector = _weighed(runs, group, count)
            more = timestamp.all_bytes - vector.all_bytes
            expected = ENTRY_BYTES * (senders * count - members * (senders - 1))
            if not (timestamp.whole and vector.whole) or abs(more - expected) > SAME:
                wrong.append(f"N_s = {senders}, N_r = {members}, k = {count}: {more:+.1f} for {expected:+}")
            if count == even_count(group):
                told.append(f"{more:+.0f} B at k = {count} (N_s = {senders}, N_r = {members})")
    return Judgement(
        paper="not counted",
        measured=f"timestamps less vectors: {', '.join(told)}",
        holds=not wrong,
        why="by section 5 stamps cost as much as timestamps save at k = N_r (N_s - 1)/N_s messages of a"
        f" sender in t_ack, less below and more above; other than computed: {'; '.join(wrong) or 'none'}",
    )


def judge_idle(runs: Runs) -> Judgement:
    """T4h."""
    found = {t_send: steady(runs, idle("timestamp", t_send)).bytes for t_send in T_SENDS_MS}
    wrong = [f"{t:g} ms" for t, value in found.items() if abs(value - idle_bytes(t)) > SAME * value]
    vector = steady(runs, idle("vector", T_SENDS_MS[0])).bytes
    dearer = [f"{t:g}" for t, value in found.items() if value > vector]
    return Judgement(
        paper="higher layers must generate messages; their bytes are not counted",
        measured=", ".join(f"{value:.0f} B with t_send {t:g} ms" for t, value in found.items()),
        holds=not wrong,
        why="acknowledgements and NULLs in t_ack equal N_r (h + e) + N_s (t_ack/t_send - k)(h + 2e); other"
        f" than computed: {', '.join(wrong) or 'none'}; vectors need none of it and take {vector:.0f} B, less"
        f" than timestamps with t_send of {', '.join(dearer) or 'none of these'} ms",
    )


CLAIMS = (
    Claim(
        id="T4f",
        ours=True,
        kind="exact",
        text="Beyond the paper: stamps in data messages cost more than timestamps save as soon as a sender"
        " sends more than N_r (N_s - 1)/N_s messages in t_ack.",
        judge=judge_stamps,
    ),
    Claim(
        id="T4h",
        ours=True,
        kind="exact",
        text="Beyond the paper: each sender that has nothing to send costs a message every t_send.",
        judge=judge_idle,
    ),
)


def _drawn_group(runs: Runs) -> Panel:
    counts = sorted({*DRAWN_COUNTS, *counts_around(DRAWN)})
    weighed = [_weighed(runs, DRAWN, count) for count in counts]
    x = tuple(float(count) for count in counts)
    senders, members = DRAWN
    return Panel(
        title=f"(A) {senders} senders, {members} members",
        x=Axis("messages of a sender in t_ack, k"),
        y=Axis("bytes in t_ack [B]"),
        series=(
            Series(name="timestamp", x=x, y=tuple(timestamp.all_bytes for timestamp, _ in weighed)),
            Series(name="vector", x=x, y=tuple(vector.all_bytes for _, vector in weighed)),
            Series(
                name="timestamp without stamps",
                x=x,
                y=tuple(timestamp.bytes for timestamp, _ in weighed),
                like="timestamp",
            ),
        ),
    )


def _drawn_rates(runs: Runs) -> Panel:
    counts = counts_made(runs)
    return Panel(
        title=f"(B) all of {EVERYONE} members send",
        x=Axis("messages of a sender in t_ack, k", log=True),
        y=Axis("bytes in t_ack [B]", log=True),
        series=tuple(
            Series(
                name=protocol,
                x=tuple(float(count) for count in counts),
                y=tuple(_everyone(runs, protocol, count).all_bytes for count in counts),
            )
            for protocol in PROTOCOLS
        ),
    )


def _drawn_idle(runs: Runs) -> Panel:
    senders, members = IDLE_GROUP
    return Panel(
        title=f"(C) {senders} of {members} send, once a second",
        x=Axis("t_send [ms]", log=True),
        y=Axis("bytes in t_ack [B]"),
        series=tuple(
            Series(
                name=protocol,
                x=T_SENDS_MS,
                y=tuple(steady(runs, idle(protocol, t_send)).all_bytes for t_send in T_SENDS_MS),
            )
            for protocol in ("timestamp", "vector")
        ),
    )


def figure_stamps(runs: Runs) -> Figure:
    """What stamps and NULLs add."""
    return Figure(
        key="stamps",
        title="What timestamps cost beside acknowledgements",
        caption="All bytes of a protocol in t_ack, with what it puts into data messages. (A) Every message"
        f" carries a stamp, so that fast senders pay more than vectors cost, from k ="
        f" {float(even_count(DRAWN)):g} on. (B) Names of predecessors"
        " are few while messages are far apart, and many when they are concurrent. (C) A sender without"
        " messages sends NULLs.",
        panels=(_drawn_group(runs), _drawn_rates(runs), _drawn_idle(runs)),
    )


FIGURES = (figure_stamps,)
