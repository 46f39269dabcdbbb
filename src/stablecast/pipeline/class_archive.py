"""An archive of Java's classes, with which Spark starts in about half the time.

Starting, Java reads, checks and links some ten thousand classes from three hundred files; those of an archive
are mapped into memory as they are.  ``python -m stablecast.pipeline.class_archive`` makes one in the cache
folder, for this Java and this Spark, and every session on this machine finds it there.  Java itself checks
whether an archive fits, and does without it if not.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from stablecast.errors import InvalidInput, StablecastError
from stablecast.pipeline.java import find_java, java_home

UNUSED_SECONDS = 30 * 24 * 3600.0
_QUIET = "-Xshare:auto -Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"
_TRAIN = "--train"


def archive_place() -> Path | None:
    """Return where the archive for the Java and the Spark that would run now is, or would be."""
    jars = _jars()
    if jars is None:
        return None
    known_as = f"{jars} {jars.stat().st_mtime_ns}"
    digest = hashlib.blake2s(known_as.encode(), digest_size=8).hexdigest()
    return java_home(find_java()) / f"classes-{digest}.jsa"


def _jars() -> Path | None:
    home = os.environ.get("SPARK_HOME")
    spec = find_spec("pyspark")
    places = [home] if home else (spec and spec.submodule_search_locations) or []
    return next((jars for jars in (Path(place) / "jars" for place in places) if jars.is_dir()), None)


def archive_options() -> str:
    """Return the options with which Java uses the archive, if there is one."""
    place = archive_place()
    if place is None or not place.exists():
        return ""
    return f"-XX:SharedArchiveFile={shlex.quote(str(place))} {_QUIET}"


def make_archive() -> Path:
    """Make the archive: run Spark once, with all that an analysis needs, and let Java keep its classes."""
    place = archive_place()
    if place is None:
        raise InvalidInput("pyspark is not installed (pip install 'stablecast[pipeline]')")
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        new = Path(folder) / place.name
        # Java writes it at its end, and holds these pipes until then.
        command = [sys.executable, "-m", "stablecast.pipeline.class_archive", _TRAIN, str(new)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode or not new.exists():
            told = (done.stderr or done.stdout).strip().splitlines()
            raise StablecastError(f"this Java makes no archive of classes: {(told or ['no word of it'])[-1]}")
        new.replace(place)
    _forget_unused(place)
    return place


def _forget_unused(used: Path) -> None:
    """Remove the archives of other versions that nobody has used for a month."""
    for other in used.parent.glob("classes-*.jsa"):
        if other != used and other.stat().st_atime < time.time() - UNUSED_SECONDS:
            other.unlink(missing_ok=True)


def _train(place: Path) -> None:
    """Run queries of most kinds, in a Java that writes an archive when it ends."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    from stablecast.pipeline.session import QUICK_JAVA, plain_java_options, spark_session

    options = f"{plain_java_options(QUICK_JAVA)} -XX:ArchiveClassesAtExit={shlex.quote(str(place))}"
    with spark_session(conf={"spark.driver.extraJavaOptions": options}) as spark:
        events = place.parent / "events.jsonl"
        events.write_text("".join(f'{{"who": "{who}", "at": {who}}}\n' for who in range(9)), encoding="utf-8")
        read = spark.read.schema("who string, at bigint").json(str(events))
        last = F.max("at").over(Window.partitionBy("who").orderBy("at"))
        sums = read.groupBy("who").agg(F.sum("at").alias("sum"), F.collect_list("at").alias("all"))
        both = read.withColumn("last", last).join(F.broadcast(sums), "who").drop("last")
        both.where("sum > 1").write.parquet(str(place.parent / "table"))
        spark.read.parquet(str(place.parent / "table")).groupBy().count().collect()


def main() -> int:
    """Make the archive if it is not there."""
    if sys.argv[1:2] == [_TRAIN]:
        _train(Path(sys.argv[2]))
        return 0
    place = archive_place()
    if place is not None and place.exists():
        return 0
    print("# making an archive of Java's classes, once", file=sys.stderr, flush=True)
    try:
        make_archive()
    except StablecastError as error:
        print(f"# {error}; Spark will start slower", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
