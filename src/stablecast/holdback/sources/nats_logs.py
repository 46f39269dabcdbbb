"""From what JetStream told of a stream to a log with its readers; the theory is in :mod:`.nats`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    copies: Sequence[Copy] = ()
    """Streams that take from this one."""
    subjects: Mapping[str, int] | None = field(default_factory=dict)
    """How many messages are kept of each subject, where no consumer gets all; None if that is not known."""
    missing: Sequence[str] = ()
    """Consumers that a cluster has, and that do not answer."""


def unheard(told: Told) -> str:
    """Name the consumers that do not answer."""
    return f"consumers that do not answer: {', '.join(told.missing)}"


@dataclass(frozen=True)
class Copy:
    """A stream of the same account that mirrors another one, or sources it."""

    kind: str
    name: str
    position: int | None
    """The last number that it has; None if that is not known."""
    lag: int | None
    away: bool
    """Whether it may be another stream of the same name that it takes from, of another account or domain."""


SOURCED = "what a stream that sources it has is not known"
SENT = "it acknowledges nothing (ack_policy none), so what it has is not known"


def copies_of(streams: Sequence[Reply]) -> dict[str, list[Copy]]:
    """Return for each stream those that mirror or source it, or one of its name elsewhere."""
    found: dict[str, list[Copy]] = {}
    for one in streams:
        config, told = one["config"], {each["name"]: each for each in one.get("sources") or ()}
        mirror = config.get("mirror")
        taken = [("mirror", mirror, one["state"]["last_seq"])] if mirror else []
        taken += [("source", each, None) for each in config.get("sources") or ()]
        for kind, what, position in taken:
            if what["name"] != config["name"]:
                lag = told.get(what["name"], {}).get("lag")
                copy = Copy(kind, config["name"], position, lag, bool(what.get("external")))
                found.setdefault(what["name"], []).append(copy)
    return found


def filters_of(consumer: Reply) -> list[str]:
    """Return the subjects that a consumer gets; none if it gets all."""
    config = consumer["config"]
    named = config.get("filter_subjects") or list(filter(None, [config.get("filter_subject")]))
    return [] if ">" in named else named


def covers(wanted: str, subject: str) -> bool:
    """Tell whether a filter, which may have wildcards, lets a subject through."""
    words, given = wanted.split("."), subject.split(".")
    if words[-1] == ">" and len(given) >= len(words):
        words, given = words[:-1], given[: len(words) - 1]
    same = zip(words, given, strict=False)
    return len(words) == len(given) and all(one in ("*", two) for one, two in same)


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
        readers=(
            *(_reader(one, told, state) for one in told.consumers),
            *(_copying(one, told, state) for one in told.copies if not one.away),
        ),
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
        untrimmable=_untrimmable(told),
        remarks=_uncovered(told),
    )


NAMED = 5
"""So many subjects that nobody gets are named."""


def _uncovered(told: Told) -> tuple[str, ...]:
    """Tell which subjects are kept that no consumer gets."""
    if told.subjects is None:
        return ("which subjects no consumer gets is not known: there is no right to ask",)
    filters = [one for consumer in told.consumers for one in filters_of(consumer)]
    alone = {
        subject: count
        for subject, count in sorted(told.subjects.items())
        if not any(covers(one, subject) for one in filters)
    }
    if not alone:
        return ()
    names = ", ".join(list(alone)[:NAMED]) + (
        f" and {len(alone) - NAMED:,} more" if len(alone) > NAMED else ""
    )
    return (f"no consumer gets {names} (messages kept: {sum(alone.values()):,})",)


def _copying(copy: Copy, told: Told, state: Reply) -> Reader:
    """Return a mirror, or a stream that sources this one, as a reader."""
    last, position = told.state["last_seq"], copy.position
    if position is None and copy.lag is not None:
        position = max(0, last - copy.lag)
    position = None if position is None else min(position, last)
    reached = told.state["first_seq"] - 1 if position is None else position
    following = told.times.get(reached)
    return Reader(
        member=f"{copy.kind} {copy.name}",
        position=position,
        exact=reached >= state["last_seq"] or (following is not None and following[0] == reached + 1),
        behind=_behind(reached, state),
        behind_since_us=following[1] if following and reached < state["last_seq"] else None,
        details={"kind": copy.kind, "stream": copy.name, "lag": copy.lag},
        unsure=SOURCED if copy.kind == "source" else None,
    )


def _untrimmable(told: Told) -> str | None:
    """Return why a stream must not be trimmed, whatever its consumers have."""
    if (retention := told.config["retention"]) != "limits":
        return f"with retention {retention} the server itself deletes what is done"
    if told.missing:
        return unheard(told)
    away = [one.name for one in told.copies if one.away]
    return f"it is not known whether {away[0]} takes from it" if away else None


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
            "deliveries": consumer["delivered"]["consumer_seq"],
        },
        unsure=SENT if config.get("ack_policy") == "none" else None,
    )


def _connected(consumer: Reply, config: Reply) -> bool | None:
    """Tell whether anybody listens; of a pull consumer that nobody waits at just now, nobody knows."""
    if config.get("deliver_subject"):
        return bool(consumer.get("push_bound"))
    return True if consumer.get("num_waiting") else None


def _behind(position: int, state: Reply) -> Amount:
    """Return what is kept above a position."""
    items = min(state["messages"], max(0, state["last_seq"] - position))
    guessed = bool(items and state.get("num_deleted") and position >= state["first_seq"])
    return Amount(items, state["bytes"] * items // max(1, state["messages"]), guessed)


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
