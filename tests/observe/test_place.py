"""Which places can be looked at, and what is said where nobody answers."""

import asyncio
import contextlib
import json
import re
import socket

import pytest
from aiohttp import web

from stablecast.errors import InvalidInput
from stablecast.observe import member
from stablecast.observe.place import NoAnswer, open_place


@pytest.mark.parametrize(
    "text", ["127.0.0.1:9100", "http://127.0.0.1:9100/", "stablecast://node-1:9100", "[::1]:9100"]
)
def test_addresses(text):
    assert open_place(text).shown in text


@pytest.mark.parametrize(
    "text", ["", "9100", "nowhere", "host:0", "host:99999", "a b:1", "http://h:1/x", "u@h:1"]
)
def test_what_is_no_place_is_one_line(text):
    with pytest.raises(InvalidInput, match="is neither an address nor a folder"):
        open_place(text)


def test_a_group_is_chosen_among_traces_only(tmp_path):
    with pytest.raises(InvalidInput, match="--group is for a folder of traces"):
        open_place("127.0.0.1:9100", group="orders")
    assert open_place(str(tmp_path), group="orders").shown == str(tmp_path)


async def why(place):
    try:
        with pytest.raises(NoAnswer) as error:
            await place.look()
    finally:
        await place.close()
    return str(error.value)


@contextlib.asynccontextmanager
async def answering(answer):
    async def handle(request):
        return answer()

    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda: web.Response(status=404, text="no"), "no member that tells of its group"),
        (lambda: web.Response(text="hello"), "no member that tells of its group"),
        (lambda: web.Response(text="[]"), "no member that tells of its group"),
        (lambda: web.Response(text=json.dumps({"version": 99})), r"in form 99 \(accepted: 1\)"),
        (lambda: web.Response(status=401, text="this needs the token\n"), "this needs the token$"),
    ],
)
def test_who_answers_something_else_is_one_line(answer, said):
    async def scenario():
        async with answering(answer) as address:
            return await why(open_place(address))

    line = asyncio.run(scenario())
    assert line.startswith("cannot ask 127.0.0.1:")
    assert "\n" not in line
    assert re.search(said, line)


def test_a_dead_address_and_one_that_never_answers(monkeypatch):
    monkeypatch.setattr(member, "ANSWER_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        host, port = silent.getsockname()
        assert "no answer within 0.2 s" in asyncio.run(why(open_place(f"{host}:{port}")))
    assert "nobody listens there" in asyncio.run(why(open_place(f"{host}:{port}")))


def test_a_folder_without_traces_and_one_with_another_group(tmp_path):
    assert "there are no traces in" in asyncio.run(why(open_place(str(tmp_path))))
    file = tmp_path / "a.jsonl"
    file.touch()
    assert "have no events yet" in asyncio.run(why(open_place(str(tmp_path))))
    file.write_text('{"group":"orders","kind":"join","member":"a","time_us":1}\n')
    line = asyncio.run(why(open_place(str(tmp_path), group="prices")))
    assert "group 'prices' has no events" in line
    assert "accepted: orders" in line
    file.write_text("x\n")
    assert "no event of a trace" in asyncio.run(why(open_place(str(tmp_path))))


def test_two_looks_at_traces_see_what_was_written_in_between(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{"group":"orders","kind":"join","member":"a","time_us":1}\n')

    async def scenario():
        place = open_place(str(tmp_path))
        assert [one.name for one in (await place.look()).members] == ["a"]
        waiting = asyncio.create_task(place.notes(1, 20))
        with file.open("a") as opened:
            opened.write('{"group":"orders","kind":"join","member":"b","time_us":2}\n')
        assert [one.name for one in (await place.look()).members] == ["a", "b"]
        assert [one.text for one in (await waiting).notes] == ["joined: b"]
        assert (await place.explain("a", 1)).state == "unknown"

    asyncio.run(asyncio.wait_for(scenario(), 20))
