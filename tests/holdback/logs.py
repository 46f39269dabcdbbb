"""Logs for tests, and what going through every number says of them."""

from hypothesis import strategies as st

from stablecast.holdback.model import NOTHING, Amount, Log, Reader, Snapshot


def log_of(head, positions, *, first_seq=1, item_bytes=10, gone=(), **more):
    """Return a log of numbers that are all kept from the first one on; each is of so many bytes."""

    def above(position):
        items = max(0, head - max(position or 0, first_seq - 1))
        return Amount(items, items * item_bytes)

    readers = tuple(
        Reader(name, position, behind=above(position), holds=name not in gone)
        for name, position in positions.items()
    )
    return Log("g", "s", head, first_seq, readers, kept=above(first_seq - 1), **more)


def snapshot_of(*logs, **more):
    return Snapshot("test://here", "test", 10**15, logs, **more)


@st.composite
def logs(draw):
    head = draw(st.integers(0, 12))
    first = draw(st.integers(1, head + 1))
    names = draw(st.lists(st.sampled_from("abcdef"), unique=True, max_size=5))
    positions = {name: draw(st.none() | st.integers(0, head)) for name in names}
    gone = draw(st.sets(st.sampled_from("abcdef"), max_size=2))
    return log_of(head, positions, first_seq=first, gone=gone)


class Plain:
    """A log number by number: who needs each, and what is kept."""

    def __init__(self, log, without=()):
        self.log = log
        self.readers = [one for one in log.readers if one.holds and one.member not in without]

    def lacking(self, number):
        if number > self.log.head:
            return []
        return sorted(one.member for one in self.readers if number > self.reached(one))

    def reached(self, reader):
        return self.log.first_seq - 1 if reader.position is None else reader.position

    def stable(self):
        """The last number before the first that anybody lacks; all that was sent if there is none."""
        numbers = range(min([self.reached(one) for one in self.readers], default=0), self.log.head + 1)
        return next((number - 1 for number in numbers if self.lacking(number)), self.log.head)

    def kept_above(self, number):
        items = sum(each > number for each in range(self.log.first_seq, self.log.head + 1))
        return Amount(items, items * 10) if items else NOTHING
