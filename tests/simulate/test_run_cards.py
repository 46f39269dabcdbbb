"""Runs as cards and as pictures."""

import pytest

from stablecast.errors import InvalidInput
from stablecast.report.plots.of_runs import panel_of_live_run, panel_of_run
from stablecast.simulate import Setup, Traffic, Trigger, simulate, topology
from stablecast.simulate.live.options import live_setup
from stablecast.simulate.live.run import simulate_live


@pytest.fixture(scope="module")
def run():
    return simulate(Setup(protocol="s_coordp", topology=topology("tree", degree=3, height=2)))


@pytest.fixture(scope="module")
def with_data():
    return simulate(
        Setup(
            protocol="s_coordp",
            topology=topology("star", members=4),
            traffic=Traffic(messages=5, rate_per_s=100, data_loss=0.1),
            trigger=Trigger(kind="periodic", period_ms=20),
        )
    )


@pytest.fixture(scope="module")
def live():
    return simulate_live(live_setup({"protocol": "gsgc", "members": 3, "seconds": 0.5, "link_loss": 0.05}))


def drawn(figure):
    """Return what its bars say, the first at the top."""
    [panel] = figure.panels
    found = {}
    for series in panel.series:
        found |= {panel.y.names[int(y)]: x for x, y in zip(series.x, series.y, strict=True)}
    return {name: found[name] for name in reversed(panel.y.names)}


def test_a_run_shows_what_it_measured(run):
    html = run._repr_html_()
    for text in ("s_coordp: 13 members, 4 rounds", "tree 3/2/3", ">36<", f">{run.rtt_first_us / 1e3:.4g}<"):
        assert text in html
    assert "data messages" not in html


def test_a_run_without_data_is_drawn_by_its_messages(run):
    assert drawn(panel_of_run(run)) == {"START": 12, "ACK": 12, "INFO": 12}


def test_a_run_with_data_is_shown_and_drawn_by_its_times_to_stable(with_data):
    traffic = with_data.traffic
    assert f">{traffic.tts_p99_us / 1e3:.4g}<" in with_data._repr_html_()
    times = {"p50": traffic.tts_p50_us, "p99": traffic.tts_p99_us, "longest": traffic.tts_max_us}
    assert drawn(panel_of_run(with_data)) == {name: us / 1e3 for name, us in times.items()}


def test_a_live_run_shows_its_times_and_its_events(live):
    html = live._repr_html_()
    assert f"gsgc, live: 3 members, {live.messages_stable} of {live.messages} messages stable" in html
    assert f">{live.tts_p50_us / 1e3:.4g}<" in html


def test_a_live_run_is_drawn_by_both_times(live):
    found = drawn(panel_of_live_run(live))
    assert list(found) == [
        f"{what}, {how}" for what in ("delivered", "stable") for how in ("p50", "p99", "longest")
    ]
    assert found["stable, p50"] == live.tts_p50_us / 1e3


def test_a_plot_goes_into_axes_that_are_given(run, live):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure, (left, right) = pyplot.subplots(1, 2)
    assert run.plot(left) is left
    assert live.plot(axes=right) is right
    assert len(left.patches) == 3
    assert [text.get_text() for text in right.get_legend().get_texts()] == ["delivered", "stable"]
    pyplot.close(figure)


def test_a_run_in_which_nothing_was_delivered_has_no_times_to_draw():
    alone = simulate_live(live_setup({"protocol": "gsgc", "members": 2, "seconds": 0.1, "rate_per_s": 0.01}))
    assert "0 of 0 messages stable" in alone._repr_html_()
    with pytest.raises(InvalidInput, match="no message was delivered"):
        alone.plot()
