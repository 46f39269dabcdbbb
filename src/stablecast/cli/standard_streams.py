"""Standard input and output of a command that must not stand still while it waits for either."""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import AsyncIterator, Callable

from stablecast.errors import InvalidInput

READ_BYTES = 1 << 16


async def read_lines(file: int | None, *, longest: int) -> AsyncIterator[bytes]:
    """Yield a file descriptor's lines without their ends, as they come; None has none.

    A line that is longer than ``longest`` is an error.
    """
    rest, number = b"", 0
    while file is not None:
        chunk = await _read(file)
        *lines, rest = (rest + chunk).split(b"\n")
        if not chunk:
            lines, rest = ([rest] if rest else []), b""
        for line in lines:
            number += 1
            _check_length(line, number, longest)
            yield line
        _check_length(rest, number + 1, longest)
        if not chunk:
            return


def _check_length(line: bytes, number: int, longest: int) -> None:
    if len(line) > longest:
        raise InvalidInput(f"line {number} of standard input is too long (accepted: up to {longest:,} bytes)")


async def _read(file: int) -> bytes:
    """Read what there is, after waiting for it."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(file, ready.set)
    except PermissionError:
        await asyncio.sleep(0)  # a plain file, or /dev/null: there is nothing to wait for
    else:
        try:
            await ready.wait()
        finally:
            loop.remove_reader(file)
    try:
        return os.read(file, READ_BYTES)
    except OSError:  # the terminal is gone
        return b""


class Output:
    """Writes texts in turn, in a thread of its own, so that a reader who rests stops nothing else."""

    def __init__(self, file: int, *, on_broken: Callable[[], object]) -> None:
        self._file = file
        self._loop = asyncio.get_running_loop()
        self._on_broken = on_broken
        self._texts: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="stablecast-output", daemon=True)
        self._thread.start()

    def put(self, text: str) -> asyncio.Future[None]:
        """Have a text written; what is returned is done when it is."""
        done: asyncio.Future[None] = self._loop.create_future()
        self._texts.put((text.encode("utf-8", "replace"), done))
        return done

    async def close(self, timeout: float) -> None:
        """Wait until all is written, for a while; who does not read may miss the rest."""
        done = self.put("")
        self._texts.put(None)
        try:
            async with asyncio.timeout(timeout):
                await done
        except TimeoutError:
            return
        self._thread.join()

    def _work(self) -> None:
        broken = False
        while (entry := self._texts.get()) is not None:
            data, done = entry
            try:
                while data and not broken:
                    data = data[os.write(self._file, data) :]
            except OSError:
                broken = True
                self._call(self._on_broken)
            self._call(_finish, done)

    def _call(self, function: Callable[..., object], *arguments: object) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)


def _finish(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
