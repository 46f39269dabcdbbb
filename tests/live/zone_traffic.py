"""What the stability protocol of a group sends from zone to zone: counted where frames leave the engines."""

import asyncio
import contextlib
from collections import Counter

from live_groups import join, until

import stablecast
from stablecast.engine.host import Host
from stablecast.engine.pace import PaceOptions
from stablecast.engine.wire import Stability, encode

STEP_S = 0.05
"""Long beside the ways of datagrams, so that a member takes a step whenever one is due."""
SEND_EVERY_S = 0.05


class ZoneTraffic:
    """Counts copies of the protocol's messages, and those that leave their zone with their bytes, by kind."""

    def __init__(self, monkeypatch):
        self.clear()
        plain_rank, plain_all = Host.to_rank, Host.to_all

        def to_rank(host, frame, rank):
            self._count(host, frame, [rank])
            plain_rank(host, frame, rank)

        def to_all(host, frame):
            self._count(host, frame, range(host.in_view.size))
            plain_all(host, frame)

        monkeypatch.setattr(Host, "to_rank", to_rank)
        monkeypatch.setattr(Host, "to_all", to_all)

    def clear(self):
        self.copies, self.across, self.bytes_across = Counter(), Counter(), 0

    def _count(self, host, frame, ranks):
        if isinstance(frame, Stability):
            here = host.in_view
            members, me = here.view.members, here.rank
            kind = here.tracker.protocol.kinds[frame.kind]
            others = [rank for rank in ranks if rank != me]
            across = sum(members[rank].zone != members[me].zone for rank in others)
            self.copies[kind] += len(others)
            self.across[kind] += across
            self.bytes_across += across * len(encode(frame))


@contextlib.asynccontextmanager
async def in_zones(network, zones, size, **options):
    """Yield groups, each named after its zone, all in one view."""
    options.setdefault("pace", PaceOptions(step_s=STEP_S))
    names = [f"{zone}{k}" for k in range(size) for zone in zones]
    first = await join(network, names[0], zone=names[0][0], **options)
    others = [join(network, name, [first.address], zone=name[0], **options) for name in names[1:]]
    groups = [first, *await asyncio.gather(*others)]
    await until(lambda: all(len(group.members) == len(names) for group in groups))
    yield groups
    for group in groups:  # to leave one after the other would change the view for each
        group._driver.close()


async def send_for(groups, seconds):
    """Let some members send all the time, so that no machine rests; return their receipts."""
    receipts = []
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds
    while loop.time() < ends:
        receipts += [await group.send(b"one pizza") for group in groups]
        await asyncio.sleep(SEND_EVERY_S)
    return receipts


async def all_stable(receipts):
    """Wait until messages are stable; return in how many ways that was told."""
    outcomes = [await receipt.stable(timeout=60.0) for receipt in receipts]
    assert all(isinstance(each, stablecast.Stable | stablecast.StableInSmallerView) for each in outcomes)
    return Counter(type(each).__name__ for each in outcomes)
