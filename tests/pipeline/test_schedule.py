from hypothesis import given
from hypothesis import strategies as st

from stablecast.pipeline import cost
from stablecast.pipeline.cost import estimated_seconds, member_count, overhead_seconds
from stablecast.pipeline.point import simulation, task_point
from stablecast.pipeline.schedule import BATCH_S_MAX, Schedule
from stablecast.simulate.options import Options


def drain(schedule, slots=2):
    batches = []
    while len(schedule):
        batches.append(schedule.next_batch(slots))
    return batches


def test_the_longest_points_come_first_and_alone():
    sizes = [3, 9, 5, 10, 4]
    points = [simulation(protocol="coordp", degree=4, height=height) for height in sizes]
    batches = drain(Schedule(points))
    order = [point.options["height"] for batch in batches for point in batch]
    assert order == sorted(sizes, reverse=True)
    assert len(batches[0]) == len(batches[1]) == 1


@given(st.lists(st.integers(1, 8), min_size=1, max_size=200), st.integers(1, 16))
def test_every_point_is_handed_out_once(heights, slots):
    points = [simulation(protocol="coordp", degree=2, height=h, seed=seed) for seed, h in enumerate(heights)]
    batches = drain(Schedule(points), slots)
    assert all(batches)
    assert sorted(p.key for batch in batches for p in batch) == sorted(p.key for p in points)


def test_small_points_travel_together_and_batches_get_smaller_towards_the_end():
    points = [simulation(protocol="coordp", degree=3, height=5, seed=seed) for seed in range(1000)]
    schedule = Schedule(points)
    schedule.learn(points[:10], 10 * 0.05)
    sizes = [len(batch) for batch in drain(schedule)]
    assert sizes[0] > 1
    assert sizes[-1] < sizes[0]


def test_batches_follow_what_was_learnt():
    points = [simulation(protocol="coordp", degree=3, height=5, seed=seed) for seed in range(1000)]
    slow, quick = Schedule(points), Schedule(points)
    each = estimated_seconds(points[0])
    for _ in range(30):
        slow.learn(points[:1], 20 * each)
        quick.learn(points[:1], each)
    assert len(slow.next_batch(2)) < len(quick.next_batch(2))
    assert len(slow.next_batch(2)) * 20 * each <= BATCH_S_MAX + 20 * each


def test_lost_points_come_back_one_by_one_before_all_others():
    points = [simulation(protocol="coordp", degree=2, height=2, seed=seed) for seed in range(10)]
    schedule = Schedule(points)
    lost = schedule.next_batch(2)
    schedule.put_back(lost)
    again = [schedule.next_batch(2) for _ in lost]
    assert again == [[point] for point in lost]


def test_estimates_grow_with_the_group_the_traffic_and_the_executions():
    def estimate(**options):
        return estimated_seconds(simulation(protocol="coordp", degree=3, **options))

    assert estimate(height=6) > estimate(height=5)
    assert estimate(height=5, messages=10) > estimate(height=5)
    assert estimate(height=5, messages=10, first_rates_per_s="1000") > estimate(height=5, messages=10)
    assert estimate(height=5, executions=10) > estimate(height=5)
    assert estimated_seconds(task_point("some.module:task")) > 0
    assert member_count(Options(protocol="coordp", degree=3, height=5)) == 364
    assert member_count(Options(protocol="coordp", topology="balanced", nodes=50)) == 50
    assert member_count(Options(protocol="coordp", topology="balanced", nodes=50, members=7)) == 7


def test_protocols_say_how_many_messages_an_execution_takes():
    every, few = (
        estimated_seconds(simulation(protocol=name, topology="balanced", members=2000))
        for name in ("fulldist", "coordp")
    )
    assert every > 10 * few


def test_what_comes_before_the_points_has_spark_and_every_loop_that_is_not_compiled(monkeypatch):
    monkeypatch.setattr(cost, "is_compiled", lambda protocol: protocol.name == "train")
    names = ("coord", "coordp", "train", "vector", "explicit")
    points = [simulation(protocol=name) for name in names]
    # coord and coordp have the same kernels, and so the same loop.
    assert overhead_seconds(points) == cost.SPARK_START_S + 3 * cost.COMPILE_S
    assert overhead_seconds([]) == cost.SPARK_START_S


def test_one_slow_point_does_not_turn_the_estimate_of_what_is_left():
    points = [simulation(protocol="coordp", degree=3, height=5, seed=seed) for seed in range(1000)]
    schedule = Schedule(points)
    each = estimated_seconds(points[0])
    before = schedule.seconds_left
    schedule.learn(points[:1], 50 * each)
    assert before < schedule.seconds_left < 3 * before
    for _ in range(999):
        schedule.learn(points[:1], 2 * each)
    assert 1.8 * before < schedule.seconds_left < 2.2 * before
