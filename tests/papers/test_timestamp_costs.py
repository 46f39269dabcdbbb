"""Bytes, comparisons and buffers of acknowledgements: claims follow the runs, and can be missed."""

import pytest
from timestamp_rows import change, check_tables_and_figures, plus, ran, run_all, times, verdict

from stablecast.papers.timestamp import ack_bytes, buffers, processor, riding, stamp_bytes
from stablecast.papers.timestamp.schemes import COMPUTED, EXPLICIT, TIMESTAMP, TRANSITIVE, VECTOR, measured
from stablecast.papers.timestamp.steady import pair, steady
from stablecast.pipeline.runs import MissingRun, Runs

pytestmark = pytest.mark.xdist_group("timestamp_costs")  # its runs take seconds, once

MODULES = (ack_bytes, stamp_bytes, processor, buffers)
LEAST = 20
"""Messages of the long run of a pair, by which the two are told apart."""


@pytest.fixture(scope="module")
def rows():
    """The quick runs, but for the largest groups, by module."""
    small = {
        module: [point for point in module.points(False) if point.options["members"] <= 64]
        for module in MODULES
    }
    return {module: run_all(points) for module, points in small.items()}


def long_runs(where):
    """Tell whether a run is the long one of a pair of one message in t_ack."""
    return lambda given: where(given) and given["messages"] == LEAST


def test_a_timestamp_is_one_number_and_a_vector_one_for_each_sender(rows):
    runs = Runs(rows[ack_bytes])
    one, other = (measured(runs, scheme, (16, 64)) for scheme in (TIMESTAMP, VECTOR))
    assert (one.messages, one.bytes) == (64, 64 * 36)
    assert (other.messages, other.bytes) == (64, 64 * (32 + 16 * 4))
    assert one.attached == 16 * 4
    assert one.whole
    assert other.whole


@pytest.mark.parametrize("scheme", COMPUTED, ids=lambda scheme: scheme.name)
def test_measured_bytes_equal_the_closed_forms(rows, scheme):
    found = measured(Runs(rows[ack_bytes]), scheme, (4, 64))
    assert (found.messages, found.bytes) == (scheme.messages(4, 64), scheme.bytes(4, 64))


def test_runs_that_are_no_whole_periods_apart_are_not_taken_for_exact(rows):
    points = TIMESTAMP.runs_of(16, 64)
    shifted = change("simulated_us", plus(1.0), long_runs(ran("timestamp")))(rows[ack_bytes])
    assert steady(Runs(rows[ack_bytes]), points).whole
    assert not steady(Runs(shifted), points).whole


HOLDING = {
    ack_bytes: ("T4a", "T4b", "T4c", "T4d", "T4g"),
    stamp_bytes: ("T4f", "T4h"),
    processor: ("T4i", "T4j", "T4k"),
    buffers: ("T4l",),
}
MISSED = {ack_bytes: ("T4e",)}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_claims_are_judged_on_real_runs(rows, module):
    assert {claim.id for claim in module.CLAIMS} == {*HOLDING[module], *MISSED.get(module, ())}
    assert [name for name in HOLDING[module] if not verdict(module.CLAIMS, name, rows[module])] == []
    assert [name for name in MISSED.get(module, ()) if verdict(module.CLAIMS, name, rows[module])] == []


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_tables_and_figures_are_made(rows, module):
    check_tables_and_figures(module, rows[module], figures=module.FIGURES)


def test_acknowledgements_that_ride_take_their_own_bytes_and_the_stamps(rows):
    runs = Runs(rows[ack_bytes])
    one, other = (measured(runs, scheme.riding(), (32, 32)) for scheme in (TIMESTAMP, VECTOR))
    assert (one.bytes, one.riding, one.attached) == (0, 32 * 4, 32 * 4)
    assert (other.bytes, other.riding, other.attached) == (0, 32 * 32 * 4, 0)


def test_timestamps_that_ride_take_less_than_transitive_ones_in_large_groups_and_alone_in_all(rows):
    runs = Runs(rows[ack_bytes])
    assert (
        riding.over_timestamps(runs, (8, 8), stamps=True)
        < 1
        < riding.over_timestamps(runs, (64, 64), stamps=True)
    )
    assert all(riding.over_timestamps(runs, (n, n), stamps=False) >= 1 for n in (8, 16, 32, 64))


def test_what_rides_is_stable_later(rows):
    runs = Runs(rows[ack_bytes])
    for scheme in (TIMESTAMP, VECTOR, EXPLICIT):
        assert riding.mean_ms(runs, scheme.riding(), (32, 32)) > riding.mean_ms(runs, scheme, (32, 32))


def test_the_table_and_the_figure_of_what_rides_are_made(rows):
    tables, _ = check_tables_and_figures(riding, rows[ack_bytes], figures=riding.FIGURES)
    assert [row[0] for row in tables[0].rows] == [8, 16, 32, 64]


def test_every_size_is_a_row_of_the_table_of_bytes(rows):
    table = ack_bytes.TABLES[0](Runs(rows[ack_bytes]))
    assert {row[:2] for row in table.rows} >= {(64, 1), (64, 50), (16, 8), (32, 8), (8, 8), (32, 32)}
    cells = {row[:2]: row for row in table.rows}
    assert cells[64, 50][2 + COMPUTED.index(VECTOR)] == 64 * 232


ALTERED = {
    "T4a a vector is too large": (
        ack_bytes,
        change("sent_bytes", plus(4), long_runs(ran("vector", senders=16))),
    ),
    "T4a one acknowledgement is missing": (
        ack_bytes,
        change("messages_sent", plus(-1), long_runs(ran("timestamp", clock="logical", senders=4))),
    ),
    "T4a a run did not come to its end": (
        ack_bytes,
        change("completed", lambda _: False, ran("vector", senders=8, members=32)),
    ),
    "T4b timestamps grow with the senders": (
        ack_bytes,
        change("sent_bytes", plus(9000), long_runs(ran("timestamp", senders=64))),
    ),
    "T4b vectors do not": (ack_bytes, change("sent_bytes", times(0.5), long_runs(ran("vector", senders=64)))),
    "T4a explicit ones are too small": (
        ack_bytes,
        change("sent_bytes", plus(-4), long_runs(ran("explicit", senders=16))),
    ),
    "T4c vectors take much less": (
        ack_bytes,
        change("sent_bytes", times(0.4), ran("vector", senders=50, header_bytes=0)),
    ),
    "T4c timestamps take more": (
        ack_bytes,
        change("sent_bytes", times(3), ran("timestamp", senders=8, header_bytes=0)),
    ),
    "T4d explicit ones are not quadratic": (
        ack_bytes,
        change("sent_bytes", times(0.3), ran("explicit", senders=64)),
    ),
    "T4d transitive ones take more": (
        ack_bytes,
        change("sent_bytes", plus(10**7), long_runs(ran("transitive", senders=8))),
    ),
    "T4d transitive ones do not grow": (
        ack_bytes,
        change("attached_bytes", plus(10**5), long_runs(ran("transitive", members=16, senders=8))),
    ),
    "T4g timestamps save something": (
        ack_bytes,
        change("sent_bytes", plus(-4), long_runs(ran("timestamp", ack_to="senders", senders=4))),
    ),
    "T4f stamps are smaller": (
        stamp_bytes,
        change("attached_bytes", times(0.5), ran("timestamp", senders=4)),
    ),
    "T4f vectors are larger": (stamp_bytes, change("sent_bytes", times(1.1), ran("vector", senders=2))),
    "T4h silence costs nothing": (
        stamp_bytes,
        change("sent_bytes", plus(-400), ran("timestamp", rate_per_s=1.0, messages=2, send_every_ms=50.0)),
    ),
    "T4i more senders cost much more": (
        processor,
        change("operations", plus(10**6), ran("timestamp", senders=64, messages=50)),
    ),
    "T4i more senders cost nothing": (
        processor,
        change("operations", plus(-(10**5)), ran("timestamp", senders=64, messages=50)),
    ),
    "T4j more than a logarithm": (
        processor,
        change("operations", times(3), ran("timestamp", members=64)),
    ),
    "T4j vectors take more": (processor, change("operations", times(3), ran("vector", know="own"))),
    "T4k transitive ones are cheap": (
        processor,
        change("operations", times(0.01), ran("transitive", senders=4)),
    ),
    "T4l a faster sender holds less": (
        buffers,
        change("buffer_max", lambda _: 1, ran("vector", rate_per_s=500.0)),
    ),
    "T4l more than latency times rate": (buffers, change("buffer_max", plus(1), ran("explicit"))),
}


@pytest.mark.parametrize("what", ALTERED)
def test_a_claim_is_missed_when_the_runs_say_otherwise(rows, what):
    module, alter = ALTERED[what]
    assert not verdict(module.CLAIMS, what.split()[0], alter(rows[module]))


def test_the_missed_claim_would_hold_on_other_runs(rows):
    short = {row["key"]: row for row in rows[ack_bytes]}

    def as_if(scheme, read):
        """Make a scheme's bytes in t_ack those that ``read`` gives for its size."""
        altered = dict(short)
        for size in ack_bytes.all_made(Runs(rows[ack_bytes])):
            first, second = scheme.runs_of(*size)
            bytes_of_ten = 10 * read(*size)
            altered[second.key] = short[second.key] | {
                "sent_bytes": short[first.key]["sent_bytes"] + bytes_of_ten,
                "attached_bytes": short[first.key]["attached_bytes"],
            }
        return list(altered.values())

    dear = as_if(TRANSITIVE, lambda senders, members: 10**5)
    assert verdict(ack_bytes.CLAIMS, "T4e", dear)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_without_runs_nothing_is_judged(module):
    for claim in module.CLAIMS:
        with pytest.raises(MissingRun):
            claim.judge(Runs([]))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_quick_is_a_part_of_full_and_no_point_comes_twice(module):
    full, quick = ([point.key for point in module.points(which)] for which in (True, False))
    assert len(set(full)) == len(full)
    assert len(set(quick)) == len(quick)
    assert set(quick) <= set(full)


def test_stamps_are_even_with_vectors_where_the_closed_form_says():
    assert [stamp_bytes.even_count(group) for group in stamp_bytes.GROUPS] == [8, 12, 7]
    assert stamp_bytes.counts_around((4, 16)) == (11, 12, 13)


def test_a_pair_of_runs_differs_in_its_messages_alone():
    short, long = (dict(point.options) for point in pair("explicit", 4, 16))
    assert (short.pop("messages"), long.pop("messages")) == (10, 20)
    assert short == long
    assert EXPLICIT.messages(4, 16) == 60
