"""Violations, part by part of a stream: each is reported for good once nothing to come can take it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from stablecast.pipeline.analysis import detection, tables, violations

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from stablecast.pipeline.analysis.stream.fold import Part

_EVENT = ("src", "seq", "who", "kind", "time_us")
_DONE_ONCE = """
    inline(filter(array(
        struct('send' as kind, sent as time_us), struct('receive' as kind, have as time_us),
        struct('release' as kind, released as time_us), struct('stable' as kind, claimed as time_us)),
        e -> e.time_us is not null))
"""


def write_violations(part: Part) -> None:
    """Write violations, those of this part that are final and those that are open."""
    work = part.work
    repeats = work.keep("repeats", _repeats(part))
    early = work.keep("early", detection.early_claims(part.claims, part.line, part.runs))
    final = [
        violations.as_kind("duplicate", repeats.where("kind = 'receive'")),
        violations.as_kind("sent_again", repeats.where("kind = 'send'"), who="src"),
    ]
    if part.membership.shape.departures:
        final.append(violations.of_departed(part.numbered))
    absorbed, rest = (
        part.absorbed,
        part.line.join(part.absorbed.select("src", "seq"), ["src", "seq"], "left_anti"),
    )
    final.append(violations.of_line(absorbed))
    still = [violations.of_line(rest)]
    beyond = detection.claims_of_unsent(part.claims, part.runs)
    still.append(violations.of_unsent(part.bare.where("sent is null"), beyond))
    repeated = repeats.where("kind in ('release', 'stable')").union(_old(part, "repeats").select(*_EVENT))
    told = work.keep("told", _not_reported(part, _of_messages(part, early, repeated)))
    now = part.marks.select(F.col("mid").alias("src"), "now")
    placed = told.join(F.broadcast(now), "src").withColumn("sure", F.expr("known < now")).drop("now", "known")
    final.append(placed.where("sure").select(*violations.COLUMNS))
    still.append(placed.where("not sure").select(*violations.COLUMNS))
    work.write("final-violations", tables.violations_table(violations.all_of(final), part.names).coalesce(2))
    work.write("open-violations", tables.violations_table(violations.all_of(still), part.names).coalesce(2))
    _carry_violations(part, repeated, placed.where("sure").drop("sure"))


def _old(part: Part, name: str) -> DataFrame:
    return part.numbers.of_pair(part.carry.table(name))


def _repeats(part: Part) -> DataFrame:
    """Return what was done once more in this part, as events."""
    pairs, sends = violations.repeated_keys(part.bare)
    new = part.numbered.where("not late").select(*_EVENT)
    once = part.old_pairs.select("src", "seq", "who", F.expr(_DONE_ONCE)).select(*_EVENT)
    every = new.union(once)
    again = violations.but_first(
        every.where("kind != 'send'").join(pairs, ["src", "seq", "who"]), list(_EVENT[:4])
    )
    sent = violations.but_first(every.where("kind = 'send'").join(sends, ["src", "seq"]), ["src", "seq"])
    return again.select(*_EVENT).union(sent.select(*_EVENT))


def _of_messages(part: Part, early: DataFrame, repeated: DataFrame) -> DataFrame:
    """Return what is wrong with open messages, with when the last of what shows it was: kind, ..., known."""
    messages = part.judged.select("src", "seq", "sent", "stable")
    found = violations.of_messages(part.judged)
    again = repeated.where("kind = 'release'").drop("kind").join(messages, ["src", "seq"])
    found = found.union(
        violations.as_kind("early_release", again.where("stable is null or time_us < stable"))
    )
    with_sent = found.join(messages.select("src", "seq", "sent"), ["src", "seq"])
    of_messages = with_sent.withColumn("known", F.greatest("time_us", "sent")).drop("sent")
    claims = violations.of_claims(early)
    first = early.where("again").select("src", "seq", "who", "truth")
    once_more = repeated.where("kind = 'stable'").drop("kind").join(first, ["src", "seq", "who"])
    claims = claims.union(
        violations.as_kind("early_stable", once_more.where("truth is null or time_us < truth"))
    )
    of_claims = claims.withColumn("known", F.col("time_us"))
    return of_messages.select(*violations.COLUMNS, "known").union(
        of_claims.select(*violations.COLUMNS, "known")
    )


def _not_reported(part: Part, found: DataFrame) -> DataFrame:
    key = ["kind", "src", "seq", "who", "time_us"]
    return found.join(_old(part, "accused").select(*key), key, "left_anti")


def _carry_violations(part: Part, repeated: DataFrame, reported: DataFrame) -> None:
    """Carry on what is needed to report nothing twice, for messages and claims that stay."""
    work, numbers = part.work, part.numbers
    left = part.judged.where("leaves").select("src", "seq")
    staying = repeated.join(left, ["src", "seq"], "left_anti")
    work.carry("repeats", numbers.names_of_who(numbers.names_of_source(staying)))
    accused = reported.select(*_EVENT).union(_old(part, "accused").select(*_EVENT))
    first_open = part.stops
    last = part.after.select("src", "last_seq")
    kept = (
        accused.join(F.broadcast(first_open), "src", "left")
        .join(F.broadcast(last), "src", "left")
        .where("coalesce(seq >= stop, seq > last_seq, true)")
        .drop("stop", "last_seq")
    )
    work.carry("accused", numbers.names_of_who(numbers.names_of_source(kept)))
