"""Streams of a real Redis: the numbers are the server's own, and what blocks is named."""

import threading

import pytest
from servers import redis_server

from stablecast.errors import InvalidInput
from stablecast.holdback.frontier import frontier_of
from stablecast.holdback.numbering import Numbering, parse_stream_id
from stablecast.holdback.sources import open_source


def fill(redis, stream, count, start=1):
    for number in range(start, start + count):
        redis.xadd(stream, {"payload": "x" * 50}, id=f"{number}-0")


def snapshot(url, **more):
    with open_source(url, **more) as source:
        return source.take()


def one_log(url):
    (log,) = snapshot(url).logs
    return log


def readers(log):
    return {one.member: one for one in log.readers}


@pytest.fixture
def orders(redis):
    """A stream with a blocker, the next one, one that has all, one that never read, and one that is gone."""
    fill(redis, "orders", 100)
    for group in ("archive", "billing", "search"):
        redis.xgroup_create("orders", group, "0")
    redis.xgroup_create("orders", "never", "60-0")
    for group, count in (("archive", 40), ("billing", 70), ("search", 100)):
        redis.xreadgroup(group, "worker", {"orders": ">"}, count=count)
        redis.xack("orders", group, *[f"{k}-0" for k in range(1, count + 1) if (group, k) != ("archive", 21)])
    redis.xgroup_delconsumer("orders", "billing", "worker")
    return redis


def test_the_blocker_is_named_with_the_next_one(orders):
    found = frontier_of(one_log(orders.url))
    first = found.standings[0]
    assert found.waiting_for == ("archive",)
    assert Numbering.STREAM_ID.text(found.stable_seq + 1) == "21-0"
    assert (first.frees.items, first.next_blockers) == (40, ("never",))
    assert readers(found.log)["never"].never_read
    assert not readers(found.log)["billing"].never_read
    assert readers(found.log)["billing"].connected is False


def test_amounts_are_what_the_server_counts(orders):
    log = one_log(orders.url)
    told = {group["name"]: group for group in orders.xinfo_groups("orders")}
    for one in log.readers:
        waiting = orders.xpending("orders", one.member)
        first = waiting["min"] or told[one.member]["last-delivered-id"]
        above = len(orders.xrange("orders", first if waiting["pending"] else f"({first}"))
        assert one.behind.items == above
        assert one.details["lag"] == told[one.member]["lag"]
        assert one.details["pending"] == waiting["pending"]
        assert one.details["smallest-pending-id"] == waiting["min"]
    assert log.kept.items == orders.xlen("orders")
    assert log.kept.bytes == orders.memory_usage("orders")


def test_without_the_blocker_the_frontier_is_where_the_counterfactual_said(orders):
    before = frontier_of(one_log(orders.url))
    said = before.standings[0]
    orders.xgroup_destroy("orders", "archive")
    after = frontier_of(one_log(orders.url))
    assert (after.stable_seq, after.waiting_for) == (said.without_seq, said.next_blockers)
    assert before.held.items - after.held.items == said.frees.items


def test_a_pending_entry_that_was_deleted_is_not_counted(redis):
    fill(redis, "s", 20)
    redis.xgroup_create("s", "g", "0")
    redis.xreadgroup("g", "c", {"s": ">"}, count=20)
    redis.xack("s", "g", *[f"{k}-0" for k in range(1, 6)])
    redis.xdel("s", "10-0")
    (one,) = one_log(redis.url).readers
    assert (one.behind.items, one.behind.estimated) == (14, False)


def test_entries_that_went_before_they_were_delivered_are_lost(redis):
    fill(redis, "s", 100)
    for group in ("g", "all"):
        redis.xgroup_create("s", group, "0")
        redis.xreadgroup(group, "c", {"s": ">"}, count=20 if group == "g" else 100, noack=True)
    assert not any(one.lost for one in frontier_of(one_log(redis.url)).standings)
    redis.xtrim("s", minid="51-0", approximate=False)
    lost = {one.reader.member: one.lost for one in frontier_of(one_log(redis.url)).standings}
    assert lost == {"g": True, "all": False}


def test_a_group_at_the_largest_name_does_not_hide_the_others(orders):
    before = readers(one_log(orders.url))
    orders.xgroup_create("orders", "far", f"{2**64 - 1}-{2**64 - 1}")
    found = snapshot(orders.url)
    assert found.problems == ()
    after = readers(found.logs[0])
    assert after.pop("far").behind.items == 0
    assert {name: one.behind.items for name, one in after.items()} == {
        name: one.behind.items for name, one in before.items()
    }
    assert {name: one.position for name, one in after.items()} == {
        name: one.position for name, one in before.items()
    }


def test_counts_that_are_refused_are_unknown(orders):
    words = ("+@connection", "+scan", "+time", "+xinfo|stream", "+multi", "+exec")
    orders.execute_command("ACL", "SETUSER", "looker", "on", ">p", "~*", "-@all", *words)
    try:
        found = snapshot(orders.url.replace("//", "//looker:p@"))
        assert readers(found.logs[0])["archive"].behind.items is None
        assert frontier_of(found.logs[0]).held.items is None
        assert found.logs[0].untrimmable
        (line,) = found.problems
        assert "no rights" in line
        assert "xrange" in line
    finally:
        orders.acl_deluser("looker")


def test_a_pending_entry_that_was_deleted_keeps_the_position_below_it(redis):
    fill(redis, "s", 5)
    redis.xgroup_create("s", "g", "0")
    redis.xreadgroup("g", "c", {"s": ">"}, count=4)
    redis.xack("s", "g", "1-0", "3-0")
    redis.xdel("s", "2-0")
    (one,) = one_log(redis.url).readers
    assert (one.position, one.exact) == (parse_stream_id("2-0") - 1, False)


def test_a_reader_of_a_stream_whose_end_was_deleted_lacks_nothing(redis):
    fill(redis, "s", 3)
    redis.xgroup_create("s", "g", "2-0")
    redis.xdel("s", "3-0")
    log = one_log(redis.url)
    assert log.readers[0].position == log.head == parse_stream_id("3-0")


def test_what_is_too_much_to_count_is_estimated_by_where_the_name_lies(redis, monkeypatch):
    monkeypatch.setattr("stablecast.holdback.sources.redis.COUNTED", 20)
    fill(redis, "s", 1000)
    redis.xgroup_create("s", "g", "300-0")
    redis.xgroup_create("s", "h", "990-0")
    behind = {one.member: one.behind for one in one_log(redis.url).readers}
    assert (behind["g"].estimated, abs(behind["g"].items - 700) < 3) == (True, True)
    assert (behind["h"].estimated, behind["h"].items) == (False, 10)


def test_gaps_do_not_keep_a_position_back(redis):
    fill(redis, "s", 5)
    redis.xgroup_create("s", "g", "1-0")
    redis.xdel("s", "2-0", "3-0")
    (one,) = one_log(redis.url).readers
    assert (one.position, one.told) == (parse_stream_id("4-0") - 1, parse_stream_id("1-0"))
    assert (one.exact, one.behind.items) == (True, 2)


def test_a_stream_of_times_tells_since_when(redis):
    first = redis.xadd("s", {"a": 1})
    redis.xadd("s", {"a": 2})
    redis.xgroup_create("s", "g", "0")
    found = frontier_of(one_log(redis.url))
    assert found.since_us == int(first.partition("-")[0]) * 1000


def test_streams_are_found_by_name_or_by_pattern(redis):
    for stream in ("orders:1", "orders:2", "other"):
        redis.xadd(stream, {"a": 1})
    redis.set("orders:3", "no stream")
    assert {log.source for log in snapshot(f"{redis.url}/0?match=orders:*").logs} == {"orders:1", "orders:2"}
    assert [log.source for log in snapshot(f"{redis.url}?stream=other").logs] == ["other"]


def test_streams_that_cannot_be_read_leave_a_line_each(redis):
    redis.xadd("good", {"a": 1})
    redis.set("bad", "1")
    found = snapshot(f"{redis.url}?stream=good,bad,none")
    assert [log.source for log in found.logs] == ["good"]
    assert [line.partition(" of ")[0] for line in found.problems] == ["stream 'bad'", "stream 'none'"]


def test_names_may_be_any_bytes(redis):
    redis.execute_command("XADD", b"\xff\xfe", "*", "a", "1")
    redis.execute_command("XGROUP", "CREATE", b"\xff\xfe", b"\xfd", "0")
    log = one_log(redis.url)
    assert (log.source, log.readers[0].member) == ("\\xff\\xfe", "\\xfd")


def test_the_room_is_what_redis_has_left(redis):
    redis.xadd("s", {"a": 1})
    redis.config_set("maxmemory", "1gb")
    try:
        room = snapshot(redis.url).room
        assert 0 < room.left.bytes < 1 << 30
        assert room.then == "writes are refused"
    finally:
        redis.config_set("maxmemory", "0")


@pytest.mark.parametrize(
    ("user", "said"), [("", "password"), (":wrong@", "password"), ("nobody:wrong@", "password")]
)
def test_a_wrong_password_is_one_line_without_it(tmp_path, user, said):
    with redis_server(tmp_path, "--requirepass", "right") as process:
        url = f"redis://{user}127.0.0.1:{process.port}"
        with pytest.raises(InvalidInput, match=said) as raised:
            snapshot(url)
        assert "wrong@" not in str(raised.value)
        assert snapshot(f"redis://:right@127.0.0.1:{process.port}").logs == ()


def test_least_rights_are_enough_and_less_is_told(redis):
    redis.xadd("s", {"a": 1})
    redis.xgroup_create("s", "g", "0")
    words = "@connection scan time xinfo|stream xrange multi exec memory|usage info"
    least = [f"+{word}" for word in words.split(" ")]
    redis.acl_setuser("reader", enabled=True, passwords=["+p"], keys=["*"], commands=[], reset=True)
    redis.execute_command("ACL", "SETUSER", "reader", "-@all", *least)
    try:
        url = redis.url.replace("//", "//reader:p@")
        full, reduced = snapshot(redis.url), snapshot(url)
        assert reduced.logs == full.logs
        redis.execute_command("ACL", "SETUSER", "reader", "-memory", "-info")
        (log,) = snapshot(url).logs
        assert log.kept.bytes is None
        redis.execute_command("ACL", "SETUSER", "reader", "resetkeys", "~other*")
        found = snapshot(url)
        assert found.logs == ()
        assert "no rights" in found.problems[0]
    finally:
        redis.acl_deluser("reader")


def test_a_server_that_is_not_there_is_one_line(redis):
    with pytest.raises(InvalidInput, match=r"^cannot ask redis://127\.0\.0\.1:1: "):
        snapshot("redis://127.0.0.1:1")


def test_a_server_that_goes_in_mid_snapshot_leaves_what_was_read(tmp_path, monkeypatch):
    monkeypatch.setattr("stablecast.holdback.sources.redis.AT_ONCE", 10)
    import redis

    with redis_server(tmp_path) as process, redis.Redis(port=process.port) as client:
        pipe = client.pipeline()
        for number in range(100):
            pipe.xadd(f"s{number}", {"a": 1})
        pipe.execute()
        source = open_source(process.url)
        ask, asked = source._logs, []

        def then_gone(*arguments):
            if asked:
                process.kill()
                process.wait()
            asked.append(threading.current_thread())
            return ask(*arguments)

        monkeypatch.setattr(source, "_logs", then_gone)
        found = source.take()
        assert len(found.logs) == 10
        (line,) = found.problems
        assert "stopped answering after 10 streams" in line


@pytest.mark.parametrize(
    "url", ["redis://h/x", "redis://h/0/1", "redis://h?strem=a", "redis://h?timeout_s=0"]
)
def test_addresses_that_cannot_be_meant_are_refused(url):
    with pytest.raises(InvalidInput, match="accepted"):
        snapshot(url)
