"""A live group: what a member keeps is what its own status says, and who lacks it is named."""

import asyncio
import http.server
import threading

import pytest

import stablecast
from stablecast.errors import InvalidInput
from stablecast.holdback.frontier import frontier_of
from stablecast.holdback.sources import open_source


def snapshot(url, **more):
    with open_source(url, **more) as source:
        return source.take()


async def _alone():
    async with stablecast.join("orders", member="ann", metrics="127.0.0.1:0") as group:
        host, port = group.metrics_address
        await (await group.send(b"one pizza")).stable()
        found = await asyncio.to_thread(snapshot, f"stablecast://{host}:{port}")
        return found, group.stats()


def test_a_member_that_keeps_nothing_waits_for_nobody():
    found, stats = asyncio.run(_alone())
    (log,) = found.logs
    assert (log.group, log.source, log.head) == ("orders", stats.me, stats.frontier[stats.me])
    assert frontier_of(log).waiting_for == ()


STATUS = """{"group": "orders", "me": "ann", "members": ["ann", "bob", "cyd"], "held_by": ["bob"], "protocol": "s_coord",
 "unstable_messages": 7, "unstable_bytes": 700, "oldest_unstable_s": 12.5, "frontier": {"ann": 5, "cyd": 3},
 "view_epoch": 4, "state": "member"}"""  # noqa: E501


@pytest.fixture
def web():
    """Serve a text that a test chooses."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(server.text.encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    server.url = f"stablecast://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_who_holds_a_member_back_is_named(web):
    web.text = STATUS
    found = snapshot(web.url)
    one = frontier_of(found.logs[0])
    assert (one.stable_seq, one.log.head, one.waiting_for) == (8, 15, ("bob",))
    assert (one.held.items, one.held.bytes) == (7, 700)
    assert found.time_us - one.since_us == 12_500_000


@pytest.mark.parametrize("text", ["", "{}", "[]", "not JSON", '{"frontier": 3}'])
def test_an_address_of_something_else_is_one_line(web, text):
    web.text = text
    with pytest.raises(InvalidInput, match="is not the status of a member"):
        snapshot(web.url)


def test_a_member_that_is_not_there_is_one_line():
    with pytest.raises(InvalidInput, match=r"^cannot ask stablecast://127\.0\.0\.1:1: "):
        snapshot("stablecast://127.0.0.1:1")


def test_an_address_without_a_port_is_refused():
    with pytest.raises(InvalidInput, match="accepted"):
        snapshot("stablecast://here")
