"""``stablecast simulate PROTOCOL``: one run, as a table or as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stablecast.cli.output import DONE, FOUND_FAILURE, SimulationProgress, complain

if TYPE_CHECKING:
    from stablecast.simulate import Result, Setup

NETWORK, COST, TRAFFIC, TRIGGER, OUTPUT = "Network", "Costs", "Data traffic", "Trigger", "Output"
GOSSIP, FAULTS, STRUCTURE = "Gossip", "Faults and resends", "Logical structure"
ACKS, BUFFERS = "Acknowledgements and clocks", "Bimodal multicast and its buffers"


def _option(panel: str, text: str, *names: str) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel, show_default=False)


def simulate_command(
    protocol: Annotated[str, typer.Argument(help="A name from 'stablecast protocols'.", show_default=False)],
    topology: Annotated[
        str, _option(NETWORK, "tree, random-tree, balanced, random-graph or transit-stub.")
    ] = "tree",
    degree: Annotated[
        int | None, _option(NETWORK, "Children of an inner node (balanced: neighbours).")
    ] = None,
    height: Annotated[int | None, _option(NETWORK, "Levels below the root.")] = None,
    fill: Annotated[int | None, _option(NETWORK, "Children of the nodes above the last level.")] = None,
    nodes: Annotated[int | None, _option(NETWORK, "Nodes of a balanced tree or a graph.")] = None,
    edge_probability: Annotated[
        float | None, _option(NETWORK, "random-graph: that two nodes are linked (0.02).")
    ] = None,
    extra_links: Annotated[
        int | None, _option(NETWORK, "transit-stub: more links to stubs, and as many between stubs (0).")
    ] = None,
    delay_max_us: Annotated[
        float | None, _option(NETWORK, "Graphs: longest delay of a link (1000; transit-stub 20000).")
    ] = None,
    routes: Annotated[
        str, _option(NETWORK, "Ways on a graph: fewest hops (default), or least delay.")
    ] = "hops",
    cast: Annotated[
        str | None,
        _option(
            NETWORK, "A message to all: multicast; unicast, one to each; relay, along the tree of members."
        ),
    ] = None,
    placement: Annotated[
        str | None, _option(STRUCTURE, "Members are numbered along the network, or at random.")
    ] = None,
    tree_degree: Annotated[
        str | None, _option(STRUCTURE, "Children of a member in the tree: a number, log, or network.")
    ] = None,
    free_bitmap: Annotated[
        bool, _option(STRUCTURE, "cubefulldist: no bytes for the set of members.", "--free-bitmap")
    ] = False,
    members: Annotated[
        int | None, _option(NETWORK, "Members; fewer than nodes are drawn by the seed.")
    ] = None,
    senders: Annotated[int | None, _option(NETWORK, "Members that send (all by default).")] = None,
    receivers: Annotated[
        int | None, _option(NETWORK, "Members that each sender's messages are for, drawn (all by default).")
    ] = None,
    seed: Annotated[int, _option(NETWORK, "Of everything random.")] = 0,
    costs: Annotated[
        str | None,
        _option(COST, "Preset: lan1997 (default), wan1997 or links-only (default on random-graph)."),
    ] = None,
    bandwidth_bps: Annotated[float | None, _option(COST, "Of each direction of a link.")] = None,
    propagation_us: Annotated[float | None, _option(COST, "Of a link.")] = None,
    router_us: Annotated[float | None, _option(COST, "To forward a message.")] = None,
    router: Annotated[str | None, _option(COST, "delay or serial.")] = None,
    processor: Annotated[str | None, _option(COST, "Of a serial router: separate or shared.")] = None,
    send_us: Annotated[float | None, _option(COST, "Host, to send: fixed part.")] = None,
    send_us_per_byte: Annotated[float | None, _option(COST, "Host, to send: each byte.")] = None,
    receive_factor: Annotated[float | None, _option(COST, "Host: receiving over sending.")] = None,
    header_bytes: Annotated[int | None, _option(COST, "Of every message.")] = None,
    entry_bytes: Annotated[int | None, _option(COST, "Of a sequence number.")] = None,
    queue_limit: Annotated[int | None, _option(COST, "Messages that a link holds; 0 for no limit.")] = None,
    link_loss: Annotated[float | None, _option(COST, "Probability of loss on each link.")] = None,
    duplicate: Annotated[float | None, _option(FAULTS, "Probability that a message comes twice.")] = None,
    reorder: Annotated[float | None, _option(FAULTS, "Probability that a message comes late.")] = None,
    detour_us: Annotated[
        float | None, _option(FAULTS, "How late, and how far apart the two are (1000).")
    ] = None,
    loss_until_ms: Annotated[float | None, _option(COST, "When losses end.")] = None,
    until_ms: Annotated[float | None, _option(TRIGGER, "Give up at this simulated time.")] = None,
    messages: Annotated[int, _option(TRAFFIC, "Data messages of each sender.")] = 0,
    rate_per_s: Annotated[float, _option(TRAFFIC, "Of each sender (10).")] = 10.0,
    data_bytes: Annotated[int, _option(TRAFFIC, "Of a data message (1000).")] = 1000,
    buffer: Annotated[
        str, _option(TRAFFIC, "Unstable messages that a sender may have (64); bimodal: the same as --policy.")
    ] = "64",
    data_loss: Annotated[float, _option(TRAFFIC, "Probability that a receiver loses a message.")] = 0.0,
    nak_ms: Annotated[float, _option(TRAFFIC, "Before a receiver asks again (50).")] = 50.0,
    heartbeat_ms: Annotated[
        float, _option(TRAFFIC, "Before an idle sender repeats its number (100).")
    ] = 100.0,
    sender_groups: Annotated[int | None, _option(TRAFFIC, "Sequences that senders share.")] = None,
    piggyback_ms: Annotated[float, _option(TRAFFIC, "Wait of stability messages for data to ride on.")] = 0.0,
    changed_only: Annotated[
        bool, _option(TRAFFIC, "Send only changed entries of arrays.", "--changed-only")
    ] = False,
    trigger: Annotated[str | None, _option(TRIGGER, "immediate, periodic or pressure.")] = None,
    executions: Annotated[int | None, _option(TRIGGER, "How many (1, or until all is stable).")] = None,
    period_ms: Annotated[float, _option(TRIGGER, "Between starts (100).")] = 100.0,
    threshold: Annotated[int, _option(TRIGGER, "Of the first member's buffer (32).")] = 32,
    retry_ms: Annotated[float, _option(TRIGGER, "Start anew after this time; 0 for never.")] = 0.0,
    resend_ms: Annotated[
        float, _option(FAULTS, "Send again what was not answered after this time; 0 for never (default).")
    ] = 0.0,
    pause_ms: Annotated[
        float | None, _option(TRIGGER, "cubefulldist: from the end of a round to the next (0).")
    ] = None,
    subgroup: Annotated[int | None, _option(GOSSIP, "Members that one gossips to in a step (3).")] = None,
    step_s: Annotated[float | None, _option(GOSSIP, "Between two steps of a member (1).")] = None,
    share: Annotated[
        str | None, _option(GOSSIP, "How results spread: piggyback, multicast (default) or both.")
    ] = None,
    threshold_steps: Annotated[
        int | None, _option(GOSSIP, "Steps of silence until a member is struck off; 0 for never (default).")
    ] = None,
    quiet_steps: Annotated[
        int | None, _option(GOSSIP, "Steps without a newcomer before one takes part in a round (0).")
    ] = None,
    local_size: Annotated[int | None, _option(GOSSIP, "gsgc-local: members of a local group (50).")] = None,
    controllers: Annotated[
        int | None, _option(GOSSIP, "gsgc-local: stability controllers of a local group (5).")
    ] = None,
    controller_step_s: Annotated[
        float | None, _option(GOSSIP, "gsgc-local: between two steps of the controllers (0.7).")
    ] = None,
    nearby: Annotated[
        bool, _option(GOSSIP, "gsgc-local: local groups by location, not drawn.", "--nearby")
    ] = False,
    clock: Annotated[str | None, _option(ACKS, "timestamp: physical (default), logical or hybrid.")] = None,
    skew_us: Annotated[
        float | None, _option(ACKS, "timestamp: most that two clocks differ at any time (0).")
    ] = None,
    drift_ppm: Annotated[
        float | None, _option(ACKS, "timestamp: most that a clock's rate is off, within the skew (0).")
    ] = None,
    sync_s: Annotated[
        float | None, _option(ACKS, "timestamp: between two times that clocks are set right again (60).")
    ] = None,
    send_every_ms: Annotated[
        float | None, _option(ACKS, "timestamp: longest silence of a sender; then it sends a NULL (100).")
    ] = None,
    ack_every_ms: Annotated[
        float | None, _option(ACKS, "Between two acknowledgements of a member (100).")
    ] = None,
    ack_to: Annotated[
        str | None,
        _option(ACKS, "timestamp, vector: acknowledge to all (default), or to senders, one each."),
    ] = None,
    know: Annotated[
        str | None, _option(ACKS, "vector, transitive: learn of all messages (default), or of one's own.")
    ] = None,
    stamp_bytes: Annotated[int | None, _option(ACKS, "timestamp: of a timestamp (8).")] = None,
    policy: Annotated[
        str | None,
        _option(BUFFERS, "What is kept: rounds (default), bufferers, two-buffers or until-stable."),
    ] = None,
    copies: Annotated[
        float | None, _option(BUFFERS, "Members that keep each message, by the hash (6).")
    ] = None,
    hash: Annotated[str | None, _option(BUFFERS, "mix (default), shuffle (the paper's) or crc16.")] = None,
    gossip_every_ms: Annotated[
        float | None, _option(BUFFERS, "Between two rounds of a member (100).")
    ] = None,
    keep_rounds: Annotated[
        int | None, _option(BUFFERS, "Rounds that a message is kept (by the number of members).")
    ] = None,
    short_rounds: Annotated[int | None, _option(BUFFERS, "Rounds in the short-term buffer (3).")] = None,
    budget_messages: Annotated[int | None, _option(BUFFERS, "Messages that a member may keep.")] = None,
    budget_bytes: Annotated[int | None, _option(BUFFERS, "Bytes of messages that a member may keep.")] = None,
    send_omission: Annotated[float, _option(BUFFERS, "Probability that a message is not multicast.")] = 0.0,
    no_recast: Annotated[
        bool, _option(BUFFERS, "Never multicast again what many lack.", "--no-recast")
    ] = False,
    no_push: Annotated[bool, _option(BUFFERS, "Send nothing that was not asked for.", "--no-push")] = False,
    omissions: Annotated[int, _option(GOSSIP, "Messages dropped at their senders in each step (0).")] = 0,
    stop_at_first: Annotated[
        bool, _option(GOSSIP, "End when the first member has the result.", "--stop-at-first")
    ] = False,
    admit_per_round: Annotated[
        int, _option(GOSSIP, "Members that may join in one round; the others wait. 0 for any (default).")
    ] = 0,
    faults: Annotated[
        str, _option(FAULTS, "A schedule: 'crash 3 at 5000; join 2 at 9000', times in ms.")
    ] = "",
    fail_neighbours: Annotated[
        int, _option(FAULTS, "How many of member 0's neighbours in the hypercube crash.")
    ] = 0,
    fail_random: Annotated[int, _option(FAULTS, "How many of all members but member 0 crash.")] = 0,
    fail_at_ms: Annotated[float, _option(FAULTS, "When those crash (0: before the start).")] = 0.0,
    detect_ms: Annotated[
        float, _option(FAULTS, "When the others are told, after a crash (0: at once; -1: never).")
    ] = 0.0,
    sample_ms: Annotated[float, _option(NETWORK, "How often messages on links are counted (1).")] = 1.0,
    tracked: Annotated[int | None, _option(NETWORK, "Senders whose numbers are simulated.")] = None,
    trace: Annotated[
        Path | None, _option(OUTPUT, "Write the events of the data traffic, as Parquet.")
    ] = None,
    as_json: Annotated[bool, _option(OUTPUT, "Print one JSON object.", "--json")] = False,
) -> int:
    """Run one protocol once and print what it cost.

    Example: stablecast simulate s_coordp --topology tree --degree 3 --height 5 --costs lan1997 --json
    """
    # Long because it names every figure of the model once; the names are those of the fields of Options.
    given = locals()
    from stablecast.protocols import protocol as find_protocol
    from stablecast.simulate.compiled import is_compiled
    from stablecast.simulate.options import Options

    if not is_compiled(find_protocol(protocol)):
        print(f"# compiling {protocol}'s loop, once: up to a minute", file=sys.stderr, flush=True)
    given |= _buffer(buffer, policy)
    setup = Options(**{name: given[name] for name in given if name not in ("trace", "as_json")}).setup()
    result = _run(setup, trace, shown=not as_json)
    if as_json:
        print(json.dumps(result.as_json()))
    else:
        _show(result)
    if not result.completed:
        complain(
            f"{protocol} did not finish: {result.lost} messages lost, {result.dropped} dropped"
            " (it needs --resend-ms or --retry-ms against losses, --detect-ms and a structure that holds"
            " against crashes, and a later --until-ms if that was given)"
        )
        return FOUND_FAILURE
    return DONE


def _buffer(buffer: str, policy: str | None) -> dict[str, Any]:
    """Read ``--buffer``: a number of messages, or the name of a policy."""
    from stablecast.errors import InvalidInput
    from stablecast.simulate.options import POLICIES

    if buffer.isdecimal():
        return {"buffer": int(buffer)}
    if buffer not in POLICIES or policy not in (None, buffer):
        raise InvalidInput(
            f"buffer '{buffer}' is not accepted (accepted: a number of messages; for bimodal"
            f" {', '.join(POLICIES)}, or the same by --policy)"
        )
    return {"buffer": 64, "policy": buffer}


def _run(setup: Setup, trace: Path | None, *, shown: bool) -> Result:
    from stablecast.errors import InvalidInput
    from stablecast.simulate import simulate

    what = f"{setup.protocol_name} on {setup.topology.label}"
    with SimulationProgress(what, executions=setup.execution_count, shown=shown) as progress:
        if trace is None:
            return simulate(setup, progress=progress)
        if setup.traffic.messages == 0:
            raise InvalidInput("--trace needs data traffic (give --messages above 0)")
        if setup.faulty:
            raise InvalidInput("--trace does not write who comes and goes yet (leave out --faults)")
        if setup.audiences:
            raise InvalidInput("--trace does not write whom a message is for (leave out --receivers)")
        from stablecast.simulate.tracing import simulate_with_trace

        return simulate_with_trace(setup, trace, progress=progress)


def _show(result: Result) -> None:
    """Print a readable table."""
    rows = [
        ("protocol", result.protocol),
        ("network", f"{result.topology_label}, {result.members:,} members, {result.senders:,} senders"),
        ("executions", f"{result.executions:,} of {result.rounds:,} rounds each"),
        ("messages sent", f"{result.messages_sent:,}"),
        ("most handled by one member", f"{result.processed_max:,}"),
        *((f"hops {kind}", f"{count:,}") for kind, count in result.hops.items()),
        ("bytes on all hops", f"{result.hop_bytes:,}"),
        ("RTT at the first member", _milliseconds(result.rtt_root_us)),
        (
            "start to first / last knowing",
            f"{_milliseconds(result.rtt_first_us)} / {_milliseconds(result.rtt_last_us)}",
        ),
        ("link queue, most / mean", f"{result.queue_max:,} / {result.queue_mean:.2f}"),
        ("load of links, most / mean", _load(result)),
        ("processor queue, most", f"{result.host_queue_max:,}"),
        ("lost / dropped", f"{result.lost:,} / {result.dropped:,}"),
        ("simulated", _milliseconds(result.simulated_us)),
        ("wall clock", f"{result.wall_s:.3f} s, {result.events:,} events"),
    ]
    if result.tpr_us is not None:
        rows.append(("time per round", f"{_milliseconds(result.tpr_us)}, {result.steps:.2f} steps"))
    if result.traffic is not None:
        data = result.traffic
        rows += [
            ("data messages sent / stable", f"{data.messages:,} / {data.messages_stable:,}"),
            (
                "time to stable p50 / p99 / most",
                " / ".join(map(_milliseconds, (data.tts_p50_us, data.tts_p99_us, data.tts_max_us))),
            ),
            ("delivery, most", _milliseconds(data.delivery_max_us)),
            ("output buffer, most", f"{data.buffer_max:,} messages; full {data.blocked:,} times"),
            ("held by a member, most / mean", f"{data.held_max:,} / {data.held_mean:.1f} messages"),
        ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")


def _load(result: Result) -> str:
    return "-" if result.load_mean is None else f"{result.load_max:,} / {result.load_mean:.1f}"


def _milliseconds(us: float | None) -> str:
    return "-" if us is None else f"{us / 1000:,.3f} ms"
