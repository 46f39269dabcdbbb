"""The processes of a demo: forked from a server that has all loaded, killed, and never left behind."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from types import TracebackType
from typing import Any

from stablecast.live.demo.member import Part, play
from stablecast.live.demo.preload import PROTOCOL_VARIABLE
from stablecast.live.demo.reports import (
    Failed,
    Joined,
    Order,
    Status,
    Stopped,
    decode_report,
    encode,
)

LISTEN_S = 0.25
END_S = 5.0
"""How long members may take to leave before they are ended."""


@dataclass
class Hand:
    """One process."""

    name: str
    process: ForkServerProcess
    pipe: Connection
    address: str | None = None
    status: Status | None = None
    stopped: bool = False
    failure: str | None = None
    """Why it cannot go on, in its own words."""
    killed: bool = False
    open: bool = True
    """Whether it may still tell something."""


class Crew:
    """Starts processes, and knows what they told last; leaving its context ends them all."""

    def __init__(self, protocol: str) -> None:
        self.hands: dict[str, Hand] = {}
        self._interrupted = False
        self._handler: Any = None
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["__main__", "stablecast.live.demo.preload"])
        os.environ[PROTOCOL_VARIABLE] = protocol
        try:
            resource_tracker.ensure_running()  # by itself, since it unblocks what is blocked
            with interrupts_held():
                forkserver.ensure_running()
        finally:
            del os.environ[PROTOCOL_VARIABLE]

    def __enter__(self) -> Crew:
        """Take note of Ctrl-C from here on, and obey it while listening.

        Raised wherever it falls, it could fall into a destructor, and an exception there is lost.
        """
        if threading.current_thread() is threading.main_thread():
            self._handler = signal.signal(signal.SIGINT, self._note_interrupt)
        return self

    def _note_interrupt(self, *_: object) -> None:
        self._interrupted = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
        for hand in self.hands.values():
            hand.process.kill()
        for hand in self.hands.values():
            hand.process.join()
            hand.pipe.close()
            hand.process.close()

    def start(self, part: Part) -> None:
        """Start a member."""
        here, there = self._context.Pipe()
        process = self._context.Process(target=play, args=(part, there), name=part.name, daemon=True)
        with interrupts_held():
            process.start()
            self.hands[part.name] = Hand(part.name, process, here)
        there.close()

    def kill(self, name: str) -> None:
        """Kill a member as ``kill -9`` does, by its process's number."""
        hand = self.hands[name]
        hand.killed = True
        hand.process.kill()

    def order(self, name: str, order: Order) -> None:
        """Tell a member what to do; one that is gone is found out by what it does not tell."""
        hand = self.hands[name]
        try:
            hand.pipe.send_bytes(encode(order))
        except OSError:
            hand.open = False

    @property
    def living(self) -> list[Hand]:
        """Those that were not killed."""
        return [hand for hand in self.hands.values() if not hand.killed]

    def listen(self, timeout: float) -> None:
        """Take in what members tell, waiting for it if there is nothing yet."""
        pipes = {hand.pipe: hand for hand in self.hands.values() if hand.open}
        for pipe in wait(list(pipes), timeout):
            assert isinstance(pipe, Connection)
            _take(pipes[pipe])
        if self._interrupted:
            raise KeyboardInterrupt

    def end(self) -> None:
        """Wait for members that were told to leave; those that do not are ended with the rest."""
        until = time.monotonic() + END_S
        while any(hand.open for hand in self.living) and time.monotonic() < until:
            self.listen(min(until - time.monotonic(), LISTEN_S))

    def lost(self) -> list[str]:
        """Tell of members that ended by themselves, or cannot go on."""
        found = []
        for hand in self.living:
            if hand.failure is not None:
                found.append(f"{hand.name} failed: {hand.failure}")
            elif not hand.open:
                hand.process.join(END_S)
                found.append(f"{hand.name} ended by itself, with exit code {hand.process.exitcode}")
        return found


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Let Ctrl-C wait until this is done.

    What starts here inherits that it is blocked, so neither the server nor members ever see it.  Blocking
    alone would not hold it, since any other thread takes it then.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    handler = signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
    if held:
        raise KeyboardInterrupt


def _take(hand: Hand) -> None:
    try:
        report = decode_report(hand.pipe.recv_bytes())
    except (EOFError, OSError):
        hand.open = False
        return
    match report:
        case Joined(address):
            hand.address = address
        case Status():
            hand.status = report
        case Stopped(status):
            hand.status, hand.stopped = status, True
        case Failed(reason):
            hand.failure = reason
