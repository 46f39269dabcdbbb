"""Trimming JetStream and Kafka, and systems that nothing is trimmed of."""

import json

import pytest
from test_kafka_source import GROUPS, kafka  # noqa: F401 - a fixture
from test_nats_source import jetstream, one_log  # noqa: F401 - a fixture

from stablecast.cli.main import main
from stablecast.holdback.sources import open_source
from stablecast.holdback.trimming import nats as trimming
from stablecast.holdback.trimming.plan import plan_of


@pytest.fixture
def orders(jetstream):  # noqa: F811
    jetstream.add("orders", 100)
    jetstream.consumer("orders", "archive", 40)
    jetstream.consumer("orders", "billing", 70)
    return jetstream


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
