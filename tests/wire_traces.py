"""What holds of every wire trace, for tests: arrivals have transmissions, steps grow and have one cause."""

import json
from collections import Counter, defaultdict

from stablecast.trace.schema import COLUMNS, WIRE_COLUMNS

ABOUT = ("group", "message", "source", "first_seq", "seq", "execution", "bytes")
BY_PARTS = ("NAK", "SENT")
"""What names parts, which each side takes for messages as far as it can tell."""


def rows_of(*files):
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def of_kind(rows, kind, message=None):
    return [row for row in rows if row["kind"] == kind and message in (None, row["message"])]


def without_wire(rows):
    """Return the rows of a trace without ``--wire`` that has the same events."""
    kept = [{name: row[name] for name in COLUMNS} for row in rows if row["message"] is None]
    return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in kept)


def check_columns(rows):
    assert {tuple(row) for row in rows} == {COLUMNS + WIRE_COLUMNS}


def transmissions(rows):
    """Return the rows of each datagram that was sent, by transmitter and number."""
    found = defaultdict(list)
    for row in of_kind(rows, "transmit"):
        found[row["member"], row["number"]].append(row)
    return found


def check_arrivals(rows, *, known, large=False):
    """Check that what came from known members was sent before, and came once; return how many datagrams came.

    Frames are in the order that they have in their datagram, so the rows of both sides are alike; but a
    member whose view has not begun yet does not know whose messages a frame is about, and where there are
    large messages two members may take the same parts for other messages.
    """
    sent, came = transmissions(rows), defaultdict(list)
    for row in of_kind(rows, "arrive"):
        came[row["member"], row["peer"], row["number"]].append(row)
    strangers = {peer for _, peer, _ in came} - set(known)
    assert all(":" in stranger for stranger in strangers), strangers
    for (member, peer, number), there in came.items():
        if peer in known:
            here = sent[peer, number]
            assert len(here) == len(there), (member, here, there)
            for ours, theirs in zip(here, there, strict=True):
                assert ours["peer"] in (None, member) or ":" in ours["peer"]
                assert ours["time_us"] <= theirs["time_us"], (ours, theirs)
                is_exact = theirs["source"] and not (large and theirs["message"] in BY_PARTS)
                for name in ABOUT if is_exact else ("message", "execution", "bytes"):
                    assert ours[name] == theirs[name], (name, ours, theirs)
    return len(came)


def check_steps(rows):
    """Check that steps grow at each member, and that each has one cause, which stands before what it does."""
    last, causes = Counter(), {}
    for row in rows:
        step, member = row["step"], row["member"]
        if step is None:
            assert row["kind"] in ("join", "leave", "fail")
            continue
        cause = (row["kind"], row["peer"], row["number"]) if row["kind"] in ("arrive", "timer") else None
        assert step >= last[member], row
        if step > last[member] or member not in causes:
            last[member], causes[member] = step, cause
        assert cause in (None, causes[member]), (row, causes[member])
