"""Be a member of a running group for as long as a query reads it, and write down what this member sees."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import secrets
import threading
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stablecast.errors import InvalidInput, StablecastError
from stablecast.trace.log import CannotTrace, EventLog

if TYPE_CHECKING:
    from stablecast.engine.keys import Keyring
    from stablecast.engine.results import Event
    from stablecast.live.group import Group

LEAVE_S = 5.0
"""The most that leaving takes: saying goodbye to the group takes a second."""
LOCK_S = 5.0
"""How long a spool may still be in use by a query that was stopped just now."""
LOOK_AGAIN_S = 0.05


class NoLongerMember(StablecastError):
    """The member that a query reads through is out of its group."""


@dataclass(frozen=True)
class Membership:
    """Which group to join, and how."""

    group: str
    seeds: tuple[str, ...]
    """Addresses of members to join through."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Further options of :func:`stablecast.join`."""
    key: str | None = field(default=None, repr=False)
    key_file: str | None = None
    """Without either, the environment's key is taken, if there is one."""

    def keyring(self) -> Keyring | None:
        """Return the group's key."""
        from stablecast.engine.keys import ENVIRONMENT_VARIABLE, Keyring, keyring_from_env, keyring_from_file

        if self.key is not None:
            return Keyring.of(self.key)
        if self.key_file is not None:
            return keyring_from_file(self.key_file)
        return keyring_from_env() if ENVIRONMENT_VARIABLE in os.environ else None


class SpoolLog(EventLog):
    """A member's log that has everybody's coming and going, not only where this member led the change."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._present: dict[str, set[str]] = {}

    def change(self, group: str, kind: str, member: str, time_us: int) -> None:
        """Note that a member joined, left or failed, unless that was noted before."""
        present = self._present.setdefault(group, set())
        if (kind == "join") == (member in present):
            return
        if kind == "join":
            present.add(member)
        else:
            present.remove(member)
        super().change(group, kind, member, time_us)

    def changes(self, group: str, kind: str, members: Iterable[str], time_us: int) -> None:
        """Note the same of several members."""
        for member in members:
            self.change(group, kind, member, time_us)


class Observer:
    """Joins in a thread of its own, and stays until it is stopped.

    Parameters
    ----------
    membership
        Which group to join.
    spool
        Folder for the events, in a new file for each observer; one observer at a time uses it.
    """

    def __init__(self, membership: Membership, spool: Path) -> None:
        self._membership = membership
        self._spool = spool
        self._lock = -1
        self._ready = threading.Event()
        self._stopping = False
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name="stablecast-observer", daemon=True)

    def start(self) -> None:
        """Join; returns when this process is a member."""
        self._lock = _locked(self._spool)
        self._thread.start()
        self._ready.wait()
        self.check()

    def check(self) -> None:
        """Raise if this process is no longer a member."""
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Leave; may be called again."""
        loop, task = self._loop, self._task
        if not self._stopping and loop is not None and task is not None and self._thread.is_alive():
            self._stopping = True  # cancelled again, it would not say goodbye
            loop.call_soon_threadsafe(task.cancel)
            self._thread.join(LEAVE_S)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _run(self) -> None:
        try:
            asyncio.run(self._stay())
        except asyncio.CancelledError:
            pass
        except BaseException as error:
            self._failure = self._failure or error
        finally:
            self._ready.set()

    async def _stay(self) -> None:
        from stablecast.live.joining import join

        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        member = self._membership
        offset_s = time.time() - time.monotonic()
        path = self._spool / f"{time.strftime('%Y%m%dT%H%M%S')}-{secrets.token_hex(4)}.jsonl"
        with _spool_log(path) as log:
            joining = join(
                member.group,
                seeds=member.seeds,
                key=member.keyring(),
                trace=log,
                trace_offset_s=offset_s,
                deliver="nothing",
                **member.settings,
            )
            async with joining as group:
                events = group.events()
                log.changes(_line(group), "join", group.members, _now_us(offset_s))
                log.flush()
                self._ready.set()
                await _note_changes(group, events, log, offset_s)
        raise NoLongerMember(f"this process is no longer a member of the group '{member.group}'")


@contextlib.contextmanager
def _spool_log(path: Path) -> Iterator[SpoolLog]:
    """Give a log whose file does not stay if nothing comes to be in it."""
    log = SpoolLog(path)
    try:
        with log:
            yield log
    finally:
        if not log.events:
            path.unlink(missing_ok=True)


async def _note_changes(group: Group, events: AsyncIterator[Event], log: SpoolLog, offset_s: float) -> None:
    """Write down who comes and goes, until the group is closed."""
    from stablecast.engine.results import TraceFailed, ViewChanged

    if group.trace_error:
        raise CannotTrace(group.trace_error)
    async for event in events:
        if isinstance(event, TraceFailed):  # a member that says nothing more is of no use to its query
            raise CannotTrace(event.reason)
        if isinstance(event, ViewChanged):
            line, at = group.name if event.main else _line(group), _now_us(offset_s)
            log.changes(line, "leave", event.left, at)
            log.changes(line, "fail", event.failed, at)
            log.changes(line, "join", event.members, at)
            log.flush()


def _line(group: Group) -> str:
    """Return the name under which this part of the group goes on; a part that was cut off has its own."""
    return group.name if group.view is None else group.view.line


def _now_us(offset_s: float) -> int:
    return round((time.monotonic() + offset_s) * 1e6)


def _locked(folder: Path) -> int:
    """Return a descriptor that keeps a folder for this process until it is closed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise InvalidInput(f"cannot write to the spool '{folder}': {error.strerror or error}") from None
    end = time.monotonic() + LOCK_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                os.close(lock)
                raise InvalidInput(
                    f"the spool '{folder}' is in use by another query (accepted: a folder for each query)"
                ) from None
            time.sleep(LOOK_AGAIN_S)
        else:
            return lock
