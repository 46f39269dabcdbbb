"""An event loop of asyncio that never waits: its clock jumps to the next timer."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
import random
import warnings
from asyncio import base_events
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from stablecast.errors import StablecastError

T = TypeVar("T")
CLEANING_UP = 60.0
"""Seconds of virtual time that tasks have to end when they are cancelled."""


class Stuck(StablecastError):
    """A coroutine waits for something that will not happen, or not within the limit."""


class LeftBehind(UserWarning):
    """Tasks still ran when the coroutine that was run had ended; they are cancelled."""


class _Timer(asyncio.TimerHandle):
    """Comes after those of the same instant that were set before."""

    number = 0

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, _Timer):
            return NotImplemented
        return (self.when(), self.number) < (other.when(), other.number)


class _Jump:
    """In place of a selector: waiting for a time means that it has come."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            self._loop.stuck("nothing is left to happen")
        if timeout > 0:
            self._loop.jump()
        return []


class VirtualLoop(base_events.BaseEventLoop):
    """An event loop with a clock of its own, from 0, that jumps whenever nothing is ready.

    It has no sockets and no threads; what is given to an executor is called at once.  Timers of the same
    instant fire in the order in which they were set.

    Parameters
    ----------
    limit
        Seconds of its clock after which whatever still runs is called stuck.
    """

    def __init__(self, *, limit: float = math.inf) -> None:
        super().__init__()
        self._selector = _Jump(self)
        self._scheduled: list[_Timer] = []
        self._virtual_now = 0.0
        self._limit = limit
        self._numbers = itertools.count()

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._virtual_now

    def jump(self) -> None:
        """Let the time of the next timer come."""
        when = self._scheduled[0].when()
        if when > self._limit:
            self.stuck(f"{self._limit:,g} s of virtual time have passed")
        # The loop fires what lies before its time and a nanosecond, which is nothing beside a very late time.
        if when + 1e-9 == when:
            when = math.nextafter(when, math.inf)
        self._virtual_now = max(self._virtual_now, when)

    def stuck(self, why: str) -> NoReturn:
        """Raise ``Stuck`` with where every task waits."""
        self._limit = self._virtual_now + CLEANING_UP
        places = places_of(asyncio.all_tasks(self))
        raise Stuck(f"{why}, but {'; '.join(places) or 'no task has ended the run'}")

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """Have something called at a virtual time."""
        if self.is_closed():
            raise RuntimeError("Event loop is closed")
        timer = _Timer(when, callback, args, self, context)
        timer.number = next(self._numbers)
        heapq.heappush(self._scheduled, timer)
        timer._scheduled = True  # type: ignore[attr-defined]  # BaseEventLoop counts cancelled ones by it.
        return timer

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Call it here and now, so that the order of things is always the same."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def add_reader(self, fd: Any, callback: Callable[..., Any], *args: Any) -> NoReturn:  # type: ignore[override]
        """Refuse: there are no sockets."""
        raise StablecastError("a VirtualLoop has no sockets (accepted: the transports of a testing Network)")

    def _process_events(self, event_list: list[Any]) -> None:
        """Nothing: events come from sockets."""

    def _write_to_self(self) -> None:
        """Nothing: this wakes up a selector."""


def run(coroutine: Coroutine[Any, Any, T], *, seed: int = 0, limit: float = 3_600.0) -> T:
    """Run a coroutine on a ``VirtualLoop``, as ``asyncio.run`` does on a real one.

    An exception in a callback ends the run, and comes out of it.

    Parameters
    ----------
    coroutine
        What to run.
    seed
        What Python's ``random`` is seeded with meanwhile; its state is put back in the end.
    limit
        Seconds of virtual time that it may take.

    Raises
    ------
    Stuck
        If it waits for something that will not happen.

    Warns
    -----
    LeftBehind
        If tasks still run when it has ended; they are cancelled.
    """
    state = random.getstate()
    random.seed(seed)
    loop = VirtualLoop(limit=limit)
    failures: list[BaseException] = []
    loop.set_exception_handler(_stop_at_failures(failures))
    try:
        asyncio.set_event_loop(loop)
        return _complete(loop, coroutine, failures)
    finally:
        try:
            _cancel_all(loop)
        finally:
            asyncio.set_event_loop(None)
            loop.close()
            random.setstate(state)


def _complete(loop: VirtualLoop, coroutine: Coroutine[Any, Any, T], failures: list[BaseException]) -> T:
    main = loop.create_task(coroutine, name=getattr(coroutine, "__qualname__", "main"))
    try:
        result = loop.run_until_complete(main)
    except RuntimeError:
        if failures and not main.done():
            raise failures[0] from None
        raise
    finally:
        _cancel(loop, [main])
    if failures:
        raise failures[0]
    left = places_of(asyncio.all_tasks(loop))
    if left:
        warnings.warn(f"left behind: {'; '.join(left)}", LeftBehind, stacklevel=3)
    return result


def _stop_at_failures(
    failures: list[BaseException],
) -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object]:
    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if "handle" in context and isinstance(context.get("exception"), BaseException):
            failures.append(context["exception"])
            loop.stop()
        else:
            loop.default_exception_handler(context)

    return handle


def _cancel_all(loop: VirtualLoop) -> None:
    _cancel(loop, asyncio.all_tasks(loop))
    loop.run_until_complete(loop.shutdown_asyncgens())


def _cancel(loop: VirtualLoop, tasks: Iterable[asyncio.Task[Any]]) -> None:
    pending = [task for task in tasks if not task.done()]
    for task in pending:
        task.cancel()
    if pending:
        loop.run_until_complete(asyncio.wait(pending))


def places_of(tasks: Iterable[asyncio.Task[Any]]) -> list[str]:
    """Return for each task, by name, where it waits."""
    return sorted(_place_of(task) for task in tasks)


def _place_of(task: asyncio.Task[Any]) -> str:
    frames = []
    awaited: Any = task.get_coro()
    while awaited is not None:
        frame = getattr(awaited, "cr_frame", None) or getattr(awaited, "ag_frame", None)
        if frame is not None:
            frames.append(frame)
        awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "ag_await", None)
    if not frames:
        return f"'{task.get_name()}' waits"
    # Where it waits in code of others than asyncio, which is what the reader can change.
    own = [one for one in frames if "asyncio" not in Path(one.f_code.co_filename).parts] or frames
    code, line = own[-1].f_code, own[-1].f_lineno
    return f"'{task.get_name()}' waits in {code.co_name} ({Path(code.co_filename).name}:{line})"
