"""Beyond the paper: every protocol in the same group, drawn: time against bytes, load against memory."""

from __future__ import annotations

from collections.abc import Callable

from stablecast.papers.timestamp.comparison import (
    ABOUT,
    LOSSES,
    NETWORKS,
    Measured,
    compared,
    measured,
    only_senders_learn,
)
from stablecast.pipeline.runs import Runs
from stablecast.report.figure import Axis, Figure, Panel, Series

TIME = Axis("time to stable, p50 [ms]", log=True)
BYTES = Axis("bytes on all hops [kB a data message]", log=True)
BUSIEST = Axis("messages at the busiest member", log=True)
HELD = Axis("messages held by a member, most", log=True)


def _dots(
    runs: Runs, network: str, loss: float, x: Callable[[Measured], float], y: Callable[[Measured], float]
) -> dict[str, Series]:
    dots = {}
    for name in compared():
        found = measured(runs, name, network, loss)
        told = (
            f"{name}: p50 {found.p50_ms:.0f} ms, p99 {found.p99_ms:.0f} ms, {found.hop_bytes:.0f} B on hops,"
            f" {found.sent_bytes:.0f} B sent, {found.messages:.1f} messages"
        )
        dots[name] = Series(name=name, x=(x(found),), y=(y(found),), style="points", hover=(told,))
    return dots


def _kilobytes(each: Measured) -> float:
    return each.hop_bytes / 1000


def figure_time_and_bytes(runs: Runs) -> Figure:
    """Time against bytes, both networks, without and with loss."""
    cases = [(network, loss) for network in NETWORKS for loss in LOSSES]
    return Figure(
        key="protocols",
        title="Every protocol in the same group: time against bytes",
        caption=f"{ABOUT} Down and to the left is better. Bytes are the protocol's, for each data message,"
        " with what it puts into data.",
        panels=tuple(
            Panel(
                title=f"({letter}) {network}, {f'{loss:.0%} loss a link' if loss else 'no loss'}",
                x=BYTES,
                y=TIME,
                named=True,
                series=tuple(_dots(runs, network, loss, _kilobytes, lambda each: each.p50_ms).values()),
            )
            for letter, (network, loss) in zip("ABCD", cases, strict=True)
        ),
    )


def figure_load_and_memory(runs: Runs) -> Figure:
    """The busiest member against what members hold."""
    dots = {
        network: _dots(runs, network, 0.0, lambda each: each.busiest, lambda each: each.held_max)
        for network in NETWORKS
    }
    left_out = [name for name in compared() if only_senders_learn(name)]
    return Figure(
        key="protocols_load",
        title="Every protocol in the same group: load against memory",
        caption=f"{ABOUT} No loss. Messages of the protocol that the busiest member handles for each data"
        f" message, against data that a member holds. Down and to the left is better. Without"
        f" {', '.join(left_out)}: there only senders learn what is stable, and others hold everything.",
        panels=tuple(
            Panel(
                title=f"({letter}) {network}",
                x=BUSIEST,
                y=HELD,
                named=True,
                series=tuple(dot for name, dot in dots[network].items() if name not in left_out),
            )
            for letter, network in zip("AB", NETWORKS, strict=True)
        ),
    )


FIGURES = (figure_time_and_bytes, figure_load_and_memory)
