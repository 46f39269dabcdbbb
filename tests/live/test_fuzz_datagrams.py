"""Datagrams that nobody with the key has sent do nothing; `benchmarks.fuzz_datagrams` sends a million."""

import msgspec
import pytest

from benchmarks.fuzz_datagrams import KINDS, Broken, Corpus, Subject, attack, sealed_subject, unpack_anything
from benchmarks.fuzz_engine import engine_subject, nonsense_of_members
from stablecast.engine import wire

SEED = 20260


def test_no_forged_datagram_opens_or_raises_or_changes_anything():
    subject = sealed_subject(SEED)
    counts = attack(subject, count=20_000, seed=SEED)
    assert counts.total() == 20_000
    assert len(counts) == len(KINDS)


def test_good_datagrams_still_open_once_after_the_attack():
    subject = sealed_subject(SEED)
    attack(subject, count=2_000, seed=SEED)
    for datagram in subject.corpus.unseen:
        assert subject.target(datagram) is not None
        assert subject.target(datagram) is None


@pytest.mark.parametrize(
    ("target", "state"),
    [
        (lambda datagram: b"" if len(datagram) == 40 else None, lambda: 0),
        (lambda datagram: datagram[0] and None, lambda: 0),
        (lambda datagram: None, iter(range(9)).__next__),
    ],
    ids=["takes", "raises", "changes"],
)
def test_the_attack_notices_a_target_that_does_something(target, state):
    corpus = sealed_subject(SEED).corpus
    with pytest.raises(Broken, match=f"seed {SEED}"):
        attack(Subject(target, state, corpus), count=5_000, seed=SEED)


def test_recordings_hold_good_datagrams_that_were_held_back():
    corpus = sealed_subject(SEED).corpus
    assert isinstance(corpus, Corpus)
    assert not set(corpus.seen) & set(corpus.unseen)
    assert len(corpus.unseen) > 20


def test_unpacking_takes_anything_or_refuses_it_in_one_way():
    counts = unpack_anything(count=20_000, seed=SEED)
    assert counts.keys() == {"taken", "refused"}, f"seed {SEED}"


@pytest.mark.parametrize(
    "inside",
    [
        b"",
        b"\xc0",
        b"\x92\x00",
        b"\x92\x00\xdd\xff\xff\xff\xff",
        b"\x92\x00\x91\xdd\xff\xff\xff\xff\x28\x01",
        b"\x92\x00\x91\x92\x63\x01",
        b"\x92\x00\x91\x93\x15\xa2\xff\xfe\x01",
        b"\x92\x00\x91\x95\x15\xa1x\x01" + b"\x91" * 60_000,
    ],
    ids=["empty", "nil", "cut", "long-list", "long-frame", "unknown-tag", "not-utf-8", "deep"],
)
def test_insides_made_to_hurt_are_refused_as_any_other(inside):
    with pytest.raises(msgspec.DecodeError):
        wire.unpack(inside)


def test_a_member_of_a_running_group_neither_changes_nor_answers_under_attack_by_strangers():
    counts = attack(engine_subject(SEED), count=20_000, seed=SEED, look_every=500)
    assert len(counts) == len(KINDS)


@pytest.mark.parametrize("protocol", ["gsgc", "coordp", "explicit", "timestamp", "transitive", "vector"])
def test_a_member_that_sends_nonsense_breaks_nobody(protocol):
    target = nonsense_of_members(count=3_000, seed=SEED, protocol=protocol)
    assert target.counters.malformed > 300
