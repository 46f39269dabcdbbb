"""Which systems a plan can be executed on, and the commands for those that it cannot."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from stablecast.errors import InvalidInput
from stablecast.holdback.trimming.plan import Done, Plan, Step

EXECUTED = ("redis", "jetstream")
PLANNED = (*EXECUTED, "kafka")
_WHY_NOT = {
    "postgresql": "PostgreSQL deletes at a checkpoint what its slots have passed"
    " (what can be removed is a slot: SELECT pg_drop_replication_slot('NAME'))",
    "stablecast": "a group lets go of what is stable by itself",
}


def check_system(system: str, accepted: Sequence[str] = PLANNED) -> None:
    """Refuse systems that nothing is to be trimmed of."""
    if system not in accepted:
        why = _WHY_NOT.get(system, "the plan prints the command to run")
        raise InvalidInput(f"nothing can be trimmed of {system}: {why}")


def executor(system: str) -> Callable[[Any, Step], Done]:
    """Return what executes a step on a system."""
    check_system(system, EXECUTED)
    if system == "redis":
        from stablecast.holdback.trimming import redis

        return redis.execute
    from stablecast.holdback.trimming import nats

    return nats.execute


def kafka_file(plan: Plan) -> str | None:
    """Return the file for ``kafka-delete-records`` that does what is planned; None if nothing is."""
    partitions = []
    for step in plan.steps:
        if step.snapshot.system == "kafka" and not step.is_empty:
            topic, _, number = step.log.source.rpartition("-")
            partitions.append({"topic": topic, "partition": int(number), "offset": step.up_to})
    return json.dumps({"partitions": partitions, "version": 1}) if partitions else None


def kafka_command(server: str) -> str:
    """Return the command for the file."""
    where = server.removeprefix("kafka://")
    return f"kafka-delete-records.sh --bootstrap-server {where} --offset-json-file delete.json"
