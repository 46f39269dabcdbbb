"""Wire traces of live groups, in memory and on loopback: causes can be followed from log to log."""

import asyncio
import random
from itertools import pairwise

import pytest
from live_groups import Reader, joined, play, until
from wire_traces import check_arrivals, check_columns, check_steps, of_kind, rows_of, without_wire

import stablecast
from stablecast.analysis.local import analyze_files
from stablecast.analysis.options import Options
from stablecast.analysis.reading.inputs import find_inputs
from stablecast.testing import Network
from stablecast.trace.log import EventLog

NAMES = ("ann", "bob", "cem", "dan")
LARGE = 40_000
"""Bytes of a message that fills many datagrams."""


def run_group(folder, *, wire, seed=3, large=LARGE, **options):
    """Run a group that sends in bursts on a lossy network; return its members' logs."""

    async def scenario():
        logs = {name: EventLog(folder / f"{name}.jsonl", wire=wire) for name in NAMES}
        each = {name: {"trace": log} for name, log in logs.items()}
        network, draw = Network(seed=seed, loss=0.05), random.Random(seed)
        async with joined(network, *NAMES, each=each, **options) as groups:
            readers = [Reader(group) for group in groups]
            receipts = []
            for _ in range(30):
                group = draw.choice(groups)
                receipts += [await group.send(bytes(draw.randrange(500))) for _ in range(draw.randrange(8))]
            receipts.append(await groups[0].send(bytes(large)))
            for receipt in receipts:
                await receipt.stable(timeout=30.0)
            for reader in readers:
                await reader.has(len(receipts))
        for log in logs.values():
            log.close()

    folder.mkdir()
    play(scenario)
    return [folder / f"{name}.jsonl" for name in NAMES]


@pytest.mark.parametrize("options", [{}, {"fan_out": 2, "protocol": "gsgc"}], ids=["direct", "passed on"])
def test_a_group_that_writes_wire_traces_does_the_same_as_one_that_does_not(tmp_path, options):
    plain = run_group(tmp_path / "plain", wire=False, **options)
    wired = run_group(tmp_path / "wire", wire=True, **options)
    for without, with_wire in zip(plain, wired, strict=True):
        rows = rows_of(with_wire)
        check_columns(rows)
        check_steps(rows)
        lines, expected = without_wire(rows).splitlines(), without.read_text().splitlines()
        is_the_same = sorted(lines) == sorted(expected)
        assert is_the_same
        unmoved = [line for line in lines if '"stable"' not in line]
        is_in_order = unmoved == [line for line in expected if '"stable"' not in line]
        assert is_in_order
    rows = rows_of(*wired)
    assert check_arrivals(rows, known=NAMES, large=True) > 0
    assert {row["queue_us"] for row in rows} == {None}
    large = [row for row in of_kind(rows, "transmit", "DATA") if row["source"] == "ann"]
    assert any(before["seq"] == after["seq"] for before, after in pairwise(large))


def test_the_analysis_of_members_logs_is_the_same_with_datagrams_in_them(tmp_path):
    def analysed(files):
        found = analyze_files(find_inputs([str(file) for file in files]), Options())
        return {name: table.to_pylist() for name, table in found.tables.items()}, found.summary

    plain, wired = (analysed(run_group(tmp_path / str(wire), wire=wire)) for wire in (False, True))
    assert plain == wired
    assert not any(plain[1]["violations"].values())
    assert len(plain[0]["messages"]) > 50


def test_what_became_stable_has_a_cause_that_can_be_followed_back_to_the_message(tmp_path):
    rows = rows_of(*run_group(tmp_path / "wire", wire=True))
    sent = {(row["member"], row["number"], row["message"]): row for row in of_kind(rows, "transmit")}
    causes = {(r["member"], r["step"]): r for r in reversed(rows) if r["kind"] in ("arrive", "timer")}
    found = 0
    for stable in of_kind(rows, "stable"):
        cause = causes.get((stable["member"], stable["step"]))
        if cause is None or cause["kind"] != "arrive" or ":" in cause["peer"]:
            continue
        transmit = sent[cause["peer"], cause["number"], cause["message"]]
        assert transmit["time_us"] <= cause["time_us"] == stable["time_us"]
        found += cause["message"] == "INFO"
        started = causes.get((transmit["member"], transmit["step"]))
        assert started is None or started["time_us"] <= transmit["time_us"]
    assert found > 10


def test_a_datagram_that_comes_with_others_causes_what_it_alone_leads_to(tmp_path):
    rows = rows_of(*run_group(tmp_path / "wire", wire=True))
    arrivals = {}
    for row in of_kind(rows, "arrive"):
        if row["message"] in ("DATA", "REPAIR") and row["source"]:
            arrivals.setdefault((row["member"], row["step"]), []).append(row)
    at_once = set()
    for row in of_kind(rows, "receive"):
        there = arrivals[row["member"], row["step"]]
        assert row["source"] in {arrival["source"] for arrival in there}
        at_once.add((row["member"], row["time_us"]))
    steps = {(row["member"], row["time_us"], row["step"]) for row in of_kind(rows, "receive")}
    assert len(steps) > len(at_once)  # so some came together


def test_data_that_waits_for_its_turn_leaves_by_a_timer(tmp_path):
    rows = rows_of(*run_group(tmp_path / "wire", wire=True, large=10 * LARGE, rate_bytes_per_s=4e6))
    timers = {(row["member"], row["step"]): row for row in of_kind(rows, "timer", "rate")}
    late = [row for row in of_kind(rows, "transmit", "DATA") if (row["member"], row["step"]) in timers]
    assert late
    for row in late:
        timer = timers[row["member"], row["step"]]
        assert timer["since_us"] < timer["time_us"] == row["time_us"]


def test_messages_for_some_are_told_in_the_group_of_their_source(tmp_path):
    async def scenario():
        logs = [EventLog(tmp_path / f"{name}.jsonl", wire=True) for name in ("ann", "bob")]
        options = {
            "ann": {"trace": logs[0], "receives": ["bob"]},
            "bob": {"trace": logs[1], "receives": False},
        }
        async with joined(Network(seed=1), "ann", "bob", each=options) as (_, bob):
            await (await bob.send(b"x")).stable(timeout=5.0)

    play(scenario)
    rows = rows_of(tmp_path / "ann.jsonl", tmp_path / "bob.jsonl")
    check_arrivals(rows, known=("ann", "bob"))
    assert {row["group"] for row in of_kind(rows, "arrive", "DATA")} == {"orders/bob"}
    assert {row["group"] for row in of_kind(rows, "arrive", "ALIVE")} == {"orders"}


def test_members_on_loopback_write_what_can_be_followed(tmp_path):
    async def scenario():
        logs = [EventLog(tmp_path / f"{name}.jsonl", wire=True) for name in NAMES[:3]]
        groups, seeds = [], []
        for name, log in zip(NAMES, logs, strict=False):
            joining = stablecast.join("orders", member=name, seeds=seeds, trace=log, trace_offset_s=0.0)
            groups.append(await joining)
            seeds = [groups[0].address]
        await until(lambda: all(len(group.members) == 3 for group in groups))
        receipts = [await group.send(b"x" * 100) for group in groups for _ in range(20)]
        for receipt in receipts:
            await receipt.stable(timeout=30.0)
        for group in groups:
            await group.close()

    asyncio.run(scenario())
    files = [tmp_path / f"{name}.jsonl" for name in NAMES[:3]]
    for file in files:
        check_steps(rows_of(file))
    rows = rows_of(*files)
    assert check_arrivals(rows, known=NAMES[:3]) > 0
    for message in ("DATA", "ALIVE", "START", "ACK", "INFO", "JOIN", "INSTALL"):
        assert of_kind(rows, "transmit", message), message
    assert {row["message"] for row in of_kind(rows, "timer")} >= {"alive", "start"}
