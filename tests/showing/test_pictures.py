import sys

import pytest

from stablecast.errors import InvalidInput
from stablecast.pipeline.runs import Runs
from stablecast.showing.pictures import DRAWER, PICTURES, found, plot
from stablecast.simulate.live.result import LiveResult
from stablecast.simulate.result import Result


def test_everything_that_is_named_is_there_and_can_be_called():
    assert set(PICTURES) == {each.__name__ for each in (Result, LiveResult, Runs)}
    for name in (*PICTURES.values(), DRAWER):
        assert callable(found(name))


def test_without_matplotlib_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(InvalidInput, match=r"needs matplotlib \(pip install"):
        plot(Runs(()))
