"""What ``stablecast node`` says: a line for people, or a JSON object, for each thing that happens."""

from __future__ import annotations

import base64
import dataclasses
import json
import re
from collections.abc import Sequence
from typing import Any

from stablecast.engine.results import Delivery, Event, Outcome, ProbablyStable, Released, Stable, TimedOut
from stablecast.live.words import in_words, names
from stablecast.words import printable


class Lines:
    """Makes lines of one kind."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json

    def joined(self, *, group: str, me: str, address: str, members: Sequence[str], command: str) -> str:
        """Say where this member is, and how others come to it."""
        fields = {"group": group, "member": me, "address": address, "members": list(members), "join": command}
        size = "1 member" if len(members) == 1 else f"{len(members)} members"
        text = f"{me} is in group {group} at {address} ({size})"
        return self._line("joined", fields, f"{text}; others join with: {command}")

    def deliveries(self, batch: list[Delivery]) -> str:
        """Show messages."""
        return "".join(map(self._delivery, batch))

    def _delivery(self, delivery: Delivery) -> str:
        fields = {"source": delivery.source, "seq": delivery.seq, **_payload(delivery.payload)}
        text = printable(delivery.payload.decode("utf-8", "replace"))
        return self._line("delivery", fields, f"{delivery.source}/{delivery.seq}: {text}")

    def outcome(self, outcome: Outcome) -> str:
        """Say what became of an own message."""
        source, seq = outcome.id
        fields: dict[str, Any] = {"source": source, "seq": seq, "seconds": round(outcome.seconds, 6)}
        if isinstance(outcome, TimedOut):
            return self._line("not_stable", fields, f"not stable: {source}/{seq}")
        gone = () if isinstance(outcome, Stable) else outcome.gone
        fields |= {"members": list(outcome.members), "gone": list(gone)}
        text = f"{source}/{seq} at {names(outcome.members)} after {outcome.seconds * 1000:.1f} ms"
        text += f"; gone: {names(gone)}" if gone else ""
        if isinstance(outcome, ProbablyStable):
            fields["p_fail"] = outcome.p_fail
            return self._line(
                "probably_stable", fields, f"probably stable: {text}; P_fail {outcome.p_fail:.2g}"
            )
        return self._line("stable", fields, f"stable: {text}")

    def event(self, event: Event) -> str:
        """Tell what happened in the group; nothing of copies that were let go."""
        if isinstance(event, Released):
            return ""
        kind = re.sub(r"(?<!^)([A-Z])", r"_\1", type(event).__name__).lower()
        return self._line(kind, dataclasses.asdict(event), in_words(event))

    def left(self, group: str, me: str) -> str:
        """Say that this member has left."""
        return self._line("left", {"group": group, "member": me}, f"{me} has left group {group}")

    def _line(self, kind: str, fields: dict[str, Any], text: str) -> str:
        if self._as_json:
            return json.dumps({"event": kind, **fields}, ensure_ascii=False) + "\n"
        return text + "\n"


def _payload(payload: bytes) -> dict[str, str]:
    try:
        return {"text": payload.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(payload).decode()}
