"""One part of a stream: what arrived and what was carried over become tables, and what is carried on.

The same steps as for a whole trace, on what is open alone.  Some tables have a part that is final, which is
added to what was final before, and a part that is open, which the next part of the stream computes anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from stablecast.pipeline.analysis import detection, distribution, number_line, tables
from stablecast.pipeline.analysis.analyze import membership_of
from stablecast.pipeline.analysis.packing import PAIR_KEY, RUN, numbered_events, packed_messages, pairs_of
from stablecast.pipeline.analysis.sources import sources_table
from stablecast.pipeline.analysis.stream import leaving
from stablecast.pipeline.analysis.stream.carry import PAIR_TIMES, Carry, Numbers
from stablecast.pipeline.analysis.truth import judged_messages

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from stablecast.pipeline.analysis.number_line import FirstSeq
    from stablecast.pipeline.analysis.scan import Scan
    from stablecast.pipeline.analysis.workspace import WorkFolder


class Untimely(Exception):
    """Something arrived that does not fit what has left the state."""


@dataclass(frozen=True)
class Patience:
    """How long a stream waits, in microseconds of the events' own time."""

    delay_us: int = 60_000_000
    """How much older than the newest event of its group an event may be."""
    linger_us: int = 600_000_000
    """How long after a message was stable its claims and releases are waited for."""

    def doubled(self) -> Patience:
        """Return twice the patience."""
        return Patience(self.delay_us * 2, self.linger_us * 2)


class Part:
    """What arrived, with numbers for names, beside what was carried over."""

    def __init__(
        self,
        scan: Scan,
        carry: Carry,
        work: WorkFolder,
        first_seq: FirstSeq,
        patience: Patience,
        partitions: int,
    ) -> None:
        self.arrived = scan
        self.partitions = partitions
        self.carry = carry
        self.work = work
        self.first_seq = first_seq
        self.patience = patience
        before = carry.table("scan")
        self.scan = work.carry("scan", _summed(scan.table.union(before)))
        self.membership = membership_of(self.scan, work)
        self.numbers = Numbers(self.membership)
        self.names = tables.Names(self.membership)
        self.marks = self._marks(before)
        self.numbered = work.keep("numbered", numbered_events(scan.good, self.membership))
        run = F.expr(f"seq div {RUN}").alias("run")
        pairs = self.numbers.of_pair(carry.table("pairs"))
        self.old_pairs = work.keep("old-pairs", pairs.select("src", run, "seq", "who", *PAIR_TIMES))
        line = self.numbers.of_source(carry.table("line"))
        self.before = line.select(*number_line.CARRY_COLUMNS)
        thin = self.numbers.of_source(carry.table("thin"))
        self.thin = thin.select("src", run, "seq", "sent", "stable")
        self.old_claimers = self.numbers.of_pair(carry.table("claimers")).select("src", "who", "covered")

    def _marks(self, before: DataFrame) -> DataFrame:
        """Return for each name the watermark of its group: before this part (null for none), and now."""
        delay = self.patience.delay_us
        was = before.groupBy("group").agg((F.max("last_us") - delay).alias("before"))
        now = self.membership.groups.select("group", (F.col("last_us") - delay).alias("now"))
        of_group = now.join(was, "group", "left")
        return self.membership.members.select("group", "mid").join(of_group, "group").drop("group")

    def check(self) -> None:
        """Refuse to go on if something came too late; nothing that counts has been written then."""
        if self.carry.folder is None:
            return
        before = self.carry.table("scan")
        left = self.carry.table("line").select("group").union(self.carry.table("thin").select("group"))
        untimely = leaving.untimely(
            self.numbered,
            self.old_pairs,
            self.marks,
            self.before,
            self.thin,
            self.old_claimers,
            self.membership,
        )
        other = leaving.other_past(before, self.scan, left)
        late = leaving.late_changes(self.arrived.table, before, self.patience.delay_us)
        if not leaving.any_of(other, late, untimely).isEmpty():
            raise Untimely

    @cached_property
    def pairs(self) -> DataFrame:
        """What members did with open messages."""
        new = pairs_of(self.numbered, self.partitions).select(*PAIR_KEY, *PAIR_TIMES)
        return self.work.keep("pairs", _merged(new.union(self.old_pairs)))

    @cached_property
    def claims(self) -> DataFrame:
        """The claims that still matter."""
        return self.work.keep("claims", detection.claims_of(self.bare))

    @cached_property
    def bare(self) -> DataFrame:
        """The same, one row a message, with its truth; those that nobody sent are among them."""
        packed = packed_messages(self.pairs, self.membership)
        return self.work.keep("bare", judged_messages(packed, self.membership))

    @cached_property
    def runs(self) -> DataFrame:
        """The runs of numbers of what is open, and of what left before its turn."""
        return self.work.keep("runs", number_line.runs_of(self._in_line, self.bare, self.before))

    @cached_property
    def line(self) -> DataFrame:
        """The same messages in the order of their numbers."""
        return self.work.keep("line", number_line.line_of(self._in_line, self.runs, self.first_seq))

    @property
    def _in_line(self) -> DataFrame:
        return self.bare.where("sent is not null").select(*number_line.LINE).union(self.thin)

    @cached_property
    def claimers(self) -> DataFrame:
        """Who claims anything of a source, and up to which number."""
        now = self.claims.groupBy("src", "who").agg(F.max("seq").alias("covered"))
        every = now.union(self.old_claimers).groupBy("src", "who")
        return self.work.keep("claimers", every.agg(F.max("covered").alias("covered")))

    @cached_property
    def releasers(self) -> DataFrame:
        """Who releases anything of a source."""
        old = self.numbers.of_pair(self.carry.table("releasers")).select("src", "who")
        now = self.pairs.where("released is not null").select("src", "who")
        return self.work.keep("releasers", now.union(old).distinct())

    @cached_property
    def known(self) -> DataFrame:
        """What is told of open messages, with truth, detections, and whether they leave now."""
        steps = self.work.keep("claim-steps", detection.steps_of(self.claims, self.runs))
        detected = detection.detections_of(steps, self.bare.where("sent is not null"))
        known = tables.with_detections(self.bare, detected)
        linger = self.patience.linger_us
        marked = leaving.marked(known, self.marks, self.claimers, self.releasers, self.membership, linger)
        return self.work.keep("known", marked)

    @property
    def judged(self) -> DataFrame:
        """Those of them that were sent."""
        return self.known.where("sent is not null")

    @cached_property
    def stops(self) -> DataFrame:
        """The first message of each source that does not leave: src, stop."""
        staying = self.judged.where("not leaves").groupBy("src")
        return self.work.keep("stops", staying.agg(F.min("seq").alias("stop")))

    @cached_property
    def absorbed(self) -> DataFrame:
        """The part of the line that is left behind."""
        leaving_now = self.judged.where("leaves").select("src", "seq")
        gone = leaving_now.union(self.thin.select("src", "seq"))
        line = self.line.join(F.broadcast(self.stops), "src", "left").join(gone, ["src", "seq"], "left_semi")
        return self.work.keep("absorbed", line.where("stop is null or seq < stop").drop("stop"))

    @cached_property
    def after(self) -> DataFrame:
        """What the next part's line begins with, as :mod:`.number_line` carries it over."""
        prefix = F.expr("open = 0 and whole")
        new = self.absorbed.groupBy("src").agg(
            F.count("*").alias("messages"),
            F.min("seq").alias("first_seq"),
            F.max("seq").alias("last_seq"),
            F.max_by("sent", "seq").alias("last_sent"),
            F.max("stable").alias("latest"),
            F.max(F.when(prefix, F.col("seq"))).alias("stable_seq"),
            F.max(F.when(prefix, F.col("latest"))).alias("stable_us"),
        )
        both = self.before.union(new.select(*self.before.columns)).groupBy("src")
        return self.work.keep(
            "after",
            both.agg(
                F.sum("messages").alias("messages"),
                F.min("first_seq").alias("first_seq"),
                F.max("last_seq").alias("last_seq"),
                F.max_by("last_sent", "last_seq").alias("last_sent"),
                *(F.max(name).alias(name) for name in ("latest", "stable_seq", "stable_us")),
            ),
        )

    def prepare(self) -> None:
        """Compute what all tables are made of."""
        _ = self.judged, self.line, self.after

    def write_messages(self) -> None:
        """Write messages, frontiers, laggards and sources."""
        work, names = self.work, self.names
        work.write("final-messages", tables.messages_table(self.judged.where("leaves"), names))
        work.write("open-messages", tables.messages_table(self.judged.where("not leaves"), names))
        frontiers = work.keep("frontiers", number_line.frontiers_of(self.line, self.before))
        latest = self.after.select("src", "latest")
        placed = frontiers.join(F.broadcast(latest), "src", "left")
        final = F.coalesce(F.expr("time_us < latest"), F.lit(False))
        work.write("final-frontiers", tables.frontiers_table(placed.where(final), names))
        work.write("open-frontiers", tables.frontiers_table(placed.where(~final), names))
        left = tables.laggards_table(self.judged.where("leaves"), names).union(self.carry.table("laggards"))
        held = work.carry("laggards", tables.summed_laggards(left))
        rest = tables.laggards_table(self.judged.where("not leaves"), names)
        work.write("laggards", tables.summed_laggards(rest.union(held)))
        work.write("sources", sources_table(self.judged, self.line, self.before, self.membership, names))
        counts = distribution.counts_of(work.read("final-messages")).union(self.carry.table("counts"))
        work.carry("counts", distribution.summed(counts))

    def write_carry(self) -> None:
        """Write what is carried on of messages and their line."""
        work, numbers = self.work, self.numbers
        work.carry("line", numbers.names_of_source(self.after))
        open_keys = self.judged.where("leaves").select("src", "seq")
        staying = self.pairs.join(open_keys, ["src", "seq"], "left_anti").where(
            "sent is not null or have is not null or released is not null or told is not null"
        )
        last = self.after.select("src", "last_seq")
        claims = (
            self.pairs.where("claimed is not null")
            .join(F.broadcast(self.stops), "src", "left")
            .join(F.broadcast(last), "src", "left")
            .where("coalesce(seq >= stop, seq > last_seq, true)")
            .select("src", "run", "seq", "who", "claimed")
        )
        nothing = [
            (F.col(name) if name == "claimed" else F.lit(None if name not in _COUNTS else 0)).alias(name)
            for name in PAIR_TIMES
        ]
        kept = staying.withColumn("claimed", F.lit(None).cast("long")).withColumn("claims", F.lit(0))
        alone = claims.select(*PAIR_KEY, *nothing)
        merged = _merged(_once(kept.select(*PAIR_KEY, *PAIR_TIMES)).union(_once(alone)))
        work.carry("pairs", numbers.names_of_who(numbers.names_of_source(merged.drop("run"))))
        gone = self.judged.where("leaves").select("src", "seq", "sent", "stable")
        thin = gone.union(self.thin.select("src", "seq", "sent", "stable"))
        beyond = thin.join(F.broadcast(self.stops), "src").where("seq > stop").drop("stop")
        work.carry("thin", numbers.names_of_source(beyond))
        for name, table in (("claimers", self.claimers), ("releasers", self.releasers)):
            work.carry(name, numbers.names_of_who(numbers.names_of_source(table)))


_COUNTS = ("sends", "receives", "releases", "claims")


def _once(pairs: DataFrame) -> DataFrame:
    """Count what was done as done once: what was done again has been dealt with."""
    counted = {"sends": "sent", "receives": "have", "releases": "released", "claims": "claimed"}
    return pairs.withColumns({count: F.col(time).isNotNull().cast("long") for count, time in counted.items()})


def _merged(pairs: DataFrame) -> DataFrame:
    """Return pairs of several origins, one of each."""
    how = {name: F.sum if name in _COUNTS else F.min for name in PAIR_TIMES}
    how |= {"bytes": F.max, "released_last": F.max}
    return pairs.groupBy(*PAIR_KEY).agg(*(how[name](name).alias(name) for name in PAIR_TIMES))


def _summed(scan: DataFrame) -> DataFrame:
    return scan.groupBy("group", "kind", "member", "source", "change_us").agg(
        F.sum("events").alias("events"),
        F.min("first_us").alias("first_us"),
        F.max("last_us").alias("last_us"),
    )
