"""The checkpoint in which Spark notes which files of the stream are in which part.

Spark writes a note beside its place and renames it.  A process that is killed before the first note has its
name leaves a checkpoint in which nothing counts, and which is not empty.  Spark refuses to begin a stream in
such a folder, since it could belong to another stream.  Here it cannot: the output is locked, and the folder
in it is the stream's alone.  So it is removed, and the stream begins as in a new folder.  Once a first note
has its name, nothing is removed: Spark then goes on from what is there.
"""

from __future__ import annotations

from typing import Any

from pyarrow import fs

from stablecast.analysis.version import HIDDEN

CHECKPOINT = f"{HIDDEN}/checkpoint"
NOTES = "offsets"
"""Where Spark notes which files are in a part; the name of a note is the number of its part."""


def remove_unbegun(system: Any, out: str) -> bool:
    """Remove the checkpoint of a stream that was killed before it noted a part; tell whether that was so."""
    place = f"{out}/{CHECKPOINT}"
    if system.get_file_info(place).type != fs.FileType.Directory:
        return False
    notes = system.get_file_info(fs.FileSelector(f"{place}/{NOTES}", allow_not_found=True))
    if any(each.base_name.isdecimal() for each in notes):
        return False
    system.delete_dir(place)
    return True
