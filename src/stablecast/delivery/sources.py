"""What may be deleted of each source, and whom the rest waits for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from stablecast.compiling import kernel
from stablecast.delivery.happened import Ordered
from stablecast.delivery.judge import Messages, Waiting
from stablecast.delivery.kinds import EVER, NEVER, Ints, Longs, chosen
from stablecast.delivery.line import Line, Runs
from stablecast.delivery.tables import SCHEMAS, Names


class Ends(NamedTuple):
    """Of each run of numbers: how far the stable prefix of its source reaches, and who is waited for."""

    stable_seq: Longs
    """The last message of the run that the prefix reaches; EVER if it reaches none."""
    stable_us: Longs
    waiting: Ints
    """How many lack the message after the prefix, if that is in this run; -1 if it is not."""
    waiting_for: Ints
    """The first of them, a row for each run."""


def waiting_in(runs: Runs, order: Ordered, waiting: Waiting) -> Waiting:
    """Return who is waited for in each of these runs, which are some of those that anything is told of."""
    if len(runs.source) == len(order.run_source):
        return waiting
    every = zip(order.run_source.tolist(), order.run_number.tolist(), strict=True)
    place = {key: k for k, key in enumerate(every)}
    asked = zip(runs.source.tolist(), runs.number.tolist(), strict=True)
    return chosen(waiting, np.array([place[key] for key in asked], np.int64))


def ends_of(starts: Longs, messages: Messages, line: Line, waiting: Waiting) -> Ends:
    """Find the end of the stable prefix in each run; ``waiting`` is of the same runs."""
    count = len(starts) - 1
    ends = Ends(
        np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int32), waiting.stays
    )
    find_ends(starts, messages, line, waiting.lacking, ends)
    return ends


@kernel
def find_ends(starts: Longs, messages: Messages, line: Line, lacking: Ints, ends: Ends) -> None:
    """Go through the messages of each run."""
    for run in range(starts.size - 1):
        ends.stable_seq[run] = EVER
        ends.stable_us[run] = EVER
        ends.waiting[run] = -1
        for m in range(starts[run], starts[run + 1]):
            if line.prefix[m] < NEVER and line.whole[m]:
                ends.stable_seq[run] = messages.seq[m]
                ends.stable_us[run] = line.prefix[m]
            elif messages.stable[m] == NEVER:
                # The first that is not stable, if all before it are: else an earlier run has the first.
                if line.whole[m] and (m == starts[run] or line.prefix[m - 1] < NEVER):
                    ends.waiting[run] = lacking[run]
                break


def sources_table(runs: Runs, open_before: Longs, ends: Ends, names: Names) -> pa.Table:
    """Return one row for each source that sent anything, from runs of whole sources in order."""
    sent = np.flatnonzero(runs.messages > 0)
    source = runs.source[sent]
    firsts = np.flatnonzero(np.concatenate([[len(source) > 0], source[1:] != source[:-1]]))
    lasts = np.append(firsts[1:], len(source)) - 1 if len(firsts) else firsts
    count = len(firsts)
    stable_seq = np.maximum.reduceat(ends.stable_seq[sent], firsts) if count else np.zeros(0, np.int64)
    stable_us = np.maximum.reduceat(ends.stable_us[sent], firsts) if count else np.zeros(0, np.int64)
    none = stable_seq == EVER
    waits = np.flatnonzero((ends.waiting[sent] >= 0) & (open_before[sent] == 0))
    of_source = np.searchsorted(firsts, waits, "right") - 1
    waiting, named = _waiting(ends, sent[waits], of_source, count, names)
    who = source[firsts].astype(np.int32)
    columns = [
        names.group(who),
        names.name(who),
        np.add.reduceat(runs.messages[sent], firsts) if count else np.zeros(0, np.int64),
        runs.first_seq[sent][firsts],
        runs.last_seq[sent][lasts],
        pa.array(stable_seq, mask=none),
        pa.array(stable_us, mask=none),
        named,
        waiting,
    ]
    schema = SCHEMAS["sources"]
    cast = [pa.array(column) if isinstance(column, np.ndarray) else column for column in columns]
    return pa.table(
        [column.cast(field.type) for column, field in zip(cast, schema, strict=True)], schema=schema
    )


def _waiting(ends: Ends, runs: Ints, of_source: Ints, count: int, names: Names) -> tuple[pa.Array, pa.Array]:
    """Return how many each source waits for, and their names."""
    lacking = ends.waiting[runs]
    shown = np.minimum(lacking, ends.waiting_for.shape[1])
    counts = np.zeros(count, np.int64)
    counts[of_source] = shown
    waiting = np.zeros(count, np.int32)
    waiting[of_source] = lacking
    absent = waiting == 0
    rows = [ends.waiting_for[run, :many] for run, many in zip(runs, shown, strict=True)]
    flat = np.concatenate([np.zeros(0, np.int32), *rows])
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    mask = pa.array(absent)
    named = pa.ListArray.from_arrays(pa.array(offsets), names.stay(flat).cast(pa.string()), mask=mask)
    return pa.array(waiting, mask=absent), named
