"""Wire traces of simulated runs: ways by hand, what is lost, what rides, and what all traces tell."""

from collections import Counter, defaultdict

import pyarrow.parquet as pq
import pytest

from stablecast.simulate.options import Options
from stablecast.simulate.tracing import simulate_with_trace
from stablecast.trace.schema import COLUMNS, WIRE_COLUMNS, WIRE_KINDS


def traced(folder, *, wire=True, **options):
    """Return a run's result, and the rows of its trace."""
    file = folder / f"{'wire' if wire else 'plain'}.parquet"
    result = simulate_with_trace(Options(**options).setup(), file, wire=wire)
    return result, pq.read_table(file).to_pylist()


def of_kind(rows, kind, **given):
    chosen = [row for row in rows if row["kind"] == kind]
    return [row for row in chosen if all(row[name] == value for name, value in given.items())]


def sent_of(rows):
    """Return what each transmission carries, by transmitter and number."""
    sent = defaultdict(list)
    for row in of_kind(rows, "transmit"):
        sent[row["member"], row["number"]].append(row)
    return sent


def under_way(rows, arrival):
    """Return the time from a transmission to an arrival."""
    return arrival["time_us"] - sent_of(rows)[arrival["peer"], arrival["number"]][0]["time_us"]


STAR = {"topology": "tree", "degree": 3, "height": 1}


def send(size):
    return 338 + 47 * size / 400


def receive(size):
    return 1.1 * send(size)


def wire(size):
    return size * 8 / 100


def test_acknowledgements_that_come_together_wait_for_the_coordinators_processor(tmp_path):
    _, rows = traced(tmp_path, protocol="coordp", **STAR)
    starts = of_kind(rows, "arrive", message="START")
    assert {row["member"] for row in starts} == {"m0", "m1", "m2", "m3"}
    assert len(of_kind(rows, "transmit", message="START")) == 1
    for row in starts:
        own = row["member"] == "m0"
        assert row["queue_us"] == 0
        assert row["service_us"] == int(send(32) + receive(32) + (0 if own else wire(32)))
    size = 32 + 4 * 4
    acks = of_kind(rows, "arrive", message="ACK", member="m0")
    assert [row["queue_us"] for row in acks] == [int(k * receive(size)) for k in range(3)]
    assert {row["service_us"] for row in acks} == {int(send(size) + wire(size) + receive(size))}
    assert {(row["bytes"], row["execution"], row["source"], row["seq"]) for row in acks} == {
        (size, 1, None, None)
    }


def test_one_message_to_each_is_one_transmission_whose_copies_wait_for_each_other(tmp_path):
    _, rows = traced(tmp_path, protocol="coordp", cast="unicast", **STAR)
    (start,) = of_kind(rows, "transmit", message="START")
    assert start["peer"] is None
    arrivals = {row["member"]: row for row in of_kind(rows, "arrive", message="START")}
    assert [arrivals[f"m{k}"]["queue_us"] for k in (1, 2, 3)] == [int(k * send(32)) for k in range(3)]
    assert {row["number"] for row in arrivals.values()} == {start["number"]}


def test_what_is_neither_waited_nor_served_is_propagation(tmp_path):
    model = {"costs": "links-only", "propagation_us": 70.0}
    result, rows = traced(tmp_path, protocol="s_coord", topology="tree", degree=2, height=3, **model)
    arrivals = of_kind(rows, "arrive")
    left = [under_way(rows, row) - row["queue_us"] - row["service_us"] for row in arrivals]
    links = [round(time / 70) for time in left]
    # Each message is for one member, and times are cut to whole microseconds.
    assert sum(links) == result.hops["total"]
    assert max(links) > 1
    assert all(abs(time - 70 * count) <= 2 for time, count in zip(left, links, strict=True))


def test_a_step_begins_with_its_cause_and_has_all_that_follows(tmp_path):
    _, rows = traced(tmp_path, protocol="coordp", messages=3, period_ms=20.0, **STAR)
    steps = defaultdict(list)
    for row in rows:
        steps[row["member"], row["step"]].append(row["kind"])
    for kinds in steps.values():
        assert not {"arrive", "timer"} & set(kinds[1:]) or kinds[0] == "timer"
    assert ["arrive", "stable", "release"] in steps.values()
    assert any(kinds[:2] == ["arrive", "transmit"] for kinds in steps.values())
    assert ["send", "transmit"] in steps.values()
    timers = of_kind(rows, "timer")
    assert {(row["message"], row["since_us"]) for row in timers if row["time_us"] == 20_000} == {("start", 0)}


LOSSY = {
    "protocol": "s_coord",
    "topology": "tree",
    "degree": 2,
    "height": 3,
    "senders": 5,
    "messages": 20,
    "rate_per_s": 50.0,
    "data_loss": 0.1,
    "period_ms": 40.0,
    "seed": 4,
}


@pytest.fixture(scope="module")
def lossy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lossy")
    return *traced(folder, **LOSSY), traced(folder, wire=False, **LOSSY)[1]


def test_the_columns_are_those_of_wire_traces_and_the_other_rows_the_same(lossy):
    _, rows, plain = lossy
    assert tuple(rows[0]) == (*COLUMNS, *WIRE_COLUMNS)
    assert tuple(plain[0]) == COLUMNS
    kept = [{name: row[name] for name in COLUMNS} for row in rows if row["kind"] not in WIRE_KINDS]
    assert kept == plain


def test_what_is_lost_at_receivers_is_transmitted_and_does_not_arrive(lossy):
    result, rows, _ = lossy
    first = {(row["member"], row["number"]) for row in of_kind(rows, "transmit", message="DATA", peer=None)}
    came = Counter((row["peer"], row["number"]) for row in of_kind(rows, "arrive", message="DATA"))
    assert len(first) == 5 * 20
    assert result.lost > 20
    assert sum(result.members - came[each] for each in first) == result.lost


def test_what_is_sent_again_is_a_repair_that_was_asked_for(lossy):
    _, rows, _ = lossy
    asked = of_kind(rows, "arrive", message="NAK")
    repairs = of_kind(rows, "transmit", message="REPAIR")
    assert sum(row["seq"] - row["first_seq"] + 1 for row in asked) >= len(repairs) > 0
    wanted = {
        (row["member"], row["step"], row["peer"], row["source"], seq)
        for row in asked
        for seq in range(row["first_seq"], row["seq"] + 1)
    }
    for row in repairs:
        assert row["first_seq"] == row["seq"]
        assert (row["member"], row["step"], row["peer"], row["source"], row["seq"]) in wanted


def test_all_rows_of_one_number_are_what_goes_over_the_wire(tmp_path):
    run = {"protocol": "coordp", "topology": "tree", "degree": 3, "height": 2, "senders": 6, "messages": 8}
    result, rows = traced(tmp_path, piggyback_ms=40.0, rate_per_s=50.0, period_ms=15.0, **run)
    sent = sent_of(rows)
    ridden = [found for found in sent.values() if len(found) > 1]
    assert sum(len(found) - 1 for found in ridden) == result.riders > 0
    for carrier, *riders in ridden:
        assert carrier["message"] == "DATA"
        assert carrier["bytes"] == 32 + 1000
        assert all(row["since_us"] <= row["time_us"] == carrier["time_us"] for row in riders)
        assert all(row["step"] == carrier["step"] for row in riders)
    inside = sum(row["bytes"] for _, *riders in ridden for row in riders)
    assert inside == result.rider_bytes
    assert any(row["since_us"] < row["time_us"] for found in ridden for row in found[1:])


def test_a_message_cut_into_packets_arrives_once_with_the_headers_of_all(tmp_path):
    _, rows = traced(
        tmp_path, protocol="coordp", messages=2, mtu_bytes=132, senders=1, period_ms=50.0, **STAR
    )
    (first, _) = of_kind(rows, "transmit", message="DATA")
    assert first["bytes"] == 10 * 132
    arrivals = of_kind(rows, "arrive", message="DATA", number=first["number"])
    assert sorted(row["member"] for row in arrivals) == ["m0", "m1", "m2", "m3"]
    # The last packet waits for the nine before it, at its sender's processor and then, as to receive takes
    # longer, at the receiver's; where that is the same one, it receives what it has sent.
    waited = {row["member"]: row["queue_us"] for row in arrivals}
    assert waited.pop("m0") == int(9 * (send(132) + receive(132)))
    assert set(waited.values()) == {int(9 * receive(132))}
    others = [row["service_us"] for row in arrivals if row["member"] != "m0"]
    assert set(others) == {int(send(132) + wire(132) + receive(132))}


def test_without_data_traffic_the_protocols_rows_stand_alone(tmp_path):
    result, rows = traced(tmp_path, protocol="gsgc", topology="balanced", members=8, executions=2)
    assert {row["kind"] for row in rows} == {"join", *WIRE_KINDS}
    assert len(of_kind(rows, "transmit")) == result.messages_sent
    timers = of_kind(rows, "timer")
    assert {row["message"] for row in timers} == {"protocol"}
    assert all(row["since_us"] < row["time_us"] for row in timers)
