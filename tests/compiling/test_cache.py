"""The folder of compiled code: named by the sources, private where it must be, cleaned of what is old."""

import logging
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

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


SOMEBODY = 12_345


def give_away(path, monkeypatch):
    """Let a file belong to another user; who may not do that becomes another user."""
    if os.getuid() == 0:
        os.chown(path, SOMEBODY, -1, follow_symlinks=False)
    else:
        monkeypatch.setattr(os, "getuid", lambda: SOMEBODY)


def of_another_user(place, elsewhere, monkeypatch):
    place.mkdir(mode=0o700)
    give_away(place, monkeypatch)


def open_to_all(place, elsewhere, monkeypatch):
    place.mkdir()
    place.chmod(0o777)


def open_to_a_group(place, elsewhere, monkeypatch):
    place.mkdir()
    place.chmod(0o770)


def a_link_of_another_user(place, elsewhere, monkeypatch):
    (elsewhere / "mine").mkdir(mode=0o700)
    place.symlink_to(elsewhere / "mine")
    give_away(place, monkeypatch)


def a_link_to_a_folder_open_to_all(place, elsewhere, monkeypatch):
    (elsewhere / "theirs").mkdir()
    (elsewhere / "theirs").chmod(0o777)
    place.symlink_to(elsewhere / "theirs")


def below_a_folder_open_to_all(place, elsewhere, monkeypatch):
    place.parent.chmod(0o777)


def a_file(place, elsewhere, monkeypatch):
    place.write_text("")


def a_link_to_itself(place, elsewhere, monkeypatch):
    place.symlink_to(place)


UNSAFE = [
    of_another_user,
    open_to_all,
    open_to_a_group,
    a_link_of_another_user,
    a_link_to_a_folder_open_to_all,
    below_a_folder_open_to_all,
    a_file,
    a_link_to_itself,
]


@pytest.mark.parametrize("unsafe", UNSAFE, ids=lambda unsafe: unsafe.__name__)
def test_a_folder_that_others_can_write_to_or_replace_is_not_used(unsafe, tmp_path, monkeypatch, caplog):
    caplog.set_level(logging.INFO, "stablecast")
    safe, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    (tmp_path / "above").mkdir()
    elsewhere.mkdir()
    place = tmp_path / "above" / "cache"
    monkeypatch.setenv("STABLECAST_CACHE_DIR", str(place))
    monkeypatch.setenv("XDG_CACHE_HOME", str(safe))
    unsafe(place, elsewhere, monkeypatch)
    used = cache.cache_folder()
    assert place not in used.parents
    assert not list(elsewhere.rglob("*/*"))
    assert str(tmp_path) in caplog.text


def test_a_link_of_ones_own_to_a_folder_of_ones_own_is_fine(tmp_path, monkeypatch):
    (tmp_path / "large-disk").mkdir(mode=0o700)
    (tmp_path / "cache").symlink_to(tmp_path / "large-disk")
    monkeypatch.setenv("STABLECAST_CACHE_DIR", str(tmp_path / "cache"))
    assert cache.cache_folder().parent == tmp_path / "cache"


def test_folders_that_are_made_are_private(tmp_path, monkeypatch):
    monkeypatch.setenv("STABLECAST_CACHE_DIR", str(tmp_path / "new" / "cache"))
    used = cache.cache_folder()
    for folder in (used, used.parent, used.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_in_a_folder_that_all_share_and_that_is_sticky_a_private_one_is_used(tmp_path, monkeypatch):
    shared = tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    monkeypatch.setenv("STABLECAST_CACHE_DIR", str(shared / "mine"))
    assert cache.cache_folder().parent == shared / "mine"


def test_without_a_safe_place_nothing_is_kept_and_the_log_says_so(tmp_path):
    """A folder for this process alone, which goes with it."""
    shared = tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o777)
    environment = {**os.environ, "HOME": "/proc/none", "TMPDIR": str(shared)}
    environment.pop("STABLECAST_CACHE_DIR", None)
    environment.pop("XDG_CACHE_HOME", None)
    code = (
        "import logging; logging.basicConfig(); import os\n"
        "from stablecast.compiling import CACHE_FOLDER; print(CACHE_FOLDER, CACHE_FOLDER.is_dir())\n"
        "if not os.fork(): raise SystemExit\n"
        "os.wait(); assert CACHE_FOLDER.is_dir()"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    folder, was_there = done.stdout.split()
    assert was_there == "True"
    assert not Path(folder).parent.exists()
    assert "WARNING:stablecast.compiling.cache:compiled code is not kept" in done.stderr
    assert f"others may write to '{shared}'" in done.stderr
