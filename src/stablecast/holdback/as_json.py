"""An answer as plain values, with the names of the tables of positions where they have one."""

from __future__ import annotations

from typing import Any

from stablecast.holdback.answer import Answer, Blocker, Row
from stablecast.holdback.frontier import Standing
from stablecast.holdback.model import Amount, Snapshot
from stablecast.holdback.numbering import Numbering
from stablecast.holdback.rates import Full


def as_json(answer: Answer) -> dict[str, Any]:
    """Return what ``--json`` prints."""
    return {
        "time_us": answer.time_us,
        "servers": [_server(answer, one) for one in answer.snapshots],
        "blockers": [_blocker(one) for one in answer.blockers],
        "sources": [_source(answer, row) for row in answer.rows],
        "problems": list(answer.problems),
    }


def _server(answer: Answer, snapshot: Snapshot) -> dict[str, Any]:
    return {
        "server": snapshot.server,
        "asked": snapshot.scope,
        "system": snapshot.system,
        "time_us": snapshot.time_us,
        "sources": len(snapshot.logs),
        **_full(answer.full.get(snapshot.server)),
    }


def _blocker(one: Blocker) -> dict[str, Any]:
    return {
        "server": one.server,
        "member": one.member,
        "sources": one.logs,
        **_amount("held", one.held),
        **_amount("frees", one.frees),
        "behind_since_us": one.since_us,
    }


def _source(answer: Answer, row: Row) -> dict[str, Any]:
    found, log = row.frontier, row.frontier.log
    narrow, text = log.numbering.narrow, log.numbering.text
    return {
        "server": row.snapshot.server,
        "group": log.group,
        "source": log.source,
        "first_seq": narrow(log.first_seq),
        "last_seq": narrow(log.head),
        "stable_seq": narrow(found.stable_seq),
        "stable_id": text(found.stable_seq),
        "waiting_for": list(found.waiting_for[:10]),
        "waiting": len(found.waiting_for),
        "oldest_us": found.since_us,
        "retained_bytes": found.held.bytes,
        **_amount("held", found.held),
        **_amount("deletable", found.deletable),
        **_amount("kept", log.kept),
        "items_per_s": row.rate.items_per_s if row.rate else None,
        "bytes_per_s": row.rate.bytes_per_s if row.rate else None,
        **_full(row.full),
        "remarks": list(log.remarks),
        "details": dict(log.details),
        "readers": [_reader(answer, row, one, log.numbering) for one in found.standings],
    }


def _reader(answer: Answer, row: Row, one: Standing, numbering: Numbering) -> dict[str, Any]:
    reader, log = one.reader, row.frontier.log
    last, reached = numbering.narrow(log.head), numbering.narrow(log.head - one.lag)
    return {
        "member": reader.member,
        "position": None if reader.position is None else numbering.narrow(reader.position),
        "position_id": None if reader.position is None else numbering.text(reader.position),
        "lag": None if last is None or reached is None or not reader.holds else last - reached,
        "behind_since_us": reader.behind_since_us,
        "without_seq": numbering.narrow(one.without_seq),
        "without_id": numbering.text(one.without_seq),
        "blocks": one.blocks,
        "holds": reader.holds,
        "gone": answer.is_gone(row, reader),
        "never_read": reader.never_read,
        "lost": one.lost,
        "unsure": reader.unsure,
        "seen_us": reader.seen_us,
        **_amount("held", reader.behind),
        **_amount("frees", one.frees),
        "next_blockers": list(one.next_blockers),
        "details": dict(reader.details),
    }


def _amount(name: str, amount: Amount) -> dict[str, Any]:
    told: dict[str, Any] = {f"{name}_items": amount.items, f"{name}_bytes": amount.bytes}
    return told | ({f"{name}_estimated": True} if amount.estimated else {})


def _full(end: Full | None) -> dict[str, Any]:
    if end is None:
        return {"full_in_s": None, "full_then": None, "rate_over_s": None}
    return {"full_in_s": end.in_s, "full_then": end.then, "rate_over_s": end.over_s}
