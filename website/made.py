"""Reference pages that are made from the code: commands, options, protocols, Python."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import typer

from stablecast.cli.main import app
from stablecast.protocols import protocol, protocol_names
from stablecast.simulate.knobs import option_of
from stablecast.simulate.options import all_options

PUBLIC = (
    ("stablecast", "Live groups, and advice"),
    ("stablecast.simulate", "Simulations"),
    ("stablecast.spark", "Analysis on Spark"),
    ("stablecast.testing", "Tests of programs that use groups"),
    ("stablecast.protocols.contract", "What protocols are written with"),
)
"""Modules whose public names are told, each with a heading."""


def reference() -> dict[str, str]:
    """Return the reference pages by their names."""
    return {
        "commands.md": commands(),
        "options.md": options(),
        "protocols.md": protocols(),
        "python.md": python(),
    }


def decisions(folder: Path) -> str:
    """Return the list of decisions."""
    names = sorted(page.stem for page in folder.glob("[0-9]*.md"))
    listed = "\n".join(names)
    return (
        "# Decisions\n\nEach of these records says what was decided about the code, what else was considered,"
        f" and what follows.\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
    )


COMMANDS = """# Commands

Every command prints this with `--help`. Exit codes: 0 done, 1 the work found a failure, 2 wrong usage, 130
interrupted.
"""


def commands() -> str:
    """Return the page of all commands with their help."""
    group: Any = typer.main.get_command(app)
    return "\n".join((COMMANDS, *(_command(name, group.commands[name]) for name in sorted(group.commands))))


def _command(name: str, command: Any) -> str:
    whole = command.with_options() if hasattr(command, "with_options") else command
    return f"## stablecast {name}\n\n{_prose(whole.help or '')}\n\n{_options_of(whole)}"


def _prose(text: str) -> str:
    """Return a docstring's text as Markdown; an example stands in a block of its own."""
    blocks = []
    for block in re.split(r"\n\s*\n", text.strip()):
        line = " ".join(block.split())
        example = re.match(r"(Examples?:) (stablecast .*)", line)
        blocks.append(f"{example[1]}\n\n```sh\n{example[2]}\n```" if example else _escaped(line))
    return "\n\n".join(blocks)


def _escaped(text: str) -> str:
    return re.sub(r"([<>*_|$\\{}])", r"\\\1", text.replace("\b", ""))


def _options_of(command: Any) -> str:
    rows = ["| option | meaning |", "|---|---|"]
    for parameter in command.params:
        if getattr(parameter, "hidden", False) or parameter.name == "help":
            continue
        if parameter.param_type_name == "argument":
            flag = parameter.name.upper()
        else:
            flag = ", ".join((*parameter.opts, *parameter.secondary_opts))
        text = _escaped(" ".join((getattr(parameter, "help", "") or "").split()))
        rows.append(f"| `{flag}` | {text} |")
    return "\n".join(rows) + "\n" if len(rows) > 2 else ""


OPTIONS = """# Options of simulations

The command `stablecast simulate` takes them as options, a sweep's file as keys, and tables of runs have them
as columns. They are declared once, in the code; this page is made from there.
"""


def options() -> str:
    """Return the page of what simulations and sweeps can be told."""
    by_panel: dict[str, list[Any]] = {}
    for option in all_options().values():
        by_panel.setdefault(option.panel, []).append(option)
    tables = (f"## {panel}\n\n{_table_of(found)}" for panel, found in by_panel.items())
    return "\n".join((OPTIONS, *tables))


def _table_of(found: list[Any]) -> str:
    rows = ["| option | key and column | meaning | default |", "|---|---|---|---|"]
    for option in found:
        told = _escaped(option.help), _escaped(option.shown or "")
        rows.append(f"| `{option.flag}` | `{option.name}` | {told[0]} | {told[1]} |")
    return "\n".join(rows) + "\n"


PROTOCOLS = """# Protocols

The text of each is that of its file, which says what the protocol promises, why that is so, and what it
costs. `stablecast protocols NAME` prints the same.
"""


def protocols() -> str:
    """Return the page of all protocols: what each is, and its parameters."""
    return "\n".join((PROTOCOLS, *map(_protocol, protocol_names())))


def _protocol(name: str) -> str:
    found = protocol(name)
    part = f"## {name}\n\n````{{eval-rst}}\n{inspect.cleandoc(found.about)}\n````\n"
    if not found.options:
        return part
    rows = ["| parameter | meaning | accepted | default |", "|---|---|---|---|"]
    for option, one in found.options.items():
        told = " | ".join(map(_escaped, (one.help, one.accepted, _shown(one))))
        rows.append(f"| `{option}` | {told} |")
    return part + "\n" + "\n".join(rows) + "\n"


def _shown(parameter: Any) -> str:
    return option_of(parameter, "").shown or ""


def python() -> str:
    """Return the page of public names."""
    parts = ["# Python\n\nThese names are public. Everything else may change with any version.\n"]
    for module, title in PUBLIC:
        names = [name for name in importlib.import_module(module).__all__ if not name.startswith("__")]
        listed = "\n\n".join(_documented(module, name) for name in names)
        parts.append(f"## `{module}`: {title}\n\n{listed}\n")
    return "\n".join(parts)


def _documented(module: str, name: str) -> str:
    """Return how the site tells of one public name: from its docstring, or, of a plain value, what it is."""
    value = getattr(importlib.import_module(module), name)
    is_ours = str(getattr(value, "__module__", "")).startswith("stablecast")
    if not is_ours or not callable(value):
        return f"**`{name}`**: {_told(value)}"
    kind, members = ("autoclass", "\n   :members:") if isinstance(value, type) else ("autofunction", "")
    return f"```{{eval-rst}}\n.. {kind}:: {module}.{name}{members}\n```"


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return "a dictionary with " + ", ".join(f"`{key}`" for key in value)
    if isinstance(value, int | float | str | tuple):
        return f"`{value!r}`"
    return "a type" if isinstance(value, type) else f"a `{type(value).__name__}`"
