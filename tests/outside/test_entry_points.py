"""Protocols of installed packages, found by the entry point ``stablecast.protocols``."""

import json

import pytest
from outside_files import DOUBLING, SMALL, complaint

from stablecast.cli.main import main
from stablecast.protocols import _outside, installed_titles, is_known, protocol, source_digest


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that installs a package with some entry points and modules."""

    def installing(entries, **modules):
        for name, text in modules.items():
            (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        folder = tmp_path / "mine-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n", "utf-8")
        lines = ["[stablecast.protocols]", *(f"{name} = {value}" for name, value in entries.items())]
        (folder / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))
        _forget()

    yield installing
    monkeypatch.undo()
    _forget()


def _forget():
    _outside.installed.cache_clear()
    _outside.installed_protocol.cache_clear()


def text(name):
    return DOUBLING.read_text(encoding="utf-8").replace("doubling:", f"{name}:")


def test_it_is_listed_described_and_run_by_its_name(install, capsys):
    install({"outsider": "outsider_of_ours:PROTOCOL"}, outsider_of_ours=text("outsider"))
    assert is_known("outsider")
    assert main(["protocols", "--json"]) == 0
    names = [each["name"] for each in json.loads(capsys.readouterr().out)]
    assert "outsider" in names
    assert "coordp" in names
    assert names == sorted(names)
    assert main(["protocols", "outsider"]) == 0
    assert "fanout" in capsys.readouterr().out
    assert main(["simulate", "outsider", *SMALL, "--fanout", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["protocol"] == "outsider"
    assert len(source_digest("outsider")) == 16


def test_a_module_may_stand_for_its_protocol(install):
    install({"modular": "modular_of_ours"}, modular_of_ours=text("modular"))
    assert protocol("modular").name == "modular"


def test_a_broken_one_is_one_line_and_leaves_the_others(install, capsys):
    install(
        {"healthy": "healthy_of_ours:PROTOCOL", "broken": "broken_of_ours:PROTOCOL"},
        healthy_of_ours=text("healthy"),
        broken_of_ours="1 / 0\n",
    )
    assert main(["protocols"]) == 0
    said = capsys.readouterr()
    assert "healthy" in said.out
    assert "broken" not in said.out
    assert said.err.splitlines() == [
        "stablecast: warning: entry point broken = broken_of_ours:PROTOCOL: ZeroDivisionError: division by"
        " zero; it is left out"
    ]
    assert "ZeroDivisionError" in complaint(capsys, "simulate", "broken")


def test_the_name_of_a_protocol_of_the_package_is_not_taken(install, capsys):
    install({"coordp": "usurper:PROTOCOL"}, usurper=text("coordp"))
    assert main(["protocols"]) == 0
    said = capsys.readouterr()
    assert "the name is taken by a protocol of this package; it is left out" in said.err
    assert len(said.err.splitlines()) == 1
    assert protocol("coordp").paper == "hierarchical, section 3.1"


def test_a_module_that_is_not_there_is_a_warning(install):
    install({"absent": "nowhere_of_ours:PROTOCOL"})
    with pytest.warns(_outside.ProtocolWarning, match="absent = .*: ModuleNotFoundError"):
        assert "absent" not in installed_titles()


@pytest.mark.parametrize(
    ("name", "source", "what"),
    [
        ("renamed", text("another"), "is called another"),
        ("number", "PROTOCOL = 3\n", "is of type int"),
        ("absent", "", "has no attribute 'PROTOCOL'"),
    ],
)
def test_what_is_no_protocol_of_that_name_is_refused(name, source, what, install, capsys):
    install({name: f"{name}_of_ours:PROTOCOL"}, **{f"{name}_of_ours": source})
    assert what in complaint(capsys, "simulate", name)
