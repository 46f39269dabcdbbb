"""Trimming JetStream and Kafka, and systems that nothing is trimmed of."""

import json
import time

import pytest
from nats.js.api import AckPolicy, ExternalStream, StreamSource
from test_kafka_source import GROUPS, kafka  # noqa: F401 - a fixture
from test_nats_source import jetstream, one_log  # noqa: F401 - a fixture

from stablecast.cli.main import main
from stablecast.holdback.sources import open_source
from stablecast.holdback.sources.nats import _Asking as asking
from stablecast.holdback.sources.nats_logs import covers
from stablecast.holdback.trimming import nats as trimming
from stablecast.holdback.trimming.plan import plan_of


@pytest.fixture
def orders(jetstream):  # noqa: F811
    jetstream.add("orders", 100)
    jetstream.consumer("orders", "archive", 40)
    jetstream.consumer("orders", "billing", 70)
    return jetstream


def wait_until(true, seconds=10):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def state(server):
    return server.run(server.js.stream_info("orders")).state


def test_what_all_consumers_have_acknowledged_is_purged(orders, capsys):
    assert main(["trim", orders.url, "--plan"]) == 0
    assert "40 entries" in capsys.readouterr().out
    assert state(orders).messages == 100
    assert main(["trim", orders.url, "--execute", "--json"]) == 0
    (step,) = json.loads(capsys.readouterr().out)["steps"]
    assert (step["deleted"], step["first_kept"]) == (40, "41")
    assert (state(orders).first_seq, state(orders).messages) == (41, 60)
    (log,) = [one_log(orders.url)]
    assert {one.member: one.position for one in log.readers} == {"archive": 40, "billing": 70}


def test_a_consumer_that_was_made_after_the_plan_counts(orders):
    with open_source(orders.url) as source:
        (step,) = plan_of([source.take()], {}).steps
        orders.consumer("orders", "new", 10)
        done = trimming.execute(source, step)
    assert (done.deleted, done.instead_of, state(orders).first_seq) == (10, "new", 11)


def test_a_stream_whose_consumers_go_after_the_plan_is_left(orders):
    with open_source(orders.url) as source:
        (step,) = plan_of([source.take()], {}).steps
        for name in ("archive", "billing"):
            orders.run(orders.js.delete_consumer("orders", name))
        assert trimming.execute(source, step).refused == "nobody reads it now"
    assert state(orders).messages == 100


def test_a_consumer_that_is_ignored_counts_again_if_it_moves(orders):
    with open_source(orders.url) as source:
        (step,) = plan_of([source.take()], {"archive": 0.0}).steps
        assert (step.goes.items, step.ignored[0].loses.items) == (70, 30)
        orders.run(orders.js.delete_consumer("orders", "archive"))
        orders.consumer("orders", "archive", 45)
        done = trimming.execute(source, step)
    assert (done.deleted, done.instead_of) == (45, "archive")


@pytest.mark.parametrize("retention", ["workqueue", "interest"])
def test_what_the_server_deletes_itself_is_left(jetstream, capsys, retention):  # noqa: F811
    jetstream.add("jobs", 5, retention=retention)
    jetstream.consumer("jobs", "mailer", filter_subject="jobs.mail")
    jetstream.publish("jobs", 5, what="video")
    jetstream.publish("jobs", 5, what="mail")
    jetstream.run(_ack_all(jetstream, "jobs", "mailer", 5))
    before = jetstream.run(jetstream.js.stream_info("jobs")).state.messages
    for how in ("--plan", "--execute"):
        assert main(["trim", jetstream.url, how]) == 0
        said = f"with retention {retention} the server itself deletes what is done; nothing is deleted"
        assert said in capsys.readouterr().out
    assert jetstream.run(jetstream.js.stream_info("jobs")).state.messages == before


async def _ack_all(server, stream, name, count):
    some = await server.js.pull_subscribe_bind(name, stream)
    for message in await some.fetch(count):
        await message.ack_sync()
    await some.unsubscribe()


def test_subjects_that_no_consumer_gets_are_named(jetstream, capsys):  # noqa: F811
    jetstream.add("jobs", 0)
    jetstream.publish("jobs", 4, what="video")
    jetstream.publish("jobs", 5, what="mail")
    jetstream.consumer("jobs", "mailer", 5, filter_subject="jobs.mail")
    assert main(["trim", jetstream.url, "--plan"]) == 0
    assert "  no consumer gets jobs.video (messages kept: 4)\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wanted", "subject", "gets"),
    [("a.*", "a.b", True), ("a.*", "a.b.c", False), ("a.>", "a.b.c", True), ("a.>", "a", False),
     (">", "a", True), ("a", "a", True), ("*.b", "a.c", False), ("a.b", "a", False)],
)  # fmt: skip
def test_filters_let_through_what_they_say(wanted, subject, gets):
    assert covers(wanted, subject) is gets


def test_of_a_consumer_that_acknowledges_nothing_it_is_not_known_what_it_has(orders, capsys):
    orders.consumer("orders", "plain", 100, acked=(), ack_policy=AckPolicy.NONE)
    assert main(["trim", orders.url, "--execute"]) == 0
    assert "plain: it acknowledges nothing (ack_policy none)" in capsys.readouterr().out
    assert state(orders).messages == 100
    assert main(["holdback", orders.url]) == 0
    shown = capsys.readouterr().out
    assert "orders: not known to be safe to delete:" in shown
    assert "not known what it has" in shown
    assert main(["holdback", orders.url, "--json"]) == 0
    readers = json.loads(capsys.readouterr().out)["sources"][0]["readers"]
    assert [bool(reader["unsure"]) for reader in readers if reader["member"] == "plain"] == [True]


def test_a_consumer_that_acknowledges_nothing_and_comes_after_the_plan_counts(orders):
    with open_source(orders.url) as source:
        (step,) = plan_of([source.take()], {}).steps
        orders.consumer("orders", "plain", ack_policy=AckPolicy.NONE)
        assert trimming.execute(source, step).refused.startswith("plain: it acknowledges nothing")
    assert state(orders).messages == 100


def test_a_mirror_is_a_reader(orders, capsys):
    orders.run(orders.js.add_stream(name="copy", mirror=StreamSource(name="orders")))
    wait_until(lambda: orders.run(orders.js.stream_info("copy")).state.last_seq == 100)
    assert main(["trim", f"{orders.url}/orders", "--execute"]) == 0
    told = capsys.readouterr().out
    assert "40 deleted" in told
    assert "mirror copy has everything up to 100" in told


def test_nothing_goes_that_a_mirror_has_not(orders, monkeypatch):
    streams = asking.streams

    async def behind(self):
        async for one in streams(self):
            if one["config"]["name"] == "copy":
                one["state"]["last_seq"] = 7  # as if the link were slow
            yield one

    orders.run(orders.js.add_stream(name="copy", mirror=StreamSource(name="orders")))
    monkeypatch.setattr(asking, "streams", behind)
    assert main(["trim", f"{orders.url}/orders", "--execute"]) == 0
    assert state(orders).first_seq == 8


def test_a_stream_that_others_source_is_left(orders, capsys):
    orders.run(orders.js.add_stream(name="all", sources=[StreamSource(name="orders")]))
    assert main(["trim", f"{orders.url}/orders", "--execute"]) == 0
    assert "source all: what a stream that sources it has is not known" in capsys.readouterr().out
    assert state(orders).messages == 100


def test_a_stream_that_may_be_mirrored_by_way_of_another_domain_is_left(orders, capsys):
    there = StreamSource(name="orders", external=ExternalStream(api="$JS.hub.API", deliver="d"))
    orders.run(orders.js.add_stream(name="copy", mirror=there))
    assert main(["trim", f"{orders.url}/orders", "--execute"]) == 0
    assert "it is not known whether copy takes from it; nothing is deleted" in capsys.readouterr().out
    assert state(orders).messages == 100


@pytest.mark.parametrize(("what", "subject"), [("streams", "STREAM.LIST"), ("consumers", "CONSUMER.LIST")])
def test_what_does_not_answer_in_a_cluster_is_no_reason_to_delete(orders, capsys, monkeypatch, what, subject):
    ask = asking.ask

    async def some(self, asked, **words):
        reply = await ask(self, asked, **words)
        return reply | {"missing": ["gone"]} if asked.startswith(subject) else reply

    monkeypatch.setattr(asking, "ask", some)
    assert main(["trim", orders.url, "--execute"]) == 1
    told = capsys.readouterr()
    assert f"{what} that do not answer: gone; nothing is deleted" in told.out
    assert f"{what} that do not answer: gone" in told.err
    assert state(orders).messages == 100


def test_a_step_asks_for_one_stream(orders, monkeypatch):
    with open_source(orders.url) as source:
        (step,) = plan_of([source.take()], {}).steps
        monkeypatch.setattr(asking, "streams", None)
        assert trimming.execute(source, step).deleted == 40


def test_a_purge_that_is_refused_says_that_nothing_was_deleted(orders, capsys, monkeypatch):
    ask = asking.ask

    async def refused(self, subject, **words):
        if "PURGE" in subject:
            subject = "STREAM.PURGE.none"
        return await ask(self, subject, **words)

    monkeypatch.setattr(asking, "ask", refused)
    assert main(["trim", orders.url, "--execute"]) == 1
    assert "orders: nothing was deleted" in capsys.readouterr().out


def test_a_group_that_is_named_and_not_there_is_no_reason_to_delete(kafka, capsys):  # noqa: F811
    assert main(["trim", f"{kafka.url}/orders?group=search,serach", "--plan"]) == 1
    told = capsys.readouterr()
    assert "has no commits of a group 'serach'" in told.err
    assert "what is committed is not known of serach; nothing is deleted" in told.out
    assert "delete.json" not in told.out
    assert main(["trim", f"{kafka.url}/orders?group=search", "--plan"]) == 0
    assert "only these groups were asked: search" in capsys.readouterr().out


def test_a_topic_that_is_not_there_is_one_line(kafka, capsys):  # noqa: F811
    assert main(["trim", f"{kafka.url}/none?group=search", "--plan"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("has no topic 'none'")


def test_groups_that_cannot_be_listed_are_to_be_named(kafka, capsys):  # noqa: F811
    assert main(["trim", f"{kafka.url}/orders", "--plan"]) == 1
    told = capsys.readouterr()
    assert "(accepted: ?group= with their names)" in told.err
    assert "KafkaError" not in told.err
    assert "what is committed is not known of groups that could not be listed" in told.out


def test_for_kafka_the_file_and_the_command_are_printed(kafka, capsys):  # noqa: F811
    url = f"{kafka.url}/orders?group=archive,billing"
    assert main(["trim", url, "--plan", "--json"]) == 0
    told = json.loads(json.loads(capsys.readouterr().out)["kafka_file"])
    assert told["partitions"] == [
        {"topic": "orders", "partition": 0, "offset": 20},
        {"topic": "orders", "partition": 1, "offset": 100},
    ]
    assert main(["trim", url, "--plan"]) == 0
    assert f"kafka-delete-records.sh --bootstrap-server {kafka.where} " in capsys.readouterr().out
    assert main(["trim", url, "--execute"]) == 2
    assert "the plan prints the command" in capsys.readouterr().err


@pytest.mark.xdist_group("postgres")
def test_nothing_is_trimmed_of_postgresql(postgres_process, capsys):
    assert main(["trim", postgres_process.url, "--plan"]) == 2
    assert "nothing can be trimmed of postgresql" in capsys.readouterr().err
