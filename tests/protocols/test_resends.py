"""Section 3.5 of the hypercube paper, on machines: loss, duplicates, reordering, and members that fail."""

import numpy as np
import pytest
from groups import machines_of, received
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lossy_group import Faults, LossyGroup

from stablecast.overlays import complete_tree
from stablecast.overlays.hypercube import hypercube
from stablecast.protocols import protocol, protocol_names
from stablecast.protocols.contract import Received, Role, Sizes

RESENDING = [name for name in protocol_names() if protocol(name).having(Role.RESEND)]
SEEDS = st.integers(0, 2**32 - 1)


def run(name, n, seed, faults, executions=1):
    print(f"LossyGroup({name!r}, {n}, seed={seed}, faults={faults}, executions={executions}).run()")
    group = LossyGroup(name, n, seed=seed, faults=faults, executions=executions)
    return group.run(), group


def test_every_protocol_with_executions_but_gossip_has_resends():
    repeating = {name for name in protocol_names() if not protocol(name).runs.in_rounds}
    assert set(protocol_names()) - set(RESENDING) - repeating == {"gsgc", "gsgc-local"}


@pytest.mark.parametrize("name", RESENDING)
@given(
    n=st.integers(1, 24),
    seed=SEEDS,
    loss=st.floats(0, 0.4),
    duplicate=st.floats(0, 0.4),
    executions=st.integers(1, 3),
)
@settings(max_examples=60, deadline=None)
def test_with_resends_everyone_finishes_in_spite_of_loss_duplicates_and_reordering(
    name, n, seed, loss, duplicate, executions
):
    finished, group = run(name, n, seed, Faults(loss, duplicate), executions)
    assert finished, f"finished {group.finished} of {executions}, {group.lost} lost"


@pytest.mark.parametrize("name", [name for name in RESENDING if protocol(name).having(Role.PULL)])
@given(
    n=st.integers(1, 24),
    seed=SEEDS,
    loss=st.floats(0, 0.4),
    duplicate=st.floats(0, 0.4),
    executions=st.integers(1, 3),
)
@settings(max_examples=60, deadline=None)
def test_members_that_pull_all_finish_and_confirm_nothing(name, n, seed, loss, duplicate, executions):
    group = LossyGroup(name, n, seed=seed, faults=Faults(loss, duplicate), executions=executions, pulls=True)
    confirming = protocol(name).kinds.index("ACK_INFO")
    kinds = []
    for machine in group.machines:
        machine.receive = noting_kinds(machine.receive, kinds)
    assert group.run(), f"finished {group.finished} of {executions}, {group.lost} lost"
    assert confirming not in kinds


def noting_kinds(receive, kinds):
    def noted(message, now):
        kinds.append(message.kind)
        return receive(message, now)

    return noted


@pytest.mark.parametrize("name", RESENDING)
def test_without_resends_a_lost_message_stops_it(name, monkeypatch):
    monkeypatch.setattr("lossy_group.RESEND", 0)
    stalled = [not run(name, 12, seed, Faults(loss=0.3))[0] for seed in range(5)]
    assert any(stalled)


@given(
    n=st.integers(4, 70),
    seed=SEEDS,
    loss=st.floats(0, 0.4),
    during=st.booleans(),
    told_after=st.integers(0, 300),
    executions=st.integers(1, 2),
    data=st.data(),
)
@settings(max_examples=100, deadline=None)
def test_survivors_of_the_hypercube_finish_once_told(n, seed, loss, during, told_after, executions, data):
    """Up to floor(log2 n) - 1 neighbours of one member fail, before the round or in it."""
    centre = data.draw(st.integers(0, n - 1))
    near = hypercube(n).neighbours_of(centre).tolist()
    count = data.draw(st.integers(0, min(n.bit_length() - 2, len(near))))
    failing = data.draw(st.permutations(near))[:count]
    at = {member: data.draw(st.integers(1, 120)) if during else 0 for member in failing}
    finished, group = run(
        "cubefulldist", n, seed, Faults(loss, 0.1, crashes=at, told_after=told_after), executions
    )
    assert finished, f"finished {group.finished}, alive {group.alive}"


@given(n=st.integers(3, 24), seed=SEEDS, loss=st.floats(0, 0.4), data=st.data())
@settings(max_examples=60, deadline=None)
@pytest.mark.parametrize("name", ["coord", "fulldist"])
def test_others_may_fail_where_one_or_all_gather(name, n, seed, loss, data):
    """Any members but the first; with fulldist the first as well, once the others have heard of it."""
    failing = data.draw(st.lists(st.integers(1, n - 1), max_size=n - 2, unique=True))
    at = {member: data.draw(st.integers(0, 100)) for member in failing}
    finished, group = run(name, n, seed, Faults(loss, crashes=at))
    assert finished, f"finished {group.finished}, alive {group.alive}"


@given(n=st.integers(3, 24), seed=SEEDS, loss=st.floats(0, 0.4), data=st.data())
@settings(max_examples=60, deadline=None)
def test_leaves_of_a_tree_may_fail(n, seed, loss, data):
    inner = (n - 2) // 3
    failing = data.draw(st.lists(st.integers(inner + 1, n - 1), max_size=4, unique=True))
    at = {member: data.draw(st.integers(0, 100)) for member in failing}
    finished, group = run("s_coordp", n, seed, Faults(loss, crashes=at))
    assert finished, f"finished {group.finished}, alive {group.alive}"


@pytest.mark.parametrize(
    ("name", "failing", "finishes"),
    [
        ("coord", 0, True),
        ("coord", 5, True),
        ("s_coordp", 1, True),
        ("s_coordp", 0, True),
        ("s_coordp", 11, True),
        ("train", 5, False),
        ("s_train", 5, False),
        ("fulldist", 5, True),
        ("cubefulldist", 0, True),
        ("cubefulldist", 5, True),
    ],
)
def test_who_may_fail_where(name, failing, finishes):
    finished, group = run(name, 12, 1, Faults(crashes={failing: 0}))
    assert finished == finishes, f"finished {group.finished}"


@pytest.mark.parametrize("name", ["coord", "fulldist", "s_coordp", "cubefulldist"])
def test_nobody_goes_on_without_being_told(name):
    finished, _ = run(name, 12, 1, Faults(crashes={11: 0}, told_after=0))
    assert finished
    group = LossyGroup(name, 12, seed=1, faults=Faults(crashes={11: 0}))
    group.events = [event for event in group.events if event[2] != group.tell]
    assert not group.run(5000)


def tree_of_seven(name):
    """Make machines of which 1 has the sibling 2 and the children 3 and 4, without a network."""
    found = protocol(name)
    values = found.parameter_values({"resend": 100}, 7)
    return machines_of(found, Sizes(7, 1, 1, 4, values, True), tree=complete_tree(2, 2))


def message(name, kind, execution, *array):
    entries = np.array(array) if array else None
    return Received(protocol(name).kinds.index(kind), 0, (execution,), entries)


def test_who_has_the_result_repeats_no_train_and_no_start():
    """All confirmations of this member's messages are lost; S is the result now, and was 9 in its train."""
    member = tree_of_seven("s_train")[1]
    member.me.received[:] = 9
    member.receive(message("s_train", "START", 1), 0)
    train = member.receive(message("s_train", "ACK2", 1, 9), 1)
    assert [sent.array.tolist() for sent in train if sent.array is not None] == [[9]]
    kinds = protocol("s_train").kinds
    assert {kinds[sent.kind] for sent in member.handle_timer(101)} == {"START", "ACK1"}
    member.receive(message("s_train", "INFO", 1, 7), 102)
    repeated = member.handle_timer(300)
    assert [(kinds[sent.kind], sent.dest) for sent in repeated] == [("INFO", 3), ("INFO", 4)]
    assert {int(sent.array[0]) for sent in repeated} == {7}


@pytest.mark.parametrize("name", ["s_coordp", "s_train"])
def test_children_are_told_no_less_than_is_known_to_be_stable(name):
    """Of a result that travels as changed entries its receiver may get less than of an earlier one."""
    member = tree_of_seven(name)[1]
    told = []
    for execution, result in ((1, 7), (2, 0), (3, 8)):
        member.receive(message(name, "INFO", execution, result), 1000 * execution)
        told += [int(sent.array[0]) for sent in member.handle_timer(1000 * execution + 500)]
    assert told == [7, 7, 7, 7, 8, 8]


def cube_of_four():
    """Make H_2 without a network: 0-1, 0-2, 1-3, 2-3."""
    found = protocol("cubefulldist")
    params = {"resend": 100, "rounds": 2}
    return machines_of(found, Sizes(4, 1, 1, 4, found.parameter_values(params, 4), True))


def test_the_papers_resends_alone_would_leave_two_of_four_waiting():
    """The run of docs/papers/hypercube.md, section 5: without the answer to a REPEAT nobody ever moves."""
    machines = cube_of_four()
    for machine in machines:
        machine.me.received[:] = 7
    first = {i: machine.init(0) for i, machine in enumerate(machines)}

    def deliver(source, sends, to):
        made = []
        for sent in sends:
            if sent.dest in to:
                made += machines[sent.dest].receive(received(sent, source), 1)
        return made

    second = {i: [] for i in range(4)}
    for source, sends in first.items():
        for sent in sends:
            second[sent.dest] += machines[sent.dest].receive(received(sent, source), 1)
    # The second messages of 0 and 3 arrive; what 1 and 2 send from here on is lost.
    deliver(0, second[0], (1, 2))
    deliver(3, second[3], (1, 2))
    assert [machine.me.round for machine in machines] == [1, 2, 2, 1]
    assert [machine.me.stable[0] for machine in machines] == [0, 7, 7, 0]
    repeats = machines[0].handle_timer(200)
    answers = []
    for sent in repeats:
        answers += [(sent.dest, answer) for answer in machines[sent.dest].receive(received(sent, 0), 201)]
    assert {(source, answer.dest, answer.numbers[0]) for source, answer in answers} == {(1, 0, 1), (2, 0, 1)}
    deliver(answers[0][0], [answers[0][1]], (0,))
    assert machines[0].me.stable[0] == 7


def test_what_comes_during_the_pause_is_kept_and_the_own_array_is_still_taken_in():
    """A reading of Figure 5 that sets M to R after merging would forget what others lack."""
    machines = cube_of_four()
    low, high = machines[1], machines[0]
    high.me.received[:] = 9
    high.init(0)
    high.me.round, high.me.iteration, high.me.started = 2, 0, 0  # in the pause before round 2
    high.me.reached[:] = 0
    high.me.G[:] = 0
    assert high.receive(Received(0, 1, (2, 1), np.array([4, 0b0010])), 5) == []
    sent = high.handle_timer(10)
    assert {int(each.array[0]) for each in sent} == {4}
    assert {int(each.array[1]) for each in sent} == {0b0011}
    assert low.me.number == 1


def test_a_cut_off_part_falls_silent():
    """All neighbours of member 0 fail: neither it nor the others ever hear of each other."""
    near = hypercube(12).neighbours_of(0).tolist()
    finished, group = run("cubefulldist", 12, 3, Faults(crashes=dict.fromkeys(near, 0), told_after=0))
    assert not finished
    assert not group.events, "somebody still sends"


@example(name="coordp", seed=0)
@given(name=st.sampled_from(["coordp", "fulldist", "s_coordp", "cubefulldist"]), seed=SEEDS)
@settings(max_examples=20, deadline=None)
def test_being_told_twice_changes_nothing(name, seed):
    group = LossyGroup(name, 8, seed=seed)
    for machine in group.machines[:7]:
        machine.gone(7, 0)
        before = machine.rows.numbers.copy(), machine.rows.sequences.copy()
        assert machine.gone(7, 1) == []
        numbers = machine.rows.numbers.copy()
        if name == "cubefulldist":  # that there is news is noted again
            news = machine.rows.index["news"]
            numbers[0, news] = before[0][0, news]
        assert (numbers == before[0]).all()
        assert (machine.rows.sequences == before[1]).all()
