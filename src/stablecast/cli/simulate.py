"""``stablecast simulate PROTOCOL``: one run, as a table or as JSON.

The options are those that the run and the protocol declare.  So the command is made when its arguments are
known: ``stablecast simulate gsgc --help`` shows the options of every run, and then those of gsgc.  Nothing of
the simulator is imported before.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from stablecast.cli import simulate_live
from stablecast.cli.declared import OUTPUT, declared_command, declared_option, declared_parameter
from stablecast.cli.output import DONE, FOUND_FAILURE, SimulationProgress, complain

if TYPE_CHECKING:
    from stablecast.simulate import Result, Setup
    from stablecast.simulate.knobs import Option

Protocol = Annotated[
    str,
    typer.Argument(
        help="A name from 'stablecast protocols', or a file that defines one.", show_default=False
    ),
]
Live = Annotated[str, typer.Argument(help="The word live.", metavar="live", show_default=False)]
Trace = Annotated[
    Path | None,
    typer.Option(
        "--trace",
        help="Write the events of the data traffic to this Parquet file.",
        rich_help_panel=OUTPUT,
        show_default=False,
    ),
]


Wire = Annotated[
    bool,
    typer.Option(
        "--wire",
        help="With --trace: also write what is transmitted, what arrives, and which timers go off.",
        rich_help_panel=OUTPUT,
    ),
]


class SimulateCommand(TyperCommand):
    """Stands for the command of the protocol that the arguments name, and becomes it when it is called."""

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **more: Any) -> Any:
        """Parse the arguments with the options of the run and of that protocol."""
        made: Any = command_for(args)
        made.context_settings = self.context_settings
        return made.make_context(info_name, args, *rest, **more)

    def with_options(self) -> Any:
        """Return the command with the options of every run."""
        return command_for([])


def simulate_command(protocol: Protocol) -> int:
    """Run one protocol once and print what it cost.

    Example: stablecast simulate s_coordp --topology tree --degree 3 --height 5 --costs lan1997 --json

    Here are the options of every run; 'stablecast simulate PROTOCOL --help' also shows the protocol's own.
    'stablecast simulate live --help' is about live groups on the simulated network.
    """
    return run({"protocol": protocol})


def command_for(args: list[str]) -> Any:
    """Make the command for some arguments; an option that its protocol does not have is refused."""
    from stablecast.protocols import protocol as find_protocol
    from stablecast.simulate.options import all_options, known_options, run_options

    if args[:1] == [simulate_live.NAME]:
        return _command_for_live(args)
    name = named_protocol(args, run_options())
    if name is None:
        return _made(simulate_command.__doc__ or "", run_options().values())
    known, protocol = known_options(name), find_protocol(name)
    for flag in _flags(args):
        option = flag.removeprefix("--").replace("-", "_")
        if option in all_options() and option not in known:
            from stablecast.errors import InvalidInput

            own = [f"--{other.replace('_', '-')}" for other in protocol.options]
            raise InvalidInput(
                f"{protocol.name} has no option {flag} (accepted: {', '.join(own) or 'none of its own'}; and"
                f" those of the run, see 'stablecast simulate {name} --help')"
            )
    text = (
        f"Run {protocol.name} once and print what it cost: {protocol.title}.\n\n"
        f"Example: stablecast simulate {name} --topology balanced --members 50 --json"
    )
    return _made(text, known.values())


def _command_for_live(args: list[str]) -> Any:
    """Make the command that simulates a live group, with the options of its protocol."""
    from stablecast.engine.options import Options
    from stablecast.simulate.live.options import live_options

    options = live_options(simulate_live.named_protocol(args) or Options.protocol)
    parameters = [
        declared_parameter("live", Live),
        declared_parameter("protocol", simulate_live.Protocol, None),
    ]
    parameters += [
        *map(declared_option, options.values()),
        declared_parameter("trace", simulate_live.Trace, None),
        declared_parameter("wire", simulate_live.Wire, False),
    ]

    def command(**given: Any) -> int:
        del given["live"]
        return simulate_live.run(given)

    return declared_command("simulate", command, simulate_live.TEXT, parameters)


def named_protocol(args: list[str], options: dict[str, Option]) -> str | None:
    """Return the protocol that arguments name: the first word that is one, or the first that may be.

    A word is not the value of an option before it, unless that is an option of the protocol, which is not
    known yet.
    """
    from stablecast.protocols import is_known, is_path, protocol_titles

    taking = {option.flag for option in options.values() if option.type is not bool} | {"--trace"}
    words = [
        word
        for before, word in zip(["", *args], args, strict=False)
        if not word.startswith("-") and before not in taking
    ]
    known = (word for word in words if word in protocol_titles() or is_path(word))
    return next(known, None) or next(filter(is_known, words), words[0] if words else None)


def _flags(args: list[str]) -> list[str]:
    return [word.partition("=")[0] for word in args if word.startswith("--")]


def _made(text: str, options: Iterable[Option]) -> Any:
    """Make a command of declared options, with the help pages and the checks of all other commands."""

    def command(**given: Any) -> int:
        return run(given)

    parameters = [declared_parameter("protocol", Protocol), *map(declared_option, options)]
    output = [declared_parameter("trace", Trace, None), declared_parameter("wire", Wire, False)]
    return declared_command("simulate", command, text, [*parameters, *output])


def run(given: dict[str, Any]) -> int:
    """Run the options that were given and print the result."""
    from stablecast.protocols import naming_lines
    from stablecast.protocols import protocol as find_protocol
    from stablecast.simulate.compiled import is_compiled
    from stablecast.simulate.options import Options

    trace, wire, as_json = given.pop("trace", None), given.pop("wire", False), given.pop("as_json", False)
    options = Options(**given)
    protocol = find_protocol(options.protocol)
    with naming_lines(protocol.file):
        setup = options.setup()
        _check_trace(setup, trace, wire=wire)
        if not is_compiled(protocol):
            print(f"# compiling {protocol.name}'s loop, once: up to a minute", file=sys.stderr, flush=True)
        result = _run(setup, trace, wire=wire, shown=not as_json)
    if as_json:
        print(json.dumps(result.as_json()))
    else:
        _show(result)
    if not result.completed:
        complain(
            f"{protocol.name} did not finish: {result.lost} messages lost, {result.dropped} dropped"
            f" (it needs {_remedy(protocol)} against losses, --detect-ms and a structure that holds"
            " against crashes, and a later --until-ms if that was given)"
        )
        return FOUND_FAILURE
    return DONE


def _remedy(protocol: Any) -> str:
    """Return the options that help against losses."""
    from stablecast.protocols.contract import Role

    resends = [f"--{found.option_name.replace('_', '-')}" for found in protocol.having(Role.RESEND)]
    return " or ".join([*resends, "--retry-ms"])


def _run(setup: Setup, trace: Path | None, *, wire: bool, shown: bool) -> Result:
    from stablecast.simulate import simulate

    what = f"{setup.protocol_name} on {setup.topology.label}"
    with SimulationProgress(what, executions=setup.execution_count, shown=shown) as progress:
        if trace is None:
            return simulate(setup, progress=progress)
        from stablecast.simulate.tracing import simulate_with_trace

        return simulate_with_trace(setup, trace, progress=progress, wire=wire)


def _check_trace(setup: Setup, trace: Path | None, *, wire: bool) -> None:
    from stablecast.errors import InvalidInput

    if trace is None:
        if wire:
            raise InvalidInput("--wire is about a trace (give --trace FILE)")
        return
    if setup.traffic.messages == 0 and not wire:
        raise InvalidInput(
            "--trace needs data traffic (give --messages above 0, or --wire for the protocol's own messages)"
        )
    if setup.faulty:
        raise InvalidInput("--trace does not write who comes and goes yet (leave out --faults)")
    if setup.audiences:
        raise InvalidInput("--trace does not write whom a message is for (leave out --receivers)")


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
    if result.connects:
        took = " / ".join(map(_milliseconds, (result.connect_mean_us, result.connect_max_us)))
        rows += [("receivers let in, after mean / most", f"{result.connects:,}, {took}")]
        rows += [("called stable too early", f"{result.early:,}")]
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
