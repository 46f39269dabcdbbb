"""Replication slots of PostgreSQL: slots are readers of the write-ahead log, numbers are its bytes.

Theory
    A slot keeps the log from its ``restart_lsn`` on: that is where its reader would have to begin if it came
    back.  So the reader needs nothing before it, and its position is ``restart_lsn``.  A logical slot also
    has ``confirmed_flush_lsn``, up to which its reader has confirmed changes.  It may be far ahead: a
    transaction that was open then has its beginning further back.  It frees nothing and is told as a detail.
    The server deletes at a checkpoint what all slots have passed and what ``wal_keep_size``, the archiver and
    the checkpoint itself no longer need.  The frontier is the part of that which readers decide.
What else a slot holds
    ``catalog_xmin`` and ``xmin`` keep VACUUM from removing rows.  That is no position in a log, and is told
    as a detail.
Slots that hold nothing
    A physical slot that was never used has no ``restart_lsn``.  A slot whose ``wal_status`` is ``lost`` has
    nothing left to hold: the server has deleted what it needed.  The last that is known of it is
    ``restart_lsn`` where that is left, or what a logical reader has confirmed.
Times
    The log has no times.  The file of 16 MB that a position lies in was written last at some time, and the
    position no later: ``behind_since_us`` is that time, and a slot may be behind for longer.
One moment
    One statement reads the head and then the slots.  A slot that moves in between is cut at the head.
Rights
    Any role that may connect sees slots and numbers.  ``pg_monitor`` adds times, what is kept, and who is
    connected.  The connection is read only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import tuple_row

from stablecast.errors import InvalidInput
from stablecast.holdback.addresses import Address
from stablecast.holdback.model import Amount, Log, Rate, Reader, Room, Snapshot
from stablecast.holdback.numbering import Numbering, parse_lsn
from stablecast.holdback.sources.base import TIMEOUT_S, CannotAsk, Closing

OPTIONS = ("sslmode", "sslrootcert", "sslcert", "sslkey", "passfile", "service", "timeout_s")
SLOTS = """
    WITH head AS MATERIALIZED (
        SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
               ELSE pg_current_wal_lsn() END AS lsn
    )
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, head.lsn::text,
           to_jsonb(s), pg_wal_lsn_diff(head.lsn, s.restart_lsn)::bigint,
           (extract(epoch FROM r.reply_time) * 1000000)::bigint, r.application_name, age(s.catalog_xmin)
    FROM head
    LEFT JOIN pg_replication_slots s ON true
    LEFT JOIN pg_stat_replication r ON r.pid = s.active_pid
"""
FILES = """
    SELECT name, (extract(epoch FROM modification) * 1000000)::bigint,
           (SELECT setting::bigint FROM pg_settings WHERE name = 'wal_segment_size')
    FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$'
"""
GROWTH = """
    SELECT wal_bytes::bigint, extract(epoch FROM clock_timestamp() - stats_reset)::float8 FROM pg_stat_wal
"""
READ_BY = "SELECT slot_name, total_txns, stats_reset IS NULL FROM pg_stat_replication_slots"
SOURCE = "wal"
WORDS = (
    "slot_type",
    "plugin",
    "database",
    "temporary",
    "active_pid",
    "restart_lsn",
    "confirmed_flush_lsn",
    "wal_status",
    "safe_wal_size",
    "catalog_xmin",
    "xmin",
)


def open_source(address: Address, timeout_s: float | None) -> PostgresSource:
    """Return the source of an address such as ``postgres://user:password@host:5432/database``."""
    address.check_options(OPTIONS)
    if len(address.path) > 1:
        raise InvalidInput(f"{address.shown} (accepted: the name of a database behind the host)")
    return PostgresSource(address, timeout_s or address.seconds("timeout_s", TIMEOUT_S))


@dataclass(frozen=True)
class _Files:
    """The files of the log: when each was written last, by its first byte."""

    size: int
    written_us: Mapping[int, int]

    def first(self) -> int:
        """Return the first byte that is kept."""
        return min(self.written_us)

    def written(self, byte: int) -> int | None:
        """Return when the file that has a byte was written last."""
        return self.written_us.get(byte - byte % self.size)


class PostgresSource(Closing):
    """The write-ahead log of one server."""

    def __init__(self, address: Address, timeout_s: float) -> None:
        self.address = address
        self.timeout_s = timeout_s
        self._connection: psycopg.Connection[Any] | None = None

    def close(self) -> None:
        """Let the connection go."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def take(self) -> Snapshot:
        """Return the log with all slots."""
        problems: list[str] = []
        try:
            connection = self._connected()
            rows = self._rows(connection, SLOTS)
            files = self._files(connection, rows[0][1], problems)
            rate = self._rate(connection)
            decoded = self._decoded(connection)
        except psycopg.Error as error:
            self.close()
            raise CannotAsk(f"cannot ask {self.address.server}: {reason(error)}") from None
        log = _log(self.address.server, rows, files, rate, decoded)
        return Snapshot(self.address.server, "postgresql", rows[0][0], (log,), problems=tuple(problems))

    def _connected(self) -> psycopg.Connection[Any]:
        if self._connection is None or self._connection.closed:
            address = self.address
            given = {name: value for name, value in address.options.items() if name != "timeout_s"}
            connection = psycopg.connect(
                host=address.host,
                port=address.port or 5432,
                dbname=address.path[0] if address.path else "postgres",
                user=address.user,
                password=address.password,
                connect_timeout=max(2, round(self.timeout_s)),
                application_name="stablecast",
                row_factory=tuple_row,
                autocommit=True,
                **given,  # type: ignore[arg-type]
            )
            connection.read_only = True
            connection.execute(f"SET statement_timeout = {round(self.timeout_s * 1000)}")
            self._connection = connection
        return self._connection

    def _rows(self, connection: psycopg.Connection[Any], statement: str) -> list[Any]:
        return connection.execute(statement).fetchall()

    def _files(self, connection: psycopg.Connection[Any], head: str, problems: list[str]) -> _Files | None:
        """Return the files up to the head; those beyond it wait to be used again."""
        try:
            rows = self._rows(connection, FILES)
        except psycopg.errors.InsufficientPrivilege:
            problems.append(
                f"{self.address.server}: no right to list the log's files: times and what is kept are not"
                " known (accepted: a role with pg_monitor)"
            )
            return None
        end = parse_lsn(head)
        written = {start: time for name, time, size in rows if (start := _start(name, size)) <= end}
        return _Files(rows[0][2], written) if written else None

    def _rate(self, connection: psycopg.Connection[Any]) -> Rate | None:
        try:
            ((size, over_s),) = self._rows(connection, GROWTH)
        except psycopg.errors.UndefinedTable:  # before version 14
            return None
        return Rate(None, size / over_s, over_s) if over_s and over_s >= 1 else None

    def _decoded(self, connection: psycopg.Connection[Any]) -> dict[str, bool]:
        """Tell of each logical slot whether it has ever decoded a transaction."""
        try:
            rows = self._rows(connection, READ_BY)
        except psycopg.errors.UndefinedTable:
            return {}
        return {name: bool(count) or not never_reset for name, count, never_reset in rows}


def reason(error: psycopg.Error) -> str:
    """Return what the server or the network said, on one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text.removeprefix("connection failed: ")


def _start(name: str, size: int) -> int:
    """Return the first byte of a file of the log, from its name."""
    return (int(name[8:16], 16) << 32) + int(name[16:], 16) * size


def _log(
    server: str, rows: list[Any], files: _Files | None, rate: Rate | None, decoded: Mapping[str, bool]
) -> Log:
    head = parse_lsn(rows[0][1])
    slots = [row for row in rows if row[2] is not None]
    readers = tuple(_reader(row, files, decoded) for row in slots)
    held = [one.position for one in readers if one.holds and one.position is not None]
    first = min([head, *held]) if files is None else files.first()
    return Log(
        group=server,
        source=SOURCE,
        head=head,
        first_seq=first + 1,
        readers=readers,
        numbering=Numbering.BYTE,
        kept=Amount() if files is None else Amount(bytes=head - first),
        kept_since_us=None if files is None else files.written(first),
        sent=Amount(bytes=head),
        room=_room(slots),
        rate=rate,
    )


def _reader(row: Any, files: _Files | None, decoded: Mapping[str, bool]) -> Reader:
    _, head, slot, behind, reply_us, application, age = row
    lost = slot["wal_status"] == "lost"
    restart = slot["restart_lsn"] or (slot["confirmed_flush_lsn"] if lost else None)
    position = None if restart is None else min(parse_lsn(restart), parse_lsn(head))
    lacks = position is not None and behind is not None and behind > 0
    return Reader(
        member=slot["slot_name"],
        position=position,
        behind=Amount(bytes=max(0, behind) if behind is not None else 0),
        behind_since_us=files.written(position) if files and lacks and position is not None else None,
        connected=slot["active"],
        seen_us=reply_us or _inactive_us(slot),
        never_read=not (slot["active"] or lost or decoded.get(slot["slot_name"], restart is not None)),
        holds=restart is not None and not lost,
        lost=lost,
        details={word: slot.get(word) for word in WORDS}
        | {"catalog_xmin_age": age, "application_name": application},
    )


def _inactive_us(slot: Mapping[str, Any]) -> int | None:
    """Return since when nobody is connected, which version 17 and later tell."""
    since = slot.get("inactive_since")
    return None if since is None else round(datetime.fromisoformat(since).timestamp() * 1e6)


def _room(slots: list[Any]) -> Room | None:
    """Return how much may be written before the first slot is lost."""
    held = [row[2] for row in slots if row[2]["restart_lsn"] is not None]
    known = [(slot["safe_wal_size"], slot["slot_name"]) for slot in held if slot["safe_wal_size"] is not None]
    if not known:
        return None
    size, name = min(known)
    return Room(Amount(bytes=max(0, size)), f"slot {name} is lost")
