"""The hashes: kernels and plain twins agree; which are fair, and how the others are not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablecast.multicast.hashing import (
    HASHES,
    bare_crc16_plain,
    blake2s_hash,
    crc16,
    crc16_plain,
    encode,
    mix_hash,
    mix_hash_plain,
    shuffle_hash,
    shuffle_hash_plain,
    shuffle_member,
    shuffle_message,
    shuffle_table,
    write,
)
from stablecast.papers.buffering.fairness import fairness, hash_all, related, z_of_chi_square

words = st.integers(0, 2**32 - 1)
TABLE = shuffle_table()
C = 6.0
BASE = 0x0A000001
SEED = 1999


def consecutive(name: str, n: int, messages: int, **options) -> np.ndarray:
    """Hashes of messages 1, 2, ... of one source with members 10.0.0.1, 10.0.0.2, ..."""
    numbers = np.arange(1, messages + 1)
    return hash_all(name, np.full(messages, BASE), numbers, BASE + np.arange(n), **options)


# Twins


@given(st.integers(0, 2**63 - 1), words, st.integers(0, 2**63 - 1), words)
def test_mix_is_the_same_compiled_and_plain(key: int, source: int, number: int, address: int) -> None:
    assert mix_hash(key, source, number, address) == mix_hash_plain(key, source, number, address)


@given(st.binary(max_size=40))
def test_shuffle_and_crc_are_the_same_compiled_and_plain(data: bytes) -> None:
    array = np.frombuffer(data, np.uint8)
    assert shuffle_hash(array, TABLE) == shuffle_hash_plain(data, TABLE)
    assert crc16(array) == crc16_plain(data)


@given(words, words, words)
def test_hashing_the_message_once_for_all_members_changes_nothing(
    source: int, number: int, address: int
) -> None:
    data = np.zeros(12, np.uint8)
    write(data, source, number, address)
    assert data.tobytes() == encode(source, number, address)
    state = shuffle_message(source, number, TABLE)
    assert shuffle_member(state, address, TABLE) == shuffle_hash(data, TABLE)


@given(words, words, words)
def test_every_hash_is_in_the_range_from_0_to_below_1(source: int, number: int, address: int) -> None:
    assert all(0 <= by(source, number, address) < 1 for by in HASHES.values())


def test_matrices_are_filled_with_the_plain_hashes() -> None:
    for name in ("mix", "shuffle", "crc16"):
        values = consecutive(name, 3, 4)
        assert values.tolist() == [
            [HASHES[name](BASE, number, BASE + i) for i in range(3)] for number in range(1, 5)
        ]


# Known values


def test_the_table_is_that_of_splitmix64() -> None:
    assert shuffle_table(0)[0] == 0xE220A839  # the first output for seed 0 is E220A8397B1DCDAF
    assert len(set(TABLE.tolist())) == 256


def test_the_shuffle_hash_by_hand() -> None:
    table = np.zeros(256, np.uint32)
    table[1], table[1 ^ 0x0F] = 0x8000000F, 0x40000000
    assert shuffle_hash_plain(b"\x01", table) == 0x8000000F / 2**32
    assert shuffle_hash_plain(b"\x01\x01", table) == 0xC000000F / 2**32


def test_crc_16_is_the_usual_one() -> None:
    assert crc16_plain(b"123456789") == 0xBB3D


def test_the_printed_outputs_of_crc_16_are_those_of_the_bare_remainder() -> None:
    numbers = [number.to_bytes(4) for number in range(4)]
    assert [bare_crc16_plain(data) for data in numbers] == [0, 256, 512, 768]
    assert [bare_crc16_plain(data, polynomial=0x11021) for data in numbers] == [0, 256, 512, 768]
    assert [crc16_plain(data) for data in numbers] == [0, 49345, 49537, 320]


def test_a_key_changes_who_buffers() -> None:
    data = encode(1, 2, 3)
    assert blake2s_hash(data) != blake2s_hash(data, b"key")
    assert mix_hash_plain(0, 1, 2, 3) != mix_hash_plain(1, 1, 2, 3)


# Fairness


def test_wilson_and_hilferty_know_a_table() -> None:
    assert z_of_chi_square(124.34, 100) == pytest.approx(1.645, abs=0.01)  # 5 % are above
    assert z_of_chi_square(77.93, 100) == pytest.approx(-1.645, abs=0.01)


@pytest.mark.parametrize("n", [20, 100, 250, 1000])
def test_mix_cannot_be_told_from_coins(n: int) -> None:
    seen = fairness(consecutive("mix", n, 10_000, key=SEED) * n < C, C)
    print(f"key {SEED}", seen)
    assert abs(seen.counts_z) < 4
    assert abs(seen.members_z) < 4


def test_blake2s_cannot_be_told_from_coins() -> None:
    n = 100
    rows = [[HASHES["blake2s"](BASE, k, BASE + i) for i in range(n)] for k in range(1, 3001)]
    seen = fairness(np.array(rows) * n < C, C)
    print(seen)
    assert abs(seen.counts_z) < 4
    assert abs(seen.members_z) < 4


@pytest.mark.parametrize("n", [50, 100, 250])
def test_shuffle_has_the_right_mean_and_loads_even_to_a_few_percent(n: int) -> None:
    seen = fairness(consecutive("shuffle", n, 20_000) * n < C, C)
    print(seen)
    assert seen.mean == pytest.approx(C, rel=0.015)
    assert seen.uneven < 0.06


def test_over_500_messages_as_in_figure_6_shuffle_looks_fair() -> None:
    seen = fairness(consecutive("shuffle", 100, 500) * 100 < C, C)
    print(seen)
    assert abs(seen.members_z) < 4
    assert seen.mean == pytest.approx(C, rel=0.05)


def test_one_table_of_shuffle_decides_how_often_nobody_buffers() -> None:
    """Over tables the share of messages without a bufferer is the binomial's; for one it is anything."""
    n, tables, messages = 100, 250, 2000
    decisions = [
        consecutive("shuffle", n, messages, table=shuffle_table(seed)) * n < C for seed in range(tables)
    ]
    nobody = np.array([float((~one.any(axis=1)).mean()) for one in decisions])
    expected = (1 - C / n) ** n
    error = nobody.std(ddof=1) / np.sqrt(tables)
    print(f"expected {expected:.5f}, mean {nobody.mean():.5f} +- {error:.5f}, largest {nobody.max():.5f}")
    assert abs(nobody.mean() - expected) < 4 * error
    assert (nobody == 0).mean() > 0.2
    assert nobody.max() > 5 * expected
    chance = np.sqrt(expected * (1 - expected) / messages)
    assert nobody.std() > 3 * chance


def test_addresses_that_differ_in_two_bytes_share_their_shuffle_hashes_in_pairs() -> None:
    """The last two look-ups may be swapped: 256 * 255 / 2 + 1 different hashes for 65,536 addresses."""
    message = shuffle_message(BASE, 77, TABLE)
    block = {shuffle_member(message, 0x0A000000 + low, TABLE) for low in range(65_536)}
    assert len(block) == 256 * 255 // 2 + 1
    assert len({shuffle_member(message, 0x0A000000 + low, TABLE) for low in range(256)}) == 256


def test_crc_16_leaves_half_of_the_messages_without_a_bufferer() -> None:
    seen = fairness(consecutive("crc16", 100, 20_000) * 100 < C, C)
    print(seen)
    assert seen.nobody > 0.4
    assert seen.variance_ratio > 5
    assert seen.counts_z > 100


def test_a_bare_remainder_as_in_the_paper_is_worse_still() -> None:
    n = 100
    rows = [
        [bare_crc16_plain(encode(0, number, i)) / 65536 * n < C for i in range(n)] for number in range(1, 401)
    ]
    counts = np.array(rows).sum(axis=1)
    assert (counts == 0).mean() > 0.5
    assert counts.max() >= 15


def test_identifiers_that_differ_in_one_bit_are_unrelated_by_mix_and_related_by_crc() -> None:
    random = np.random.default_rng(SEED)
    print(f"seed {SEED}")
    n, messages = 100, 2000
    sources, numbers = random.integers(0, 2**32, (2, messages))
    addresses = BASE + np.arange(n)
    strongest = dict.fromkeys(("mix", "shuffle", "crc16"), 0.0)
    for name in strongest:
        base = hash_all(name, sources, numbers, addresses) * n < C
        for bit in range(32):
            other = hash_all(name, sources, numbers ^ (1 << bit), addresses) * n < C
            strongest[name] = max(strongest[name], abs(related(base, other)))
    print(strongest)
    assert strongest["mix"] < 4.5
    assert strongest["shuffle"] < 10
    assert strongest["crc16"] > 100
