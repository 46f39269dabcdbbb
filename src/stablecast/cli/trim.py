"""``stablecast trim``: a plan of what nobody needs any more, and its execution."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stablecast.cli.output import DONE, FOUND_FAILURE, complain
from stablecast.errors import InvalidInput
from stablecast.words import printable

WAITING_NAMES = 10

if TYPE_CHECKING:
    from stablecast.holdback.sources.base import Source
    from stablecast.holdback.trimming.plan import Done, Earlier, Plan, Step


def trim_command(
    url: Annotated[str, typer.Argument(metavar="URL", help="redis://, nats:// or kafka://")],
    plan: Annotated[
        bool, typer.Option("--plan", help="Say what would go, and why that is safe. Deletes nothing.")
    ] = False,
    execute: Annotated[
        bool, typer.Option("--execute", help="Delete it: on Redis and JetStream, never beyond what all have.")
    ] = False,
    ignore_idle: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TIME:NAME",
            help="Do not wait for this reader if it was idle for so long, as 7d:archive; may be repeated.",
            show_default=False,
        ),
    ] = None,
    unmoved_since: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="An earlier plan (--plan --json): ignore a reader only if it is as it was then.",
            show_default=False,
        ),
    ] = None,
    timeout_s: Annotated[float, typer.Option(help="How long the system is waited for, in seconds.")] = 5.0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the plan, and what was done, as JSON.")
    ] = False,
) -> int:
    """Delete what every reader has, after saying what that is: first with --plan, then with --execute.

    Example: stablecast trim redis://localhost:6379 --plan
    """
    from stablecast.holdback.sources import open_source
    from stablecast.holdback.trimming.execute import check_system, executor
    from stablecast.holdback.trimming.plan import plan_of

    if plan == execute:
        raise InvalidInput("one of --plan and --execute has to be given")
    if not 0 < timeout_s < float("inf"):
        raise InvalidInput(f"--timeout-s {timeout_s} (accepted: seconds above 0)")
    ignore = _ignore(ignore_idle or [])
    earlier = None if unmoved_since is None else _earlier(unmoved_since)
    source = open_source(url, timeout_s=timeout_s)
    try:
        snapshot = source.take()
        check_system(snapshot.system)
        planned = plan_of([snapshot], ignore, earlier)
        done: list[Done | None] = [None] * len(planned.steps)
        if execute:
            run = executor(snapshot.system)
            done = [None if step.is_empty else _executed(run, source, step) for step in planned.steps]
    finally:
        source.close()
    if as_json:
        print(json.dumps(_plain(planned, done)))
    else:
        _tell(planned, done)
    failed = [one.failed for one in done if one is not None and one.failed]
    for line in [*planned.problems, *failed]:
        complain(line)
    return FOUND_FAILURE if planned.problems or failed else DONE


def _executed(run: Callable[[Source, Step], Done], source: Source, step: Step) -> Done:
    """Execute one step; should that fail, say so and go on to tell what was done before."""
    from stablecast.holdback.sources.base import CannotAsk, Refused
    from stablecast.holdback.trimming.plan import Done

    try:
        return run(source, step)
    except CannotAsk as error:
        return Done(0, "", None, failed=str(error), nothing=isinstance(error, Refused))


def _earlier(file: Path) -> Earlier:
    """Read the marks of an earlier plan."""
    from stablecast.holdback.trimming.plan import Earlier

    try:
        told = json.loads(file.read_text(encoding="utf-8"))
        marks = {
            (step["group"], step["source"], one["member"]): dict(one["mark"])
            for step in told["steps"]
            for one in step["readers"]
        }
        return Earlier(str(file), int(told["time_us"]), marks)
    except OSError as error:
        raise InvalidInput(f"cannot read the plan '{file}': {error.strerror}") from None
    except (ValueError, TypeError, LookupError):
        raise InvalidInput(f"'{file}' is no plan (accepted: what trim --plan --json printed)") from None


def _ignore(words: list[str]) -> dict[str, float]:
    from stablecast.holdback.units import parse_duration

    found = {}
    for word in words:
        duration, _, name = word.partition(":")
        if not name:
            raise InvalidInput(
                f"--ignore-idle '{word}' (accepted: a time and a reader's name, as 7d:archive)"
            )
        found[name] = parse_duration(duration, "--ignore-idle")
    return found


def _tell(plan: Plan, done: list[Done | None]) -> None:
    from stablecast.holdback.trimming.execute import kafka_command, kafka_file
    from stablecast.holdback.trimming.plan import reasons

    empty = 0
    for step, result in zip(plan.steps, done, strict=True):
        if step.is_empty and not step.ignored:
            empty += 1
            if step.refused:
                print(printable(f"{step.log.name}: {step.refused}; nothing is deleted"))
            elif by := step.found.waiting_for:
                print(printable(f"{step.log.name}: nothing is deleted, since {_named(by)} what is kept"))
            continue
        print(printable(_line(step, result)))
        for reason in reasons(step):
            print(printable(f"  {reason}"))
    if empty == len(plan.steps):
        print("there is nothing to delete")
    if text := kafka_file(plan):
        print(f"delete.json: {text}")
        print(kafka_command(plan.steps[0].snapshot.server))


def _named(blockers: tuple[str, ...]) -> str:
    """Name those who are waited for, at most ten."""
    names = ", ".join(blockers[:WAITING_NAMES])
    more = len(blockers) - WAITING_NAMES
    return (
        f"{names} need{'s' if len(blockers) == 1 else ''}" if more <= 0 else f"{names} and {more:,} more need"
    )


def _line(step: Step, done: Done | None) -> str:
    from stablecast.holdback.units import amount_text

    name = step.log.name
    if done is None:
        return f"{name}: {amount_text(step.goes)} would go, everything {step.log.numbering.up_to(step.up_to)}"
    if done.failed:
        return f"{name}: " + (
            "nothing was deleted" if done.nothing else "it is not known whether anything was deleted"
        )
    if done.refused:
        return f"{name}: {done.refused}; nothing is deleted"
    less = f"; less than planned, since {done.instead_of} needs it" if done.instead_of else ""
    return f"{name}: {done.deleted:,} deleted, everything before {done.first_kept}{less}"


def _plain(plan: Plan, done: list[Done | None]) -> dict[str, Any]:
    from stablecast.holdback.trimming.execute import kafka_file

    return {
        "steps": [_plain_step(step, result) for step, result in zip(plan.steps, done, strict=True)],
        "time_us": min((step.snapshot.time_us for step in plan.steps), default=0),
        "kafka_file": kafka_file(plan),
        "problems": list(plan.problems),
    }


def _plain_step(step: Step, done: Done | None) -> dict[str, Any]:
    from stablecast.holdback.trimming.plan import mark_of, reasons

    text = step.log.numbering.text
    return {
        "group": step.log.group,
        "source": step.log.source,
        "refused": step.refused,
        "up_to": None if step.is_empty else text(step.up_to),
        "items": step.goes.items,
        "bytes": step.goes.bytes,
        "reasons": reasons(step),
        "ignored": [
            {
                "member": one.reader.member,
                "idle_s": one.idle_s,
                "loses_items": one.loses.items,
                "loses_bytes": one.loses.bytes,
            }
            for one in step.ignored
        ],
        "readers": [
            {"member": one.member, "mark": dict(mark_of(one))} for one in step.log.readers if one.holds
        ],
        "deleted": None if done is None else done.deleted,
        "first_kept": None if done is None else done.first_kept,
        "waited_for": None if done is None else done.instead_of,
        "refused_now": None if done is None else done.refused,
        "failed": None if done is None else done.failed,
        "nothing_deleted": done is not None and done.nothing,
    }
