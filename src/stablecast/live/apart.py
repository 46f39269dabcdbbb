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

        Thread(target=work, name="stablecast-apart", daemon=True).start()
        return future


async def apart(function: Callable[[], T]) -> T:
    """Call a function while the loop goes on; if this is cancelled, the call ends by itself.

    An event loop without threads, as that of the testing kit, calls it at once.
    """
    return await asyncio.get_running_loop().run_in_executor(OneThread(), function)
