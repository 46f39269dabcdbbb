"""Section 3.5: all four protocols while messages are lost, come twice or late (C3), and what resends cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stablecast.papers.curves import INTERVALS, columns_with_interval, panel, with_interval
from stablecast.papers.curves import curve as drawn
from stablecast.papers.hypercube.grid import (
    GRAPHS,
    HOPS,
    LAST,
    MESSAGES,
    PROTOCOLS,
    Index,
    Sample,
    of,
    results_of,
    sample,
)
from stablecast.papers.paper import Claim, Judgement
from stablecast.papers.statistics import Estimate
from stablecast.pipeline.point import Point
from stablecast.pipeline.runs import Runs
from stablecast.report.figure import Figure, Panel, Series
from stablecast.report.table import Table

MEMBERS = 100
RESEND_MS = 30.0
"""Longer than a round trip of any of the four at this size."""
LINK_LOSSES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
"""Share of the messages that each link loses; a message crosses several."""
TROUBLES: dict[str, dict[str, float]] = {
    "10% come twice": {"duplicate": 0.1},
    "10% come late": {"reorder": 0.1},
    "5% lost / link, 10% twice, 10% late": {"link_loss": 0.05, "duplicate": 0.1, "reorder": 0.1},
}
RESEND_TIMES_MS = (3.0, 5.0, 10.0, 20.0, 30.0, 50.0, 100.0)
QUICK_RESEND_TIMES_MS = (3.0, 5.0, 10.0, 30.0, 100.0)
TIMED_LOSSES = (0.0, 0.05)
LIMIT_MS = 60_000.0


def with_loss(protocol: str, graph: int, *, resend_ms: float = RESEND_MS, **trouble: float) -> Point:
    """Return a round with resends on a network that is not reliable."""
    return of(protocol, MEMBERS, graph, **_options(resend_ms, trouble))


def _options(resend_ms: float, trouble: dict[str, float]) -> dict[str, Any]:
    kept = {name: value for name, value in trouble.items() if value}
    return {"resend_ms": resend_ms, "until_ms": LIMIT_MS, **kept}


def _cases(times_ms: Sequence[float]) -> list[tuple[float, dict[str, float]]]:
    """Return the time between resends, and the trouble, of every case; equal ones once."""
    cases = [(RESEND_MS, {"link_loss": loss}) for loss in LINK_LOSSES]
    cases += [(RESEND_MS, trouble) for trouble in TROUBLES.values()]
    cases += [
        (resend_ms, {"link_loss": loss})
        for resend_ms in times_ms
        for loss in TIMED_LOSSES
        if resend_ms != RESEND_MS
    ]
    return cases


def points(full: bool) -> list[Point]:
    """Return every trouble and every time between resends, for every protocol."""
    return [
        with_loss(protocol, graph, resend_ms=resend_ms, **trouble)
        for protocol in PROTOCOLS
        for resend_ms, trouble in _cases(RESEND_TIMES_MS if full else QUICK_RESEND_TIMES_MS)
        for graph in range(GRAPHS)
    ]


def _times_made(runs: Runs) -> tuple[float, ...]:
    return tuple(ms for ms in RESEND_TIMES_MS if with_loss("coord", 0, resend_ms=ms) in runs)


def _sample(runs: Runs, protocol: str, resend_ms: float, trouble: dict[str, float]) -> Sample:
    return sample(runs, protocol, MEMBERS, **_options(resend_ms, trouble))


def path_links(runs: Runs, protocol: str) -> float:
    """Return the links that a message crosses on average, without trouble."""
    plain = sample(runs, protocol, MEMBERS)
    return plain.mean(HOPS) / plain.mean(MESSAGES)


def path_loss(runs: Runs, protocol: str, link_loss: float) -> float:
    """Return the share of messages that do not arrive."""
    return float(1 - (1 - link_loss) ** path_links(runs, protocol))


def losses(runs: Runs) -> Table:
    """Messages and time against loss, and with duplicates and late messages."""
    rows: list[tuple[Any, ...]] = []
    named = [(f"{loss:.0%} lost / link", {"link_loss": loss}) for loss in LINK_LOSSES]
    for protocol in PROTOCOLS:
        plain = sample(runs, protocol, MEMBERS)
        for name, trouble in [*named, *TROUBLES.items()]:
            each = _sample(runs, protocol, RESEND_MS, trouble)
            lost = path_loss(runs, protocol, trouble.get("link_loss", 0.0))
            cells = (each.estimate(MESSAGES), each.over(plain, MESSAGES), each.estimate(LAST))
            told = sum(map(with_interval, cells), ())
            rows.append((protocol, name, f"{lost:.1%}", len(each.results), *told))
    return Table(
        key="losses",
        title=f"Lost, doubled and late messages: {MEMBERS} members, resends after {RESEND_MS:g} ms",
        columns=(
            "protocol",
            "trouble",
            "lost / path",
            "runs complete",
            *columns_with_interval(["messages", "over no resends", LAST.label]),
        ),
        rows=tuple(rows),
        note="A message crosses "
        + ", ".join(f"{path_links(runs, protocol):.1f} ({protocol})" for protocol in PROTOCOLS)
        + f" links on average. {GRAPHS} graphs. Over no resends compares with runs without loss and"
        " without resends.",
    )


def resend_times(runs: Runs) -> Table:
    """What the time between resends does, without loss and with."""
    rows: list[tuple[Any, ...]] = []
    for loss in TIMED_LOSSES:
        for protocol in PROTOCOLS:
            plain = sample(runs, protocol, MEMBERS)
            for resend_ms in _times_made(runs):
                each = _sample(runs, protocol, resend_ms, {"link_loss": loss})
                cells = (each.over(plain, MESSAGES), each.estimate(LAST))
                told = sum(map(with_interval, cells), ())
                rows.append((f"{loss:.0%}", protocol, resend_ms, *told))
    return Table(
        key="resend_times",
        title=f"The time between resends, {MEMBERS} members",
        columns=(
            *("loss / link", "protocol", "resend after [ms]"),
            *columns_with_interval(["messages over no resends", LAST.label]),
        ),
        rows=tuple(rows),
        note="Without loss every resend is needless: it comes of a time shorter than the wait for an answer."
        " coord and s_coord pay for ACK_INFO in any case.",
    )


TABLES = (losses, resend_times)


def _needless(runs: Runs, protocol: str) -> float:
    """Return how many times as many messages resends mean where nothing is lost."""
    plain = sample(runs, protocol, MEMBERS)
    return _sample(runs, protocol, RESEND_MS, {}).mean(MESSAGES) / plain.mean(MESSAGES)


def judge_loss(runs: Runs) -> Judgement:
    """C3."""
    done, total, stuck = 0, 0, []
    for protocol in PROTOCOLS:
        for resend_ms, trouble in _cases(_times_made(runs)):
            asked = [with_loss(protocol, graph, resend_ms=resend_ms, **trouble) for graph in range(GRAPHS)]
            results = results_of(runs, asked)
            done, total = done + sum(one.completed for one in results), total + len(results)
            if not all(one.completed for one in results):
                stuck.append(f"{protocol}, {resend_ms:g} ms, {trouble}")
    most = LINK_LOSSES[-1]
    lost = float(np.mean([path_loss(runs, protocol, most) for protocol in PROTOCOLS]))
    costs = ", ".join(f"{protocol} × {_needless(runs, protocol):.2f}" for protocol in PROTOCOLS)
    return Judgement(
        paper="all four work without reliable channels",
        measured=f"{done} of {total} runs complete, up to {most:.0%} loss a link ({lost:.0%} a path)",
        holds=done == total,
        why=f"not complete: {'; '.join(stuck) or 'none'}; every run checks that nothing is called stable too"
        f" early; messages with resends where nothing is lost: {costs}; cubefulldist as printed can wait for"
        " ever and needs an answer to repeated messages",
    )


CLAIMS = (
    Claim(
        id="C3",
        kind="exact",
        text="With round and iteration numbers and resends, all four protocols finish, and stay safe, when"
        " messages are lost, come twice or out of order.",
        judge=judge_loss,
    ),
)


def _loss_panel(runs: Runs, title: str, index: Index) -> Panel:
    lines = []
    for protocol in PROTOCOLS:
        samples = [_sample(runs, protocol, RESEND_MS, {"link_loss": loss}) for loss in LINK_LOSSES]
        places = [(100 * loss, each.estimate(index)) for loss, each in zip(LINK_LOSSES, samples, strict=True)]
        hover = [f"{path_loss(runs, protocol, loss):.1%} lost on a path" for loss in LINK_LOSSES]
        lines.append(drawn(protocol, places, hover=hover))
    return panel(title, index.label, lines, x="loss on a link [%]", log=True)


def figure_loss(runs: Runs) -> Figure:
    """Messages and time against loss."""
    return Figure(
        key="loss",
        title=f"Loss: messages and round-trip time, {MEMBERS} members",
        caption=f"Resends after {RESEND_MS:g} ms; a message crosses about"
        f" {path_links(runs, 'cubefulldist'):.0f} links, so that 10% a link are"
        f" {path_loss(runs, 'cubefulldist', 0.1):.0%} a path. {INTERVALS}",
        panels=(
            _loss_panel(runs, "(A) messages in a round", MESSAGES),
            _loss_panel(runs, "(B) until the last member knows", LAST),
        ),
    )


Measure = Callable[[Sample, Sample], Estimate]
"""What is shown of runs with resends, beside those without."""


def _times_panel(runs: Runs, title: str, y: str, loss: float, measure: Measure) -> Panel:
    lines: list[Series] = []
    for protocol in PROTOCOLS:
        plain = sample(runs, protocol, MEMBERS)
        found = [(ms, _sample(runs, protocol, ms, {"link_loss": loss})) for ms in _times_made(runs)]
        lines.append(drawn(protocol, [(ms, measure(each, plain)) for ms, each in found]))
    return panel(title, y, lines, x="resend after [ms]", log=True, log_x=True)


def figure_resend_times(runs: Runs) -> Figure:
    """The choice of the time between resends."""
    loss, more = TIMED_LOSSES[-1], "messages over those without resends"

    def messages(each: Sample, plain: Sample) -> Estimate:
        return each.over(plain, MESSAGES)

    def wait(each: Sample, plain: Sample) -> Estimate:
        return each.estimate(LAST)

    return Figure(
        key="resend_times",
        title=f"The time between resends, {MEMBERS} members",
        caption="(A) Nothing is lost: too short a time sends again what is still under way. (B, C) With loss"
        f" a longer time saves messages and takes longer. {INTERVALS}",
        panels=(
            _times_panel(runs, "(A) messages, no loss", more, 0.0, messages),
            _times_panel(runs, f"(B) messages, {loss:.0%} loss / link", more, loss, messages),
            _times_panel(runs, f"(C) last member, {loss:.0%} loss / link", LAST.label, loss, wait),
        ),
    )


FIGURES = (figure_loss, figure_resend_times)
