"""An answer as a card."""

import pytest

from stablecast.advisor import Question, advise
from tests.advisor.made import Computed


def answer(tmp_path, function=lambda given: {}, **asked):
    question = Question(members=4, rate_per_s=50, **asked)
    return advise(question, crew=Computed(function), folder=tmp_path)


def test_it_shows_the_forecast_the_others_what_binds_and_what_to_paste(tmp_path):
    found = answer(tmp_path)
    html = found._repr_html_()
    assert found.best.candidate.label.replace("'", "&#x27;") in html
    assert "time to stable, p99 (ms)" in html
    assert "stablecast.join(&quot;GROUP&quot;, " in html
    assert found.simulate in html
    assert html.count("×") >= 4 * len(found.runners_up)
    assert "95 of 100 further runs" in html


@pytest.mark.parametrize(("slow", "scale"), [(20.0, "linear"), (2000.0, "log")])
def test_times_that_are_far_apart_are_drawn_on_a_logarithmic_axis(tmp_path, slow, scale):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    axes = answer(tmp_path, lambda given: {} if given["protocol"] == "explicit" else {"p50_ms": slow}).plot()
    assert axes.get_yscale() == scale
    pyplot.close(axes.figure)
