"""A live group on loopback for tests of what reads it, and conditions to wait for."""

import asyncio
import contextlib
import threading

import stablecast

DEADLINE_S = 60.0


class Members:
    """Members of a group on loopback, in a thread of their own."""

    def __init__(self):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._groups = []

    def do(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(DEADLINE_S)

    def join(self, name, **options):
        async def joined():
            seeds = [group.address for group in self._groups[:1]]
            return await stablecast.join("orders", member=name, seeds=seeds, deliver="nothing", **options)

        self._groups.append(self.do(joined()))
        return self._groups[-1]

    def until(self, condition):
        async def wait():
            async with asyncio.timeout(DEADLINE_S):
                while not condition():
                    await asyncio.sleep(0.01)

        self.do(wait())

    def close(self):
        for group in reversed(self._groups):
            self.do(group.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@contextlib.contextmanager
def loopback_members():
    members = Members()
    try:
        yield members
    finally:
        members.close()
