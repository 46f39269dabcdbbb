"""A protocol from outside the package that sets timers, in both drivers."""

import patient_coordp
import pytest

from stablecast.simulate import Setup, Traffic, Trigger, costs, simulate, topology
from stablecast.testing.reference.driver import run_plain

pytestmark = pytest.mark.xdist_group("outside")  # a loop of its own is compiled, as for protocol files


def setup_of(seed, *, loss, **more):
    return Setup(
        protocol=patient_coordp.PROTOCOL,
        topology=topology("tree", degree=2, height=2),
        costs=costs("lan1997", link_loss=loss),
        seed=seed,
        until_ms=2000,
        **more,
    )


def both(setup):
    blocks = []
    result = simulate(setup, trace=blocks.append, wire_log=True)
    return result, [tuple(row) for block in blocks for row in block.tolist()], run_plain(setup)


@pytest.mark.parametrize("seed", range(12))
def test_both_drivers_let_timers_go_off_at_the_same_times(seed):
    result, rows, plain = both(setup_of(seed, loss=0.1))
    assert rows == list(plain.events)
    assert round(result.simulated_us * 1e6) == plain.finished_at_ps


def test_the_coordinator_asks_again_until_all_have_answered():
    repeated = [both(setup_of(seed, loss=0.1))[0] for seed in range(12)]
    assert all(result.executions == 1 for result in repeated)
    assert any(result.messages_sent > 8 for result in repeated)


def test_without_losses_the_timer_is_set_and_called_off():
    result, rows, plain = both(setup_of(0, loss=0.0))
    assert result.completed
    assert result.messages_sent == 8  # the coordinator's ACK to itself is none
    assert rows == list(plain.events)


def test_timers_of_the_protocol_and_of_the_data_do_not_disturb_each_other():
    traffic = Traffic(messages=4, rate_per_s=50, data_loss=0.2)
    setup = setup_of(3, loss=0.0, traffic=traffic, trigger=Trigger(kind="periodic", period_ms=40))
    result, rows, plain = both(setup)
    assert result.completed
    assert rows == list(plain.events)
