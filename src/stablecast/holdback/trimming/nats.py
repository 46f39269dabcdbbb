"""Purging a JetStream stream up to what all consumers have acknowledged.

Theory
    JetStream purges what is before a number, and has no way to do so only if consumers are as they were.  So
    the consumers are looked at once more just before the purge, and the lower of the frontier then and of the
    planned one is taken.  Acknowledgements only rise, so what an existing consumer had acknowledged at that
    look it has acknowledged at the purge.  A consumer that is made in between and wants to begin with the
    oldest message begins with the oldest that is left, as if it had been made after the purge.
    Mirrors are not looked at again: they only rise too, and the plan has not gone beyond them.  One that is
    made in between begins like a consumer.
Rights
    Besides those of looking, publish to ``$JS.API.STREAM.INFO.*`` and ``$JS.API.STREAM.PURGE.*``.
"""

from __future__ import annotations

from dataclasses import replace

from stablecast.holdback.frontier import without
from stablecast.holdback.sources.nats import NatsSource
from stablecast.holdback.trimming.plan import NOBODY, Done, Step, mark_of, refusal


def execute(source: NatsSource, step: Step) -> Done:
    """Purge one stream as far as is planned, or less if a consumer needs more now."""
    seen = source.look_again(step.log.source)
    if seen is None:
        return Done(0, "", None, "it is gone")
    mirrors = (one for one in step.log.readers if "kind" in one.details)
    now = replace(seen, readers=(*seen.readers, *mirrors))
    before = {one.reader.member: mark_of(one.reader) for one in step.ignored}
    found = without(now, {one.member for one in now.readers if before.get(one.member) == mark_of(one)})
    refused = now.untrimmable or refusal(found.log.readers)
    if refused:
        return Done(0, "", None, "nobody reads it now" if refused == NOBODY else refused)
    last = min(step.up_to, found.stable_seq)
    by = found.waiting_for[0] if found.stable_seq < step.up_to and found.waiting_for else None
    if last < now.first_seq:
        return Done(0, str(now.first_seq), by)
    return Done(source.purge(step.log.source, last + 1), str(last + 1), by)
