"""Topics of Kafka: consumer groups are readers, each partition is a log, numbers are next offsets.

Theory
    A committed offset names the next record that a group will read, so it says that the group has everything
    before.  The log end offset names the next record that will be written.  Both are taken as they are: the
    position n has every offset below n, and ``kafka-delete-records`` up to n removes just these.
Whose partitions
    All partitions of a topic are read by the same groups: those that have committed an offset of any of its
    partitions, or have one assigned now.  A group without a commit of a partition has nothing of it.
Order
    Low watermarks are asked first, then commits, then log ends, so that no position is beyond the head and
    whatever is below the watermark was gone before.
What can go wrong
    Kafka deletes by age and size, whoever has read (``retention.ms``, ``retention.bytes``).  Commits expire
    when a group has been empty for ``offsets.retention.minutes``; after that nobody knows of it.  A group may
    keep its offsets elsewhere, as Flink's and Kafka Connect's do in part; it is not seen.  Offsets of
    transaction markers and of compacted records are counted as items.  A group that has read everything may
    stay below the log end by the marker of the last transaction.
Rights
    ``Describe`` on the topics, on the groups and on the cluster (to list groups).  With ``Read`` on the
    topics the first record that a blocker lacks is fetched, for its time; nothing is committed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from stablecast.errors import InvalidInput
from stablecast.holdback.addresses import Address
from stablecast.holdback.model import Amount, Log, Reader, Snapshot
from stablecast.holdback.numbering import Numbering
from stablecast.holdback.sources.base import TIMEOUT_S, CannotAsk, Closing

OPTIONS = ("topic", "group", "config", "times", "timeout_s")
TIMES = 20
"""For so many positions the record behind them is fetched."""
TIMES_S = 0.5
EMPTY, DEAD = ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD
EARLIEST, LATEST = OffsetSpec.earliest(), OffsetSpec.latest()
Place = tuple[str, int]


def open_source(address: Address, timeout_s: float | None) -> KafkaSource:
    """Return the source of an address such as ``kafka://host:9092/topic?group=billing,search``."""
    address.check_options([*OPTIONS, *(name for name in address.options if "." in name)])
    if len(address.path) > 1:
        raise InvalidInput(f"{address.shown} (accepted: the name of a topic behind the host)")
    return KafkaSource(address, timeout_s or address.seconds("timeout_s", TIMEOUT_S))


class KafkaSource(Closing):
    """The topics of one cluster."""

    def __init__(self, address: Address, timeout_s: float) -> None:
        self.address = address
        self.timeout_s = timeout_s
        self.topics = _names(*address.path, address.options.get("topic", ""))
        self.groups = _names(address.options.get("group", ""))
        self._errors: list[str] = []
        self._config = _config(address) | {"error_cb": self._note}
        self._admin: Any = None
        self._listed = True
        """Whether all groups were listed that there are."""

    def _note(self, error: Any) -> None:
        self._errors.append(error.str())

    def close(self) -> None:
        """Let the connections go."""
        self._admin = None

    def take(self) -> Snapshot:
        """Return all topics, or those that the address names."""
        self._errors.clear()
        problems: list[str] = []
        try:
            self._admin = self._admin or AdminClient(self._config)
            now_us = time.time_ns() // 1000
            places = self._places(problems)
            if not places:
                return Snapshot(self.address.server, "kafka", now_us, (), problems=tuple(problems))
            first = self._offsets(places, EARLIEST, problems)
            states = self._states(problems)
            commits = self._commits(states, places, problems)
            unknown = self._unknown(states, commits, problems)
            last = self._offsets(places, LATEST, problems)
            told = sorted(first.keys() & last.keys())
            since = self._times(told, first, last, commits)
        except KafkaException as error:
            why = self._errors[-1] if self._errors else error.args[0].str()
            raise CannotAsk(f"cannot ask {self.address.server}: {why}") from None
        readers = _readers_of_topics(commits)
        logs = [
            self._log(place, first[place], last[place], readers.get(place[0], ()), states, commits, since)
            for place in told
        ]
        if unknown:
            why_not = f"what is committed is not known of {', '.join(unknown)}"
            logs = [replace(log, untrimmable=why_not) for log in logs]
        if self.groups:
            only = (f"only these groups were asked: {', '.join(self.groups)}",)
            logs = [replace(log, remarks=only) for log in logs]
        return Snapshot(self.address.server, "kafka", now_us, tuple(logs), problems=tuple(problems))

    def _places(self, problems: list[str]) -> list[Place]:
        found = self._admin.list_topics(timeout=self.timeout_s).topics
        for name in self.topics:
            if name not in found or found[name].error:
                problems.append(f"{self.address.server} has no topic '{name}'")
        wanted = [name for name in self.topics or found if name in found and not found[name].error]
        if not self.topics:
            wanted = [name for name in wanted if not name.startswith("__")]
        return [(name, number) for name in sorted(wanted) for number in sorted(found[name].partitions)]

    def _offsets(self, places: Sequence[Place], which: Any, problems: list[str]) -> dict[Place, int]:
        asked = {TopicPartition(*place): which for place in places}
        answers = self._admin.list_offsets(asked, request_timeout=self.timeout_s) if asked else {}
        found: dict[Place, int] = {}
        for partition, answer in answers.items():
            try:
                found[partition.topic, partition.partition] = answer.result().offset
            except KafkaException as error:
                problems.append(
                    f"partition {partition.topic}-{partition.partition} of {self.address.server}:"
                    f" {error.args[0].str()}"
                )
        return found

    def _states(self, problems: list[str]) -> dict[str, bool | None]:
        """Return the groups, each with whether anybody is in it, if the broker tells."""
        if self.groups:
            return {name: self._described(name) for name in self.groups}
        try:
            listed = self._admin.list_consumer_groups(request_timeout=self.timeout_s).result()
        except KafkaException as error:
            raise CannotAsk(
                f"cannot ask {self.address.server} for its groups: {error.args[0].str()}"
                " (accepted: ?group= with their names)"
            ) from None
        self._listed = not listed.errors
        problems += [
            f"groups of {self.address.server}: {_said(error)} (accepted: ?group= with their names)"
            for error in listed.errors
        ]
        return {
            one.group_id: None if one.state is None else one.state not in (EMPTY, DEAD)
            for one in listed.valid
        }

    def _unknown(
        self,
        groups: Iterable[str],
        commits: Mapping[str, Mapping[Place, int]],
        problems: list[str],
    ) -> list[str]:
        """Return of whom nothing is known: groups that gave no answer, and named ones without a commit."""
        for name in self.groups:
            if name in commits and not commits[name]:
                problems.append(f"{self.address.server} has no commits of a group '{name}' of these topics")
        missing = [name for name in groups if name not in commits or (self.groups and not commits[name])]
        return missing if self._listed else [*missing, "groups that could not be listed"]

    def _described(self, name: str) -> bool | None:
        answer = self._admin.describe_consumer_groups([name], request_timeout=self.timeout_s)[name]
        try:
            return answer.result().state not in (EMPTY, DEAD)
        except KafkaException:
            return None  # an older broker, or no right: the state is not known

    def _commits(
        self, groups: Iterable[str], places: Sequence[Place], problems: list[str]
    ) -> dict[str, dict[Place, int]]:
        """Return what groups have committed; where nothing is named, of all that they have committed."""
        wanted = [TopicPartition(*place) for place in places] if self.topics or self.groups else None
        answers = {}
        for name in groups:  # a request asks for one group; all are under way at once
            asked = ConsumerGroupTopicPartitions(name, wanted)
            asking = self._admin.list_consumer_group_offsets([asked], request_timeout=self.timeout_s)
            answers[name] = asking[name]
        commits: dict[str, dict[Place, int]] = {}
        for name, answer in answers.items():
            try:
                found = answer.result().topic_partitions
            except KafkaException as error:
                problems.append(f"group '{name}' of {self.address.server}: {error.args[0].str()}")
                continue
            commits[name] = {(one.topic, one.partition): one.offset for one in found if one.offset >= 0}
        return commits

    def _times(
        self,
        places: Iterable[Place],
        first: Mapping[Place, int],
        last: Mapping[Place, int],
        commits: Mapping[str, Mapping[Place, int]],
    ) -> dict[tuple[Place, int], int]:
        """Return when the records came that the slowest groups read next; where that takes long, of some."""
        wanted = {}
        for place in places:
            offsets = [max(told[place], first[place]) for told in commits.values() if place in told]
            if offsets and min(offsets) < last[place]:
                wanted[place] = min(offsets)
        most = sorted(wanted, key=lambda place: wanted[place] - last[place])[:TIMES]
        if not most or self.address.options.get("times") == "no":
            return {}
        return self._fetched({place: wanted[place] for place in most})

    def _fetched(self, wanted: dict[Place, int]) -> dict[tuple[Place, int], int]:
        more = {"group.id": "stablecast-holdback", "enable.auto.commit": False, "fetch.wait.max.ms": 50}
        consumer = Consumer(self._config | more | {"queued.max.messages.kbytes": 64})
        found: dict[tuple[Place, int], int] = {}
        try:
            consumer.assign([TopicPartition(*place, offset) for place, offset in wanted.items()])
            end = time.monotonic() + min(TIMES_S, self.timeout_s)
            while wanted and (left := end - time.monotonic()) > 0:
                record = consumer.poll(left)
                if record is None or record.error():
                    continue
                place = str(record.topic()), int(record.partition() or 0)
                offset = wanted.pop(place, None)
                if offset is not None:
                    found[place, offset] = record.timestamp()[1] * 1000
                    consumer.incremental_unassign([TopicPartition(*place)])
        except KafkaException:
            pass  # no right to read: times are not known
        finally:
            consumer.close()
        return found

    def _log(
        self,
        place: Place,
        first: int,
        last: int,
        groups: Iterable[str],
        states: Mapping[str, bool | None],
        commits: Mapping[str, Mapping[Place, int]],
        since: Mapping[tuple[Place, int], int],
    ) -> Log:
        readers = []
        for name in sorted(groups):
            committed = commits[name].get(place)
            reached = first if committed is None else committed
            readers.append(
                Reader(
                    member=name,
                    position=committed,
                    behind=Amount(max(0, last - max(reached, first))),
                    behind_since_us=since.get((place, max(reached, first))) if reached < last else None,
                    connected=states[name],
                    never_read=committed is None,
                    details={"committed": committed},
                )
            )
        return Log(
            group=f"{self.address.server}/{place[0]}",
            source=f"{place[0]}-{place[1]}",
            head=last,
            first_seq=first + 1,
            readers=tuple(readers),
            numbering=Numbering.OFFSET,
            kept=Amount(last - first),
            sent=Amount(last),
            details={"low_watermark": first, "log_end": last},
        )


def _said(error: Any) -> str:
    """Return what a broker said, which the client gives bare or in an exception."""
    return str((error.args[0] if isinstance(error, KafkaException) else error).str())


def _names(*texts: str) -> list[str]:
    return [name for text in texts for name in text.split(",") if name]


def _readers_of_topics(commits: Mapping[str, Mapping[Place, int]]) -> dict[str, set[str]]:
    """Return for each topic the groups that have committed any of it."""
    found: dict[str, set[str]] = {}
    for name, places in commits.items():
        for topic, _ in places:
            found.setdefault(topic, set()).add(name)
    return found


def _config(address: Address) -> dict[str, Any]:
    """Return librdkafka's settings: those of the file, then those of the address."""
    host = f"{address.host}:{address.port or 9092}"
    given: dict[str, Any] = {"bootstrap.servers": host, "client.id": "stablecast", "log_level": 0}
    if "config" in address.options:
        given |= _settings(address.options["config"])
    given |= {name: value for name, value in address.options.items() if "." in name}
    if address.user:
        given |= {"sasl.username": address.user, "sasl.password": address.password or ""}
        given.setdefault("security.protocol", "SASL_SSL")
        given.setdefault("sasl.mechanism", "PLAIN")
    try:
        AdminClient(given)
    except KafkaException as error:
        raise InvalidInput(f"settings of {address.shown}: {error.args[0].str()}") from None
    return given


def _settings(file: str) -> dict[str, str]:
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InvalidInput(f"cannot read settings '{file}': {error.strerror}") from None
    pairs = (line.partition("=") for line in lines if "=" in line and not line.lstrip().startswith("#"))
    return {name.strip(): value.strip() for name, _, value in pairs}
