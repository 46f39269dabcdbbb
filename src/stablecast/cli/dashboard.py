"""``stablecast dashboard``: a live group as a web page, from any member's point of view."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stablecast.cli.observing import GroupOption, PlaceArgument, TokenFileOption, first_look, opened
from stablecast.cli.output import DONE, WRONG_USAGE, complain
from stablecast.errors import BindFailed, InvalidInput

if TYPE_CHECKING:
    from stablecast.live.access import Access
    from stablecast.observe.dashboard import Dashboard
    from stablecast.observe.lens import Lens
    from stablecast.observe.place import Place

DEFAULT_BIND = "127.0.0.1:8080"


def dashboard_command(
    place: PlaceArgument,
    bind: Annotated[str, typer.Option(help="Address to serve the page on; port 0 for any.")] = DEFAULT_BIND,
    every: Annotated[float, typer.Option(help="Seconds between two looks.")] = 0.5,
    group: GroupOption = None,
    token_file: TokenFileOption = None,
    page_token_file: Annotated[
        Path | None,
        typer.Option(
            help="What who opens the page has to know, 16 characters or more. Off loopback there is always"
            " one: without this option it is drawn, and printed with the address.",
            show_default=False,
        ),
    ] = None,
    traces: Annotated[
        Path | None,
        typer.Option(
            help="The members' traces, for the lens of a message, where the place is an address.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the address as a JSON object.")] = False,
) -> int:
    """Serve a page that shows a live group: members, frontiers over time, who holds what back, events.

    The page needs nothing from any network but this process, and it is read only. Ctrl-C ends it.

    Example: stablecast dashboard 127.0.0.1:9100 --bind 127.0.0.1:8080
    """
    if not 0.05 <= every <= 3600:
        raise InvalidInput(f"--every {every:g} is not accepted (accepted: seconds from 0.05 to 3600)")
    if traces is not None and not traces.is_dir():
        raise InvalidInput(f"--traces '{traces}' is no folder (accepted: a folder of the members' traces)")
    from stablecast.observe.lens import Lens

    found = opened(place, token_file, group)
    if Path(place).is_dir():
        traces = traces or Path(place)
    try:
        lens = Lens(traces, group=group)
        return asyncio.run(_serve(found, bind, every, page_token_file, lens, as_json=as_json))
    except BindFailed as error:
        complain(str(error))
        return WRONG_USAGE


async def _serve(
    place: Place, bind: str, every: float, token_file: Path | None, lens: Lens, *, as_json: bool
) -> int:
    from stablecast.live.apart import apart
    from stablecast.live.transport import parse_address
    from stablecast.observe.dashboard import Dashboard
    from stablecast.observe.follow import Follower

    host, port = await apart(lambda: parse_address(bind))
    access = _access(host, token_file)
    follower = Follower(place, every_s=every)
    try:
        await first_look(follower)
        dashboard = Dashboard(follower, access, lens)
        runner, real = await dashboard.serve(host, port)
        try:
            _say(place.shown, host, real, access.token, as_json=as_json)
            await _until_signal(dashboard)
        finally:
            dashboard.hub.end()
            await runner.cleanup()
    finally:
        await place.close()
    return DONE


def _access(host: str, token_file: Path | None) -> Access:
    import secrets

    from stablecast.live.access import Access, read_token
    from stablecast.live.transport import is_loopback

    is_local = is_loopback((host, 0))
    token = read_token(token_file) if token_file is not None else None
    if token is None and not is_local:
        token = secrets.token_urlsafe(24)
    return Access(is_local, token, how="--page-token-file FILE")


def _say(shown: str, host: str, port: int, token: str | None, *, as_json: bool) -> None:
    from stablecast.membership.view import format_address

    url = f"http://{format_address((host, port))}/" + ("" if token is None else f"?token={token}")
    if as_json:
        print(json.dumps({"event": "serving", "place": shown, "url": url}), flush=True)
    else:
        print(f"dashboard of {shown}: {url} (Ctrl-C ends it)", flush=True)


async def _until_signal(dashboard: Dashboard) -> None:
    """Follow until a signal comes."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, over.set)
    following = asyncio.create_task(dashboard.hub.run())
    waiting = asyncio.create_task(over.wait())
    try:
        await asyncio.wait({following, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if following.done():
            following.result()
    finally:
        following.cancel()
        waiting.cancel()
        await asyncio.gather(following, waiting, return_exceptions=True)
