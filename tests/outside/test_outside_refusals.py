"""Bad protocol files: one line with file and line, exit code 2, and the same error from Python."""

import subprocess
import sys
from pathlib import Path

import pytest
from outside_files import SMALL, another, complaint, variant

from stablecast.cli.main import main
from stablecast.compiling import KernelError
from stablecast.errors import InvalidInput
from stablecast.simulate import Setup, simulate, topology
from stablecast.simulate.options import Options

PARAMETERS = "    parameters=(STEP, FANOUT),\n"
RECEIVE = "        receive={TELL: on_tell},\n"

DESCRIPTIONS = {
    "syntax": ("class State(Member):", "class State(Member:", 0, "not Python: "),
    "import": (
        "from typing import NamedTuple",
        "import does_not_exist",
        0,
        "No module named 'does_not_exist'",
    ),
    "exception": ('"""What a member keeps."""', "print(1 / 0)", 0, "ZeroDivisionError: division by zero"),
    "unknown name": ('    M: Sources\n    """', '    M: Sauces\n    """', 0, "name 'Sauces' is not defined"),
    "no kind": ('    M: Sources\n    """', '    M: int\n    """', 0, "field M of State has no kind"),
    "field twice": (
        "    G: Members\n    gone",
        "    M: Members\n    gone",
        0,
        "field M of State is declared twice",
    ),
    "message field twice": (
        "    G: Members\n\n",
        "    M: Members\n\n",
        0,
        "field M of TELL is declared twice",
    ),
    "reserved": ("    gone: Members", "    number: Number", 0, "field number is one that every member has"),
    "reserved received": (
        "    gone: Members",
        "    received: Members",
        0,
        "field received is one that every",
    ),
    "reserved view": ("    gone: Members", "    view: Number", 0, "field view is one that every member has"),
    "no messages": (RECEIVE, "        receive={},\n", None, "receive is empty"),
    "no message type": (RECEIVE, "        receive={State: on_tell},\n", None, "State is no message"),
    "no function": (RECEIVE, "        receive={TELL: None},\n", None, "the kernel for TELL is None"),
    "not a kernel": ("@kernel\ndef on_tell", "def on_tell", 0, "the kernel for TELL is no kernel"),
    "arguments": (
        "def timer(me: State, now: int, out",
        "def timer(me: State, out",
        -1,
        "timer takes 2 arguments",
    ),
    "parameter twice": (
        PARAMETERS,
        "    parameters=(STEP, STEP),\n",
        None,
        "parameter step is declared twice",
    ),
    "option of the run": (
        '    "fanout", WHOLE',
        '    "members", WHOLE',
        0,
        "the parameter members, an option",
    ),
    "option of the command": ('    "fanout", WHOLE', '    "json", WHOLE', 0, "the parameter json, an option"),
    "name of a parameter": ('    "fanout", WHOLE', '    "my way", WHOLE', 0, "has no name for kernels"),
    "role": ("role=Role.FANOUT", 'role="stp"', None, "unknown role of parameter 'fanout' 'stp'"),
    "no name": ('"""doubling: members', '"""Members', None, "about begins with"),
    "calls itself": (
        "    close_if_full(me, out)\n    set_timer",
        "    timer(me, now, out)\n    set_timer",
        0,
        "the kernel timer calls itself",
    ),
}


@pytest.mark.parametrize("case", DESCRIPTIONS)
def test_a_bad_description_is_refused_with_its_line(case, tmp_path, capsys):
    old, new, offset, what = DESCRIPTIONS[case]
    path, line = variant(tmp_path, old, new)
    said = complaint(capsys, "simulate", path, *SMALL)
    assert what in said
    assert said.startswith(f"{path}, line ")
    if offset is not None:
        assert said.startswith(f"{path}, line {line + offset}: ")
    with pytest.raises(InvalidInput, match=r"mine\.py, line \d+: "):
        Options(protocol=path, members=3, topology="balanced").setup()
    if not case.startswith("option of the"):  # Setup has no options
        with pytest.raises(InvalidInput, match=r"mine\.py, line \d+: "):
            Setup(protocol=path, topology=topology("balanced", members=3))


@pytest.mark.parametrize("command", ["--help", "--json"])
def test_a_bad_file_is_refused_by_the_help_page_and_the_list_too(command, tmp_path, capsys):
    path, line = variant(tmp_path, "class State(Member):", "class State(Member:")
    assert f"{path}, line {line}" in complaint(capsys, "simulate", path, command)
    assert f"{path}, line {line}" in complaint(capsys, "protocols", path)


def test_files_that_define_no_protocol(tmp_path, capsys):
    path, _ = variant(tmp_path, "PROTOCOL = Protocol(", "OTHER = Protocol(")
    assert f"{path}, line 1: defines no PROTOCOL" in complaint(capsys, "simulate", path)
    (tmp_path / "three.py").write_text("x = 1\nPROTOCOL = 3\n", encoding="utf-8")
    said = complaint(capsys, "simulate", str(tmp_path / "three.py"))
    assert "three.py, line 2: PROTOCOL is of type int" in said
    missing = str(tmp_path / "missing.py")
    assert f"no protocol '{missing}'" in complaint(capsys, "simulate", missing)
    assert "Is a directory" in complaint(capsys, "simulate", str(_folder(tmp_path)))
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe\x00")
    assert "binary.py" in complaint(capsys, "simulate", str(tmp_path / "binary.py"))


def _folder(tmp_path):
    (tmp_path / "folder.py").mkdir()
    return tmp_path / "folder.py"


def test_a_message_without_a_kernel_is_refused(tmp_path, capsys):
    more = 'class MORE(NamedTuple):\n    """Nobody receives it."""\n\n    round: Round\n\n\n'
    path, line = variant(tmp_path, "@kernel\ndef init(", more + "@kernel\ndef init(")
    assert complaint(capsys, "simulate", path).startswith(f"{path}, line {line}: message MORE has no kernel")


def test_a_field_that_a_base_class_has_is_declared_twice(tmp_path, capsys):
    base = "class Base(Member):\n    M: Sources\n\n\nclass State(Base):"
    path, _ = variant(tmp_path, "class State(Member):", base)
    assert "field M of State is declared twice" in complaint(capsys, "simulate", path)


def test_a_file_beside_it_cannot_be_imported(tmp_path, capsys, monkeypatch):
    (tmp_path / "helper.py").write_text("DISTANCE = 2\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    for new in ("import helper", "from helper import DISTANCE"):
        path, line = variant(tmp_path, "from typing import NamedTuple", new)
        assert f"{path}, line {line}: imports helper, a file beside it" in complaint(capsys, "simulate", path)
    path, line = variant(tmp_path, "from typing import NamedTuple", "from . import helper")
    assert f"{path}, line {line}: imports ., a file beside it" in complaint(capsys, "simulate", path)


PLACED = "    parameters=(STEP, FANOUT),\n    places=lambda around: {},\n"
PLACES = {
    "none": ("{}", "places gives nothing, and the state declares next"),
    "other": ('{"previous": [0]}', "places gives previous, and the state declares next"),
    "short": ('{"next": [0]}', "places gives next as an array of 1"),
    "exception": ('{"next": [1 / 0]}', "ZeroDivisionError"),
}


@pytest.mark.parametrize("case", PLACES)
def test_places_that_do_not_fit_the_declaration(case, tmp_path, capsys):
    given, what = PLACES[case]
    path = tmp_path / "mine.py"
    variant(tmp_path, PARAMETERS, PLACED.replace("{}", given))
    field = "    gone: Members\n"
    text = path.read_text(encoding="utf-8").replace(field, f"{field}    next: Place\n")
    path.write_text(text.replace("    Outbox,\n", "    Outbox,\n    Place,\n"), encoding="utf-8")
    said = complaint(capsys, "simulate", str(path), *SMALL)
    assert what in said
    assert said.startswith(f"{path}, line ")


def test_a_length_that_names_no_parameter(tmp_path, capsys):
    sends = 'sends=lambda sizes: sizes.params["fanout"]'
    path, line = variant(tmp_path, sends, sends.replace("fanout", "fan_out"))
    assert complaint(capsys, "simulate", path, *SMALL) == f"{path}, line {line}: KeyError: 'fan_out'"


@pytest.mark.parametrize("sends", ["-2", "2.5", "'two'"])
def test_room_that_cannot_be_is_refused(sends, tmp_path, capsys):
    path, _ = variant(tmp_path, 'sends=lambda sizes: sizes.params["fanout"]', f"sends=lambda sizes: {sends}")
    assert f"'sends' of the kernels is {sends} (accepted: a whole number, 1 to" in complaint(
        capsys, "simulate", path, *SMALL
    )


def test_a_length_that_cannot_be_is_refused(tmp_path, capsys):
    path, line = variant(
        tmp_path, "    gone: Members\n", "    gone: Annotated[IntArray, set_of(lambda s: -90)]\n"
    )
    text = Path(path).read_text(encoding="utf-8")
    text = text.replace("import NamedTuple", "import Annotated, NamedTuple", 1)
    text = text.replace("    set_timer,\n)", "    set_timer,\n    IntArray,\n    set_of,\n)", 1)
    Path(path).write_text(text, encoding="utf-8")
    said = complaint(capsys, "simulate", path, *SMALL)
    assert said.startswith(f"{path}, line {line + 2}: the length of gone is -3 ")


def test_a_file_that_leaves_python_is_refused(tmp_path, capsys):
    path, _ = variant(tmp_path, '"""What a member keeps."""', "raise SystemExit")
    assert complaint(capsys, "simulate", path, *SMALL) == f"{path}: leaves Python when it is imported"


TELLS = "            send(out, j, TELL(me.round, me.stable, me.M, me.G))\n"
KERNELS = {
    "field not of the message": (TELLS, TELLS.replace("me.G)", "H=me.G)"), "TELL has no field H"),
    "field missing": (TELLS, TELLS.replace(", me.G)", ")"), "missing a required argument: 'G'"),
    "array for a number": (TELLS, TELLS.replace("me.round", "me.M", 1), "field round of TELL is a number"),
    "field read": (
        "        join(me.G, message.G)",
        "        join(me.H, message.G)",
        "a member has no field H",
    ),
    "field written": ("    me.distance = 1", "    me.distanze = 1", "did you mean 'distance'?"),
    "array written": ("    me.distance = 1", "    me.M = me.received", "M is not a number that can be set"),
    "message read": ("if message.round > me", "if message.reound > me", "did you mean 'round'?"),
    "parameter": (
        "range(me.params.fanout)",
        "range(me.params.fanot)",
        "there is no parameter fanot; did you",
    ),
    "name": ("    me.distance = 1", "    me.distance = unknown", "name 'unknown' is not defined"),
    "type": ("    me.distance = 1", '    me.distance = "a"', ""),
    "print": ("    me.distance = 1", "    print(me.distance)", "a kernel cannot call print()"),
}


@pytest.mark.parametrize("case", KERNELS)
def test_a_kernel_that_does_not_compile_is_told_by_its_own_line(case, tmp_path, capsys):
    old, new, what = KERNELS[case]
    path, line = variant(tmp_path, old, new)
    said = complaint(capsys, "simulate", path, *SMALL)
    assert said.startswith(f"{path}, line {line}: "), said
    assert what in said


def test_what_does_not_compile_is_the_same_error_from_python(tmp_path):
    old, new, what = KERNELS["field read"]
    path, line = variant(tmp_path, old, new)
    with pytest.raises(KernelError, match=rf"mine\.py, line {line}: .*{what}"):
        simulate(Setup(protocol=path, topology=topology("balanced", members=3)))


def test_there_is_no_traceback(tmp_path):
    path, line = variant(tmp_path, '    M: Sources\n    """', '    M: Sauces\n    """')
    command = [sys.executable, "-m", "stablecast.cli.main", "simulate", path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        f"stablecast: {path}, line {line}: NameError: name 'Sauces' is not defined"
    ]


def test_a_value_that_the_parameter_refuses(tmp_path, capsys):
    path = another(tmp_path)
    assert "fanout 5 is not accepted (accepted: 1 to 4)" in complaint(
        capsys, "simulate", path, *SMALL, "--fanout", "5"
    )
    assert main(["simulate", path, *SMALL, "--fanout", "4", "--json"]) == 0
