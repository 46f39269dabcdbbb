"""``stablecast protocols``: the registry, a line each; or one protocol with its parameters."""

from __future__ import annotations

import contextlib
import json
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stablecast.cli.output import complain

if TYPE_CHECKING:
    from stablecast.protocols.contract import Parameter, Protocol


def protocols_command(
    protocol: Annotated[
        str | None,
        typer.Argument(help="A name, or a file that defines a protocol: show it alone.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the protocols that the other commands take by name, or describe one with its parameters.

    Protocols of installed packages, found by the entry point stablecast.protocols, are listed too.

    Example: stablecast protocols --json
    Example: stablecast protocols my/idea.py
    """
    with one_line_warnings():
        if protocol is not None:
            _show(protocol, as_json=as_json)
        else:
            _list(as_json=as_json)


@contextlib.contextmanager
def one_line_warnings() -> Iterator[None]:
    """Print warnings about installed protocols as a line each."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            for line in dict.fromkeys(str(each.message) for each in told):
                complain(f"warning: {line}")


def _list(*, as_json: bool) -> None:
    from stablecast.protocols import installed_titles, protocol_titles

    titles = dict(sorted({**protocol_titles(), **installed_titles()}.items()))
    if as_json:
        print(json.dumps([{"name": name, "title": title} for name, title in titles.items()], indent=2))
        return
    width = max(map(len, titles))
    for name, title in titles.items():
        print(f"{name:{width}}  {title}")


def _show(name: str, *, as_json: bool) -> None:
    from stablecast.protocols import protocol as find_protocol
    from stablecast.simulate.options import known_options

    found = find_protocol(name)
    known_options(found)  # refuses options that every run has
    if as_json:
        print(json.dumps(_described(found), indent=2))
        return
    print(found.about.strip())
    if found.options:
        print("\nParameters")
        width = max(len(parameter.option_name) for parameter in found.options.values())
        for option, parameter in found.options.items():
            print(
                f"    {option:{width}}  {parameter.help} Accepted: {parameter.accepted}.{_default(parameter)}"
            )


def _default(parameter: Parameter) -> str:
    from stablecast.simulate.knobs import option_of

    shown = option_of(parameter, "").shown
    return f" Default: {shown}." if shown else ""


def _described(found: Protocol) -> dict[str, Any]:
    parameters = [
        {
            "option": option,
            "type": parameter.kind.type.__name__,
            "default": parameter.default,
            "accepted": parameter.accepted,
            "help": parameter.help,
            "role": str(parameter.role),
        }
        for option, parameter in found.options.items()
    ]
    return {
        "name": found.name,
        "title": found.title,
        "paper": found.paper,
        "file": found.file or None,
        "messages": list(found.kinds),
        "parameters": parameters,
    }
