"""Files of costs stand for presets wherever these are named."""

import pytest

from stablecast.errors import InvalidInput
from stablecast.pipeline.spec import read_spec
from stablecast.simulate.cost_file import read_cost_file, with_figures, write_cost_file
from stablecast.simulate.costs import costs
from stablecast.simulate.live.options import live_setup
from stablecast.simulate.options import Options

TEXT = "[costs]\nsend_us = 21\nlink_loss = 0.25\n[members]\ntimer_us = 1000.0\ncores = 2\n"


@pytest.fixture
def file(tmp_path):
    found = tmp_path / "here.toml"
    found.write_text(TEXT)
    return found


def test_figures_that_a_file_leaves_out_are_the_presets(file):
    found = read_cost_file(file).costs
    assert found.send_us == 21.0
    assert found.receive_factor == costs("lan").receive_factor
    assert costs(str(file), link_loss=0.0).link_loss == 0.0


def test_a_live_group_takes_its_members_too_and_options_win(file):
    setup = live_setup({"costs": str(file), "members": 3, "link_loss": 0.0})
    assert (setup.costs.send_us, setup.costs.link_loss, setup.timer_us, setup.cores) == (21, 0, 1000, 2)


def test_a_simulation_of_a_protocol_takes_the_costs_alone(file):
    setup = Options(protocol="coordp", topology="star", members=3, costs=str(file)).setup()
    assert setup.costs.send_us == 21


def test_a_point_of_a_sweep_has_the_figures_and_not_the_file(file, tmp_path):
    spec = tmp_path / "sweep.toml"
    spec.write_text('[[grid]]\nlive = true\nprotocol = "coordp"\nmembers = 3\ncosts = "here.toml"\n')
    (point,) = read_spec(spec).points
    assert point.options["send_us"] == 21
    assert point.options["cores"] == 2
    assert "here.toml" not in point.replay


def test_what_is_written_is_read_again(tmp_path):
    file = tmp_path / "new.toml"
    write_cost_file(
        file,
        {"send_us": 3.5, "header_bytes": 28},
        {"cores": 4},
        {"machine": 'a "b"\n\\c', "peers": ["x", "y"]},
        {"p50_low": 0.5},
    )
    found = read_cost_file(file)
    assert dict(found.figures) == {"send_us": 3.5, "header_bytes": 28}
    assert dict(found.members) == {"cores": 4}
    assert dict(found.checks) == {"p50_low": 0.5}
    assert found.measured["peers"] == ["x", "y"]


def test_a_preset_is_left_as_it_is():
    assert with_figures({"costs": "lan", "members": 3}, live=True) == {"costs": "lan", "members": 3}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[cost]\n", "unknown table 'cost'; did you mean 'costs'"),
        ("[costs]\nsend = 3\n", "unknown figure 'send'; did you mean 'send_us'"),
        ('[costs]\nsend_us = "3"\n', "send_us '3' is not accepted"),
        ("[costs]\nsend_us = nan\n", "send_us nan is not accepted"),
        ("[costs]\nsend_us = -1\n", "send_us -1.0 is not accepted"),
        ("[costs]\nheader_bytes = 2.5\n", "header_bytes 2.5 is not accepted"),
        ("[members]\ncores = -2\n", "cores -2 is not accepted"),
        ("[checks]\np50_low = 0\n", "p50_low 0.0 is not accepted"),
        ("costs = 3\n", "costs is not a table"),
        ("[costs\n", "is not TOML"),
    ],
)
def test_a_file_that_says_nonsense_is_refused(tmp_path, text, told):
    file = tmp_path / "bad.toml"
    file.write_text(text)
    with pytest.raises(InvalidInput) as error:
        read_cost_file(file)
    assert told in str(error.value)
