"""What may be set of the data source ``stablecast``, checked before anything is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stablecast.errors import InvalidInput, unknown_name
from stablecast.pipeline.event_lines import ON_BAD
from stablecast.pipeline.observer import Membership

READING = ("maxBytesPerTrigger", "onBadRows")
JOINING = ("group", "seeds", "spool", "member", "bind", "advertise", "protocol", "insecure", "key", "keyFile")
ALL = ("path", *READING, *JOINING)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):", re.IGNORECASE)


@dataclass(frozen=True)
class SourceOptions:
    """What a query reads, and how."""

    folder: Path
    """Where the traces are; for a group, those of its observers."""
    membership: Membership | None
    """The group to join; None if only files are read."""
    bytes_most: int | None
    """The most that a micro-batch reads."""
    on_bad: str
    """What is done about lines that are no events."""


def read_options(given: Mapping[str, str]) -> SourceOptions:
    """Check options, whose names may be in any case."""
    options = {name.lower(): value for name, value in given.items()}
    if "paths" in options:
        raise InvalidInput("several paths are given (accepted: one folder)")
    known = {name.lower(): name for name in ALL}
    for name in options:
        if name not in known:
            raise unknown_name("option of the source 'stablecast'", name, ALL)
    membership = _membership(options)
    return SourceOptions(
        folder=_folder(options, membership),
        membership=membership,
        bytes_most=_bytes_most(options.get("maxbytespertrigger")),
        on_bad=_one_of("onBadRows", options.get("onbadrows", "fail"), ON_BAD),
    )


def _membership(options: Mapping[str, str]) -> Membership | None:
    if "group" not in options:
        alone = [name for name in JOINING if name.lower() in options]
        if alone:
            raise InvalidInput(f"option '{alone[0]}' needs the option 'group'")
        return None
    if "path" in options:
        raise InvalidInput("both a path and a group are given (accepted: one of them)")
    seeds = tuple(seed.strip() for seed in options.get("seeds", "").split(",") if seed.strip())
    if not seeds:
        raise InvalidInput("option 'group' needs 'seeds': addresses of members, HOST:PORT,HOST:PORT")
    if "key" in options and "keyfile" in options:
        raise InvalidInput("both a key and a keyFile are given (accepted: one of them)")
    settings: dict[str, str | bool] = {
        name: options[name] for name in ("member", "bind", "advertise", "protocol") if name in options
    }
    insecure = _one_of("insecure", options.get("insecure", "false").lower(), ("true", "false"))
    return Membership(
        group=options["group"],
        seeds=seeds,
        settings=settings | {"insecure": insecure == "true"},
        key=options.get("key"),
        key_file=options.get("keyfile"),
    )


def _folder(options: Mapping[str, str], membership: Membership | None) -> Path:
    if membership is not None:
        if "spool" not in options:
            raise InvalidInput("option 'group' needs 'spool': a folder that keeps the events for restarts")
        return _local("spool", options["spool"])
    if "path" not in options:
        raise InvalidInput("there is nothing to read (accepted: a folder to load, or the option 'group')")
    folder = _local("path", options["path"])
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise InvalidInput(f"path '{folder}' {what} (accepted: a folder of traces, *.jsonl)")
    return folder


def _local(what: str, value: str) -> Path:
    scheme = _SCHEME.match(value)
    if scheme and scheme[1].lower() != "file":
        raise InvalidInput(f"{what} '{value}' is not accepted (accepted: a folder that is mounted here)")
    path = re.sub(r"^/{2,}", "/", value[scheme.end() :]) if scheme else value
    return Path(path).absolute()


def _bytes_most(value: str | None) -> int | None:
    if value is None:
        return None
    if not re.fullmatch(r"[0-9]{1,18}", value) or int(value) == 0:
        raise InvalidInput(f"maxBytesPerTrigger '{value}' is not accepted (accepted: a whole number above 0)")
    return int(value)


def _one_of(what: str, value: str, accepted: tuple[str, ...]) -> str:
    if value not in accepted:
        raise InvalidInput(f"{what} '{value}' is not accepted (accepted: {', '.join(accepted)})")
    return value
