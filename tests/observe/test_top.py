"""The screen of ``top``, driven by keys."""

import asyncio

import pytest
from observed_groups import FakePlace, failed, group, holding, note, until
from textual.widgets import DataTable, RichLog, Static

from stablecast.observe.follow import Follower
from stablecast.observe.place import NoAnswer
from stablecast.observe.top import Inside, Top


def play(scenario, told=None, *, size=(110, 32)):
    """Run a scenario with a screen and its place."""

    async def run():
        place = FakePlace(told or group())
        follower = Follower(place, every_s=0.15)
        await follower.first()
        app = Top(follower)
        async with asyncio.timeout(60), app.run_test(size=size) as pilot:
            await scenario(app, pilot, place)

    asyncio.run(run())


def text_of(app, where):
    return str(app.screen_stack[0].query_one(where, Static).render())


def rows_of(app):
    table = app.screen_stack[0].query_one("#members", DataTable)
    return [[str(cell) for cell in table.get_row_at(place)] for place in range(table.row_count)]


def test_members_with_their_states_are_shown_and_followed():
    async def scenario(app, pilot, place):
        assert "seen by a, member · by state" in text_of(app, "#title")
        assert [row[0] for row in rows_of(app)] == ["a *", "b", "c"]
        place.told = group(at_s=101, states={"c": "silent"}, holding=[holding()], gone=[failed("x")])
        await until(lambda: [row[:2] for row in rows_of(app)][:2] == [["x", "failed"], ["c", "silent"]])
        assert text_of(app, "#holding") == "c lacks a/10 and 4 more messages (500 B), for 2.0 s"
        place.told = group(at_s=102)
        await until(lambda: text_of(app, "#holding") == "nobody")
        assert [row[1] for row in rows_of(app)] == ["ok"] * 3

    play(scenario)


def test_a_cell_that_changes_is_changed_in_place_and_has_room():
    async def scenario(app, pilot, place):
        lacking = holding(messages=1_234_567)
        place.told = group(at_s=101, states={"c": "ok"}, holding=[lacking])
        app.sort = "view"
        await until(lambda: rows_of(app)[2][5] == "1,234,567")
        table = app.query_one("#members", DataTable)
        await until(lambda: table.columns["LAG"].content_width >= len("1,234,567"))

    play(scenario)


def test_keys_sort_turn_around_and_pause():
    async def scenario(app, pilot, place):
        await pilot.press("s")
        assert "by lag" in text_of(app, "#title")
        await pilot.press("s", "s", "s", "r")
        assert "by name reversed" in text_of(app, "#title")
        assert [row[0] for row in rows_of(app)] == ["c", "b", "a *"]
        await pilot.press("p")
        place.told = group("ab", at_s=101)
        looks = place.looks
        await until(lambda: place.looks > looks + 3)
        assert len(rows_of(app)) == 3
        assert "PAUSED" in text_of(app, "#title")
        await pilot.press("p")
        assert len(rows_of(app)) == 2

    play(scenario)


@pytest.mark.parametrize("key", ["i", "enter"])
def test_a_member_can_be_looked_into_and_is_followed_there(key):
    async def scenario(app, pilot, place):
        await pilot.press("down", key)
        await until(lambda: isinstance(app.screen, Inside))
        details = app.screen.query_one("#details", Static)
        assert str(details.render()).startswith("b, at 127.0.0.1:7001\nok; last heard of 0.1 s ago")
        place.told = group(at_s=101, states={"b": "suspected"})
        await until(lambda: "suspected" in str(details.render()))
        await pilot.press("escape")
        assert not isinstance(app.screen, Inside)

    play(scenario)


def test_the_cursor_stays_on_its_member_unless_it_is_on_the_first_row():
    async def scenario(app, pilot, place):
        await pilot.press("down", "down")
        assert app.chosen() == "c"
        place.told = group("abcd", at_s=101, states={"d": "silent"})
        await until(lambda: rows_of(app)[0][0] == "d")
        assert app.chosen() == "c"
        await pilot.press("up", "up", "up")
        place.told = group("abcd", at_s=102, states={"b": "silent"})
        await until(lambda: rows_of(app)[0][0] == "b")
        assert app.chosen() == "b"

    play(scenario)


def test_events_are_shown_as_they_come_and_names_are_no_markup():
    async def scenario(app, pilot, place):
        log = app.query_one("#events", RichLog)
        place.happened.append(note(1, "joined: [red]x[/red] \x1b[2J"))
        await until(lambda: log.lines)
        assert "joined: [red]x[/red] \\x1b[2J" in log.lines[0].text
        place.told = group(["a", "[bold]b"], at_s=101)
        await until(lambda: len(rows_of(app)) == 2)
        assert rows_of(app)[1][0] == "[bold]b"

    play(scenario)


def test_lost_contact_is_said_and_ends():
    async def scenario(app, pilot, place):
        trouble = app.query_one("#trouble", Static)
        assert not trouble.display
        place.told = NoAnswer("cannot ask 127.0.0.1:9100: nobody listens there")
        await until(lambda: trouble.display)
        assert text_of(app, "#trouble").startswith("lost contact 0 s ago, trying again: cannot ask 127.0.0.1")
        assert len(rows_of(app)) == 3  # what was seen last stays
        place.told = group(at_s=101)
        await until(lambda: not trouble.display)
        await pilot.press("q")

    play(scenario)


def test_a_small_terminal_and_a_thousand_members():
    many = [f"m{k}" for k in range(1_024)]

    async def scenario(app, pilot, place):
        place.told = group(many, at_s=101, states={"m700": "silent"})
        await until(lambda: rows_of(app)[0][0] == "m700")
        assert "1,024 members" in text_of(app, "#title")

    play(scenario, group(many), size=(80, 24))
