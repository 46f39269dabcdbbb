"""Runs of the advisor on Spark come to the same as on this machine."""

from stablecast.advisor import Question
from stablecast.advisor.candidates import Candidate
from stablecast.advisor.measuring import measure, run_of
from stablecast.pipeline.advising import SparkCrew


def test_a_run_is_the_same_on_spark(spark):
    question = Question(members=3, rate_per_s=300, message_bytes=50)
    runs = [run_of(question, Candidate("s_coord"), seed) for seed in (1, 2)]
    with SparkCrew() as crew:
        found = dict(crew.run(runs))
    assert found == {place: measure(run) for place, run in enumerate(runs)}
