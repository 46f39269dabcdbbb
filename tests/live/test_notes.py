"""Notes of what happened: numbered, bounded, and waited for."""

import asyncio

from stablecast.engine.results import MemberLagging, Released, ViewChanged
from stablecast.live.notes import MOST_NAMED, MOST_NOTES, Notes, kind_of, text_of


def change(members, *, joined=(), left=(), failed=()):
    return ViewChanged(members=members, joined=joined, left=left, failed=failed, reason="", me="a", main=True)


def test_notes_are_numbered_and_the_oldest_are_forgotten():
    notes = Notes(lambda: 0.0)
    for k in range(MOST_NOTES + 5):
        notes.take(MemberLagging("m", float(k)))
    assert notes.last == MOST_NOTES + 5
    kept = notes.after(0)
    assert (len(kept), kept[0].number, kept[-1].number) == (MOST_NOTES, 6, MOST_NOTES + 5)
    assert [note.number for note in notes.after(MOST_NOTES + 3)] == [MOST_NOTES + 4, MOST_NOTES + 5]


def test_releases_are_not_noted():
    notes = Notes(lambda: 0.0)
    notes.take(Released("a", 1))
    assert notes.last == 0


def test_who_has_gone_is_told_until_it_comes_back_or_a_while_is_over():
    now = [0.0]
    notes = Notes(lambda: now[0])
    notes.take(change(("a",), left=("b",)))
    now[0] = 5.0
    notes.take(change(("a",), failed=("c",)))
    assert [(one.name, one.state, one.since_s) for one in notes.gone()] == [
        ("c", "failed", 0),
        ("b", "left", 5),
    ]
    notes.take(change(("a", "b"), joined=("b",)))
    assert [one.name for one in notes.gone()] == ["c"]
    now[0] = 1_000.0
    assert notes.gone() == ()


def test_waiting_ends_with_the_next_note_with_the_group_or_with_the_time():
    async def scenario():
        notes = Notes(lambda: 0.0)
        waiting = asyncio.create_task(notes.wait(0, 60))
        await asyncio.sleep(0)
        assert not waiting.done()
        notes.take(MemberLagging("m", 1.0))
        await waiting
        await notes.wait(0, 60)  # there is one
        await notes.wait(1, 0)
        await notes.wait(1, 0.001)
        waiting = asyncio.create_task(notes.wait(1, 60))
        await asyncio.sleep(0)
        notes.end()
        await waiting
        await notes.wait(1, 60)

    asyncio.run(asyncio.wait_for(scenario(), 10))


def test_a_view_of_many_is_told_in_one_line():
    many = tuple(f"m{k}" for k in range(1_000))
    text = text_of(change(many, joined=many))
    assert text.startswith("view of 1,000 members; joined: m0, m1")
    assert text.endswith(f"and {1_000 - MOST_NAMED} more")
    assert kind_of(change(many)) == "view_changed"
