"""What workers are forked from: every protocol is loaded there, and what cannot be is told in a line."""

import pytest

from stablecast.pipeline import daemon as daemon_module
from stablecast.pipeline.daemon import preload
from stablecast.pipeline.session import PROTOCOLS_VARIABLE
from stablecast.protocols import protocol_names
from stablecast.simulate import warm


@pytest.fixture
def served(monkeypatch):
    """Run the daemon without Spark; holds what it served."""
    calls = []
    monkeypatch.setattr(daemon_module.daemon, "manager", lambda: calls.append("served"))
    monkeypatch.setattr(daemon_module.daemon, "worker", lambda sock, authenticated: 0)
    monkeypatch.setattr(daemon_module.gc, "freeze", lambda: None)
    return calls


def test_every_protocol_of_the_registry_is_loaded_without_a_word(monkeypatch, capfd, served):
    names = protocol_names()
    assert "bimodal" in names
    monkeypatch.setenv(PROTOCOLS_VARIABLE, ",".join(names))
    daemon_module.main()
    assert capfd.readouterr() == ("", "")
    assert served == ["served"]


def test_a_protocol_that_cannot_be_loaded_is_one_line_and_the_others_are_loaded(monkeypatch, capfd):
    loaded = []
    monkeypatch.setattr(warm, "compile_loop", loaded.append)
    preload(["cordp", "s_coordp"])
    out, err = capfd.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("stablecast: cannot load protocol 'cordp' before Spark's workers start: ")
    assert "did you mean 'coordp'" in line
    assert loaded == ["s_coordp"]


def test_an_error_of_many_lines_is_told_in_one(monkeypatch, capfd):
    def fail(name):
        raise RuntimeError("Failed in nopython mode pipeline\n\nmore\nand more")

    monkeypatch.setattr(warm, "compile_loop", fail)
    preload(["s_coordp"])
    (line,) = capfd.readouterr().err.splitlines()
    assert line.endswith("RuntimeError: Failed in nopython mode pipeline")


def test_workers_are_served_although_nothing_could_be_loaded(monkeypatch, capfd, served):
    def fail(names):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(daemon_module, "preload", fail)
    monkeypatch.setenv(daemon_module.PROTOCOLS_VARIABLE, "coordp")
    daemon_module.main()
    (line,) = capfd.readouterr().err.splitlines()
    assert "PermissionError: [Errno 13] Permission denied" in line
    assert served == ["served"]
