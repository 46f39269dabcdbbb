"""``stablecast calibrate``: what datagrams cost on this machine and network, as a file of costs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stablecast.cli.output import DONE, complain

if TYPE_CHECKING:
    from stablecast.advisor.calibration.calibrate import Calibration
    from stablecast.engine.keys import Keyring


def calibrate_command(
    peers: Annotated[
        list[str] | None,
        typer.Argument(
            help="Addresses on which 'stablecast calibrate --serve' runs. Default: none, groups are processes"
            " of this machine.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="File to write, NAME.toml.")] = Path("costs.toml"),
    seconds: Annotated[float, typer.Option(help="For how long each group of processes is measured.")] = 2.0,
    checks: Annotated[
        bool,
        typer.Option(
            "--checks/--no-checks",
            help="Run groups of processes and simulate them, to tell how far apart they are; without peers.",
        ),
    ] = True,
    serve: Annotated[
        bool, typer.Option("--serve", help="Answer others that calibrate, until interrupted.")
    ] = False,
    bind: Annotated[str, typer.Option(help="With --serve: address to answer on.")] = "127.0.0.1:7100",
    key_file: Annotated[
        Path | None,
        typer.Option(help="The group's key; otherwise the variable STABLECAST_KEY.", show_default=False),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Answer on other addresses than loopback without a key.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Measure what datagrams cost on this machine, and the network to peers; write a file of costs.

    Datagrams are those of live groups, on their own transport. 'advise' and 'simulate' take the file with
    --costs. It is of use where nothing else runs meanwhile.

    Example: stablecast calibrate --out here.toml
    """
    from stablecast.advisor.calibration.calibrate import calibrate, check_out
    from stablecast.errors import InvalidInput

    if serve:
        if peers:
            raise InvalidInput("--serve takes no peers (accepted: --serve --bind ADDRESS)")
        return _serve(bind, _key(key_file), insecure=insecure)
    check_out(out)
    found = calibrate(
        peers or (), keyring=_key(key_file), seconds=seconds, checks=checks, say=None if as_json else _say
    )
    found.write(out)
    if as_json:
        print(json.dumps({"file": str(out), **found.to_dict()}))
    else:
        show(found, out)
    return DONE


def _key(file: Path | None) -> Keyring | None:
    from stablecast.cli.node import _key as key_of_node

    return key_of_node(file)


def _say(what: str, done: int, of: int) -> None:
    print(f"# {what}" + (f" ({done} of {of} done)" if of > 1 else ""), file=sys.stderr, flush=True)


def _serve(bind: str, keyring: Keyring | None, *, insecure: bool) -> int:
    import asyncio

    from stablecast.advisor.calibration.network import serve
    from stablecast.errors import InvalidInput
    from stablecast.live.transport import is_loopback, parse_address
    from stablecast.membership.view import Address, format_address

    if keyring is None and not insecure and not is_loopback(parse_address(bind)):
        raise InvalidInput(
            f"bind '{bind}' needs a key: without one it would answer anyone (accepted: --key-file, a loopback"
            " address, or --insecure)"
        )

    async def answer() -> None:
        told: asyncio.Future[Address] = asyncio.get_running_loop().create_future()
        told.add_done_callback(
            lambda done: print(f"answering on {format_address(done.result())}", flush=True)
        )
        await serve(bind, keyring, told)

    try:
        asyncio.run(answer())
    except KeyboardInterrupt:
        complain("no longer answering")
    return DONE


def show(found: Calibration, file: Path) -> None:
    """Print what was measured."""
    for name, value in {**found.figures, **found.members}.items():
        print(f"{name:<18}{value:,.6g}" if isinstance(value, float | int) else f"{name:<18}{value}")
    for line in (*found.measured["peers"], *found.measured["groups"]):
        print(line)
    if found.ratios:
        told = found.ratios
        print(
            f"real times are {told['p50_mid']:.2f} times simulated ones (p50; of a further group"
            f" {told['p50_low']:.2f} to {told['p50_high']:.2f}), {told['p99_mid']:.2f} times (p99;"
            f" {told['p99_low']:.2f} to {told['p99_high']:.2f})"
        )
    print(f"written to {file}; stablecast advise --costs {file} ...")
