"""``stablecast protocols``: the registry, a line each."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def protocols_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list instead of a table.")] = False,
) -> None:
    """List the protocols that the other commands take by name.

    Example: stablecast protocols --json
    """
    from stablecast.protocols import protocol_titles

    titles = protocol_titles()
    if as_json:
        print(json.dumps([{"name": name, "title": title} for name, title in titles.items()], indent=2))
        return
    width = max(map(len, titles))
    for name, title in titles.items():
        print(f"{name:{width}}  {title}")
