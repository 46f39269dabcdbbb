"""``stablecast simulate live``: one live group on the simulated network, as a table or as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stablecast.cli.live_options import check_wire
from stablecast.cli.output import DONE, FOUND_FAILURE, SimulationProgress, complain

if TYPE_CHECKING:
    from stablecast.simulate.live.result import LiveResult

NAME = "live"
EVENTS_SHOWN = 20
TEXT = """Run a live group on the simulated network: the very engine of its members.

Example: stablecast simulate live --members 8 --link-loss 0.01 --faults 'crash 3 at 2500'

Times are simulated, and the same seed gives the same run. Options of the protocol are options here, too.
"""
Protocol = Annotated[
    str | None,
    typer.Option(
        "--protocol",
        help="A name from 'stablecast protocols', or a file that defines one. Default: s_coord.",
        show_default=False,
    ),
]
Trace = Annotated[
    Path | None,
    typer.Option(
        "--trace",
        help="Write the members' events to this file, as JSON lines.",
        rich_help_panel="Output",
        show_default=False,
    ),
]
Wire = Annotated[
    bool,
    typer.Option(
        "--wire",
        help="Also write into the trace what is transmitted, what arrives, and which timers go off.",
        rich_help_panel="Output",
    ),
]


def named_protocol(args: list[str]) -> str | None:
    """Return the protocol that arguments name, None if they do not."""
    for word, following in zip(args, [*args[1:], ""], strict=True):
        if word == "--protocol":
            return following or None
        if word.startswith("--protocol="):
            return word.partition("=")[2]
    return None


def run(given: dict[str, Any]) -> int:
    """Run the options that were given and print the result."""
    from stablecast.simulate.live.options import live_setup
    from stablecast.simulate.live.run import simulate_live

    trace, as_json = given.pop("trace", None), given.pop("as_json", False)
    wire = given.pop("wire", False)
    check_wire(wire, trace)
    setup = live_setup({name: value for name, value in given.items() if value is not None})
    what = f"{setup.options.protocol_name} on {setup.topology.label}"
    with SimulationProgress(what, executions=0, shown=not as_json) as progress:
        result = simulate_live(setup, progress=progress.of_group, trace=trace, wire=wire)
    if as_json:
        print(json.dumps(result.to_dict()))
    else:
        show(result)
    if not result.completed:
        complain(
            f"{result.messages - result.messages_stable} of {result.messages} messages are not stable after"
            f" {result.simulated_us / 1e6:g} s (a longer --settle-s gives them more time)"
        )
        return FOUND_FAILURE
    return DONE


def show(result: LiveResult) -> None:
    """Print a readable table, and the first events."""
    rows = [
        ("protocol", result.protocol),
        ("network", f"{result.topology_label}, {result.members:,} members, {result.senders:,} senders"),
        ("messages sent / stable", f"{result.messages:,} / {result.messages_stable:,}"),
        ("stable in a smaller view", f"{result.messages_in_smaller_view:,}"),
        ("time to stable p50 / p99 / most", _times(result.tts_p50_us, result.tts_p99_us, result.tts_max_us)),
        (
            "delivery p50 / p99 / most",
            _times(result.delivery_p50_us, result.delivery_p99_us, result.delivery_max_us),
        ),
        ("deliveries", f"{result.deliveries:,}"),
        *_given_up(result),
        ("sender had to wait", f"{result.blocked:,} times"),
        ("repairs asked / sent", f"{result.repairs_asked:,} / {result.repairs_sent:,}"),
        ("kept by a member, most / mean", f"{result.peak_bytes_max:,} / {result.peak_bytes_mean:,.0f} bytes"),
        ("datagrams", f"{result.datagrams:,}, {result.sent_bytes:,} bytes"),
        ("frames of data / others / repairs", _bytes(result)),
        *(
            (("for another site", f"{result.across_datagrams:,}, {result.across_bytes:,} bytes"),)
            if result.across_datagrams
            else ()
        ),
        ("step at the end", f"{result.step_us / 1000:,.3f} ms"),
        ("link queue, most / mean", f"{result.queue_max:,} / {result.queue_mean:.2f}"),
        ("processor queue, most", f"{result.host_queue_max:,}"),
        (
            "busiest processor / link",
            f"{result.host_load_max:.1%} (m{result.host_load_member}) / {result.link_load_max:.1%}",
        ),
        ("lost / dropped", f"{result.lost:,} / {result.dropped:,}"),
        ("views", f"{result.views:,}; at the end {result.views_at_end:,}, {result.members_at_end:,} members"),
        ("simulated", f"{result.simulated_us / 1e6:,.3f} s"),
        ("wall clock", f"{result.wall_s:.3f} s, {result.events:,} events"),
        ("digest", result.digest),
    ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")
    told = [event for event in result.told if event.time_us > 0]
    for event in told[:EVENTS_SHOWN]:
        print(event)
    if len(told) > EVENTS_SHOWN:
        print(f"and {len(told) - EVENTS_SHOWN:,} more events (all with --json)")


def _bytes(result: LiveResult) -> str:
    sizes = (result.data_bytes_sent, result.control_bytes_sent, result.repair_bytes_sent)
    return f"{' / '.join(f'{size:,}' for size in sizes)} bytes"


def _given_up(result: LiveResult) -> list[tuple[str, str]]:
    """Return a line for what was given up, if something was."""
    count, messages = result.deliveries_given_up, result.messages_given_up
    return [("given up", f"{count:,} deliveries, of {messages:,} messages")] if count else []


def _times(*values_us: float | None) -> str:
    return " / ".join("-" if us is None else f"{us / 1000:,.3f} ms" for us in values_us)
