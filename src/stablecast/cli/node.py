"""``stablecast node``: a member of a live group, whose lines appear at all, and are reported stable."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from stablecast.cli.live_options import (
    AdaptiveOption,
    DeliveryOption,
    FanOutOption,
    GoalOption,
    ProtocolOption,
    SetOption,
    WireOption,
    check_wire,
)
from stablecast.cli.output import WRONG_USAGE, complain
from stablecast.engine.auto import SOONEST

if TYPE_CHECKING:
    from stablecast.engine.keys import Keyring
    from stablecast.trace.log import EventLog


def node_command(
    group: Annotated[str, typer.Option(help="The group's name.", show_default=False)],
    bind: Annotated[str, typer.Option(help="Address to receive on; port 0 for any.")] = "127.0.0.1:0",
    seed: Annotated[
        list[str] | None,
        typer.Option(help="Address of a member to join through; may be repeated.", show_default=False),
    ] = None,
    protocol: ProtocolOption = "s_coord",
    set_: SetOption = None,
    goal: GoalOption = SOONEST,
    adaptive: AdaptiveOption = False,
    fan_out: FanOutOption = "auto",
    delivery: DeliveryOption = "reliable",
    key_file: Annotated[
        Path | None,
        typer.Option(help="The group's key; otherwise the variable STABLECAST_KEY.", show_default=False),
    ] = None,
    member: Annotated[
        str, typer.Option(help="This member's name; its address by default.", show_default=False)
    ] = "",
    zone: Annotated[
        str, typer.Option(help="Where this member is; gsgc-local gossips within zones.", show_default=False)
    ] = "",
    sends: Annotated[
        bool, typer.Option("--sends/--no-sends", help="Whether this member sends messages.")
    ] = True,
    receives: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A sender to receive from, or a pattern such as 'prices-*'; may be repeated. Default: all.",
            show_default=False,
        ),
    ] = None,
    no_receives: Annotated[
        bool, typer.Option("--no-receives", help="Receive nothing: this member only sends.")
    ] = False,
    advertise: Annotated[
        str | None,
        typer.Option(help="Address that others reach this member at, if not --bind.", show_default=False),
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(help="Address to serve metrics and status on.", show_default=False)
    ] = None,
    metrics_token_file: Annotated[
        Path | None,
        typer.Option(
            help="What who asks there has to know, 16 characters or more; otherwise the variable"
            " STABLECAST_TOKEN.",
            show_default=False,
        ),
    ] = None,
    trace: Annotated[Path | None, typer.Option(help="New file for events.", show_default=False)] = None,
    wire: WireOption = False,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Bind other addresses than loopback without a key.")
    ] = False,
    stay: Annotated[bool, typer.Option("--stay", help="Stay in the group when standard input ends.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines.")] = False,
) -> int:
    """Join a group; multicast lines of standard input, and print what is delivered, stable and new.

    At the end of standard input it waits until its messages are stable, and leaves; so it does at Ctrl-C,
    without the waiting.

    Example: stablecast node --group orders --bind 127.0.0.1:7002 --seed 127.0.0.1:7001
    """
    import asyncio

    from stablecast.cli.node_session import NodeSession
    from stablecast.engine.choice import read_options
    from stablecast.engine.pace import PaceOptions
    from stablecast.errors import BindFailed, InvalidInput, JoinFailed

    if no_receives and receives:
        raise InvalidInput("--no-receives and --receives exclude each other (accepted: one of them)")
    check_wire(wire, trace)
    settings: dict[str, Any] = {
        "bind": bind,
        "seeds": tuple(seed or ()),
        "protocol": protocol,
        "protocol_options": read_options(protocol, set_ or ()),
        "goal": goal,
        "pace": PaceOptions(adaptive=adaptive),
        "fan_out": fan_out,
        "delivery": delivery,
        "key": _key(key_file),
        "member": member,
        "zone": zone,
        "sends": sends,
        "receives": () if no_receives else receives or True,
        "advertise": advertise,
        "metrics": metrics,
        "metrics_token": _token(metrics, metrics_token_file),
        "insecure": insecure,
    }
    words = ["stablecast", "node", "--group", group]
    words += ["--protocol", protocol] if protocol != "s_coord" else []
    words += [word for each in set_ or () for word in ("--set", each)]
    words += ["--goal", goal] if goal != SOONEST else []
    words += ["--adaptive"] if adaptive else []
    words += ["--fan-out", fan_out] if fan_out != "auto" else []
    words += ["--delivery", delivery] if delivery != "reliable" else []
    words += ["--key-file", str(key_file)] if key_file is not None else []
    words += ["--insecure"] if insecure else []
    log = _log(trace, wire=wire)
    session = NodeSession(
        group, settings, command=shlex.join([*words, "--seed"]), log=log, stay=stay, as_json=as_json
    )
    source, sink = _descriptor(sys.stdin), _descriptor(sys.stdout)
    try:
        return asyncio.run(session.run(source, 1 if sink is None else sink))
    except (BindFailed, JoinFailed) as error:
        complain(str(error))
        return WRONG_USAGE
    finally:
        if log is not None:
            log.close()


def _descriptor(stream: TextIO | None) -> int | None:
    """Return a stream's file descriptor; None if it is closed, or has none."""
    try:
        return None if stream is None else stream.fileno()
    except (OSError, ValueError):
        return None


def _key(file: Path | None) -> Keyring | None:
    import os

    from stablecast.engine.keys import ENVIRONMENT_VARIABLE, keyring_from_env, keyring_from_file

    if file is not None:
        return keyring_from_file(file)
    return keyring_from_env() if ENVIRONMENT_VARIABLE in os.environ else None


def _token(metrics: str | None, file: Path | None) -> str | None:
    from stablecast.live.access import read_token

    if metrics is None and file is None:
        return None
    return read_token(file)


def _log(file: Path | None, *, wire: bool) -> EventLog | None:
    from stablecast.trace.log import EventLog

    return None if file is None else EventLog(file, wire=wire)
