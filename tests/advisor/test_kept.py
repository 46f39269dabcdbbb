"""Results that were kept: found again, and never believed when they are not whole."""

from stablecast.advisor import Question
from stablecast.advisor.candidates import default_candidate
from stablecast.advisor.kept import Kept
from stablecast.advisor.measuring import run_of
from tests.advisor.made import a_result

QUESTION = Question(members=4)
RUN = run_of(QUESTION, default_candidate(), 1)


def test_a_result_is_found_again_by_another_process(tmp_path):
    Kept(QUESTION, tmp_path).add(RUN, a_result(p50_ms=3.25))
    again = Kept(QUESTION, tmp_path)
    assert again.get(RUN) == a_result(p50_ms=3.25)
    assert again.get(run_of(QUESTION, default_candidate(), 2)) is None
    assert len(Kept(Question(members=5), tmp_path)) == 0


def test_a_time_that_is_infinite_is_kept(tmp_path):
    Kept(QUESTION, tmp_path).add(RUN, a_result(p50_ms=float("inf")))
    assert Kept(QUESTION, tmp_path).get(RUN).p50_ms == float("inf")


def test_lines_that_were_cut_off_or_are_of_others_are_passed_over(tmp_path):
    kept = Kept(QUESTION, tmp_path)
    kept.add(RUN, a_result())
    (file,) = tmp_path.iterdir()
    file.write_text('["x", {"p50_ms": 1}]\n[1\n3\n' + file.read_text() + '["half", {"p50')
    assert Kept(QUESTION, tmp_path).get(RUN) == a_result()


def test_where_nothing_can_be_written_the_result_is_there_all_the_same(tmp_path):
    file = tmp_path / "a file"
    file.write_text("")
    kept = Kept(QUESTION, file / "folder")
    kept.add(RUN, a_result())
    assert kept.get(RUN) == a_result()
