"""Options that commands of live groups share: protocol, what is set, delivery, and what traces tell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ProtocolOption = Annotated[
    str,
    typer.Option(
        help="A name from 'stablecast protocols', or a file that defines a protocol; auto: the group decides"
        " at view changes."
    ),
]
GoalOption = Annotated[
    str, typer.Option(help="With --protocol auto, what to look for: soonest or least-bytes.")
]
DeliveryOption = Annotated[
    str,
    typer.Option(
        metavar="MODE",
        help="How messages come to all: reliable, or bimodal, with values such as bimodal:p_fail=0.0001.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="An option of the protocol, such as subgroup=4; may be repeated. 'stablecast simulate PROTOCOL"
        " --help' lists them, such as --subgroup; those for the times of steps are the group's.",
        show_default=False,
    ),
]
AdaptiveOption = Annotated[
    bool,
    typer.Option("--adaptive", help="Let the first member search for a good step while the group runs."),
]
FanOutOption = Annotated[
    str,
    typer.Option(
        help="Who sends the copies of what goes to all: the sender (direct), it so many and those who get"
        " them the rest (a number), or by the size of the group (auto)."
    ),
]
WireOption = Annotated[
    bool,
    typer.Option(
        "--wire", help="Also write into the trace what is transmitted, what arrives, and which timers go off."
    ),
]


def check_wire(wire: bool, where: Path | None, *, option: str = "--trace FILE") -> None:
    """Refuse ``--wire`` where no trace is kept."""
    from stablecast.errors import InvalidInput

    if wire and where is None:
        raise InvalidInput(f"--wire is about a trace, and none is kept (accepted: --wire with {option})")
