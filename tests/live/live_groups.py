"""Live groups for tests: members on an in-memory network, and conditions to wait for on its clock."""

import asyncio
import contextlib

import stablecast
from stablecast.engine.pace import PaceOptions
from stablecast.testing import run

LIMIT_S = 120.0
"""Virtual seconds after which a scenario is stuck."""
LOOK_EVERY_S = 0.01
UNHURRIED = PaceOptions(step_s=0.02)
"""Less to compute while a scenario waits for a member that is silent."""


def play(scenario):
    """Run a scenario on a virtual clock."""
    return run(scenario(), limit=LIMIT_S)


@contextlib.asynccontextmanager
async def joined(network, *names, group="orders", each=None, **options):
    """Yield members of one group, all in one view; ``each`` has further options by name."""
    async with contextlib.AsyncExitStack() as stack:
        groups, seeds = [], []
        for name in names:
            joining = join(network, name, seeds, group=group, **options | (each or {}).get(name, {}))
            groups.append(await stack.enter_async_context(joining))
            seeds = [groups[0].address]
        await until(lambda: all(len(group.members) == len(names) for group in groups))
        yield groups


def join(network, name, seeds=(), *, group="orders", **options):
    options.setdefault("pace", UNHURRIED)
    return stablecast.join(group, transport=network.transport(name), member=name, seeds=seeds, **options)


async def until(condition):
    """Wait for a condition; on a virtual clock, which is stuck if it never comes to hold."""
    while not condition():
        await asyncio.sleep(LOOK_EVERY_S)


class Reader:
    """Reads a group's deliveries, and keeps them."""

    def __init__(self, group):
        self.group = group
        self.found = []
        self.task = asyncio.create_task(self._read())

    async def _read(self):
        async for delivery in self.group.deliveries():
            self.found.append(delivery)

    def payloads(self, source):
        return [delivery.payload for delivery in self.found if delivery.source == source]

    async def has(self, count):
        await until(lambda: len(self.found) >= count)
        return self.found


class Watcher:
    """Reads a group's events, and keeps them."""

    def __init__(self, group):
        self.found = []
        self._events = group.events()
        self.task = asyncio.create_task(self._read())

    async def _read(self):
        async for event in self._events:
            self.found.append(event)

    def of(self, kind):
        return [event for event in self.found if isinstance(event, kind)]

    async def first(self, kind):
        await until(lambda: self.of(kind))
        return self.of(kind)[0]


async def first_deliveries(group, count):
    """Return so many deliveries, and leave the rest to the next reader."""
    found = []
    async with contextlib.aclosing(group.deliveries()) as deliveries:
        async for delivery in deliveries:
            found.append(delivery)
            if len(found) == count:
                return found
    raise AssertionError(f"the group was closed after {len(found)} of {count} deliveries")
