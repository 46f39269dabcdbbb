"""Protocols by the path of their file: the command line, and what a process remembers of a file."""

import json

from outside_files import DOUBLING, NEAR_CUBE, SMALL, another, example, variant

from stablecast.cli.main import main
from stablecast.protocols import protocol, provide, source_digest
from stablecast.simulate import Setup, simulate, topology
from stablecast.simulate.options import Options


def printed(capsys, *arguments):
    capsys.readouterr()
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def test_the_help_page_has_the_options_of_the_file(capsys):
    text = printed(capsys, "simulate", str(DOUBLING), "--help")
    assert "Options of doubling" in text
    assert "--step-ms" in text
    assert "--fanout" in text
    assert "Members that a member tells in a step." in text


def test_its_parameters_change_the_run(capsys):
    runs = [
        json.loads(printed(capsys, "simulate", str(DOUBLING), *SMALL, "--fanout", fanout, "--json"))
        for fanout in ("1", "2")
    ]
    assert all(run["completed"] and run["protocol"] == "doubling" for run in runs)
    assert runs[1]["rtt_last_us"] < runs[0]["rtt_last_us"]


def test_it_is_described(capsys):
    text = printed(capsys, "protocols", str(DOUBLING))
    assert text.startswith("doubling: members tell others at distances that double")
    assert "fanout   Members that a member tells in a step. Accepted: 1 to 8. Default: 1." in text
    told = json.loads(printed(capsys, "protocols", str(DOUBLING), "--json"))
    assert (told["name"], told["file"], told["messages"]) == ("doubling", str(DOUBLING), ["TELL"])
    assert [(each["option"], each["type"], each["role"]) for each in told["parameters"]] == [
        ("step_ms", "float", "step"),
        ("fanout", "int", "fanout"),
    ]
    assert "resend_ms" in printed(capsys, "protocols", "coordp")


def test_its_options_name_the_file_in_the_replay_command():
    options = Options(protocol=str(DOUBLING), members=6, topology="balanced", fanout=2)
    assert options.command() == f"stablecast simulate {DOUBLING} --topology balanced --members 6 --fanout 2"


def test_two_files_of_one_name_are_two_protocols(tmp_path):
    first, second = example(tmp_path / "a"), another(tmp_path / "b")
    assert [protocol(path).name for path in (first, second)] == ["doubling", "another"]
    assert protocol(first).state is not protocol(second).state
    assert protocol(first).state.__module__ != protocol(second).state.__module__
    hops = [_hops(path) for path in (first, second)]
    assert hops[0] == hops[1]


def _hops(path):
    setup = Setup(protocol=path, topology=topology("balanced", members=4), params={"step_ms": 10.0})
    return simulate(setup).hops


def test_an_edited_file_is_read_anew_by_the_same_process(tmp_path):
    path, _ = variant(tmp_path, "TIME, 10.0", "TIME, 20.0")
    assert protocol(path) is protocol(path)
    before, digest = protocol(path), source_digest(path)
    variant(tmp_path, "TIME, 10.0", "TIME, 5.0")
    assert protocol(path) is not before
    assert source_digest(path) != digest
    assert protocol(path).options["step_ms"].default == 5.0
    assert Options(protocol=path).setup().param_values["step"] == 5 * 10**9


def test_a_text_stands_for_a_path_that_is_not_there(tmp_path):
    text = DOUBLING.read_text(encoding="utf-8").replace("doubling:", "shipped:")
    path = str(tmp_path / "elsewhere" / "mine.py")
    provide({path: text})
    assert protocol(path).name == "shipped"
    assert protocol(path).file == path
    other = text.replace("shipped:", "edited:")
    provide({path: other})
    assert protocol(path).name == "edited"


def test_a_path_is_taken_where_it_leads_to_the_same_text():
    provide({str(DOUBLING): DOUBLING.read_text(encoding="utf-8")})
    assert protocol(str(DOUBLING)).state.__module__.startswith("stablecast_outside_doubling_")


def test_a_protocol_that_shares_kernels_shares_the_loop():
    from stablecast.simulate.compiled import loop_name

    assert loop_name(protocol(str(NEAR_CUBE))) == loop_name(protocol("cubefulldist"))


def test_a_protocol_itself_can_be_run_by_options():
    found = protocol(str(DOUBLING))
    assert Options(protocol=found, members=3, topology="balanced").setup().found_protocol is found
