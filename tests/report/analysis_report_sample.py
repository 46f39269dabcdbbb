"""Invented analyses: what ``stablecast analyze`` would write, made of an invented trace or of given rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stablecast.delivery.positions.schemas import SCHEMAS as POSITION_SCHEMAS

STRING, LONG, INT = pa.string(), pa.int64(), pa.int32()
SCHEMAS = {
    "messages": pa.schema(
        {
            **{
                "group": STRING,
                "source": STRING,
                "seq": LONG,
                "bytes": INT,
                "sent_us": LONG,
                "stable_us": LONG,
            },
            **{"last_member": STRING, "required": INT, "received": INT},
            **{f"{what}_{end}_us": LONG for what in ("detected", "released") for end in ("first", "last")},
        }
    ),
    "frontiers": pa.schema(
        {"group": STRING, "source": STRING, "time_us": LONG, "sent": LONG, "stable": LONG}
    ),
    "buffers": pa.schema(
        {"group": STRING, "member": STRING, "messages_max": LONG, "bytes_max": LONG, "message_us": LONG}
    ),
    "laggards": pa.schema(
        {
            **{"group": STRING, "member": STRING, "completed_last": LONG, "held_us": LONG},
            "held_bytes_us": pa.decimal128(38, 0),
        }
    ),
    "violations": pa.schema(
        {"group": STRING, "kind": STRING, "member": STRING, "source": STRING, "seq": LONG, "time_us": LONG}
    ),
    "occupancy": pa.schema(
        {"group": STRING, "member": STRING, "time_us": LONG, "messages": LONG, "bytes": LONG}
    ),
    "sources": pa.schema(
        {
            **{"group": STRING, "source": STRING, "messages": LONG, "first_seq": LONG, "last_seq": LONG},
            **{"stable_seq": LONG, "stable_us": LONG, "waiting_for": pa.list_(STRING), "waiting": LONG},
        }
    ),
}
NEEDED = ("messages", "frontiers", "buffers", "laggards", "violations")
Rows = list[dict[str, Any]]


def write_analysis(folder: Path, summary: dict[str, Any] | None = None, **tables: Rows | pa.Table) -> Path:
    """Write some tables; those that every analysis has are empty unless given."""
    for name in SCHEMAS:
        if name in NEEDED or name in tables:
            rows = tables.get(name, [])
            table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows, schema=SCHEMAS[name])
            (folder / name).mkdir(parents=True)
            pq.write_table(table, folder / name / "part-00000.parquet")
            (folder / name / "_SUCCESS").touch()
    if summary is not None:
        (folder / "summary.json").write_text(json.dumps(summary))
    return folder


def write_positions(folder: Path, summary: dict[str, Any] | None = None, **tables: Rows) -> Path:
    """Write some tables of positions; those that are not given are empty."""
    for name, schema in POSITION_SCHEMAS.items():
        rows = [{**dict.fromkeys(schema.names), **row} for row in tables.get(name, [])]
        (folder / name).mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / name / "part-0.parquet")
    if summary is not None:
        (folder / "summary.json").write_text(json.dumps({"positions": True, **summary}))
    return folder


def message(source: str, seq: int, sent_us: int, stable_us: int | None, **more: Any) -> dict[str, Any]:
    """A row of messages; what is not given is as in a group of four."""
    given = {"group": "g", "source": source, "seq": seq, "sent_us": sent_us, "stable_us": stable_us}
    last = None if stable_us is None else "bob"
    return {**given, "last_member": last, "required": 4, "received": 3 if stable_us is None else 4, **more}


def violation(
    kind: str, member: str, source: str, seq: int, time_us: int, group: str = "g"
) -> dict[str, Any]:
    return {"group": group, "kind": kind, "member": member, "source": source, "seq": seq, "time_us": time_us}


class InventedTrace:
    """A group with a slow member, and one that stops receiving from one source; at least 80 messages each."""

    def __init__(
        self,
        *,
        members: int = 8,
        sources: int = 5,
        messages: int = 400,
        seed: int = 1,
        sized: bool = True,
        first_us: int = 1_700_000_000_000_000,
        names: Sequence[str] = (),
        group: str = "orders",
    ) -> None:
        rng = np.random.default_rng(seed)
        self.group, self.first_us = group, first_us
        self.members = [*names, *(f"member-{k}" for k in range(len(names), members))]
        self.sources = self.members[:sources]
        self.sizes = rng.integers(200, 5000, (sources, messages)) if sized else None
        self.sent = first_us + np.cumsum(rng.exponential(20_000, (sources, messages)), axis=1).astype(
            np.int64
        )
        slow = np.where(np.arange(members) == members - 1, 6.0, 1.0)
        delay = rng.lognormal(8.5, 0.7, (sources, messages, members)) * slow
        self.had = self.sent[:, :, None] + delay.astype(np.int64)
        for k in range(sources):
            self.had[k, :, k] = self.sent[k]
        self.stable = self.had.max(axis=2)
        # From three quarters on, the second member gets nothing more from the first.
        self.stopped = messages * 3 // 4
        self.known = self.stable + rng.lognormal(9, 0.5, self.stable.shape).astype(np.int64)
        self.last_us = int(self.known.max()) + 1000

    def is_stable(self, source: int, number: int) -> bool:
        return not (source == 0 and number >= self.stopped)

    def messages(self) -> Rows:
        rows = []
        for s, name in enumerate(self.sources):
            for n in range(self.sent.shape[1]):
                done = self.is_stable(s, n)
                stable, known = (int(self.stable[s, n]), int(self.known[s, n])) if done else (None, None)
                last = self.members[int(self.had[s, n].argmax())] if done else None
                rows.append(
                    {
                        **{
                            "group": self.group,
                            "source": name,
                            "seq": n + 1,
                            "sent_us": int(self.sent[s, n]),
                        },
                        **{"bytes": None if self.sizes is None else int(self.sizes[s, n])},
                        **{"stable_us": stable, "last_member": last, "required": len(self.members)},
                        "received": len(self.members) - (0 if done else 1),
                        **{"detected_first_us": stable, "detected_last_us": known},
                        **{"released_first_us": known, "released_last_us": known},
                    }
                )
        return rows

    def frontiers(self) -> Rows:
        rows = []
        for s, name in enumerate(self.sources):
            until = self.stopped if s == 0 else self.sent.shape[1]
            reached = np.maximum.accumulate(self.stable[s, :until])
            for n in range(until):
                if n + 1 == until or reached[n + 1] > reached[n]:
                    sent = int(np.searchsorted(self.sent[s], reached[n], side="right"))
                    row = {"time_us": int(reached[n]), "sent": sent, "stable": n + 1}
                    rows.append({"group": self.group, "source": name, **row})
        return rows

    def held(self, member: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """From when, until when, and how large: what a member held."""
        begin, end = self.had[:, :, member].copy(), self.known.copy()
        end[0, self.stopped :] = self.last_us + 1
        if member == 1:
            begin[0, self.stopped :] = end[0, self.stopped :] = 0
        sizes = np.zeros_like(begin) if self.sizes is None else self.sizes
        return begin.ravel(), np.maximum(begin, end).ravel(), sizes.ravel()

    def occupancy(self, cells: int = 512) -> Rows:
        rows = []
        for k, name in enumerate(self.members):
            begin, end, sizes = self.held(k)
            before = (0, 0)
            for cell in range(1, cells + 1):
                at = self.first_us + cell * (self.last_us - self.first_us) // cells
                there = (begin <= at) & (at < end)
                now = (int(there.sum()), int(sizes[there].sum()))
                if now != before:
                    row = {"time_us": at, "messages": now[0], "bytes": now[1]}
                    rows.append({"group": self.group, "member": name, **row})
                before = now
        return rows

    def buffers(self) -> Rows:
        rows = []
        for k, name in enumerate(self.members):
            begin, end, sizes = self.held(k)
            order = np.argsort(np.concatenate([begin, end]), kind="stable")
            ones = np.concatenate([np.ones_like(begin), -np.ones_like(begin)])
            peak = int(np.cumsum(ones[order]).max())
            peak_bytes = int(np.cumsum((ones * np.concatenate([sizes, sizes]))[order]).max())
            row = {"messages_max": peak, "bytes_max": peak_bytes, "message_us": int((end - begin).sum())}
            rows.append({"group": self.group, "member": name, **row})
        return rows

    def laggards(self) -> Rows:
        ordered = np.sort(self.had, axis=2)
        late = ordered[:, :, -1] - ordered[:, :, -2]
        last = self.had.argmax(axis=2)
        done = np.ones(late.shape, dtype=bool)
        done[0, self.stopped :] = False
        sizes = np.zeros_like(late) if self.sizes is None else self.sizes
        rows = []
        for k, name in enumerate(self.members):
            mine = done & (last == k)
            if mine.any():
                held = {
                    "held_us": int(late[mine].sum()),
                    "held_bytes_us": Decimal(int((late * sizes)[mine].sum())),
                }
                rows.append({"group": self.group, "member": name, "completed_last": int(mine.sum()), **held})
        return rows

    def violations(self) -> Rows:
        """Some of each kind; those about messages that are there are true of them."""
        first, second, third = self.members[:3]
        rows = []
        for n in range(20, 80):
            rows.append(
                violation("duplicate", third, second, n, int(self.had[1, n - 1, 2]) + 900, self.group)
            )
        for n in (30, 31, 40):
            at = int(self.stable[1, n - 1]) - 3100
            rows.append(violation("early_release", third, second, n, at, self.group))
        end = self.sent.shape[1]
        rows.append(violation("early_release", third, first, end, self.last_us - 500, self.group))
        rows.append(violation("early_stable", third, first, end, self.last_us - 700, self.group))
        rows.append(violation("receive_before_send", third, second, 9, int(self.sent[1, 8]) - 40, self.group))
        rows.append(violation("missing_send", third, second, end + 7, self.first_us + 77, self.group))
        rows.append(violation("sent_again", second, second, 5, int(self.sent[1, 4]) + 2_000_000, self.group))
        rows.append(violation("receive_after_departure", third, second, 6, self.last_us - 900, self.group))
        return rows

    def source_rows(self) -> Rows:
        rows = []
        count = self.sent.shape[1]
        for s, name in enumerate(self.sources):
            until = self.stopped if s == 0 else count
            row = {"messages": count, "first_seq": 1, "last_seq": count, "stable_seq": until}
            waiting = {"waiting_for": [self.members[1]], "waiting": 1} if until < count else {}
            stable_us = int(self.stable[s, :until].max())
            rows.append({"group": self.group, "source": name, **row, "stable_us": stable_us, **waiting})
        return rows

    def summary(self) -> dict[str, Any]:
        count = self.sent.size
        return {
            **{"version": "0.1.0", "events": count * (len(self.members) + 3), "groups": 1},
            "kinds": {"send": count, "receive": count * len(self.members), "stable": count, "release": count},
            **{"members": len(self.members), "sources": len(self.sources), "messages": count},
            **{"first_us": self.first_us, "last_us": self.last_us, "bad_rows": 3},
            "bad_rows_by_reason": {"unknown kind 'sned'": 2, "no time": 1},
            **{"inputs": ["logs/*.parquet"], "wall_s": 12.345, "spark": "4.3.0", "master": "local[2]"},
            "first_seq": 1,
        }

    def tables(self, *, optional: bool = True) -> dict[str, Rows]:
        needed = {
            **{"messages": self.messages(), "frontiers": self.frontiers(), "buffers": self.buffers()},
            **{"laggards": self.laggards(), "violations": self.violations()},
        }
        return (
            {**needed, "occupancy": self.occupancy(), "sources": self.source_rows()} if optional else needed
        )


def write_sample(folder: Path, *, optional: bool = True, **options: Any) -> Path:
    """Write the analysis of an invented trace."""
    trace = InventedTrace(**options)
    return write_analysis(folder, trace.summary() if optional else None, **trace.tables(optional=optional))
