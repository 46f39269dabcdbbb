"""Places that tell what a test wants, and groups to be shown."""

import asyncio
import contextlib

import stablecast
from stablecast.engine.observed import Gone, Note, Notes, Observed, SeenHolding, SeenMember, SeenSource
from stablecast.observe.place import Explained, Lacking, NoAnswer
from stablecast.testing import Network, run
from stablecast.trace.log import EventLog

PATIENCE_S = 60.0
SECOND_US = 1_000_000


def group(names="abc", *, at_s=100.0, states=None, holding=(), gone=(), **fields):
    """Return a group; each member sent ten messages, nine of which are stable."""
    states = states or {}
    members = tuple(
        SeenMember(
            name=name,
            state=states.get(name, "ok"),
            address=f"127.0.0.1:{7000 + place}",
            last_heard_s=None if name == names[0] else 0.1,
            kept_bytes=264 if name == names[0] else None,
            behind_messages=sum(one.messages for one in holding if one.member == name),
            behind_bytes=sum(one.bytes for one in holding if one.member == name),
            behind_s=max((one.since_s for one in holding if one.member == name), default=0.0),
        )
        for place, name in enumerate(names)
    )
    told = {
        "incarnation": "1",
        "group": "orders",
        "me": names[0],
        "state": "member",
        "protocol": "s_coord",
        "view_epoch": len(names),
        "sources": tuple(SeenSource(name=name, received=10, stable=9) for name in names),
        "received_messages": 10 * len(names),
        "stable_messages": 9 * len(names),
        "kept_bytes": 264,
        "buffer_bytes": 64_000_000,
    }
    return Observed(
        time_us=round(at_s * SECOND_US),
        members=members,
        holding=tuple(holding),
        gone=tuple(gone),
        **told | fields,
    )


def holding(member="c", source="a", *, first=10, messages=5, since_s=2.0):
    return SeenHolding(
        member=member, source=source, first=first, messages=messages, bytes=100 * messages, since_s=since_s
    )


def failed(name, since_s=1.0):
    return Gone(name=name, state="failed", since_s=since_s)


def note(number, text):
    return Note(number=number, time_us=number * SECOND_US, kind="test", text=text)


class FakePlace:
    """Tells what was put into it: a group, or an error to raise."""

    shown = "127.0.0.1:9100"

    def __init__(self, told):
        self.told = told
        self.happened = []
        self.looks = 0
        self.incarnation = "1"

    async def look(self):
        self.looks += 1
        if isinstance(self.told, Exception):
            raise self.told
        return self.told

    def progress(self):
        return ""

    async def notes(self, after, wait_s):
        await asyncio.sleep(0.001)
        if isinstance(self.told, Exception):
            raise self.told
        found = tuple(one for one in self.happened if one.number > after)
        return Notes(incarnation=self.incarnation, last=len(self.happened), notes=found)

    async def explain(self, source, seq):
        if source == "nobody":
            raise NoAnswer("cannot ask 127.0.0.1:9100: no answer within 2 s")
        lacking = Lacking(member="<b>c</b>", has_up_to=seq - 1, since=2.0, last_heard=2.5)
        return Explained(id=(source, seq), state="waiting", laggards=(lacking,))

    async def close(self):
        self.told = NoAnswer("closed")


def write_wire_traces(folder):
    """Have a group on a network in memory write wire traces; return one of its messages."""

    async def scenario():
        network = Network(seed=1)
        async with contextlib.AsyncExitStack() as stack:
            seeds, groups = [], []
            for name in "ab":
                log = stack.enter_context(EventLog(folder / f"{name}.jsonl", wire=True))
                joining = stablecast.join(
                    "orders", transport=network.transport(name), member=name, seeds=seeds, trace=log
                )
                groups.append(await stack.enter_async_context(joining))
                seeds = [groups[0].address]
            await (await groups[0].send(bytes(100))).stable()
            return f"{groups[0].me}/1"

    return run(scenario(), limit=60.0)


async def until(condition, patience_s=PATIENCE_S):
    """Wait for a condition in real time."""
    async with asyncio.timeout(patience_s):
        while not condition():
            await asyncio.sleep(0.005)
