"""From what JetStream told of a stream to a log with its readers; the theory is in :mod:`.nats`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stablecast.holdback.model import Amount, Log, Rate, Reader, Room

Reply = Mapping[str, Any]


@dataclass(frozen=True)
class Told:
    """A stream as it was before its consumers were asked for, and these."""

    name: str
    config: Reply
    state: Reply
    consumers: Sequence[Reply]
    times: Mapping[int, tuple[int, int | None]]
    """For a position the next message that there is, and when it came."""


def floor_of(consumer: Reply, last_seq: int) -> int:
    """Return the number up to which a consumer asks for nothing again."""
    floor = int(consumer["ack_floor"]["stream_seq"])
    if consumer["num_pending"] == 0 and consumer["num_ack_pending"] == 0:
        return max(floor, last_seq)
    return floor


def log_of(server: str, told: Told, state: Reply, now_us: int) -> Log:
    """Put together what is known of a stream; ``state`` is that of the end."""
    since = microseconds(state["first_ts"]) if state["messages"] else None
    over_s = 0.0 if since is None else (now_us - since) / 1e6
    return Log(
        group=f"{server}/{told.name}",
        source=told.name,
        head=state["last_seq"],
        first_seq=told.state["first_seq"] or 1,
        readers=tuple(_reader(one, told, state) for one in told.consumers),
        kept=Amount(state["messages"], state["bytes"]),
        kept_since_us=since,
        sent=Amount(state["last_seq"]),
        room=_room(told.config, state),
        rate=Rate(state["messages"] / over_s, state["bytes"] / over_s, over_s) if over_s >= 1 else None,
        details={
            "retention": told.config["retention"],
            "num_deleted": state.get("num_deleted", 0),
            "max_age": told.config.get("max_age", 0),
        },
    )


def _reader(consumer: Reply, told: Told, state: Reply) -> Reader:
    config = consumer["config"]
    position = floor_of(consumer, told.state["last_seq"])
    following = told.times.get(position)
    filters = config.get("filter_subjects") or list(filter(None, [config.get("filter_subject")]))
    at_end = position >= state["last_seq"]
    dense = following[0] == position + 1 if following else not state.get("num_deleted")
    active = [
        microseconds(consumer[which]["last_active"])
        for which in ("delivered", "ack_floor")
        if "last_active" in consumer[which]
    ]
    return Reader(
        member=consumer["name"],
        position=position,
        exact=at_end or (dense and not filters),
        behind=_behind(position, state),
        behind_since_us=following[1] if following and not at_end else None,
        connected=_connected(consumer, config),
        seen_us=max((one for one in active if one is not None), default=None),
        never_read=consumer["delivered"]["consumer_seq"] == 0,
        details={
            "ack_floor": consumer["ack_floor"]["stream_seq"],
            "delivered": consumer["delivered"]["stream_seq"],
            "num_pending": consumer["num_pending"],
            "num_ack_pending": consumer["num_ack_pending"],
            "num_waiting": consumer.get("num_waiting", 0),
            "ack_policy": config.get("ack_policy"),
            "filter_subjects": " ".join(filters),
            "durable": bool(config.get("durable_name")),
        },
    )


def _connected(consumer: Reply, config: Reply) -> bool | None:
    """Tell whether anybody listens; of a pull consumer that nobody waits at just now, nobody knows."""
    if config.get("deliver_subject"):
        return bool(consumer.get("push_bound"))
    return True if consumer.get("num_waiting") else None


def _behind(position: int, state: Reply) -> Amount:
    """Return what is kept above a position."""
    items = min(state["messages"], max(0, state["last_seq"] - position))
    return Amount(items, state["bytes"] * items // max(1, state["messages"]))


def _room(config: Reply, state: Reply) -> Room | None:
    limits = {name: config.get(name, -1) for name in ("max_msgs", "max_bytes")}
    if all(limit <= 0 for limit in limits.values()):
        return None
    items = max(0, limits["max_msgs"] - state["messages"]) if limits["max_msgs"] > 0 else None
    size = max(0, limits["max_bytes"] - state["bytes"]) if limits["max_bytes"] > 0 else None
    then = "new messages are refused" if config.get("discard") == "new" else "old messages are dropped"
    return Room(Amount(items, size), then)


def microseconds(text: str) -> int | None:
    """Return a time that JetStream tells, which has up to nine places; None for the year 1."""
    if text.startswith("0001-"):
        return None
    cut = re.sub(r"(\.\d{6})\d+", r"\1", text.replace("Z", "+00:00"))
    return round(datetime.fromisoformat(cut).timestamp() * 1e6)
