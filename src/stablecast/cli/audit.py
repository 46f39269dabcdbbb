"""``stablecast audit``: what was deleted while somebody needed it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stablecast.cli.output import DONE, FOUND_FAILURE
from stablecast.words import counted, printable

if TYPE_CHECKING:
    from stablecast.holdback.audit import Audit, Loss


def audit_command(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A collection: the DIR of `stablecast collect`.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> int:
    """Say what was deleted while a reader needed it: which reader, which range, seen when.

    The exit code is 1 if anything was.

    Example: stablecast audit history
    """
    from stablecast.holdback.audit import audit
    from stablecast.holdback.collecting.reading import read_deletions, read_events

    found = audit(read_events(folder), read_deletions(folder))
    if as_json:
        print(json.dumps(_plain(found)))
    else:
        _tell(found)
    return FOUND_FAILURE if found.losses else DONE


def _plain(found: Audit) -> dict[str, object]:
    losses = [
        {
            "group": loss.group,
            "source": loss.source,
            "member": loss.member,
            "from_seq": loss.from_seq,
            "to_seq": loss.to_seq,
            "range": loss.text,
            "time_us": loss.time_us,
        }
        for loss in found.losses
    ]
    return {
        "losses": losses,
        "deletions": found.deletions,
        "readers": found.readers,
        "undecided": found.undecided,
    }


def _tell(found: Audit) -> None:
    for loss in found.losses:
        print(printable(f"{loss.member} lost {loss.text} of {loss.group}, seen {_time(loss)}"))
    losses = "1 loss" if len(found.losses) == 1 else f"{len(found.losses):,} losses"
    print(f"{counted(found.deletions, 'deletion')}, {counted(found.readers, 'reader')}: {losses}")
    if found.undecided:
        times = counted(found.undecided, "time")
        why = "a reader moved on, or its log was made anew, between the same two snapshots as the deletion"
        print(f"undecided {times}: {why}")


def _time(loss: Loss) -> str:
    return datetime.fromtimestamp(loss.time_us / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
