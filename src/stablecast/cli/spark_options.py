"""Options that every command on Spark takes."""

from __future__ import annotations

from typing import Annotated

import typer

Master = Annotated[
    str | None,
    typer.Option(
        help="Where Spark runs: local[N], spark://HOST:PORT, yarn, k8s://URL. Every core of this machine"
        " by default.",
        rich_help_panel="Spark",
        show_default=False,
    ),
]
Conf = Annotated[
    list[str] | None,
    typer.Option(
        help="A Spark setting, key=value; may be repeated.", rich_help_panel="Spark", show_default=False
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Compute every point again.")]
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Compute again what failed or took too long.")
]
KeepOld = Annotated[
    bool, typer.Option("--keep-old", help="Keep rows that another state of the sources computed.")
]
