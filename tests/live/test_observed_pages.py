"""The pages of a member over real sockets: its group, its events, a message, and who may read them."""

import asyncio
import contextlib
import json
from importlib import import_module

import pytest
from test_metrics import ask, get

import stablecast
from stablecast.engine.observed import Notes, Observed
from stablecast.errors import InvalidInput
from stablecast.holdback.sources import open_source
from stablecast.holdback.sources.base import CannotAsk
from stablecast.live import joining

TOKEN = "a-token-for-the-tests"


@contextlib.asynccontextmanager
async def alone(**options):
    async with asyncio.timeout(20), stablecast.join("orders", member="a", **options) as group:
        yield group


def asked(address, path, *headers, host="localhost"):
    lines = [f"GET {path} HTTP/1.1", f"Host: {host}", "Connection: close", *headers]
    return ask(address, ("\r\n".join(lines) + "\r\n\r\n").encode())


def status_of(answer):
    return int(answer[0].split()[1])


def test_the_group_its_events_and_a_message_are_told_as_json():
    async def scenario():
        async with alone(metrics="127.0.0.1:0") as group:
            await (await group.send(b"x")).stable()
            address = ("127.0.0.1", group.metrics_address[1])
            _, headers, body = await get(address, "/group")
            assert headers["Content-Type"] == "application/json"
            told = stablecast_json(body, Observed)
            assert (told.group, told.me, told.state) == ("orders", "a", "member")
            assert [one.name for one in told.members] == ["a"]
            notes = stablecast_json((await get(address, "/events"))[2], Notes)
            assert notes.incarnation == told.incarnation
            assert notes.last == told.last_note == len(notes.notes)
            explained = json.loads((await get(address, "/explain?source=a&seq=1"))[2])
            assert explained == {"id": ["a", 1], "state": "stable", "laggards": []}

    asyncio.run(scenario())


def stablecast_json(body, form):
    import msgspec

    return msgspec.json.decode(body, type=form)


def test_an_event_is_told_as_soon_as_it_happens_to_who_waits_for_it():
    async def scenario():
        async with alone(metrics="127.0.0.1:0") as group:
            last = stablecast_json((await get(group.metrics_address, "/events"))[2], Notes).last
            waiting = asyncio.create_task(get(group.metrics_address, f"/events?after={last}&wait_s=20"))
            while not group._notes._waiters:
                await asyncio.sleep(0.001)
            async with stablecast.join("orders", member="b", seeds=[group.address]):
                notes = stablecast_json((await waiting)[2], Notes)
            assert notes.notes[0].number == last + 1
            assert "joined: b" in notes.notes[0].text

    asyncio.run(scenario())


def test_who_waits_for_an_event_is_sent_away_when_the_group_is_closed():
    async def scenario():
        async with alone(metrics="127.0.0.1:0") as group:
            waiting = asyncio.create_task(get(group.metrics_address, "/events?after=99&wait_s=20"))
            while not group._notes._waiters:
                await asyncio.sleep(0.001)
        with contextlib.suppress(ConnectionError, IndexError):
            await waiting

    asyncio.run(asyncio.wait_for(scenario(), 10))


def test_where_a_token_is_set_every_page_asks_for_it():
    async def scenario():
        async with alone(metrics="127.0.0.1:0", metrics_token=TOKEN) as group:
            for path in ("/metrics", "/status", "/group", "/events", "/explain?source=a&seq=1"):
                assert status_of(await get(group.metrics_address, path)) == 401
                answer = await asked(group.metrics_address, path, f"Authorization: Bearer {TOKEN}")
                assert status_of(answer) == 200

    asyncio.run(scenario())


def test_off_loopback_without_a_token_only_what_was_always_told_is():
    async def scenario():
        async with alone(metrics="0.0.0.0:0") as group:
            address = ("127.0.0.1", group.metrics_address[1])
            assert status_of(await get(address, "/metrics")) == 200
            assert status_of(await get(address, "/status")) == 200
            for path in ("/group", "/events"):
                answer = await get(address, path)
                assert status_of(answer) == 403
                assert b"off loopback this needs a token" in answer[2]

    asyncio.run(scenario())


def test_a_page_elsewhere_whose_name_leads_here_is_told_nothing():
    async def scenario():
        async with alone(metrics="127.0.0.1:0") as group:
            assert status_of(await asked(group.metrics_address, "/group", host="evil.example")) == 403
            assert status_of(await asked(group.metrics_address, "/group")) == 200

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics_token": TOKEN}, "metrics_token needs metrics"),
        ({"metrics_token": "short", "metrics": "127.0.0.1:0"}, "the token of metrics_token is not accepted"),
    ],
)
def test_a_token_that_cannot_be_used_is_refused(options, message):
    async def scenario():
        with pytest.raises(InvalidInput, match=message):
            await stablecast.join("orders", **options)

    asyncio.run(scenario())


def test_without_what_serves_metrics_one_line_says_what_to_install(monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(name="aiohttp")

    async def scenario():
        with pytest.raises(InvalidInput, match=r"metrics need aiohttp.*pip install 'stablecast\[live\]'"):
            await stablecast.join("orders", metrics="127.0.0.1:0")

    monkeypatch.setattr(
        joining, "import_module", lambda name: absent(name) if "metrics" in name else import_module(name)
    )
    asyncio.run(scenario())


def test_holdback_takes_the_token_from_the_environment(monkeypatch):
    async def scenario():
        async with alone(metrics="127.0.0.1:0", metrics_token=TOKEN) as group:
            with open_source(f"stablecast://127.0.0.1:{group.metrics_address[1]}") as source:
                monkeypatch.delenv("STABLECAST_TOKEN", raising=False)
                with pytest.raises(CannotAsk, match="Unauthorized"):
                    await asyncio.to_thread(source.take)
                monkeypatch.setenv("STABLECAST_TOKEN", TOKEN)
                assert (await asyncio.to_thread(source.take)).logs[0].group == "orders"

    asyncio.run(scenario())
