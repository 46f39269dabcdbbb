"""Wire traces of simulated live groups: each arrival has its transmission, each step its cause."""

import pytest
from live_setups import live
from wire_traces import (
    check_arrivals,
    check_columns,
    check_steps,
    of_kind,
    rows_of,
    transmissions,
    without_wire,
)

from stablecast.simulate.live.run import simulate_live

LOSSY = {"link_loss": 0.03}
MEMBERS = {f"m{k}" for k in range(6)}
UNDER_WAY_AT_END = 30
"""Datagrams that may be on their way when everything is stable."""
FAULTS = "crash 3 at 400; join 1 at 500; leave 2 at 900; pause 1 from 1200 to 1500"


def traced(folder, **fields):
    """Run a group twice, without datagrams in its trace and with; return the rows and the result."""
    fields = {"members": 6, "senders": 3, "rate_per_s": 20.0, "seconds": 1.0, **fields}
    plain = simulate_live(live(**fields), trace=folder / "plain.jsonl")
    result = simulate_live(live(**fields), trace=folder / "wire.jsonl", wire=True)
    rows = rows_of(folder / "wire.jsonl")
    is_the_same = without_wire(rows) == (folder / "plain.jsonl").read_text()
    assert is_the_same
    assert (result.digest, result.events) == (plain.digest, plain.events)
    check_columns(rows)
    check_steps(rows)
    return rows, result


def sizes(rows):
    """Return the bytes of each datagram that was sent."""
    return {key: sum(row["bytes"] for row in datagram) for key, datagram in transmissions(rows).items()}


@pytest.mark.parametrize("protocol", ["s_coord", "gsgc", "vector", "train"])
def test_every_arrival_is_of_one_transmission_and_the_run_is_the_same(tmp_path, protocol):
    rows, result = traced(tmp_path, protocol=protocol, changes=LOSSY)
    came = check_arrivals(rows, known=MEMBERS)
    assert {row["peer"] for row in of_kind(rows, "arrive")} <= MEMBERS
    assert result.lost > 0
    assert 0 <= result.datagrams - result.lost - came <= UNDER_WAY_AT_END
    for message in ("DATA", "REPAIR", "NAK", "ALIVE"):
        assert of_kind(rows, "transmit", message), message


def test_messages_of_the_protocol_have_their_declared_names_and_their_executions(tmp_path):
    rows, _ = traced(tmp_path, protocol="s_coord")
    for message in ("START", "ACK", "INFO"):
        sent = of_kind(rows, "transmit", message)
        assert {row["execution"] for row in sent} >= {1, 2, 3}
        assert {(row["source"], row["seq"]) for row in sent} == {(None, None)}
    assert {row["member"] for row in of_kind(rows, "transmit", "START")} == {"m0"}
    starts = [row for row in of_kind(rows, "timer", "start") if row["since_us"] < row["time_us"]]
    assert starts
    assert all(row["member"] == "m0" for row in starts)


def test_data_and_requests_tell_whose_messages_they_are_and_which(tmp_path):
    rows, _ = traced(tmp_path, changes=LOSSY)
    sent = {(row["source"], row["seq"]) for row in of_kind(rows, "send")}
    told = set()
    for row in of_kind(rows, "transmit", "DATA"):
        assert row["source"] == row["member"]
        told |= {(row["source"], seq) for seq in range(row["first_seq"], row["seq"] + 1)}
    assert told == sent
    for row in of_kind(rows, "arrive", "NAK"):
        assert row["first_seq"] <= row["seq"]
        assert {(row["source"], row["first_seq"]), (row["source"], row["seq"])} <= sent
    asked = {(row["peer"], row["source"], row["seq"]) for row in of_kind(rows, "arrive", "NAK")}
    repaired = {(row["peer"], row["source"], row["seq"]) for row in of_kind(rows, "transmit", "REPAIR")}
    assert repaired & asked


def test_a_message_is_received_in_the_step_in_which_it_arrives(tmp_path):
    rows, _ = traced(tmp_path)
    arrivals = {
        (row["member"], row["step"], row["source"], row["seq"])
        for row in of_kind(rows, "arrive")
        if row["message"] in ("DATA", "REPAIR")
    }
    received = {(row["member"], row["step"], row["source"], row["seq"]) for row in of_kind(rows, "receive")}
    assert received
    assert received <= arrivals


def test_members_that_pass_on_datagrams_transmit_them(tmp_path):
    rows, _ = traced(tmp_path, told={"fan_out": "2"}, changes=LOSSY)
    check_arrivals(rows, known=MEMBERS)
    passed_on = [row for row in of_kind(rows, "arrive", "DATA") if row["peer"] != row["source"]]
    assert passed_on
    assert all(row["number"] < 0 for row in passed_on)
    first = [row for row in of_kind(rows, "arrive", "DATA") if row["peer"] == row["source"]]
    assert all(row["number"] > 0 for row in first)


def test_of_what_goes_to_all_there_is_one_transmission_with_multicast_too(tmp_path):
    rows, _ = traced(tmp_path, ip_multicast=True)
    check_arrivals(rows, known=MEMBERS)
    data = of_kind(rows, "transmit", "DATA")
    assert {row["peer"] for row in data} == {None}
    assert len(of_kind(rows, "arrive", "DATA")) == 5 * len(data)


@pytest.mark.parametrize("start", ["joined", "joining"])
def test_who_comes_and_goes_is_told_with_its_datagrams(tmp_path, start):
    rows, _ = traced(tmp_path, faults=FAULTS, start=start, seconds=2.0, seed=2)
    assert check_arrivals(rows, known=MEMBERS) > 0
    for message in ("PREPARE", "SYNC", "INSTALL", "JOIN", "HELLO", "LEAVE"):
        assert of_kind(rows, "arrive", message), message
    joins = [row for row in of_kind(rows, "arrive", "JOIN") if row["peer"] in MEMBERS]
    assert joins
    crashed = [row for row in rows if row["member"] == "m3" and row["step"] is not None]
    assert max(row["time_us"] for row in crashed) < max(row["time_us"] for row in rows)


def test_bytes_are_those_of_the_datagram_on_the_simulated_network(tmp_path):
    rows, result = traced(tmp_path, ip_multicast=False, told={"fan_out": "direct"})
    addressed = sizes([row for row in rows if row["peer"] is not None])
    to_all = sizes([row for row in rows if row["peer"] is None])
    assert sum(addressed.values()) + 5 * sum(to_all.values()) == result.sent_bytes
    assert len(addressed) + 5 * len(to_all) == result.datagrams


def test_what_an_arrival_was_under_way_for_is_told_in_parts(tmp_path):
    rows, _ = traced(tmp_path, changes={"propagation_us": 50.0})
    sent = transmissions(rows)
    for row in of_kind(rows, "arrive"):
        way_us = row["time_us"] - sent[row["peer"], row["number"]][0]["time_us"]
        assert row["queue_us"] >= 0
        assert row["service_us"] > 0
        assert abs(way_us - row["queue_us"] - row["service_us"] - 2 * 50) <= 3  # each is cut to microseconds
    assert any(row["queue_us"] > 0 for row in of_kind(rows, "arrive"))
