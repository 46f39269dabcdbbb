"""Which protocol a live group runs, with which options, and what happens to members that disagree."""

import asyncio
from pathlib import Path

import pytest
from live_groups import join, joined, play

import stablecast
from stablecast.engine.choice import absolute, choose, read_options
from stablecast.errors import InvalidInput, JoinFailed
from stablecast.membership.identity import Identity, difference
from stablecast.protocols import protocol
from stablecast.testing import Network

FILE = Path(__file__).with_name("tell_all.py")
OUTSIDE = {"protocol": str(FILE)}


def test_options_have_the_names_and_units_of_simulations():
    choice = choose("gsgc-local", {"subgroup": 2, "local_size": 8, "controllers": 3})
    assert choice.given == {"subgroup": 2, "local_size": 8, "controllers": 3}
    sizes = choice.sizes(20, step_s=0.004)
    assert (sizes.params["subgroup"], sizes.params["local_size"]) == (2, 8)
    assert sizes.params["step"] == 4 * 10**9


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "gsgc",
            {"step_s": 1.0},
            "option step_s of gsgc is not accepted in a live group: it follows the group's",
        ),
        ("coordp", {"resend_ms": 5.0}, "it follows the group's pace (accepted: none)"),
        ("gsgc", {"share": "both"}, "results go to all, and with gossip (accepted: subgroup)"),
        ("gsgc", {"threshold_steps": 9}, "the group's views tell who has failed"),
        (
            "timestamp",
            {"clock": "physical"},
            "stability would wait until a clock that was set back has caught up (accepted: logical, hybrid)",
        ),
        ("timestamp", {"clock": "sundial"}, "unknown clock 'sundial' (accepted: hybrid, logical)"),
        ("timestamp", {"skew_us": 5.0}, "it models a network, a clock or a wire, which a live group has"),
        ("timestamp", {"stamp_bytes": 4}, "(accepted: ack_to, clock)"),
        ("gsgc-local", {"nearby": True}, "(accepted: controllers, levels, local_size, subgroup)"),
        (
            "gsgc-local",
            {"controllers": 9, "local_size": 4},
            "controllers 9 is not accepted (accepted: 1 to 4",
        ),
        ("cubefulldist", {"free_bitmap": True}, "which a live group has for real (accepted: links)"),
        ("gsgc", {"subgrup": 2}, "unknown option of gsgc 'subgrup'; did you mean 'subgroup'?"),
        ("gsgc", {"initial": 2}, "unknown option of gsgc 'initial'"),
        ("gsgc", {"subgroup": 0}, "subgroup 0 is not accepted (accepted: 1 to 32)"),
        ("gsgc", {"subgroup": "4"}, "subgroup 4 is not accepted"),
        ("gsgc", {"quiet_steps": 3}, "the group's views let newcomers in (accepted: subgroup)"),
        ("s_train", {"tree_degree": "network"}, "members do not know the tree of their network (accepted: 1"),
        ("s_coordp", {"tree_degree": "wide"}, "tree_degree wide is not accepted"),
        ("gsgc", ["subgroup=4"], "protocol_options ['subgroup=4'] is not accepted (accepted: a dictionary"),
        (
            "bimodal",
            {},
            "protocol 'bimodal' delivers messages itself, so live groups cannot run it (accepted: ",
        ),
        ("no/such.py", {}, "no/such.py"),
    ],
    ids=str,
)
def test_what_a_live_group_cannot_run_is_refused_in_one_line(name, options, message):
    async def joined_once():
        await stablecast.join("orders", protocol=name, protocol_options=options)

    with pytest.raises(InvalidInput) as refused:
        asyncio.run(joined_once())
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "words", "options"),
    [
        ("gsgc", ["subgroup=4"], {"subgroup": 4}),
        ("gsgc-local", ["local-size = 8", "controllers=2"], {"local_size": 8, "controllers": 2}),
        ("timestamp", ["clock=hybrid", "ack-to=senders"], {"clock": "hybrid", "ack_to": "senders"}),
        ("s_train", ["tree_degree=log"], {"tree_degree": "log"}),
        ("gsgc", [], {}),
    ],
)
def test_options_are_read_from_text(name, words, options):
    assert read_options(name, words) == options


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["subgroup"], "'subgroup' is not accepted (accepted: NAME=VALUE, such as subgroup=4)"),
        (["=4"], "accepted: NAME=VALUE"),
        (["subgroup=many"], "subgroup 'many' is not accepted (accepted: 1 to 32)"),
        (["subgroup=4", "subgroup=5"], "subgroup is set twice"),
        (["step_s=1"], "step_s of gsgc is not accepted in a live group"),
        (["sub=1"], "unknown option of gsgc 'sub'"),
    ],
)
def test_text_that_is_no_option_is_refused(words, message):
    with pytest.raises(InvalidInput) as refused:
        read_options("gsgc", words)
    assert message in str(refused.value)


def test_defaults_that_are_written_out_make_no_difference():
    assert choose("gsgc", {"subgroup": 3}).identity == choose("gsgc").identity
    assert (
        choose("s_coordp", {"tree_degree": "4"}).identity == choose("s_coordp", {"tree_degree": 4}).identity
    )
    assert choose("timestamp", {"clock": "logical"}).identity == choose("timestamp").identity
    assert choose("timestamp", {"clock": "hybrid"}).identity != choose("timestamp").identity
    assert choose("gsgc", {"subgroup": 4}).identity != choose("gsgc").identity


def test_an_identity_names_protocol_options_and_source():
    identity = Identity.of(choose("vector", {"ack_to": "senders", "know": "own"}).identity)
    assert identity[:2] == ("vector", "ack_to=senders,know=own")
    assert len(identity.source) == 16


def test_protocols_that_declare_other_messages_have_another_source():
    sources = {Identity.of(choose(name).identity).source for name in ("gsgc", "train", "vector")}
    assert len(sources) == 3


def test_a_file_outside_is_told_by_its_text(tmp_path):
    identities = []
    for folder, more in (("a", ""), ("b", ""), ("c", "# edited\n")):
        copy = tmp_path / folder / f"told_by_text_{folder}.py"
        copy.parent.mkdir()
        copy.write_text(FILE.read_text() + more)
        identities.append(Identity.of(choose(str(copy)).identity))
    assert identities[0] == identities[1]
    assert identities[0].source != identities[2].source
    assert {identity.name for identity in identities} == {"tell-all"}


@pytest.mark.parametrize(
    ("ours", "theirs", "told"),
    [
        ("gsgc", "train", "this group runs protocol 'gsgc', not 'train'"),
        ("gsgc//1", "train//1", "this group runs protocol 'gsgc', not 'train'"),
        ("gsgc/subgroup=4/1", "gsgc//1", "'gsgc' with subgroup=4, not with its default options"),
        ("gsgc//1", "gsgc//2", "this group runs another version of protocol 'gsgc': the sources differ"),
    ],
)
def test_a_difference_is_named(ours, theirs, told):
    assert told in difference(ours, theirs)


def test_members_with_other_options_are_refused_and_told_which_differ():
    async def scenario():
        network = Network(seed=1)
        async with joined(network, "a", "b", protocol_options={"tree_degree": 2}) as (a, b):
            told = r"runs protocol 's_coord' with tree_degree=2, not with tree_degree=4"
            with pytest.raises(JoinFailed, match=told):
                await join(network, "c", [b.address], protocol_options={"tree_degree": 4})
            with pytest.raises(JoinFailed, match="with tree_degree=2, not with its default options"):
                await join(network, "d", [a.address])
            assert len(a.members) == 2

    play(scenario)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("gsgc", {"subgroup": 1}),
        ("gsgc-local", {"local_size": 2, "controllers": 1, "subgroup": 2}),
        ("vector", {"ack_to": "senders"}),
        ("vector", {"know": "own"}),
        ("timestamp", {"ack_to": "senders"}),
        ("timestamp", {"clock": "hybrid"}),
        ("s_coordp", {"tree_degree": 1}),
        ("s_train", {"tree_degree": "log"}),
        (str(FILE), {"copies": 2}),
        (protocol("fulldist"), {}),
    ],
    ids=str,
)
def test_groups_find_messages_stable_with_options_files_and_protocols(name, options):
    async def scenario():
        network = Network(seed=3, loss=0.05)
        names = ("a", "b", "c", "d")
        async with joined(network, *names, protocol=name, protocol_options=options) as groups:
            for group in groups:
                receipt = await group.send(b"one pizza")
                assert isinstance(await receipt.stable(timeout=20.0), stablecast.Stable)
            assert groups[0].stats().protocol == choose(name).protocol.name

    play(scenario)


def test_a_path_is_made_one_that_every_process_finds(monkeypatch):
    monkeypatch.chdir(FILE.parent)
    assert absolute("tell_all.py") == str(FILE)
    assert absolute("gsgc") == "gsgc"
