import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablecast.errors import InvalidInput
from stablecast.pipeline.spec import line_of, read_spec


@pytest.fixture
def spec(tmp_path):
    def read(text):
        file = tmp_path / "spec.toml"
        file.write_text(textwrap.dedent(text))
        return read_spec(file)

    return read


def test_a_grid_is_all_combinations_in_order(spec):
    points = spec(
        """
        [grid]
        protocol = ["coordp", "train"]
        degree = 2
        height = { from = 2, to = 6, step = 2 }
        """
    ).points
    told = [(point.options["protocol"], point.options["height"]) for point in points]
    assert told == [(name, height) for name in ("coordp", "train") for height in (2, 4, 6)]
    assert all(point.options["degree"] == 2 for point in points)


def test_cases_go_together_and_equal_points_of_two_grids_are_one(spec):
    asked = spec(
        """
        name = "both"
        time_limit_s = 5
        traces = true

        [[grid]]
        protocol = "coordp"
        cases = [{ topology = "tree", degree = 3, height = 2 }, { topology = "balanced", nodes = 30 }]

        [[grid]]
        protocol = "coordp"
        degree = 3
        height = 2
        topology = "tree"
        """
    )
    assert (asked.name, asked.time_limit_s, asked.traces) == ("both", 5.0, True)
    assert [dict(point.options) for point in asked.points] == [
        {"protocol": "coordp", "degree": 3, "height": 2},
        {"protocol": "coordp", "topology": "balanced", "nodes": 30},
    ]


def test_whole_numbers_do_where_real_ones_are_asked_for(spec):
    first, second = (
        spec(f'[grid]\nprotocol = "coordp"\nbandwidth_bps = {value}').points[0] for value in ("100", "100.0")
    )
    assert first.key == second.key


def test_ranges_of_fractions_are_exact_in_decimal(spec):
    points = spec(
        """
        [grid]
        protocol = "gsgc"
        step_s = { from = 0.1, to = 0.5, step = 0.1 }
        """
    ).points
    assert [point.options["step_s"] for point in points] == [0.1, 0.2, 0.3, 0.4, 0.5]


def test_keys_are_the_options_of_the_protocols_that_a_grid_names(spec):
    points = spec(
        """
        [[grid]]
        protocol = ["gsgc", "gsgc-local"]
        subgroup = 2

        [[grid]]
        topology = "balanced"
        members = 20
        cases = [
            { protocol = "bimodal", policy = "two-buffers", no_push = true },
            { protocol = "s_coord", tree_degree = "2" },
        ]
        """
    ).points
    assert [point.options["protocol"] for point in points] == ["gsgc", "gsgc-local", "bimodal", "s_coord"]


def test_a_protocol_from_a_file_can_be_swept(spec, tmp_path):
    file = tmp_path / "swept_coordp.py"
    file.write_text(OUTSIDE)
    (point,) = spec(f'[grid]\nprotocol = "{file}"\nwait_ms = 3').points
    assert point.options == {"protocol": str(file), "wait_ms": 3.0}
    assert point.replay == f"stablecast simulate {file} --wait-ms 3.0"


OUTSIDE = """
from stablecast.protocols import coordp
from stablecast.protocols.contract.parameters import TIME, Parameter
WAIT = Parameter("wait", TIME, 1.0, "How long to wait.", unit="ms", above=0)
PROTOCOL = coordp.PROTOCOL.replace(
    about="swept_coordp: an example.", parameters=(*coordp.PROTOCOL.parameters, WAIT)
)
"""


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('[grid]\nprotocol = "coordp"\nheigth = 3', 3, "did you mean 'height'"),
        ('[grid]\nprotocol = "coordpp"', 2, "did you mean 'coordp'"),
        ('[grid]\nprotocol = "coordp"\ncosts = "moon"', 3, "unknown costs 'moon'"),
        ('[grid]\nprotocol = "coordp"\nheight = []', 3, "the list is empty"),
        ('[grid]\nprotocol = "coordp"\nheight = "5"', 3, "accepted: a whole number"),
        ('[grid]\nprotocol = "coordp"\nheight = true', 3, "accepted: a whole number"),
        ('[grid]\nprotocol = "coordp"\nheight = [3, 4.5]', 3, "4.5 is not accepted"),
        ('[grid]\nprotocol = "coordp"\nbandwidth_bps = nan', 3, "finite"),
        ('[grid]\nprotocol = "coordp"\nheight = {from = 5, to = 3}', 3, "from 5 to 3 is empty"),
        ('[grid]\nprotocol = "coordp"\nheight = {from = 5}', 3, "{from = a, to = b, step = c}"),
        ('[grid]\nprotocol = "coordp"\nheight = {from = 1, to = 5, by = 2}', 3, "{from = a"),
        (
            '[grid]\nprotocol = "coordp"\nheight = {from = 1, to = 2, step = 0.5}',
            3,
            "accepted: a whole number",
        ),
        ('[grid]\nprotocol = "coordp"\nheight = {from = 1, to = 5, step = 0}', 3, "c above 0"),
        ('[grid]\nprotocol = "coordp"\nheight = {from = 1, to = inf}', 3, "{from = a"),
        (
            '[grid]\nprotocol = ["gsgc", "coordp"]\nstep_s = 1',
            3,
            "coordp has no such option (accepted: resend_ms",
        ),
        ('[grid]\nprotocol = "coordp"\nstep_s = 1', 3, "no protocol of this grid has such an option"),
        ('[grid]\nprotocol = "timestamp"\nclock = "atomic"', 3, "unknown clock 'atomic'"),
        ('[grid]\nprotocol = "gsgc"\nsubgroup = [3, 0]', 3, "subgroup 0 is not accepted (accepted: 1 to 32)"),
        ('[grid]\nprotocol = "coordp"\ndata_loss = 1.5', 3, "data_loss 1.5 is not accepted"),
        ("[grid]\nprotocol = 3", 2, "accepted: a word"),
        ('[grid]\nprotocol = "coordp"\nseed = {from = 1, to = 9999999}', 3, "more than 1,000,000"),
        ('[grid]\nprotocol = "coordp"\ncases = []', 3, "a list of tables"),
        ('[grid]\nprotocol = "coordp"\ncases = [{protocol = "train"}]', 2, "in the grid and in a case"),
        ("[grid]\ndegree = 3", 1, "no protocol"),
        ("[grid]", 1, "the grid is empty"),
        ('nam = "x"\n[grid]\nprotocol = "coordp"', 1, "unknown key"),
        ('name = 3\n[grid]\nprotocol = "coordp"', 1, "accepted: a word"),
        ('time_limit_s = 0\n[grid]\nprotocol = "coordp"', 1, "seconds above 0"),
        ('traces = 1\n[grid]\nprotocol = "coordp"', 1, "true or false"),
        ('[[grid]]\nprotocol = "coordp"\n[[grid]]\nprotocol = "coordp"\nhight = 1', 5, "hight"),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_key(spec, text, line, what):
    with pytest.raises(InvalidInput) as told:
        spec(text)
    assert f"spec.toml, line {line}: " in str(told.value)
    assert what in str(told.value)


@pytest.mark.parametrize(
    ("text", "what"),
    [("", "no grid"), ("grid = 3", "no grid"), ("grid = []", "no grid"), ("[grid\n", "not TOML: ")],
)
def test_a_file_without_a_grid_is_refused(spec, text, what):
    with pytest.raises(InvalidInput, match=what):
        spec(text)


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(InvalidInput, match=r"cannot read .*nothing\.toml"):
        read_spec(tmp_path / "nothing.toml")


@given(st.integers(0, 5), st.integers(0, 4))
def test_the_line_of_a_key_is_found_in_its_own_grid(comments, before):
    blank = "# about it\n" * comments
    text = blank + '[[grid]]\nprotocol = "coordp"\nheight = 3\n' * before + "[[grid]]\nseed = 1\nheight = 4\n"
    assert line_of(text, "grid", before, "height") == comments + 3 * before + 3
