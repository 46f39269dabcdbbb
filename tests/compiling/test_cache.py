"""The folder of compiled code: named by the sources, private where it must be, cleaned of what is old."""

import os
import subprocess
import sys

from stablecast.compiling import cache


def test_an_edit_of_any_kernel_file_opens_a_new_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "PACKAGE", tmp_path)
    (tmp_path / "protocols").mkdir()
    before = cache.sources_digest()
    (tmp_path / "protocols" / "new.py").write_text("A = 1\n")
    between = cache.sources_digest()
    (tmp_path / "protocols" / "new.py").write_text("A = 2\n")
    assert len({before, between, cache.sources_digest()}) == 3


def test_folders_of_sources_unused_for_a_month_are_removed_and_others_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("STABLECAST_CACHE_DIR", str(tmp_path))
    old, recent, foreign = (tmp_path / name for name in ("0" * 16, "1" * 16, "something-else"))
    for folder in (old, recent, foreign):
        folder.mkdir()
    for folder in (old, foreign):
        os.utime(folder, (0, 0))
    used = cache.cache_folder()
    assert used.parent == tmp_path
    assert sorted(tmp_path.iterdir()) == sorted([used, recent, foreign])


def test_without_a_writable_home_a_private_temporary_folder_is_used(tmp_path):
    environment = {**os.environ, "HOME": "/proc/none", "TMPDIR": str(tmp_path)}
    environment.pop("STABLECAST_CACHE_DIR", None)
    environment.pop("XDG_CACHE_HOME", None)
    code = "from stablecast.compiling import CACHE_FOLDER; print(CACHE_FOLDER)"
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert found.startswith(str(tmp_path))
