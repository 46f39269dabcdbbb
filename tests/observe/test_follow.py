"""Following a place: what is seen, what happens, and what is said when nobody answers."""

import asyncio

import pytest
from observed_groups import FakePlace, group, note

from stablecast.observe.follow import Follower, Happened, Looked, Lost
from stablecast.observe.place import NoAnswer
from stablecast.observe.plain import Lines


async def next_of(updates, form):
    async with asyncio.timeout(20):
        async for update in updates:
            if isinstance(update, form):
                return update


def test_looks_and_notes_come_and_notes_come_once():
    async def scenario():
        place = FakePlace(group())
        place.happened = [note(1, "one"), note(2, "two")]
        follower = Follower(place, every_s=0.01)
        updates = follower.updates()
        assert (await next_of(updates, Happened)).notes == tuple(place.happened)
        place.happened.append(note(3, "three"))
        assert [one.text for one in (await next_of(updates, Happened)).notes] == ["three"]
        assert (await next_of(updates, Looked)).seen is place.told
        assert place.looks >= 2
        await updates.aclose()

    asyncio.run(scenario())


def test_a_place_that_does_not_answer_is_asked_again_until_it_does():
    async def scenario():
        place = FakePlace(group())
        follower = Follower(place, every_s=0.01)
        updates = follower.updates()
        await next_of(updates, Looked)
        place.told = NoAnswer("cannot ask x: nobody listens there")
        lost = await next_of(updates, Lost)
        assert lost.line == "lost contact 0 s ago, trying again: cannot ask x: nobody listens there"
        assert follower.lost == lost
        assert (await next_of(updates, Lost)).seconds > 0
        place.told, place.incarnation = group(incarnation="2"), "2"
        place.happened = [note(1, "anew")]
        await next_of(updates, Looked)
        assert follower.lost is None
        assert [one.text for one in (await next_of(updates, Happened)).notes] == ["anew"]
        await updates.aclose()

    asyncio.run(scenario())


def test_a_mistake_is_not_taken_for_silence():
    async def scenario():
        updates = Follower(FakePlace(ValueError("a mistake")), every_s=0.01).updates()
        with pytest.raises(ValueError, match="a mistake"):
            await next_of(updates, Lost)

    asyncio.run(scenario())


def test_plain_lines_say_what_changes_and_repeat_nothing():
    said = []
    lines = Lines(said.append)
    follower = Follower(FakePlace(group()))
    calm, silent = group(), group(states={"c": "silent"}, at_s=101)
    for now, seen in ((100.0, calm), (100.5, calm), (101.0, silent), (101.5, silent), (102.0, calm)):
        lines.looked(Looked(seen, follower.history.take(seen)), now)
    lines.lost(Lost("why", 1.0))
    lines.lost(Lost("why", 2.0))
    lines.looked(Looked(calm, follower.history.take(calm)), 102.5)
    lines.happened(Happened((note(1, "it"),)))
    texts = [line.partition(" ")[2] for line in said]
    assert texts[0].startswith("orders · s_coord · 3 members")
    assert texts[1:3] == ["c: silent", "c: ok again"]
    assert said[3:5] == ["lost contact 1 s ago, trying again: why", "contact again"]
    assert texts[5] == "it"
    assert len(said) == 6
