"""The archive of Java's classes: used where it is, never in the way, and really used."""

import os
import shlex
import subprocess
import sys

import pytest

from stablecast.errors import StablecastError
from stablecast.pipeline import class_archive
from stablecast.pipeline.class_archive import archive_options, archive_place, make_archive
from stablecast.pipeline.java import find_java, java_home
from stablecast.pipeline.session import QUICK_JAVA, java_options

START = """
import sys
from stablecast.pipeline.session import QUICK_JAVA, java_options, spark_session
options = java_options(QUICK_JAVA) + " -Xlog:class+load:file=" + sys.argv[1]
with spark_session(master="local[1]", conf={"spark.driver.extraJavaOptions": options}) as spark:
    print(spark.range(3).count())
"""


@pytest.fixture
def place(monkeypatch, tmp_path):
    """A place for an archive with none in it."""
    place = tmp_path / "the cache" / "classes.jsa"
    place.parent.mkdir()
    monkeypatch.setattr(class_archive, "archive_place", lambda: place)
    return place


def test_without_an_archive_java_is_asked_for_nothing(place):
    assert archive_options() == ""


def test_a_file_that_is_no_archive_is_not_in_the_way_and_not_spoken_of(place):
    place.write_text("no archive")
    assert shlex.quote(str(place)) in java_options(QUICK_JAVA)
    command = [find_java().binary, *shlex.split(archive_options()), "-version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert str(place) not in done.stdout + done.stderr
    assert not any("warning" in line.lower() for line in (done.stdout + done.stderr).splitlines())


def test_each_java_and_each_spark_has_its_own(monkeypatch, tmp_path):
    ours = archive_place()
    other = tmp_path / "spark"
    (other / "jars").mkdir(parents=True)
    monkeypatch.setenv("SPARK_HOME", str(other))
    assert archive_place() not in (ours, None)
    assert archive_place().parent == ours.parent


def test_a_home_of_ours_is_not_wrapped_again(monkeypatch):
    home = java_home(find_java())
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java_home(find_java()) == home


def test_a_java_that_makes_none_is_told_in_one_line(monkeypatch, place):
    fails = [sys.executable, "-c", "import sys; print('Error: no room', file=sys.stderr); sys.exit(1)"]
    run = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda command, **how: run(fails, **how))
    with pytest.raises(StablecastError, match=r"^this Java makes no archive of classes: Error: no room$"):
        make_archive()
    assert list(place.parent.iterdir()) == []


def test_archives_that_nobody_used_for_a_month_go(place):
    old, new = place.with_name("classes-old.jsa"), place.with_name("classes-new.jsa")
    for file in (place, old, new):
        file.touch()
    os.utime(old, (0, 0))
    class_archive._forget_unused(place)
    assert sorted(file.name for file in place.parent.iterdir()) == ["classes-new.jsa", "classes.jsa"]


@pytest.mark.soak
def test_spark_takes_most_classes_from_an_archive_that_was_made(monkeypatch, tmp_path):
    environment = {**os.environ, "STABLECAST_CACHE_DIR": str(tmp_path / "a cache")}
    make = [sys.executable, "-m", "stablecast.pipeline.class_archive"]
    subprocess.run(make, env=environment, check=True)
    log = tmp_path / "loaded"
    done = subprocess.run(
        [sys.executable, "-c", START, str(log)], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["3"]
    lines = log.read_text().splitlines()
    archived = sum("source: shared objects file (top)" in line for line in lines)
    assert archived > len(lines) / 2, f"{archived} of {len(lines)}"
