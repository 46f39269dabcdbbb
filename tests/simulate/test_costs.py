import math

import pytest

from stablecast.errors import InvalidInput
from stablecast.simulate import PRESETS, Costs, costs
from stablecast.simulate.network import build_network, receive_cost_ps, send_cost_ps
from stablecast.simulate.prepare import prepare
from stablecast.simulate.setup import Setup
from stablecast.simulate.topologies.registry import topology


def test_lan1997_is_the_papers_environment():
    found = costs("lan1997")
    assert (found.bandwidth_bps, found.propagation_us, found.router_us) == (100e6, 0, 1000)
    assert (found.send_us, found.send_us_per_byte, found.receive_factor) == (338, 47 / 400, 1.1)
    assert (found.header_bytes, found.entry_bytes) == (32, 4)


@pytest.mark.parametrize(
    ("size", "send", "receive"), [(32, 341_760_000, 375_936_000), (4468, 862_990_000, 949_289_000)]
)
def test_host_costs_follow_the_formula_to_the_picosecond(size, send, receive):
    setup = Setup(protocol="coordp", topology=topology("tree", degree=2, height=1))
    sim, _ = prepare(setup, setup.found_protocol)
    assert send_cost_ps(sim, size) == send
    assert receive_cost_ps(sim, size) == receive


@pytest.mark.parametrize(
    "change",
    [
        {"bandwidth_bps": 0},
        {"bandwidth_bps": -1},
        {"propagation_us": math.nan},
        {"router_us": math.inf},
        {"send_us": -0.1},
        {"link_loss": 1.5},
        {"router": "magic"},
        {"processor": "none"},
    ],
)
def test_figures_that_are_no_costs_are_refused(change):
    with pytest.raises(InvalidInput, match="accepted"):
        costs("lan1997", **change)


def test_presets_are_listed_with_a_line_each():
    assert {"lan1997", "wan1997", "links-only"} <= set(PRESETS)
    assert all(text for _, text in PRESETS.values())


def test_an_unknown_preset_gets_the_nearest_one_suggested():
    with pytest.raises(InvalidInput, match="did you mean 'lan1997'"):
        costs("lan97")


def test_links_share_the_costs_and_nodes_the_tree():
    net = build_network(topology("tree", degree=2, height=2), Costs(bandwidth_bps=30e3, propagation_us=5000))
    assert net.link_count == 12
    assert set(net.links.propagation_ps) == {5_000_000_000}
    assert round(float(net.links.ps_per_byte[0])) == 266_666_667
