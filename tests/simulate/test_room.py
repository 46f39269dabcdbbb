import pytest

from stablecast.errors import InvalidInput
from stablecast.simulate import run, simulate
from stablecast.simulate.options import Options
from stablecast.simulate.prepare import place_members, prepare
from stablecast.simulate.room import ALLOWED_BYTES_MIN, allowed_bytes, burst_of, give_room

FLOODED = Options(protocol="s_coordp", topology="tree", degree=3, height=3, link_loss=0.05, resend_ms=0.0001)


def test_a_run_that_floods_its_network_ends_with_one_line(monkeypatch):
    monkeypatch.setattr(run, "allowed_bytes", lambda: 4 << 20)
    with pytest.raises(InvalidInput, match="4 MiB are allowed") as refused:
        simulate(FLOODED.setup())
    line = str(refused.value)
    assert "messages in" in line
    assert "longer resend time" in line
    assert "\n" not in line


def test_room_is_given_until_it_would_exceed_what_is_allowed():
    setup = place_members(Options(protocol="coordp", topology="tree", degree=2, height=2).setup())
    sim, rows = prepare(setup, setup.found_protocol)
    burst = burst_of(setup, setup.found_protocol, sim)
    sim.ctl.free_packets = 0
    before = sim.packets.size
    give_room(sim, rows, burst, 1 << 30)
    assert sim.packets.size == 2 * before
    assert sim.ctl.free_packets == before
    sim.ctl.free_packets = 0
    with pytest.raises(InvalidInput, match="are under way"):
        give_room(sim, rows, burst, sim.packets.nbytes)
    assert sim.packets.size == 2 * before


def test_a_run_may_use_something_however_little_is_available(monkeypatch):
    assert allowed_bytes() >= ALLOWED_BYTES_MIN
    monkeypatch.setattr("stablecast.simulate.room._available_bytes", lambda: 0)
    assert allowed_bytes() == ALLOWED_BYTES_MIN
