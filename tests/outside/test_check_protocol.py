"""The keystone check for protocols finds what is wrong with one, and says how to see it again."""

import pytest
from outside_files import DOUBLING, NEAR_CUBE, variant

from stablecast.errors import InvalidInput
from stablecast.protocols import protocol
from stablecast.testing import CheckFailed, check_protocol


@pytest.mark.parametrize("given", [str(DOUBLING), DOUBLING, protocol(str(DOUBLING)), "coordp"])
def test_a_sound_protocol_passes(given):
    check_protocol(given, seeds=range(6))


def test_its_options_are_drawn():
    check_protocol(DOUBLING, seeds=range(100, 120), options={"fanout": (1, 2, 3), "step_ms": (2.0, 10.0)})


def test_near_cube_passes():
    check_protocol(NEAR_CUBE)


def test_what_is_called_stable_too_early_is_found(tmp_path):
    path, _ = variant(tmp_path, "        take_minimum(me.M, message.M)\n", "")
    with pytest.raises(CheckFailed, match="called stable while a member lacks it") as failure:
        check_protocol(path)
    assert f"check_protocol({path!r}, seeds=[" in str(failure.value)
    assert f"stablecast simulate {path} " in str(failure.value)


def test_a_run_that_does_not_end_is_found():
    """By the compiled simulator: what is typed in is not run without compilation first."""
    typed_in = protocol(str(DOUBLING)).replace(file="")
    with pytest.raises(CheckFailed, match=r"^doubling, seed 0: not over after 20000 ms, though nothing was"):
        check_protocol(typed_in, faults=(), options={"step_ms": (30_000.0,)})


def test_a_member_that_does_not_finish_is_found_without_compilation(tmp_path):
    finish = "    finish(out, me.round)\n"
    path, _ = variant(tmp_path, finish, f"    if me.number != 1:\n    {finish}")
    small = (0, 15, 19)  # groups of two and three, which take few events
    with pytest.raises(CheckFailed, match=r"without compilation: .* not over after 20000 ms, though nothing"):
        check_protocol(path, faults=(), seeds=small)


def test_an_array_that_is_too_short_is_found_before_compiled_code_could_write_beside_it(tmp_path):
    path, line = variant(tmp_path, "        join(me.G, message.G)\n", "        me.M[me.M.size] = 0\n")
    with pytest.raises(CheckFailed, match=rf"without compilation: .*mine\.py, line {line}: IndexError"):
        check_protocol(path)


def test_a_kernel_that_does_not_compile_is_told_by_its_line(tmp_path):
    path, line = variant(tmp_path, "    me.distance = 1", '    me.distance = eval("1")')
    with pytest.raises(InvalidInput, match=rf"mine\.py, line {line}: "):
        check_protocol(path)


def test_what_is_asked_is_checked():
    with pytest.raises(InvalidInput, match="fault 'fire' is not accepted"):
        check_protocol(DOUBLING, faults=("fire",))
    with pytest.raises(InvalidInput, match="no seeds"):
        check_protocol(DOUBLING, seeds=())
