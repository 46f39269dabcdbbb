"""A datagram opens once, for who has the key, and nothing else changes anything."""

import random
import re
from pathlib import Path
from typing import get_args

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st

from stablecast.engine import seal as sealing
from stablecast.engine import wire
from stablecast.engine.keys import Key, Keyring
from stablecast.engine.seal import COUNTER_LIMIT, OVERHEAD, VERSION, WINDOW, Exhausted, Seal
from stablecast.errors import InvalidInput

OLD, NEW = Key(3, bytes(range(32))), Key(4, bytes(range(1, 33)))
RING = Keyring((OLD,))


def member(session, *, keyring=RING, group="orders"):
    return Seal(group, session, keyring=keyring)


def refusals(seal):
    return {reason: count for reason, count in seal.refused.items() if count}


def test_what_is_closed_opens_with_its_session_and_counter():
    sender, receiver = member(1), member(2)
    for counter, inside in enumerate([b"", b"x", bytes(1400)], start=1):
        datagram = sender.close(inside)
        assert len(datagram) == len(inside) + OVERHEAD
        opened = receiver.open(datagram)
        assert (opened.session, opened.counter, opened.inside) == (1, counter, inside)
    assert not refusals(receiver)


def test_the_layout_is_the_documented_one():
    session = 0x0102030405060708
    datagram = member(session).close(b"inside")
    header = bytes([2, 3]) + session.to_bytes(8, "big") + (1).to_bytes(8, "big")
    kdf = HKDF(SHA256(), 32, salt=session.to_bytes(8, "big"), info=b"stablecast 1 orders")
    cipher = AESGCM(kdf.derive(OLD.secret))
    assert datagram[:18] == header
    assert datagram[18:] == cipher.encrypt(bytes(4) + (1).to_bytes(8, "big"), b"inside", header)


def test_a_view_of_a_buffer_opens_too():
    buffer = bytearray(member(1).close(b"inside"))
    assert member(2).open(memoryview(buffer)).inside == b"inside"


def test_every_changed_bit_is_noticed():
    datagram = member(1).close(b"inside")
    receiver = member(2)
    for bit in range(8 * len(datagram)):
        changed = bytearray(datagram)
        changed[bit // 8] ^= 1 << bit % 8
        assert receiver.open(bytes(changed)) is None
    assert receiver.remembered() == {}
    assert receiver.open(datagram) is not None


def test_each_refusal_is_counted_by_its_reason():
    sender, receiver = member(1), member(2)
    datagram = sender.close(b"inside")
    receiver.open(datagram)
    fresh = sender.close(b"inside")
    for refused in (
        datagram,
        fresh[:33],
        b"",
        bytes((VERSION + 1,)) + fresh[1:],
        fresh[:1] + b"\x09" + fresh[2:],
        fresh[:-1],
        receiver.close(b"mine"),
    ):
        assert receiver.open(refused) is None
    assert receiver.refused == {
        "short": 2,
        "version": 1,
        "key": 1,
        "authentication": 1,
        "replay": 1,
        "own": 1,
    }


def test_other_groups_and_other_keys_do_not_open():
    receiver = member(2)
    assert receiver.open(member(1, group="bills").close(b"x")) is None
    assert receiver.open(member(1, keyring=Keyring((Key(3, NEW.secret),))).close(b"x")) is None
    assert receiver.open(member(1, keyring=None).close(b"x")) is None
    assert refusals(receiver) == {"authentication": 2, "key": 1}


def test_without_a_key_the_name_tells_groups_apart():
    datagram = member(1, keyring=None).close(b"x")
    assert datagram[1] == 255
    assert member(2, keyring=None).open(datagram).inside == b"x"
    assert member(2, keyring=None, group="bills").open(datagram) is None


def test_datagrams_in_any_order_open_once_each():
    sender, receiver = member(1), member(2)
    datagrams = [sender.close(b"%d" % number) for number in range(WINDOW)]
    shuffled = datagrams * 2
    random.Random(5).shuffle(shuffled)
    opened = [receiver.open(datagram) for datagram in shuffled]
    assert sorted(one.counter for one in opened if one) == list(range(1, WINDOW + 1))
    assert refusals(receiver) == {"replay": WINDOW}


def test_what_is_behind_the_window_is_refused():
    sender, receiver = member(1), member(2)
    datagrams = [sender.close(b"") for _ in range(WINDOW + 1)]
    receiver.open(datagrams[-1])
    assert receiver.open(datagrams[0]) is None
    assert receiver.open(datagrams[1]) is not None


@given(st.lists(st.integers(1, 4 * WINDOW), max_size=60))
def test_the_window_agrees_with_a_set_of_all_counters(counters):
    sender, receiver = member(1), member(2)
    seen, top = set(), 0
    for counter in counters:
        sender._sealed = counter - 1
        expected = counter not in seen and counter > top - WINDOW
        assert (receiver.open(sender.close(b"")) is not None) == expected
        if expected:
            seen.add(counter)
            top = max(top, counter)


def test_rotation_accepts_both_keys_and_then_only_the_new_one():
    both = Keyring((OLD, NEW)), Keyring((NEW, OLD))
    first, second = member(1), member(2)
    for ring_of_first, ring_of_second in (
        (both[0], RING),
        (both[0], both[0]),
        (both[1], both[0]),
        both[::-1],
    ):
        first.rotate(ring_of_first)
        second.rotate(ring_of_second)
        assert second.open(first.close(b"x")) is not None or ring_of_second is RING
        assert first.open(second.close(b"x")) is not None
    late = second.close(b"sealed with the old key")
    second.rotate(Keyring((NEW,)))
    first.rotate(Keyring((NEW,)))
    assert first.open(late) is None
    assert first.refused["key"] == 1
    assert first.open(second.close(b"x")).inside == b"x"


def test_rotation_forgets_neither_what_has_come_nor_the_counter():
    first, second = member(1), member(2)
    old = first.close(b"x")
    assert second.open(old).counter == 1
    for seal in (first, second):
        seal.rotate(Keyring((NEW, OLD)))
    assert second.open(old) is None
    assert second.open(first.close(b"x")).counter == 2
    assert refusals(second) == {"replay": 1}


def test_a_new_secret_under_an_old_number_replaces_it():
    first, second = member(1), member(2)
    second.open(first.close(b"x"))
    second.rotate(Keyring((Key(OLD.number, NEW.secret),)))
    assert second.open(first.close(b"x")) is None


def test_a_session_that_is_forgotten_cannot_be_replayed():
    sender, receiver = member(1), member(2)
    receiver.keep(1)
    datagram = sender.close(b"x")
    receiver.open(datagram)
    receiver.forget(1)
    receiver.forget(99)
    assert receiver.open(datagram) is None


def test_only_sessions_that_are_kept_outlast_many_others(monkeypatch):
    monkeypatch.setattr(sealing, "GUESTS_MAX", 8)
    receiver = member(1000)
    receiver.keep(1)
    receiver.keep(1)
    datagrams = {session: member(session).close(b"x") for session in range(1, 30)}
    for datagram in datagrams.values():
        assert receiver.open(datagram) is not None
    assert list(receiver.remembered()) == [1, *range(22, 30)]
    assert receiver.open(datagrams[1]) is None


def test_a_recording_of_many_sessions_opens_once_however_many_came_in_between(monkeypatch):
    monkeypatch.setattr(sealing, "GUESTS_MAX", 8)
    receiver = member(1000)
    senders = [member(session) for session in range(1, 30)]
    recorded = [sender.close(b"x") for sender in senders for _ in range(3)]
    for datagram in recorded:
        assert receiver.open(datagram) is not None
    for datagram in recorded:
        assert receiver.open(datagram) is None
    assert refusals(receiver) == {"replay": len(recorded)}
    receiver.keep(1)
    assert receiver.open(recorded[0]) is None
    for sender in senders:
        assert receiver.open(sender.close(b"news")) is not None


def test_what_is_remembered_of_sessions_that_had_to_go_is_bounded(monkeypatch):
    monkeypatch.setattr(sealing, "GUESTS_MAX", 8)
    monkeypatch.setattr(sealing, "GONE_MAX", 10)
    receiver = member(1000)
    recorded = [member(session).close(b"x") for session in range(1, 31)]
    for datagram in recorded:
        receiver.open(datagram)
    opened = [receiver.open(datagram) is not None for datagram in reversed(recorded)]
    assert opened == [False] * 18 + [True] * 12


def test_strangers_leave_nothing_but_counts():
    receiver = member(1000)
    receiver.open(member(1).close(b"x"))
    before = receiver.remembered()
    draw = random.Random(11)
    for _ in range(6000):
        assert receiver.open(bytes((VERSION, 3)) + draw.randbytes(50)) is None
    assert receiver.remembered() == before
    assert refusals(receiver) == {"authentication": 6000}
    assert receiver._derive.cache_info().currsize <= sealing.DERIVED_MAX


def test_a_session_stops_before_its_counter_ends():
    sender = member(1)
    sender._sealed = COUNTER_LIMIT - 2
    assert member(2).open(sender.close(b"x")).counter == COUNTER_LIMIT - 1
    for _ in range(2):
        with pytest.raises(Exhausted, match="2\\^63"):
            sender.close(b"x")


@pytest.mark.parametrize("session", [0, -1, 1 << 64])
def test_sessions_are_numbers_of_64_bits_other_than_0(session):
    with pytest.raises(InvalidInput, match="accepted"):
        member(session)


@pytest.mark.parametrize("frame", get_args(wire.AnyFrame), ids=lambda frame: frame.__name__)
def test_the_page_on_the_wire_format_lists_every_frame_with_its_fields(frame):
    page = (Path(__file__).parents[2] / "docs" / "wire-format.md").read_text(encoding="utf-8")
    [row] = re.findall(
        rf"^\| {frame.__struct_config__.tag} \| {frame.__name__} \| (.*?) \|", page, re.MULTILINE
    )
    assert tuple(re.findall(r"`(\w+)`", row)) == frame.__struct_fields__


def test_a_session_that_is_kept_costs_no_window_before_its_first_datagram():
    receiver = member(1000)
    for session in range(1, 100):
        receiver.keep(session)
    assert receiver.remembered() == {}
    receiver.open(member(7).close(b"x"))
    assert list(receiver.remembered()) == [7]
