"""Answers: the promise, what is beside it, and what is refused afterwards."""

import json
import math
import shlex

import pytest

from stablecast.advisor import Question, advise
from stablecast.advisor.bounds import Impossible
from stablecast.advisor.crew import Processes
from stablecast.advisor.race import Budget
from stablecast.simulate.live.options import live_setup
from stablecast.simulate.live.run import simulate_live
from tests.advisor.made import Computed

SMALL = Budget(race=20_000, fresh=3_000)


def by_protocol(given):
    order = ["vector", "fulldist", "coordp"]
    time = 10.0 + order.index(given["protocol"]) if given["protocol"] in order else 14.5
    return {"p50_ms": time, "p99_ms": 3 * time, "datagrams": 500}


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    question = Question(members=3, rate_per_s=400, message_bytes=50, rtt_ms=4)
    with Processes(1) as crew:
        return advise(question, crew=crew, budget=SMALL, folder=folder)


def test_an_answer_can_be_simulated_as_it_says(answer):
    words = shlex.split(answer.simulate)
    assert words[:3] == ["stablecast", "simulate", "live"]
    kinds = {
        "protocol": str,
        "costs": str,
        "members": int,
        "data_bytes": int,
        "buffer_bytes": int,
        "seed": int,
    }
    given = {}
    for flag, value in zip(words[3::2], words[4::2], strict=True):
        name = flag.removeprefix("--").replace("-", "_")
        given[name] = kinds.get(name, float)(value)
    result = simulate_live(live_setup(given))
    assert result.completed
    assert 0.5 < result.tts_p50_us / 1e3 / answer.best.p50_ms.mid < 2


def test_an_answer_tells_intervals_runners_up_and_what_binds(answer):
    told = answer.to_dict()
    json.dumps(told)
    assert told["advice"]["p50_ms"]["low"] <= told["advice"]["p50_ms"]["mid"]
    assert told["runners_up"][0]["costs"]["p50_ms"] > 0
    assert answer.binds.what
    assert answer.join.startswith('stablecast.join("GROUP", protocol=')
    assert answer.promised


def test_the_promise_is_from_seeds_that_nobody_was_chosen_by(tmp_path):
    crew = Computed(by_protocol)
    found = advise(Question(members=6), crew=crew, folder=tmp_path)
    assert found.best.candidate.protocol == "vector"
    assert found.best.runs == 79
    fresh = {given["seed"] for given in crew.made if given["seed"] > 1000}
    assert len(fresh) == 79
    assert found.best.p50_ms.holds(10.0)


def test_runners_up_are_of_other_protocols_with_the_usual_one_at_the_end(tmp_path):
    found = advise(Question(members=6), crew=Computed(by_protocol), folder=tmp_path)
    protocols = [each.candidate.protocol for each in found.runners_up]
    assert protocols[:2] == ["fulldist", "coordp"]
    assert protocols[-1] == "s_coord"
    assert len(protocols) == len(set(protocols))


def test_a_second_question_about_the_same_group_makes_only_what_is_new(tmp_path):
    first, second = Computed(by_protocol), Computed(by_protocol)
    one = advise(Question(members=6), crew=first, folder=tmp_path)
    again = advise(Question(members=6), crew=second, folder=tmp_path)
    assert again.best == one.best
    assert again.made == 0
    assert not second.made


def test_a_limit_that_nobody_keeps_is_refused_with_the_nearest_and_what_binds(tmp_path):
    with pytest.raises(Impossible, match=r"the nearest, .* has .* ms .*binds: the step"):
        advise(Question(members=6, goal="p99-ms=20"), crew=Computed(by_protocol), folder=tmp_path)


def test_a_steady_protocol_keeps_a_limit_that_cheap_ones_with_a_long_tail_miss(tmp_path):
    def tailed(given):
        if given["protocol"] not in ("s_coord", "explicit"):
            return {"p99_ms": 60.0 if given["protocol"] == "vector" else 500.0, "bytes_per_s": 5000.0}
        late = given["seed"] > 1000 and given["seed"] % 6 == 0
        return {"p99_ms": 300.0 if late else 30.0, "bytes_per_s": 1000.0}

    found = advise(Question(members=6, goal="p99-ms=80"), crew=Computed(tailed), folder=tmp_path)
    assert found.best.candidate.protocol == "vector"


def test_a_group_that_keeps_up_with_no_protocol_is_refused(tmp_path):
    crew = Computed(lambda given: {"completed": False})
    with pytest.raises(Impossible, match="no candidate keeps up"):
        advise(Question(members=6), crew=crew, folder=tmp_path)


def test_a_group_too_large_to_simulate_gets_no_promise(tmp_path, monkeypatch):
    monkeypatch.setattr("stablecast.advisor.scaling.Kept", lambda question: _Nothing())

    def growing(given):
        return {"p50_ms": math.sqrt(given["members"]), "p99_ms": math.sqrt(given["members"])}

    found = advise(Question(members=2048, rate_per_s=50), crew=Computed(growing, noise=0.01), folder=tmp_path)
    assert not found.promised
    assert found.simulated_members < 2048
    assert found.best.p50_ms.mid == pytest.approx(math.sqrt(2048), rel=0.1)
    assert found.best.p50_ms.low < math.sqrt(found.simulated_members) * 1.1
    assert found.best.p50_ms.high > math.sqrt(2048) * 1.5


class _Nothing:
    def get(self, run):
        return None

    def add(self, run, found):
        pass


def test_times_of_a_calibrated_machine_are_corrected_and_wider(tmp_path):
    file = tmp_path / "here.toml"
    file.write_text("[checks]\np50_low = 0.8\np50_mid = 1.5\np50_high = 3.0\n")
    plain = advise(Question(members=6), crew=Computed(by_protocol), folder=tmp_path)
    told = advise(Question(members=6, costs=str(file)), crew=Computed(by_protocol), folder=tmp_path)
    assert told.best.p50_ms.mid == pytest.approx(1.5 * plain.best.p50_ms.mid, rel=0.1)
    assert told.best.p50_ms.high / told.best.p50_ms.low > 3


def test_an_answer_draws_itself(answer):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    axes = answer.plot()
    assert axes.get_xlabel() == "sent by a member [kB/s]"
    assert len(axes.texts) == 1 + len(answer.runners_up)
    pyplot.close(axes.figure)
