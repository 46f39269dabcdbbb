"""Who sends what to whom, protocol by protocol, as the paper's sections 3 and 4 tell it."""

from itertools import pairwise

from groups import MachineGroup


def run(name, degree=2, height=2, fill=None):
    group = MachineGroup(name, degree, height, fill)
    group.start()
    group.deliver_all()
    return group, [(kind, source, target) for kind, source, target, _ in group.log]


def test_coordp_gathers_an_ack_of_each_other_member_at_the_coordinator():
    group, log = run("coordp")
    n = len(group)
    assert log[:n] == [("START", 0, target) for target in range(n)]
    assert [entry for entry in log if entry[0] == "ACK"] == [("ACK", i, 0) for i in range(1, n)]
    assert log[-n:] == [("INFO", 0, target) for target in range(n)]


def test_fulldist_answers_only_the_first_members_info():
    group, log = run("fulldist", 3, 1)
    n = len(group)
    assert len(log) == n * n
    assert [source for _, source, target in log if target == 2] == [0, 1, 2, 3]


def test_train_runs_twice_round_the_back_and_forth_ring():
    _, log = run("train")
    tour = [0, 1, 2, 6, 5, 4, 3, 0]
    steps = list(pairwise(tour))
    assert log == [
        ("START", *steps[0]),
        *(("ACK", *step) for step in steps[1:]),
        *(("INFO", *step) for step in steps),
    ]


def test_s_coordp_acks_climb_one_level_each():
    _, log = run("s_coordp")
    acks = [entry[1:] for entry in log if entry[0] == "ACK"]
    assert sorted(acks) == [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2), (6, 2)]
    assert acks.index((1, 0)) > acks.index((3, 1))
    assert acks.index((1, 0)) > acks.index((4, 1))


def test_s_train_passes_along_siblings_and_climbs_from_the_last():
    _, log = run("s_train")
    assert [entry[1:] for entry in log if entry[0] == "ACK1"] == [(3, 4), (5, 6), (1, 2)]
    assert [entry[1:] for entry in log if entry[0] == "ACK2"] == [(4, 1), (6, 2), (2, 0)]
