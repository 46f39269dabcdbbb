"""Tables of a trace kept current while its files arrive, or while a running group writes it.

Spark's stream of files only tells which are new, each once, and notes it in a checkpoint; what is in them
is read as for a whole trace.  Each part of the stream is folded into the state that earlier parts left
(:mod:`stablecast.delivery.stream.fold`), or, when something came too late for that, everything is computed
anew with twice the patience.  Positions are few rows, whatever they stand for: their tables are computed anew
from all rows so far.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from stablecast.analysis.local import tables_for
from stablecast.analysis.options import Options, check_kinds
from stablecast.analysis.output import locked
from stablecast.analysis.reading.bad_rows import BadRows
from stablecast.analysis.reading.events import read_events
from stablecast.analysis.reading.foreign import Foreign
from stablecast.analysis.reading.inputs import find_inputs, plain_name
from stablecast.analysis.recast import as_positions
from stablecast.analysis.summary import counted_durations, counted_positions, is_of_positions, summary_of
from stablecast.delivery.scan import merged, scan_of
from stablecast.delivery.schema import EVENTS
from stablecast.delivery.stream.fold import Folded, Patience, Untimely, fold, folded_anew
from stablecast.delivery.stream.fold import State as Kept
from stablecast.errors import InvalidInput
from stablecast.pipeline.analysis.analyze import Say
from stablecast.pipeline.analysis.failures import told_in_one_line
from stablecast.pipeline.analysis.stream.versions import GROWING, HIDDEN, State, Versions
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


POSITIONS = "positions"
"""The table that is kept of positions: all rows so far."""


class Read(NamedTuple):
    """Events of some files."""

    events: pa.Table
    bad: BadRows


class Done(NamedTuple):
    """What there is after a part."""

    state: State
    tables: Mapping[str, pa.Table]
    kept: Mapping[str, pa.Table]
    told: Mapping[str, Any]


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
            "format": self._watching.options.format,
            "cumulative": self._watching.options.cumulative,
            "next_offset": self._watching.options.next_offset,
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
        done_now = self._folded(part, inputs)
        summary = self._told(done_now, time.monotonic() - began)
        self._versions.publish(done_now.state, done_now.tables, done_now.kept, summary)
        self.state, self.summary = done_now.state, summary
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

    def _folded(self, part: int, inputs: Sequence[str]) -> Done:
        """Fold a part into the state before it, or compute everything anew."""
        before = self._versions.latest(below=part)
        patience = self._patience(before)
        self._versions.begin(part)
        read = self._read(inputs)
        kept = self._versions.kept(before)
        known = before or State(part)
        state = replace(
            known,
            part=part,
            inputs=(*known.inputs, *inputs),
            bad_rows=_added(known.bad_rows, read.bad.problems),
            delay_us=patience.delay_us,
            linger_us=patience.linger_us,
            settings=self._settings,
        )
        if POSITIONS in kept or is_of_positions(scan_of(read.events).kinds):
            return self._followed(state, read, kept)
        try:
            start = Kept.of_tables(kept) if kept else Kept.nothing()
            folded = fold(start, read.events, patience, first_seq=self._watching.options.first_seq)
        except Untimely:
            self._say(f"part {part}: something came too late for what is settled; computing everything anew")
            return self._anew(state, patience, read.events.num_rows)
        return self._added(state, folded, read.events.num_rows)

    def _read(self, inputs: Sequence[str]) -> Read:
        """Read the events of some files."""
        options, bad = self._watching.options, BadRows()
        # What was kept of a growing trace is in the schema already.
        foreign = Foreign() if self._watching.follow else options.foreign
        found = find_inputs(list(inputs), format=None if self._watching.follow else options.format)
        tables = [EVENTS.empty_table()]
        for one in read_events(found, foreign, first_seq=options.first_seq, on_bad_rows=options.on_bad_rows):
            bad.add(one)
            tables.append(as_positions(one.events) if options.cumulative else one.events)
        return Read(pa.concat_tables(tables).unify_dictionaries(), bad)

    def _anew(self, state: State, patience: Patience, arrived: int) -> Done:
        """Fold everything so far as one part, with twice the patience."""
        _check_still_there(state.inputs)
        every = self._read(state.inputs)
        first_seq = self._watching.options.first_seq
        folded, patience = folded_anew([every.events], patience, first_seq=first_seq)
        again = replace(
            state,
            files={},
            bad_rows=every.bad.problems,
            delay_us=patience.delay_us,
            linger_us=patience.linger_us,
            rebuilt=state.rebuilt + 1,
        )
        return self._added(again, folded, arrived)

    def _added(self, state: State, folded: Folded, arrived: int) -> Done:
        """Write what became final, and tell what there is now."""
        files = {
            name: self._versions.add_final(state.part, name, folded.final[name], state.files.get(name, ()))
            for name in GROWING
        }
        counts = counted_durations(folded.durations, folded.violations)
        told = summary_of(folded.scan, state.bad_rows, counts) | {
            "arrived": arrived,
            "open": folded.open_messages,
            "carried_rows": folded.state.carried_rows,
        }
        tables = {**folded.open, **folded.current}
        return Done(replace(state, files=files), tables, folded.state.to_tables(), told)

    def _followed(self, state: State, read: Read, kept: Mapping[str, pa.Table]) -> Done:
        """Make the tables of positions, of all rows so far."""
        if kept and POSITIONS not in kept:
            check_kinds({"send", "position"})
        events = pa.concat_tables([kept.get(POSITIONS, EVENTS.empty_table()).cast(EVENTS), read.events])
        events = events.unify_dictionaries().combine_chunks()
        scan = merged([scan_of(events)])
        check_kinds(set(scan.kinds))
        tables = tables_for(events, scan, self._watching.options)
        told = summary_of(scan, state.bad_rows, counted_positions(tables)) | {
            "arrived": read.events.num_rows,
            "open": sum(count > 0 for count in tables["sources"]["waiting"].to_pylist()),
            "carried_rows": events.num_rows,
        }
        return Done(state, tables, {POSITIONS: events}, told)

    def _patience(self, before: State | None) -> Patience:
        asked = self._watching.patience
        if before is None:
            return asked
        return Patience(max(asked.delay_us, before.delay_us), max(asked.linger_us, before.linger_us))

    def _told(self, done: Done, seconds: float) -> dict[str, Any]:
        """Return what the summary says after a part."""
        from stablecast import __version__

        return {
            "version": __version__,
            "engine": "spark",
            "spark": self._spark.version,
            "master": self._spark.conf.get("spark.master", None),
            "inputs": [str(self.folder)],
            "first_seq": self._watching.options.first_seq,
            **done.told,
            "parts": done.state.part + 1,
            "rebuilt": done.state.rebuilt,
            "delay_us": done.state.delay_us,
            "wall_s": round(seconds, 3),
        }


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
