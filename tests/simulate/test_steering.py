"""The step controller of the gossip paper on running groups."""

import numpy as np

from stablecast.simulate import simulate
from stablecast.simulate.options import Options
from stablecast.simulate.run import Changed
from stablecast.theory.step_search import StepController


def rounds_with(controller, *, rounds, bandwidth_bps=30e3, seed=0):
    """Run a group under a controller; return the step and the time of every round, in seconds."""
    told = []

    def steer(number, step_s, took_s):
        told.append((step_s, took_s))
        return controller.round_finished(took_s, step_s)

    options = Options(
        protocol="gsgc",
        topology="balanced",
        members=60,
        senders=50,
        tracked=4,
        costs="wan1997",
        bandwidth_bps=bandwidth_bps,
        queue_limit=64,  # without a limit, what too small a step leaves behind would not drain for hours
        subgroup=1,
        step_s=controller.step,
        executions=rounds,
        stop_at_first=True,
        seed=seed,
    )
    simulate(options.setup(), steer=steer)
    return np.array(told)


def test_a_running_group_finds_a_good_step_by_itself():
    controller = StepController(0.4, 8.0, 0.3, fluctuation=0.25, search_step=0.2, patience=5)
    told = rounds_with(controller, rounds=120)
    assert controller.searches == 1
    low, high = controller.window
    settled = told[-20:]
    assert (settled[:, 0] >= low - 1e-9).all()
    assert (settled[:, 0] <= high + 1e-9).all()
    assert settled[:, 1].mean() < told[:3, 1].mean() / 1.5


def test_it_searches_again_when_the_network_has_changed():
    controller = StepController(0.05, 4.0, 0.2, fluctuation=0.25, search_step=0.1, patience=5)
    slow = rounds_with(controller, rounds=120)
    quick = rounds_with(controller, rounds=150, bandwidth_bps=300e3, seed=1)
    assert quick[-20:, 0].mean() < slow[-20:, 0].mean() / 2
    assert quick[-20:, 1].mean() < slow[-20:, 1].mean() / 4


def test_the_best_step_of_one_round_overloads_a_group_whose_rounds_follow_each_other():
    def rounds_s(step_s):
        told = []
        options = Options(
            protocol="gsgc",
            topology="balanced",
            members=200,
            senders=50,
            tracked=4,
            costs="wan1997",
            subgroup=3,
            step_s=step_s,
            executions=16,
            stop_at_first=True,
        )
        simulate(options.setup(), steer=lambda number, step, took: told.append(took))
        return told

    short, long = rounds_s(9.0), rounds_s(12.0)
    assert short[0] < long[0]
    assert short[-1] > 3 * short[0]
    assert max(long[1:]) < 1.25 * min(long[1:])


def test_links_can_change_while_a_group_runs():
    def steer(number, step_s, took_s):
        told.append(took_s)
        return Changed(bandwidth_bps=300e3) if number == 2 else None

    told = []
    options = Options(
        protocol="gsgc",
        topology="balanced",
        members=60,
        senders=50,
        tracked=4,
        costs="wan1997",
        step_s=1.0,
        subgroup=2,
        executions=12,
        stop_at_first=True,
        queue_limit=64,
    )
    simulate(options.setup(), steer=steer)
    assert np.mean(told[-4:]) < told[1] / 2
