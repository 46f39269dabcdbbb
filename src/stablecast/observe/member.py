"""Asking one member of a group over HTTP.

A member that is stopped still has its socket: connections succeed and nothing is answered.  So each question
has its time, ``ANSWER_S``; a live member needs a few milliseconds.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import socket
from typing import TypeVar

import aiohttp
import msgspec

from stablecast.engine.observed import VERSION, Notes, Observed
from stablecast.observe.place import ACCEPTED, Explained, NoAnswer

ANSWER_S = 2.0
MOST_BYTES = 64 << 20

Told = TypeVar("Told")


class MemberPlace:
    """The point of view of the member whose metrics are at an address."""

    def __init__(self, address: str, *, token: str | None = None) -> None:
        self.shown = address
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._session: aiohttp.ClientSession | None = None

    async def look(self) -> Observed:
        """Return the group as the member sees it now."""
        return await self._ask("/group", {}, Observed, ANSWER_S)

    def progress(self) -> str:
        """Return nothing: a member answers at once, or not."""
        return ""

    async def notes(self, after: int, wait_s: int) -> Notes:
        """Return what has happened after a note, at once or as soon as something does."""
        return await self._ask("/events", {"after": after, "wait_s": wait_s}, Notes, wait_s + ANSWER_S)

    async def explain(self, source: str, seq: int) -> Explained:
        """Tell who lacks a message."""
        return await self._ask("/explain", {"source": source, "seq": seq}, Explained, ANSWER_S)

    async def close(self) -> None:
        """Ask no more."""
        if self._session is not None:
            await self._session.close()

    async def _ask(self, path: str, query: dict[str, str | int], form: type[Told], within_s: float) -> Told:
        if self._session is None:
            self._session = aiohttp.ClientSession(headers=self._headers, trust_env=False)
        url = f"http://{self.shown}{path}"
        try:
            async with asyncio.timeout(within_s), self._session.get(url, params=query) as answer:
                body = await answer.content.read(MOST_BYTES)
                while not answer.content.at_eof() and len(body) < MOST_BYTES:
                    body += await answer.content.read(MOST_BYTES)
                return _read(body, answer.status, form)
        except TimeoutError:
            why = f"no answer within {within_s:g} s"
        except aiohttp.ClientConnectorError as error:
            why = _why_not_connected(error.os_error)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            why = str(error) or type(error).__name__
        raise NoAnswer(f"cannot ask {self.shown}: {why}")


def _why_not_connected(error: OSError) -> str:
    if error.errno == errno.ECONNREFUSED:
        return f"nobody listens there ({ACCEPTED})"
    if isinstance(error, socket.gaierror):
        return "there is no host of this name"
    return os.strerror(error.errno) if error.errno else str(error)


def _read(body: bytes, status: int, form: type[Told]) -> Told:
    if status in (401, 403):
        raise ValueError(body.decode("utf-8", "replace").strip())
    try:
        if status == 200:
            version = json.loads(body).get("version", VERSION) if form is Observed else VERSION
            if version != VERSION:
                raise ValueError(f"it tells of its group in form {version} (accepted: {VERSION})")
            return msgspec.json.decode(body, type=form)
    except (msgspec.DecodeError, json.JSONDecodeError, AttributeError, UnicodeDecodeError):
        pass
    raise ValueError(f"what answers is no member that tells of its group ({ACCEPTED})")
