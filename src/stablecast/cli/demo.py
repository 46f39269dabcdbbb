"""``stablecast demo``: a live group of real processes on this machine, with losses, kills and a verdict."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stablecast.cli.live_options import (
    AdaptiveOption,
    DeliveryOption,
    FanOutOption,
    ProtocolOption,
    SetOption,
    WireOption,
    check_wire,
)
from stablecast.cli.output import DONE, FOUND_FAILURE

if TYPE_CHECKING:
    from stablecast.live.demo.conduct import DemoResult


def demo_command(
    members: Annotated[int, typer.Option(help="Processes in the group.")] = 8,
    messages: Annotated[int, typer.Option(help="Messages, of all members together.")] = 2000,
    loss: Annotated[float, typer.Option(help="How probably a datagram to one member is lost.")] = 0.1,
    kill: Annotated[int, typer.Option(help="Members that are killed, as by kill -9, from half-way on.")] = 1,
    protocol: ProtocolOption = "s_coord",
    set_: SetOption = None,
    zones: Annotated[int, typer.Option(help="Zones that members are in; 0 for none.")] = 0,
    adaptive: AdaptiveOption = False,
    fan_out: FanOutOption = "auto",
    delivery: DeliveryOption = "reliable",
    seed: Annotated[int, typer.Option(help="Of who is killed, and of what is lost.")] = 0,
    size: Annotated[int, typer.Option(help="Bytes of a message.")] = 100,
    rate: Annotated[
        float | None,
        typer.Option(
            help="Messages a second, of all members together; by default all in 4 s.", show_default=False
        ),
    ] = None,
    duplicate: Annotated[float, typer.Option(help="How probably a datagram comes twice.")] = 0.0,
    reorder: Annotated[float, typer.Option(help="How probably a datagram is overtaken by others.")] = 0.0,
    deadline: Annotated[
        float | None,
        typer.Option(
            help="Seconds after which it has failed; by default 60, and more for much traffic.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="New folder for traces and verdict.json.", show_default=False)
    ] = None,
    wire: WireOption = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of a table.")
    ] = False,
) -> int:
    """Run a live group of real processes, lose datagrams, kill members half-way, and judge the traces.

    Example: stablecast demo --members 8 --messages 2000 --loss 0.1 --kill 1 --seed 7
    """
    from stablecast.live.demo.conduct import run_demo
    from stablecast.live.demo.plan import DemoOptions
    from stablecast.live.demo.table import DemoProgress, verdict_lines

    check_wire(wire, out, option="--out FOLDER")
    options = DemoOptions(
        members=members,
        messages=messages,
        loss=loss,
        kill=kill,
        protocol=protocol,
        set=tuple(set_ or ()),
        zones=zones,
        adaptive=adaptive,
        fan_out=fan_out,
        delivery=delivery,
        seed=seed,
        size=size,
        rate=rate,
        duplicate=duplicate,
        reorder=reorder,
        deadline=deadline,
    )
    with _folder(out) as folder:
        with DemoProgress() as progress:
            result = run_demo(options, folder, progress, wire=wire)
        _write_verdict(result, folder)
    if as_json:
        print(json.dumps(result.to_dict()))
    else:
        print("\n".join(verdict_lines(result)))
    return DONE if result.ok else FOUND_FAILURE


def _write_verdict(result: DemoResult, folder: Path) -> None:
    text = json.dumps(result.to_dict(), indent=1)
    (folder / "verdict.json").write_text(text + "\n", encoding="utf-8")


@contextlib.contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    """Give a folder to work in, which becomes ``out`` when all is there, and vanishes if that is None."""
    from stablecast.errors import InvalidInput

    if out is None:
        with tempfile.TemporaryDirectory(prefix="stablecast-demo-") as folder:
            yield Path(folder)
        return
    try:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise InvalidInput(f"--out '{out}' is not an empty folder (accepted: a new or an empty one)")
        out.parent.mkdir(parents=True, exist_ok=True)
        beside = tempfile.TemporaryDirectory(
            dir=out.parent, prefix=f".{out.name}.", ignore_cleanup_errors=True
        )
    except OSError as error:
        raise InvalidInput(f"cannot write to --out '{out}': {error.strerror or error}") from None
    with beside as folder:
        whole = Path(folder) / out.name
        whole.mkdir()
        yield whole
        whole.replace(out)
