"""What a page of a run is told: arrows and points, packed columns, answers."""

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablecast.causes import life, read
from stablecast.errors import InvalidInput
from stablecast.report.lens.chosen import Lacking, answer, answers
from stablecast.report.lens.content import Asked, content_of
from stablecast.report.lens.events import POINT_KINDS, events_of
from stablecast.report.lens.pack import pack, unpack
from stablecast.report.lens.page import render
from tests.report.lens_traces import Group, deliveries_only, write_lines

NAMES = ["ann", "bob", "cat", "dan", "eve"]


@pytest.fixture(scope="module")
def rows():
    return Group(NAMES, seed=5, loss=0.15).run(30).rows


@pytest.fixture(scope="module")
def run(rows, tmp_path_factory):
    return read([write_lines(rows, tmp_path_factory.mktemp("lens") / "run.jsonl")])


def of_file(tmp_path, rows):
    return read([write_lines(rows, tmp_path / "run.jsonl")])


def paired(rows):
    """Return each transmission to one addressee, paired by a dictionary: from, to, kind, when, until when."""
    sent = {(row["member"], row["number"]): row for row in rows if row["kind"] == "transmit"}
    came = {
        (row["peer"], row["number"], row["member"]): row["time_us"] for row in rows if row["kind"] == "arrive"
    }
    pairs = Counter()
    for (member, number), row in sent.items():
        for dest in [row["peer"]] if row["peer"] else [name for name in NAMES if name != member]:
            end = came.get((member, number, dest))
            pairs[member, dest, row["message"], row["time_us"], end] += 1
    return pairs


def test_an_arrow_for_every_transmission_and_addressee(rows, run):
    events = events_of(run)
    arrows = events.arrows
    drawn = Counter(
        (
            run.members[arrows.origin[k]],
            run.members[arrows.dest[k]],
            events.kinds[arrows.kind[k]],
            int(arrows.sent[k]),
            None if arrows.lost[k] else int(arrows.end[k]),
        )
        for k in range(len(arrows))
    )
    assert drawn == paired(rows)
    assert arrows.lost.sum() > 0
    assert (np.diff(arrows.sent) >= 0).all()


def test_a_point_for_everything_that_members_did(rows, run):
    points = events_of(run).points
    wanted = Counter((row["kind"], row["time_us"]) for row in rows if row["kind"] in POINT_KINDS)
    kinds = [POINT_KINDS[kind] for kind in points.kind]
    assert Counter(zip(kinds, points.time.tolist(), strict=True)) == wanted


def test_an_arrival_whose_transmission_is_missing_is_told_and_not_drawn(rows, tmp_path):
    kept = [row for row in rows if row["member"] != "dan" or row["kind"] != "transmit"]
    run = of_file(tmp_path, kept)
    events = events_of(run)
    assert run.members.index("dan") not in events.arrows.origin
    missing = sum(row["kind"] == "arrive" and row["peer"] == "dan" for row in rows)
    assert any(str(missing) in line for line in content_of(run, "t", Asked()).header["remarks"])


def test_without_transmissions_arrows_are_deliveries(rows, tmp_path):
    events = events_of(of_file(tmp_path, deliveries_only(rows)))
    sent = {(row["source"], row["seq"]): row["time_us"] for row in rows if row["kind"] == "send"}
    wanted = [
        (sent[row["source"], row["seq"]], row["time_us"])
        for row in rows
        if row["kind"] == "receive" and row["member"] != row["source"]
    ]
    assert sorted(zip(events.arrows.sent.tolist(), events.arrows.end.tolist(), strict=True)) == sorted(wanted)


def test_a_window_has_what_reaches_into_it(run):
    events = events_of(run).within(20_000, 30_000)
    assert len(events.arrows)
    assert len(events.points)
    assert (events.arrows.end >= 20_000).all()
    assert (events.arrows.sent <= 30_000).all()
    assert ((events.points.time >= 20_000) & (events.points.time <= 30_000)).all()


columns = st.lists(
    st.lists(st.integers(-(2**53), 2**53), max_size=20)
    | st.lists(st.integers(-300, 300), max_size=20)
    | st.lists(st.integers(0, 255), max_size=20),
    max_size=6,
)


@given(columns, st.text(max_size=20))
def test_what_is_packed_is_unpacked(given_columns, text):
    named = {f"c{k}": np.array(one, np.int64) for k, one in enumerate(given_columns)}
    header, unpacked = unpack(pack({"title": text}, named))
    assert header == {"title": text}
    assert {name: column.astype(np.int64).tolist() for name, column in unpacked.items()} == {
        name: column.tolist() for name, column in named.items()
    }


def test_narrow_columns_are_narrow():
    text = pack({}, {"times": np.arange(50_000), "kinds": np.arange(50_000) % 7})
    assert len(text) < 150_000


def test_pieces_and_phases_of_every_answer_sum_to_its_length(run):
    listed, known = answers(run, events_of(run).arrows, None, 1_000)
    assert known == len(listed) == 30
    for one in listed:
        assert sum(segment.length_us for segment in one.segments) == one.length_us
        assert sum(phase.length_us for phase in one.phases) == one.length_us
    assert [one.length_us for one in listed] == sorted((one.length_us for one in listed), reverse=True)


def test_where_nobody_knows_the_answer_ends_when_everyone_had_it(rows, tmp_path):
    run = of_file(tmp_path, [row for row in deliveries_only(rows) if row["kind"] in ("send", "receive")])
    listed, _ = answers(run, events_of(run).arrows, None, 1_000)
    assert len(listed) == 30
    for one in listed:
        told = life(run, one.source, one.seq)
        assert (one.known, one.member, one.end_us) == (False, told.last_member, told.stable_us)
        assert sum(segment.length_us for segment in one.segments) == one.length_us


def test_a_message_that_somebody_lacks_says_who(rows, tmp_path):
    bare = [row for row in deliveries_only(rows) if row["kind"] in ("send", "receive")]
    kept = [row for row in bare if (row["member"], row["source"], row["seq"]) != ("eve", "ann", 1)]
    told = answer(of_file(tmp_path, kept), "ann", 1, None)
    assert isinstance(told, Lacking)
    assert told.line == "ann/1 is not at every member by the end of the trace: eve"


def test_a_message_that_is_not_in_the_trace_is_refused(run):
    with pytest.raises(InvalidInput, match=r"ann/99 .*ann/1 to ann/6"):
        content_of(run, "t", Asked(("ann", 99)))


def test_a_list_that_is_cut_says_so_and_has_the_slowest(run):
    whole, cut = content_of(run, "t", Asked()), content_of(run, "t", Asked(), most=7)
    assert cut.header["messages"] == whole.header["messages"][:7]
    assert "7 of 30" in cut.header["note"]
    assert "all messages" in whole.header["note"]


def test_nothing_of_a_trace_is_markup(tmp_path):
    names = ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>']
    rows = [row | {"group": "<b>g</b>"} for row in Group(names, loss=0).run(4).rows]
    run = of_file(tmp_path, rows)
    page = render(content_of(run, f"{run.group}: run", Asked()), version="1").decode()
    assert "alert(1)" not in page
    assert "<b>" not in page
    assert page.count("<script") == page.count("</script>") == 2


def test_the_same_run_gives_the_same_page(run):
    assert render(content_of(run, "t", Asked()), version="1") == render(
        content_of(run, "t", Asked()), version="1"
    )


def test_the_page_is_told_what_the_header_says(run):
    content = content_of(run, "t", Asked(("bob", 2)))
    told = content.header["paths"]["bob/2"]
    assert content.header["open"] == "bob/2"
    assert sum(one["end"] - one["begin"] for one in told["segments"]) == told["end"] - told["begin"]
    json.dumps(content.header, allow_nan=False)
