"""Purging a JetStream stream up to what all consumers have acknowledged.

Theory
    JetStream purges what is before a number, and has no way to do so only if consumers are as they were.  So
    the consumers are looked at once more just before the purge, and the lower of the frontier then and of the
    planned one is taken.  Acknowledgements only rise, so what an existing consumer had acknowledged at that
    look it has acknowledged at the purge.  A consumer that is made in between and wants to begin with the
    oldest message begins with the oldest that is left, as if it had been made after the purge.
Rights
    Besides those of looking, publish to ``$JS.API.STREAM.PURGE.*``.
"""

from __future__ import annotations

from stablecast.holdback.frontier import without
from stablecast.holdback.sources.nats import NatsSource
from stablecast.holdback.trimming.plan import Done, Step


def execute(source: NatsSource, step: Step) -> Done:
    """Purge one stream as far as is planned, or less if a consumer needs more now."""
    now = next((log for log in source.take().logs if log.source == step.log.source), None)
    if now is None:
        return Done(0, "", None, "it is gone")
    before = {one.reader.member: one.reader.position for one in step.ignored}
    idle = {one.member for one in now.readers if before.get(one.member, -1) == one.position}
    found = without(now, idle)
    if not any(one.holds for one in found.log.readers):
        return Done(0, "", None, "nobody reads it now")
    last = min(step.up_to, found.stable_seq)
    by = found.waiting_for[0] if found.stable_seq < step.up_to and found.waiting_for else None
    if last < now.first_seq:
        return Done(0, str(now.first_seq), by)
    return Done(source.purge(step.log.source, last + 1), str(last + 1), by)
