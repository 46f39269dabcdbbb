"""An answer as a card."""

from stablecast.advisor import Question, advise
from tests.advisor.made import Computed


def answer(tmp_path, **asked):
    question = Question(members=4, rate_per_s=50, **asked)
    return advise(question, crew=Computed(lambda given: {}), folder=tmp_path)


def test_it_shows_the_forecast_the_others_what_binds_and_what_to_paste(tmp_path):
    found = answer(tmp_path)
    html = found._repr_html_()
    assert found.best.candidate.label.replace("'", "&#x27;") in html
    assert "time to stable, p99 (ms)" in html
    assert "stablecast.join(&quot;GROUP&quot;, " in html
    assert found.simulate in html
    assert html.count("×") >= 4 * len(found.runners_up)
    assert "95 of 100 further runs" in html
