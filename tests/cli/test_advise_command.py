"""``stablecast advise`` and ``calibrate``: answers as text and JSON; one line for what is not accepted."""

import json
import signal

import pytest

from stablecast.advisor import crew
from stablecast.cli.main import main
from stablecast.cli.output import INTERRUPTED
from tests.advisor.made import Computed

ASKED = ["advise", "--members", "6", "--jobs", "1"]


@pytest.fixture
def computed(monkeypatch, tmp_path):
    made = Computed(lambda given: {"p50_ms": 5.0 if given["protocol"] == "vector" else 9.0})
    monkeypatch.setattr(crew.Processes, "run", lambda self, runs: made.run(runs))
    monkeypatch.setattr("stablecast.advisor.kept._folder", lambda: tmp_path)
    return made


def test_an_answer_is_told_with_what_to_paste(computed, capsys):
    assert main(ASKED) == 0
    out = capsys.readouterr().out
    assert out.startswith("vector")
    assert "time to stable, p50 (ms)" in out
    assert "binds: " in out
    assert "stablecast.join(\"GROUP\", protocol='vector'" in out
    assert "stablecast simulate live" in out


def test_json_is_one_object(computed, capsys):
    assert main([*ASKED, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["advice"]["protocol"] == "vector"
    assert told["advice"]["p50_ms"]["low"] <= 5.0 * 1.3
    assert {each["protocol"] for each in told["runners_up"]}


def test_an_impossible_goal_is_one_line_that_says_what_binds(capsys):
    assert main([*ASKED, "--rtt-ms", "50", "--goal", "p99-ms=10"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "impossible" in line
    assert "binds: the round trip" in line


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--members", "1"], "members 1 is not accepted"),
        (["--members", "many"], "Invalid value for '--members'"),
        (["--rate-per-s", "0"], "rate_per_s 0.0 is not accepted"),
        (["--goal", "fast"], "goal 'fast' is not accepted"),
        (["--goal", "p99-ms=soon"], "milliseconds above 0"),
        (["--costs", "moon"], "unknown costs 'moon'"),
        (["--costs", "moon.toml"], "costs 'moon.toml' cannot be read"),
        (["--memers", "3"], "No such option: --memers"),
        (["--senders", "30"], "30 senders in a group of 8 members"),
        (["--jobs", "0"], "Invalid value for '--jobs'"),
        (["--master", "nowhere"], "master 'nowhere' is not accepted"),
        (["extra"], "unexpected extra argument"),
    ],
)
def test_bad_input_is_one_line(capsys, words, told):
    assert main(["advise", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--out", "costs.json"], "a name that ends in .toml"),
        (["--out", "/nowhere/costs.toml"], "there is no folder '/nowhere'"),
        (["--seconds", "0"], "seconds 0 is not accepted"),
        (["--seconds", "nan"], "seconds nan is not accepted"),
        (["nowhere"], "'nowhere'"),
        (["--serve", "127.0.0.1:7100"], "--serve takes no peers"),
        (["--serve", "--bind", "0.0.0.0:7100"], "needs a key"),
        (["--key-file", "/nowhere/key"], "/nowhere/key"),
    ],
)
def test_bad_input_of_calibrate_is_one_line(capsys, words, told, monkeypatch):
    monkeypatch.delenv("STABLECAST_KEY", raising=False)
    assert main(["calibrate", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line


def test_a_kill_ends_it_in_order_with_one_line(monkeypatch, capsys, tmp_path):
    class Killing(Computed):
        ended = False

        def __enter__(self):
            return self

        def __exit__(self, *error):
            Killing.ended = True

        def run(self, runs):
            signal.raise_signal(signal.SIGTERM)
            yield from super().run(runs)

    monkeypatch.setattr(crew, "Processes", lambda count: Killing(lambda given: {}))
    before = signal.getsignal(signal.SIGTERM)
    assert main(["advise", "--members", "9", "--rate-per-s", "77"]) == INTERRUPTED
    assert Killing.ended
    assert capsys.readouterr().err == "stablecast: interrupted\n"
    assert signal.getsignal(signal.SIGTERM) is before
