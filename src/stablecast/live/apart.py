"""Work that would stop the event loop, in a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future
from threading import Thread
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class OneThread(Executor):
    """Starts a thread for each call, which ends with it; a process that ends does not wait for it."""

    def __init__(self) -> None:
        self._threads: list[Thread] = []

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Start a call."""
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()  # from now on it cannot be cancelled

        def work() -> None:
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        thread = Thread(target=work, name="stablecast-apart", daemon=True)
        self._threads.append(thread)
        thread.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for the threads to end."""
        for thread in self._threads if wait else ():
            thread.join()


async def apart(function: Callable[[], T]) -> T:
    """Call a function while the loop goes on; if this is cancelled, the call ends by itself.

    An event loop without threads, as that of the testing kit, calls it at once.
    """
    executor = OneThread()
    call = asyncio.get_running_loop().run_in_executor(executor, function)
    try:
        return await call
    finally:
        if call.done() and not call.cancelled():  # its thread has nothing more to do, and ends
            executor.shutdown()
