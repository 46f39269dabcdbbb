"""Members that are processes of one machine: who has jobs waits for a core and keeps it while it has some."""

from stablecast.simulate.plain.calendar import Calendar
from stablecast.simulate.plain.hosts import Cores, Process

FOREVER = 1 << 60


def machine(cores, processes):
    calendar, shared = Calendar(), Cores(cores)
    return calendar, [Process(calendar, k, shared) for k in range(processes)]


def times_of(calendar, jobs):
    """Queue jobs (process, cost); return when each was done."""
    done = {}
    for number, (process, cost) in enumerate(jobs):
        process.put(cost, lambda number=number: done.setdefault(number, calendar.now_ps))
    calendar.run(FOREVER, 1_000)
    return [done[number] for number in range(len(jobs))]


def test_as_many_processes_as_there_are_cores_run_side_by_side():
    calendar, (a, b, c) = machine(2, 3)
    assert times_of(calendar, [(a, 10), (b, 10), (c, 10)]) == [10, 10, 20]


def test_a_process_keeps_its_core_while_it_has_jobs():
    calendar, (a, b) = machine(1, 2)
    assert times_of(calendar, [(a, 10), (b, 10), (a, 10)]) == [10, 30, 20]


def test_what_comes_of_a_job_is_done_before_others_have_the_core():
    calendar, (a, b) = machine(1, 2)
    done = []
    a.put(10, lambda: a.put(5, lambda: done.append(("a", calendar.now_ps))))
    b.put(10, lambda: done.append(("b", calendar.now_ps)))
    calendar.run(FOREVER, 1_000)
    assert done == [("a", 15), ("b", 25)]


def test_a_timer_waits_for_a_core_too():
    calendar, (a, b) = machine(1, 2)
    done = []
    a.put(10, lambda: done.append("a"))
    b.when_free(lambda: done.append(("b", calendar.now_ps)))
    calendar.run(FOREVER, 1_000)
    assert done == ["a", ("b", 10)]
    b.when_free(lambda: done.append("at once"))
    calendar.run(FOREVER, 1_000)
    assert done[2:] == ["at once"]
