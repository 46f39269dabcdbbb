"""What a stream of events carries from one part to the next: what is still open, and sums over what is not.

Kept by names, because numbers are given anew in each part.  Tables:

- ``scan``: what :mod:`.scan` found in all parts
- ``pairs``: what members did with messages that have not left the state
- ``repeats``: releases and claims made once more, of such messages
- ``accused``: violations of such messages that have been reported for good
- ``line``: one row a source, for the messages up to the first that has not left
- ``thin``: number, sending and truth of messages that left before an earlier one
- ``claimers``, ``releasers``: who ever claimed or released anything of a source, and how far
- ``laggards``, ``held``, ``open_holdings``, ``cells``, ``counts``: sums over messages that left
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from stablecast.pipeline.analysis.membership import Membership
from stablecast.pipeline.analysis.workspace import empty

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WHO = "group string, member string, place int"
_MESSAGE = "group string, source string, seq bigint"
_PAIR_TIMES = (
    "sent bigint, sends bigint, bytes int, have bigint, receives bigint, released bigint,"
    " released_last bigint, releases bigint, claimed bigint, claims bigint, told bigint"
)
SCHEMAS = {
    "scan": "group string, kind string, member string, source string, change_us bigint, events bigint,"
    " first_us bigint, last_us bigint",
    "pairs": f"{_MESSAGE}, member string, place int, {_PAIR_TIMES}",
    "repeats": f"{_MESSAGE}, member string, place int, kind string, time_us bigint",
    "accused": f"{_MESSAGE}, member string, place int, kind string, time_us bigint",
    "line": "group string, source string, messages bigint, first_seq bigint, last_seq bigint,"
    " last_sent bigint, latest bigint, stable_seq bigint, stable_us bigint",
    "thin": f"{_MESSAGE}, sent bigint, stable bigint",
    "claimers": f"group string, source string, {_WHO[14:]}, covered bigint",
    "releasers": f"group string, source string, {_WHO[14:]}",
    "laggards": "group string, member string, completed_last bigint, held_us bigint,"
    " held_bytes_us decimal(38,0)",
    "held": "group string, member string, base bigint, base_bytes bigint, peak bigint, peak_bytes bigint,"
    " message_us bigint",
    "open_holdings": f"{_WHO}, count bigint, size bigint, since decimal(38,0)",
    "cells": "group string, member string, bits int, cell bigint, change bigint, change_bytes bigint",
    "counts": "what string, bin int, count bigint, total decimal(38,0), most bigint",
}
PAIR_TIMES = tuple(column.split()[0] for column in _PAIR_TIMES.split(","))


@dataclass(frozen=True)
class Carry:
    """The tables, empty before the first part."""

    spark: SparkSession
    folder: Path | None

    @property
    def size(self) -> int:
        """Bytes of all of them."""
        return sum(file.stat().st_size for file in self.folder.glob("*/*")) if self.folder else 0

    def table(self, name: str) -> DataFrame:
        """Return one of them."""
        if self.folder is None:
            return empty(self.spark, SCHEMAS[name])
        return self.spark.read.schema(SCHEMAS[name]).parquet(str(self.folder / name))


class Numbers:
    """Puts numbers in the place of names, and names in the place of numbers."""

    def __init__(self, membership: Membership) -> None:
        self._members = membership.members.select("group", "name", "mid")
        self._incarnations = membership.incarnations.select("who", "mid", "name")

    def of_source(self, frame: DataFrame) -> DataFrame:
        """Replace group and source by ``src``."""
        names = self._members.toDF("group", "source", "src")
        return frame.join(F.broadcast(names), ["group", "source"]).drop("group", "source")

    def of_member(self, frame: DataFrame) -> DataFrame:
        """Replace group and member by ``mid``."""
        names = self._members.toDF("group", "member", "mid")
        return frame.join(F.broadcast(names), ["group", "member"]).drop("group", "member")

    def of_pair(self, frame: DataFrame) -> DataFrame:
        """Replace group, source, member and place by ``src`` and ``who``."""
        who = (F.col("mid") + F.col("place")).alias("who")
        sources = self._members.toDF("group", "source", "src")
        members = self._members.toDF("group", "member", "mid")
        joined = frame.join(F.broadcast(sources), ["group", "source"]).join(
            F.broadcast(members), ["group", "member"]
        )
        rest = [column for column in frame.columns if column not in ("group", "source", "member", "place")]
        return joined.select("src", who, *rest)

    def names_of_source(self, frame: DataFrame) -> DataFrame:
        """Replace ``src`` by group and source."""
        names = self._members.toDF("group", "source", "src")
        return frame.join(F.broadcast(names), "src").drop("src")

    def names_of_member(self, frame: DataFrame) -> DataFrame:
        """Replace ``mid`` by group and member."""
        return frame.join(F.broadcast(self._members.toDF("group", "member", "mid")), "mid").drop("mid")

    def names_of_who(self, frame: DataFrame) -> DataFrame:
        """Replace ``who`` by member and place."""
        place = (F.col("who") - F.col("mid")).alias("place")
        names = self._incarnations.select("who", F.col("name").alias("member"), place)
        return frame.join(F.broadcast(names), "who").drop("who")
