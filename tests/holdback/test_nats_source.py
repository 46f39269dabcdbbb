"""Streams of a real JetStream: the numbers are CONSUMER.INFO's, and what blocks is named."""

import asyncio
import socket
import subprocess
import sys
import threading
from pathlib import Path

import nats
import pytest
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy, DiscardPolicy
from servers import free_port, nats_server, program, running

from stablecast.errors import InvalidInput
from stablecast.holdback.frontier import frontier_of
from stablecast.holdback.sources import open_source


def snapshot(url, **more):
    with open_source(url, **more) as source:
        return source.take()


def one_log(url):
    (log,) = snapshot(url).logs
    return log


class Server:
    """JetStream without streams, called from tests that do not wait for anything themselves."""

    def __init__(self, url):
        self.url, self.loop = url, asyncio.new_event_loop()
        self.client = self.run(nats.connect(url))
        self.js = self.client.jetstream()
        for name in self.run(self.js.streams_info()):
            self.run(self.js.delete_stream(name.config.name))

    def run(self, something):
        return self.loop.run_until_complete(something)

    def close(self):
        self.run(self.client.close())
        self.loop.close()

    def add(self, name, count, **config):
        self.run(self.js.add_stream(name=name, subjects=[f"{name}.>"], **config))
        self.publish(name, count)

    def publish(self, name, count, what="item"):
        async def all_of_them():
            for number in range(count):
                await self.js.publish(f"{name}.{what}", f"{number:050}".encode())

        self.run(all_of_them())

    def consumer(self, stream, name, read=0, acked=None, **config):
        """Make a consumer that takes so many messages and acknowledges those that are named, or all."""

        async def reading():
            policy = {"ack_policy": AckPolicy.EXPLICIT} | config
            await self.js.add_consumer(stream, ConsumerConfig(durable_name=name, **policy))
            if not read:
                return
            some = await self.js.pull_subscribe_bind(name, stream)
            for message in await some.fetch(read):
                if acked is None or message.metadata.sequence.stream in acked:
                    await message.ack_sync()
            await some.unsubscribe()

        self.run(reading())

    def info(self, stream, name):
        return self.run(self.js.consumer_info(stream, name))


@pytest.fixture
def jetstream(nats_process):
    server = Server(nats_process.url)
    yield server
    server.close()


@pytest.fixture
def orders(jetstream):
    """A stream with a blocker, the next one, one that has all, and one that never read."""
    jetstream.add("orders", 100)
    jetstream.consumer("orders", "archive", 40, acked={*range(1, 41)} - {21})
    jetstream.consumer("orders", "billing", 70)
    jetstream.consumer("orders", "search", 100)
    jetstream.consumer("orders", "never", deliver_policy=DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=61)
    return jetstream


def test_the_blocker_is_named_with_the_next_one(orders):
    found = frontier_of(one_log(orders.url))
    first = found.standings[0]
    assert (found.waiting_for, found.stable_seq, found.held.items) == (("archive",), 20, 80)
    assert (first.frees.items, first.next_blockers) == (40, ("never",))
    assert {one.member: one.never_read for one in found.log.readers} == {
        "archive": False, "billing": False, "search": False, "never": True
    }  # fmt: skip


def test_amounts_are_what_the_server_counts(orders):
    log = one_log(orders.url)
    state = orders.run(orders.js.stream_info("orders")).state
    assert (log.head, log.first_seq, log.kept.items, log.kept.bytes) == (
        state.last_seq, state.first_seq, state.messages, state.bytes
    )  # fmt: skip
    for one in log.readers:
        info = orders.info("orders", one.member)
        assert one.position == info.ack_floor.stream_seq
        assert one.details["num_pending"] == info.num_pending
        assert one.details["num_ack_pending"] == info.num_ack_pending
        # Out of order, archive has acknowledged 19 messages above its floor.
        acked_above = 19 if one.member == "archive" else 0
        assert one.behind.items == info.num_pending + info.num_ack_pending + acked_above


def test_without_the_blocker_the_frontier_is_where_the_counterfactual_said(orders):
    before = frontier_of(one_log(orders.url))
    said = before.standings[0]
    orders.run(orders.js.delete_consumer("orders", "archive"))
    after = frontier_of(one_log(orders.url))
    assert (after.stable_seq, after.waiting_for) == (said.without_seq, said.next_blockers)
    assert before.held.items - after.held.items == said.frees.items


def test_since_when_is_the_time_of_the_first_message_that_it_lacks(orders):
    found = frontier_of(one_log(orders.url))
    message = orders.run(orders.js.get_msg("orders", 21))
    assert message.seq == 21
    times = [one.reader.behind_since_us for one in found.standings]
    assert found.since_us == times[0]
    assert times[:3] == sorted(times[:3])
    assert times[3] is None


def test_a_consumer_with_a_filter_that_has_all_of_its_own_holds_nothing(jetstream):
    jetstream.add("orders", 3)
    jetstream.publish("orders", 5, what="other")
    jetstream.consumer("orders", "some", 3, filter_subject="orders.item")
    assert jetstream.info("orders", "some").ack_floor.stream_seq == 3
    (one,) = one_log(jetstream.url).readers
    assert one.position == 8


def test_of_a_consumer_that_acknowledges_nothing_it_is_told_what_it_was_sent(jetstream):
    jetstream.add("orders", 10)
    jetstream.consumer("orders", "plain", ack_policy=AckPolicy.NONE)
    assert one_log(jetstream.url).readers[0].position == 0
    jetstream.run(jetstream.js.delete_consumer("orders", "plain"))
    jetstream.consumer("orders", "plain", 4, acked=(), ack_policy=AckPolicy.NONE)
    (one,) = one_log(jetstream.url).readers
    assert (one.position, one.details["ack_policy"]) == (4, "none")
    assert "it acknowledges nothing" in one.unsure


def test_where_messages_were_deleted_in_the_middle_amounts_are_marked(jetstream):
    jetstream.add("orders", 40)
    jetstream.consumer("orders", "none")
    jetstream.consumer("orders", "archive", 20)
    jetstream.run(jetstream.js.delete_msg("orders", 30))
    readers = {one.member: one.behind for one in one_log(jetstream.url).readers}
    assert (readers["archive"].items, readers["archive"].estimated) == (20, True)
    assert (readers["none"].items, readers["none"].estimated) == (39, False)
    jetstream.run(jetstream.js.purge_stream("orders", seq=11))
    readers = {one.member: one.behind for one in one_log(jetstream.url).readers}
    assert (readers["none"].items, readers["none"].estimated) == (29, False)


def certificate(folder):
    """Return a certificate for 127.0.0.1 that signs itself, and its key."""
    files = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [program("openssl", "openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
         "subjectAltName=IP:127.0.0.1", "-out", files[0], "-keyout", files[1]],
        check=True, capture_output=True,
    )  # fmt: skip
    return files


@pytest.mark.parametrize("both", [False, True])
def test_tls_is_tls(tmp_path, monkeypatch, both):
    cert, key = certificate(tmp_path)
    config = tmp_path / "tls.conf"
    config.write_text(
        f'tls {{ cert_file: "{cert}", key_file: "{key}" }}\nallow_non_tls: {str(both).lower()}\n'
        "authorization { user: ann, password: right }\n"
    )
    with nats_server(tmp_path / "data", "-c", str(config)) as process:
        url = f"tls://ann:right@127.0.0.1:{process.port}"
        with pytest.raises(InvalidInput, match=r"(?i)certificate"):
            snapshot(url)
        monkeypatch.setenv("SSL_CERT_FILE", str(cert))
        assert snapshot(url).logs == ()


def test_a_server_without_tls_is_not_told_the_password():
    got = []

    def serve(listener):
        one, _ = listener.accept()
        with one:
            one.sendall(b'INFO {"server_id":"x","version":"2.10.0","max_payload":9,"auth_required":true}\r\n')
            while part := one.recv(1000):
                got.append(part)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = threading.Thread(target=serve, args=(listener,), daemon=True)
        serving.start()
        with pytest.raises(InvalidInput, match="does not offer TLS"):
            snapshot(f"tls://ann:secret@127.0.0.1:{listener.getsockname()[1]}", timeout_s=3)
        serving.join(5)
    assert not serving.is_alive()
    assert b"".join(got) == b""


def test_the_room_is_what_the_limits_leave(jetstream):
    jetstream.add("orders", 10, max_msgs=25, max_bytes=1 << 20, discard=DiscardPolicy.NEW)
    room, state = one_log(jetstream.url).room, jetstream.run(jetstream.js.stream_info("orders")).state
    assert (room.left.items, room.left.bytes) == (15, (1 << 20) - state.bytes)
    assert room.then == "new messages are refused"


def test_streams_are_found_by_name(jetstream):
    jetstream.add("one", 1)
    jetstream.add("two", 1)
    assert {log.source for log in snapshot(jetstream.url).logs} == {"one", "two"}
    found = snapshot(f"{jetstream.url}/one?stream=three")
    assert [log.source for log in found.logs] == ["one"]
    assert found.problems[0].endswith("has no stream 'three'")


def test_a_wrong_password_is_one_line_without_it(tmp_path):
    with nats_server(tmp_path, "--user", "ann", "--pass", "right") as process:
        where = f"127.0.0.1:{process.port}"
        for user in ("", "ann:bad-word@"):
            with pytest.raises(InvalidInput, match="user or password is wrong") as raised:
                snapshot(f"nats://{user}{where}")
            assert "bad-word" not in str(raised.value)
        assert snapshot(f"nats://ann:right@{where}").logs == ()


RIGHTS = """
authorization {{ users = [
  {{user: all, password: p}}
  {{user: least, password: p, permissions: {{
     publish: ["$JS.API.STREAM.LIST", "$JS.API.CONSUMER.LIST.*"{more}], subscribe: "_INBOX.>" }} }}
  {{user: none, password: p, permissions: {{publish: "nothing", subscribe: "_INBOX.>"}} }}
] }}
"""


def test_least_rights_are_enough_and_less_is_told(tmp_path):
    rights = tmp_path / "rights.conf"
    rights.write_text(RIGHTS.format(more=', "$JS.API.STREAM.MSG.GET.*"'))
    with nats_server(tmp_path / "data", "-c", str(rights)) as process:
        url = f"nats://USER:p@127.0.0.1:{process.port}"
        server = Server(url.replace("USER", "all"))
        server.add("orders", 5)
        server.consumer("orders", "slow", 2)
        server.close()
        full, least = (snapshot(url.replace("USER", name)) for name in ("all", "least"))
        assert least.logs[0].readers == full.logs[0].readers
        assert least.logs[0].readers[0].behind_since_us
        with pytest.raises(InvalidInput, match=r"(?i)permissions violation"):
            snapshot(url.replace("USER", "none"), timeout_s=1)


def test_a_server_without_jetstream_is_one_line():
    port = free_port()
    binary = program("nats-server", "nats-server", str(Path(sys.executable).parent))
    with (
        running([binary, "-a", "127.0.0.1", "-p", str(port)], "Server is ready"),
        pytest.raises(InvalidInput, match="no JetStream"),
    ):
        snapshot(f"nats://127.0.0.1:{port}")


def test_a_server_that_is_not_there_is_one_line():
    with pytest.raises(InvalidInput, match=r"^cannot ask nats://127\.0\.0\.1:1: "):
        snapshot("nats://127.0.0.1:1")


def test_a_server_that_goes_in_mid_snapshot_leaves_what_was_read(tmp_path, monkeypatch):
    from stablecast.holdback.sources import nats as module

    monkeypatch.setattr(module, "AT_ONCE", 1)
    with nats_server(tmp_path) as process:
        server = Server(process.url)
        for name in ("one", "two", "three"):
            server.add(name, 1)
        server.close()
        told, asked = module._Asking.told, []

        async def then_gone(self, stream, *more):
            found = await told(self, stream, *more)
            asked.append(stream)
            if len(asked) == 1:
                process.kill()
                process.wait()
            return found

        monkeypatch.setattr(module._Asking, "told", then_gone)
        found = snapshot(process.url, timeout_s=2)
        assert len(found.logs) == 1
        assert len(found.problems) == 3
        assert "stopped answering" in found.problems[-1]
