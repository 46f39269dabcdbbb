"""The HTTP server of a member: a few pages that are computed when they are asked for, on the group's loop.

It is aiohttp's low-level server, without its application: a member must be able to end it at once, from
where nothing can be awaited.  Who sends no whole request within ``REQUEST_S`` is cut off, and so is who
connects when there are ``MOST_CONNECTIONS``: observers must not cost a member anything that grows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web

REQUEST_S = 5.0
IDLE_S = 75.0
"""Seconds for which a connection is kept for a next request."""
MOST_CONNECTIONS = 128
MOST_LINE = 8190

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Server(web.Server):
    """Connections, and what becomes of those that ask nothing."""

    def __init__(self, answer: Answer) -> None:
        self._have_asked: set[web.RequestHandler] = set()

        async def noted(request: web.BaseRequest) -> web.StreamResponse:
            self._have_asked.add(request.protocol)
            return await answer(request)

        super().__init__(
            noted, access_log=None, keepalive_timeout=IDLE_S, max_line_size=MOST_LINE, lingering_time=0.0
        )

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Take a connection, if there is room for one."""
        super().connection_made(handler, transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        else:
            asyncio.get_running_loop().call_later(REQUEST_S, self._cut_off, handler)

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        """Forget a connection."""
        super().connection_lost(handler, exc)
        self._have_asked.discard(handler)

    def _cut_off(self, handler: web.RequestHandler) -> None:
        if handler not in self._have_asked and handler.transport is not None:
            handler.transport.abort()

    def abort(self) -> None:
        """End all connections at once."""
        for handler in self.connections:
            if handler.transport is not None:
                handler.transport.abort()
            handler.force_close()
