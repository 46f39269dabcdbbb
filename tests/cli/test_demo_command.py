"""``stablecast demo``: real processes, a kill, the verdict, and nothing left behind."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from wire_traces import check_arrivals, rows_of

from stablecast.cli.main import main
from stablecast.engine.choice import live_protocols
from stablecast.trace.verdict import judge_files

COMMAND = [sys.executable, "-m", "stablecast.cli.main", "demo"]
OUTSIDE = Path(__file__).parents[1] / "live" / "tell_all.py"
SMALL = ["--members", "3", "--messages", "60", "--kill", "1", "--seed", "7"]
PATIENCE_S = 180


def demo(*arguments, **options):
    done = subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=PATIENCE_S, **options
    )
    return done.returncode, done.stdout, done.stderr


def test_a_demo_passes_and_leaves_traces_and_a_verdict(tmp_path):
    code, out, err = demo(*SMALL, "--json", "--out", str(tmp_path / "out"), "--wire")
    told = json.loads(out)
    assert (code, told["ok"], told["problems"]) == (0, True, []), (out, err)
    assert len(told["killed"]) == 1
    assert told["verdict"]["departed"] == told["killed"]
    assert told["verdict"]["messages"] >= 40
    assert told["replay"].startswith("stablecast demo --members 3 --messages 60")
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert files == ["events-m1.jsonl", "events-m2.jsonl", "events-m3.jsonl", "verdict.json"]
    assert json.loads((tmp_path / "out" / "verdict.json").read_text()) == told
    assert judge_files(sorted((tmp_path / "out").glob("*.jsonl"))).ok
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    rows = rows_of(*(tmp_path / "out").glob("*.jsonl"))
    assert check_arrivals(rows, known=("m1", "m2", "m3")) > 0


def test_people_get_a_readable_verdict_and_plain_progress():
    code, out, err = demo("--members", "2", "--messages", "20", "--kill", "0", "--loss", "0", "--rate", "200")
    assert code == 0, (out, err)
    assert [line.split()[0] for line in out.splitlines()][-1] == "verdict"
    assert out.splitlines()[-1].endswith("passed")
    for row in ("delivered", "all-or-none", "order", "safety", "time to stable", "peak buffer"):
        assert any(line.startswith(row) for line in out.splitlines())
    assert all(line.startswith("# ") for line in err.splitlines())


def test_a_demo_of_bimodal_delivery_tells_what_was_given_up():
    arguments = ("--members", "3", "--messages", "60", "--kill", "0", "--loss", "0.05", "--rate", "100")
    code, out, err = demo(*arguments, "--delivery", "bimodal:p_fail=0.01")
    assert code == 0, (out, err)
    rows = {line[:15].strip(): line[16:] for line in out.splitlines()}
    assert rows["protocol"].startswith("bimodal, 3 members")
    assert "deliveries that a survivor lacks" in rows["given up"]
    assert rows["verdict"] == "passed"


def test_a_deadline_that_passes_is_a_failure_with_a_replay_line():
    code, out, _ = demo(*SMALL, "--rate", "1", "--deadline", "3")
    assert code == 1
    assert "after 3 s still waiting for" in out
    assert "FAILED; replay: stablecast demo --members 3" in out


def test_a_protocol_from_a_file_runs_with_its_options(tmp_path):
    (tmp_path / "demo_idea.py").write_text(OUTSIDE.read_text())
    arguments = ["--protocol", "demo_idea.py", "--set", "copies=2", "--json"]
    code, out, err = demo(*SMALL, *arguments, cwd=tmp_path)
    told = json.loads(out)
    assert (code, told["ok"], told["problems"]) == (0, True, []), (out, err)
    assert told["options"]["set"] == ["copies=2"]
    assert "--protocol demo_idea.py --set copies=2" in told["replay"]
    assert "# compiling tell-all" in err.splitlines()


def test_a_file_whose_kernel_does_not_compile_is_one_line_and_exit_code_2(tmp_path):
    wrong = OUTSIDE.read_text().replace("add(me.heard, source)", "add(me.herd, source)")
    (tmp_path / "wrong_idea.py").write_text(wrong)
    code, out, err = demo(*SMALL, "--protocol", "wrong_idea.py", cwd=tmp_path)
    told = [line for line in err.splitlines() if not line.startswith("# ")]
    assert (code, out, len(told)) == (2, "", 1), err
    assert "wrong_idea.py, line " in told[0]


def started(*arguments, **options):
    """Start a demo, and return it once a member is in the group."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdout=pipe, stderr=pipe, text=True, start_new_session=True, **options
    )
    for line in process.stderr:
        if "messages stable everywhere" in line:
            return process
    raise AssertionError(f"ended with {process.wait()}")


def nothing_is_left(process):
    """Assert that every process of the demo ends: each holds the pipe of standard error."""
    with process:
        process.communicate(timeout=60)


def test_an_interrupt_ends_every_process_and_leaves_no_files(tmp_path):
    process = started(*SMALL, "--rate", "2", "--out", str(tmp_path / "out"))
    os.killpg(process.pid, signal.SIGINT)
    nothing_is_left(process)
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == []


def test_a_killed_demo_leaves_no_process_behind():
    process = started(*SMALL, "--rate", "2")
    process.kill()
    nothing_is_left(process)


BAD = {
    "one member": (["--members", "1"], "accepted: 2 to 64"),
    "more than half killed": (["--members", "4", "--kill", "3"], "accepted: 0 to 2"),
    "no probability": (["--loss", "1.5"], "--loss 1.5"),
    "not a number": (["--loss", "nan"], "--loss nan"),
    "no messages": (["--messages", "0"], "--messages 0"),
    "too large": (["--size", "1048577"], "accepted: 0 to 1,048,576"),
    "an unknown protocol": (["--protocol", "trian"], "did you mean 'train'"),
    "a protocol that delivers": (["--protocol", "bimodal"], "live groups cannot run it"),
    "a file that is not there": (["--protocol", "no/such.py"], "no/such.py"),
    "an unknown option of the protocol": (
        ["--protocol", "gsgc", "--set", "subgrup=4"],
        "did you mean 'subgroup'",
    ),
    "an option of the group": (
        ["--protocol", "gsgc", "--set", "step_s=1"],
        "it follows the group's pace (accepted: ",
    ),
    "no value": (["--set", "subgroup"], "accepted: NAME=VALUE"),
    "an unknown delivery": (["--delivery", "fast"], "delivery 'fast' is not accepted"),
    "a protocol with bimodal delivery": (
        ["--delivery", "bimodal", "--protocol", "train"],
        "a protocol is not accepted with bimodal delivery",
    ),
    "no rate": (["--rate", "0"], "--rate"),
    "a negative seed": (["--seed", "-1"], "--seed -1"),
    "datagrams of no trace": (["--wire"], "accepted: --wire with --out FOLDER"),
    "letters": (["--members", "many"], "--members"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_exit_code_2(case, capsys):
    arguments, why = BAD[case]
    assert main(["demo", *arguments]) == 2
    captured = capsys.readouterr()
    assert why in captured.err
    assert (captured.out, captured.err.count("\n")) == ("", 1)


def test_a_folder_that_holds_something_is_refused(tmp_path, capsys):
    (tmp_path / "mine").write_text("kept")
    assert main(["demo", "--out", str(tmp_path)]) == 2
    assert "is not an empty folder" in capsys.readouterr().err
    assert main(["demo", "--out", str(tmp_path / "mine")]) == 2
    assert (tmp_path / "mine").read_text() == "kept"


@pytest.mark.parametrize("protocol", live_protocols())
def test_every_protocol_is_taken_by_name(protocol):
    from stablecast.live.demo.plan import DemoOptions

    assert f"--protocol {protocol}" in DemoOptions(protocol=protocol).command()
