import errno

import pytest

from stablecast.cli.reproduce import _write_report
from stablecast.papers import page
from stablecast.papers.reproduce import Reproduction
from stablecast.pipeline.runs import Runs
from stablecast.pipeline.store import CannotKeep
from stablecast.pipeline.sweep import Swept


def test_a_report_that_finds_no_room_is_told_in_one_line(tmp_path, monkeypatch):
    def full(file, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(page, "write_whole", full)
    swept = Swept(runs=Runs([]), file=tmp_path, points=0, kept=0, computed=0, interrupted=False, wall_s=0.0)
    with pytest.raises(CannotKeep, match=r"cannot write the report to .*: No space left on device"):
        _write_report(Reproduction(swept=swept, evaluations=()), tmp_path)
    assert list(tmp_path.iterdir()) == []
