"""Topics of the mock cluster of librdkafka, which keeps records, commits and offsets as a broker does.

No broker can be had here: what these tests do not show is listed in docs/holdback/kafka.md.
"""

import pytest
from confluent_kafka import Consumer, TopicPartition
from servers import KafkaMock

from stablecast.errors import InvalidInput
from stablecast.holdback.frontier import frontier_of
from stablecast.holdback.sources import open_source

GROUPS = "archive,billing,search,never"


def snapshot(url, **more):
    with open_source(url, **more) as source:
        return source.take()


class Cluster(KafkaMock):
    def write(self, topic, count, partitions=1):
        for number in range(count):
            self.producer.produce(topic, b"x" * 50, partition=number % partitions)
        assert self.producer.flush(10) == 0

    def commit(self, group, topic, *offsets):
        consumer = Consumer({"bootstrap.servers": self.where, "group.id": group, "log_level": 0})
        places = [TopicPartition(topic, k, offset) for k, offset in enumerate(offsets) if offset is not None]
        consumer.commit(offsets=places, asynchronous=False)
        consumer.close()


@pytest.fixture(scope="module")
def kafka():
    cluster = Cluster()
    cluster.write("orders", 200, partitions=2)
    for group, offsets in (("archive", (20, 100)), ("billing", (70, 100)), ("search", (100, 100))):
        cluster.commit(group, "orders", *offsets)
    cluster.commit("never", "orders", None, 100)
    return cluster


def test_the_blocker_is_named_with_the_next_one(kafka):
    logs = {log.source: log for log in snapshot(f"{kafka.url}/orders?group={GROUPS}").logs}
    found = frontier_of(logs["orders-0"])
    assert (found.waiting_for, found.stable_seq, found.held.items) == (("never",), 0, 100)
    assert found.standings[0].reader.never_read
    assert found.standings[0].next_blockers == ("archive",)
    assert found.standings[0].frees.items == 20
    assert frontier_of(logs["orders-1"]).waiting_for == ()


def test_since_when_is_the_time_of_the_first_record_that_it_lacks(kafka):
    logs = snapshot(f"{kafka.url}/orders?group=archive,billing").logs
    found = frontier_of(logs[0])
    assert found.waiting_for == ("archive",)
    consumer = Consumer({"bootstrap.servers": kafka.where, "group.id": "other", "log_level": 0})
    consumer.assign([TopicPartition("orders", 0, 20)])
    record = consumer.poll(5)
    consumer.close()
    assert (record.offset(), found.since_us) == (20, record.timestamp()[1] * 1000)


def test_looking_commits_nothing(kafka):
    before = snapshot(f"{kafka.url}/orders?group={GROUPS},stablecast-holdback")
    after = snapshot(f"{kafka.url}/orders?group={GROUPS},stablecast-holdback")
    assert [log.readers for log in before.logs] == [log.readers for log in after.logs]
    assert "stablecast-holdback" not in {one.member for log in after.logs for one in log.readers}


def test_a_topic_that_is_not_there_is_a_line(kafka):
    found = snapshot(f"{kafka.url}/orders?topic=none&group=archive")
    assert len(found.logs) == 4
    assert found.problems == () or "none" in found.problems[0]


def test_a_cluster_that_is_not_there_is_one_line():
    with pytest.raises(InvalidInput, match=r"^cannot ask kafka://127\.0\.0\.1:1: "):
        snapshot("kafka://127.0.0.1:1", timeout_s=1)


@pytest.mark.parametrize(
    "url", ["kafka://h/a/b", "kafka://h?gruop=a", "kafka://h?no.such=1", "kafka://h?config=none"]
)
def test_addresses_that_cannot_be_meant_are_refused(url):
    with pytest.raises(InvalidInput):
        snapshot(url)
