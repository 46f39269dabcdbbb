"""Entry point: finds the command, and turns every expected failure into one line and an exit code."""

from __future__ import annotations

import errno
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from stablecast.cli.advise import AdviseCommand, advise_command
from stablecast.cli.analyze import analyze_command
from stablecast.cli.audit import audit_command
from stablecast.cli.calibrate import calibrate_command
from stablecast.cli.collect import collect_command
from stablecast.cli.dashboard import dashboard_command
from stablecast.cli.demo import demo_command
from stablecast.cli.extras import line_of
from stablecast.cli.holdback import holdback_command
from stablecast.cli.key import key_command
from stablecast.cli.lens import lens_command
from stablecast.cli.node import node_command
from stablecast.cli.output import (
    FOUND_FAILURE,
    INTERRUPTED,
    WRONG_USAGE,
    complain,
    drop_output,
    finish_output,
)
from stablecast.cli.protocols import protocols_command
from stablecast.cli.report import report_command
from stablecast.cli.reproduce import reproduce_command
from stablecast.cli.simulate import SimulateCommand, simulate_command
from stablecast.cli.sweep import sweep_command
from stablecast.cli.top import top_command
from stablecast.cli.trim import trim_command
from stablecast.cli.watch import watch_command
from stablecast.errors import InvalidInput, StablecastError


class Commands(TyperGroup):
    """All commands; typer itself would leave at an interruption without a word."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Abort from None


app = typer.Typer(
    name="stablecast",
    cls=Commands,
    help="Message stability in reliable multicast groups: when does every member have a message?",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
app.command("simulate", cls=SimulateCommand)(simulate_command)
app.command("advise", cls=AdviseCommand)(advise_command)
app.command("calibrate")(calibrate_command)
app.command("reproduce")(reproduce_command)
app.command("sweep")(sweep_command)
app.command("analyze")(analyze_command)
app.command("watch")(watch_command)
app.command("holdback")(holdback_command)
app.command("collect")(collect_command)
app.command("trim")(trim_command)
app.command("audit")(audit_command)
app.command("report")(report_command)
app.command("lens")(lens_command)
app.command("demo")(demo_command)
app.command("node")(node_command)
app.command("top")(top_command)
app.command("dashboard")(dashboard_command)
app.command("key")(key_command)
app.command("protocols")(protocols_command)


def _version(value: bool) -> None:
    if value:
        from stablecast import __version__

        print(f"stablecast {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    context: typer.Context,
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and leave."
    ),
) -> None:
    """Message stability in reliable multicast groups."""
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(WRONG_USAGE)


NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
# typer may carry its own copy of click, whose errors are reached through typer's own names.
_CLICK_ERROR: type[Exception] = typer.BadParameter.__mro__[2]


def _usage_line(error: Any) -> str:
    """Return what click has to say of a wrong usage, on one line."""
    context = getattr(error, "ctx", None)
    where = f" (see '{context.command_path} --help')" if context is not None else ""
    return str(error.format_message()) + where


def run(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 the work found a failure, 2 wrong usage."""
    sys.exit(main(arguments))


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    return finish_output(_exit_code(arguments))


def _exit_code(arguments: list[str] | None) -> int:
    try:
        outcome = app(args=arguments, standalone_mode=False)
        return outcome if isinstance(outcome, int) else 0
    except _CLICK_ERROR as error:
        complain(_usage_line(error))
        return WRONG_USAGE
    except InvalidInput as error:
        complain(str(error))
        return WRONG_USAGE
    except StablecastError as error:
        complain(str(error))
        return FOUND_FAILURE
    except ModuleNotFoundError as error:
        line = line_of(error)
        if line is None:
            raise
        complain(line)
        return WRONG_USAGE
    except (KeyboardInterrupt, typer.Abort):
        complain("interrupted")
        return INTERRUPTED
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        drop_output()
        where = f" '{error.filename}'" if error.filename else ""
        complain(f"cannot write{where}: {error.strerror}")
        return FOUND_FAILURE
    except SystemExit:
        # In this mode typer leaves only when whoever read the output has gone before the command was done.
        return FOUND_FAILURE


if __name__ == "__main__":
    run()
