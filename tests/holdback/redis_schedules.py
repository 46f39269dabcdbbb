"""Seeded schedules of a real Redis: groups come, read, pause and go while streams are trimmed.

A plain model follows what each group was delivered and has acknowledged.  After every trim, each entry that a
group needs has to be there.  A collection looks now and then; its audit must accuse nobody, and must find an
early XTRIM that is planted at the end.

One thing no snapshot can tell: a group that is destroyed and made anew at the same place, under the same
name, between two looks.  A collection is taken to look in between (``unseen``).
"""

import random
import socket

from test_position_history import History

from stablecast.holdback.sources import open_source
from stablecast.holdback.trimming import redis as trimming
from stablecast.holdback.trimming.plan import plan_of

STREAM = "orders"


def stamp(name):
    time, _, counter = name.partition("-")
    return int(time), int(counter)


class Group:
    def __init__(self, delivered, never=()):
        self.delivered, self.pending = delivered, set()
        self.never = set(never)
        """What was gone when it was made."""


class Schedule:
    """One schedule; `run` returns what is wrong, or nothing."""

    def __init__(self, client, source, seed, planted):
        self.client, self.source, self.planted = client, source, planted
        self.draw = random.Random(seed)
        self.history = History()
        self.entries, self.groups, self.next, self.trims, self.deleted = [], {}, 1, 0, 0
        self.last = (0, 0)
        self.unseen = set()
        """Names of groups that were destroyed since the last look."""

    def run(self, steps=60):
        self.client.delete(STREAM)
        self.write()
        for _ in range(steps):
            step = self.draw.choice(STEPS)
            step(self)
            if self.draw.random() < 0.3:
                self.look()
        self.look()
        losses = self.history.losses()
        if losses:
            return f"a correct run is accused: {losses}"
        return self.plant() if self.planted else None

    def look(self):
        self.history.see(*self.source.take().logs)
        self.unseen.clear()

    def needed(self, group):
        after = {one for one in self.entries if stamp(one) > stamp(group.delivered)}
        return (after | group.pending) - group.never

    def check(self):
        there = [name for name, _ in self.client.xrange(STREAM)]
        for name, group in self.groups.items():
            lost = (self.needed(group) & set(self.entries)) - set(there)
            assert not lost, f"{name} needs {sorted(lost)}"
        self.deleted += len(self.entries) - len(there)
        self.entries = there

    # Steps.

    def write(self):
        for _ in range(self.draw.randint(1, 6)):
            self.next += self.draw.choice((0, 1, 1, 7))
            counter = 1 + max(
                (stamp(one)[1] for one in self.entries if stamp(one)[0] == self.next), default=-1
            )
            name = f"{self.next}-{counter}"
            if self.entries and stamp(name) <= stamp(self.entries[-1]):
                continue
            if stamp(name) > self.last:
                self.client.xadd(STREAM, {"a": "x"}, id=name)
                self.entries.append(name)
                self.last = stamp(name)

    def create(self):
        name = f"g{self.draw.randrange(5)}"
        if name in self.groups:
            return
        if name in self.unseen:
            self.look()
        begin = self.draw.choice(["0-0", "$", *self.entries])
        pipe = self.client.pipeline(transaction=True)  # a trimmer that died may act before or after it
        pipe.xgroup_create(STREAM, name, begin)
        pipe.xinfo_stream(STREAM)
        pipe.xrange(STREAM)
        _, told, there = pipe.execute()
        never = set(self.entries) - {entry for entry, _ in there}
        self.groups[name] = Group(told["last-generated-id"] if begin == "$" else begin, never)

    def destroy(self):
        if self.groups:
            name = self.draw.choice(sorted(self.groups))
            self.client.xgroup_destroy(STREAM, name)
            del self.groups[name]
            self.unseen.add(name)

    def read(self):
        if not self.groups:
            return
        name = self.draw.choice(sorted(self.groups))
        consumer = f"c{self.draw.randrange(2)}"
        some = self.client.xreadgroup(name, consumer, {STREAM: ">"}, count=self.draw.randint(1, 8))
        for _, entries in some.items() if isinstance(some, dict) else some:
            for entry, _ in entries if not isinstance(some, dict) else entries[0]:
                self.groups[name].delivered = entry
                self.groups[name].pending.add(entry)

    def acknowledge(self):
        for name in sorted(self.groups):
            group = self.groups[name]
            some = [one for one in sorted(group.pending, key=stamp) if self.draw.random() < 0.7]
            if some and self.draw.random() < 0.6:
                self.client.xack(STREAM, name, *some)
                group.pending -= set(some)

    def jump(self):
        """A group that gives up what it has not read, as after a long pause."""
        if self.groups and self.draw.random() < 0.3:
            name = self.draw.choice(sorted(self.groups))
            self.client.xgroup_setid(STREAM, name, "$")
            self.groups[name].delivered = self.client.xinfo_stream(STREAM)["last-generated-id"]

    def delete_one(self):
        """An application that deletes an entry which every group has acknowledged."""
        needed = set().union(*(self.needed(group) for group in self.groups.values()))
        free = [one for one in self.entries if one not in needed]
        if free and self.groups:
            one = self.draw.choice(free)
            self.client.xdel(STREAM, one)
            self.entries.remove(one)

    def trim(self):
        """Plan, let others act, execute."""
        (step,) = plan_of([self.source.take()], {}).steps
        between = self.draw.choice([0, 0, 1, 2, 4])
        for _ in range(between):
            self.draw.choice(BETWEEN)(self)
        if step.is_empty:
            return
        done = trimming.execute(self.source, step)
        self.trims += 1
        before = len(self.entries)
        self.check()
        assert done.deleted == before - len(self.entries)
        if not between and self.groups:
            needed = set().union(*(self.needed(group) for group in self.groups.values())) & set(self.entries)
            assert not self.entries or min(self.entries, key=stamp) in needed, "something is left"

    def trim_and_die(self):
        """A trimmer that is killed once its request, or a part of it, is on the way."""
        (step,) = plan_of([self.source.take()], {}).steps
        if step.is_empty:
            return
        words = ["EVAL", trimming.SCRIPT, "1", STREAM, trimming.Numbering.STREAM_ID.text(step.up_to + 1)]
        request = f"*{len(words)}\r\n" + "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
        data = request.encode()
        part = self.draw.choice([len(data), len(data), self.draw.randrange(len(data))])
        address = self.source.address
        with socket.create_connection((address.host, address.port)) as dying:
            dying.sendall(data[:part])
            dying.shutdown(socket.SHUT_WR)
            for _ in range(self.draw.randint(0, 2)):
                self.draw.choice(BETWEEN)(self)
            while dying.recv(4096):
                pass  # the server closes when it has done what there was to do
        self.trims += 1
        self.check()

    def plant(self):
        """Delete the first entry that a group needs, and see whether the audit tells."""
        behind = {}
        for name, group in self.groups.items():
            needed = sorted(self.needed(group) & set(self.entries), key=stamp)
            if needed:
                behind[name] = needed[0]
        if not behind:
            self.planted = False
            return None
        last = max(behind.values(), key=stamp)
        time, counter = stamp(last)
        self.client.xtrim(STREAM, minid=f"{time}-{counter + 1}", approximate=False)
        self.look()
        found = {member for member, *_ in self.history.losses()}
        wanted = {name for name, first in behind.items() if not self.gone_pending(name, first)}
        return None if found == wanted else f"planted for {sorted(wanted)}, found {sorted(found)}"

    def gone_pending(self, name, first):
        """Whether an entry that is pending was deleted before: then it is not known what is needed next."""
        return any(stamp(one) < stamp(first) for one in self.groups[name].pending)


BETWEEN = [
    Schedule.write,
    Schedule.create,
    Schedule.destroy,
    Schedule.read,
    Schedule.read,
    Schedule.acknowledge,
]
STEPS = [
    *BETWEEN,
    Schedule.create,
    Schedule.read,
    Schedule.acknowledge,
    Schedule.acknowledge,
    Schedule.jump,
    Schedule.delete_one,
    Schedule.trim,
    Schedule.trim,
    Schedule.trim_and_die,
]


def run_schedules(client, url, seeds):
    """Run schedules; return trims, entries deleted, and how many had an early XTRIM planted."""
    trims = deleted = planted = 0
    with open_source(url) as source:
        for seed in seeds:
            one = Schedule(client, source, seed, planted=seed % 2 == 0)
            try:
                wrong = one.run()
            except Exception as error:
                raise AssertionError(f"schedule {seed}: {error}") from error
            assert wrong is None, f"schedule {seed}: {wrong}"
            trims, deleted, planted = trims + one.trims, deleted + one.deleted, planted + one.planted
    return trims, deleted, planted
