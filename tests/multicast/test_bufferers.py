"""Who buffers: the rule, the choice of one, and views that differ."""

import math

import numpy as np
import pytest
from differing_views import search
from hypothesis import given
from hypothesis import strategies as st

from stablecast.errors import InvalidInput
from stablecast.multicast.bufferers import MIX, NOBODY, SHUFFLE, bufferers, buffers, named, pick, pick_member
from stablecast.multicast.hashing import HASHES, mix_hash_plain, shuffle_hash_plain, shuffle_table
from stablecast.theory.buffering import finds_some

by = HASHES["mix"]
messages = st.tuples(st.integers(0, 1000), st.integers(1, 10**6))
views = st.lists(st.integers(0, 5000), min_size=1, max_size=60, unique=True)
SEED = 1999


@given(views, messages, st.floats(0, 30))
def test_a_member_buffers_exactly_if_its_hash_times_n_is_below_c(view, message, C) -> None:
    n = len(view)
    chosen = bufferers(view, message, C, by=by)
    assert chosen == tuple(one for one in view if by(*message, one) * n < C)
    assert all(buffers(one, message, n, C, by=by) == (one in chosen) for one in view)


@given(views, messages)
def test_with_c_of_n_all_buffer_and_with_0_nobody(view, message) -> None:
    assert bufferers(view, message, len(view), by=by) == tuple(view)
    assert bufferers(view, message, 0, by=by) == ()


@given(views, messages, st.floats(0, 30), st.integers(1, 40))
def test_a_larger_view_has_fewer_bufferers_among_those_whom_both_know(view, message, C, more) -> None:
    larger = view + [10_000 + i for i in range(more)]
    among_both = set(bufferers(larger, message, C, by=by)) & set(view)
    assert among_both <= set(bufferers(view, message, C, by=by))


@given(views, messages, st.floats(0, 30), st.floats(0, 1, exclude_max=True), st.data())
def test_the_kernel_picks_whom_the_plain_one_picks(view, message, C, draw, data) -> None:
    but = data.draw(st.sampled_from(view))
    table, addresses = shuffle_table(), np.array(view, np.int64)
    by_name = {
        MIX: lambda source, number, one: mix_hash_plain(7, source, number, one),
        SHUFFLE: lambda source, number, one: shuffle_hash_plain(
            source.to_bytes(4) + number.to_bytes(4) + one.to_bytes(4), table
        ),
    }
    for scheme, plain in by_name.items():
        place = pick_member(scheme, 7, table, *message, addresses, len(view), float(C), draw, view.index(but))
        found = NOBODY if place < 0 else view[place]
        assert found == pick(view, message, C, draw, by=plain, but=but)
        assert found != but
        assert found == NOBODY or found in bufferers(view, message, C, by=plain)


def test_every_bufferer_is_picked_equally_often() -> None:
    view, message = list(range(100)), (1, 8)
    chosen = bufferers(view, message, 6, by=by)
    picked = [pick(view, message, 6, k / 1000, by=by) for k in range(1000)]
    assert len(chosen) > 1
    assert {picked.count(one) for one in chosen} <= {1000 // len(chosen), 1000 // len(chosen) + 1}


def test_an_unknown_hash_is_refused_with_the_nearest_name() -> None:
    assert named("shuffle") is HASHES["shuffle"]
    with pytest.raises(InvalidInput, match="did you mean 'shuffle'"):
        named("shufle")


def test_with_equal_views_a_bufferer_is_found_unless_there_is_none() -> None:
    seen = search("mix", 100, 6, unknown=0, gone=0, messages=10_000, seed=SEED)
    print(f"seed {SEED}", seen)
    assert seen.at_once == seen.in_rounds == seen.ever == seen.somebody
    expected = finds_some(100, 100, 100, 6)
    assert abs(seen.ever - expected) < 4 * math.sqrt(expected * (1 - expected) / 10_000)


@pytest.mark.parametrize(
    ("few", "at_once", "in_rounds"), [(2, 0.97, 0.996), (5, 0.945, 0.995), (10, 0.91, 0.993)]
)
def test_views_that_differ_by_a_few_members_still_find_a_bufferer(few, at_once, in_rounds) -> None:
    seen = search("mix", 100, 6, unknown=few, gone=few, messages=10_000, seed=SEED)
    print(f"seed {SEED}", seen)
    assert seen.at_once > at_once
    assert seen.in_rounds > in_rounds
    assert seen.in_rounds <= seen.ever <= seen.somebody
