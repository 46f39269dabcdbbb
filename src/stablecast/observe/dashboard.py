"""``stablecast dashboard``: a page that shows a live group, served by this process.

What is served
    The page's own files, ``/stream`` with what is seen as server-sent events, ``/member`` and ``/explain``
    about one of them on a click, and ``/lens``.  Everything is read only.
Who may see it
    On loopback everyone on this machine, elsewhere who knows the token (``live/access``).  A browser is given
    it once as ``/?token=...``, and keeps it in a cookie that no script can read.
Why names of members do no harm
    They travel as JSON and are put into the page as text.  The policy of the page forbids scripts and styles
    that do not come as files from here, so that a name would not run if it were taken for HTML.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import msgspec
from aiohttp import web

from stablecast.errors import BindFailed, StablecastError
from stablecast.live.access import Access
from stablecast.membership.view import format_address
from stablecast.observe import shown
from stablecast.observe.follow import Follower
from stablecast.observe.hub import Hub
from stablecast.observe.lens import Lens
from stablecast.observe.place import NoAnswer

PAGE = Path(__file__).parent / "page"
FILES = {"/": "index.html", "/page.css": "page.css", "/page.js": "page.js", "/charts.js": "charts.js"}
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:"
LENS_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
ENDS = "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
ALIVE_S = 15.0
"""Seconds without news after which a line without meaning is sent, to notice who has gone."""
SHUTDOWN_S = 0.5

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Dashboard:
    """Serves the page of one follower."""

    def __init__(self, follower: Follower, access: Access, lens: Lens) -> None:
        self.hub = Hub(follower)
        self._access = access
        self._lens = lens
        self._cookie = "stablecast_token"

    async def serve(self, host: str, port: int) -> tuple[web.AppRunner, int]:
        """Listen; returns what ends that, and the port."""
        app = web.Application(middlewares=[self._guard])
        app.router.add_get("/stream", self._stream)
        app.router.add_get("/member", self._member)
        app.router.add_get("/explain", self._explain)
        app.router.add_get("/lens", self._show_lens)
        for path in FILES:
            app.router.add_get(path, self._file)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_S)
        await runner.setup()
        try:
            site = web.TCPSite(runner, host, port)
            await site.start()
        except OSError as error:
            await runner.cleanup()
            why = "it is in use" if error.errno == errno.EADDRINUSE else error.strerror or str(error)
            raise BindFailed(f"cannot serve the dashboard on {format_address((host, port))}: {why}") from None
        real = int(runner.addresses[0][1])
        self._cookie = f"stablecast_token_{real}"  # cookies of all ports of a host are in one jar
        return runner, real

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer who may ask, and say in each answer what the page may do."""
        given = request.query.get("token", "")
        if given and request.path == "/" and self._access.token is not None:
            headers = {"Authorization": f"Bearer {given}", "Host": request.host}
            if self._access.refusal(headers) is None:
                found: web.StreamResponse = web.Response(status=303, headers={"Location": "/"})
                found.set_cookie(self._cookie, given, httponly=True, samesite="Strict", path="/")
                return found
        refusal = self._access.refusal(request.headers, cookie=request.cookies.get(self._cookie, ""))
        if refusal is not None:
            return web.Response(status=refusal.status, text=refusal.line + "\n")
        return await handler(request)

    async def _file(self, request: web.Request) -> web.Response:
        name = FILES[request.path]
        file = PAGE / name
        body = await asyncio.to_thread(file.read_bytes)
        return web.Response(
            body=body, content_type=KINDS[file.suffix], charset="utf-8", headers=_headers(POLICY)
        )

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", **_headers(POLICY), "X-Accel-Buffering": "no"}
        )
        await answer.prepare(request)
        reader = self.hub.read()
        try:
            while (message := await _next(reader)) is not None:
                await answer.write(message)
        except ConnectionError:
            pass
        finally:
            self.hub.leave(reader)
        return answer

    async def _member(self, request: web.Request) -> web.Response:
        seen = self.hub.follower.seen
        name = request.query.get("name", "")
        lines = ["nothing was seen so far"] if seen is None else shown.details(seen, name)
        return web.Response(text="\n".join(lines) + "\n", headers=_headers(POLICY))

    async def _explain(self, request: web.Request) -> web.Response:
        source, seq = request.query.get("source", ""), request.query.get("seq", "")
        if not source or not (seq.isascii() and seq.isdigit() and 0 < len(seq) <= 18):
            return web.Response(status=400, text="a message is SOURCE/NUMBER, such as ann/17\n")
        try:
            explained = await self.hub.follower.place.explain(source, int(seq))
        except NoAnswer as error:
            return web.Response(status=503, text=f"{error}\n")
        told = {"explained": explained, "lens": self._lens.is_there}
        return web.Response(
            body=msgspec.json.encode(told), content_type="application/json", headers=_headers(POLICY)
        )

    async def _show_lens(self, request: web.Request) -> web.Response:
        try:
            page = await asyncio.to_thread(self._lens.page, request.query.get("message", ""))
        except StablecastError as error:
            return web.Response(status=404, text=f"{error}\n")
        except ModuleNotFoundError as error:
            why = f"a lens needs {error.name}, not installed (pip install 'stablecast[collect]')"
            return web.Response(status=404, text=f"{why}\n")
        return web.Response(
            body=page, content_type="text/html", charset="utf-8", headers=_headers(LENS_POLICY)
        )


async def _next(reader: asyncio.Queue[bytes | None]) -> bytes | None:
    """Return the next message, or a line without meaning if none comes for a while; None is the end."""
    with suppress(TimeoutError):
        async with asyncio.timeout(ALIVE_S):
            return await reader.get()
    return b": alive\n\n"


def _headers(policy: str) -> dict[str, str]:
    return {
        "Content-Security-Policy": policy + ENDS,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
    }
