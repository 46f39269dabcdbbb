"""Parameters: what is accepted, how it is encoded, and what is said of what is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablecast.errors import InvalidInput
from stablecast.protocols import protocol, protocol_names
from stablecast.protocols.contract.parameters import (
    CHOICE,
    FLAG,
    PROBABILITY,
    REAL,
    TIME,
    WHOLE,
    WHOLE_OR_WORD,
    Parameter,
    Role,
)

STEP = Parameter("step", TIME, 1.0, "Time.", unit="s", role=Role.STEP, above=0)
DEGREE = Parameter("degree", WHOLE_OR_WORD, "log", "Degree.", choices={"log": -1}, least=1)
DECLARED = [(name, parameter) for name in protocol_names() for parameter in protocol(name).parameters]


@pytest.mark.parametrize(
    ("parameter", "value", "encoded"),
    [
        (STEP, 0.05, 50_000_000_000),
        (STEP, 2, 2 * 10**12),
        (STEP, 1e-15, 1),
        (STEP, None, 10**12),
        (Parameter("wait", TIME, 0.0, "", unit="us", least=0), 1e-15, 0),
        (Parameter("copies", REAL, 6.0, "", scale=1000), 2.5, 2500),
        (Parameter("loss", PROBABILITY, 0.0, ""), 0.25, 250_000_000),
        (Parameter("many", WHOLE, None, "", least=1), None, 0),
        (Parameter("near", FLAG, False, ""), True, 1),
        (Parameter("push", FLAG, False, "", option="no_push", choices={False: 1, True: 0}), True, 0),
        (Parameter("push", FLAG, False, "", option="no_push", choices={False: 1, True: 0}), None, 1),
        (Parameter("clock", CHOICE, "a", "", choices={"a": 0, "b": 7}), "b", 7),
        (DEGREE, "log", -1),
        (DEGREE, "12", 12),
        (DEGREE, 12, 12),
    ],
)
def test_values_are_encoded_as_kernels_see_them(parameter, value, encoded):
    assert parameter.encode(value) == encoded


@pytest.mark.parametrize(
    ("parameter", "value", "told"),
    [
        (STEP, 0.0, "step_s 0.0 is not accepted (accepted: seconds above 0)"),
        (STEP, float("nan"), "step_s nan is not accepted (accepted: seconds above 0)"),
        (STEP, "1", "step_s 1 is not accepted (accepted: seconds above 0)"),
        (STEP, True, "step_s True is not accepted (accepted: seconds above 0)"),
        (STEP, 1e9, "step_s 1e+09 is too large (accepted: seconds above 0)"),
        (Parameter("loss", PROBABILITY, 0.0, ""), 1.0, "loss 1.0 is not accepted (accepted: 0 to below 1)"),
        (
            Parameter("many", WHOLE, 1, "", least=1, most=9),
            10,
            "many 10 is not accepted (accepted: 1 to 9)",
        ),
        (
            Parameter("many", WHOLE, 1, "", least=1),
            1.0,
            "many 1.0 is not accepted (accepted: a whole number, 1 or more)",
        ),
        (
            Parameter("near", FLAG, False, ""),
            1,
            "near 1 is not accepted (accepted: true or false)",
        ),
        (DEGREE, "0", "degree 0 is not accepted (accepted: 1 or more, log)"),
        (DEGREE, "two", "degree two is not accepted (accepted: 1 or more, log)"),
        (
            Parameter("clock", CHOICE, "a", "", choices={"real": 0}),
            "rael",
            "unknown clock 'rael'; did you mean 'real'? (accepted: real)",
        ),
    ],
)
def test_what_is_not_accepted_is_told_in_one_line(parameter, value, told):
    with pytest.raises(InvalidInput) as raised:
        parameter.encode(value)
    assert str(raised.value) == told


@pytest.mark.parametrize(("name", "parameter"), DECLARED, ids=lambda value: getattr(value, "name", value))
def test_every_declared_default_is_accepted(name, parameter):
    assert isinstance(parameter.encode(None), int)


@pytest.mark.parametrize("name", protocol_names())
def test_options_have_help_in_whole_phrases_and_names_of_their_own(name):
    options = protocol(name).options
    assert len(options) == sum(not parameter.hidden for parameter in protocol(name).parameters)
    for parameter in options.values():
        assert parameter.help[0].isupper()
        assert parameter.help.endswith(".")


@given(st.floats(0.001, 1e5))
def test_times_are_exact_to_the_picosecond(seconds):
    assert abs(STEP.encode(seconds) / 10**12 - seconds) <= 1e-12 + seconds * 1e-15


def test_a_protocol_refuses_options_that_it_does_not_have():
    with pytest.raises(InvalidInput, match="unknown parameter of coordp 'step_s'"):
        protocol("coordp").encode({"step_s": 1.0})
    with pytest.raises(InvalidInput, match="unknown parameter of cubefulldist 'rounds'"):
        protocol("cubefulldist").encode({"rounds": 1})


def test_an_unknown_unit_is_refused_where_it_is_declared():
    with pytest.raises(InvalidInput, match="unit of parameter 'step'"):
        Parameter("step", TIME, 1.0, "Time.", unit="min")
