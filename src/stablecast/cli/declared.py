"""Commands whose options are declared elsewhere, once: by dataclasses with knobs, and by protocols.

Such a command is made when it is called, so that nothing of the simulator is imported before.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from stablecast.simulate.knobs import Option

OUTPUT = "Output"
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object.", rich_help_panel=OUTPUT, show_default=False),
]


def declared_command(name: str, command: Any, text: str, parameters: list[inspect.Parameter]) -> Any:
    """Make a command of a function that takes everything by name, its help page, and its parameters."""
    parameters = [*parameters, declared_parameter("as_json", AsJson, False)]
    command.__doc__ = text
    command.__signature__ = inspect.Signature(parameters)
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(name)(command)
    return typer.main.get_command(app)


def declared_parameter(
    name: str, annotation: Any, default: Any = inspect.Parameter.empty
) -> inspect.Parameter:
    """Return a parameter of such a function."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def declared_option(option: Option) -> inspect.Parameter:
    """Return the parameter of a declared option; one that is not given is None, or False."""
    text = f"{option.help} Default: {option.shown}." if option.shown else option.help
    told = typer.Option(option.flag, help=text, rich_help_panel=option.panel, show_default=False)
    if option.type is bool:
        return declared_parameter(option.name, Annotated[bool, told], False)
    return declared_parameter(option.name, Annotated[option.type | None, told], None)
