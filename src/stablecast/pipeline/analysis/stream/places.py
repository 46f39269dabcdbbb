"""What is refused of a folder to watch and of an output: before Spark starts, and once it can look."""

from __future__ import annotations

from pathlib import Path

from pyarrow import fs

from stablecast.analysis.output import place_of
from stablecast.analysis.reading.addresses import Systems
from stablecast.analysis.reading.heads import told_in_one_line
from stablecast.analysis.version import HIDDEN
from stablecast.errors import InvalidInput


def check_places(folder: Path | str, out: Path | str, *, follow: bool = False) -> None:
    """Refuse what can be told without Spark: of folders of this machine, all of it."""
    watched, written = place_of(folder), place_of(out)
    for place in (watched, written):
        if follow and isinstance(place, str):
            raise InvalidInput(
                f"'{place}' is an address, where files cannot be read while they grow"
                " (accepted with --follow: folders of this machine)"
            )
    if isinstance(watched, Path) and not watched.is_dir():
        raise _no_folder(watched)
    if isinstance(written, Path) and written.exists():
        if not written.is_dir():
            raise _a_file(written)
        _check_holds(written, {file.name for file in written.iterdir()})
    if _is_inside(written, watched):
        raise InvalidInput(
            f"the output '{out}' is inside the folder that is watched (accepted: another place)"
        )


def check_addresses(folder: Path | str, out: Path | str, systems: Systems) -> None:
    """Refuse what only a session can tell, of addresses."""
    if isinstance(folder, str):
        with told_in_one_line(folder):
            system, path = systems(folder)
            if system.get_file_info(path).type != fs.FileType.Directory:
                raise _no_folder(folder)
    if isinstance(out, str):
        with told_in_one_line(out):
            system, path = systems(out)
            if system.get_file_info(path).type == fs.FileType.File:
                raise _a_file(out)
            found = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
        _check_holds(out, {each.base_name for each in found})


def _check_holds(out: Path | str, names: set[str]) -> None:
    if names and HIDDEN not in names:
        raise InvalidInput(
            f"the output folder '{out}' holds something else"
            " (accepted: a new or empty folder, or one that watch wrote before)"
        )


def _is_inside(out: Path | str, folder: Path | str) -> bool:
    if isinstance(out, Path) and isinstance(folder, Path):
        return out.resolve().is_relative_to(folder.resolve())
    return f"{out}/".startswith(f"{folder}/")


def _no_folder(folder: Path | str) -> InvalidInput:
    return InvalidInput(f"the folder '{folder}' does not exist (accepted: a folder that files arrive in)")


def _a_file(out: Path | str) -> InvalidInput:
    return InvalidInput(f"the output '{out}' is a file (accepted: a new or empty folder)")
