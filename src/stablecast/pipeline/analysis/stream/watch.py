"""Tables of a trace kept current while its files arrive, or while a running group writes it.

Spark's stream of files only tells which are new, each once, and notes it in a checkpoint; what is in them
is read as for a whole trace.  Each part of the stream is folded into the state that earlier parts left
(:mod:`stablecast.delivery.stream.fold`), or, when something came too late for that, everything is computed
anew with twice the patience.  Positions are few rows, whatever they stand for: their tables are computed anew
from all rows so far.  What there is after a part is one version (:mod:`stablecast.analysis.version`).

The folder that is watched and the output may be addresses that Spark knows.  Files there are opened by Arrow
or through Spark (:mod:`stablecast.pipeline.hadoop_files`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from stablecast.analysis.local import tables_for
from stablecast.analysis.options import Options, check_kinds
from stablecast.analysis.output import locked, place_of, told_of_writing
from stablecast.analysis.reading import heads
from stablecast.analysis.reading.addresses import looked_into
from stablecast.analysis.reading.bad_rows import BadRows
from stablecast.analysis.reading.events import read_events
from stablecast.analysis.reading.foreign import Foreign
from stablecast.analysis.reading.inputs import Inputs, find_inputs, plain_name
from stablecast.analysis.recast import as_positions
from stablecast.analysis.summary import counted_durations, counted_positions, is_of_positions, summary_of
from stablecast.analysis.version import HIDDEN, State, Version
from stablecast.delivery.scan import merged, scan_of
from stablecast.delivery.schema import EVENTS
from stablecast.delivery.stream.fold import Folded, Patience, Untimely, fold, folded_anew
from stablecast.delivery.stream.fold import State as Kept
from stablecast.errors import InvalidInput
from stablecast.pipeline.analysis.analyze import Say
from stablecast.pipeline.analysis.failures import told_in_one_line
from stablecast.pipeline.analysis.stream.checkpoint import CHECKPOINT, remove_unbegun
from stablecast.pipeline.analysis.stream.links import show
from stablecast.pipeline.analysis.stream.places import check_addresses, check_places
from stablecast.pipeline.analysis.stream.versions import GROWING, Versions
from stablecast.pipeline.hadoop_files import SessionSystems
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
        folder: Path | str,
        out: Path | str,
        spark: SparkSession,
        watching: Watching,
        say: Say = lambda line: None,
        tell: Callable[[dict[str, Any]], None] = lambda summary: None,
    ) -> None:
        check_places(folder, out, follow=watching.follow)
        self.folder, self.out = _absolute(folder), _absolute(out)
        self._spark = spark
        self._watching = watching
        self._say = say
        self._tell = tell
        self._systems = SessionSystems(spark)
        self._failure: BaseException | None = None
        self._version: Version | None = None

    @property
    def summary(self) -> Mapping[str, Any] | None:
        """What is said of everything so far; None if there is nothing yet."""
        return None if self._version is None else self._version.summary

    def run(self, stopped: Event) -> None:
        """Watch until told to stop, or, if asked to do so, until everything has been read."""
        with told_in_one_line(), self._alone():
            check_addresses(self.folder, self.out, self._systems)
            system, root = self._systems(str(self.out))
            self._versions = Versions(system, root)
            with told_of_writing(self.out):
                self._version = self._versions.begin()
                remove_unbegun(system, root)
            if self._version is not None:
                self._check_settings(self._version.state)
                self._show(self._version)
            query = self._start()
            try:
                while not query.awaitTermination(POLL_S):
                    if stopped.is_set():
                        break
            except Exception as error:
                raise self._failure or error from None
            finally:
                self._end(query)

    def _alone(self) -> AbstractContextManager[Any]:
        """Hold a folder of this machine for this process; at an address there is nothing to hold."""
        return locked(self.out / HIDDEN / "lock", self.out) if isinstance(self.out, Path) else nullcontext()

    def _show(self, version: Version) -> None:
        if isinstance(self.out, Path):
            with told_of_writing(self.out):
                show(self.out, version)

    @property
    def _settings(self) -> dict[str, Any]:
        watching = self._watching
        return {"folder": str(self.folder), "follow": watching.follow, **watching.options.meaning}

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
            "checkpointLocation", f"{self.out}/{CHECKPOINT}"
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
        if self._version is not None and self._version.part >= part:
            return  # it was done before, and Spark had no time to note that
        began = time.monotonic()
        inputs = self._archived(batch, part) if self._watching.follow else _paths(batch)
        if not inputs:
            return
        done = self._folded(part, inputs)
        summary = self._told(done, time.monotonic() - began)
        with told_of_writing(self.out):
            self._version = self._versions.publish(done.state, done.tables, done.kept, summary)
        self._show(self._version)
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
        place = f"{self.out}/{HIDDEN}/events/{part:09d}"
        batch.write.mode("overwrite").parquet(place)
        return [place]

    def _folded(self, part: int, inputs: Sequence[str]) -> Done:
        """Fold a part into the state before it, or compute everything anew."""
        known = State(part) if self._version is None else self._version.state
        patience = self._patience(known)
        read = self._read(self._found(inputs))
        with heads.told_in_one_line(str(self.out)):
            kept = self._versions.kept(self._version)
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

    def _found(self, inputs: Sequence[str]) -> Inputs:
        """Look into files, which have to be there."""
        format = None if self._watching.follow else self._watching.options.format
        return looked_into(find_inputs(inputs, format=format), self._systems)

    def _read(self, found: Inputs) -> Read:
        """Read the events of some files."""
        options, bad = self._watching.options, BadRows()
        # What was kept of a growing trace is in the schema already.
        foreign = Foreign() if self._watching.follow else options.foreign
        tables = [EVENTS.empty_table()]
        for one in read_events(
            found,
            foreign,
            first_seq=options.first_seq,
            on_bad_rows=options.on_bad_rows,
            systems=self._systems,
        ):
            bad.add(one)
            tables.append(as_positions(one.events) if options.cumulative else one.events)
        return Read(pa.concat_tables(tables).unify_dictionaries(), bad)

    def _anew(self, state: State, patience: Patience, arrived: int) -> Done:
        """Fold everything so far as one part, with twice the patience."""
        every = self._read(self._found_again(state.inputs))
        first_seq = self._watching.options.first_seq
        folded, patience = folded_anew([every.events], patience, first_seq=first_seq)
        again = replace(
            state,
            final={},
            bad_rows=every.bad.problems,
            delay_us=patience.delay_us,
            linger_us=patience.linger_us,
            rebuilt=state.rebuilt + 1,
        )
        return self._added(again, folded, arrived)

    def _found_again(self, inputs: Sequence[str]) -> Inputs:
        """Look into everything so far; refuse to compute anew what can no longer be read."""
        try:
            return self._found(inputs)
        except InvalidInput as error:
            raise InvalidInput(
                "something came too late, and what was read before is not all there to be read again:"
                f" {error}"
                " (accepted: files that stay, or another output folder and more patience with --delay-s)"
            ) from None

    def _added(self, state: State, folded: Folded, arrived: int) -> Done:
        """Write what became final, and tell what there is now."""
        with told_of_writing(self.out):
            final = {
                name: self._versions.add_final(
                    state.part, name, folded.final[name], state.final.get(name, ())
                )
                for name in GROWING
            }
        counts = counted_durations(folded.durations, folded.violations)
        told = summary_of(folded.scan, state.bad_rows, counts) | {
            "arrived": arrived,
            "open": folded.open_messages,
            "carried_rows": folded.state.carried_rows,
        }
        tables = {**folded.open, **folded.current}
        return Done(replace(state, final=final), tables, folded.state.to_tables(), told)

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

    def _patience(self, known: State) -> Patience:
        asked = self._watching.patience
        return Patience(max(asked.delay_us, known.delay_us), max(asked.linger_us, known.linger_us))

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


def _absolute(given: Path | str) -> Path | str:
    place = place_of(given)
    return place.absolute() if isinstance(place, Path) else place


def _paths(batch: DataFrame) -> list[str]:
    """Return the names of the files of a part that hold anything, in order."""
    rows = batch.where("length > 0").select("path").distinct().collect()
    return sorted(plain_name(row["path"]) for row in rows)


def _added(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in sorted({*one, *other})}
