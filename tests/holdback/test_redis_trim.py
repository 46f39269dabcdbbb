"""Trimming a real Redis: nothing that a group needs goes, whatever happens between plan and execution."""

import json
import time

import pytest
from redis import Redis
from redis_schedules import run_schedules
from servers import redis_server

from stablecast.cli.main import main
from stablecast.holdback.sources import open_source
from stablecast.holdback.trimming import redis as trimming
from stablecast.holdback.trimming.plan import plan_of

LOOKING = [f"+{word}" for word in ("@connection", "scan", "time", "xinfo|stream", "xrange", "multi", "exec")]
TRIMMING = [f"+{word}" for word in ("eval", "exists", "xinfo|groups", "xpending", "xtrim")]


def fill(redis, count, stream="orders"):
    for number in range(1, count + 1):
        redis.xadd(stream, {"a": "x"}, id=f"{number}-0")


def read(redis, group, count, acked=None, stream="orders"):
    redis.xreadgroup(group, "c", {stream: ">"}, count=count)
    redis.xack(stream, group, *[f"{k}-0" for k in range(1, (count if acked is None else acked) + 1)])


@pytest.fixture
def orders(redis):
    fill(redis, 100)
    for group in ("archive", "billing"):
        redis.xgroup_create("orders", group, "0")
    read(redis, "archive", 40)
    read(redis, "billing", 70)
    return redis


def first(redis, stream="orders"):
    (entry,) = redis.xrange(stream, count=1) or [(None, None)]
    return entry[0]


def test_a_plan_deletes_nothing_and_says_why_it_is_safe(orders, capsys):
    assert main(["trim", orders.url, "--plan"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith(f"{orders.url}/0/orders: 40 entries, ")
    assert told[0].endswith("would go, everything before 41-0")
    assert told[1:] == ["  archive has everything before 41-0", "  billing has everything before 71-0"]
    assert orders.xlen("orders") == 100


def test_what_all_groups_have_goes(orders, capsys):
    assert main(["trim", orders.url, "--execute", "--json"]) == 0
    (step,) = json.loads(capsys.readouterr().out)["steps"]
    assert (step["deleted"], step["first_kept"]) == (40, "41-0")
    assert (first(orders), orders.xlen("orders")) == ("41-0", 60)
    assert main(["trim", orders.url, "--execute"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{orders.url}/0/orders: nothing is deleted, since archive needs what is kept",
        "there is nothing to delete",
    ]


def test_a_group_that_was_made_after_the_plan_counts(orders):
    with open_source(orders.url) as source:
        (step,) = plan_of([source.take()], {}).steps
        orders.xgroup_create("orders", "new", "10-0")
        done = trimming.execute(source, step)
    assert (done.deleted, done.instead_of, first(orders)) == (10, "new", "11-0")


def test_what_was_acknowledged_after_the_plan_stays_until_the_next_one(orders):
    with open_source(orders.url) as source:
        (step,) = plan_of([source.take()], {}).steps
        read(orders, "archive", 20)
        orders.xack("orders", "archive", *[f"{k}-0" for k in range(41, 61)])
        assert trimming.execute(source, step).deleted == 40


def test_a_stream_that_nobody_reads_is_left(redis, capsys):
    fill(redis, 3)
    assert main(["trim", redis.url, "--execute"]) == 0
    assert "nobody reads it; nothing is deleted" in capsys.readouterr().out
    assert redis.xlen("orders") == 3


def test_a_stream_whose_last_group_goes_after_the_plan_is_left(orders):
    with open_source(orders.url) as source:
        (step,) = plan_of([source.take()], {}).steps
        for group in ("archive", "billing"):
            orders.xgroup_destroy("orders", group)
        assert trimming.execute(source, step).refused == "nobody reads it now"
    assert orders.xlen("orders") == 100


def test_all_may_go_if_everybody_has_everything(redis):
    fill(redis, 3)
    redis.xgroup_create("orders", "g", "$")
    assert main(["trim", redis.url, "--execute"]) == 0
    assert redis.xlen("orders") == 0


def test_a_reader_that_is_ignored_is_named_with_what_it_loses(orders, capsys):
    words = ["trim", orders.url, "--ignore-idle", "0s:archive"]
    assert main([*words, "--plan"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert "70 entries" in told[0]
    assert told[2].startswith("  archive is ignored, idle for 0 s: it loses 30 entries, ")
    assert main([*words, "--execute"]) == 0
    assert first(orders) == "71-0"


def test_a_reader_that_moved_since_the_plan_is_not_ignored(orders):
    with open_source(orders.url) as source:
        (step,) = plan_of([source.take()], {"archive": 0.0}).steps
        orders.xreadgroup("archive", "c", {"orders": ">"}, count=1)
        done = trimming.execute(source, step)
    assert (done.deleted, done.instead_of) == (40, "archive")


def planned(url, file, capsys, *words):
    assert main(["trim", url, "--plan", "--json", *words]) == 0
    file.write_text(capsys.readouterr().out)
    return ["--unmoved-since", str(file)]


def grown_older(file, days):
    plan = json.loads(file.read_text())
    plan["time_us"] -= days * 86_400_000_000
    file.write_text(json.dumps(plan))


def test_a_reader_with_entries_in_hand_is_not_known_to_be_idle(orders, capsys):
    orders.xreadgroup("archive", "c", {"orders": ">"}, count=20)
    assert main(["trim", orders.url, "--execute", "--ignore-idle", "0s:archive"]) == 2
    assert "it has entries in hand, and since when it is idle is not known" in capsys.readouterr().err
    assert orders.xlen("orders") == 100


def test_a_group_that_was_just_made_is_not_known_to_be_idle(redis, capsys):
    long_ago = int(time.time() * 1000) - 10 * 86_400_000
    for number in range(100):
        redis.xadd("orders", {"a": "x"}, id=f"{long_ago + number}-0")
    redis.xgroup_create("orders", "search", "$")
    redis.xgroup_create("orders", "new", "0")
    assert main(["trim", redis.url, "--execute", "--ignore-idle", "7d:new"]) == 2
    assert "since when it is idle is not known" in capsys.readouterr().err
    assert redis.xlen("orders") == 100


def test_an_old_plan_shows_that_a_reader_is_idle(orders, tmp_path, capsys):
    orders.xreadgroup("archive", "c", {"orders": ">"}, count=20)
    words = ["--ignore-idle", "7d:archive", *planned(orders.url, tmp_path / "plan", capsys)]
    assert main(["trim", orders.url, "--execute", *words]) == 2
    assert "is not known" in capsys.readouterr().err
    grown_older(tmp_path / "plan", 8)
    assert main(["trim", orders.url, "--execute", *words]) == 0
    assert "archive is ignored, idle for 8 d" in capsys.readouterr().out
    assert first(orders) == "71-0"


@pytest.mark.parametrize("number", ["41-0", "50-0"])
def test_a_reader_that_has_acknowledged_since_an_old_plan_is_not_idle(orders, tmp_path, capsys, number):
    orders.xreadgroup("archive", "c", {"orders": ">"}, count=20)
    words = ["--ignore-idle", "7d:archive", *planned(orders.url, tmp_path / "plan", capsys)]
    grown_older(tmp_path / "plan", 8)
    orders.xack("orders", "archive", number)
    assert main(["trim", orders.url, "--execute", *words]) == 2
    assert "it is not as it was in the plan" in capsys.readouterr().err
    assert orders.xlen("orders") == 100


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"time_us": 1, "steps": [{}]}'])
def test_a_file_that_is_no_plan_is_one_line(orders, tmp_path, capsys, text):
    (tmp_path / "plan").write_text(text)
    assert main(["trim", orders.url, "--plan", "--unmoved-since", str(tmp_path / "plan")]) == 2
    assert "is no plan" in capsys.readouterr().err
    assert main(["trim", orders.url, "--plan", "--unmoved-since", str(tmp_path / "none")]) == 2
    assert "cannot read the plan" in capsys.readouterr().err


def test_an_acknowledgement_after_the_plan_ends_idleness(orders, tmp_path, capsys):
    orders.xreadgroup("archive", "c", {"orders": ">"}, count=20)
    from stablecast.cli.trim import _earlier

    planned(orders.url, tmp_path / "plan", capsys)
    grown_older(tmp_path / "plan", 8)
    with open_source(orders.url) as source:
        (step,) = plan_of([source.take()], {"archive": 60.0}, _earlier(tmp_path / "plan")).steps
        orders.xack("orders", "archive", "50-0")
        done = trimming.execute(source, step)
    assert (done.deleted, done.instead_of) == (40, "archive")


LARGEST = f"{2**64 - 1}-{2**64 - 1}"


def test_a_group_beyond_all_names_is_no_trouble(orders, capsys):
    orders.xgroup_create("orders", "far", LARGEST)
    assert main(["trim", orders.url, "--execute"]) == 0
    assert "40 deleted" in capsys.readouterr().out
    assert first(orders) == "41-0"


def test_after_the_largest_name_nothing_is_trimmed(redis, capsys):
    redis.xadd("orders", {"a": "x"}, id=LARGEST)
    redis.xgroup_create("orders", "g", "$")
    assert main(["trim", redis.url, "--execute"]) == 0
    assert "there is no name after its last one; nothing is deleted" in capsys.readouterr().out
    assert redis.xlen("orders") == 1


def test_without_the_right_to_count_nothing_is_trimmed(orders, capsys):
    rights = [one for one in LOOKING if one != "+xrange"]
    orders.execute_command("ACL", "SETUSER", "looker", "on", ">p", "~*", "-@all", *rights, *TRIMMING)
    try:
        assert main(["trim", orders.url.replace("//", "//looker:p@"), "--execute"]) == 1
        told = capsys.readouterr()
        assert "its entries could not be read; nothing is deleted" in told.out
        assert "no rights" in told.err
        assert orders.xlen("orders") == 100
    finally:
        orders.acl_deluser("looker")


def test_names_that_are_no_text_are_trimmed_by_their_bytes(redis, capsys):
    key, group = b"k\xff", b"g\xfe"
    fill(redis, 10, key)
    fill(redis, 10, "k\\xff")  # what the key looks like when it is shown
    for one in (key, "k\\xff"):
        redis.xgroup_create(one, group, "$" if one == key else "0")
    assert main(["trim", redis.url, "--execute"]) == 0
    assert "10 deleted" in capsys.readouterr().out
    assert (redis.xlen(key), redis.xlen("k\\xff")) == (0, 10)


def test_a_group_whose_name_is_no_text_can_be_ignored(redis):
    fill(redis, 10)
    for group in (b"g\xfe", "other"):
        redis.xgroup_create("orders", group, "0")
    redis.xreadgroup(b"g\xfe", "c", {"orders": ">"}, count=1, noack=True)
    redis.xreadgroup("other", "c", {"orders": ">"}, count=5, noack=True)
    assert main(["trim", redis.url, "--execute", "--ignore-idle", "0s:g\\xfe"]) == 0
    assert redis.xlen("orders") == 5


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("7d:archive", "has been idle for"),
        ("0s:nobody", "reads none of the logs"),
        ("archive", "accepted"),
        ("x:archive", "accepted"),
    ],
)
def test_a_policy_that_does_not_hold_is_refused(orders, capsys, policy, said):
    assert main(["trim", orders.url, "--execute", "--ignore-idle", policy]) == 2
    assert said in capsys.readouterr().err
    assert orders.xlen("orders") == 100


def test_a_trim_without_the_rights_is_one_line_and_deletes_nothing(orders, capsys):
    orders.execute_command("ACL", "SETUSER", "looker", "on", ">p", "~*", "-@all", *LOOKING)
    try:
        url = orders.url.replace("//", "//looker:p@")
        assert main(["trim", url, "--plan"]) == 0
        assert main(["trim", url, "--execute"]) == 1
        told = capsys.readouterr()
        (line,) = told.err.splitlines()
        assert "no rights" in line
        assert "orders: nothing was deleted" in told.out
        assert orders.xlen("orders") == 100
        orders.execute_command("ACL", "SETUSER", "looker", *TRIMMING)
        assert main(["trim", url, "--execute"]) == 0
        assert orders.xlen("orders") == 60
    finally:
        orders.acl_deluser("looker")


def test_a_replica_that_only_reads_says_that_nothing_was_deleted(tmp_path, capsys):
    with redis_server(tmp_path / "server") as process, Redis(port=process.port) as client:
        fill(client, 10)
        client.xgroup_create("orders", "g", "$")
        client.replicaof("127.0.0.1", "1")
        assert main(["trim", process.url, "--execute"]) == 1
        told = capsys.readouterr()
        assert "orders: nothing was deleted" in told.out
        assert "READONLY" in told.err or "read only" in told.err
        assert client.xlen("orders") == 10


@pytest.mark.parametrize("words", [[], ["--plan", "--execute"]])
def test_either_plan_or_execute_is_given(words, capsys):
    assert main(["trim", "redis://127.0.0.1:1", *words]) == 2
    assert "one of --plan and --execute" in capsys.readouterr().err


def test_sixty_schedules_delete_nothing_that_is_needed_and_audits_are_right(redis):
    trims, deleted, planted = run_schedules(redis, redis.url, range(60))
    assert trims > 100
    assert deleted > 100
    assert planted > 15


@pytest.mark.soak
def test_a_thousand_schedules_delete_nothing_that_is_needed_and_audits_are_right(redis):
    trims, deleted, planted = run_schedules(redis, redis.url, range(1000, 2000))
    print(f"\n1,000 schedules: {trims:,} trims, {deleted:,} entries deleted, {planted:,} early XTRIMs found")
    assert planted > 250
