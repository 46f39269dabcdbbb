"""The contract: fields by name, messages through the outbox, and bytes on the wire, as they are declared."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, NamedTuple

import every_field
import numpy as np
import pytest
from every_field import BIG, COLUMNS, MEMBERS, PROTOCOL, machine_of, sizes_of, told

from stablecast.errors import InvalidInput, StablecastError
from stablecast.protocols import protocol, protocol_names
from stablecast.protocols.contract import (
    GROUP,
    IntArray,
    Kernels,
    Machine,
    Member,
    Number,
    Placement,
    Protocol,
    Received,
    Round,
    Sizes,
    Started,
    few,
    kernel,
    sources,
)
from stablecast.simulate import Setup, simulate, topology

WORDS = 3
"""Of a set of all members."""


# Fields


def played(width, guard, *, compiled):
    """Return what the script prints in a process of its own."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "0" if compiled else "1"}
    command = [sys.executable, every_field.__file__, str(width), guard]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("guard", ["guarded", "unguarded"])
@pytest.mark.parametrize("width", [32, 64])
def test_kernels_see_the_same_fields_compiled_and_as_plain_python(width, guard):
    assert played(width, guard, compiled=True) == played(width, guard, compiled=False)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_every_field_has_a_place_of_its_own(dtype):
    machine = machine_of(41, dtype)
    machine.init(6)
    me = machine.me
    assert (me.number, me.group_size, me.guarded, me.seed) == (41, MEMBERS, 1, 3)
    assert me.received.tolist() == [410, 411, 412]
    assert me.rows.tolist() == [[100, 101, 102], [200, 201, 202]]
    assert me.S.tolist() == [0, -1, -2]
    assert me.W.tolist() == [1 << 12 | 1 << 13, 0, 0]
    assert me.sets.tolist() == [[1 << 12, 0, 0], [1 << 13, 0, 0]]
    assert me.absent.tolist() == [0, 0, 1 << 9]
    assert me.few.tolist() == [2 * 20] * 2
    assert me.bits.tolist() == [0, 1]
    assert {each.dtype for each in (me.received, me.S, me.W)} == {np.dtype(dtype)}


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_numbers_and_wide_arrays_have_64_bits_whatever_sequence_numbers_have(dtype):
    machine = machine_of(41, dtype)
    machine.init(6)
    assert machine.me.count == BIG + 41
    assert machine.me.wide.tolist() == [BIG, 2 * BIG, 3 * BIG]
    assert machine.next_timer() == 7 + BIG


def test_places_are_those_of_the_member():
    machine = machine_of(69)
    assert machine.me.parent == 34
    assert machine.me.near.tolist() == [68, 69]
    assert machine.me.parents.tolist() == [-1] + [k // 2 for k in range(69)]


def test_an_array_whose_condition_does_not_hold_has_no_entries():
    machine = machine_of(0, is_guarded=False)
    machine.init(0)
    assert machine.me.absent.size == 0
    assert machine.me.W.tolist() == [3, 0, 0]
    assert machine.width(1) == COLUMNS + WORDS
    assert machine_of(0).width(1) == COLUMNS + 2 * WORDS


def test_python_can_set_numbers_and_nothing_else():
    machine = machine_of(0)
    machine.me.count = 12
    assert machine.me.count == 12
    for name in ("parent", "S", "number", "nothing"):
        with pytest.raises(AttributeError, match=name):
            setattr(machine.me, name, 1)
    with pytest.raises(AttributeError, match="no field nothing"):
        _ = machine.me.nothing
    with pytest.raises(AttributeError, match="no parameter nothing"):
        _ = machine.me.params.nothing
    assert machine.me.params.few == 2


# Messages


def test_five_numbers_of_a_message_arrive_as_they_were_sent():
    first, second = machine_of(0), machine_of(41)
    first.init(5)
    sent = first.start(7)[0]
    assert (sent.dest, sent.numbers, sent.array) == (1, (1, BIG, -BIG, BIG, 6), None)
    second.receive(Received(sent.kind, 3, sent.numbers, None), 8)
    assert second.me.count == 1 + 2 * BIG - 3 * BIG + 5 * BIG + 7 * 6 + 3 + 8


def test_arrays_of_a_message_are_sent_as_they_were_then_and_once_for_several_members():
    machine = machine_of(0)
    machine.init(5)
    _, to_all, again, own, own_again, other, nothing = told(machine.start(7))
    expected = [0, -1, -2, 3, 0, 0, 0, 0, 1 << 9]
    assert to_all == ["ARRAYS", GROUP, [3 * BIG], expected]
    assert again == ["ARRAYS", 2, [3 * BIG], expected]  # me.S[0] was changed in between
    assert own == ["OWN", 3, [1], [0, 1, 2]]
    assert own_again == ["OWN", 4, [1], [0, 1, 2]]
    assert other == ["OWN", 5, [2], [77, -1, -2]]
    assert nothing == ["NOTHING", 6, [], None]


def test_a_message_that_was_taken_over_can_be_sent_on():
    first, second = machine_of(0), machine_of(41)
    first.init(5)
    second.init(6)
    sent = first.start(7)[1]
    (answer,) = told(second.receive(Received(sent.kind, 0, sent.numbers, sent.array), 8))
    # Of the members near 41, two are in neither's W; the set that is there only in guarded runs has 3 words.
    assert answer == ["ARRAYS", 0, [3 * BIG + 3], [0, -1, -2, 1 << 12 | 1 << 13, 0, 0, 0, 0, 1 << 9]]


MARK = 99


def watch_behind(machine):
    """Give a machine an outbox with marks behind each array; return these parts."""
    watched, behind = {}, []
    for name in ("kind", "dest", "numbers", "carries", "slot", "payload", "arrays"):
        array = getattr(machine._sent, name)
        longer = np.full((2 * len(array), *array.shape[1:]), MARK, array.dtype)
        longer[: len(array)] = array
        watched[name] = longer[: len(array)]
        behind.append(longer[len(array) :])
    machine._sent = machine._sent._replace(**watched)
    machine._sent.share(machine.rows)
    return behind


@pytest.mark.parametrize("what", [every_field.FULL, every_field.TOO_MANY_ARRAYS, every_field.REPEATS_NOTHING])
def test_what_finds_no_room_in_the_outbox_is_reported_and_not_written(what):
    machine = machine_of(0, what=what)
    machine.init(0)
    behind = watch_behind(machine)
    with pytest.raises(StablecastError, match="sends more than 7 messages or 3 arrays"):
        machine.start(1)
    assert machine._sent.marks.sends[0] <= 7
    assert machine._sent.marks.arrays[0] <= 3
    assert all((array == MARK).all() for array in behind)
    # The machine goes on: the next call finds an empty outbox.
    assert machine.receive(Received(3, 1, (), None), 2) == []


@pytest.mark.parametrize("what", [every_field.FULL, every_field.TOO_MANY_ARRAYS])
def test_the_simulator_ends_a_run_whose_call_sends_too_much(what):
    setup = Setup(
        protocol=PROTOCOL,
        topology=topology("balanced", members=MEMBERS),
        senders=COLUMNS,
        params={"what": what},
    )
    with pytest.raises(StablecastError, match="a call sends more messages than its kernels say"):
        simulate(setup)


# Bytes on the wire


def bytes_of(name, group, senders, *, is_guarded=False, **params):
    """Return the bytes of each message beyond the header."""
    found = protocol(name)
    encoded = found.encode(params)
    sizes = Sizes(group, 1, senders, 4, found.parameter_values(encoded, group), is_guarded)
    return dict(zip(found.kinds, found.declaration.wire_bytes(sizes), strict=True))


ARRAY = 4 * 50
"""An array of the 50 senders below: 4 bytes each, however many of them are simulated."""


@pytest.mark.parametrize("is_guarded", [False, True])
@pytest.mark.parametrize(
    ("name", "empty", "arrays"),
    [
        ("coordp", "START ACK_INFO", "ACK INFO"),
        ("coord", "START ACK_INFO", "ACK INFO"),
        ("fulldist", "", "INFO REPEAT"),
        ("train", "GOT GOT_INFO", "START ACK INFO"),
        ("s_coordp", "START ACK_INFO", "ACK INFO"),
        ("s_coord", "START ACK_INFO", "ACK INFO"),
        ("s_train", "START GOT GOT_START ACK_INFO", "ACK1 ACK2 INFO"),
    ],
)
def test_start_is_a_header_alone_and_arrays_have_four_bytes_a_sender(name, empty, arrays, is_guarded):
    found = bytes_of(name, 1000, 50, is_guarded=is_guarded)
    assert found == dict.fromkeys(empty.split(), 0) | dict.fromkeys(arrays.split(), ARRAY)


@pytest.mark.parametrize("n", [1, 8, 9, 1000])
def test_the_hypercubes_messages_have_a_bit_a_member_and_the_iteration(n):
    sent = ARRAY + 4 + -(-n // 8)
    assert bytes_of("cubefulldist", n, 50) == {"STABILITY": sent, "REPEAT": sent}
    free = bytes_of("cubefulldist", n, 50, free_bitmap=True)
    assert free == {"STABILITY": ARRAY, "REPEAT": ARRAY}


@pytest.mark.parametrize("n", [8, 80, 1000, 10_000])
def test_a_gossip_message_of_fifty_senders_has_236_bytes_and_a_bit_a_member(n):
    header = 32
    plain = bytes_of("gsgc", n, 50)
    assert header + plain["GOSSIP"] == 236 + n // 8
    assert header + plain["STABLE"] == 236
    piggybacked = bytes_of("gsgc", n, 50, share="piggyback")
    assert piggybacked["GOSSIP"] == plain["GOSSIP"] + ARRAY
    # Members that come and go: a status and a sign of life, a byte each, and a set of members.
    lively = bytes_of("gsgc", n, 50, share="both", threshold_steps=9)
    assert lively["GOSSIP"] == piggybacked["GOSSIP"] + 2 * n + n // 8
    assert lively["STABLE"] == plain["STABLE"] + 2 * n + n // 8


def test_gossip_in_local_groups_names_members_of_the_group_and_groups():
    found = bytes_of("gsgc-local", 1000, 50, local_size=50)
    assert found == {
        "LOCAL": ARRAY + 4 + -(-50 // 8),
        "GLOBAL": ARRAY + 4 + -(-20 // 8),
        "STABLE": ARRAY + 4,
    }
    # With three levels 20 local groups are in groups of 5, and there are 4 of these.
    deeper = bytes_of("gsgc-local", 1000, 50, local_size=50, levels=3)
    assert deeper == found | {"GLOBAL": ARRAY + 4 + -(-5 // 8)}


@pytest.mark.parametrize(("clock", "stamps"), [("physical", 1), ("logical", 2), ("hybrid", 2)])
@pytest.mark.parametrize("stamp", [4, 8])
def test_a_timestamp_acknowledgement_has_one_stamp_and_a_null_also_a_number(clock, stamps, stamp):
    found = bytes_of("timestamp", 1000, 50, clock=clock, stamp_bytes=stamp)
    assert found == {"ACK": stamps * stamp, "NULL": stamp + 4, "ASK": 4 + stamp, "ACCEPT": stamp + 12}


def test_other_acknowledgements_have_a_number_a_sender_or_one():
    assert bytes_of("vector", 1000, 50) == {"ACK": ARRAY, "ACK_ONE": 4, "ASK": 4, "ACCEPT": 8}
    assert bytes_of("explicit", 1000, 50) == {"ACK": 4, "ASK": 0}
    assert bytes_of("transitive", 1000, 50) == {"ACK": ARRAY}


def test_bimodal_multicast_names_a_message_by_sender_and_number():
    found = bytes_of("bimodal", 100, 5)
    assert {"FORWARD": 16, "RECAST_REQUEST": 8}.items() <= found.items()


def test_every_protocol_is_among_those_above():
    named = "coord coordp fulldist train s_coord s_coordp s_train cubefulldist gsgc gsgc-local"
    named += " timestamp vector explicit transitive bimodal"
    assert set(protocol_names()) == set(named.split())


def test_a_wire_counts_all_senders_and_memory_those_that_are_tracked():
    declaration, sizes = PROTOCOL.declaration, sizes_of()
    assert declaration.wire_bytes(sizes) == [16, 4 * 5 + 2 * -(-MEMBERS // 8), 4 * 5, 0]
    assert [declaration.message_width(each, sizes) for each in PROTOCOL.messages] == [
        0,
        COLUMNS + 6,
        COLUMNS,
        0,
    ]
    assert [declaration.number_count(each) for each in PROTOCOL.messages] == [5, 1, 1, 0]


# Bad declarations


class PING(NamedTuple):
    round: Round


class Rows(NamedTuple):
    rows: Annotated[IntArray, sources(rows=2)]


@kernel
def ignore(me, source, message, now, out):
    pass


def declare(state=Member, *messages, places=lambda around: {}) -> Protocol:
    kernels = Kernels(receive=dict.fromkeys(messages or (PING,), ignore), sends=few)
    return Protocol(
        about="bad: a protocol.", paper="none", state=state, kernels=kernels, runs=Started(), places=places
    )


class TooManyNumbers(NamedTuple):
    a: Number
    b: Number
    c: Number
    d: Number
    e: Number
    f: Number


class NoKind(NamedTuple):
    a: int


class Shadowing(Member):
    received: Number


class Twice(every_field.State):
    count: Number


@pytest.mark.parametrize(
    ("state", "messages", "told"),
    [
        (Member, [TooManyNumbers], "TooManyNumbers has 6 numbers"),
        (Member, [NoKind], "field a of NoKind has no kind"),
        (Shadowing, [], "field received is one that every member has already"),
        (Twice, [], "field count of Twice is declared twice"),
        (Member, [Rows], "field rows of Rows cannot be sent"),
    ],
)
def test_a_declaration_that_cannot_be_is_refused_with_its_file_and_line(state, messages, told):
    with pytest.raises(InvalidInput, match=told) as refused:
        _ = declare(state, *messages).declaration
    file, _, line = str(refused.value).partition(", line ")
    assert Path(file).name in ("test_contract.py", "every_field.py")
    assert int(line.partition(":")[0]) > 1
    assert "\n" not in str(refused.value)


def test_places_that_are_not_declared_are_refused():
    sizes = Sizes(1, 1, 1, 4)
    nothing: Placement = {"parent": np.zeros(1)}
    with pytest.raises(InvalidInput, match="bad: places gives parent, and the state declares nothing"):
        declare().declaration.make_rows(
            sizes,
            received=np.zeros((1, 1), np.int64),
            stable=np.zeros((1, 1), np.int64),
            attached=np.zeros((1, 1, 1), np.int64),
            seed=0,
            places=nothing,
        )


def test_an_array_that_all_members_share_has_one_dimension():
    places = {"parent": np.zeros(70), "near": (np.zeros(0), np.zeros(71)), "parents": np.zeros((1, 70))}
    with pytest.raises(InvalidInput, match="places gives parents as an array of 1 x 70"):
        Machine(PROTOCOL, index=0, sizes=sizes_of(), places=places)
