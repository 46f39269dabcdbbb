"""What the dashboard serves, and to whom."""

import asyncio
import contextlib
import json

import aiohttp
import pytest
from observed_groups import FakePlace, group, holding, note, until, write_wire_traces

from stablecast.errors import BindFailed, InvalidInput
from stablecast.live.access import Access
from stablecast.observe import hub as hubs
from stablecast.observe.dashboard import FILES, Dashboard
from stablecast.observe.follow import Follower
from stablecast.observe.lens import Lens
from stablecast.observe.place import NoAnswer

TOKEN = "a-token-for-the-page"


@contextlib.asynccontextmanager
async def serving(place, *, access=None, lens=None):
    """Yield a client of a dashboard, and the dashboard."""
    follower = Follower(place, every_s=0.01)
    await follower.first()
    dashboard = Dashboard(follower, access or Access(is_local=True), lens or Lens(None))
    runner, port = await dashboard.serve("127.0.0.1", 0)
    following = asyncio.create_task(dashboard.hub.run())
    jar = aiohttp.CookieJar(unsafe=True)
    async with (
        asyncio.timeout(30),
        aiohttp.ClientSession(f"http://127.0.0.1:{port}", cookie_jar=jar) as client,
    ):
        yield client, dashboard
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    dashboard.hub.end()
    await runner.cleanup()


async def next_event(stream, name):
    while True:
        lines = (await stream.content.readuntil(b"\n\n")).decode().splitlines()
        if lines[0] == f"event: {name}":
            return json.loads(lines[1].removeprefix("data: "))


def test_the_page_comes_from_here_alone_and_nothing_else_may_run_in_it():
    async def scenario():
        async with serving(FakePlace(group())) as (client, _):
            for path in FILES:
                async with client.get(path) as answer:
                    assert answer.status == 200
                    policy = answer.headers["Content-Security-Policy"]
                    assert policy.startswith("default-src 'none'; script-src 'self'")
                    assert "unsafe" not in policy
                    text = await answer.text()
                    outside = text.replace("http://www.w3.org/2000/svg", "")
                    assert "http:" not in outside
                    assert "https:" not in outside
                    assert "innerHTML" not in text
            async with client.post("/") as answer:
                assert answer.status == 405
            async with client.get("/other") as answer:
                assert answer.status == 404

    asyncio.run(scenario())


def test_the_stream_begins_with_what_there_is_and_goes_on():
    async def scenario():
        place = FakePlace(group(holding=[holding()]))
        place.happened = [note(1, "one")]
        async with serving(place) as (client, dashboard):
            await until(lambda: dashboard.hub._notes)
            async with client.get("/stream") as stream:
                begun = await next_event(stream, "begin")
                assert begun["place"] == place.shown
                assert begun["notes"][0].endswith("one")
                look = await next_event(stream, "look")
                assert [line["name"] for line in look["lines"]] == ["a", "b", "c"]
                assert look["seen"]["holding"][0]["member"] == "c"
                place.happened.append(note(2, "two"))
                assert (await next_event(stream, "notes"))[0].endswith("two")
                place.told = NoAnswer("cannot ask it")
                assert "trying again: cannot ask it" in await next_event(stream, "lost")

    asyncio.run(scenario())


def test_who_does_not_read_is_cut_off_and_the_others_are_not(monkeypatch):
    async def scenario():
        hub = hubs.Hub(Follower(FakePlace(group())))
        slow, quick = hub.read(), hub.read()
        for _ in range(hubs.MOST_WAITING + 1):
            for reader in list(hub._readers):
                hub._hand(reader, b"x")
            while not quick.empty():
                assert quick.get_nowait() is not None
        received = [slow.get_nowait() for _ in range(slow.qsize())]
        assert received[-1] is None
        assert len(received) <= hubs.MOST_WAITING + 1
        assert hub._readers == {quick}

    asyncio.run(scenario())


def test_a_member_and_a_message_are_told_about():
    async def scenario():
        async with serving(FakePlace(group(holding=[holding()]))) as (client, _):
            async with client.get("/member", params={"name": "c"}) as answer:
                assert "c lacks a/10 and 4 more messages" in await answer.text()
            async with client.get("/explain", params={"source": "a", "seq": "10"}) as answer:
                told = await answer.json()
                assert told["explained"]["laggards"][0]["has_up_to"] == 9
                assert told["lens"] is False
            async with client.get("/explain", params={"source": "nobody", "seq": "1"}) as answer:
                assert (answer.status, await answer.text()) == (
                    503,
                    "cannot ask 127.0.0.1:9100: no answer within 2 s\n",
                )
            for wrong in (
                {"source": "a", "seq": "x"},
                {"source": "a"},
                {"seq": "1"},
                {"source": "a", "seq": "²"},
            ):
                async with client.get("/explain", params=wrong) as answer:
                    assert answer.status == 400
            async with client.get("/lens", params={"message": "a/1"}) as answer:
                assert answer.status == 404
                assert (await answer.text()).count("\n") == 1

    asyncio.run(scenario())


def test_a_page_elsewhere_whose_name_leads_here_is_shown_nothing():
    async def scenario():
        async with serving(FakePlace(group())) as (client, _):
            for path in ("/", "/stream", "/explain?source=a&seq=1"):
                async with client.get(path, headers={"Host": "evil.example"}) as answer:
                    assert answer.status == 403

    asyncio.run(scenario())


def test_a_token_is_given_once_and_kept_in_a_cookie_that_no_script_can_read():
    async def scenario():
        access = Access(is_local=False, token=TOKEN)
        async with serving(FakePlace(group()), access=access) as (client, _):
            for path in (
                "/",
                "/stream",
                "/member?name=a",
                "/lens?message=a/1",
                "/?token=wrong-token-wrong-token",
            ):
                async with client.get(path) as answer:
                    assert answer.status == 401
            async with client.get("/", headers={"Authorization": f"Bearer {TOKEN}"}) as answer:
                assert answer.status == 200
            async with client.get("/", params={"token": TOKEN}, allow_redirects=False) as answer:
                assert (answer.status, answer.headers["Location"]) == (303, "/")
                cookie = answer.headers["Set-Cookie"]
                assert "HttpOnly" in cookie
                assert "SameSite=Strict" in cookie
            async with client.get("/member?name=a") as answer:
                assert answer.status == 200

    asyncio.run(scenario())


def test_off_loopback_without_a_token_nothing_is_shown():
    async def scenario():
        access = Access(is_local=False, how="--page-token-file FILE")
        async with serving(FakePlace(group()), access=access) as (client, _), client.get("/") as answer:
            assert answer.status == 403
            assert "--page-token-file FILE" in await answer.text()

    asyncio.run(scenario())


def test_a_port_that_is_in_use_is_one_line():
    async def scenario():
        async with serving(FakePlace(group())) as (client, _):
            port = client._base_url.port
            second = Dashboard(Follower(FakePlace(group())), Access(is_local=True), Lens(None))
            with pytest.raises(
                BindFailed, match=rf"cannot serve the dashboard on 127.0.0.1:{port}: it is in use"
            ):
                await second.serve("127.0.0.1", port)

    asyncio.run(scenario())


def test_with_traces_of_the_wire_a_message_has_a_lens(tmp_path):
    message = write_wire_traces(tmp_path)

    async def scenario():
        async with serving(FakePlace(group()), lens=Lens(tmp_path)) as (client, _):
            async with client.get("/explain", params={"source": "a", "seq": "1"}) as answer:
                assert (await answer.json())["lens"] is True
            async with client.get("/lens", params={"message": message}) as answer:
                assert answer.status == 200
                assert answer.headers["Content-Type"].startswith("text/html")
                assert "<canvas" in await answer.text()
            for wrong in ("a", "a/x", "nobody/1/", ""):
                async with client.get("/lens", params={"message": wrong}) as answer:
                    assert answer.status == 404
                    assert (await answer.text()).count("\n") == 1

    asyncio.run(scenario())


def test_traces_without_rows_of_the_wire_make_no_lens(tmp_path):
    lens = Lens(tmp_path)
    assert not lens.is_there
    (tmp_path / "a.jsonl").write_text('{"group":"orders","kind":"join","member":"a","time_us":1}\n')
    assert not lens.is_there
    with pytest.raises(InvalidInput, match="no traces with rows of the wire"):
        lens.page("a/1")
