"""Options of a run: made from declarations, refused where they do not belong, equal by value."""

import pickle

import pytest

from stablecast.errors import InvalidInput
from stablecast.protocols import protocol, protocol_names
from stablecast.protocols.contract.parameters import WHOLE, Parameter, Role
from stablecast.simulate import Setup, topology
from stablecast.simulate.knobs import PANELS
from stablecast.simulate.options import DECLARED, Options, all_options, known_options, run_options

BEFORE = {
    "resend_ms", "tree_degree", "pause_ms", "free_bitmap", "links", "subgroup", "step_s", "share", "snapshot",
    "threshold_steps", "quiet_steps", "local_size", "controllers", "controller_step_s", "levels", "chosen_by",
    "nearby", "clock", "skew_us", "drift_ppm",
    "sync_s", "send_every_ms", "ack_every_ms", "ack_to", "know", "stamp_bytes", "policy", "copies", "hash",
    "gossip_every_ms", "keep_rounds", "short_rounds", "budget_messages", "budget_bytes", "send_omission",
    "no_recast", "no_push", "no_rules", "view_missing",
    "handlers", "admit_per_round", "join_window_s", "fill_messages", "rest_steps",
}  # fmt: skip
"""Options of protocols whose names sweeps, results and commands have relied on."""


def test_names_of_options_stay_as_they_were():
    assert all_options().keys() - run_options().keys() == BEFORE


def test_no_option_is_declared_twice():
    names = [name for declaring in DECLARED for name in run_options() if name in _knobs(declaring)]
    assert sorted(names) == sorted(run_options())
    assert not any(
        run_options().keys() & (known_options(p).keys() - run_options().keys()) for p in protocol_names()
    )


def _knobs(declaring):
    from stablecast.simulate.knobs import knobs_of

    return knobs_of(declaring)


def test_every_option_has_a_panel_and_help_in_whole_phrases():
    for option in run_options().values():
        assert option.panel in PANELS
        assert option.help[0].isupper()
        assert option.help.endswith(".")


def test_what_is_not_given_has_its_default_and_is_not_told():
    options = Options(protocol="gsgc", members=None, seed=0, step_s=1.0)
    assert options.given() == {"protocol": "gsgc", "step_s": 1.0}
    assert (options.topology, options.seed, options.subgroup) == ("tree", 0, None)
    assert options.command() == "stablecast simulate gsgc --step-s 1.0"


def test_options_are_values():
    options = Options(protocol="bimodal", no_push=True, copies=2.0)
    assert options == Options(copies=2.0, no_push=True, protocol="bimodal")
    assert hash(options) == hash(pickle.loads(pickle.dumps(options)))
    assert pickle.loads(pickle.dumps(options)) == options
    assert options != Options(protocol="bimodal", copies=2.0)
    with pytest.raises(AttributeError):
        options.copies = 3.0


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"protocol": "coordp", "step_s": 1.0},
            "coordp has no option step_s .accepted: resend_ms; and those",
        ),
        ({"protocol": "gsgc", "resend_ms": 0.0}, "gsgc has no option resend_ms"),
        ({"protocol": "gsgc", "stepp_s": 1.0}, "did you mean 'step_s'"),
        ({"protocol": "gsgcc"}, "did you mean 'gsgc'"),
    ],
)
def test_an_option_that_the_protocol_does_not_have_is_refused(given, told):
    with pytest.raises(InvalidInput, match=told):
        Options(**given)


def test_setups_take_the_units_of_the_command_line():
    shape = topology("tree", degree=2, height=2)
    by_name = Setup(protocol="gsgc", topology=shape, params={"step_s": 0.05, "share": "both"})
    assert (
        by_name.param_values
        == Options(protocol="gsgc", degree=2, height=2, step_s=0.05, share="both").setup().param_values
    )
    assert by_name.param_values["step"] == 50_000_000_000
    with pytest.raises(InvalidInput, match="unknown parameter of gsgc 'step'"):
        Setup(protocol="gsgc", topology=shape, params={"step": 5})


def test_relaying_is_a_way_of_casting_that_some_protocols_have():
    shape = topology("tree", degree=2, height=2)
    assert Setup(protocol="s_coordp", topology=shape, cast="relay").param(Role.RELAY, 0) == 1
    assert Setup(protocol="s_coord", topology=shape).param(Role.RELAY, 0) == 1
    assert Setup(protocol="s_coord", topology=shape, cast="multicast").param(Role.RELAY, 1) == 0
    with pytest.raises(InvalidInput, match="coordp cannot relay"):
        Setup(protocol="coordp", topology=shape, cast="relay")


def test_members_join_only_where_the_protocol_can():
    shape = topology("tree", degree=2, height=2)
    with pytest.raises(InvalidInput, match="accepted: bimodal; gsgc with threshold_steps above 0"):
        Setup(protocol="gsgc", topology=shape, faults="join 1 at 5")


def test_a_protocol_cannot_declare_an_option_that_every_run_has():
    declared = (Parameter("seed", WHOLE, 0, "A seed."),)
    greedy = protocol("coordp").replace(about="greedy: it wants too much.", parameters=declared)
    with pytest.raises(InvalidInput, match="greedy declares the parameter seed, an option of every run"):
        Options(protocol=greedy)
