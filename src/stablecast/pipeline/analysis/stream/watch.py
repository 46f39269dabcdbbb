"""Tables of a trace kept current while its files arrive, or while a running group writes it.

Spark's stream of files only tells which are new, each once, and notes it in a checkpoint; what is in them
is read as for a whole trace. Each part of the stream is folded into what earlier parts carried on
(:mod:`.fold`), or, when something came too late for that, everything is computed anew with twice the
patience.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from stablecast.analysis.reading.inputs import plain_name
from stablecast.errors import InvalidInput
from stablecast.pipeline.analysis.analyze import Options, Say
from stablecast.pipeline.analysis.reading.events import (
    Foreign,
    Inputs,
    classified_events,
    explain_bad_rows,
    find_inputs,
)
from stablecast.pipeline.analysis.reading.failures import told_in_one_line
from stablecast.pipeline.analysis.scan import scanned
from stablecast.pipeline.analysis.stream.carry import Carry
from stablecast.pipeline.analysis.stream.fold import Part, Patience, Untimely
from stablecast.pipeline.analysis.stream.holdings import write_holdings
from stablecast.pipeline.analysis.stream.versions import GROWING, HIDDEN, State, Versions
from stablecast.pipeline.analysis.stream.violations import write_violations
from stablecast.pipeline.analysis.summary import kinds_of, streamed_summary
from stablecast.pipeline.analysis.workspace import (
    WorkFolder,
    at_once,
    is_small,
    little_ado,
    locked,
    partitions_for,
)
from stablecast.pipeline.interrupt import cancel_until

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

FILES = "*.{parquet,{jsonl,ndjson,csv,tsv}{,.gz,.bz2,.zst}}"
LISTED = "path string, modificationTime timestamp, length bigint, content binary"
POLL_S = 1


@dataclass(frozen=True)
class Watching:
    """How a folder is watched."""

    options: Options = field(default_factory=Options)
    patience: Patience = field(default_factory=Patience)
    once: bool = False
    """Whether to stop when all that is there has been read."""
    every_s: float = 5.0
    follow: bool = False
    """Whether files are read while they grow, as a running group's are, or once when they are whole."""
    files_per_part: int | None = None


class Watch:
    """A folder being watched."""

    def __init__(
        self,
        folder: Path,
        out: Path,
        spark: SparkSession,
        watching: Watching,
        say: Say = lambda line: None,
        tell: Callable[[dict[str, Any]], None] = lambda summary: None,
    ) -> None:
        if not folder.is_dir():
            raise InvalidInput(
                f"the folder '{folder}' does not exist (accepted: a folder that files arrive in)"
            )
        self.folder, self.out = folder.absolute(), out.absolute()
        self._spark = spark
        self._watching = watching
        self._say = say
        self._tell = tell
        self._versions = Versions(self.out)
        self._failure: BaseException | None = None
        self.state: State | None = None
        self.summary: Mapping[str, Any] | None = None

    def run(self, stopped: Event) -> None:
        """Watch until told to stop, or, if asked to do so, until everything has been read."""
        with told_in_one_line(), locked(self.out / HIDDEN / "lock", self.out):
            self.state = self._versions.latest()
            if self.state is not None:
                self._check_settings(self.state)
                self._versions.show(self.state)
                self.summary = self._versions.summary()
            query = self._start()
            try:
                while not query.awaitTermination(POLL_S):
                    if stopped.is_set():
                        break
            except Exception as error:
                raise self._failure or error from None
            finally:
                self._end(query)

    @property
    def _settings(self) -> dict[str, Any]:
        foreign = self._watching.options.foreign
        return {
            "folder": str(self.folder),
            "first_seq": self._watching.options.first_seq,
            "follow": self._watching.follow,
            "columns": dict(foreign.columns),
            "constants": dict(foreign.constants),
            "kinds": dict(foreign.kinds),
            "time_unit": foreign.time_unit,
        }

    def _check_settings(self, state: State) -> None:
        for name, value in self._settings.items():
            if state.settings.get(name) != value:
                raise InvalidInput(
                    f"'{self.out}' was begun with another {name.replace('_', ' ')}:"
                    f" {state.settings.get(name)!r} instead of {value!r}"
                    " (accepted: the same, or another output folder)"
                )

    def _start(self) -> StreamingQuery:
        stream = self._spark.readStream
        if self._watching.follow:
            from stablecast.pipeline.event_source import register

            register(self._spark)
            frame = stream.format("stablecast").load(str(self.folder))
        else:
            files = stream.format("binaryFile").schema(LISTED).option("pathGlobFilter", FILES)
            files = files.option("recursiveFileLookup", "true")
            if self._watching.files_per_part:
                files = files.option("maxFilesPerTrigger", self._watching.files_per_part)
            frame = files.load(str(self.folder)).select("path", "length")
        writer = frame.writeStream.foreachBatch(self._guarded).option(
            "checkpointLocation", str(self._versions.checkpoint)
        )
        if self._watching.once:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{self._watching.every_s} seconds").start()

    def _end(self, query: StreamingQuery) -> None:
        """Stop the stream, in the middle of a part too: the next run does that part again."""
        if query.isActive:
            with ThreadPoolExecutor(1) as pool:
                cancel_until(self._spark, pool.submit(query.stop))

    def _guarded(self, batch: DataFrame, part: int) -> None:
        try:
            with partitions_for(self._spark, 0):
                self._take(batch, part)
        except BaseException as error:
            self._failure = error
            # Not the error itself: Spark matches its text with an expression that a long one overflows.
            raise RuntimeError("this part failed") from None

    def _take(self, batch: DataFrame, part: int) -> None:
        done = self._versions.latest()
        if done is not None and done.part >= part:
            self._versions.show(done)  # it was done before, and Spark had no time to note that
            return
        began = time.monotonic()
        inputs = self._archived(batch, part) if self._watching.follow else _paths(batch)
        if not inputs:
            return
        state, summary = self._folded(part, inputs)
        summary["wall_s"] = round(time.monotonic() - began, 3)
        self._versions.publish(state, WorkFolder(self._versions.work, self._spark), summary)
        self.state, self.summary = state, summary
        self._tell(summary)
        self._say(
            f"part {part}: {summary['arrived']:,} events, {summary['messages']:,} messages so far,"
            f" {summary['open']:,} open, {sum(summary['violations'].values()):,} violations,"
            f" {summary['wall_s']:.1f} s"
        )

    def _archived(self, batch: DataFrame, part: int) -> list[str]:
        """Keep what was read of growing files, so that it can be read again."""
        if batch.isEmpty():
            return []
        place = self._versions.hidden / "events" / f"{part:09d}"
        batch.write.mode("overwrite").parquet(str(place))
        return [str(place)]

    def _folded(self, part: int, inputs: Sequence[str]) -> tuple[State, dict[str, Any]]:
        before = self._versions.latest(below=part)
        patience = self._patience(before)
        try:
            return self._fold(part, inputs, before, patience)
        except Untimely:
            assert before is not None
            self._say(f"part {part}: something came too late for what is settled; computing everything anew")
            again = replace(State(part), rebuilt=before.rebuilt + 1)
            _check_still_there(before.inputs)
            return self._fold(part, [*before.inputs, *inputs], again, patience.doubled(), anew=True)

    def _patience(self, before: State | None) -> Patience:
        asked = self._watching.patience
        if before is None:
            return asked
        return Patience(max(asked.delay_us, before.delay_us), max(asked.linger_us, before.linger_us))

    def _fold(
        self,
        part: int,
        inputs: Sequence[str],
        before: State | None,
        patience: Patience,
        *,
        anew: bool = False,
    ) -> tuple[State, dict[str, Any]]:
        found = find_inputs(list(inputs))
        carry = Carry(self._spark, None if anew else self._versions.carry_of(before))
        small = is_small(None if found.size is None else found.size + carry.size)
        work = WorkFolder(self._versions.begin(part), self._spark, small=small)
        with little_ado(self._spark, small=small):
            state, summary = self._computed(work, part, found, before, carry, patience)
        known = before or State(part)
        files = {table: self._final_files(part, known, work, table) for table in GROWING}
        return replace(state, inputs=(*known.inputs, *inputs), files=files), summary

    def _computed(
        self,
        work: WorkFolder,
        part: int,
        found: Inputs,
        before: State | None,
        carry: Carry,
        patience: Patience,
    ) -> tuple[State, dict[str, Any]]:
        options = self._watching.options
        # What was kept of a growing trace is in the schema already.
        foreign = Foreign() if self._watching.follow else options.foreign
        events = classified_events(self._spark, found, foreign, first_seq=options.first_seq)

        def explain(bad: Mapping[str, int]) -> str:
            return explain_bad_rows(self._spark, found, foreign, bad, first_seq=options.first_seq)

        scan = scanned(events, work, explain if options.on_bad_rows == "fail" else None)
        with partitions_for(self._spark, scan.events) as partitions:
            folded = Part(scan, carry, work, options.first_seq, patience, partitions)
            folded.check()
            folded.prepare()
            at_once(
                folded.write_messages,
                lambda: write_holdings(folded),
                lambda: write_violations(folded),
                folded.write_carry,
            )
        known = before or State(part)
        state = State(
            part=part,
            delay_us=patience.delay_us,
            linger_us=patience.linger_us,
            events=known.events + scan.events,
            bad_rows=_added(known.bad_rows, scan.bad_rows),
            violations=_added(known.violations, kinds_of(work.read("final-violations"))),
            rebuilt=known.rebuilt,
            settings=self._settings,
        )
        summary = streamed_summary(work, state, arrived=scan.events, inputs=[str(self.folder)])
        return state, summary

    def _final_files(self, part: int, before: State, work: WorkFolder, table: str) -> list[str]:
        new = self._versions.take_final(part, work, table)
        return self._versions.merge(part, table, [*before.files.get(table, ()), *new])


def check_folders(folder: Path, out: Path) -> None:
    """Refuse a folder that is not there, and an output that cannot be one."""
    if not folder.is_dir():
        raise InvalidInput(f"the folder '{folder}' does not exist (accepted: a folder that files arrive in)")
    if out.exists() and not out.is_dir():
        raise InvalidInput(f"the output '{out}' is a file (accepted: a new or empty folder)")
    if out.exists() and any(out.iterdir()) and not (out / HIDDEN).is_dir():
        raise InvalidInput(
            f"the output folder '{out}' holds something else"
            " (accepted: a new or empty folder, or one that watch wrote before)"
        )
    if out.resolve().is_relative_to(folder.resolve()):
        raise InvalidInput(
            f"the output '{out}' is inside the folder that is watched (accepted: another place)"
        )


def _paths(batch: DataFrame) -> list[str]:
    """Return the names of the files of a part that hold anything, in order."""
    rows = batch.where("length > 0").select("path").distinct().collect()
    return sorted(plain_name(row["path"]) for row in rows)


def _check_still_there(inputs: Sequence[str]) -> None:
    """Refuse to compute anew what can no longer be read."""
    try:
        find_inputs(list(inputs))
    except InvalidInput as error:
        raise InvalidInput(
            f"something came too late, and what was read before is not all there to be read again: {error}"
            " (accepted: files that stay, or another output folder and more patience with --delay-s)"
        ) from None


def _added(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in sorted({*one, *other})}
